//! The last uses of a block's bytes, which later commands are ordered after.
//!
//! For a repeated command, the uses of all its blocks share one stamp.

use crate::error::{CommandKind, Error};
use crate::memory::block::overlap;
use fencepost_sync::{Clock, Point, Slot, Stamp};
use smallvec::{SmallVec, smallvec};
use std::cmp::Reverse;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Policy for uses of the same bytes that the program left unordered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Policy {
    /// Missing waits are added. The results are as if all commands ran one by one in the order of the calls.
    #[default]
    Ordered,
    /// A missing wait is an [`Error`](crate::ErrorDetail::Hazard) that names both uses and the call to add. The answer
    /// depends only on the calls of the program, never on the progress of the device, so it is the same in every run.
    Checked,
    /// Nothing is checked. The program promises that its events and waits order all uses of the same bytes.
    Unchecked,
}

/// One use of a range of a block.
#[derive(Clone, Debug)]
pub(crate) struct BlockUse {
    pub(crate) slot: Slot,
    /// Stamp of the command that first made the use. Repetitions of the command have later stamps.
    pub(crate) first: Stamp,
    pub(crate) range: Range<u64>,
    pub(crate) write: bool,
    pub(crate) what: CommandKind,
    pub(crate) at: &'static Location<'static>,
    pub(crate) more: Option<Arc<UseDetails>>,
}

/// Further details of some uses.
#[derive(Debug)]
pub(crate) enum UseDetails {
    /// Origin of the use, for messages and later checks, when its queue may be gone. Present under
    /// [`Policy::Checked`](crate::Policy::Checked), and while waits are recorded.
    Origin(UseOrigin),
    /// Use by a repeated command.
    Repeated(RepeatedUse),
}

/// The queue that made a use.
#[derive(Debug)]
pub(crate) struct UseOrigin {
    pub(crate) queue: Arc<str>,
    /// Points that come before the use.
    pub(crate) clock: Clock,
}

impl BlockUse {
    pub(crate) fn point(&self) -> Point {
        Point { slot: self.slot, stamp: self.stamp() }
    }

    /// Returns the stamp of the last command that made the use.
    #[inline]
    pub(crate) fn stamp(&self) -> Stamp {
        match self.more.as_deref() {
            Some(UseDetails::Repeated(repeated)) => repeated.stamp(),
            _ => self.first,
        }
    }

    /// Returns the origin of the use, if known.
    pub(crate) fn origin(&self) -> Option<&UseOrigin> {
        match self.more.as_deref() {
            Some(UseDetails::Origin(origin)) => Some(origin),
            _ => None,
        }
    }

    #[inline]
    fn is_repeated(&self) -> bool {
        matches!(self.more.as_deref(), Some(UseDetails::Repeated(_)))
    }

    /// Ends the repetitions of the use, because another command was recorded in one of its blocks.
    fn end_repetitions(&self) {
        if let Some(UseDetails::Repeated(repeated)) = self.more.as_deref() {
            repeated.end();
        }
    }

    /// Returns `true` if this use and a use of `range` must be ordered: they overlap, and one of them writes.
    fn conflicts(&self, range: &Range<u64>, write: bool) -> bool {
        (self.write || write) && overlap(&self.range, range)
    }

    /// Returns `true` if `new` comes after this use and covers its range. `clock` covers the points before `new`.
    fn is_replaced_by(&self, new: &BlockUse, clock: &Clock) -> bool {
        self.within(&new.range) && (self.slot == new.slot || clock.covers(self.slot, self.stamp()))
    }

    /// Returns the parts of the use before and after `range`.
    fn outside(self, range: &Range<u64>) -> SmallVec<[BlockUse; 1]> {
        let before = BlockUse { range: self.range.start..range.start, ..self.clone() };
        let after = BlockUse { range: range.end..self.range.end, ..self };
        [before, after].into_iter().filter(|part| !part.range.is_empty()).collect()
    }

    fn within(&self, range: &Range<u64>) -> bool {
        range.start <= self.range.start && self.range.end <= range.end
    }
}

/// Number of uses above which the caller of [`BlockUses::record`] removes complete ones. It does so again once the
/// number of new uses exceeds the number that the last removal has left.
const USES_BEFORE_SWEEP: usize = 16;

