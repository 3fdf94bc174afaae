//! The entries that a page posts, and the summary of a run.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::json;

/// Lateness of the page's timer in milliseconds above which the summary names a case.
const LATE: f64 = 50.0;
/// Number of the cases with the latest timers that the summary names.
const LATEST: usize = 8;

/// An entry, with the number of its page. A page that was ended may have posted entries that arrive later.
#[derive(Debug, Deserialize)]
pub(super) struct Posted {
    pub(super) page: u32,
    #[serde(flatten)]
    pub(super) entry: Entry,
}

/// An entry of a page.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Entry {
    /// The page handles its events.
    Beat,
    /// The page is about to run this number of trials.
    Count { trials: usize },
    /// A trial begins.
    Begin(BegunTrial),
    /// The trial needs the end of the browser's GPU process.
    Kill,
    /// A trial has ended.
    End(Trial),
    /// The page could not start.
    Broken { reason: String },
    /// All trials have run.
    Done,
}

/// A trial that has begun.
#[derive(Debug, Deserialize)]
pub(super) struct BegunTrial {
    pub(super) at: usize,
    pub(super) name: String,
    /// Time limit in seconds.
    pub(super) limit: f64,
}

/// A trial that has ended.
#[derive(Debug, Deserialize)]
pub(super) struct Trial {
    pub(super) at: usize,
    /// Name, with the place after two colons.
    pub(super) name: String,
    result: TrialResult,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    seconds: f64,
    /// Greatest lateness of a timer of 10 ms during the trial, in milliseconds.
    #[serde(default)]
    late: f64,
    /// Errors that the page wrote to its console.
    #[serde(default)]
    errors: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum TrialResult {
    Pass,
    Fail,
    NotPossible,
}

impl Trial {
    /// Returns a trial whose page has ended during it, for this reason.
    pub(super) fn lost(begun: BegunTrial, reason: &str) -> Self {
        Self::ended(begun, TrialResult::Fail, reason)
    }

    /// Returns a trial that is not possible in this browser, for this reason.
    pub(super) fn impossible(begun: BegunTrial, reason: &str) -> Self {
        Self::ended(begun, TrialResult::NotPossible, reason)
    }

    fn ended(begun: BegunTrial, result: TrialResult, reason: &str) -> Self {
        let BegunTrial { at, name, .. } = begun;
        let reason = Some(reason.into());
        Self { at, name, result, reason, seconds: 0.0, late: 0.0, errors: Vec::new() }
    }

    /// Returns `true` if the case failed, or the page wrote errors to its console while it passed.
    pub(super) fn failed(&self) -> bool {
        self.result == TrialResult::Fail || self.result == TrialResult::Pass && !self.errors.is_empty()
    }

    /// Returns `true` if the case is possible in a page.
    pub(super) fn ran(&self) -> bool {
        self.result != TrialResult::NotPossible
    }

    fn reason(&self) -> Option<&str> {
        let in_console = (self.failed() && !self.errors.is_empty()).then_some("errors in the console");
        self.reason.as_deref().or(in_console)
    }

    /// Returns the first line of what the page wrote to its console, or of the reason.
    pub(super) fn brief(&self) -> &str {
        let said = self.errors.first().or(self.reason.as_ref());
        said.and_then(|said| said.lines().next()).unwrap_or_default()
    }

