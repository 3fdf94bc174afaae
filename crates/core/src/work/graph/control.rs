//! Control flow of a graph: gates, the control table, and loops.
//!
//! A *gate* is a node that decides on the device if the nodes of a body execute. The control table holds the words that
//! the gates set and the group counts that they choose; its layout says which bytes belong to which node.
//!
//! The iterations of a chunked loop are submitted in several batches, as long as the loop goes on. The graph stores
//! only one *part* of such a loop, with a few iterations. A part is a segment of the plan, which the scheduler executes
//! repeatedly. The gates of a part form a ring: each gate reads the word of the previous iteration, and the last gate
//! sets the word that the first iteration of the next part reads.

use crate::memory::block::Block;
use crate::work::graph::nodes::GraphNode;
use crate::work::kernel_launch::BoundArray;
use crate::work::step::Span;
use fencepost_kernels::Access;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// Test of a gate on the value of its condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GateTest {
    /// Any value passes. For the first gate of a `do_while`.
    Always,
    NonZero,
    /// Only 0 passes. For the second body of an `if_else`.
    Zero,
    /// Values above this number pass. For the gates of a `repeat`. A gate with a bound adds the number of finished
    /// iterations.
    Above(u32),
    /// Signed values above this number pass.
    SignedAbove(u32),
    /// No value passes. For a gate that only resets a counter.
    Never,
}

/// A gate. The nodes with the gate word `own` execute if the words `parent` and `previous` are set and the condition
/// passes the test. The words are in the graph's [`ControlTable`](super::control_table::ControlTable).
#[derive(Clone)]
pub(crate) struct Gate {
    /// Four bytes of the condition, which the gate reads at its point in the order of the graph.
    pub(crate) condition: Span,
    pub(crate) test: GateTest,
    /// Word of the gate of the enclosing body, if any.
    pub(crate) parent: Option<u32>,
    /// Word of the previous iteration, if the gate belongs to a later iteration of a loop.
    pub(crate) previous: Option<u32>,
    /// Word that the gate sets: to 0 if the body does not execute. Otherwise to 1 or, for a gate with a bound, to the
    /// number of the iteration.
    pub(crate) own: u32,
    /// Maximum number of iterations, if the gate belongs to a chunked loop. The word `previous` then holds the number
    /// of finished iterations, because the same gate decides about many iterations.
    pub(crate) bound: Option<u32>,
    pub(crate) counter: Option<GateCounter>,
}

/// Counter of a loop, as one of its gates uses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GateCounter {
    /// Index of the loop in the graph.
    pub(crate) index: u32,
    /// `true` for the first gate of the loop in the graph, which sets the counter to 0 before it counts. Set at the end
    /// of the capture.
    pub(crate) resets: bool,
    /// `true` for the gate after the last iteration. It has no body: if it passes, the loop has reached its bound.
    pub(crate) last: bool,
}

impl GateTest {
    /// Returns `true` if a condition with this value passes after `past` iterations. For a gate without a bound, `past`
    /// is 0.
    pub(crate) fn passes(self, value: u32, past: u32) -> bool {
        match self {
            GateTest::Always => true,
            GateTest::NonZero => value != 0,
            GateTest::Zero => value == 0,
            GateTest::Above(limit) => u64::from(value) > u64::from(limit) + u64::from(past),
            GateTest::SignedAbove(limit) => {
                i64::from(value.cast_signed()) > i64::from(limit) + i64::from(past)
            }
            GateTest::Never => false,
        }
    }

    /// Returns the test for a gate with a bound, which itself adds the number of finished iterations to the limit.
    pub(crate) fn after_past(self) -> Self {
        match self {
            GateTest::Above(_) => GateTest::Above(0),
            GateTest::SignedAbove(_) => GateTest::SignedAbove(0),
            other => other,
        }
    }

    /// Returns what a gate writes to its word if the condition has this value, and `true` if the condition passes. For
    /// a gate with a bound, `past` is the word `previous`; otherwise it is 0.
    pub(crate) fn decide(self, bound: Option<u32>, value: u32, past: u32) -> (u32, bool) {
        let passes = self.passes(value, past);
        let goes = passes && bound.is_none_or(|bound| past < bound);
        (if goes { past + 1 } else { 0 }, passes)
    }

