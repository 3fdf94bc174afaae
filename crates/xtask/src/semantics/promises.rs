//! The list `docs/rules.txt`: the rules of the contract, and the places where each is promised.
//!
//! With `docs/semantics.md` alone, a removed rule would not be noticed.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use super::outcome::{Ended, Outcome};
use super::rules::{Rule, Standing};

/// Path of the list.
pub(crate) const LIST: &str = "docs/rules.txt";

/// Name of each place in the list, and the name of its backend in the results of the tests.
const PLACES: [(&str, &str); 4] =
    [("recorder", "host"), ("cpu", "native"), ("vulkan", "vulkan"), ("gl", "gl")];

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Promise {
    pub(crate) number: String,
    /// Names of the places where the rule is promised; empty for a rule that is proved by tests without a place.
    places: Vec<&'static str>,
    /// The library does not have the feature yet.
    is_missing: bool,
    /// The reason why no planted fault breaks the rule.
    no_fault: Option<String>,
}

/// Reads the list. A line is `Q07`, or `Q07 | part | part`, where a part is `not yet`, `only cpu, gl: reason`,
/// `no place: reason` or `no fault: reason`.
pub(crate) fn parse(text: &str) -> Result<Vec<Promise>> {
    let lines = text.lines().map(|line| line.split_once('#').map_or(line, |(line, _)| line).trim());
    lines.filter(|line| !line.is_empty()).map(promise).collect()
}

fn promise(line: &str) -> Result<Promise> {
    let mut parts = line.split('|').map(str::trim);
    let number = parts.next().unwrap_or_default().to_owned();
    let places = PLACES.map(|(name, _)| name).to_vec();
    let mut promise = Promise { number, places, is_missing: false, no_fault: None };
    for part in parts {
        let (what, reason) = part.split_once(':').map_or((part, ""), |(what, reason)| (what, reason.trim()));
        match what {
            "not yet" => promise.is_missing = true,
            _ if reason.is_empty() => bail!("{LIST}: `{part}` of {} has no reason", promise.number),
            "no fault" => promise.no_fault = Some(reason.to_owned()),
            "no place" => promise.places.clear(),
            _ => promise.places = only(what, &promise.number)?,
        }
    }
    Ok(promise)
}

fn only(what: &str, number: &str) -> Result<Vec<&'static str>> {
    let Some(names) = what.strip_prefix("only ") else {
        bail!("{LIST}: {number} has the unknown part `{what}`")
    };
    let place = |name: &str| {
        let known = PLACES.iter().find(|(known, _)| *known == name.trim());
        known
            .map(|(known, _)| *known)
            .ok_or_else(|| anyhow::anyhow!("{LIST}: {number} has the unknown place `{name}`"))
    };
    names.split(',').map(place).collect()
}

/// Returns the differences between the list, the document, the names of tests, and the rules of planted faults.
pub(crate) fn mistakes(
    promises: &[Promise],
    rules: &[Rule],
    proved: &BTreeSet<String>,
    broken_by_faults: &BTreeSet<String>,
) -> Vec<String> {
    let mut all = Vec::new();
    let numbers: Vec<&str> = promises.iter().map(|promise| promise.number.as_str()).collect();
    let known = |number: &String| numbers.contains(&number.as_str());
    let standing: BTreeMap<&str, &Standing> =
        rules.iter().map(|rule| (rule.number.as_str(), &rule.standing)).collect();
    let listed = numbers.iter().filter(|number| standing.contains_key(*number));
    let in_order = listed
        .copied()
        .eq(rules.iter().map(|rule| rule.number.as_str()).filter(|number| numbers.contains(number)));
    if !in_order {
        all.push(format!(
            "the rules of {LIST} and docs/semantics.md have different orders, or one stands twice"
        ));
    }
    for rule in rules.iter().filter(|rule| !known(&rule.number)) {
        all.push(format!("rule {} is not in {LIST}", rule.number));
    }
    for number in proved.union(broken_by_faults).filter(|number| !known(number)) {
        all.push(format!("a test or a fault names {number}, which is not in {LIST}"));
    }
    for promise in promises {
        let number = &promise.number;
        let standing = standing.get(promise.number.as_str());
        let has_test = proved.contains(number);
        let holds = standing.is_some_and(|standing| **standing != Standing::Missing);
        if promise.is_missing {
            if holds {
                all.push(format!("rule {number} stands in docs/semantics.md: remove `not yet` in {LIST}"));
            }
            continue;
        }
        match standing {
            None => all.push(format!("rule {number} is missing in docs/semantics.md")),
            Some(Standing::Missing) => {
                all.push(format!(
                    "rule {number} is `not yet` in docs/semantics.md and is promised in {LIST}"
                ));
            }
            Some(Standing::Unknown(remark)) => {
                all.push(format!("rule {number} has a remark that none may have: `{remark}`"));
            }
            Some(Standing::NoTest) if has_test => {
                all.push(format!("rule {number} has a test, but is marked `no test yet`"));
            }
            Some(Standing::Kept | Standing::InPart) if !has_test => {
                all.push(format!("rule {number} has no test"));
            }
            Some(_) => {}
        }
        match (&promise.no_fault, broken_by_faults.contains(number)) {
            (None, false) => all.push(format!(
                "no fault of tests/faults.json breaks rule {number}: add one, or a reason to {LIST}"
            )),
            (Some(_), true) => all.push(format!("a fault breaks rule {number}: remove `no fault` in {LIST}")),
            _ => {}
        }
    }
    all
}