    /// Returns the line of results, as in `tests/common/results.rs`. The adapter is the browser, and the mode is the place
    /// in the page.
    pub(super) fn note(&self, browser: &str) -> String {
        let (test, place) = self.name.split_once("::").unwrap_or((&self.name, "none"));
        let result = match self.result {
            _ if self.failed() => "fail",
            TrialResult::NotPossible => "not-possible",
            _ => "pass",
        };
        let (backend, mode) = match place {
            "page" => ("interpreter", "page"),
            simulated if simulated.starts_with("cpu") => ("simulator", "simulator"),
            _ => ("webgpu", "webgpu"),
        };
        json!({
            "test": test, "adapter": browser, "backend": backend, "mode": mode, "result": result,
            "reason": self.reason(), "seconds": self.seconds
        })
        .to_string()
    }
}

/// Writes the failures, the cases with the latest timers, and the counts of each place.
pub(super) fn summary(trials: &[Trial]) -> String {
    let mut text = String::new();
    for trial in trials.iter().filter(|trial| trial.failed()) {
        let _ = writeln!(text, "FAIL  {}\n      {}", trial.name, trial.reason().unwrap_or("no reason"));
        for error in &trial.errors {
            let _ = writeln!(text, "      console: {error}");
        }
    }
    let mut late: Vec<&Trial> = trials.iter().filter(|trial| trial.late > LATE).collect();
    late.sort_by(|one, other| other.late.total_cmp(&one.late));
    let _ = writeln!(text, "timers of 10 ms were more than {LATE} ms late in {} trials", late.len());
    for trial in late.iter().take(LATEST) {
        let _ = writeln!(text, "{:9.0} ms late  {}", trial.late, trial.name);
    }
    let mut places: Vec<&str> =
        trials.iter().filter_map(|trial| Some(trial.name.split_once("::")?.1)).collect();
    places.sort_unstable();
    places.dedup();
    for place in places {
        let at = |trial: &&Trial| trial.name.split_once("::").is_some_and(|(_, at)| at == place);
        let count = |is: &dyn Fn(&Trial) -> bool| trials.iter().filter(at).filter(|trial| is(trial)).count();
        let passed = count(&|trial| trial.result == TrialResult::Pass && !trial.failed());
        let failed = count(&Trial::failed);
        let left_out = count(&|trial| !trial.ran());
        let _ = writeln!(text, "{place}: {passed} passed, {failed} failed, {left_out} not possible");
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials() -> Vec<Trial> {
        let entry = |text: &str| match serde_json::from_str(text).expect("an entry") {
            Posted { entry: Entry::End(trial), page: 1 } => trial,
            other => panic!("{other:?}"),
        };
        let passed = r#"{"page":1,"kind":"end","at":0,"name":"q01_a::chromium","result":"pass","seconds":0.5,"late":3,"errors":[]}"#;
        let noisy = r#"{"page":1,"kind":"end","at":1,"name":"q01_b::chromium","result":"pass","reason":null,"late":70.5,"errors":["oh"]}"#;
        let failed = r#"{"page":1,"kind":"end","at":2,"name":"q01_c::cpu_1","result":"fail","reason":"left != right"}"#;
        let left_out =
            r#"{"page":1,"kind":"end","at":3,"name":"q01_d::cpu_1","result":"not-possible","reason":"why"}"#;
        let mut trials: Vec<Trial> = [passed, noisy, failed, left_out].map(entry).into();
        let begun = BegunTrial { at: 4, name: "q01_e::page".into(), limit: 60.0 };
        trials.push(Trial::lost(begun, "the page is frozen"));
        trials
    }

    #[test]
    fn failures_frozen_pages_and_errors_in_the_console_are_counted_as_failed() {
        let text = summary(&trials());
        assert!(text.contains("chromium: 1 passed, 1 failed, 0 not possible"), "{text}");
        assert!(text.contains("cpu_1: 0 passed, 1 failed, 1 not possible"), "{text}");
        assert!(text.ends_with("page: 0 passed, 1 failed, 0 not possible"), "{text}");
        assert!(text.contains("FAIL  q01_c::cpu_1\n      left != right"), "{text}");
        assert!(text.contains("FAIL  q01_b::chromium\n      errors in the console"), "{text}");
        assert!(text.contains("console: oh") && text.contains("the page is frozen"), "{text}");
    }

    #[test]
    fn late_timers_are_named() {
        let text = summary(&trials());
        assert!(text.contains("late in 1 trials\n       70 ms late  q01_b::chromium"), "{text}");
    }

    #[test]
    fn results_have_the_form_of_the_other_tests_and_name_the_browser() {
        let note = |trial: &Trial| serde_json::from_str(&trial.note("chromium")).expect("JSON");
        let lines: Vec<serde_json::Value> = trials().iter().map(note).collect();
        assert!(lines.iter().all(|line| line["adapter"] == "chromium"));
        let of = |key: &str| lines.iter().map(|line| line[key].as_str().expect("a text")).collect::<Vec<_>>();
        assert_eq!(of("test"), ["q01_a", "q01_b", "q01_c", "q01_d", "q01_e"]);
        assert_eq!(of("result"), ["pass", "fail", "fail", "not-possible", "fail"]);
        assert_eq!(of("mode"), ["webgpu", "webgpu", "simulator", "simulator", "page"]);
        assert_eq!((&lines[0]["reason"], &lines[3]["reason"]), (&json!(null), &json!("why")));
    }

    #[test]
    fn other_entries_are_read() {
        let entry = |text| serde_json::from_str::<Posted>(text).expect("an entry").entry;
        assert!(matches!(entry(r#"{"page":0,"kind":"beat"}"#), Entry::Beat));
        assert!(matches!(entry(r#"{"page":0,"kind":"count","trials":7}"#), Entry::Count { trials: 7 }));
        let begun = entry(r#"{"page":0,"kind":"begin","at":1,"name":"a","limit":120}"#);
        assert!(matches!(begun, Entry::Begin(BegunTrial { at: 1, .. })));
        assert!(matches!(entry(r#"{"page":0,"kind":"kill"}"#), Entry::Kill));
        assert!(matches!(entry(r#"{"page":0,"kind":"broken","reason":"a"}"#), Entry::Broken { .. }));
        assert!(matches!(entry(r#"{"page":0,"kind":"done"}"#), Entry::Done));
    }
}
