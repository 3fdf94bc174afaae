//! Runs warm launches, from the first call until they are done, for a program that counts instructions.

use std::{hint::black_box, io::Write};

use anyhow::Result;
use serde::Serialize;

use crate::{
    implementation::Handover,
    job::{Job, MOST_QUEUES, Variant},
    noop,
    rows::Row,
    verbs::{self, VERBS},
};

/// Approximate number of launches of a row.
const LAUNCHES: usize = 10_000;
/// Number of live arrays from which a round takes long: each submit of wgpu visits every live buffer.
const MANY: usize = 10_000;

/// The launches, or calls of a verb, counted between the previous call of `row_is_counted` and this one.
#[derive(Serialize)]
pub(crate) struct Counted<'a> {
    pub(crate) row: &'a str,
    pub(crate) launches: usize,
}

/// A row and its job on a number of queues.
struct Workload {
    row: Row,
    job: Job,
}

impl Workload {
    /// Returns every launch row on one queue, then on two.
    fn all(most_queues: usize) -> Vec<Self> {
        let of = |row: &Row, queues| match *row {
            Row::Launch { variant, launches, .. } => Some(Self::new(*row, variant, launches, queues)),
            Row::Again { .. } | Row::LaunchWait | Row::Transfer { .. } => None,
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

    /// Returns the number of rounds that warm the caches. As many rounds are counted after them.
    fn rounds(&self) -> usize {
        let most = if self.row.live() < MANY { 200 } else { 20 };
        (LAUNCHES / self.job.launches).clamp(2, most)
    }
}

/// Runs every launch row, or every verb, on the noop back end, and writes one JSON line to `out` after each.
///
/// This function counts nothing. Callgrind counts the instructions inside `count_until_done`, and writes and resets its
/// count before each `row_is_counted`.
///
/// # Errors
/// Fails if `contestant` is not among the [`noop_contestants`](crate::noop_contestants), or a launch failed.
pub fn launch_on_noop(contestant: &str, out: &mut dyn Write) -> Result<()> {
    if contestant == VERBS {
        return verbs::call_on_noop(&noop::direct()?, out);
    }
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
        let row = &*workload.name();
        let launches = workload.job.launches * rounds;
        row_is_counted(&Counted { row, launches }, out)?;
    }
    Ok(())
}

#[inline(never)]
fn count_until_done(contestant: &mut dyn Handover, job: &Job) -> Result<()> {
    contestant.start(job)?;
    black_box(contestant.wait()) // prevents a tail call: the function must return itself
}

#[inline(never)]
pub(crate) fn row_is_counted(counted: &Counted<'_>, out: &mut dyn Write) -> Result<()> {
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
    fn every_contestant_reports_the_launches_of_each_row() {
        let mut out = Vec::new();
        launch_on_noop("expert", &mut out).expect("the noop back end takes wgpu");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text.lines().count(), Workload::all(1).len());
        assert!(text.starts_with(r#"{"row":"launch independent 1","launches":200}"#), "{text}");
    }
}