    /// Returns the number and the limit of the test, in the form that the gate shader takes.
    pub(crate) fn code(self) -> [u32; 2] {
        match self {
            GateTest::Always => [0, 0],
            GateTest::NonZero => [1, 0],
            GateTest::Zero => [2, 0],
            GateTest::Above(limit) => [3, limit],
            GateTest::SignedAbove(limit) => [4, limit],
            GateTest::Never => [5, 0],
        }
    }
}

impl Gate {
    /// Returns the name of the gate in dumps.
    pub(crate) fn name(&self) -> String {
        match self.test {
            GateTest::Always => "always".into(),
            GateTest::NonZero => "if not 0".into(),
            GateTest::Zero => "if 0".into(),
            GateTest::Above(_) | GateTest::SignedAbove(_) if self.bound.is_some() => {
                "if above the past iterations".into()
            }
            GateTest::Above(limit) | GateTest::SignedAbove(limit) => format!("if above {limit}"),
            GateTest::Never => "reset of a counter".into(),
        }
    }

    /// Returns the gate moved into another graph. `words` is the number of gate words there before its own, and
    /// `counter` its counter there. A gate outside any body gets the parent word `parent`.
    pub(crate) fn moved(&self, words: u32, parent: Option<u32>, counter: Option<GateCounter>) -> Self {
        Self {
            condition: self.condition.clone(),
            test: self.test,
            parent: self.parent.map(|word| word + words).or(parent),
            previous: self.previous.map(|word| word + words),
            own: self.own + words,
            bound: self.bound,
            counter,
        }
    }
}

/// Alignment of each upload's bytes in the table. No device needs a larger binding alignment.
const ALIGNMENT: u64 = 256;

/// A layout, and the initial contents of the table.
pub(crate) struct ControlContents {
    pub(crate) layout: ControlLayout,
    /// Initial contents of the table's words.
    pub(crate) bytes: Vec<u8>,
}

/// Group counts of each dispatch of a node in a body; `None` for other nodes.
type NodeCounts = Option<Arc<[[u32; 3]]>>;

/// Lays out the table of the nodes. `dispatches` returns the group counts of each dispatch of a node in a body.
/// `contents` returns the bytes and the size of an upload.
pub(crate) fn lay_out(
    nodes: &[GraphNode],
    (gates, loops): (u32, Vec<u64>),
    mut dispatches: impl FnMut(&GraphNode) -> Arc<[[u32; 3]]>,
    contents: impl Fn(&GraphNode) -> Option<(Arc<[u8]>, u64)>,
) -> ControlContents {
    let of_nodes: Vec<NodeCounts> = nodes.iter().map(|node| node.gate.map(|_| dispatches(node))).collect();
    let places = places(nodes, &of_nodes, gates);
    let mut layout = ControlLayout { gates, loops, places, ..ControlLayout::default() };
    let mut bytes = vec![0; layout.head() as usize];
    add_wanted(&mut layout, nodes, &of_nodes, &mut bytes);
    add_uploads(&mut layout, nodes, contents, &mut bytes);
    bytes.resize(bytes.len().next_multiple_of(16).max(16), 0);
    ControlContents { layout, bytes }
}

/// Returns, for each gate in order, the places of the dispatches of its nodes.
fn places(nodes: &[GraphNode], of_nodes: &[NodeCounts], gates: u32) -> Vec<Range<u32>> {
    let mut counts = vec![0; gates as usize];
    for (node, of_node) in nodes.iter().zip(of_nodes) {
        if let (Some(gate), Some(of_node)) = (node.gate, of_node) {
            counts[gate as usize] += of_node.len() as u32;
        }
    }
    let mut end = 0;
    let place = |count| {
        end += count;
        end - count..end
    };
    counts.into_iter().map(place).collect()
}

/// Gives each node in a body its places, and stores there the group counts that apply if its gate allows it.
fn add_wanted(layout: &mut ControlLayout, nodes: &[GraphNode], of_nodes: &[NodeCounts], bytes: &mut [u8]) {
    let mut next: Vec<u32> = layout.places.iter().map(|place| place.start).collect();
    for (node, of_node) in nodes.iter().zip(of_nodes) {
        let (Some(gate), Some(of_node)) = (node.gate, of_node) else {
            layout.first.push(0);
            continue;
        };
        let first = next[gate as usize];
        layout.first.push(first);
        next[gate as usize] += of_node.len() as u32;
        let at = 4 * (layout.wanted_at() + COUNTS * first) as usize;
        let wanted: &[u8] = bytemuck::cast_slice(of_node);
        bytes[at..at + wanted.len()].copy_from_slice(wanted);
    }
}

