//! The rules of `docs/semantics.md`, the document's remarks on them, and the tests that prove them.

use std::collections::BTreeSet;

use serde::Serialize;

/// Lists the letters of rules in the order of the document.
const LETTERS: &str = "QEMPTGDKAR";

/// Holds a numbered rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// Holds a letter and two digits.
    pub(super) number: String,
    pub(super) standing: Standing,
}

/// Names the remark that follows a rule's number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Standing {
    /// The rule has no remark: it holds.
    Kept,
    /// `in part`: the rule holds in part, and its text names the absent part.
    InPart,
    /// `broken`: the rule is promised, and its text names the broken part.
    Broken,
    /// `no test yet`: the rule is said to hold, and no test proves it.
    NoTest,
    /// `not yet`: the library does not have the feature.
    Missing,
    /// The remark is unknown, which is a mistake of the document.
    Unknown(String),
}

/// Lists every remark that a rule may have.
const REMARKS: [(&str, Standing); 4] = [
    ("in part", Standing::InPart),
    ("broken", Standing::Broken),
    ("no test yet", Standing::NoTest),
    ("not yet", Standing::Missing),
];

impl Standing {
    fn of(remark: &str) -> Self {
        let known = REMARKS.iter().find(|(known, _)| *known == remark);
        known.map_or_else(|| Self::Unknown(remark.to_owned()), |(_, standing)| standing.clone())
    }

    /// Returns the remark's word in the table; `None` for a rule that holds.
    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Self::Kept => None,
            Self::InPart => Some("in part"),
            Self::Broken => Some("broken"),
            Self::NoTest => Some("no test yet"),
            Self::Missing => Some("missing"),
            Self::Unknown(remark) => Some(remark),
        }
    }
}

/// Returns the rules in the order of the text. Each begins a line, in bold, with its number, optionally a remark in
/// brackets, and a dot.
pub(super) fn parse(text: &str) -> Vec<Rule> {
    let rule = |line: &str| {
        let bold = line.strip_prefix("**")?;
        let number = number_at_start(bold)?;
        let after = &bold[number.len()..];
        let remark = after.strip_prefix(" (").and_then(|rest| rest.split_once(")."));
        let standing = match remark {
            Some((remark, _)) => Standing::of(remark),
            None => after.starts_with('.').then_some(Standing::Kept)?,
        };
        Some(Rule { number, standing })
    };
    text.lines().filter_map(rule).collect()
}

/// Returns the rule that a test is named after: `q01_...` proves Q01.
pub(super) fn rule_of(test: &str) -> Option<String> {
    let number = number_at_start(&test.to_uppercase())?;
    test[number.len()..].starts_with('_').then_some(number)
}

fn number_at_start(text: &str) -> Option<String> {
    let number = text.get(..3)?;
    let bytes = number.as_bytes();
    let right = bytes[0].is_ascii_uppercase() && bytes[1..].iter().all(u8::is_ascii_digit);
    right.then(|| number.to_owned())
}

/// Returns the mistakes of the rules, given the rules that tests are named after: a rule without a test and without a
/// remark that allows it, a rule with a test whose remark denies one, a test of a rule that the document does not have,
/// an unknown remark, and a hole in the numbers.
pub(super) fn gaps(rules: &[Rule], proved: &BTreeSet<String>) -> Vec<String> {
    let known: BTreeSet<&str> = rules.iter().map(|rule| rule.number.as_str()).collect();
    let strangers = proved.iter().filter(|number| !known.contains(number.as_str()));
    let strange = |number| format!("tests are named after {number}, a rule that the document does not have");
    let own = rules.iter().filter_map(|rule| gap(rule, proved.contains(&rule.number)));
    own.chain(strangers.map(strange)).chain(holes(rules)).collect()
}

fn gap(rule: &Rule, has_test: bool) -> Option<String> {
    let number = &rule.number;
    match &rule.standing {
        Standing::Unknown(remark) => {
            Some(format!("rule {number} has a remark that none may have: `{remark}`"))
        }
        Standing::Missing if has_test => Some(format!("rule {number} has a test, but is marked `not yet`")),
        Standing::NoTest if has_test => {
            Some(format!("rule {number} has a test, but is marked `no test yet`"))
        }
        Standing::Kept | Standing::InPart if !has_test => Some(format!("rule {number} has no test")),
        _ => None,
    }
}