/// The uses of a block that a later use may have to wait for.
///
/// Reads do not wait for other reads. Because hundreds of queues may read a block at once, a new read ignores the other
/// reads once there are many.
#[derive(Default)]
pub(crate) struct BlockUses {
    /// Writes, except those replaced by a later write that is ordered after them and covers their range.
    writes: SmallVec<[BlockUse; 1]>,
    /// Reads, except those replaced by a write in the same way. A later read of the same queue also replaces a read,
    /// but that one may be removed later.
    reads: SmallVec<[BlockUse; 1]>,
    /// `true` if the command of a use may still be repeated.
    repeats: bool,
    /// Number of uses left by the last removal of complete ones.
    kept: usize,
    /// Number of uses recorded since then.
    recorded: usize,
    /// Number of uses that `record` and `conflicts` have examined, for tests.
    #[cfg(test)]
    examined: std::cell::Cell<usize>,
}

impl BlockUses {
    /// Returns the uses that conflict with a use of `range`.
    pub(crate) fn conflicts(&self, range: Range<u64>, write: bool) -> impl Iterator<Item = &BlockUse> {
        let reads = if write { &self.reads[..] } else { &[] };
        self.count_examined(self.writes.len() + reads.len());
        self.writes.iter().chain(reads).filter(move |u| u.conflicts(&range, write))
    }

