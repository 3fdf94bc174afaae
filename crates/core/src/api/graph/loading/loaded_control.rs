//! The control flow of a loaded graph: its table of gates is made for the device that loads it.

use crate::api::graph::control_memory::{add_counters, make_table, mark_first_gates};
use crate::api::graph::graph_handle::GraphLeases;
use crate::api::graph::graph_output::GraphOutput;
use crate::api::graph::loading::Loader;
use crate::api::graph::tape::unique;
use crate::error::{Kind, Result};
use crate::record::gated_work::dispatches_of;
use crate::work::graph_data::control_table::{ControlTable, MOST_DISPATCHES};
use crate::work::graph_data::graph_file::GraphFile;
use crate::work::graph_data::graph_names::GraphNames;
use crate::work::graph_data::graph_node::{GraphNode, NodeCommand};
use rustc_hash::FxHashMap;
use std::sync::Arc;

impl Loader<'_> {
    /// Makes the table of the gates, and adds the node that reads the loop counters after all other nodes.
    pub(super) fn control(
        &self,
        file: &GraphFile,
        (nodes, outputs): (&mut Vec<GraphNode>, &mut Vec<GraphOutput>),
        (leases, names): (&mut GraphLeases, &mut GraphNames),
    ) -> Result<Option<Arc<ControlTable>>> {
        let (gates, words) = file.words();
        if words == 0 {
            return Ok(None);
        }
        self.check_dispatches(file, nodes, gates.len() as u64)?;
        mark_first_gates(nodes, file.loops.len());
        let tokens: Vec<u64> = file.loops.iter().map(|_| unique()).collect();
        for (of, &token) in file.loops.iter().zip(&tokens) {
            names.loops.extend(of.label.as_deref().map(|label| (token, Arc::from(label))));
        }
        let (mut table, of_table) = make_table(self.owner, nodes, (words, &tokens), self.by.at)?;
        leases.extend(of_table.map(|lease| (lease.block.id, Arc::new(lease))));
        if !tokens.is_empty() {
            let command = add_counters(&mut table, outputs, self.by.at);
            let mut last = vec![None; file.queues.len()];
            nodes.iter().zip(0..).for_each(|(node, at)| last[node.queue as usize] = Some(at));
            let after = last.into_iter().skip(1).flatten().collect();
            nodes.push(GraphNode { queue: 0, after, command, gate: None });
        }
        Ok(Some(Arc::new(table)))
    }

    /// Checks that the bodies have few enough dispatches on this device.
    fn check_dispatches(&self, file: &GraphFile, nodes: &[GraphNode], gates: u64) -> Result<()> {
        let caps = self.owner.device().caps();
        let mut known: FxHashMap<*const NodeCommand, u64> = FxHashMap::default();
        let mut dispatches = gates;
        for node in nodes.iter().filter(|node| node.gate.is_some()) {
            let address = Arc::as_ptr(&node.command);
            let count = match known.get(&address) {
                Some(&count) => count,
                None => dispatches_of(&node.command.work, caps)?.len() as u64,
            };
            known.insert(address, count);
            dispatches += count;
            if dispatches > MOST_DISPATCHES {
                let (call, queue, location, limit) =
                    ("load_graph", file.label.clone(), self.by.at, MOST_DISPATCHES);
                return Err(Kind::GraphTooLong { call, queue, location, dispatches, limit }.into());
            }
        }
        Ok(())
    }
}
