//! The table of the gates after a change of a graph.

use crate::api::graph::control_memory;
use crate::api::graph::graph_handle::Graph;
use crate::error::{Kind, Result};
use crate::record::gated_work::dispatches_of;
use crate::scheduler::free_blocks::BlockLease;
use crate::work::graph_data::control_table::ControlTable;
use crate::work::graph_data::graph_node::{GraphNode, NodeCommand};
use crate::work::graph_data::graph_plan::GraphPlan;
use crate::work::step::Work;
use std::panic::Location;
use std::sync::Arc;

/// The table of an edited graph, with the leases that keep its memory alive.
pub(crate) struct EditedTable {
    pub(crate) control: Arc<ControlTable>,
    /// Number and command of the last node, which reads the loop counters from the new table.
    pub(crate) read_of_counters: Option<(u32, Arc<NodeCommand>)>,
    _leases: [BlockLease; 2],
}

/// Returns a new table if one of the changed commands is in a body. The table holds the workgroup counts of bodies, and
/// replays in flight use the old one.
///
/// # Errors
/// Returns `OutOfMemory` or `TooLarge`.
pub(crate) fn edited_table(
    graph: &Graph,
    commands: &[(u32, Arc<NodeCommand>)],
    at: &'static Location<'static>,
) -> Result<Option<EditedTable>> {
    let plan = &graph.plan;
    let Some(control) = &plan.control else { return Ok(None) };
    if commands.iter().all(|(node, _)| plan.nodes.get(*node).gate.is_none()) {
        return Ok(None);
    }
    let changed = |(node, command): &(u32, Arc<NodeCommand>)| {
        (*node, plan.nodes.get(*node).with_command(command.clone()))
    };
    let nodes: Vec<GraphNode> = plan.nodes.with(commands.iter().map(changed).collect()).to_vec();
    let layout = &control.layout;
    let of_bodies = (layout.gates, &layout.loops[..]);
    let (mut table, leases) =
        control_memory::make_table(&graph.owner, layout.own_nodes(&nodes), of_bodies, at)?;
    table.layout.output = layout.output;
    let read_of_counters = layout
        .output
        .map(|output| (nodes.len() as u32 - 1, control_memory::read_of_counters(&table, output, at).1));
    Ok(Some(EditedTable { control: Arc::new(table), read_of_counters, _leases: leases }))
}

/// Checks that the transfers in bodies need as many dispatches with the new arrays of `inputs` as with the old ones.
///
/// # Errors
/// Returns `Graph` for a transfer that needs more or fewer, because the table holds the old counts.
pub(crate) fn check_dispatches(graph: &Graph, plan: &GraphPlan, inputs: &[usize]) -> Result<()> {
    if plan.control.is_none() {
        return Ok(());
    }
    let caps = graph.owner.device().caps();
    for input in inputs.iter().map(|&at| &plan.names.inputs[at]) {
        for place in &input.places {
            let (old, new) = (graph.plan.nodes.get(place.node), plan.nodes.get(place.node));
            let is_transfer = !matches!(new.command.work, Work::Launch(_) | Work::Gate(_));
            if new.gate.is_none() || !is_transfer {
                continue;
            }
            if dispatches_of(&old.command.work, caps)? != dispatches_of(&new.command.work, caps)? {
                let problem = format!(
                    "input `{}` is bound to an array on which node `{}`, in a body, needs other dispatches: bind an \
                     array that starts on a multiple of {} bytes",
                    input.name,
                    new.command.name(),
                    caps.binding_alignment
                );
                return Err(Kind::Graph { graph: graph.label().into(), problem }.into());
            }
        }
    }
    Ok(())
}
