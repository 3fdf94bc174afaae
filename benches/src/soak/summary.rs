//! The summary of a soak.

use std::fmt;

use serde::Serialize;

use super::memory::Memory;

/// Summary of a soak that found no error.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub(super) adapter: String,
    pub(super) seed: u64,
    pub(super) seconds: f64,
    pub(super) counts: Counts,
    pub(super) memory: Memory,
}

/// Counts of a soak's work.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Counts {
    /// Number of blocks. Each of them was correct.
    pub blocks: u64,
    /// Bytes of the blocks.
    pub bytes: u64,
    /// Number of arrays that were dropped while work on them was pending.
    pub arrays_dropped: u64,
    /// Number of results and futures that were dropped before they were ready.
    pub results_dropped: u64,
    /// Number of waits that were given up and repeated later.
    pub waits_given_up: u64,
}

impl Summary {
    /// Returns the counts of the work.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { blocks, bytes, arrays_dropped, results_dropped, waits_given_up } = self.counts;
        let mib = bytes >> 20;
        let adapter = &self.adapter;
        let seed = self.seed;
        let seconds = self.seconds;
        let memory = self.memory.text();
        write!(f, "soak on {adapter}, seed {seed}: {blocks} blocks correct, {mib} MiB in {seconds:.0} s; ")?;
        write!(f, "dropped {arrays_dropped} arrays and {results_dropped} results in flight, ")?;
        write!(f, "{waits_given_up} waits given up; {memory}")
    }
}
