//! The memory of arrays that a capture makes and drops: later arrays of the same capture reuse it.

use crate::memory::block::Block;
use crate::memory::heap::BlockId;
use crate::work::step::Work;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Most blocks of one size that an allocation looks at.
const MOST_BLOCKS: usize = 64;

/// Blocks of the arrays that a capture has made.
#[derive(Default)]
pub(crate) struct MadeBlocks {
    places: FxHashMap<BlockId, usize>,
    blocks: Vec<MadeBlock>,
}

/// Queues, each with its last node that uses a block.
type LastNodes = SmallVec<[(u32, u32); 2]>;

/// A block with the nodes that use it.
struct MadeBlock {
    block: Arc<Block>,
    /// Context of the block.
    context: u32,
    /// Last uses of the array that has the block now.
    uses: LastNodes,
    /// Last uses of the dropped arrays that had the block before.
    earlier: LastNodes,
}

impl MadeBlocks {
    /// Adds the block of a new array.
    pub(crate) fn add(&mut self, block: &Arc<Block>, context: u32) {
        let at = self.blocks.len();
        if self.places.insert(block.id, at).is_none() {
            self.blocks.push(MadeBlock {
                block: block.clone(),
                context,
                uses: LastNodes::new(),
                earlier: LastNodes::new(),
            });
        }
    }

    /// Records the uses of a new node.
    pub(crate) fn note(&mut self, queue: u32, node: u32, work: &Work) {
        if self.blocks.is_empty() {
            return;
        }
        work.each_block(|block| {
            let Some(&at) = self.places.get(&block.id) else { return };
            add(&mut self.blocks[at].uses, queue, node);
        });
    }

    /// Returns the uses of dropped arrays that the work must come after, because it uses their memory. `clock` is the
    /// clock of its queue.
    pub(crate) fn missing(&self, work: &Work, clock: &[u32]) -> SmallVec<[u32; 2]> {
        let mut missing = SmallVec::new();
        if self.blocks.is_empty() {
            return missing;
        }
        work.each_block(|block| {
            let made = self.places.get(&block.id).map(|&at| &self.blocks[at]);
            let earlier = made.into_iter().flat_map(|made| &made.earlier);
            missing.extend(earlier.filter(|last| !is_before(last, clock)).map(|&(_, node)| node));
        });
        missing
    }

    /// Records that another array has the block.
    pub(crate) fn reuse(&mut self, block: &Block) {
        let Some(&at) = self.places.get(&block.id) else { return };
        let MadeBlock { uses, earlier, .. } = &mut self.blocks[at];
        std::mem::take(uses).into_iter().for_each(|(queue, node)| add(earlier, queue, node));
    }

    /// Returns the blocks of a size and a context whose uses all come before the next node of the queue with this
    /// `clock`.
    pub(crate) fn ordered_before<'b>(
        &'b self,
        size: u64,
        context: u32,
        clock: &'b [u32],
    ) -> impl Iterator<Item = &'b Arc<Block>> {
        let fits = move |made: &&MadeBlock| made.block.size == size && made.context == context;
        let of_size = self.blocks.iter().rev().filter(fits).take(MOST_BLOCKS);
        let ordered = of_size
            .filter(move |made| made.uses.iter().chain(&made.earlier).all(|last| is_before(last, clock)));
        ordered.map(|made| &made.block)
    }
}

/// Records a later use by a queue.
fn add(uses: &mut LastNodes, queue: u32, node: u32) {
    match uses.iter_mut().find(|(other, _)| *other == queue) {
        Some((_, last)) => *last = node.max(*last),
        None => uses.push((queue, node)),
    }
}

/// Returns `true` if the next node of the queue with this clock comes after a use.
fn is_before(&(queue, node): &(u32, u32), clock: &[u32]) -> bool {
    clock.get(queue as usize).is_some_and(|&seen| seen > node)
}
