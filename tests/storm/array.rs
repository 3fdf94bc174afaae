//! An array with its expected words, and the last uses that later uses must wait for.

use super::shared::Lane;
use fastrand::Rng;
use fencepost::prelude::*;
use std::ops::Range;

/// An array that one thread at a time uses.
pub struct Owned {
    pub array: DeviceArray<u32>,
    pub home: usize,
    /// Policy of its context.
    pub policy: Policy,
    /// Expected elements after all enqueued work.
    pub words: Vec<u32>,
    pub uses: Uses,
    /// `true` if other threads have parts of the same memory. Such an array is not mapped or given away.
    pub part: bool,
    /// `true` if encoded commands may use the array.
    pub shared: bool,
}

/// Events of the last writes, and of the reads since.
#[derive(Clone, Default)]
pub struct Uses {
    writes: Vec<Use>,
    reads: Vec<Use>,
}

#[derive(Clone)]
struct Use {
    /// Key of the queue.
    key: u64,
    event: Event,
    /// `true` if the queue and the array belong to different contexts.
    foreign: bool,
}

/// A read or a write of an array.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

impl Owned {
    /// Returns an array that was made on a context and is ready for every queue.
    pub fn of_context(array: DeviceArray<u32>, home: usize, policy: Policy, words: Vec<u32>) -> Self {
        Self { array, home, policy, words, uses: Uses::default(), part: false, shared: false }
    }

    /// Makes a queue wait for the uses that its next use conflicts with. `Ordered` adds such waits itself, so under it
    /// they are added for only one use in four.
    pub fn order(&self, lane: &Lane, access: Access, rng: &mut Rng) -> Result<()> {
        if self.policy == Policy::Ordered && rng.u32(..4) > 0 {
            return Ok(());
        }
        lane.queue.wait_for(&self.uses.before(lane.key, access))
    }

    /// Records the use that was just enqueued.
    pub fn used(&mut self, lane: &Lane, access: Access, rng: &mut Rng) {
        if self.policy == Policy::Ordered && rng.u32(..4) > 0 {
            return;
        }
        let foreign = lane.home != self.home;
        self.uses.note(Use { key: lane.key, event: lane.queue.marker(), foreign }, access);
    }

    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Replaces the expected elements of a range by the results of `change`.
    pub fn change(&mut self, range: Range<usize>, change: impl Fn(usize, u32) -> u32) {
        for (i, word) in self.words[range].iter_mut().enumerate() {
            *word = change(i, *word);
        }
    }
}

impl Uses {
    /// Returns the events that a use on a queue must wait for. Uses of the same queue come before it anyway.
    fn before(&self, key: u64, access: Access) -> Vec<Event> {
        let reads: &[Use] = if access == Access::Write { &self.reads } else { &[] };
        let others = self.writes.iter().chain(reads).filter(|other| other.key != key);
        others.map(|other| other.event.clone()).collect()
    }

    fn note(&mut self, new: Use, access: Access) {
        if access == Access::Read {
            self.reads.retain(|old| old.key != new.key);
            self.reads.push(new);
            return;
        }
        if new.foreign {
            // `Checked` ignores order through another context, so the earlier uses are kept.
            self.writes.retain(|old| old.key != new.key);
        } else {
            *self = Self::default();
        }
        self.writes.push(new);
    }

    /// Forgets the uses that the host has waited for. Uses in another context are kept, because `Checked` does not know
    /// of such a wait.
    pub fn settled(&mut self) {
        self.writes.retain(|old| old.foreign);
        self.reads.retain(|old| old.foreign);
    }

    /// Returns the event of every use.
    pub fn events(&self) -> Vec<Event> {
        self.writes.iter().chain(&self.reads).map(|other| other.event.clone()).collect()
    }

    /// Records an event that the next use must wait for on any queue. If `alone` is set, the event replaces all other
    /// uses.
    pub fn come_after(&mut self, event: Event, alone: bool) {
        if alone {
            *self = Self::default();
        }
        self.writes.push(Use { key: 0, event, foreign: false });
    }
}
