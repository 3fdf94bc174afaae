//! The last uses of a block's bytes, which order later commands.

use crate::error::site::CommandKind;
use crate::memory::heap::overlap;
use crate::memory::repeated_use::RepeatedUse;
use fencepost_sync::{Clock, Point, Slot, Stamp};
use smallvec::SmallVec;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// Describes one use of a range of a block.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    pub(crate) slot: Slot,
    /// Is the stamp of the command that made the use first. A repetition of the command has a later one.
    pub(crate) first: Stamp,
    pub(crate) range: Range<u64>,
    pub(crate) write: bool,
    pub(crate) what: CommandKind,
    pub(crate) at: &'static Location<'static>,
    pub(crate) more: Option<Arc<UseDetails>>,
}

/// Holds what only some uses have.
#[derive(Debug)]
pub(crate) enum UseDetails {
    /// Describes the queue of the use for messages and later checks, because the queue may be dropped by then. A use has
    /// it under [`Policy::Checked`](crate::Policy::Checked), and while waits are recorded.
    Origin(UseOrigin),
    /// Is the use of a command that is enqueued again and again.
    Repeated(RepeatedUse),
}

/// Describes the queue of a use.
#[derive(Debug)]
pub(crate) struct UseOrigin {
    pub(crate) queue: Arc<str>,
    /// Covers the points that are ordered before the use.
    pub(crate) clock: Clock,
}

impl Use {
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

    /// Returns the description of the queue, if the use has one.
    pub(crate) fn origin(&self) -> Option<&UseOrigin> {
        match self.more.as_deref() {
            Some(UseDetails::Origin(origin)) => Some(origin),
            _ => None,
        }
    }

    /// Ends the repetitions of the use: a command is recorded behind it in one of its blocks.
    fn end_repetitions(&self) {
        if let Some(UseDetails::Repeated(repeated)) = self.more.as_deref() {
            repeated.end();
        }
    }

    /// Returns `true` if this use and a use of `range` must not run at once: they overlap, and one of them writes.
    fn conflicts(&self, range: &Range<u64>, write: bool) -> bool {
        (self.write || write) && overlap(&self.range, range)
    }

    fn within(&self, range: &Range<u64>) -> bool {
        range.start <= self.range.start && self.range.end <= range.end
    }
}

/// Number of uses of a block above which the caller of [`BlockUses::record`] removes the complete ones, each time that as many
/// were recorded as the last removal has left.
const USES_BEFORE_SWEEP: usize = 16;

/// Lists the uses of a block that a later use may have to wait for.
#[derive(Default)]
pub(crate) struct BlockUses {
    /// Lists no use whose whole range a later write covers, if the use is ordered before that write.
    uses: SmallVec<[Use; 2]>,
    /// Number of uses that were left after the last removal of complete ones.
    kept: usize,
    /// Number of uses that were recorded since then.
    recorded: usize,
}

impl BlockUses {
    /// Returns the uses that conflict with a use of `range`.
    pub(crate) fn conflicts(&self, range: Range<u64>, write: bool) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(move |u| u.conflicts(&range, write))
    }

    /// Returns all recorded uses.
    pub(crate) fn all(&self) -> &[Use] {
        &self.uses
    }

    /// Records a use, which comes after the points that `clock` covers. Returns `true` if many uses are recorded now,
    /// of which some may be complete.
    ///
    /// The new use replaces the earlier uses inside its range that are ordered before it, because a wait for the new
    /// use implies a wait for them. A read replaces only reads, because later reads still have to wait for the writes.
    #[inline]
    pub(crate) fn record(&mut self, new: Use, clock: &Clock) -> bool {
        // In the common case the command replaces the only use, which is of its queue.
        if let [only] = &mut self.uses[..]
            && only.slot == new.slot
            && only.within(&new.range)
            && (new.write || !only.write)
            && only.more.is_none()
        {
            *only = new;
            return false;
        }
        self.recorded += 1;
        self.end_repetitions(&new);
        // A read replaces an earlier read of its queue, because the uses of one queue are ordered.
        let own = self.uses.iter_mut().find(|u| u.slot == new.slot && u.within(&new.range));
        if let Some(own) = own.filter(|own| !new.write && !own.write) {
            *own = new;
            return false;
        }
        self.merge(new, clock);
        self.uses.len() > USES_BEFORE_SWEEP && self.recorded >= self.kept
    }

    fn merge(&mut self, new: Use, clock: &Clock) {
        let before = |u: &Use| u.slot == new.slot || clock.covers(u.slot, u.stamp());
        let forgotten = |u: &Use| u.within(&new.range) && (new.write || !u.write) && before(u);
        let mut at = self.uses.iter().enumerate().filter(|(_, u)| forgotten(u)).map(|(at, _)| at);
        match (at.next(), at.next()) {
            (None, _) => self.uses.push(new),
            (Some(only), None) => self.uses[only] = new,
            (Some(_), Some(_)) => {
                self.uses.retain(|u| !forgotten(u));
                self.uses.push(new);
            }
        }
    }

    /// Ends the repetitions of the uses of other commands than that of `new`.
    #[inline]
    fn end_repetitions(&self, new: &Use) {
        let own = new.more.as_ref().map(Arc::as_ptr);
        let others = self.uses.iter().filter(|u| u.more.is_some() && u.more.as_ref().map(Arc::as_ptr) != own);
        others.for_each(Use::end_repetitions);
    }

    /// Keeps the uses for which `still` returns `true`.
    pub(crate) fn retain(&mut self, still: impl Fn(&Use) -> bool) {
        self.uses.retain(|u| {
            let stays = still(u);
            if !stays {
                u.end_repetitions();
            }
            stays
        });
        self.kept = self.uses.len();
        self.recorded = 0;
    }

    /// Removes all uses.
    pub(crate) fn clear(&mut self) {
        self.retain(|_| false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(slot: u32, stamp: u64, range: Range<u64>, write: bool) -> Use {
        let (slot, first) = (Slot(slot), Stamp(stamp));
        Use { slot, first, range, write, what: CommandKind::Copy, at: Location::caller(), more: None }
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
        assert_eq!(tracker.all().len(), 2);
    }

    #[test]
    fn an_ordered_writer_drops_the_uses_that_it_waited_for() {
        let mut tracker = BlockUses::default();
        let mut clock = Clock::default();
        tracker.record(used(1, 1, 0..8, false), &clock);
        clock.see(Slot(1), Stamp(1));
        tracker.record(used(2, 2, 0..8, true), &clock);
        assert_eq!(tracker.all().len(), 1);
    }

    #[test]
    fn a_reader_does_not_drop_the_use_of_the_writer() {
        let mut tracker = BlockUses::default();
        tracker.record(used(1, 1, 0..8, true), &Clock::default());
        tracker.record(used(1, 2, 0..8, false), &Clock::default());
        assert_eq!(tracker.conflicts(0..8, false).count(), 1);
    }
}
