//! The uses of a whole graph: which ranges of blocks its nodes read and write, and how many nodes use each range.
//! Changing a node updates only the counts for that node.

use crate::memory::block::{Block, BlockId, LastUse};
use crate::work::graph::control::ControlTable;
use crate::work::graph::names::{BoundInput, GraphNames};
use crate::work::graph::nodes::{CommandPart, GraphNode, NamedRange, NodeCommand, parts};
use crate::work::kernel_launch::BoundArray;
use fencepost_kernels::Access;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Uses of a part of a graph with bound inputs.
#[derive(Default)]
pub(crate) struct BoundUses {
    pub(crate) bound: Arc<[BoundArray]>,
    /// Last use of these bytes by a replay.
    pub(crate) last: LastUse,
}

/// The uses by nodes. Uses of inputs are separate, because each replay may bind other arrays.
pub(crate) struct SplitUses {
    /// Uses of bytes that belong to no input.
    pub(crate) fixed: Arc<[BoundArray]>,
    /// Used ranges of each input, relative to its start.
    inputs: Vec<Vec<(Range<u64>, Access)>>,
}

impl SplitUses {
    /// Returns the counted uses, and those of the gate table.
    pub(crate) fn new(counts: &UseCounts, control: Option<&ControlTable>) -> Self {
        let control = control.into_iter().flat_map(ControlTable::uses);
        Self { fixed: counts.fixed().chain(control).collect(), inputs: counts.inputs().collect() }
    }

    /// Returns all uses, with the bytes `bound` bound to the inputs.
    pub(crate) fn bound(&self, bound: &[BoundInput]) -> BoundUses {
        let last = LastUse::default();
        if self.inputs.is_empty() {
            return BoundUses { bound: self.fixed.clone(), last };
        }
        let of_inputs = self.inputs.iter().zip(bound).flat_map(|(ranges, bound)| {
            ranges.iter().map(|(range, access)| BoundArray {
                at: 0,
                block: bound.block.clone(),
                offset: bound.offset + range.start,
                size: range.end - range.start,
                used: Some(*access),
            })
        });
        BoundUses { bound: self.fixed.iter().cloned().chain(of_inputs).collect(), last }
    }
}

/// Maximum number of ranges of a block that are listed separately. More ranges are replaced by one that contains all of
/// them.
const MOST_RANGES: usize = 256;

/// Counts of the uses by the nodes `range`.
#[derive(Clone)]
pub(crate) struct UseCounts {
    range: Range<u32>,
    /// For each part of a node that uses an input, the input and the start of the bytes in it.
    starts: FxHashMap<(u32, CommandPart), (usize, u64)>,
    places: FxHashMap<BlockId, usize>,
    blocks: Vec<BlockCounts>,
    /// Counts of the used ranges of each input, relative to its start.
    inputs: Vec<RangeCounts>,
}

/// Counts of the uses of one block, without uses through inputs.
#[derive(Clone)]
struct BlockCounts {
    block: Arc<Block>,
    /// Number of parts of nodes that refer to the block.
    parts: u32,
    ranges: RangeCounts,
}

/// Counts of the uses of ranges. A key is the start and the end of a range, and `true` for a write.
#[derive(Clone, Default)]
struct RangeCounts(BTreeMap<(u64, u64, bool), u32>);

impl UseCounts {
    pub(crate) fn new(nodes: &[GraphNode], range: Range<u32>, names: &GraphNames) -> Self {
        let mut starts = FxHashMap::default();
        for (at, input) in names.inputs.iter().enumerate() {
            for place in input.places.iter().filter(|place| range.contains(&place.node)) {
                starts.insert((place.node, place.part), (at, place.start));
            }
        }
        let mut counts = Self {
            range: range.clone(),
            starts,
            places: FxHashMap::default(),
            blocks: Vec::new(),
            inputs: vec![RangeCounts::default(); names.inputs.len()],
        };
        range.for_each(|node| counts.change(node, &nodes[node as usize].command, true));
        counts
    }

    /// Replaces the counted uses of a node's old command by those of its new command.
    pub(crate) fn replace(&mut self, node: u32, old: &NodeCommand, new: &NodeCommand) {
        if self.range.contains(&node) {
            self.change(node, new, true);
            self.change(node, old, false);
        }
    }

