//! Loops in chunks: the iterations of such a loop are submitted in several batches, as long as the loop goes on.
//!
//! The nodes of a loop in chunks are one *part* of it, which executes a few iterations. A part is a segment of the plan, and
//! the scheduler executes it again and again. The gates of a part form a ring of words: the gate before an iteration reads
//! the word of the iteration before, and the last gate of a part sets the word that the first body of the next part reads.

use crate::work::graph_data::control_table::ControlTable;
use crate::work::span::Span;
use std::ops::Range;

/// Most gates and dispatches of a chunk with several parts, so that a device skips a chunk after the loop's end in
/// little time.
const MOST_OF_A_CHUNK: u64 = 512;

/// A loop in chunks.
#[derive(Clone, Debug)]
pub(crate) struct ChunkedLoop {
    /// Nodes of one part.
    pub(crate) nodes: Range<u32>,
    /// Number of iterations of one part.
    pub(crate) iterations: u32,
    /// Number of gates and dispatches of one part.
    pub(crate) dispatches: u64,
    /// Most iterations of the loop.
    pub(crate) bound: u32,
    /// Word that says, after each part, if the loop goes on.
    pub(crate) word: u32,
}

/// Boundary between two segments of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// A host callback runs.
    HostCall,
    /// The segment after the cut is a part of this loop in chunks.
    LoopStart(u32),
    /// The segment before the cut is a part of a loop in chunks.
    LoopEnd,
}

/// Nodes before which a segment starts, each with the cut before it.
pub(crate) type Cuts = Vec<(u32, Cut)>;

impl Cut {
    /// Returns the number of levels that the cut takes.
    pub(crate) fn levels(self) -> u32 {
        u32::from(!matches!(self, Cut::LoopStart(_)))
    }
}

impl ChunkedLoop {
    /// Returns the loop, moved into a graph with this many nodes and words before it.
    pub(crate) fn moved(&self, nodes: u32, words: u32) -> Self {
        let nodes = self.nodes.start + nodes..self.nodes.end + nodes;
        Self { nodes, word: self.word + words, ..self.clone() }
    }

    /// Returns the number of parts in the largest chunk.
    pub(crate) fn most_parts(&self) -> u32 {
        (MOST_OF_A_CHUNK / self.dispatches.max(1)).clamp(1, MOST_OF_A_CHUNK) as u32
    }

    /// Returns the bytes of the word that says whether the loop goes on.
    pub(crate) fn state(&self, table: &ControlTable) -> Span {
        Span { block: table.words.clone(), offset: 4 * u64::from(self.word), size: 4 }
    }
}

/// Returns the cuts of a graph, in the order of the nodes. `calls` lists the number of nodes before each host callback.
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

    fn chunked(nodes: Range<u32>, dispatches: u64) -> ChunkedLoop {
        ChunkedLoop { nodes, iterations: 4, dispatches, bound: 9, word: 3 }
    }

    #[test]
    fn a_function_of_the_host_behind_a_loop_comes_after_it() {
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
