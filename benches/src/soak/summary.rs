//! How a soak went.

use std::fmt;

use serde::Serialize;

use super::memory::Memory;

/// How a soak went, which found nothing wrong.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub(super) adapter: String,
    pub(super) seed: u64,
    pub(super) seconds: f64,
    pub(super) counts: Counts,
    pub(super) memory: Memory,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Counts {
    /// Blocks, each of which came back right.
    pub blocks: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Arrays that were dropped while work on them was under way.
    pub arrays_dropped: u64,
    /// Results and futures that nobody waited for to the end.
    pub results_dropped: u64,
    /// Waits that were given up, to be taken up again.
    pub waits_given_up: u64,
}

impl Summary {
    /// What was done.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { blocks, bytes, arrays_dropped, results_dropped, waits_given_up } = self.counts;
        let mib = bytes >> 20;
        let (adapter, seed, seconds, memory) = (&self.adapter, self.seed, self.seconds, self.memory.text());
        write!(f, "soak on {adapter}, seed {seed}: {blocks} blocks right, {mib} MiB in {seconds:.0} s; ")?;
        write!(f, "dropped {arrays_dropped} arrays and {results_dropped} results on their way, ")?;
        write!(f, "{waits_given_up} waits given up; {memory}")
    }
}
