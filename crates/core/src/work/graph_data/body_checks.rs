//! The checks of the nodes of a file in bodies: each gate exists, and a body has only work that can be in one.

use crate::memory::heap::overlap;
use crate::work::graph_data::control_table::MOST_DISPATCHES;
use crate::work::graph_data::file_checks::{Checked, ensure};
use crate::work::graph_data::graph_file::{FileNode, FileWork, GraphFile};

/// Checker of nodes, one after the other.
#[derive(Default)]
pub(crate) struct BodyChecks {
    gates: u32,
    /// Number of gates and of nodes that a gate allows.
    bodies: u64,
}

impl BodyChecks {
    /// Returns the number of gates among the nodes so far.
    pub(crate) fn gates(&self) -> u32 {
        self.gates
    }

    /// Checks the next node.
    ///
    /// # Errors
    /// Returns the reason why the node cannot be in the graph.
    pub(crate) fn add(&mut self, graph: &GraphFile, node: &FileNode) -> Checked {
        let work = graph.work_of(node);
        let is_gate = matches!(work, FileWork::Gate(_));
        ensure(is_gate || node.previous.is_none(), || "a node that is no gate has a previous gate".into())?;
        self.gates += u32::from(is_gate);
        if !is_gate && node.gate.is_none() {
            return Ok(());
        }
        self.bodies += 1;
        ensure(self.bodies <= MOST_DISPATCHES, || {
            format!("the graph has more than {MOST_DISPATCHES} gates and nodes in bodies")
        })?;
        if node.gate.is_some() { check_in_body(work) } else { Ok(()) }
    }
}

/// Checks that work can be in a body. The invocations of a dispatch copy in any order, so the sides of a copy are apart.
fn check_in_body(work: &FileWork) -> Checked {
    match work {
        FileWork::Nothing => Err("a body has a marker".into()),
        FileWork::Read { .. } => Err("a body has an output".into()),
        FileWork::Copy { src, dst } => {
            let shares =
                src.block == dst.block && overlap(&(src.offset..src.end()), &(dst.offset..dst.end()));
            ensure(!shares, || "the source of a copy in a body shares bytes with its target".into())
        }
        _ => Ok(()),
    }
}
