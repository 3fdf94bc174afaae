//! Runs shards in parallel.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use indicatif::ProgressBar;
use serde_json::json;

use super::shards::Shard;
use super::watched::{self, Ended};
use crate::progress;
use crate::semantics::rules::rule_of;

/// Result of a shard.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    /// Name of the shard.
    pub(crate) name: String,
    /// The numbers of tests that passed, failed and were left out.
    pub(crate) counts: [usize; 3],
    /// Reason why the shard failed, if it did.
    pub(crate) wrong: Option<String>,
    /// Output of a shard that failed.
    pub(crate) said: String,
}

/// Runs the shards, two more at a time than there are processors, because device tests mostly wait. Returns their
/// results in the same order.
pub(super) fn run(shards: &[Shard]) -> Vec<Ran> {
    let workers = thread::available_parallelism().map_or(2, usize::from) + 2;
    let next = AtomicUsize::new(0);
    let bar = progress::bar(shards.len() as u64);
    bar.set_message("tests");
    let ended = Mutex::new(Vec::new());
    let work = || {
        while let Some(at) = take(&next, shards.len()) {
            let ran = run_one(&shards[at], &bar);
            ended.lock().expect("bug: a worker panicked").push((at, ran));
            bar.inc(1);
        }
    };
    thread::scope(|scope| (0..workers.min(shards.len())).for_each(|_| drop(scope.spawn(work))));
    bar.finish_and_clear();
    let mut ended = ended.into_inner().expect("bug: a worker panicked");
    ended.sort_by_key(|(at, _)| *at);
    ended.into_iter().map(|(_, ran)| ran).collect()
}

fn take(next: &AtomicUsize, count: usize) -> Option<usize> {
    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < count)
}

/// Runs one shard and prints its result, and its output if it failed.
fn run_one(shard: &Shard, bar: &ProgressBar) -> Ran {
    let Ended { passed, said, took } = watched::run(&shard.line, shard.slowness);
    let noted = shard.notes.as_ref().and_then(|file| append(file, &notes(&said)).err());
    let wrong = verdict(passed, counts(&said), shard.tests)
        .or_else(|| too_much(peak(&said), shard.memory()))
        .or_else(|| noted.map(|error| format!("its results cannot be written: {error}")));
    let ([good, bad, out], seconds) = (counts(&said).unwrap_or_default(), took.as_secs_f64());
    let word = if wrong.is_none() { "pass" } else { "FAIL" };
    let memory = peak(&said).map(|peak| format!(", {peak} MiB")).unwrap_or_default();
    let head =
        format!("{word}  {}  {seconds:.1} s{memory}  {good} passed, {bad} failed, {out} ignored", shard.name);
    let text = wrong.as_ref().map_or(head.clone(), |wrong| {
        format!("{head}\n+ {}\n{}\n{}: {wrong}", shard.line, failures(&said), shard.name)
    });
    if wrong.is_some() || good + out > 0 {
        bar.suspend(|| eprintln!("{text}")); // with a filter, most shards have no tests
    }
    let said = if wrong.is_some() { said } else { String::new() };
    Ran { name: shard.name.clone(), counts: [good, bad, out], wrong, said }
}

/// Returns why a shard failed, if it did: its status, a missing result of its harness, or a wrong number of tests.
fn verdict(passed: bool, counts: Option<[usize; 3]>, tests: Option<usize>) -> Option<String> {
    let Some(counts) = counts else { return Some("its harness printed no result".to_owned()) };
    let ran: usize = counts.iter().sum();
    match tests {
        _ if !passed || counts[1] > 0 => Some("a test failed, or the program did".to_owned()),
        Some(tests) if tests != ran => Some(format!("{ran} tests ran, it has {tests}")),
        _ => None,
    }
}

/// Returns the failure of a process that used more memory than its limit, in MiB.
pub(crate) fn too_much(peak: Option<u64>, limit: u64) -> Option<String> {
    let peak = peak.filter(|peak| *peak > limit)?;
    Some(format!("the process took {peak} MiB, the limit is {limit} MiB"))
}

/// Returns the peak memory of a test program in MiB, if the program printed it (`tests/common/place_filter.rs`).
pub(crate) fn peak(said: &str) -> Option<u64> {
    let words = said.lines().rev().find_map(|line| line.strip_prefix("peak memory: "))?;
    words.strip_suffix(" MiB")?.parse().ok()
}

/// Counts the tests that passed, failed and were left out, from the last result that a test harness printed.
pub(super) fn counts(said: &str) -> Option<[usize; 3]> {
    let result = said.lines().rev().find_map(|line| line.strip_prefix("test result: "))?;
    let words: Vec<&str> = result.split([' ', ';']).filter(|word| !word.is_empty()).collect();
    let count = |name| words.windows(2).find(|pair| pair[1] == name).and_then(|pair| pair[0].parse().ok());
    Some(["passed", "failed", "ignored"].map(|name| count(name).unwrap_or(0)))
}

