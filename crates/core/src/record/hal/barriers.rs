//! Barriers of a batch: as few as possible, while each command still comes after those that it depends on. Each barrier
//! orders as few kinds of later commands as possible.
//!
//! On the exact backends (`Backend::EXACT`), a buffer must be in exactly the state of its use, so its state is tracked
//! too.

#[cfg(test)]
mod model_tests;

use crate::memory::block::BlockId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering};
use wgpu::{BufferUses as Uses, BufferUses};

/// One use of a block by a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierUse<'b, B> {
    pub(crate) block: BlockId,
    /// Mark of the block: the last epoch in which a command used the block, and bits for the kinds of its uses (see
    /// [`READ`]).
    pub(crate) mark: &'b AtomicU64,
    pub(crate) buffer: B,
    pub(crate) uses: BufferUses,
    pub(crate) write: bool,
}

/// A barrier that orders all earlier commands before later commands with one of the uses `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier<'t, B> {
    /// Buffers whose writes become visible to later commands, each with its uses before the barrier.
    pub(crate) buffers: &'t [(B, BufferUses)],
    pub(crate) to: BufferUses,
    /// `true` for the first barrier of a batch that may start before earlier batches end. It orders all writes on the
    /// device, to any buffer, so that from here on the batch comes after the earlier ones.
    pub(crate) is_global: bool,
}

/// All uses by kernel arguments.
pub(crate) const OF_KERNELS: BufferUses =
    BufferUses::STORAGE_READ_ONLY.union(BufferUses::STORAGE_READ_WRITE).union(BufferUses::UNIFORM);
/// All uses that may follow a barrier. A barrier before copies or indirect launches costs a GPU more than a barrier
/// before kernels.
pub(crate) const ANYTHING: BufferUses =
    OF_KERNELS.union(BufferUses::COPY_SRC).union(BufferUses::COPY_DST).union(BufferUses::INDIRECT);
/// All uses that write.
const WRITES: BufferUses = BufferUses::STORAGE_READ_WRITE.union(BufferUses::COPY_DST);

/// Bits of a mark, below the number of its epoch, which starts at the bit `EPOCH`:
/// - `READ`: the block was read in the epoch.
/// - `WRITTEN`: the block was written in the epoch.
/// - `LISTED`: the block is in [`BarrierTracker::narrow`], as long as the epoch is not older than `wide_since`.
/// - `FAR`: an earlier batch used the block, so a barrier must come before the next kernel on it.
const READ: u64 = 1;
const WRITTEN: u64 = 2;
const LISTED: u64 = 4;
const FAR: u64 = 8;
const EPOCH: u64 = 16;

/// The epochs of a recorder at the end of a batch, where the next batch continues.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Epochs {
    last: u64,
    /// The first epoch whose commands may still be executing when kernels of the next batch start.
    since: u64,
}

impl Epochs {
    /// Returns the epochs for a batch that starts after all earlier batches and sees their writes.
    pub(crate) fn ordered(self) -> Self {
        Self { since: self.last + EPOCH, ..self }
    }
}

/// The uses of blocks by a batch's commands since the last barrier. An epoch is a run of commands between two barriers.
///
/// A barrier orders every earlier command before every later command with one of its uses. So one barrier suffices for
/// all blocks written in the epoch, even by several queues.
///
/// If a batch may start before earlier batches end, the marks of those batches count for its kernels. Its other
/// commands come after earlier batches anyway, because each batch ends with a barrier for them.
///
/// A *narrow* barrier comes before a kernel and orders only later kernels. A *wide* barrier comes before any other
/// command and orders all later commands. It names every block that was written since the last wide barrier, because
/// narrow barriers made those writes visible only to kernels.
pub(crate) struct BarrierTracker<B> {
    /// Number of the current epoch. Each barrier and each batch adds [`EPOCH`].
    epoch: u64,
    /// First epoch whose uses are not yet ordered before the next kernel. Marks of earlier epochs do not matter for
    /// kernels.
    since: u64,
    /// First epoch after the last wide barrier, or else of the batch. Marks of earlier epochs do not matter at all.
    wide_since: u64,
    /// Buffers that were written in this epoch, each with the use that first wrote it.
    written: Vec<(B, BufferUses)>,
    /// Buffers of the last barrier.
    last: Vec<(B, BufferUses)>,
    /// Buffers that were written since the last wide barrier, each once; empty until there is a narrow barrier.
    narrow: Vec<(B, BufferUses)>,
    /// Union of all read uses in this epoch.
    reads: BufferUses,
    /// `true` if a barrier orders only the buffers that it names. Then `written` also lists buffers that were only
    /// read, and the caller determines the uses after a barrier itself.
    each: bool,
}

