//! The choice between two forms of one kernel by the time that each takes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Is the time that each form runs before the choice.
const LEAST: Duration = Duration::from_millis(1);

/// Marks a trial that has not ended.
const OPEN: usize = usize::MAX;

/// Counts what one form did.
#[derive(Clone, Copy, Default)]
struct Sample {
    /// Counts the parts of runs. The first one is not measured, as it loads the code and the data.
    parts: u32,
    workgroups: u64,
    time: Duration,
}

/// Selects the faster one of two forms.
///
/// While the trial is open, the form that ran for less time runs next. The one that takes less time for a workgroup wins.
pub(crate) struct Trial {
    winner: AtomicUsize,
    samples: Mutex<[Sample; 2]>,
}

impl Trial {
    pub(crate) fn new() -> Self {
        Self { winner: AtomicUsize::new(OPEN), samples: Mutex::new([Sample::default(); 2]) }
    }

    /// Returns the form that won, or `None` while the trial is open.
    pub(crate) fn winner(&self) -> Option<usize> {
        match self.winner.load(Ordering::Relaxed) {
            OPEN => None,
            winner => Some(winner),
        }
    }

    /// Returns the form that runs next.
    pub(crate) fn next(&self) -> usize {
        let [first, second] = *self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        usize::from((second.parts.min(1), second.time) < (first.parts.min(1), first.time))
    }

    /// Adds what a form did.
    pub(crate) fn record(&self, form: usize, workgroups: u64, time: Duration) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let sample = &mut samples[form];
        sample.parts += 1;
        if sample.parts > 1 {
            sample.workgroups += workgroups;
            sample.time += time;
        }
        let [first, second] = *samples;
        if first.time >= LEAST && second.time >= LEAST {
            let cost = |one: Sample, other: Sample| one.time.as_nanos() * u128::from(other.workgroups);
            let winner = usize::from(cost(second, first) < cost(first, second));
            self.winner.store(winner, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_with_the_faster_workgroups_wins() {
        for (costs, winner) in [([40, 60], 0), ([60, 40], 1), ([50, 50], 0)] {
            let trial = Trial::new();
            let mut parts = [0, 0];
            while trial.winner().is_none() {
                let form = trial.next();
                // The first part takes as long as many others, and the number of workgroups differs.
                let workgroups = 1 + parts[form] % 3;
                let start = if parts[form] == 0 { 5_000 } else { 0 };
                let time = Duration::from_micros(start + costs[form] * workgroups);
                trial.record(form, workgroups, time);
                parts[form] += 1;
            }
            assert_eq!(trial.winner(), Some(winner), "{costs:?}");
            assert!(parts.iter().all(|&parts| parts > 5), "both forms run: {parts:?}");
        }
    }
}
