//! The summary of a profile: the total time of each kernel and of each kind of command.

use crate::profile::Profile;
use crate::row::Activity;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A table of the times of kernels and other activities: [`Profile::summary`] returns it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// One row for each kernel and for each other activity, the largest total first.
    pub rows: Vec<SummaryRow>,
}

/// All launches of a kernel, or all commands of another activity. Times are in seconds, and `None` if no command has a
/// time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SummaryRow {
    /// Kind of the commands.
    pub activity: Activity,
    /// Entry point of a kernel, or the activity if it is not a launch. For a kernel of a verb of the library, the name
    /// includes the verb: `sort/radix_count`.
    pub name: Arc<str>,
    /// Number of commands.
    pub count: usize,
    /// Number of commands with a time.
    pub measured: usize,
    /// Shortest time.
    pub min: Option<f64>,
    /// Mean of the times.
    pub mean: Option<f64>,
    /// Longest time.
    pub max: Option<f64>,
    /// Sum of the times.
    pub total: Option<f64>,
    /// `total` divided by the total of all commands of the device, from 0 to 1. `None` for waits and callbacks.
    pub share: Option<f64>,
}

impl Profile {
    /// *Returns* the total time of each kernel and of each kind of command.
    ///
    /// A total is a sum over commands: if two commands run at the same time, both of their times count.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 1>([1024])?;
    /// let profiler = ctx.profile();
    /// queue.fill(&mut x, 1)?;
    /// queue.fill(&mut x, 2)?;
    /// let summary = profiler.finish().wait()?.summary();
    /// assert_eq!((summary.rows[0].count, summary.rows[0].measured), (2, 2));
    /// assert!(summary.rows[0].min <= summary.rows[0].mean && summary.rows[0].share == Some(1.0));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn summary(&self) -> Summary {
        let mut times: BTreeMap<(Activity, Arc<str>), (usize, Vec<f64>)> = BTreeMap::new();
        for row in &self.rows {
            let name = if row.activity.computes() { row.name.clone() } else { row.activity.word().into() };
            let (count, seconds) = times.entry((row.activity, name)).or_default();
            *count += 1;
            seconds.extend(row.time.ok().map(|time| time.seconds()));
        }
        let all = times.iter().filter(|((activity, _), _)| activity.is_work());
        let all: f64 = all.flat_map(|(_, (_, seconds))| seconds).sum();
        let mut rows: Vec<SummaryRow> =
            times.into_iter().map(|(what, (count, seconds))| SummaryRow::of(what, count, &seconds)).collect();
        for row in rows.iter_mut().filter(|row| row.activity.is_work()) {
            row.share = row.total.map(|total| total / all);
        }
        rows.sort_by(|a, b| b.total.unwrap_or(0.0).total_cmp(&a.total.unwrap_or(0.0)));
        Summary { rows }
    }
}

impl SummaryRow {
    fn of((activity, name): (Activity, Arc<str>), count: usize, seconds: &[f64]) -> Self {
        let measured = seconds.len();
        let total = (measured > 0).then(|| seconds.iter().sum::<f64>());
        let best = |best: fn(f64, f64) -> f64| seconds.iter().copied().reduce(best);
        Self {
            activity,
            name,
            count,
            measured,
            min: best(f64::min),
            mean: total.map(|total| total / measured as f64),
            max: best(f64::max),
            total,
            share: None,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(4);
        writeln!(
            f,
            "{:8} {:width$} {:>8} {:>8} {:>10} {:>10} {:>10} {:>10} {:>7}",
            "kind", "name", "count", "measured", "min us", "mean us", "max us", "total ms", "share"
        )?;
        for row in &self.rows {
            let number = |seconds: Option<f64>, unit: f64| {
                seconds.map_or_else(|| "-".into(), |seconds| format!("{:.3}", seconds * unit))
            };
            let share = row.share.map_or_else(|| "-".into(), |share| format!("{:.1} %", share * 100.0));
            writeln!(
                f,
                "{:8} {:width$} {:>8} {:>8} {:>10} {:>10} {:>10} {:>10} {share:>7}",
                row.activity,
                row.name,
                row.count,
                row.measured,
                number(row.min, 1e6),
                number(row.mean, 1e6),
                number(row.max, 1e6),
                number(row.total, 1e3),
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_profiles::{profile, row, unmeasured, wait};

    #[test]
    fn each_kernel_has_a_row_and_unmeasured_commands_are_only_counted() {
        let launch = |name, times| row(0, Activity::Launch, name, times);
        let rows = vec![
            launch("add", (0.0, 1.0)),
            launch("mix", (1.0, 5.0)),
            launch("add", (5.0, 8.0)),
            unmeasured(launch("add", (8.0, 8.0))),
            row(0, Activity::Copy, "4 bytes", (8.0, 10.0)),
            row(0, Activity::Copy, "8 bytes", (10.0, 10.0)),
            wait(1, Some(0), (0.0, 9.0)),
            unmeasured(row(0, Activity::Read, "4 bytes", (0.0, 0.0))),
        ];
        let summary = profile(rows).summary();
        let of = |name: &str| summary.rows.iter().find(|row| &*row.name == name).unwrap();
        let add = of("add");
        assert_eq!((add.count, add.measured), (3, 2));
        assert_eq!((add.min, add.mean, add.max, add.total), (Some(1.0), Some(2.0), Some(3.0), Some(4.0)));
        assert_eq!(add.share, Some(0.4));
        assert_eq!((of("copy").count, of("copy").share), (2, Some(0.2)));
        assert_eq!((of("wait").total, of("wait").share), (Some(9.0), None));
        assert_eq!((of("read").min, of("read").total, of("read").share), (None, None, None));
        let names: Vec<&str> = summary.rows.iter().map(|row| &*row.name).collect();
        assert_eq!(names, ["wait", "add", "mix", "copy", "read"]);
    }

    #[test]
    fn the_table_has_a_line_for_each_row_and_a_dash_for_a_missing_time() {
        let rows = vec![unmeasured(row(0, Activity::Launch, "a_kernel", (0.0, 0.0)))];
        let table = profile(rows).summary().to_string();
        let last = table.lines().last().unwrap();
        assert!(last.contains("a_kernel") && last.contains(" - "), "{table}");
        assert_eq!(table.lines().count(), 2);
    }
}
