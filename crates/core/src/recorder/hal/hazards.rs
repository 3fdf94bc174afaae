//! Where a batch needs barriers: as few as keep every command after what it depends on.

use crate::memory::BlockId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use wgpu::BufferUses;

/// What a command does to a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch<B> {
    pub(super) block: BlockId,
    pub(super) buffer: B,
    pub(super) uses: BufferUses,
    pub(super) write: bool,
}

/// The buffers of one barrier, each with what was done to it.
pub(super) type Barrier<B> = SmallVec<[(B, BufferUses); 4]>;

/// What was done to the blocks of a batch since its last barrier.
///
/// A barrier orders everything before it and everything behind, so one serves all blocks that were written since the
/// last: queues side by side share theirs.
pub(super) struct Hazards<B> {
    blocks: FxHashMap<BlockId, Done>,
    /// Counts barriers: what a block notes of an earlier stretch is over.
    stretch: u32,
    written: Vec<(B, BufferUses)>,
    /// How anything was read in this stretch.
    reads: BufferUses,
}

/// How a block was used in a stretch.
#[derive(Clone, Copy)]
struct Done {
    stretch: u32,
    read: bool,
    written: bool,
}

impl<B: Copy> Hazards<B> {
    pub(super) fn new() -> Self {
        let (blocks, written) = Default::default();
        Self { blocks, stretch: 0, written, reads: BufferUses::empty() }
    }

    /// Notes a command; the barrier that has to come before it, if there is a reason for one.
    pub(super) fn admit(&mut self, touches: &[Touch<B>]) -> Option<Barrier<B>> {
        let barrier = touches.iter().find(|touch| self.conflicts(touch)).map(|touch| self.end_stretch(touch));
        for touch in touches {
            self.note(touch);
        }
        barrier
    }

    fn conflicts(&self, touch: &Touch<B>) -> bool {
        let done = self.blocks.get(&touch.block).filter(|done| done.stretch == self.stretch);
        done.is_some_and(|done| done.written || (touch.write && done.read))
    }

    /// The barrier behind all of this stretch. One buffer of it stands for everything that was only read.
    fn end_stretch(&mut self, cause: &Touch<B>) -> Barrier<B> {
        let mut barrier: Barrier<B> = self.written.drain(..).collect();
        if barrier.is_empty() {
            barrier.push((cause.buffer, BufferUses::empty()));
        }
        barrier[0].1 |= std::mem::replace(&mut self.reads, BufferUses::empty());
        self.stretch += 1;
        barrier
    }

    fn note(&mut self, touch: &Touch<B>) {
        let stretch = self.stretch;
        let fresh = Done { stretch, read: false, written: false };
        let done = self.blocks.entry(touch.block).or_insert(fresh);
        if done.stretch != stretch {
            *done = fresh;
        }
        if touch.write {
            done.written = true;
            self.written.push((touch.buffer, touch.uses));
        } else {
            done.read = true;
            self.reads |= touch.uses;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHADER: BufferUses = BufferUses::STORAGE_READ_WRITE;
    const SOURCE: BufferUses = BufferUses::COPY_SRC;

    fn touch(block: u64, uses: BufferUses, write: bool) -> Touch<u64> {
        Touch { block: BlockId(block), buffer: block, uses, write }
    }

    fn barriers(commands: &[&[Touch<u64>]]) -> Vec<Option<Vec<u64>>> {
        let mut hazards = Hazards::new();
        let buffers = |barrier: Barrier<u64>| barrier.into_iter().map(|(buffer, _)| buffer).collect();
        commands.iter().map(|touches| hazards.admit(touches).map(buffers)).collect()
    }

    #[test]
    fn what_shares_only_reads_needs_no_barrier() {
        let reader = |out| [touch(0, SHADER, false), touch(out, SHADER, true)];
        assert_eq!(barriers(&[&reader(1), &reader(2), &reader(3)]), [None, None, None]);
    }

    #[test]
    fn a_reader_comes_after_its_writer_and_a_writer_after_its_readers() {
        let (write, read) = ([touch(1, SHADER, true)], [touch(1, SOURCE, false)]);
        assert_eq!(barriers(&[&write, &read, &write]), [None, Some(vec![1]), Some(vec![1])]);
        let mut hazards = Hazards::new();
        hazards.admit(&read);
        let barrier = hazards.admit(&write).expect("the copy may still read");
        assert!(barrier[0].1.contains(SOURCE), "{barrier:?}");
    }

    #[test]
    fn one_barrier_serves_all_that_was_written_since_the_last() {
        let write = |block| [touch(block, SHADER, true)];
        let counts = [1, 2, 4, 8, 16].map(|queues| {
            let commands: Vec<_> = (0..48).flat_map(|_| (0..queues).map(write)).collect();
            let mut hazards = Hazards::new();
            commands.iter().filter(|touches| hazards.admit(&touches[..]).is_some()).count()
        });
        assert_eq!(counts, [47; 5]);
    }
}