    /// Returns the blocks that nodes refer to, except through inputs.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Arc<Block>> {
        self.blocks.iter().map(|counted| &counted.block)
    }

    /// Returns the uses of bytes that belong to no input: for each block, the ranges that are read and those that are
    /// written.
    pub(crate) fn fixed(&self) -> impl Iterator<Item = BoundArray> {
        self.blocks.iter().flat_map(BlockCounts::uses)
    }

    /// Returns the used ranges of each input, relative to its start.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Vec<(Range<u64>, Access)>> {
        self.inputs.iter().map(|ranges| ranges.accesses().collect())
    }

    /// Counts the uses of a command, or no longer counts them if `counts` is `false`.
    fn change(&mut self, node: u32, command: &NodeCommand, counts: bool) {
        let is_empty = command.is_empty();
        for named in parts(&command.work) {
            let start = self.starts.get(&(node, named.part)).copied();
            let ranges = match start {
                Some((input, _)) => &mut self.inputs[input],
                None => {
                    let counted = self.counted(named.block);
                    counted.parts = if counts { counted.parts + 1 } else { counted.parts - 1 };
                    &mut counted.ranges
                }
            };
            match key(&named, start).filter(|_| !is_empty) {
                Some(key) if counts => *ranges.0.entry(key).or_insert(0) += 1,
                Some(key) => ranges.remove(key),
                None => {}
            }
            if start.is_none() && !counts {
                self.forget_unnamed(named.block.id);
            }
        }
    }

    /// Returns the counts of a block; they are empty if the block is new.
    fn counted(&mut self, block: &Arc<Block>) -> &mut BlockCounts {
        let at = *self.places.entry(block.id).or_insert(self.blocks.len());
        if at == self.blocks.len() {
            self.blocks.push(BlockCounts { block: block.clone(), parts: 0, ranges: RangeCounts::default() });
        }
        &mut self.blocks[at]
    }

    /// Removes a block that no node refers to any more.
    fn forget_unnamed(&mut self, id: BlockId) {
        let at = self.places[&id];
        if self.blocks[at].parts > 0 {
            return;
        }
        self.places.remove(&id);
        self.blocks.swap_remove(at);
        if let Some(moved) = self.blocks.get(at) {
            self.places.insert(moved.block.id, at);
        }
    }
}

/// Returns the key of a use, or `None` if the command only binds the bytes. Ranges of an input are relative to its
/// start.
fn key(named: &NamedRange<'_>, start: Option<(usize, u64)>) -> Option<(u64, u64, bool)> {
    let Range { start: first, end } = named.range;
    let from = start.map_or(first, |(_, start)| start);
    named.write.map(|write| (from, from + (end - first), write))
}

impl BlockCounts {
    fn uses(&self) -> SmallVec<[BoundArray; 2]> {
        let use_of = |range: Range<u64>, used: Option<Access>| {
            let block = self.block.clone();
            let offset = range.start;
            let size = range.end - range.start;
            BoundArray { at: 0, block, offset, size, used }
        };
        if self.ranges.0.is_empty() {
            // A kernel binds the block without accessing it.
            return SmallVec::from_iter([use_of(0..0, None)]);
        }
        self.ranges.accesses().map(|(range, access)| use_of(range, Some(access))).collect()
    }
}

impl RangeCounts {
    fn remove(&mut self, key: (u64, u64, bool)) {
        if let Some(count) = self.0.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&key);
            }
        }
    }

    /// Returns the ranges that are only read, and those that are written, each with its access.
    fn accesses(&self) -> impl Iterator<Item = (Range<u64>, Access)> {
        let of = |writes: bool| {
            let keys = self.0.keys().filter(move |key| key.2 == writes);
            merged(keys.map(|&(start, end, _)| start..end))
        };
        let written = of(true);
        let is_written = |range: &Range<u64>| {
            written.iter().any(|written| written.start <= range.start && range.end <= written.end)
        };
        let mut read = of(false);
        read.retain(|range| !is_written(range));
        let read = read.into_iter().map(|range| (range, Access::Read));
        read.chain(written.into_iter().map(|range| (range, Access::ReadWrite)))
    }
}

/// Merges ranges that overlap or touch each other. The ranges must be sorted by their starts.
fn merged(ranges: impl Iterator<Item = Range<u64>>) -> SmallVec<[Range<u64>; 2]> {
    let mut merged: SmallVec<[Range<u64>; 2]> = SmallVec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    if merged.len() > MOST_RANGES {
        let all = merged[0].start..merged[merged.len() - 1].end;
        merged.clear();
        merged.push(all);
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let ranges = [0..4, 2..3, 4..8, 8..12, 20..24];
        assert_eq!(merged(ranges.into_iter())[..], [0..12, 20..24]);
    }

    #[test]
    fn many_ranges_become_one() {
        let apart = |count: u64| merged((0..count).map(|at| at * 8..at * 8 + 4));
        assert_eq!(apart(256).len(), 256);
        let ranges = apart(257);
        assert_eq!((ranges.len(), ranges[0].clone()), (1, 0..256 * 8 + 4));
    }

    #[test]
    fn a_range_counts_until_its_last_use_is_removed() {
        let mut counts = RangeCounts::default();
        let key = (0, 4, true);
        (0..2).for_each(|_| *counts.0.entry(key).or_insert(0) += 1);
        counts.remove(key);
        assert_eq!(counts.accesses().collect::<Vec<_>>(), [(0..4, Access::ReadWrite)]);
        counts.remove(key);
        assert_eq!(counts.accesses().count(), 0);
    }
}
