//! What a program that counts instructions has to count: warm launches, from the first call until they are done.

use std::{hint::black_box, io::Write};

use anyhow::Result;
use serde::Serialize;

use crate::{
    implementation::Handover,
    job::{Job, Variant},
    measure::MOST_QUEUES,
    noop,
    rows::Row,
};

/// Launches that are counted for a row, about.
const LAUNCHES: usize = 10_000;
/// Arrays beside which a round takes long: each submit of wgpu's looks at every buffer that is alive.
const MANY: usize = 10_000;

/// What was counted between the calls of `row_is_counted` before it and its own.
#[derive(Serialize)]
struct Counted<'a> {
    row: &'a str,
    launches: usize,
}

/// A row on a number of queues.
struct Workload {
    row: Row,
    job: Job,
}

impl Workload {
    /// Every launch row on one queue, then on two.
    fn all(most_queues: usize) -> Vec<Self> {
        let of = |row: &Row, queues| match *row {
            Row::Launch { variant, launches, .. } => Some(Self::new(*row, variant, launches, queues)),
            Row::LaunchWait | Row::Transfer { .. } => None,
        };
        let rows = Row::all(false);
        rows.iter().flat_map(|row| (1..=most_queues).filter_map(move |queues| of(row, queues))).collect()
    }

    fn new(row: Row, variant: Variant, launches: usize, queues: usize) -> Self {
        Self { row, job: Job { variant, launches, queues } }
    }

    fn name(&self) -> String {
        match self.job.queues {
            1 => self.row.to_string(),
            queues => format!("{}, {queues} queues", self.row),
        }
    }

    /// Rounds that fill caches, and then as many that are counted.
    fn rounds(&self) -> usize {
        let most = if self.row.live() < MANY { 200 } else { 20 };
        (LAUNCHES / self.job.launches).clamp(2, most)
    }
}

/// Does every launch row on the noop back end, with one JSON line to `out` for each as soon as it is over.
///
/// Nothing is counted here: callgrind is to count what runs inside of `count_until_done`, and to write down
/// and set back its count before each `row_is_counted`.
///
/// # Errors
/// `contestant` is not among the [`noop_contestants`](crate::noop_contestants), or a launch failed.
pub fn launch_on_noop(contestant: &str, out: &mut dyn Write) -> Result<()> {
    let mut contestant = noop::open(contestant)?;
    let queues = contestant.part().queues.min(MOST_QUEUES);
    for workload in Workload::all(queues) {
        contestant.keep_alive(workload.row.live())?;
        let rounds = workload.rounds();
        for _ in 0..rounds {
            contestant.start(&workload.job)?;
            contestant.wait()?;
        }
        for _ in 0..rounds {
            count_until_done(contestant.as_mut(), &workload.job)?;
        }
        let (row, launches) = (&*workload.name(), workload.job.launches * rounds);
        row_is_counted(&Counted { row, launches }, out)?;
    }
    Ok(())
}

#[inline(never)]
fn count_until_done(contestant: &mut dyn Handover, job: &Job) -> Result<()> {
    contestant.start(job)?;
    black_box(contestant.wait()) // no call in place of the return: the function must have an end of its own
}

#[inline(never)]
fn row_is_counted(counted: &Counted<'_>, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer(&mut *out, counted)?;
    Ok(writeln!(out)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_workloads_differ() {
        let mut names: Vec<_> = Workload::all(MOST_QUEUES).iter().map(Workload::name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn every_contestant_says_how_many_launches_each_row_had() {
        let mut out = Vec::new();
        launch_on_noop("expert", &mut out).expect("the noop back end takes wgpu");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text.lines().count(), Workload::all(1).len());
        assert!(text.starts_with(r#"{"row":"launch independent 1","launches":200}"#), "{text}");
    }
}
