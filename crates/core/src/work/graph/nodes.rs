//! The nodes of a graph: captured commands as plain data. Plans share a list of nodes; a plan with changed nodes stores
//! only those separately.
//!
//! An input can replace the parts of a command that refer to memory. Two unordered captured commands on the same bytes
//! can be an error.

use crate::error::{CommandKind, Error, ErrorDetail, Result, Site};
use crate::memory::block::{Block, overlap};
use crate::work::graph::order::UnorderedNodes;
use crate::work::kernel_launch::check_aliases;
use crate::work::step::{BlockAccess, Span, Work};
use fencepost_kernels::ArgumentSlot;
use smallvec::SmallVec;
use std::ops::{Index, Range};
use std::panic::Location;
use std::sync::Arc;

/// A command of a graph, and its place in the order. A clone shares the command.
#[derive(Clone)]
pub(crate) struct GraphNode {
    /// Number of the captured queue. The nodes of one queue execute in order.
    pub(crate) queue: u32,
    /// Earlier nodes of other queues that the program has ordered before this node with a fork, a join or an event.
    pub(crate) after: SmallVec<[u32; 2]>,
    pub(crate) command: Arc<NodeCommand>,
    /// Word of the gate that decides if the node executes, if the node is in a body.
    pub(crate) gate: Option<u32>,
}

/// Command of a node.
pub(crate) struct NodeCommand {
    pub(crate) work: Work,
    pub(crate) what: CommandKind,
    pub(crate) at: &'static Location<'static>,
    /// Name that the program has given the node, if any.
    pub(crate) label: Option<Arc<str>>,
    /// Number of the graph output that the node reads, if the node is a read. Each replay has a separate slot for it.
    pub(crate) output: Option<u32>,
    /// Parameters of the launch that hold named values, each with the token of its value.
    pub(crate) values: SmallVec<[(u64, ArgumentSlot); 1]>,
}

impl GraphNode {
    /// Returns the accesses of the node. A launch without workgroups accesses nothing.
    pub(crate) fn touches(&self) -> impl Iterator<Item = BlockAccess<'_>> {
        let most = if self.command.is_empty() { 0 } else { usize::MAX };
        self.command.work.touches().take(most)
    }

    /// Returns the node with another command.
    pub(crate) fn with_command(&self, command: Arc<NodeCommand>) -> Self {
        Self { command, ..self.clone() }
    }
}

impl NodeCommand {
    /// Returns a command without a name, an output and named values.
    pub(crate) fn new(work: Work, what: CommandKind, at: &'static Location<'static>) -> Self {
        Self { work, what, at, label: None, output: None, values: SmallVec::new() }
    }

    /// Returns `true` for a timed marker: a node that only takes a time in each replay.
    pub(crate) fn is_timed_marker(&self) -> bool {
        matches!(self.work, Work::Nothing)
    }

    /// Returns `true` for one side of a copy between contexts. In the order of the graph, a read of the source and a
    /// fill of the target stand for the copy.
    pub(crate) fn is_side_of_copy(&self) -> bool {
        let is_copy = matches!(self.what, CommandKind::Copy | CommandKind::BetweenContexts);
        is_copy && matches!(self.work, Work::Read { .. } | Work::Fill { .. })
    }