/// Adds the bytes of each upload in a body. All iterations share the bytes of one command.
fn add_uploads(
    layout: &mut ControlLayout,
    nodes: &[GraphNode],
    contents: impl Fn(&GraphNode) -> Option<(Arc<[u8]>, u64)>,
    bytes: &mut Vec<u8>,
) {
    let mut known = FxHashMap::default();
    for (at, node) in nodes.iter().enumerate().filter(|(_, node)| node.gate.is_some()) {
        let Some((upload, size)) = contents(node) else { continue };
        let offset = *known.entry(Arc::as_ptr(&node.command)).or_insert_with(|| {
            let offset = (bytes.len() as u64).next_multiple_of(ALIGNMENT);
            bytes.resize(offset as usize, 0);
            bytes.extend_from_slice(&upload);
            bytes.resize((offset + size) as usize, 0);
            offset
        });
        layout.uploads.insert(at as u32, offset);
    }
}

/// Number of words of one dispatch's group counts.
pub(crate) const COUNTS: u32 = 3;
/// Number of words of one loop's counter: the iterations, and 1 if the loop has reached its bound.
pub(crate) const COUNTER: u32 = 2;

/// Memory of a graph's gates. Replays of a graph with a table run one after the other, so one table serves all of them.
/// An edit makes a new table.
pub(crate) struct ControlTable {
    /// Words of the gates, counters of the loops, wanted group counts, and bytes of uploads.
    pub(crate) words: Arc<Block>,
    /// Group counts that the device dispatches: the wanted counts in `words`, or zeros. They are in a separate block,
    /// because a dispatch cannot read its counts from a buffer that it binds for writing.
    pub(crate) counts: Arc<Block>,
    pub(crate) layout: ControlLayout,
}

/// Layout of a [`ControlTable`].
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlLayout {
    /// Number of gate words.
    pub(crate) gates: u32,
    /// Tokens of the graph's loops. Each loop has one counter.
    pub(crate) loops: Vec<u64>,
    /// For each gate word, the places of the dispatches that the gate allows.
    pub(crate) places: Vec<Range<u32>>,
    /// For each node in a body, the place of its first dispatch; 0 for other nodes.
    pub(crate) first: Vec<u32>,
    /// For each upload in a body, by its node, the first byte of its contents in the table.
    pub(crate) uploads: FxHashMap<u32, u64>,
    /// Output of the graph for the counters. The last node of the graph reads it.
    pub(crate) output: Option<u32>,
}

/// Location in the control table of the data of a node in a body.
#[derive(Clone, Copy)]
pub(crate) struct GatedPlace<'e> {
    pub(crate) table: &'e ControlTable,
    /// Word of the node's gate.
    pub(crate) gate: u32,
    /// Place of the node's first dispatch.
    pub(crate) first: u32,
    /// First byte of an upload's contents.
    pub(crate) upload: u64,
}

impl ControlLayout {
    /// Returns the number of dispatches of all bodies.
    pub(crate) fn dispatches(&self) -> u32 {
        self.places.last().map_or(0, |last| last.end)
    }

    /// Returns the number of gates, plus that of the dispatches of all bodies.
    pub(crate) fn all_dispatches(&self) -> u64 {
        u64::from(self.gates) + u64::from(self.dispatches())
    }

    /// Returns the places of the dispatches that a gate allows.
    pub(crate) fn places(&self, gate: u32) -> Range<u32> {
        self.places[gate as usize].clone()
    }

    /// Returns the word of a loop's counter.
    pub(crate) fn counter_at(&self, index: u32) -> u32 {
        self.gates + COUNTER * index
    }

    /// Returns the word of the first wanted group count.
    pub(crate) fn wanted_at(&self) -> u32 {
        self.counter_at(self.loops.len() as u32)
    }

    /// Returns the size of the table before the uploads, in bytes.
    pub(crate) fn head(&self) -> u64 {
        4 * u64::from(self.wanted_at() + COUNTS * self.dispatches())
    }

    /// Returns the byte range of the counters.
    pub(crate) fn counters(&self) -> Range<u64> {
        4 * u64::from(self.counter_at(0))..4 * u64::from(self.wanted_at())
    }