/// Returns the places of a promise where no test of the rule passed, among those in `outcomes`, and `anywhere` if no
/// test passed at all.
pub(crate) fn unproved(promise: &Promise, outcomes: &[Outcome]) -> Vec<&'static str> {
    let own = |outcome: &&Outcome| outcome.rule == promise.number && outcome.result == Ended::Pass;
    if !outcomes.iter().any(|outcome| own(&outcome)) {
        return vec!["anywhere"];
    }
    let backends: BTreeSet<&str> = outcomes.iter().map(|outcome| outcome.backend.as_str()).collect();
    let due =
        PLACES.iter().filter(|(name, backend)| promise.places.contains(name) && backends.contains(backend));
    let passed = |backend: &str| outcomes.iter().filter(own).any(|outcome| outcome.backend == backend);
    due.filter(|(_, backend)| !passed(backend)).map(|(name, _)| *name).collect()
}

impl Promise {
    /// Returns `true` if the library does not have the feature yet.
    pub(crate) fn is_missing(&self) -> bool {
        self.is_missing
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::tests::outcome;
    use super::super::rules;
    use super::*;

    const LISTED: &str = "# a comment\nQ01\nQ02 | only cpu, gl: the others are asynchronous | no fault: only time changes\n\
        R03 | no place: models\nR04 | not yet\n";

    fn numbers(numbers: &[&str]) -> BTreeSet<String> {
        numbers.iter().map(|number| (*number).to_owned()).collect()
    }

    fn found(document: &str, proved: &[&str], faults: &[&str]) -> Vec<String> {
        let promises = parse(LISTED).expect("a list");
        mistakes(&promises, &rules::parse(document), &numbers(proved), &numbers(faults))
    }

    const DOCUMENT: &str = "**Q01. One.**\n**Q02 (in part). Two.**\n**R03. Three.**\n";
    const PROVED: &[&str] = &["Q01", "Q02", "R03"];
    const FAULTS: &[&str] = &["Q01", "R03"];

    #[test]
    fn a_list_that_agrees_has_no_mistakes() {
        assert_eq!(found(DOCUMENT, PROVED, FAULTS), [""; 0]);
        assert_eq!(found(&format!("{DOCUMENT}**R04 (not yet). Four.**\n"), PROVED, FAULTS), [""; 0]);
    }

    #[test]
    fn a_rule_that_is_cut_from_the_end_of_the_document_is_missed() {
        let cut = DOCUMENT.replace("**R03. Three.**\n", "");
        assert_eq!(found(&cut, PROVED, FAULTS), ["rule R03 is missing in docs/semantics.md"]);
    }

    #[test]
    fn each_mistake_is_found() {
        let cases: [(&str, &[&str], &[&str], &str); 8] = [
            ("**Q01. One.**\n**R03. Three.**\n**Q02. Two.**\n", PROVED, FAULTS, "different orders"),
            (&format!("{DOCUMENT}**R05. Five.**\n"), PROVED, FAULTS, "rule R05 is not in"),
            (&format!("{DOCUMENT}**R04. Four.**\n"), PROVED, FAULTS, "remove `not yet`"),
            (&DOCUMENT.replace("Q01.", "Q01 (not yet)."), PROVED, FAULTS, "`not yet` in docs/semantics.md"),
            (&DOCUMENT.replace("Q01.", "Q01 (perhaps)."), PROVED, FAULTS, "a remark that none may have"),
            (DOCUMENT, &["Q02", "R03"], FAULTS, "rule Q01 has no test"),
            (DOCUMENT, PROVED, &["Q01"], "no fault of tests/faults.json breaks rule R03"),
            (DOCUMENT, PROVED, &["Q01", "Q02", "R03"], "a fault breaks rule Q02"),
        ];
        for (document, proved, faults, expected) in cases {
            let mistakes = found(document, proved, faults);
            assert!(mistakes.len() == 1 && mistakes[0].contains(expected), "{expected}: {mistakes:?}");
        }
        assert_eq!(found(DOCUMENT, &["Q01", "Q02", "R03", "X99"], FAULTS).len(), 1);
    }

    #[test]
    fn a_line_with_an_unknown_part_is_an_error() {
        for line in ["Q01 | always", "Q01 | only moon: x", "Q01 | only cpu", "Q01 | no fault"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_rule_is_unproved_where_no_test_of_it_passed() {
        let promises = parse(LISTED).expect("a list");
        let at = |rule: &str, backend: &str, result| Outcome {
            backend: backend.into(),
            ..outcome(rule, "a", result, None)
        };
        let outcomes = [
            at("Q01", "vulkan", Ended::Pass),
            at("Q01", "gl", Ended::NotPossible),
            at("Q02", "gl", Ended::Pass),
            at("Q01", "host", Ended::Pass),
        ];
        assert_eq!(unproved(&promises[0], &outcomes), ["gl"]);
        assert_eq!(unproved(&promises[1], &outcomes), [""; 0]);
        assert_eq!(unproved(&promises[2], &outcomes), ["anywhere"]);
    }
}