    /// Returns the command with other work.
    pub(crate) fn with_work(&self, work: Work) -> Self {
        let Self { what, at, label, output, values, .. } = self;
        let label = label.clone();
        let values = values.clone();
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

    /// Returns the command with another output number.
    pub(crate) fn with_output(&self, output: u32) -> Self {
        Self { output: Some(output), ..self.duplicate() }
    }

    /// Returns the name of the node in messages and dumps: its label, else the name of its kernel or its kind.
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

    /// Describes where the program captured the command, for messages.
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

/// A list of nodes. Clones share it. A list with changed nodes shares the unchanged ones.
#[derive(Clone)]
pub(crate) struct NodeList {
    captured: Arc<[GraphNode]>,
    /// Changed nodes by number, in ascending order, or `None` if none is changed.
    changed: Option<Arc<Vec<(u32, GraphNode)>>>,
}

impl NodeList {
    pub(crate) fn new(nodes: Vec<GraphNode>) -> Self {
        Self { captured: nodes.into(), changed: None }
    }

    pub(crate) fn len(&self) -> usize {
        self.captured.len()
    }

    /// Returns a node.
    #[inline]
    pub(crate) fn get(&self, node: u32) -> &GraphNode {
        match &self.changed {
            None => &self.captured[node as usize],
            Some(changed) => match changed.binary_search_by_key(&node, |(at, _)| *at) {
                Ok(at) => &changed[at].1,
                Err(_) => &self.captured[node as usize],
            },
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &GraphNode> + ExactSizeIterator {
        (0..self.len()).map(|node| &self[node])
    }

    /// Returns the list with some nodes replaced. `changes` must be in ascending order. The cost does not depend on the
    /// length of the list, as long as less than half of its nodes are changed.
    pub(crate) fn with(&self, changes: Vec<(u32, GraphNode)>) -> Self {
        if changes.is_empty() {
            return self.clone();
        }
        let changed = match self.changed.as_deref() {
            None => changes,
            Some(earlier) => merged(earlier, changes),
        };
        let captured = self.captured.clone();
        let all = Self { captured, changed: Some(Arc::new(changed)) };
        let many = all.changed.as_ref().is_some_and(|changed| changed.len() * 2 > all.len());
        if many { Self::new(all.to_vec()) } else { all }
    }

    /// Moves the changed nodes into the list, if no other plan shares it. Then it no longer refers to old blocks.
    pub(crate) fn merge_changes(&mut self) {
        let Some(captured) = Arc::get_mut(&mut self.captured) else { return };
        for (node, changed) in self.changed.take().map(Arc::unwrap_or_clone).into_iter().flatten() {
            captured[node as usize] = changed;
        }
    }

    /// Returns a copy of all nodes. They share their commands with the list.
    pub(crate) fn to_vec(&self) -> Vec<GraphNode> {
        self.iter().cloned().collect()
    }
}

impl Index<usize> for NodeList {
    type Output = GraphNode;

    #[inline]
    fn index(&self, node: usize) -> &GraphNode {
        self.get(node as u32)
    }
}

/// Merges two ascending lists of changes. A later change of a node replaces an earlier one.
fn merged(earlier: &[(u32, GraphNode)], later: Vec<(u32, GraphNode)>) -> Vec<(u32, GraphNode)> {
    let mut all = Vec::with_capacity(earlier.len() + later.len());
    let mut earlier = earlier.iter().peekable();
    for change in later {
        while let Some(before) = earlier.next_if(|(node, _)| *node < change.0) {
            all.push(before.clone());
        }
        earlier.next_if(|(node, _)| *node == change.0);
        all.push(change);
    }
    all.extend(earlier.cloned());
    all
}

/// Part of a command that refers to a range of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum CommandPart {
    /// Argument for this binding of the kernel's interface.
    Binding(u32),
    /// Place of the workgroup counts.
    Groups,
    /// Range that a transfer reads.
    Source,
    /// Range that a transfer writes.
    Target,
}

/// A part of a command, and its range.
pub(crate) struct NamedRange<'w> {
    pub(crate) part: CommandPart,
    pub(crate) block: &'w Arc<Block>,
    pub(crate) range: Range<u64>,
    /// `true` for a write, `false` for a read, and `None` if the command does not access the bytes.
    pub(crate) write: Option<bool>,
}

/// Lists the parts of a command.
pub(crate) fn parts(work: &Work) -> SmallVec<[NamedRange<'_>; 4]> {
    let mut all = SmallVec::new();
    match work {
        Work::Launch(launch) => {
            all.extend(launch.indirect.iter().map(|groups| range_of(CommandPart::Groups, groups)));
            all.extend(launch.bindings.iter().map(|bound| NamedRange {
                part: CommandPart::Binding(bound.at),
                block: &bound.block,
                range: bound.range(),
                write: bound.used.map(|used| used.writes()),
            }));
        }
        Work::Copy { src, dst } => {
            all.extend([range_of(CommandPart::Source, src), range_of(CommandPart::Target, dst)]);
        }
        Work::Region(copy) => {
            all.extend([range_of(CommandPart::Source, &copy.src), range_of(CommandPart::Target, &copy.dst)]);
        }
        Work::Fill { dst, .. } | Work::Upload { dst, .. } => all.push(range_of(CommandPart::Target, dst)),
        Work::Read { src, .. } => all.push(range_of(CommandPart::Source, src)),
        Work::Gate(gate) => all.push(range_of(CommandPart::Source, &gate.condition)),
        _ => {}
    }
    all
}

fn range_of(part: CommandPart, span: &Span) -> NamedRange<'_> {
    NamedRange { part, block: &span.block, range: span.range(), write: Some(part == CommandPart::Target) }
}

/// Makes a part of a command refer to another range of the same size.
pub(crate) fn move_part(work: &mut Work, part: CommandPart, block: &Arc<Block>, offset: u64) {
    match (work, part) {
        (Work::Launch(launch), CommandPart::Binding(at)) => {
            if let Some(bound) = launch.bindings.iter_mut().find(|bound| bound.at == at) {
                bound.block = block.clone();
                bound.offset = offset;
            }
        }
        (Work::Launch(launch), _) => launch.indirect.iter_mut().for_each(|span| span.move_to(block, offset)),
        (Work::Region(copy), CommandPart::Source) => {
            copy.rows.from = copy.rows.from - copy.src.offset + offset;
            copy.src.move_to(block, offset);
        }
        (Work::Region(copy), _) => {
            copy.rows.to = copy.rows.to - copy.dst.offset + offset;
            copy.dst.move_to(block, offset);
        }
        (Work::Gate(gate), _) => gate.condition.move_to(block, offset),
        (Work::Copy { src, .. }, CommandPart::Source) | (Work::Read { src, .. }, _) => {
            src.move_to(block, offset)
        }
        (Work::Copy { dst, .. } | Work::Fill { dst, .. } | Work::Upload { dst, .. }, _) => {
            dst.move_to(block, offset);
        }
        _ => {}
    }
}

/// Checks that the parts of a command overlap only where it reads both.
///
/// # Errors
/// Returns `Aliased`.
pub(crate) fn check_parts(work: &Work) -> Result<()> {
    let apart = |src: &Span, dst: &Span| {
        if !Arc::ptr_eq(&src.block, &dst.block) || !overlap(&src.range(), &dst.range()) {
            return Ok(());
        }
        let array = src.block.order().label.to_string();
        let [subject, first, second] = ["a copy", "source", "target"].map(String::from);
        Err(ErrorDetail::Aliased { subject, node: String::new(), first, second, array }.into())
    };
    match work {
        Work::Launch(launch) => check_aliases(launch.kernel(), &launch.bindings),
        Work::Copy { src, dst } => apart(src, dst),
        Work::Region(copy) => apart(&copy.src, &copy.dst),
        _ => Ok(()),
    }
}

/// Returns the error for two unordered captured commands.
pub(crate) fn hazard(nodes: &[GraphNode], queues: &[Arc<str>], pair: &UnorderedNodes) -> Error {
    let site = |at: u32| {
        let node = &nodes[at as usize];
        Box::new(node.command.site(&queues[node.queue as usize]))
    };
    let access = |write: bool| if write { "write" } else { "read" };
    let earlier = site(pair.earlier);
    let later = site(pair.later);
    let touched = nodes[pair.later as usize].touches().find(|touch| touch.block.id == pair.block);
    let array = touched.map(|touch| touch.block.order().label.to_string()).unwrap_or_default();
    let wait = format!("{}.wait_for(&{})?", later.queue, earlier.queue);
    let later_access = access(pair.later_writes);
    let access = access(pair.earlier_writes);
    let range = pair.range.clone();
    ErrorDetail::Hazard { array, range, earlier, later, access, later_access, wait, gone: false }.into()
}
