//! An array, the words that it has, and the last uses that a later one has to come after.

use super::world::Lane;
use fastrand::Rng;
use fencepost::prelude::*;
use fencepost::{Policy, Result};
use std::ops::Range;

/// An array that one thread at a time uses.
pub struct Owned {
    pub array: DeviceArray<u32>,
    pub home: usize,
    /// The policy of its context.
    pub policy: Policy,
    /// Its elements after everything that was enqueued so far.
    pub words: Vec<u32>,
    pub uses: Uses,
    /// Whether other threads have parts of the same memory: then it is neither mapped nor handed over.
    pub part: bool,
    /// Whether commands of the program's own may use it.
    pub shared: bool,
}

/// The events of uses: of those that write, and of those that read since.
#[derive(Clone, Default)]
pub struct Uses {
    writes: Vec<Use>,
    reads: Vec<Use>,
}

#[derive(Clone)]
struct Use {
    /// Of the queue.
    key: u64,
    event: Event,
    /// Whether the queue is of another context than the array.
    foreign: bool,
}

/// A use of an array.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

impl Owned {
    /// An array that was made on a context: it is there for every queue.
    pub fn of_context(array: DeviceArray<u32>, home: usize, policy: Policy, words: Vec<u32>) -> Self {
        Self { array, home, policy, words, uses: Uses::default(), part: false, shared: false }
    }

    /// Has a queue wait for the uses that the next one there conflicts with. `Ordered` does it by itself: there the program
    /// does so now and then.
    pub fn order(&self, lane: &Lane, access: Access, rng: &mut Rng) -> Result<()> {
        if self.policy == Policy::Ordered && rng.u32(..4) > 0 {
            return Ok(());
        }
        lane.queue.wait_for(&self.uses.before(lane.key, access))
    }

    /// Notes the use that was just enqueued.
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

    /// The elements of a range, each what `change` makes of it.
    pub fn change(&mut self, range: Range<usize>, change: impl Fn(usize, u32) -> u32) {
        for (i, word) in self.words[range].iter_mut().enumerate() {
            *word = change(i, *word);
        }
    }
}

impl Uses {
    /// The events that a use on a queue has to come after. Those of the queue itself it does come after.
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
            // An order that leads through another context is none for `Checked`: the earlier uses stay.
            self.writes.retain(|old| old.key != new.key);
        } else {
            *self = Self::default();
        }
        self.writes.push(new);
    }

    /// Forgets the uses that the host has waited for. Those in another context stay, as `Checked` learns of no such wait.
    pub fn settled(&mut self) {
        self.writes.retain(|old| old.foreign);
        self.reads.retain(|old| old.foreign);
    }

    /// The event of every use.
    pub fn events(&self) -> Vec<Event> {
        self.writes.iter().chain(&self.reads).map(|other| other.event.clone()).collect()
    }

    /// Notes an event that the next use has to come after, whatever queue it is on; in place of all others, or besides.
    pub fn come_after(&mut self, event: Event, alone: bool) {
        if alone {
            *self = Self::default();
        }
        self.writes.push(Use { key: 0, event, foreign: false });
    }
}
