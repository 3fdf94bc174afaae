//! The uses of a whole graph: which ranges of blocks its nodes read and write.

use crate::memory::block::Block;
use crate::memory::heap::BlockId;
use crate::work::graph_data::control_table::ControlTable;
use crate::work::graph_data::graph_names::{BoundInput, GraphNames};
use crate::work::graph_data::graph_node::GraphNode;
use crate::work::graph_data::node_parts::{CommandPart, NamedRange, parts};
use crate::work::kernel_launch::BoundArray;
use fencepost_kernels::Access;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// Limits the ranges of a block that are listed apart. More ranges become one, from the first byte to the last.
const MOST_RANGES: usize = 16;

/// Collects the ranges of one block.
struct BlockRanges {
    block: Arc<Block>,
    /// Lists the ranges that are read only, and those that are written.
    ranges: [Vec<Range<u64>>; 2],
}

/// Collects the ranges of the blocks that nodes use.
#[derive(Default)]
struct Collection {
    places: FxHashMap<BlockId, usize>,
    blocks: Vec<BlockRanges>,
}

/// Holds the uses of nodes: those of the inputs apart, because each run may bind other arrays to the inputs.
pub(crate) struct SplitUses {
    /// Lists the uses of bytes that belong to no input.
    pub(crate) fixed: Arc<[BoundArray]>,
    /// Lists for each input the ranges that are used, from the start of the input.
    inputs: Vec<Vec<(Range<u64>, Access)>>,
}

impl Collection {
    /// Lists a block, if it is not listed yet, and returns its place.
    fn place(&mut self, block: &Arc<Block>) -> usize {
        *self.places.entry(block.id).or_insert_with(|| {
            self.blocks.push(BlockRanges { block: block.clone(), ranges: [Vec::new(), Vec::new()] });
            self.blocks.len() - 1
        })
    }

    fn add(&mut self, block: &Arc<Block>, range: Range<u64>, write: bool) {
        let place = self.place(block);
        insert(&mut self.blocks[place].ranges[usize::from(write)], range);
    }

    fn uses(self) -> Vec<BoundArray> {
        let mut uses = Vec::new();
        for BlockRanges { block, ranges } in self.blocks {
            if ranges.iter().all(Vec::is_empty) {
                // A kernel binds the block and does not access it.
                uses.push(BoundArray { at: 0, block: block.clone(), offset: 0, size: 0, used: None });
            }
            for (range, access) in accesses(&ranges) {
                let (offset, size) = (range.start, range.end - range.start);
                uses.push(BoundArray { at: 0, block: block.clone(), offset, size, used: Some(access) });
            }
        }
        uses
    }
}

/// Returns the ranges that are only read, and those that are written, each with its access.
fn accesses([read, written]: &[Vec<Range<u64>>; 2]) -> Vec<(Range<u64>, Access)> {
    let is_written = |range: &Range<u64>| {
        written.iter().any(|written| written.start <= range.start && range.end <= written.end)
    };
    let read = read.iter().filter(|range| !is_written(range)).map(|range| (range.clone(), Access::Read));
    read.chain(written.iter().map(|range| (range.clone(), Access::ReadWrite))).collect()
}

impl SplitUses {
    /// Returns the uses of the nodes `range`: for each block, the ranges that are read and the ranges that are written. Adds those of
    /// the table of the gates.
    pub(crate) fn new(
        nodes: &[GraphNode],
        range: Range<u32>,
        names: &GraphNames,
        control: Option<&ControlTable>,
    ) -> Self {
        let starts = starts(names, &range);
        let mut fixed = Collection::default();
        let mut inputs: Vec<[Vec<Range<u64>>; 2]> = names.inputs.iter().map(|_| Default::default()).collect();
        for at in range {
            let node = &nodes[at as usize];
            if starts.is_empty() {
                node.command.work.each_block(|block| {
                    fixed.place(block);
                });
                node.touches().for_each(|touch| fixed.add(touch.block, touch.range, touch.write));
                continue;
            }
            let named = parts(&node.command.work);
            for NamedRange { part, block, range, write } in
                named.into_iter().filter(|_| !node.command.is_empty())
            {
                let Some(write) = write else {
                    if !starts.contains_key(&(at, part)) {
                        fixed.place(block);
                    }
                    continue;
                };
                match starts.get(&(at, part)) {
                    Some(&(input, start)) => {
                        let range = start..start + (range.end - range.start);
                        insert(&mut inputs[input][usize::from(write)], range);
                    }
                    None => fixed.add(block, range, write),
                }
            }
        }
        let fixed: Vec<BoundArray> =
            fixed.uses().into_iter().chain(control.into_iter().flat_map(ControlTable::uses)).collect();
        Self { fixed: fixed.into(), inputs: inputs.iter().map(accesses).collect() }
    }

    /// Returns all uses if the inputs stand for the bytes `bound`.
    pub(crate) fn bound(&self, bound: &[BoundInput]) -> Arc<[BoundArray]> {
        if self.inputs.is_empty() {
            return self.fixed.clone();
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
        self.fixed.iter().cloned().chain(of_inputs).collect()
    }
}

/// Maps each part of a node in `range` that names bytes of an input to the input and to the start of the bytes.
fn starts(names: &GraphNames, range: &Range<u32>) -> FxHashMap<(u32, CommandPart), (usize, u64)> {
    let mut starts = FxHashMap::default();
    for (at, input) in names.inputs.iter().enumerate() {
        for place in input.places.iter().filter(|place| range.contains(&place.node)) {
            starts.insert((place.node, place.part), (at, place.start));
        }
    }
    starts
}

/// Adds a range to a list of ranges that neither overlap nor touch each other.
fn insert(ranges: &mut Vec<Range<u64>>, mut new: Range<u64>) {
    if ranges.iter().any(|range| range.start <= new.start && new.end <= range.end) {
        return;
    }
    ranges.retain(|range| {
        let apart = range.end < new.start || new.end < range.start;
        if !apart {
            new = new.start.min(range.start)..new.end.max(range.end);
        }
        apart
    });
    ranges.push(new);
    if ranges.len() > MOST_RANGES {
        let start = ranges.iter().map(|range| range.start).min().unwrap_or(0);
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        ranges.clear();
        ranges.push(start..end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut ranges = Vec::new();
        for range in [0..4, 8..12, 4..8, 2..3, 20..24] {
            insert(&mut ranges, range);
        }
        ranges.sort_by_key(|range| range.start);
        assert_eq!(ranges, [0..12, 20..24]);
    }

    #[test]
    fn many_ranges_become_one() {
        let mut ranges = Vec::new();
        for at in 0..40 {
            insert(&mut ranges, at * 8..at * 8 + 4);
        }
        assert!(ranges.len() <= MOST_RANGES, "{ranges:?}");
        assert_eq!(ranges.iter().map(|range| range.start).min(), Some(0));
        assert_eq!(ranges.iter().map(|range| range.end).max(), Some(39 * 8 + 4));
    }
}
