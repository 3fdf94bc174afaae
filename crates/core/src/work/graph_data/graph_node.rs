//! The nodes of a graph: captured commands as plain data.

use crate::error::site::{CommandKind, Site};
use crate::work::span::Touch;
use crate::work::step::Work;
use fencepost_kernels::ArgumentSlot;
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::Arc;

/// A command of a graph, with its place among the others. A clone shares the command.
#[derive(Clone)]
pub(crate) struct GraphNode {
    /// Number of the captured queue. The nodes of one queue execute in the order of their indices.
    pub(crate) queue: u32,
    /// Earlier nodes of other queues that the program has ordered before this node with a fork, a join or an event.
    pub(crate) after: SmallVec<[u32; 2]>,
    pub(crate) command: Arc<NodeCommand>,
    /// Word in the graph's control table of the gate that decides if the node executes, if the node is in a body.
    pub(crate) gate: Option<u32>,
}

/// Command of a node.
pub(crate) struct NodeCommand {
    pub(crate) work: Work,
    pub(crate) what: CommandKind,
    pub(crate) at: &'static Location<'static>,
    /// Name that the program has given the node, if any.
    pub(crate) label: Option<Arc<str>>,
    /// Number of the graph output that the node reads, if the node is a read. Each run has its own slot for it.
    pub(crate) output: Option<u32>,
    /// Parameters of the launch that hold named values, each with the token of the value.
    pub(crate) values: SmallVec<[(u64, ArgumentSlot); 1]>,
}

impl GraphNode {
    /// Returns the accesses of the node. A launch without workgroups accesses nothing.
    pub(crate) fn touches(&self) -> impl Iterator<Item = Touch<'_>> {
        let most = if self.command.is_empty() { 0 } else { usize::MAX };
        self.command.work.touches().take(most)
    }

    /// Returns the node with another command.
    pub(crate) fn with_command(&self, command: Arc<NodeCommand>) -> Self {
        Self { command, ..self.clone() }
    }
}

impl NodeCommand {
    /// Returns `true` for a timed marker: a node that executes nothing and has a time in each run.
    pub(crate) fn is_timed_marker(&self) -> bool {
        matches!(self.work, Work::Nothing)
    }

    /// Returns `true` for a side of a copy between contexts: a read of the source or a fill of the target, which stands
    /// for the copy in the order of the graph.
    pub(crate) fn is_side_of_copy(&self) -> bool {
        let is_copy = matches!(self.what, CommandKind::Copy | CommandKind::BetweenContexts);
        is_copy && matches!(self.work, Work::Read { .. } | Work::Fill { .. })
    }

    /// Returns the command with other work.
    pub(crate) fn with_work(&self, work: Work) -> Self {
        let Self { what, at, label, output, values, .. } = self;
        let (label, values) = (label.clone(), values.clone());
        Self { work, what: *what, at, label, output: *output, values }
    }

    /// Returns the same command.
    pub(crate) fn duplicate(&self) -> Self {
        self.with_work(self.work.duplicate())
    }

    /// Returns `true` for a launch without workgroups, which executes nothing.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.work, Work::Launch(launch) if launch.is_empty())
    }

    /// Returns the command with another number of its output.
    pub(crate) fn with_output(&self, output: u32) -> Self {
        Self { output: Some(output), ..self.duplicate() }
    }

    /// Returns the name of the node in messages and dumps: its label, or the name of its kernel or its kind.
    pub(crate) fn name(&self) -> String {
        if let Some(label) = &self.label {
            return label.to_string();
        }
        match &self.work {
            _ if self.is_side_of_copy() => "copy between contexts".into(),
            Work::Launch(launch) => launch.kernel().name.to_string(),
            Work::Copy { .. } | Work::Region(_) => "copy".into(),
            Work::Fill { .. } => "fill".into(),
            Work::Upload { .. } => "upload".into(),
            Work::Read { .. } => "read".into(),
            Work::Gate(gate) => gate.name(),
            Work::Nothing => "marker".into(),
            _ => "nothing".into(),
        }
    }

    /// Describes the place of the command in the program, for messages.
    pub(crate) fn site(&self, queue: &Arc<str>) -> Site {
        let command = match &self.work {
            _ if self.is_side_of_copy() => "a copy between contexts".into(),
            Work::Launch(launch) => launch.kernel().subject(),
            Work::Copy { .. } | Work::Region(_) => "a copy".into(),
            Work::Fill { .. } => "a fill".into(),
            Work::Upload { .. } => "an upload".into(),
            Work::Read { .. } => "a read".into(),
            Work::Gate(_) => "a condition".into(),
            _ => "a command".into(),
        };
        Site { queue: queue.clone(), command, location: self.at }
    }
}