    /// Returns the error of a failed write that was the last to write bytes of `range`. `error` returns the error of a
    /// write.
    pub(crate) fn failed_write<'e>(
        &self,
        range: &Range<u64>,
        error: impl Fn(&BlockUse) -> Option<&'e Error>,
    ) -> Option<&'e Error> {
        let failed = self.writes.iter().filter(|u| overlap(&u.range, range));
        let mut failed = failed.filter_map(|u| error(u).map(|error| (u, error)));
        failed.find(|(u, _)| self.has_visible_bytes(u, range)).map(|(_, error)| error)
    }

    /// Returns the writes of bytes in `range`.
    pub(crate) fn writes_of(&self, range: &Range<u64>) -> Self {
        let writes = self.writes.iter().filter(|u| overlap(&u.range, range));
        Self { writes: writes.cloned().collect(), ..Self::default() }
    }

    /// Returns `true` if `write` wrote bytes of `range` that no later write covers.
    fn has_visible_bytes(&self, write: &BlockUse, range: &Range<u64>) -> bool {
        let later = self.writes.iter().filter(|u| u.stamp() > write.stamp());
        let mut later: Vec<_> = later.map(|u| &u.range).collect();
        later.sort_unstable_by_key(|range| range.start);
        let first = write.range.start.max(range.start);
        let shown = later.iter().fold(first, |at, u| if u.start <= at { at.max(u.end) } else { at });
        shown < write.range.end.min(range.end)
    }

    /// Removes the bytes of `range` from the failed writes, because the host overwrites them.
    pub(crate) fn overwrite(&mut self, range: &Range<u64>, is_failed: impl Fn(&BlockUse) -> bool) {
        let is_hit = |u: &BlockUse| overlap(&u.range, range) && is_failed(u);
        if !self.writes.iter().any(is_hit) {
            return;
        }
        let writes = std::mem::take(&mut self.writes);
        self.writes = writes
            .into_iter()
            .flat_map(|u| if is_hit(&u) { u.outside(range) } else { smallvec![u] })
            .collect();
    }

    /// Keeps the uses that `still` accepts, the failed writes, and all writes after a failed one, because they may
    /// cover its bytes.
    pub(crate) fn retain_with_failed(
        &mut self,
        still: impl Fn(&BlockUse) -> bool,
        is_failed: impl Fn(&BlockUse) -> bool,
    ) {
        let first = self.writes.iter().filter(|u| is_failed(u)).map(BlockUse::stamp).min();
        self.retain(|u| still(u) || first.is_some_and(|first| u.write && u.stamp() >= first));
    }

    /// Returns all recorded uses.
    pub(crate) fn all(&self) -> impl Iterator<Item = &BlockUse> {
        self.writes.iter().chain(&self.reads)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> usize {
        self.writes.len() + self.reads.len()
    }

    /// Records a use. `clock` covers the points before it. Returns `true` if there are now many uses, some of which may
    /// be complete.
    ///
    /// The new use replaces the earlier uses inside its range that are ordered before it, because a wait for the new
    /// use implies a wait for them. A read replaces only reads, because later reads still have to wait for the writes.
    #[inline]
    pub(crate) fn record(&mut self, new: BlockUse, clock: &Clock) -> bool {
        let replaces_one = !self.repeats && (!new.write || self.reads.is_empty());
        let same = if new.write { &mut self.writes } else { &mut self.reads };
        // In the common case, the new use replaces the only use of its kind, by the same queue.
        if replaces_one
            && let [only] = &mut same[..]
            && only.slot == new.slot
            && only.within(&new.range)
        {
            self.repeats = new.is_repeated();
            *only = new;
            return false;
        }
        self.record_among_others(new, clock)
    }

    fn record_among_others(&mut self, new: BlockUse, clock: &Clock) -> bool {
        self.recorded += 1;
        self.end_repetitions(&new);
        if new.write {
            self.record_write(new, clock);
        } else if self.record_read(new, clock) {
            return false;
        }
        self.len() > USES_BEFORE_SWEEP && self.recorded >= self.kept
    }

    fn record_write(&mut self, new: BlockUse, clock: &Clock) {
        self.count_examined(self.len());
        self.reads.retain(|u| !u.is_replaced_by(&new, clock));
        replace(&mut self.writes, new, clock);
    }

    /// Records a read. Returns `true` if it has replaced a read of the same queue.
    fn record_read(&mut self, new: BlockUse, clock: &Clock) -> bool {
        // The uses of one queue are ordered. If there are many reads, replaced ones are removed later, together with
        // complete ones.
        if self.reads.len() > USES_BEFORE_SWEEP {
            self.reads.push(new);
            return false;
        }
        self.count_examined(self.reads.len());
        if let Some(own) = self.reads.iter_mut().find(|u| u.slot == new.slot && u.within(&new.range)) {
            *own = new;
            return true;
        }
        replace(&mut self.reads, new, clock);
        false
    }

    /// Ends the repetitions of all uses by other commands than that of `new`.
    #[inline]
    fn end_repetitions(&mut self, new: &BlockUse) {
        if self.repeats {
            let own = new.more.as_ref().map(Arc::as_ptr);
            self.count_examined(self.len());
            self.all()
                .filter(|u| u.more.as_ref().map(Arc::as_ptr) != own)
                .for_each(BlockUse::end_repetitions);
        }
        self.repeats = new.is_repeated();
    }

    /// Keeps the uses that `still` accepts.
    pub(crate) fn retain(&mut self, still: impl Fn(&BlockUse) -> bool) {
        let stays = |u: &mut BlockUse| {
            let stays = still(u);
            if !stays {
                u.end_repetitions();
            }
            stays
        };
        self.writes.retain(stays);
        self.reads.retain(stays);
        self.remove_replaced_reads();
        self.kept = self.len();
        self.recorded = 0;
    }

    /// Removes each read whose range is inside that of a later read of the same queue.
    fn remove_replaced_reads(&mut self) {
        if self.reads.len() <= USES_BEFORE_SWEEP {
            return;
        }
        self.count_examined(self.reads.len());
        let reads = &self.reads;
        let mut order: Vec<usize> = (0..reads.len()).collect();
        order.sort_unstable_by_key(|&at| {
            let BlockUse { slot, range, .. } = &reads[at];
            (*slot, range.start, Reverse(range.end), Reverse(reads[at].stamp()))
        });
        let mut stays = vec![true; reads.len()];
        let mut cover = order[0];
        for &at in &order[1..] {
            let read = &reads[at];
            let over = &reads[cover];
            stays[at] = read.slot != over.slot || !read.within(&over.range) || read.stamp() > over.stamp();
            if stays[at] {
                cover = at;
            }
        }
        let mut stays = stays.into_iter();
        self.reads.retain(|_| stays.next() != Some(false));
    }

    /// Removes all uses.
    pub(crate) fn clear(&mut self) {
        self.retain(|_| false);
    }

    /// Adds to the number of examined uses, which tests compare.
    #[inline]
    fn count_examined(&self, _uses: usize) {
        #[cfg(test)]
        self.examined.set(self.examined.get() + _uses);
    }
}

