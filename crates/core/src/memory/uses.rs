//! The last uses of a block's bytes.

use crate::error::site::CommandKind;
use crate::memory::heap::overlap;
use fencepost_sync::{Clock, Point, Slot, Stamp};
use smallvec::SmallVec;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// One use of a range of a block.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    pub(crate) slot: Slot,
    pub(crate) stamp: Stamp,
    pub(crate) range: Range<u64>,
    pub(crate) write: bool,
    pub(crate) what: CommandKind,
    pub(crate) at: &'static Location<'static>,
    /// What messages and later checks have to know of its queue, which may be gone by then: under
    /// [`Policy::Checked`](super::Policy::Checked), and while waits are recorded.
    pub(crate) origin: Option<Arc<UseOrigin>>,
}

/// The queue that a use was made on.
#[derive(Debug)]
pub(crate) struct UseOrigin {
    pub(crate) queue: Arc<str>,
    /// What the use comes after.
    pub(crate) clock: Clock,
}

impl Use {
    pub(crate) fn point(&self) -> Point {
        Point { slot: self.slot, stamp: self.stamp }
    }

    /// Whether the two must not run at once.
    fn conflicts(&self, range: &Range<u64>, write: bool) -> bool {
        (self.write || write) && overlap(&self.range, range)
    }

    fn within(&self, range: &Range<u64>) -> bool {
        range.start <= self.range.start && self.range.end <= range.end
    }
}

/// Uses of a block beyond which it is worth looking for those that are over.
const MANY: usize = 16;

/// The uses that a later use may still have to wait for.
#[derive(Default)]
pub(crate) struct BlockUses {
    uses: SmallVec<[Use; 2]>,
}

impl BlockUses {
    /// The uses that a use of `range` conflicts with.
    pub(crate) fn conflicts(&self, range: Range<u64>, write: bool) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(move |u| u.conflicts(&range, write))
    }

    /// Everything that is remembered.
    pub(crate) fn all(&self) -> &[Use] {
        &self.uses
    }

    /// Remembers a use that `clock` orders after others; true if there are many now, and some may be over.
    ///
    /// Forgotten is what whoever waits for the new use waits for anyhow: uses inside its range that come before it,
    /// all of them if it writes, the reads if it reads.
    #[inline]
    pub(crate) fn record(&mut self, new: Use, clock: &Clock) -> bool {
        // As below, for what is common: a writer that is alone, and one of several readers.
        let alone = self.uses.len() == 1;
        let own = self.uses.iter_mut().find(|u| u.slot == new.slot && u.within(&new.range));
        if let Some(own) = own.filter(|own| if new.write { alone } else { !own.write }) {
            *own = new;
            return false;
        }
        self.merge(new, clock);
        self.uses.len() > MANY
    }

    fn merge(&mut self, new: Use, clock: &Clock) {
        let before = |u: &Use| u.slot == new.slot || clock.covers(u.slot, u.stamp);
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

    /// Keeps the uses for which `still` holds.
    pub(crate) fn retain(&mut self, still: impl Fn(&Use) -> bool) {
        self.uses.retain(|u| still(u));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(slot: u32, stamp: u64, range: Range<u64>, write: bool) -> Use {
        let (slot, stamp) = (Slot(slot), Stamp(stamp));
        Use { slot, stamp, range, write, what: CommandKind::Copy, at: Location::caller(), origin: None }
    }

    #[test]
    fn two_readers_do_not_conflict() {
        let mut tracker = BlockUses::default();
        tracker.record(used(1, 1, 0..8, false), &Clock::default());
        assert_eq!(tracker.conflicts(0..8, false).count(), 0);
        assert_eq!(tracker.conflicts(0..8, true).count(), 1);
    }

    #[test]
    fn neighbours_do_not_conflict() {
        let mut tracker = BlockUses::default();
        tracker.record(used(1, 1, 0..8, true), &Clock::default());
        assert_eq!(tracker.conflicts(8..16, true).count(), 0);
    }

    #[test]
    fn an_unordered_writer_forgets_nobody() {
        let mut tracker = BlockUses::default();
        tracker.record(used(1, 1, 0..8, false), &Clock::default());
        tracker.record(used(2, 2, 0..8, true), &Clock::default());
        assert_eq!(tracker.all().len(), 2);
    }

    #[test]
    fn an_ordered_writer_forgets_what_it_waited_for() {
        let mut tracker = BlockUses::default();
        let mut clock = Clock::default();
        tracker.record(used(1, 1, 0..8, false), &clock);
        clock.see(Slot(1), Stamp(1));
        tracker.record(used(2, 2, 0..8, true), &clock);
        assert_eq!(tracker.all().len(), 1);
    }

    #[test]
    fn a_reader_does_not_forget_the_writer() {
        let mut tracker = BlockUses::default();
        tracker.record(used(1, 1, 0..8, true), &Clock::default());
        tracker.record(used(1, 2, 0..8, false), &Clock::default());
        assert_eq!(tracker.conflicts(0..8, false).count(), 1);
    }
}