    /// Returns the nodes except the read of the counters.
    pub(crate) fn own_nodes<'n, N>(&self, nodes: &'n [N]) -> &'n [N] {
        &nodes[..nodes.len() - usize::from(self.output.is_some())]
    }
}

impl ControlTable {
    /// Returns the place of a node in a body.
    pub(crate) fn place(&self, node: u32, gate: u32) -> GatedPlace<'_> {
        let first = self.layout.first[node as usize];
        let upload = self.layout.uploads.get(&node).copied().unwrap_or_default();
        GatedPlace { table: self, gate, first, upload }
    }

    /// Returns how a replay uses the table.
    pub(crate) fn uses(&self) -> impl Iterator<Item = BoundArray> {
        [&self.words, &self.counts].into_iter().map(|block| BoundArray {
            at: 0,
            block: block.clone(),
            offset: 0,
            size: block.size,
            used: Some(Access::ReadWrite),
        })
    }
}

/// Returns the first byte of the group counts of a dispatch.
pub(crate) fn counts_at(place: u32) -> u64 {
    4 * u64::from(COUNTS * place)
}

/// Maximum number of gates and dispatches in a chunk with several parts, so that skipping a chunk after the loop's end
/// takes little time.
const MOST_OF_A_CHUNK: u64 = 512;

/// A chunked loop.
#[derive(Clone, Debug)]
pub(crate) struct ChunkedLoop {
    /// Nodes of one part.
    pub(crate) nodes: Range<u32>,
    /// Number of iterations of one part.
    pub(crate) iterations: u32,
    /// Number of gates and dispatches of one part.
    pub(crate) dispatches: u64,
    /// Maximum number of iterations of the loop.
    pub(crate) bound: u32,
    /// Word that says, after each part, if the loop goes on.
    pub(crate) word: u32,
}

/// Boundary between two segments of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// A host callback, which runs between the segments.
    HostCall,
    /// The start of a chunked loop, with this index. The next segment is a part of it.
    LoopStart(u32),
    /// The end of a chunked loop. The previous segment is a part of it.
    LoopEnd,
}

/// First nodes of segments, each with the cut before it.
pub(crate) type Cuts = Vec<(u32, Cut)>;

impl Cut {
    /// Returns the number of levels that the cut occupies.
    pub(crate) fn levels(self) -> u32 {
        u32::from(!matches!(self, Cut::LoopStart(_)))
    }
}

impl ChunkedLoop {
    /// Returns the loop moved into a graph with this many nodes and words before it.
    pub(crate) fn moved(&self, nodes: u32, words: u32) -> Self {
        let nodes = self.nodes.start + nodes..self.nodes.end + nodes;
        Self { nodes, word: self.word + words, ..self.clone() }
    }

    /// Returns the number of parts in the largest chunk.
    pub(crate) fn most_parts(&self) -> u32 {
        (MOST_OF_A_CHUNK / self.dispatches.max(1)).clamp(1, MOST_OF_A_CHUNK) as u32
    }

    /// Returns the word that says if the loop goes on.
    pub(crate) fn state(&self, table: &ControlTable) -> Span {
        Span { block: table.words.clone(), offset: 4 * u64::from(self.word), size: 4 }
    }
}

