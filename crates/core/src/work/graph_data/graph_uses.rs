//! The uses of a whole graph: which ranges of blocks its nodes read and write.

use crate::memory::block::Block;
use crate::memory::heap::BlockId;
use crate::work::graph_data::graph_node::GraphNode;
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

/// Returns the uses of the nodes: for each block, the ranges that are read and the ranges that are written. The policy
/// orders a replay by these uses, as it orders a launch by its arguments.
pub(crate) fn merged_uses<'n>(nodes: impl Iterator<Item = &'n GraphNode>) -> Vec<BoundArray> {
    let mut places: FxHashMap<BlockId, usize> = FxHashMap::default();
    let mut blocks: Vec<BlockRanges> = Vec::new();
    for node in nodes {
        // A block that is bound and not accessed is listed too, without a range.
        node.command.work.each_block(|block| {
            places.entry(block.id).or_insert_with(|| {
                blocks.push(BlockRanges { block: block.clone(), ranges: [Vec::new(), Vec::new()] });
                blocks.len() - 1
            });
        });
        for touch in node.touches() {
            let place = places[&touch.block.id];
            insert(&mut blocks[place].ranges[usize::from(touch.write)], touch.range.clone());
        }
    }
    let mut uses = Vec::new();
    for BlockRanges { block, ranges: [read, written] } in &blocks {
        if read.is_empty() && written.is_empty() {
            uses.push(BoundArray { at: 0, block: block.clone(), offset: 0, size: 0, used: None });
        }
        let is_written = |range: &Range<u64>| {
            written.iter().any(|written| written.start <= range.start && range.end <= written.end)
        };
        let read = read.iter().filter(|range| !is_written(range)).map(|range| (range, Access::Read));
        for (range, access) in read.chain(written.iter().map(|range| (range, Access::ReadWrite))) {
            let (offset, size) = (range.start, range.end - range.start);
            uses.push(BoundArray { at: 0, block: block.clone(), offset, size, used: Some(access) });
        }
    }
    uses
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
