//! The rules that `docs/semantics.md` has, and which tests prove them.

use std::collections::BTreeSet;

/// A numbered rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// A letter and two digits.
    pub(super) number: String,
    /// Whether the text says that nothing proves it yet.
    pub(super) untested: bool,
}

/// The rules in the order of the text: each begins a line, in bold, with its number and perhaps a remark in brackets.
pub(super) fn parse(text: &str) -> Vec<Rule> {
    let rule = |line: &str| {
        let bold = line.strip_prefix("**")?;
        let number = number_at_start(bold)?;
        let after = &bold[number.len()..];
        let remark = after.strip_prefix(" (").and_then(|rest| rest.split_once(')'));
        (remark.is_some() || after.starts_with('.'))
            .then(|| Rule { number, untested: remark.is_some_and(|(remark, _)| remark == "no test yet") })
    };
    text.lines().filter_map(rule).collect()
}

/// The rule that a test is named after: `q01_...` proves Q01.
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

/// What is wrong with the rules, given those that tests are named after: those without a test, and those that have one and
/// are said to have none. A test may be named after a rule that is not promised yet.
pub(super) fn gaps(rules: &[Rule], proved: &BTreeSet<String>) -> Vec<String> {
    let gap = |rule: &Rule| match (proved.contains(&rule.number), rule.untested) {
        (false, false) => Some(format!("rule {} has no test", rule.number)),
        (true, true) => Some(format!("rule {} has a test, but is marked `no test yet`", rule.number)),
        _ => None,
    };
    rules.iter().filter_map(gap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# The rules\n**Q01. Verbs\nreturn.**\n**Q13 (in part). A context**\n**G01 (no test yet). Capture**\n\
        **Bold** and **Q1. no number** and\n**Q14 and so on**\n";

    #[test]
    fn rules_begin_lines_and_may_have_a_remark() {
        let found: Vec<_> = parse(TEXT).into_iter().map(|rule| (rule.number, rule.untested)).collect();
        let expected = [("Q01", false), ("Q13", false), ("G01", true)];
        assert_eq!(found, expected.map(|(number, untested)| (number.to_owned(), untested)));
    }

    #[test]
    fn a_test_is_named_after_its_rule() {
        assert_eq!(rule_of("q01_verbs_return").as_deref(), Some("Q01"));
        assert_eq!(rule_of("q1_verbs"), None);
        assert_eq!(rule_of("q010_verbs"), None);
        assert_eq!(rule_of("queues_share_their_barriers"), None);
    }

    #[test]
    fn every_gap_names_its_rule() {
        let proved = |numbers: &[&str]| numbers.iter().map(|number| (*number).to_owned()).collect();
        assert_eq!(gaps(&parse(TEXT), &proved(&["Q01", "Q13"])), [""; 0]);
        let found = gaps(&parse(TEXT), &proved(&["Q01", "G01", "X99"]));
        assert_eq!(found.len(), 2, "{found:?}");
        for (gap, number) in found.iter().zip(["Q13", "G01"]) {
            assert!(gap.contains(number), "{gap}");
        }
    }

    #[test]
    fn the_rules_of_this_workspace_are_found() {
        let rules = parse(include_str!("../../../../docs/semantics.md"));
        assert!(rules.len() > 40, "{}", rules.len());
        assert!(rules.iter().all(|rule| "QEMPTGDKR".contains(&rule.number[..1])), "{rules:?}");
    }
}