/// Returns the cuts of a graph, in the order of the nodes. `calls` has, for each host callback, the number of nodes
/// before it.
pub(crate) fn cuts(calls: impl Iterator<Item = u32>, loops: &[ChunkedLoop]) -> Cuts {
    let of_loops = loops.iter().zip(0..).flat_map(|(chunked, at)| {
        [(chunked.nodes.start, Cut::LoopStart(at)), (chunked.nodes.end, Cut::LoopEnd)]
    });
    let mut all: Cuts = of_loops.chain(calls.map(|at| (at, Cut::HostCall))).collect();
    // A loop's gate precedes its nodes, so a host callback at the same position runs after the loop.
    all.sort_by_key(|&(at, _)| at);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::CommandKind;
    use crate::scheduler::test_engine;
    use crate::scheduler::test_engine::{block, span};
    use crate::work::step::Work;

    #[test]
    fn a_signed_count_below_zero_is_above_no_number() {
        assert!(GateTest::Above(5).passes(u32::MAX, 0));
        assert!(!GateTest::SignedAbove(0).passes(u32::MAX, 0));
        assert!(!GateTest::SignedAbove(u32::MAX).passes(i32::MAX as u32, 0));
        assert!(GateTest::SignedAbove(2).passes(3, 0) && !GateTest::SignedAbove(3).passes(3, 0));
        assert!(GateTest::Above(0).passes(3, 2) && !GateTest::SignedAbove(0).passes(3, 3));
    }

    #[test]
    fn a_moved_gate_is_after_the_moved_gate_of_the_previous_iteration() {
        let condition = Span { size: 4, ..span(&block()) };
        let test = GateTest::NonZero;
        let gate =
            Gate { condition, test, parent: None, previous: Some(2), own: 3, bound: None, counter: None };
        let words = |moved: Gate| (moved.parent, moved.previous, moved.own);
        assert_eq!(words(gate.moved(10, Some(5), None)), (Some(5), Some(12), 13));
        let inner = Gate { parent: Some(1), previous: None, ..gate };
        assert_eq!(words(inner.moved(10, Some(5), None)), (Some(11), None, 13));
    }

    #[test]
    fn a_gate_with_a_bound_counts_the_iterations_in_its_word() {
        let after = |past| GateTest::NonZero.decide(Some(3), 7, past);
        assert_eq!([0, 1, 2, 3].map(after), [(1, true), (2, true), (3, true), (0, true)]);
        assert_eq!(GateTest::NonZero.decide(Some(3), 0, 1), (0, false));
        assert_eq!(GateTest::Above(0).decide(Some(u32::MAX), 2, 1), (2, true));
        assert_eq!(GateTest::Above(0).decide(Some(u32::MAX), 2, 2), (0, false));
    }

    fn node(gate: Option<u32>) -> GraphNode {
        GraphNode { gate, ..test_engine::node(Work::Nothing, CommandKind::Fill) }
    }

    #[test]
    fn the_dispatches_of_a_gate_follow_each_other() {
        let nodes = [None, Some(1), Some(0), None, Some(1), Some(2)].map(node);
        let mut made = 0;
        let counts = |_: &GraphNode| -> Arc<[[u32; 3]]> {
            made += 1;
            (0..made).map(|at| [made, at, 1]).collect()
        };
        let contents = |node: &GraphNode| node.gate.filter(|&gate| gate == 1).map(|_| ([7; 5].into(), 8));
        let ControlContents { layout, bytes } = lay_out(&nodes, (3, vec![9, 8]), counts, contents);
        assert_eq!(layout.places, [0..2, 2..6, 6..10]);
        assert_eq!(layout.first, [0, 2, 0, 0, 3, 6]);
        assert_eq!((layout.counters(), layout.wanted_at(), layout.all_dispatches()), (12..28, 7, 13));
        let words: &[u32] = bytemuck::cast_slice(&bytes[..layout.head() as usize]);
        assert_eq!(words[7..16], [2, 0, 1, 2, 1, 1, 1, 0, 1]);
        assert_eq!(layout.uploads, FxHashMap::from_iter([(1, 256), (4, 512)]));
        assert_eq!(bytes[512..], [7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    fn chunked(nodes: Range<u32>, dispatches: u64) -> ChunkedLoop {
        ChunkedLoop { nodes, iterations: 4, dispatches, bound: 9, word: 3 }
    }

    #[test]
    fn a_host_callback_comes_after_the_loop_before_it() {
        let loops = [chunked(3..9, 8), chunked(10..12, 8)];
        let found = cuts([1, 9, 9, 12].into_iter(), &loops);
        let call = |at| (at, Cut::HostCall);
        let of_loop = |start, end, at| [(start, Cut::LoopStart(at)), (end, Cut::LoopEnd)];
        let ([start, end], [second, last]) = (of_loop(3, 9, 0), of_loop(10, 12, 1));
        assert_eq!(found, [call(1), start, end, call(9), call(9), second, last, call(12)]);
    }

    #[test]
    fn a_chunk_of_a_large_body_has_one_part() {
        let most = |dispatches| chunked(0..1, dispatches).most_parts();
        assert_eq!([0, 8, 512, 513].map(most), [512, 64, 1, 1]);
    }

    #[test]
    fn a_moved_loop_has_other_nodes_and_another_word() {
        let moved = chunked(3..9, 8).moved(10, 20);
        assert_eq!((moved.nodes, moved.word, moved.bound), (13..19, 23, 9));
    }
}