/// Adds a use to those of its kind, and removes the uses that it replaces.
fn replace(uses: &mut SmallVec<[BlockUse; 1]>, new: BlockUse, clock: &Clock) {
    let replaced = |u: &BlockUse| u.is_replaced_by(&new, clock);
    let mut at = uses.iter().enumerate().filter(|(_, u)| replaced(u)).map(|(at, _)| at);
    match (at.next(), at.next()) {
        (None, _) => uses.push(new),
        (Some(only), None) => uses[only] = new,
        (Some(_), Some(_)) => {
            uses.retain(|u| !replaced(u));
            uses.push(new);
        }
    }
}

/// The stamp that the uses of a command's blocks share. The state lock orders accesses to it.
#[derive(Debug)]
pub(crate) struct RepeatedUse {
    slot: Slot,
    at: &'static Location<'static>,
    /// Clock of the queue at the first command. If the queue has waited since, a new use would replace more earlier
    /// uses than a repetition does.
    clock: Clock,
    stamp: AtomicU64,
    /// `false` once another command was recorded in one of the blocks.
    is_last: AtomicBool,
}

impl RepeatedUse {
    pub(crate) fn new(slot: Slot, at: &'static Location<'static>, stamp: Stamp, clock: Clock) -> Self {
        Self { slot, at, clock, stamp: AtomicU64::new(stamp.0), is_last: AtomicBool::new(true) }
    }