/// Returns the holes of the document: the numbers of each letter must count up from 01, and the letters must be in
/// order.
fn holes(rules: &[Rule]) -> Vec<String> {
    let expected = LETTERS.chars().flat_map(|letter| {
        let of_letter = rules.iter().filter(|rule| rule.number.starts_with(letter)).count();
        (1..=of_letter.max(1)).map(move |number| format!("{letter}{number:02}"))
    });
    let mut found = rules.iter().map(|rule| rule.number.as_str());
    let mut wrong = Vec::new();
    for expected in expected {
        match found.next() {
            Some(number) if number == expected => {}
            Some(number) => wrong.push(format!("rule {number} stands where {expected} belongs")),
            None => wrong.push(format!("rule {expected} is missing")),
        }
    }
    wrong.extend(found.map(|number| format!("rule {number} has no place")));
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# The rules\n**Q01. Verbs\nreturn.**\n**Q02 (in part). A context**\n**G01 (not yet). Capture**\n\
        **Bold** and **Q1. no number** and\n**Q14 and so on**\n**Q15 (in part) and so on**\n\
        **E01 (broken). A marker**\n**K01 (no test yet). A kernel**\n**R01 (perhaps). Mistakes**\n";

    fn numbers(numbers: &[&str]) -> BTreeSet<String> {
        numbers.iter().map(|number| (*number).to_owned()).collect()
    }

    fn rules(numbers: &[&str]) -> Vec<Rule> {
        let rule = |number: &&str| Rule { number: (*number).to_owned(), standing: Standing::Kept };
        numbers.iter().map(rule).collect()
    }

    #[test]
    fn rules_begin_lines_and_may_have_a_remark() {
        let found: Vec<_> = parse(TEXT).into_iter().map(|rule| (rule.number, rule.standing)).collect();
        let expected = [
            ("Q01", Standing::Kept),
            ("Q02", Standing::InPart),
            ("G01", Standing::Missing),
            ("E01", Standing::Broken),
            ("K01", Standing::NoTest),
            ("R01", Standing::Unknown("perhaps".to_owned())),
        ];
        assert_eq!(found, expected.map(|(number, standing)| (number.to_owned(), standing)));
    }

    #[test]
    fn a_test_is_named_after_its_rule() {
        assert_eq!(rule_of("q01_verbs_return").as_deref(), Some("Q01"));
        assert_eq!(rule_of("q1_verbs"), None);
        assert_eq!(rule_of("q010_verbs"), None);
        assert_eq!(rule_of("queues_share_their_barriers"), None);
    }

    /// Returns the gaps of `TEXT` that are not holes, with these rules proved.
    fn gaps_of_text(proved: &[&str]) -> Vec<String> {
        let found = gaps(&parse(TEXT), &numbers(proved));
        found.into_iter().filter(|gap| !gap.contains("stands where") && !gap.contains("is missing")).collect()
    }

    #[test]
    fn a_rule_without_a_test_is_a_gap_unless_its_remark_allows_it() {
        let found = gaps_of_text(&[]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[..2], ["rule Q01 has no test", "rule Q02 has no test"]);
    }

    #[test]
    fn a_remark_that_denies_a_test_is_a_gap_if_the_rule_has_one() {
        let found = gaps_of_text(&["Q01", "Q02", "E01", "G01", "K01"]);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], "rule G01 has a test, but is marked `not yet`");
        assert_eq!(found[1], "rule K01 has a test, but is marked `no test yet`");
    }

    #[test]
    fn an_unknown_remark_is_a_gap_that_shows_it() {
        let found = gaps_of_text(&["Q01", "Q02", "R01"]);
        assert_eq!(found, ["rule R01 has a remark that none may have: `perhaps`"]);
    }

    #[test]
    fn a_test_of_a_rule_that_is_not_in_the_document_is_a_gap() {
        let found = gaps_of_text(&["Q01", "Q02", "X99"]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[1], "tests are named after X99, a rule that the document does not have");
    }

    #[test]
    fn complete_numbers_have_no_holes() {
        let whole = ["Q01", "Q02", "E01", "M01", "P01", "T01", "G01", "D01", "K01", "A01", "R01"];
        assert_eq!(holes(&rules(&whole)), [""; 0]);
    }

    #[test]
    fn a_hole_a_repetition_a_wrong_order_and_a_missing_letter_are_found() {
        let cases: [(&[&str], &str); 5] = [
            (
                &["Q01", "Q03", "E01", "M01", "P01", "T01", "G01", "D01", "K01", "A01", "R01"],
                "Q03 stands where Q02",
            ),
            (
                &["Q01", "Q01", "E01", "M01", "P01", "T01", "G01", "D01", "K01", "A01", "R01"],
                "Q01 stands where Q02",
            ),
            (&["E01", "Q01", "M01", "P01", "T01", "G01", "D01", "K01", "A01", "R01"], "E01 stands where Q01"),
            (&["Q01", "E01", "M01", "P01", "T01", "D01", "K01", "A01", "R01"], "D01 stands where G01"),
            (
                &["Q01", "E01", "M01", "P01", "T01", "G01", "D01", "K01", "A01", "R01", "X01"],
                "X01 has no place",
            ),
        ];
        for (numbers, expected) in cases {
            let found = holes(&rules(numbers));
            assert!(found.iter().any(|hole| hole.contains(expected)), "{expected}: {found:?}");
        }
    }

    #[test]
    fn holes_are_gaps() {
        assert!(gaps(&rules(&["Q01", "Q03"]), &numbers(&["Q01", "Q03"])).len() > 1);
    }

    #[test]
    fn the_rules_of_this_workspace_are_complete_and_their_remarks_are_known() {
        let rules = parse(include_str!("../../../../docs/semantics.md"));
        assert_eq!(holes(&rules), [""; 0]);
        let unknown = rules.iter().filter(|rule| matches!(rule.standing, Standing::Unknown(_)));
        assert_eq!(unknown.count(), 0, "{rules:?}");
    }
}
