use std::time::Duration;

use serde::Serialize;

/// Summary of a series of times, in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) median_us: f64,
    /// Lower quartile: a quarter of the samples took no longer.
    pub(crate) quarter_us: f64,
    /// Upper quartile: three quarters of the samples took no longer.
    pub(crate) three_quarters_us: f64,
}

impl Summary {
    /// Summarises samples that each did the same work `times` times. Returns `None` if there are none.
    pub(crate) fn of(samples: &[Duration], times: usize) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.iter().map(|d| d.as_secs_f64() * 1e6 / times as f64).collect();
        sorted.sort_by(f64::total_cmp);
        let at =
            |share: f64| sorted.get(((sorted.len().max(1) - 1) as f64 * share).round() as usize).copied();
        Some(Self { median_us: at(0.5)?, quarter_us: at(0.25)?, three_quarters_us: at(0.75)? })
    }
}

/// Returns the median over all rounds of `a`'s time divided by `b`'s in the same round, or `None` without rounds. A
/// slow phase of the machine slows both, so this is steadier than the ratio of two medians.
pub(crate) fn paired_ratio(a: &[Duration], b: &[Duration]) -> Option<f64> {
    let seconds = |time: &Duration| time.as_secs_f64().max(1e-9);
    let mut ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| seconds(a) / seconds(b)).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_phase_of_the_machine_does_not_move_the_ratio() {
        let a = [20, 20, 200, 200, 2000].map(Duration::from_micros);
        let b = [10, 10, 100, 100, 1000].map(Duration::from_micros);
        assert_eq!(paired_ratio(&a, &b), Some(2.0));
        assert_eq!(paired_ratio(&[], &[]), None);
    }

    #[test]
    fn one_outlier_does_not_move_the_median() {
        let samples = [3, 1, 2, 900, 4].map(Duration::from_micros);
        let summary = Summary::of(&samples, 1).expect("samples were given");
        assert_eq!((summary.quarter_us, summary.median_us, summary.three_quarters_us), (2.0, 3.0, 4.0));
    }

    #[test]
    fn times_divides_every_sample() {
        let summary = Summary::of(&[Duration::from_micros(10)], 4).expect("a sample was given");
        assert_eq!(summary.median_us, 2.5);
    }

    #[test]
    fn no_samples_have_no_summary() {
        assert!(Summary::of(&[], 1).is_none());
    }
}