    /// Returns the stamp of the last command.
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp(self.stamp.load(Ordering::Relaxed))
    }

    /// Ends the repetitions.
    pub(crate) fn end(&self) {
        self.is_last.store(false, Ordering::Relaxed);
    }

    /// Returns `true` if a command of `slot` made the last use of each block.
    pub(crate) fn is_last_of(&self, slot: Slot) -> bool {
        self.slot == slot && self.is_last.load(Ordering::Relaxed)
    }

    /// Replaces the stamp by that of the next command. Returns `false` if the next command is not a repetition.
    pub(crate) fn repeat(
        &self,
        slot: Slot,
        at: &'static Location<'static>,
        stamp: Stamp,
        clock: &Clock,
    ) -> bool {
        let repeats = self.is_last_of(slot) && self.at == at && self.clock == *clock;
        if repeats {
            self.stamp.store(stamp.0, Ordering::Relaxed);
        }
        repeats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn used(slot: u32, stamp: u64, range: Range<u64>, write: bool) -> BlockUse {
        let slot = Slot(slot);
        let first = Stamp(stamp);
        BlockUse { slot, first, range, write, what: CommandKind::Copy, at: Location::caller(), more: None }
    }

    #[test]
    fn two_readers_do_not_conflict() {
        let mut tracker = BlockUses::default();
        tracker.record(used(1, 1, 0..8, false), &Clock::default());
        assert_eq!(tracker.conflicts(0..8, false).count(), 0);
        assert_eq!(tracker.conflicts(0..8, true).count(), 1);
    }

    #[test]
    fn adjacent_ranges_do_not_conflict() {
        let mut tracker = BlockUses::default();
        tracker.record(used(1, 1, 0..8, true), &Clock::default());
        assert_eq!(tracker.conflicts(8..16, true).count(), 0);
    }

    #[test]
    fn an_unordered_writer_drops_no_use() {
        let mut tracker = BlockUses::default();
        tracker.record(used(1, 1, 0..8, false), &Clock::default());
        tracker.record(used(2, 2, 0..8, true), &Clock::default());
        assert_eq!(tracker.all().count(), 2);
    }

    #[test]
    fn an_ordered_writer_drops_the_uses_that_it_waited_for() {
        let mut tracker = BlockUses::default();
        let mut clock = Clock::default();
        tracker.record(used(1, 1, 0..8, false), &clock);
        clock.see(Slot(1), Stamp(1));
        tracker.record(used(2, 2, 0..8, true), &clock);
        assert_eq!(tracker.all().count(), 1);
    }

    #[test]
    fn a_reader_does_not_drop_the_use_of_the_writer() {
        let mut tracker = BlockUses::default();
        tracker.record(used(1, 1, 0..8, true), &Clock::default());
        tracker.record(used(1, 2, 0..8, false), &Clock::default());
        assert_eq!(tracker.conflicts(0..8, false).count(), 1);
    }

    /// Compares the failed writes with the last writer of each byte.
    #[test]
    fn failed_writes_are_those_whose_bytes_were_not_written_again() {
        let mut rng = fastrand::Rng::with_seed(7);
        let error = Error::from(crate::error::ErrorDetail::Busy { array: "x".into() });
        let mut seen = [0; 2];
        for _ in 0..500 {
            let mut uses = BlockUses::default();
            let mut clock = Clock::default();
            let mut bytes = [false; 32];
            let mut failed = Vec::new();
            let is_failed = |failed: &[Stamp], u: &BlockUse| failed.contains(&u.stamp());
            for stamp in 1..60 {
                let start = rng.usize(..bytes.len());
                let range = start..rng.usize(start + 1..=bytes.len());
                let words = range.start as u64..range.end as u64;
                let fails = rng.u8(..4) == 0;
                match rng.u8(..10) {
                    0 => {
                        uses.overwrite(&words, |u| is_failed(&failed, u));
                        bytes[range].fill(false);
                    }
                    1 => uses.retain_with_failed(|_| false, |u| is_failed(&failed, u)),
                    2 => _ = uses.record(used(4, stamp, words, false), &clock),
                    _ => {
                        failed.extend(fails.then_some(Stamp(stamp)));
                        uses.record(used(rng.u32(1..4), stamp, words, true), &clock);
                        bytes[range].fill(fails);
                    }
                }
                if rng.bool() {
                    (1..4).for_each(|slot| clock.see(Slot(slot), Stamp(stamp)));
                }
                let start = rng.usize(..bytes.len());
                let range = start..rng.usize(start + 1..=bytes.len());
                let words = range.start as u64..range.end as u64;
                let found = uses.failed_write(&words, |u| is_failed(&failed, u).then_some(&error)).is_some();
                assert_eq!(found, bytes[range].contains(&true), "{words:?} of {:?}", uses.writes);
                seen[usize::from(found)] += 1;
            }
        }
        assert!(seen[0].min(seen[1]) > 5000, "{seen:?}");
    }

    /// Compares the conflicts with a list of all uses. Waiting for one use of a queue includes the earlier ones, so
    /// only the last one counts.
    #[test]
    fn many_uses_conflict_as_the_list_of_all_of_them() {
        let mut rng = fastrand::Rng::with_seed(7);
        for writes in [0, 1, 8] {
            let mut tracker = BlockUses::default();
            let mut all = Vec::new();
            for stamp in 1..600 {
                let start = rng.u64(..8);
                let new = used(rng.u32(1..40), stamp, start..start + rng.u64(1..6), rng.u32(..16) < writes);
                all.push(new.clone());
                if tracker.record(new, &Clock::default()) {
                    tracker.retain(|u| u.stamp().0 > stamp / 2);
                    all.retain(|u| u.stamp().0 > stamp / 2);
                }
                let from = rng.u64(..12);
                let write = rng.bool();
                let range = from..from + 1 + rng.u64(..4);
                let found = last_of_each(tracker.conflicts(range.clone(), write));
                let expected = last_of_each(all.iter().filter(|u| u.conflicts(&range, write)));
                assert_eq!(found, expected, "a use of {range:?} after {stamp}");
            }
        }
    }

    fn last_of_each<'u>(uses: impl Iterator<Item = &'u BlockUse>) -> BTreeMap<Slot, Stamp> {
        let mut last = BTreeMap::new();
        for BlockUse { slot, first, .. } in uses {
            let stamp = last.entry(*slot).or_insert(*first);
            *stamp = (*first).max(*stamp);
        }
        last
    }

    /// The reads of one queue replace each other, even if many queues read the block.
    #[test]
    fn q01_a_read_among_many_looks_at_few_uses() {
        let read_all = |queues: u32| {
            let mut tracker = BlockUses::default();
            tracker.record(used(0, 1, 0..8, true), &Clock::default());
            for stamp in 0..5 * queues {
                let new = used(1 + stamp % queues, 2 + u64::from(stamp), 0..8, false);
                assert_eq!(tracker.conflicts(0..8, false).count(), 1);
                if tracker.record(new, &Clock::default()) {
                    tracker.retain(|_| true);
                }
            }
            assert!(tracker.all().count() <= 3 * queues as usize);
            tracker.examined.get()
        };
        let [few, many] = [1000, 2000].map(read_all);
        assert!(many < 3 * few, "{few}, then {many}");
    }
}
