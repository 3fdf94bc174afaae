//! Vector clocks: a clock covers the commands that are known to come before a command queue or before the host.

use std::fmt;
use std::sync::Arc;

/// Number of a command in the order of all enqueueing calls of one context, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Stamp(pub u64);

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Index of a command queue in its context. When the queue is dropped and its work is done, another queue may get the
/// slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Slot(pub u32);

impl Slot {
    /// Queue of the context's own commands, such as fills of new arrays.
    pub const CONTEXT: Slot = Slot(0);
}

/// A vector clock: for each queue, the stamp up to which its commands are known to come before the clock's owner. The
/// owner is a command queue, a point of a queue, or the host.
///
/// Stamps increase over a whole context, so the entry of a dropped queue remains valid for the next queue in the slot.
/// A queue has an entry only if its stamp is larger than [`all`](Self::all). Clones share the entries until one of them
/// changes.
///
/// # Example
/// ```
/// use fencepost_sync::{Clock, Slot, Stamp};
/// let mut clock = Clock::default();
/// clock.see(Slot(1), Stamp(5));
/// assert!(clock.covers(Slot(1), Stamp(5)) && !clock.covers(Slot(1), Stamp(6)));
/// assert!(!clock.covers(Slot(0), Stamp(1)));
/// assert!(Clock::after_all(Stamp(3)).covers(Slot(0), Stamp(3)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Stamp up to which the commands of every queue come before the owner.
    all: Stamp,
    /// Queues with a stamp larger than `all`, in the order of the slots. `None` instead of an empty list.
    seen: Option<Arc<Vec<(Slot, Stamp)>>>,
}

impl Clock {
    /// Makes a clock that comes after every command up to `stamp`, on any queue.
    pub fn after_all(stamp: Stamp) -> Self {
        Self { all: stamp, seen: None }
    }

    /// Returns the stamp up to which the commands of all queues are known to come before the owner.
    pub fn all(&self) -> Stamp {
        self.all
    }

    /// Returns `true` if the command of `slot` with this stamp is known to come before the owner.
    pub fn covers(&self, slot: Slot, stamp: Stamp) -> bool {
        stamp <= self.all || self.find(slot).is_ok_and(|at| self.seen()[at].1 >= stamp)
    }

    /// Records that every command of `slot` up to `stamp` comes before the owner.
    pub fn see(&mut self, slot: Slot, stamp: Stamp) {
        if self.covers(slot, stamp) {
            return;
        }
        let found = self.find(slot);
        let seen = Arc::make_mut(self.seen.get_or_insert_default());
        match found {
            Ok(at) => seen[at].1 = stamp,
            Err(at) => seen.insert(at, (slot, stamp)),
        }
    }

    /// Returns each queue whose stamp is larger than [`all`](Self::all), and that stamp.
    pub fn entries(&self) -> impl Iterator<Item = (Slot, Stamp)> {
        self.seen().iter().copied()
    }

    /// Merges `other`: the owner then also comes after everything that `other` covers.
    pub fn join(&mut self, other: &Clock) {
        if self.all < other.all {
            self.all = other.all;
            self.retain(|_, _| true);
        }
        match (&self.seen, &other.seen) {
            (Some(mine), Some(theirs)) if Arc::ptr_eq(mine, theirs) => {}
            _ if other.entries().all(|(slot, stamp)| self.covers(slot, stamp)) => {}
            (None, theirs) => {
                self.seen = theirs.clone();
                self.retain(|_, _| true);
            }
            _ => self.seen = Some(Arc::new(self.merged(other))),
        }
    }

    /// Removes the entries for which `matters` returns `false`, and those that [`all`](Self::all) covers.
    pub fn retain(&mut self, mut matters: impl FnMut(Slot, Stamp) -> bool) {
        let all = self.all;
        let mut kept = |&(slot, stamp): &(Slot, Stamp)| stamp > all && matters(slot, stamp);
        let Some(seen) = &mut self.seen else { return };
        let Some(first) = seen.iter().position(|entry| !kept(entry)) else { return };
        let rest: Vec<_> = seen[first + 1..].iter().copied().filter(kept).collect();
        let left: Vec<_> = seen[..first].iter().copied().chain(rest).collect();
        self.seen = (!left.is_empty()).then(|| Arc::new(left));
    }

    /// Returns the number of queues with an entry.
    pub fn len(&self) -> usize {
        self.seen().len()
    }

    /// Returns `true` if no queue has an entry.
    pub fn is_empty(&self) -> bool {
        self.seen.is_none()
    }

    fn seen(&self) -> &[(Slot, Stamp)] {
        self.seen.as_ref().map_or(&[], |seen| seen.as_slice())
    }

    fn find(&self, slot: Slot) -> Result<usize, usize> {
        self.seen().binary_search_by_key(&slot, |&(slot, _)| slot)
    }

