//! Vector clocks: what a command queue, or the host, is known to come after.

use std::fmt;

/// The place of a command in the order of all enqueueing calls of one context, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Stamp(pub u64);

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The index of a command queue in its context. A slot is used again after its queue is gone and all its work done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Slot(pub u32);

/// For each queue, the stamp up to which its commands are known to come first.
///
/// Stamps grow over a whole context, so an entry of a queue that is gone says nothing wrong about the queue that
/// took its slot.
///
/// # Example
/// ```
/// use fencepost_sync::{Clock, Slot, Stamp};
/// let mut clock = Clock::default();
/// clock.see(Slot(1), Stamp(5));
/// assert!(clock.covers(Slot(1), Stamp(5)) && !clock.covers(Slot(1), Stamp(6)));
/// assert!(!clock.covers(Slot(0), Stamp(1)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    seen: Vec<Stamp>,
}

impl Clock {
    /// Whether the command of `slot` with this stamp is known to come first.
    pub fn covers(&self, slot: Slot, stamp: Stamp) -> bool {
        self.seen.get(slot.0 as usize).is_some_and(|&seen| seen >= stamp)
    }

    /// Learns that everything of `slot` up to `stamp` comes first.
    pub fn see(&mut self, slot: Slot, stamp: Stamp) {
        let at = slot.0 as usize;
        if at >= self.seen.len() {
            self.seen.resize(at + 1, Stamp(0));
        }
        self.seen[at] = self.seen[at].max(stamp);
    }

    /// Each queue of which something is known to come first, with the last of it.
    pub fn entries(&self) -> impl Iterator<Item = (Slot, Stamp)> {
        let known = self.seen.iter().enumerate().filter(|(_, stamp)| stamp.0 > 0);
        known.map(|(at, &stamp)| (Slot(at as u32), stamp))
    }

    /// Learns all that `other` knows.
    pub fn join(&mut self, other: &Clock) {
        if self.seen.len() < other.seen.len() {
            self.seen.resize(other.seen.len(), Stamp(0));
        }
        for (mine, theirs) in self.seen.iter_mut().zip(&other.seen) {
            *mine = (*mine).max(*theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_is_the_larger_of_each() {
        let (mut a, mut b) = (Clock::default(), Clock::default());
        a.see(Slot(0), Stamp(9));
        b.see(Slot(0), Stamp(3));
        b.see(Slot(2), Stamp(4));
        a.join(&b);
        assert!(a.covers(Slot(0), Stamp(9)) && a.covers(Slot(2), Stamp(4)));
        assert!(!a.covers(Slot(1), Stamp(1)));
    }

    #[test]
    fn seeing_less_forgets_nothing() {
        let mut clock = Clock::default();
        clock.see(Slot(0), Stamp(9));
        clock.see(Slot(0), Stamp(2));
        assert!(clock.covers(Slot(0), Stamp(9)));
    }
}
