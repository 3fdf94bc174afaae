//! Runs shards side by side.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use indicatif::ProgressBar;

use super::shards::Shard;
use super::watched::{self, Ended};
use crate::progress;

/// Runs the shards, as many at once as there are processors and one more: a device test waits most of its time. Returns
/// the names of those that failed.
pub(super) fn run(shards: &[Shard]) -> Vec<String> {
    let workers = thread::available_parallelism().map_or(2, usize::from) + 1;
    let (next, bar) = (AtomicUsize::new(0), progress::bar(shards.len() as u64));
    bar.set_message("tests");
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some(at) = take(&next, shards.len()) {
            if !passes(&shards[at], &bar) {
                failed.lock().expect("bug: a worker panicked").push(at);
            }
            bar.inc(1);
        }
    };
    thread::scope(|scope| (0..workers.min(shards.len())).for_each(|_| drop(scope.spawn(work))));
    bar.finish_and_clear();
    let mut failed = failed.into_inner().expect("bug: a worker panicked");
    failed.sort_unstable();
    failed.into_iter().map(|at| shards[at].name.clone()).collect()
}

fn take(next: &AtomicUsize, count: usize) -> Option<usize> {
    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < count)
}

/// Runs one shard, says how it ended, and prints what it said if it failed.
fn passes(shard: &Shard, bar: &ProgressBar) -> bool {
    let Ended { passed, said, took } = watched::run(&shard.line);
    let word = if passed { "pass" } else { "FAIL" };
    let head = format!("{word}  {}  {:.1} s  {}", shard.name, took.as_secs_f64(), counts(&said));
    let text = if passed { head } else { format!("{head}\n+ {}\n{}", shard.line, failures(&said)) };
    bar.suspend(|| eprintln!("{text}"));
    passed
}

/// The counts in the last result that a test harness printed.
fn counts(said: &str) -> String {
    let result = said.lines().rev().find_map(|line| line.strip_prefix("test result: "));
    let counts = result.and_then(|result| result.split_once(". ")).map_or("", |(_, counts)| counts);
    counts.split("; ").take(3).collect::<Vec<_>>().join(", ")
}

/// Everything but the tests that passed and those that were left out.
fn failures(said: &str) -> String {
    let dull =
        |line: &&str| line.starts_with("test ") && (line.ends_with("ok") || line.contains("... ignored"));
    said.lines().filter(|line| !dull(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use crate::shell::line;

    const SAID: &str = "running 3 tests\ntest a ... ok\ntest b ... ignored, not here\ntest c ... FAILED\nwhy\n\
                        test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out\n";

    #[test]
    fn the_counts_are_those_of_the_harness() {
        assert_eq!(counts(SAID), "1 passed, 1 failed, 1 ignored");
        assert_eq!(counts("no harness"), "");
    }

    #[test]
    fn what_failed_is_shown_and_what_passed_is_not() {
        let shown = failures(SAID);
        assert!(shown.contains("test c ... FAILED\nwhy"), "{shown}");
        assert!(!shown.contains("test a") && !shown.contains("test b"), "{shown}");
    }

    #[cfg(unix)]
    #[test]
    fn every_shard_runs_once_and_those_that_fail_are_named_in_order() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("ran");
        let shard = |at: usize| Shard {
            name: format!("shard {at}"),
            line: line("sh").args(["-c", &format!("echo {at} >> {}; exit {}", file.display(), at % 2)]),
        };
        let failed = run(&(0..5).map(shard).collect::<Vec<_>>());
        assert_eq!(failed, ["shard 1", "shard 3"]);
        let mut ran: Vec<_> =
            std::fs::read_to_string(&file).expect("written").lines().map(str::to_owned).collect();
        ran.sort();
        assert_eq!(ran, ["0", "1", "2", "3", "4"]);
    }
}