    /// Returns the entries of both clocks, with the larger stamp of each queue.
    fn merged(&self, other: &Clock) -> Vec<(Slot, Stamp)> {
        let mut mine = self.entries().peekable();
        let mut theirs = other.entries().peekable();
        let mut merged = Vec::with_capacity(self.len() + 1);
        while let Some(slot) = mine.peek().into_iter().chain(theirs.peek()).map(|&(slot, _)| slot).min() {
            let next = [mine.next_if(|entry| entry.0 == slot), theirs.next_if(|entry| entry.0 == slot)];
            let stamp = next.into_iter().flatten().map(|(_, stamp)| stamp).max().unwrap_or_default();
            if stamp > self.all {
                merged.push((slot, stamp));
            }
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(entries: &[(u32, u64)]) -> Clock {
        let mut clock = Clock::default();
        entries.iter().for_each(|&(slot, stamp)| clock.see(Slot(slot), Stamp(stamp)));
        clock
    }

    #[test]
    fn a_join_takes_the_larger_stamp_of_each_queue() {
        let mut a = clock(&[(0, 9)]);
        let b = clock(&[(0, 3), (2, 4)]);
        a.join(&b);
        assert!(a.covers(Slot(0), Stamp(9)) && a.covers(Slot(2), Stamp(4)));
        assert!(!a.covers(Slot(1), Stamp(1)) && !a.covers(Slot(2), Stamp(5)));
        assert_eq!(a, clock(&[(2, 4), (0, 9)]));
    }

    #[test]
    fn a_join_covers_exactly_the_stamps_that_either_clock_covers() {
        // Makes a clock from three base-3 digits of a number: the stamps of two slots, and the stamp of all queues.
        let digit = |number: u32, at: u32| u64::from(number / 3_u32.pow(at) % 3);
        let made = |number: u32| {
            let mut clock = Clock::after_all(Stamp(digit(number, 2)));
            clock.see(Slot(4), Stamp(digit(number, 0)));
            clock.see(Slot(7), Stamp(digit(number, 1)));
            clock
        };
        for (first, second) in (0..27).flat_map(|first| (0..27).map(move |second| (first, second))) {
            let mut joined = made(first);
            let other = made(second);
            let before = joined.clone();
            joined.join(&other);
            for (slot, stamp) in [4, 5, 7].iter().flat_map(|&slot| (1..4).map(move |stamp| (slot, stamp))) {
                let slot = Slot(slot);
                let stamp = Stamp(stamp);
                let either = before.covers(slot, stamp) || other.covers(slot, stamp);
                assert_eq!(
                    joined.covers(slot, stamp),
                    either,
                    "{before:?} and {other:?} at {slot:?} {stamp}"
                );
            }
            assert!(joined.entries().all(|(_, stamp)| stamp > joined.all()), "{joined:?}");
        }
    }

    #[test]
    fn a_smaller_stamp_does_not_lower_an_entry() {
        let mut clock = clock(&[(0, 9)]);
        clock.see(Slot(0), Stamp(2));
        assert!(clock.covers(Slot(0), Stamp(9)));
    }

    #[test]
    fn a_stamp_of_all_queues_removes_the_entries_it_covers() {
        let mut clock = clock(&[(0, 9), (1, 3), (2, 4), (3, 8)]);
        clock.join(&Clock::after_all(Stamp(5)));
        assert_eq!(clock.entries().collect::<Vec<_>>(), [(Slot(0), Stamp(9)), (Slot(3), Stamp(8))]);
        clock.see(Slot(7), Stamp(5));
        assert_eq!(clock.len(), 2);
        clock.join(&Clock::after_all(Stamp(9)));
        assert!(clock.is_empty() && clock.covers(Slot(123), Stamp(9)));
    }

    #[test]
    fn clones_share_their_entries_until_one_changes() {
        let mut first = clock(&[(0, 9), (1, 3)]);
        let second = first.clone();
        let shared = |a: &Clock, b: &Clock| Arc::ptr_eq(a.seen.as_ref().unwrap(), b.seen.as_ref().unwrap());
        first.see(Slot(0), Stamp(8));
        first.join(&clock(&[(1, 2)]));
        assert!(shared(&first, &second));
        first.see(Slot(1), Stamp(4));
        assert!(!shared(&first, &second) && !second.covers(Slot(1), Stamp(4)));
        let mut third = Clock::default();
        third.join(&first);
        assert!(shared(&first, &third));
    }

    #[test]
    fn retain_removes_only_the_entries_that_do_not_matter() {
        let mut clock = clock(&[(0, 9), (1, 3), (2, 4)]);
        clock.retain(|slot, _| slot != Slot(1));
        assert_eq!(clock.entries().collect::<Vec<_>>(), [(Slot(0), Stamp(9)), (Slot(2), Stamp(4))]);
        clock.retain(|_, _| false);
        assert!(clock.is_empty());
    }
}
