//! The table of a graph with control flow: the words that its gates set, and the group counts that they choose.

use crate::memory::block::Block;
use crate::work::kernel_launch::BoundArray;
use fencepost_kernels::Access;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// Most gates and dispatches in the bodies of a graph.
pub(crate) const MOST_DISPATCHES: u64 = 65_536;
/// Number of words of one dispatch's group counts.
pub(crate) const COUNTS: u32 = 3;
/// Number of words of one loop's counter: the iterations, and 1 if the loop has reached its bound.
pub(crate) const COUNTER: u32 = 2;

/// Memory of a graph's gates. The replays of a graph with a table come one after the other, so one table serves all of
/// them. An edit makes another table.
pub(crate) struct ControlTable {
    /// Words of the gates, counters of the loops, wanted group counts and bytes of uploads.
    pub(crate) words: Arc<Block>,
    /// Group counts from which the device dispatches: the wanted counts in `words`, or zeros. They have a block of
    /// their own, because a dispatch cannot both bind the buffer of its own counts for writing and read the counts from
    /// it.
    pub(crate) counts: Arc<Block>,
    pub(crate) layout: ControlLayout,
}

/// Layout of a [`ControlTable`].
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlLayout {
    /// Number of words of the gates.
    pub(crate) gates: u32,
    /// Tokens of the graph's loops. Each loop has one counter.
    pub(crate) loops: Vec<u64>,
    /// For each word of a gate, the places of the dispatches that the gate allows.
    pub(crate) places: Vec<Range<u32>>,
    /// For each node in a body, the place of its first dispatch; 0 for other nodes.
    pub(crate) first: Vec<u32>,
    /// First byte in the table of the contents of each upload in a body, by node.
    pub(crate) uploads: FxHashMap<u32, u64>,
    /// Output of the graph that reads the counters. The last node of the graph is this read.
    pub(crate) output: Option<u32>,
}

/// Place of a body's node in the control table.
#[derive(Clone, Copy)]
pub(crate) struct GatedPlace<'e> {
    pub(crate) table: &'e ControlTable,
    /// Word of the gate that the node belongs to.
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

    /// Returns the number of gates and dispatches of all bodies.
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

    /// Returns the number of bytes before the uploads.
    pub(crate) fn head(&self) -> u64 {
        4 * u64::from(self.wanted_at() + COUNTS * self.dispatches())
    }

    /// Returns the bytes of the counters.
    pub(crate) fn counters(&self) -> Range<u64> {
        4 * u64::from(self.counter_at(0))..4 * u64::from(self.wanted_at())
    }

    /// Returns the nodes without the read of the counters.
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

    /// Returns the uses of the table by a replay.
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