impl<B: Copy> BarrierTracker<B> {
    /// Makes the tracker of a batch. `before` are the epochs at the end of the previous batch.
    pub(crate) fn new(before: Epochs, each: bool) -> Self {
        let epoch = before.last + EPOCH;
        debug_assert!(!each || before.since == epoch, "bug: an exact batch starts before earlier ones end");
        Self {
            epoch,
            since: before.since,
            wide_since: epoch,
            written: Vec::new(),
            last: Vec::new(),
            narrow: Vec::new(),
            reads: BufferUses::empty(),
            each,
        }
    }

    /// Ends the epoch. Returns a barrier for the buffers that were written in the batch but are not yet visible to
    /// other submissions, if there are any.
    pub(crate) fn close(&mut self) -> Option<Barrier<'_, B>> {
        let is_first = self.epoch == self.wide_since;
        self.end_epoch();
        self.widen(is_first || self.each);
        let barrier = Barrier { buffers: &self.last, to: ANYTHING, is_global: false };
        (!self.last.is_empty()).then_some(barrier)
    }

    /// Returns the epochs so far, for the tracker of the next batch.
    pub(crate) fn epochs(&self) -> Epochs {
        Epochs { last: self.epoch, since: self.since }
    }

    /// Records a barrier that orders all earlier batches before the later commands. Returns `false` if they were
    /// already ordered, so that no barrier is needed.
    pub(crate) fn follow_earlier_batches(&mut self) -> bool {
        std::mem::replace(&mut self.since, self.epoch) < self.epoch
    }

    /// Records the uses of a command. Returns the barrier that must come before the command, if one of these uses
    /// conflicts with an earlier use.
    #[inline]
    pub(crate) fn barrier_before(&mut self, touches: &[BarrierUse<'_, B>]) -> Option<Barrier<'_, B>> {
        if self.each || touches.iter().all(|touch| OF_KERNELS.contains(touch.uses)) {
            return self.barrier_before_kernel(touches);
        }
        let conflicts = |touch: &&BarrierUse<'_, B>| {
            let since = if OF_KERNELS.contains(touch.uses) { self.since } else { self.epoch };
            self.conflicts(touch, since) || self.is_after_narrow(touch)
        };
        let cause = touches.iter().find(conflicts);
        let is_global = cause.is_some_and(|cause| self.end_with_barrier(cause, true));
        for touch in touches {
            if !OF_KERNELS.contains(touch.uses) {
                self.note_far(touch);
            }
            self.note(touch);
        }
        cause.map(|_| Barrier { buffers: &self.last, to: ANYTHING, is_global })
    }

    /// Does the same as [`barrier_before`](Self::barrier_before) for a command with only uses by kernels.
    #[inline]
    pub(crate) fn barrier_before_kernel(&mut self, touches: &[BarrierUse<'_, B>]) -> Option<Barrier<'_, B>> {
        let cause = touches.iter().find(|touch| self.conflicts(touch, self.since));
        let is_global = cause.is_some_and(|cause| self.end_with_barrier(cause, false));
        for touch in touches {
            self.note(touch);
        }
        cause.map(|_| Barrier { buffers: &self.last, to: OF_KERNELS, is_global })
    }

    /// Returns `true` if a command since the epoch `since` used the block, and one of the two uses is a write.
    #[inline]
    fn conflicts(&self, touch: &BarrierUse<'_, B>, since: u64) -> bool {
        let hindrance = if touch.write { READ | WRITTEN } else { WRITTEN };
        let mark = touch.mark.load(Ordering::Relaxed);
        let far = if OF_KERNELS.contains(touch.uses) { FAR } else { 0 };
        mark >= since && mark & (hindrance | far) != 0
    }

    /// Records in the mark that an earlier batch used the block. That use is not yet ordered before later kernels, but
    /// its place in the mark is about to be taken by a use other than a kernel's.
    fn note_far(&self, touch: &BarrierUse<'_, B>) {
        let old = touch.mark.load(Ordering::Relaxed);
        if (self.since..self.epoch).contains(&old) && old & (READ | WRITTEN | FAR) != 0 {
            touch.mark.store(self.epoch | FAR, Ordering::Relaxed);
        }
    }

    /// Returns `true` if this use, which is not a kernel's, conflicts with an earlier use of the block, and only narrow
    /// barriers come between them.
    fn is_after_narrow(&self, touch: &BarrierUse<'_, B>) -> bool {
        let hindrance = if touch.write { READ | WRITTEN | LISTED } else { LISTED };
        let mark = touch.mark.load(Ordering::Relaxed);
        self.wide_since < self.epoch && mark >= self.wide_since && mark & hindrance != 0
    }

    /// Ends the epoch and puts its barrier into `last`. The first buffer of the barrier also carries the read uses of
    /// all other blocks, because a barrier waits only for the kinds of uses that it names. Returns `true` if the
    /// barrier must be global.
    fn end_with_barrier(&mut self, cause: &BarrierUse<'_, B>, is_wide: bool) -> bool {
        let is_global = self.since < self.epoch;
        let reads = std::mem::replace(&mut self.reads, BufferUses::empty());
        let is_first = self.epoch == self.wide_since;
        self.end_epoch();
        if is_wide {
            self.widen(is_first);
        } else if is_first && !self.each {
            self.narrow.extend(self.last.iter().map(|&(buffer, _)| (buffer, WRITES)));
        }
        match self.last.first_mut() {
            Some((_, uses)) => *uses |= reads,
            None => self.last.push((cause.buffer, reads)),
        }
        self.since = self.epoch;
        is_global
    }

    /// Ends the epoch. The written buffers become the buffers of the last barrier.
    fn end_epoch(&mut self) {
        std::mem::swap(&mut self.written, &mut self.last);
        self.written.clear();
        self.epoch += EPOCH;
    }

    /// Makes the last barrier wide. Unless it is the first barrier since the last wide one, its buffers also carry uses
    /// by kernels, because kernels ran after the narrow barriers.
    fn widen(&mut self, is_first: bool) {
        self.wide_since = self.epoch;
        if !is_first {
            std::mem::swap(&mut self.narrow, &mut self.last);
            self.narrow.clear();
        }
    }

    /// Records a use of a block, without a barrier.
    #[inline]
    pub(crate) fn note(&mut self, touch: &BarrierUse<'_, B>) {
        let old = touch.mark.load(Ordering::Relaxed);
        let listed = if old >= self.wide_since { old & LISTED } else { 0 };
        let mark = old.max(self.epoch | listed);
        if touch.write {
            if mark & WRITTEN == 0 {
                self.written.push((touch.buffer, touch.uses));
                if listed == 0 && self.epoch != self.wide_since && !self.each {
                    self.narrow.push((touch.buffer, WRITES));
                }
            }
            touch.mark.store(mark | WRITTEN | LISTED, Ordering::Relaxed);
        } else {
            self.reads |= touch.uses;
            if self.each && mark & (READ | WRITTEN) == 0 {
                self.written.push((touch.buffer, touch.uses));
            }
            touch.mark.store(mark | READ, Ordering::Relaxed);
        }
    }
}

/// State of every buffer at the start and the end of an encoder.
const SETTLED: Uses = Uses::STORAGE_READ_WRITE;

/// A buffer with its states before and after a barrier. The two states are equal if the barrier only makes writes
/// visible.
pub(crate) type StateChange<B> = (B, Uses, Uses);

/// Current state of each buffer that the encoder has used.
pub(crate) struct BufferStates<B>(FxHashMap<BlockId, (B, Uses)>);

impl<B: Copy> BufferStates<B> {
    pub(crate) fn new() -> Self {
        Self(FxHashMap::default())
    }

    /// Returns the state changes that must come before a command. `hazard` lists the buffers of the barrier that the
    /// tracker requires before it, if any.
    pub(crate) fn changes_before(
        &mut self,
        touches: &[BarrierUse<'_, B>],
        hazard: Option<&[(B, Uses)]>,
    ) -> SmallVec<[StateChange<B>; 8]> {
        let mut changes: SmallVec<[StateChange<B>; 8]> = SmallVec::new();
        for (at, touch) in touches.iter().enumerate() {
            if touches[..at].iter().any(|earlier| earlier.block == touch.block) {
                continue;
            }
            let to = state(touches, touch);
            let from = self.0.insert(touch.block, (touch.buffer, to)).map_or(SETTLED, |(_, from)| from);
            if from != to || hazard.is_some() {
                changes.push((touch.buffer, from, to));
            }
        }
        for &(buffer, uses) in hazard.into_iter().flatten().filter(|(_, uses)| uses.contains(SETTLED)) {
            changes.push((buffer, uses & SETTLED, SETTLED));
        }
        changes
    }

    /// Returns the changes that bring every buffer back to `SETTLED`, and clears the list.
    pub(crate) fn restore(&mut self) -> SmallVec<[StateChange<B>; 8]> {
        let away = self.0.drain().filter(|(_, (_, state))| *state != SETTLED);
        away.map(|(_, (buffer, state))| (buffer, state, SETTLED)).collect()
    }
}

/// Returns the state of a block during a command: the command's use of it, or `SETTLED` if it has different uses.
fn state<B>(touches: &[BarrierUse<'_, B>], touch: &BarrierUse<B>) -> Uses {
    let same = touches.iter().filter(|other| other.block == touch.block);
    if same.clone().all(|other| other.uses == touch.uses) { touch.uses } else { SETTLED }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    const SHADER: BufferUses = BufferUses::STORAGE_READ_WRITE;
    const SOURCE: BufferUses = BufferUses::COPY_SRC;

    /// Marks of 16 blocks.
    #[derive(Default)]
    struct Blocks([AtomicU64; 16]);

    impl Blocks {
        fn touch(&self, at: usize, uses: BufferUses, write: bool) -> BarrierUse<'_, usize> {
            BarrierUse { block: BlockId(at as u64), mark: &self.0[at], buffer: at, uses, write }
        }
    }

    fn buffers(barrier: Barrier<'_, usize>) -> Vec<usize> {
        barrier.buffers.iter().map(|&(buffer, _)| buffer).collect()
    }

    fn barriers(commands: &[&[BarrierUse<'_, usize>]]) -> Vec<Option<Vec<usize>>> {
        let mut hazards = BarrierTracker::new(Epochs::default().ordered(), false);
        commands.iter().map(|touches| hazards.barrier_before(touches).map(buffers)).collect()
    }

    #[test]
    fn commands_that_share_only_reads_need_no_barrier() {
        let blocks = Blocks::default();
        let reader = |out| [blocks.touch(0, SHADER, false), blocks.touch(out, SHADER, true)];
        assert_eq!(barriers(&[&reader(1), &reader(2), &reader(3)]), [None, None, None]);
    }

    #[test]
    fn a_reader_comes_after_its_writer_and_a_writer_after_its_readers() {
        let blocks = Blocks::default();
        let write = [blocks.touch(1, SHADER, true)];
        let read = [blocks.touch(1, SOURCE, false)];
        assert_eq!(barriers(&[&write, &read, &write]), [None, Some(vec![1]), Some(vec![1])]);
        let mut hazards = BarrierTracker::new(Epochs { last: 1 << 20, since: 0 }.ordered(), false);
        hazards.barrier_before(&read);
        let barrier = hazards.barrier_before(&write).expect("the copy may still read");
        assert!(barrier.buffers[0].1.contains(SOURCE), "{barrier:?}");
    }

    #[test]
    fn a_barrier_names_only_the_blocks_written_since_the_last() {
        let blocks = Blocks::default();
        let first = [blocks.touch(1, SHADER, true)];
        let second = [blocks.touch(2, SHADER, true)];
        let found = barriers(&[&first, &first, &second, &second, &second]);
        assert_eq!(found, [None, Some(vec![1]), None, Some(vec![1, 2]), Some(vec![2])]);
    }

    #[test]
    fn a_barrier_carries_the_read_uses_of_other_blocks() {
        let blocks = Blocks::default();
        let mut hazards = BarrierTracker::new(Epochs::default().ordered(), false);
        assert!(
            hazards
                .barrier_before(&[blocks.touch(1, SOURCE, false), blocks.touch(2, SHADER, true)])
                .is_none()
        );
        let barrier =
            hazards.barrier_before(&[blocks.touch(1, SHADER, true)]).expect("the copy may still read");
        assert_eq!(barrier.buffers, [(2, SHADER | SOURCE)]);
    }

    #[test]
    fn a_batch_needs_no_barrier_for_uses_of_the_previous_batch() {
        let blocks = Blocks::default();
        let mut first = BarrierTracker::new(Epochs::default().ordered(), false);
        assert!(first.barrier_before(&[blocks.touch(1, SHADER, true)]).is_none());
        let mut second = BarrierTracker::new(first.epochs().ordered(), false);
        assert!(second.barrier_before(&[blocks.touch(1, SHADER, true)]).is_none());
        assert!(second.barrier_before(&[blocks.touch(1, SHADER, true)]).is_some());
    }

    #[test]
    fn a_barrier_that_orders_only_named_buffers_names_read_ones_too() {
        let blocks = Blocks::default();
        let mut hazards = BarrierTracker::new(Epochs::default().ordered(), true);
        assert!(hazards.barrier_before(&[blocks.touch(1, SHADER, false)]).is_none());
        assert!(hazards.barrier_before(&[blocks.touch(2, SHADER, true)]).is_none());
        let barrier = hazards.barrier_before(&[blocks.touch(2, SHADER, false)]).expect("a hazard");
        assert_eq!(buffers(barrier), [1, 2]);
    }

    #[test]
    fn one_barrier_serves_the_writes_of_all_queues() {
        let counts = [1, 2, 4, 8, 16].map(|queues| {
            let blocks = Blocks::default();
            let mut hazards = BarrierTracker::new(Epochs::default().ordered(), false);
            let launches = (0..48).flat_map(|_| 0..queues);
            launches.filter(|&at| hazards.barrier_before(&[blocks.touch(at, SHADER, true)]).is_some()).count()
        });
        assert_eq!(counts, [47; 5]);
    }

    static MARK: AtomicU64 = AtomicU64::new(0);

    fn touch(uses: Uses, write: bool) -> BarrierUse<'static, u32> {
        BarrierUse { block: BlockId(1), mark: &MARK, buffer: 1, uses, write }
    }

    #[test]
    fn a_buffer_takes_the_state_of_its_use_and_returns_at_the_end() {
        let mut states = BufferStates::new();
        let copy = touch(Uses::COPY_DST, true);
        let read = touch(Uses::STORAGE_READ_ONLY, false);
        assert_eq!(states.changes_before(&[copy], None)[..], [(1, SETTLED, Uses::COPY_DST)]);
        assert_eq!(states.changes_before(&[read], None)[..], [(1, Uses::COPY_DST, Uses::STORAGE_READ_ONLY)]);
        assert!(states.changes_before(&[read], None).is_empty());
        assert_eq!(states.restore()[..], [(1, Uses::STORAGE_READ_ONLY, SETTLED)]);
        assert!(states.restore().is_empty());
    }

    #[test]
    fn a_block_with_two_uses_in_one_command_has_the_state_for_both() {
        let mut states = BufferStates::new();
        let both = [touch(Uses::STORAGE_READ_ONLY, false), touch(SETTLED, false)];
        assert!(states.changes_before(&both, None).is_empty());
        assert!(states.changes_before(&both, Some(&[(1, SETTLED)])).contains(&(1, SETTLED, SETTLED)));
    }
}
