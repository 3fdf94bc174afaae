//! The stamp of a command that is enqueued again and again, in the uses of its blocks.

use fencepost_sync::{Clock, Slot, Stamp};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The stamp that the uses of several blocks share. The state lock orders the accesses.
#[derive(Debug)]
pub(crate) struct RepeatedUse {
    slot: Slot,
    at: &'static Location<'static>,
    /// Clock of the queue at the first command. If the queue comes after more points since then, a new use would
    /// replace the uses before these points, and a repetition does not.
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

    /// Replaces the stamp by that of the next command. Returns `false` if that command is not a repetition.
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
