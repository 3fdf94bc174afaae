//! The results of tests, as the tests write them and as the table shows them.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::rules::{Rule, Standing, rule_of};

/// Result of a test on one adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ended {
    Pass,
    NotPossible,
    Fail,
}

/// A line that a test writes: `tests/common/results.rs`.
#[derive(Deserialize)]
struct Noted {
    test: String,
    adapter: String,
    backend: String,
    /// The place in a page, for a test that ran in a browser.
    mode: Option<String>,
    result: Ended,
    reason: Option<String>,
}

/// Result of one test of a rule, on one adapter, in one mode.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) rule: String,
    pub(super) adapter: String,
    pub(super) backend: String,
    pub(super) mode: String,
    pub(super) test: String,
    pub(super) result: Ended,
    pub(super) reason: Option<String>,
}

/// A JSON line for a rule with a remark, with the same keys as an outcome.
#[derive(Serialize)]
pub(super) struct Remarked<'a> {
    rule: &'a str,
    adapter: &'a str,
    backend: &'a str,
    mode: &'a str,
    test: &'a str,
    result: &'a Standing,
    reason: Option<&'a str>,
}

impl<'a> Remarked<'a> {
    /// Returns the line of a rule; `None` for a rule that holds.
    pub(super) fn of(rule: &'a Rule) -> Option<Self> {
        let Rule { number, standing } = rule;
        let [adapter, backend, mode, test] = ["none"; 4];
        let reason = Some("docs/semantics.md says so");
        let line = Self { rule: number, adapter, backend, mode, test, result: standing, reason };
        (*standing != Standing::Kept).then_some(line)
    }
}

/// Returns the outcomes in the lines of a run in this mode; tests that prove no rule are left out.
pub(super) fn parse(lines: &str, mode: &str) -> Result<Vec<Outcome>> {
    let outcome = |line: &str| -> Result<Option<Outcome>> {
        let noted: Noted = serde_json::from_str(line).with_context(|| format!("a result is `{line}`"))?;
        let Noted { test, adapter, backend, mode: place, result, reason } = noted;
        let mode = place.unwrap_or_else(|| if backend == "host" { "cpu" } else { mode }.to_owned());
        Ok(rule_of(&test).map(|rule| Outcome { rule, adapter, backend, mode, test, result, reason }))
    };
    let mut all: Vec<Outcome> =
        lines.lines().filter_map(|line| outcome(line).transpose()).collect::<Result<_>>()?;
    // For some programs, the runner records the results; it does not know the backends of adapters.
    for at in 0..all.len() {
        if all[at].backend == "none" && all[at].adapter != "none" {
            all[at].backend = backend_of(&all[at].adapter, &all);
        }
    }
    Ok(all)
}

/// Returns failures for tests that did not end because their program ended first. `ids` are `<test>::<adapter>`.
pub(super) fn unended(ids: &[String], outcomes: &[Outcome], mode: &str) -> Vec<Outcome> {
    let ended: BTreeSet<(&str, &str)> =
        outcomes.iter().map(|outcome| (outcome.test.as_str(), outcome.adapter.as_str())).collect();
    let missing = |id: &String| {
        let (test, adapter) = id.rsplit_once("::")?;
        let rule = rule_of(test)?;
        let known = adapter.starts_with("no_") || ended.contains(&(test, adapter));
        (!known).then(|| Outcome {
            rule,
            adapter: adapter.to_owned(),
            backend: backend_of(adapter, outcomes),
            mode: mode.to_owned(),
            test: test.to_owned(),
            result: Ended::Fail,
            reason: Some("the test program ended before this test".to_owned()),
        })
    };
    ids.iter().filter_map(missing).collect()
}

fn backend_of(adapter: &str, outcomes: &[Outcome]) -> String {
    let same = outcomes.iter().find(|outcome| outcome.adapter == adapter && outcome.backend != "none");
    same.map_or("unknown", |outcome| &outcome.backend).to_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const LINES: &str = r#"{"test":"q01_a","adapter":"lavapipe","backend":"vulkan","result":"pass","reason":null}
{"test":"d01_b","adapter":"cpu_1","backend":"host","result":"not-possible","reason":"no adapter"}
{"test":"no_rule","adapter":"cpu_1","backend":"host","result":"fail","reason":null}
"#;

    /// Makes an outcome for tests.
    pub(in crate::semantics) fn outcome(
        rule: &str,
        adapter: &str,
        result: Ended,
        reason: Option<&str>,
    ) -> Outcome {
        let [rule, adapter, backend, mode] = [rule, adapter, "vulkan", "default"].map(str::to_owned);
        let test = format!("{}_it_holds", rule.to_lowercase());
        Outcome { rule, adapter, backend, mode, test, result, reason: reason.map(str::to_owned) }
    }

    #[test]
    fn lines_become_outcomes_of_rules() {
        let found = parse(LINES, "hal").expect("they are right");
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].rule.as_str(), found[0].mode.as_str(), found[0].result),
            ("Q01", "hal", Ended::Pass)
        );
        assert_eq!((found[1].mode.as_str(), found[1].reason.as_deref()), ("cpu", Some("no adapter")));
    }

    #[test]
    fn the_mode_of_a_test_in_a_browser_is_its_place_in_the_page() {
        let line = r#"{"test":"q01_a","adapter":"firefox","backend":"webgpu","mode":"page","result":"pass","reason":null,"seconds":0.5}"#;
        let found = parse(line, "firefox").expect("it is right");
        assert_eq!((found[0].adapter.as_str(), found[0].mode.as_str()), ("firefox", "page"));
    }

    #[test]
    fn an_invalid_line_is_an_error_that_shows_it() {
        let error = parse("{\"test\": 1}", "hal").expect_err("a number is not a name");
        assert!(format!("{error:#}").contains("{\"test\": 1}"));
    }

    #[test]
    fn a_test_that_did_not_end_is_a_failure() {
        let ids = [
            "q01_a::lavapipe",
            "q02_c::lavapipe",
            "q03_d::no_adapter",
            "m10_e::no_vulkan",
            "other::lavapipe",
        ]
        .map(str::to_owned);
        let found = unended(&ids, &parse(LINES, "hal").expect("they are right"), "hal");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].rule.as_str(), found[0].backend.as_str()), ("Q02", "vulkan"));
        assert_eq!(found[0].result, Ended::Fail);
    }

    #[test]
    fn a_line_of_json_has_the_keys_in_order() {
        let line =
            serde_json::to_string(&outcome("Q01", "lavapipe", Ended::Pass, None)).expect("it is plain");
        let expected = r#"{"rule":"Q01","adapter":"lavapipe","backend":"vulkan","mode":"default","test":"q01_it_holds","result":"pass","reason":null}"#;
        assert_eq!(line, expected);
    }

    #[test]
    fn a_rule_with_a_remark_has_a_line_of_the_same_keys() {
        let line = |standing| {
            let rule = Rule { number: "G01".to_owned(), standing };
            Remarked::of(&rule).map(|line| serde_json::to_string(&line).expect("it is plain"))
        };
        let expected = r#"{"rule":"G01","adapter":"none","backend":"none","mode":"none","test":"none","result":"missing","reason":"docs/semantics.md says so"}"#;
        assert_eq!(line(Standing::Missing).as_deref(), Some(expected));
        assert!(line(Standing::Broken).expect("it has a remark").contains(r#""result":"broken""#));
        assert_eq!(line(Standing::Kept), None);
    }
}
