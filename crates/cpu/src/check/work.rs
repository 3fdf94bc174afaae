//! Counts the steps of the analysis of accesses.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Number of steps between two checks if the launch must end.
const BETWEEN_LOOKS: u64 = 1 << 14;

/// Counter of the analysis' steps, which ends the analysis when the launch must end.
pub(super) struct Work<'r> {
    stop: &'r AtomicBool,
    /// Steps left until the next look at `stop`.
    left: u64,
    is_stopped: bool,
    /// Number of pairs of sets that were compared.
    #[cfg(test)]
    pub(super) pairs: u64,
}

impl<'r> Work<'r> {
    /// Starts with no steps.
    pub(super) fn new(stop: &'r AtomicBool) -> Self {
        Self {
            stop,
            left: BETWEEN_LOOKS,
            is_stopped: false,
            #[cfg(test)]
            pairs: 0,
        }
    }

    /// Counts steps, and returns `false` if the analysis must end.
    pub(super) fn goes_on(&mut self, steps: u64) -> bool {
        if self.left > steps {
            self.left -= steps;
        } else {
            self.left = BETWEEN_LOOKS;
            self.is_stopped |= self.stop.load(Relaxed);
        }
        !self.is_stopped
    }

    /// Counts pairs of sets that are compared.
    pub(super) fn compares(&mut self, pairs: usize) -> bool {
        #[cfg(test)]
        {
            self.pairs += pairs as u64;
        }
        self.goes_on(pairs as u64)
    }

    /// Returns `true` if the analysis has ended early.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped
    }
}
