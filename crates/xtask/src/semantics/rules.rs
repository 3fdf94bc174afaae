//! The rules of `docs/semantics.md`, the document's remarks on them, and the tests that prove them.

use serde::Serialize;

/// A numbered rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// A letter and two digits.
    pub(crate) number: String,
    pub(crate) standing: Standing,
}

/// Remark after a rule's number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Standing {
    /// The rule has no remark: it holds.
    Kept,
    /// `in part`: the rule holds in part, and its text names the missing part.
    InPart,
    /// `broken`: the rule is promised, and its text names the broken part.
    Broken,
    /// `no test yet`: the rule is believed to hold, but no test proves it.
    NoTest,
    /// `not yet`: the library does not have the feature.
    Missing,
    /// The remark is unknown, which is a mistake in the document.
    Unknown(String),
}

/// Every remark that a rule may have.
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
    pub(crate) fn word(&self) -> Option<&str> {
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

/// Returns the rules in the order of the text. Each begins a line in bold: its number, an optional remark in brackets,
/// and a dot.
pub(crate) fn parse(text: &str) -> Vec<Rule> {
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
pub(crate) fn rule_of(test: &str) -> Option<String> {
    let number = number_at_start(&test.to_uppercase())?;
    test[number.len()..].starts_with('_').then_some(number)
}

/// Returns the rules named in the parts of a test's path.
pub(crate) fn rules_of(id: &str) -> impl Iterator<Item = String> {
    id.split("::").filter_map(rule_of)
}

fn number_at_start(text: &str) -> Option<String> {
    let number = text.get(..3)?;
    let bytes = number.as_bytes();
    let right = bytes[0].is_ascii_uppercase() && bytes[1..].iter().all(u8::is_ascii_digit);
    right.then(|| number.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# The rules\n**Q01. Verbs\nreturn.**\n**Q02 (in part). A context**\n**G01 (not yet). Capture**\n\
        **Bold** and **Q1. no number** and\n**Q14 and so on**\n**Q15 (in part) and so on**\n\
        **E01 (broken). A marker**\n**K01 (no test yet). A kernel**\n**R01 (perhaps). Mistakes**\n";

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
}
