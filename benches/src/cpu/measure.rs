use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use fastrand::Rng;
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    case::{Case, Work},
    contestant::{Contestant, Prepared},
};
use crate::stats::{Summary, paired_ratio};

/// Times of a row.
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    pub(crate) work: Option<Work>,
    pub(crate) entries: Vec<Entry>,
}

/// Times of one contestant in a row.
pub(crate) struct Entry {
    pub(crate) contestant: String,
    /// Number of launches of a sample.
    pub(crate) launches: usize,
    pub(crate) samples: Vec<Duration>,
    /// Times of the compilation and of the first sample. `None` if the contestant compiles nothing.
    pub(crate) first: Option<[Duration; 2]>,
}

impl Entry {
    pub(crate) fn summary(&self) -> Option<Summary> {
        Summary::of(&self.samples, self.launches)
    }

    /// Returns the microseconds of the compilation. This includes the time by which the first sample was slower than
    /// the others, because some drivers compile at the first launch.
    pub(crate) fn compile_us(&self) -> Option<f64> {
        let steady = self.summary()?.median_us * self.launches as f64;
        let [compiled, sample] = self.first?.map(|time| time.as_secs_f64() * 1e6);
        Some(compiled + (sample - steady).max(0.0))
    }
}

impl Measured {
    /// Returns the median ratio of a contestant's time to the first one's in the same round.
    pub(crate) fn ratio(&self, entry: &Entry) -> Option<f64> {
        paired_ratio(&entry.samples, &self.entries.first()?.samples)
    }
}

/// Time after which a row ends, once it has the least number of rounds.
const LONG: Duration = Duration::from_secs(10);

/// Takes the samples of a row. In each round all contestants take one, in a new order.
pub(crate) fn measure(
    name: &'static str,
    case: &Case,
    contestants: &[Box<dyn Contestant>],
    quick: bool,
) -> Result<Measured> {
    let (least, most) = if quick { (1, 1) } else { (3, 31) };
    let mut rows = Vec::new();
    let mut entries = Vec::new();
    for contestant in contestants {
        let object = || format!("row `{name}` of {}", contestant.name());
        let prepared = match contestant.prepare(case) {
            Err(error) if lacks_an_ability(&error) => {
                eprintln!("{}: {error:#}", object());
                continue;
            }
            prepared => prepared,
        };
        let Some(mut row) = prepared.with_context(object)? else { continue };
        let sample = checked(case, row.as_mut()).with_context(object)?;
        let first = row.compiled_in().map(|compiled| [compiled, sample]);
        rows.push(row);
        entries.push(Entry {
            contestant: contestant.name().to_owned(),
            launches: case.launches,
            samples: Vec::new(),
            first,
        });
    }
    let begun = Instant::now();
    for round in 0..most {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        Rng::with_seed(round).shuffle(&mut order);
        for at in order {
            let object = || format!("row `{name}` of {}", entries[at].contestant);
            let sample = checked(case, rows[at].as_mut()).with_context(object)?;
            entries[at].samples.push(sample);
        }
        if round + 1 >= least && begun.elapsed() > LONG {
            break;
        }
    }
    Ok(Measured { name, work: case.work, entries })
}

/// Returns `true` if a device cannot run the kernel of a row because its adapter lacks a feature.
fn lacks_an_ability(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<fencepost::Error>();
    error.is_some_and(|error| matches!(error.detail(), fencepost::ErrorDetail::Unsupported { .. }))
}

/// Takes one sample, and checks its result.
fn checked(case: &Case, row: &mut dyn Prepared) -> Result<Duration> {
    row.reset()?;
    let begun = Instant::now();
    row.sample()?;
    let took = begun.elapsed();
    case.check.compare(&row.output()?, &case.expected)?;
    Ok(took)
}

/// Returns a bar that counts rows, shown only on a terminal.
pub(crate) fn bar(rows: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} rows, {elapsed}, {msg}");
    ProgressBar::new(rows as u64).with_style(style.expect("the template is well formed"))
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;
    use crate::cpu::{cases, contestant, contestant::PLAIN, contestant::Prepared};

    /// A contestant without a kernel for any row.
    struct Idle;

    impl Contestant for Idle {
        fn name(&self) -> &str {
            "idle"
        }

        fn about(&self) -> String {
            String::new()
        }

        fn is_device(&self) -> bool {
            false
        }

        fn prepare<'c>(&'c self, _: &'c Case) -> Result<Option<Box<dyn Prepared + 'c>>> {
            Ok(None)
        }
    }

    #[test]
    fn a_contestant_without_a_kernel_is_left_out_of_the_row() {
        let idle: contestant::Other = ("idle", || Ok(Box::new(Idle)));
        let contestants = contestant::open([], [idle, PLAIN], "").expect("both are there");
        let (name, make) = cases::ALL[0];
        let measured = measure(name, &make(true), &contestants, true).expect("it runs");
        let names: Vec<_> = measured.entries.iter().map(|entry| entry.contestant.as_str()).collect();
        assert_eq!((contestants.len(), names), (2, vec![PLAIN.0]));
    }

    #[test]
    fn a_contestant_that_does_not_open_is_absent() {
        let absent: contestant::Other = ("absent", || bail!("it is not installed"));
        let contestants = contestant::open([], [absent, PLAIN], "").expect("one is there");
        let names: Vec<_> = contestants.iter().map(|contestant| contestant.name()).collect();
        assert_eq!(names, [PLAIN.0]);
    }
}