/// Returns the lines of results, as in `tests/common/results.rs`, of the tests that are named after rules.
fn notes(said: &str) -> String {
    let note = |line: &str| {
        let (name, ended) = line.strip_prefix("test ")?.split_once(" ... ")?;
        // The harness pads the names to one length.
        let mut parts = name.trim_end().split("::").skip_while(|part| rule_of(part).is_none());
        let test = parts.next()?;
        let adapter = parts.next().unwrap_or("none");
        let result = match ended.split([',', ' ']).next()? {
            "ok" => "pass",
            "ignored" => "not-possible",
            _ => "fail",
        };
        let backend = if adapter.starts_with("cpu_") { "host" } else { "none" };
        let line =
            json!({ "test": test, "adapter": adapter, "backend": backend, "result": result, "reason": null });
        Some(format!("{line}\n"))
    };
    said.lines().filter_map(note).collect()
}

fn append(file: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).open(file)?.write_all(text.as_bytes())
}

/// Returns the output without the lines of tests that passed or were left out.
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
        assert_eq!(counts(SAID), Some([1, 1, 1]));
        let passed = "test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured";
        assert_eq!(counts(passed), Some([12, 0, 3]));
        assert_eq!(counts("no harness"), None);
    }

    #[test]
    fn a_process_that_takes_too_much_memory_fails_its_shard() {
        let said = |mebibytes: u64| format!("test result: ok\npeak memory: {mebibytes} MiB\n");
        assert_eq!(peak(&said(900)), Some(900));
        assert_eq!(peak(&(said(7) + &said(9))), Some(9), "the last one counts");
        assert_eq!(too_much(peak(&said(1536)), 1536), None);
        let wrong = too_much(peak(&said(1537)), 1536);
        assert!(wrong.is_some_and(|wrong| wrong.contains("1537") && wrong.contains("1536")));
        assert_eq!(too_much(peak("test result: ok"), 1536), None, "a system that does not say it");
    }

    #[test]
    fn the_output_of_failed_tests_is_shown_and_passed_tests_are_left_out() {
        let shown = failures(SAID);
        assert!(shown.contains("test c ... FAILED\nwhy"), "{shown}");
        assert!(!shown.contains("test a") && !shown.contains("test b"), "{shown}");
    }

    #[test]
    fn tests_that_are_named_after_rules_have_notes() {
        let said = "test memory::m02_a ... ok\ntest e05_b::lavapipe ... FAILED\ntest p01_c::cpu_1    ... ignored, no\n\
                    test other ... ok\n";
        let notes: Vec<serde_json::Value> =
            notes(said).lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
        let shown = |note: &serde_json::Value| {
            ["test", "adapter", "backend", "result"].map(|key| note[key].as_str().unwrap_or("").to_owned())
        };
        assert_eq!(
            notes.iter().map(shown).collect::<Vec<_>>(),
            [
                ["m02_a", "none", "none", "pass"],
                ["e05_b", "lavapipe", "none", "fail"],
                ["p01_c", "cpu_1", "host", "not-possible"]
            ]
        );
    }

    #[test]
    fn a_shard_passes_only_if_all_its_tests_ran_and_none_failed() {
        assert_eq!(verdict(true, Some([3, 0, 1]), Some(4)), None);
        assert_eq!(verdict(true, Some([0, 0, 0]), None), None, "a filter leaves nothing of it");
        let failures = [
            verdict(false, Some([4, 0, 0]), Some(4)),
            verdict(true, Some([3, 1, 0]), Some(4)),
            verdict(true, Some([0, 0, 0]), Some(4)),
            verdict(true, None, None),
        ];
        assert!(failures.iter().all(Option::is_some), "{failures:?}");
    }

    #[cfg(unix)]
    #[test]
    fn every_shard_runs_once_and_those_that_fail_are_named_in_order() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("ran");
        let script = |at: usize, file: &std::path::Path| {
            format!(
                "echo {at} >> {}; echo 'test result: ok. 1 passed; 0 failed'; exit {}",
                file.display(),
                at % 2
            )
        };
        let shard = |at: usize| {
            let line = line("sh").args(["-c", &script(at, &file)]);
            Shard::of_one_program(&format!("shard {at}"), line)
        };
        let results = run(&(0..5).map(shard).collect::<Vec<_>>());
        let failed = results.iter().filter(|ran| ran.wrong.is_some()).map(|ran| ran.name.as_str());
        assert_eq!(failed.collect::<Vec<_>>(), ["shard 1", "shard 3"]);
        assert!(results.iter().all(|ran| ran.counts == [1, 0, 0]), "{results:?}");
        let mut ran: Vec<_> =
            std::fs::read_to_string(&file).expect("written").lines().map(str::to_owned).collect();
        ran.sort();
        assert_eq!(ran, ["0", "1", "2", "3", "4"]);
    }
}
