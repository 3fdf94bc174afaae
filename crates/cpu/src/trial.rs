//! The choice between two forms of one kernel, by measuring both.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Minimum time that each form runs before the choice.
const LEAST: Duration = Duration::from_millis(1);
/// Minimum number of measured parts of each form before the choice.
const LEAST_PARTS: usize = 5;
/// Number of most recent costs that a form keeps.
const KEPT: usize = 63;

/// Number of runs for which a choice lasts, for each run of its trial. Then the choice is made again, because the faster
/// form depends on the data.
const LASTS: usize = 64;

/// Value of `winner` while the trial is open.
const OPEN: usize = usize::MAX;

/// Measurements of one form.
#[derive(Default)]
struct Sample {
    /// Number of parts of runs. The first one is not measured, because it warms up the caches.
    parts: usize,
    /// Nanoseconds per workgroup in each of the last parts.
    costs: Vec<f64>,
    time: Duration,
}

/// A choice of the faster of two forms.
///
/// While the trial is open, the form that ran for less time runs next. The form with the lower median time per
/// workgroup wins. The median ignores the few parts during which the system ran other threads. The choice lasts for
/// [`LASTS`] times as many runs as the trial took, so that trials take a small part of the time even if runs are short.
pub(crate) struct Trial {
    winner: AtomicUsize,
    /// Number of runs that began while the trial was open.
    tried: AtomicUsize,
    /// Number of runs since the choice.
    runs: AtomicUsize,
    samples: Mutex<[Sample; 2]>,
}

impl Trial {
    pub(crate) fn new() -> Self {
        let samples = Mutex::default();
        Self {
            winner: AtomicUsize::new(OPEN),
            tried: AtomicUsize::new(0),
            runs: AtomicUsize::new(0),
            samples,
        }
    }

    /// Counts a run. Opens the trial again if the choice has lasted long enough.
    pub(crate) fn count_run(&self) {
        if self.winner().is_none() {
            self.tried.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let lasts = LASTS * self.tried.load(Ordering::Relaxed).max(1);
        if self.runs.fetch_add(1, Ordering::Relaxed) + 1 == lasts {
            *self.samples.lock().unwrap_or_else(PoisonError::into_inner) = Default::default();
            self.tried.store(0, Ordering::Relaxed);
            self.runs.store(0, Ordering::Relaxed);
            self.winner.store(OPEN, Ordering::Relaxed);
        }
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
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let [first, second] = &*samples;
        usize::from((second.parts.min(1), second.time) < (first.parts.min(1), first.time))
    }

    /// Records the time of some workgroups of a form.
    pub(crate) fn record(&self, form: usize, workgroups: u64, time: Duration) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples[form].add(workgroups, time);
        if samples.iter().all(Sample::is_enough) {
            let [first, second] = samples.each_mut().map(Sample::median);
            self.winner.store(usize::from(second < first), Ordering::Relaxed);
        }
    }
}

impl Sample {
    fn add(&mut self, workgroups: u64, time: Duration) {
        self.parts += 1;
        if self.parts == 1 {
            return;
        }
        let cost = time.as_nanos() as f64 / workgroups as f64;
        self.time += time;
        match self.costs.len() {
            KEPT => self.costs[self.parts % KEPT] = cost,
            _ => self.costs.push(cost),
        }
    }

    fn is_enough(&self) -> bool {
        self.time >= LEAST && self.costs.len() >= LEAST_PARTS
    }

    /// Returns the median of the costs, and sorts them.
    fn median(&mut self) -> f64 {
        self.costs.sort_by(f64::total_cmp);
        self.costs[self.costs.len() / 2]
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
                // The first part takes as long as many others together, and the numbers of workgroups differ.
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

    /// Executes runs, each with this number of parts, until the choice. Returns the winner and the number of runs.
    fn choose(trial: &Trial, costs: [u64; 2], parts: usize) -> (Option<usize>, usize) {
        let mut runs = 0;
        while trial.winner().is_none() {
            trial.count_run();
            runs += 1;
            for _ in 0..parts {
                let form = trial.next();
                trial.record(form, 1, Duration::from_micros(costs[form]));
            }
        }
        (trial.winner(), runs)
    }

    #[test]
    fn the_choice_follows_the_data_and_lasts_long_after_a_long_trial() {
        for parts in [1, 1000] {
            let trial = Trial::new();
            let (winner, runs) = choose(&trial, [40, 60], parts);
            assert_eq!(winner, Some(0));
            assert_eq!(runs == 1, parts == 1000, "{runs} runs of {parts} parts");
            for _ in 1..LASTS * runs {
                trial.count_run();
                assert_eq!(trial.winner(), Some(0));
            }
            trial.count_run();
            assert_eq!(trial.winner(), None);
            assert_eq!(choose(&trial, [60, 40], parts).0, Some(1));
        }
    }

    #[test]
    fn a_few_parts_that_were_interrupted_decide_nothing() {
        let trial = Trial::new();
        for part in 0..12 {
            // Two of the parts of the faster form take a hundred times as long.
            let interrupted = if part == 3 || part == 7 { 100 } else { 1 };
            trial.record(0, 2, Duration::from_micros(200 * interrupted));
            trial.record(1, 2, Duration::from_micros(300));
        }
        assert_eq!(trial.winner(), Some(0));
    }

    #[test]
    fn the_last_costs_of_many_short_parts_are_kept() {
        let trial = Trial::new();
        for part in 0..2 * KEPT as u64 {
            trial.record(0, 1, Duration::from_nanos(if part < KEPT as u64 { 900 } else { 500 }));
            trial.record(1, 1, Duration::from_nanos(700));
        }
        assert_eq!(trial.winner(), None, "the forms ran for less than a millisecond");
        trial.record(0, 1, LEAST);
        trial.record(1, 1, LEAST);
        assert_eq!(trial.winner(), Some(0));
    }
}
