//! Checks that rules have a sentence, a reason and an example, and that pages name only rules that exist.

use crate::pages::{Page, book};
use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};
use std::path::Path;

/// A rule of `semantics.md`: its number, the remark after it in brackets, and the text after its sentence.
#[derive(Default)]
struct Rule {
    number: String,
    remark: String,
    reason: String,
    examples: usize,
}

fn rules() -> Vec<Rule> {
    let page = book().into_iter().find(|page| page.path == Path::new("docs/semantics.md"));
    parse(&page.expect("it is there"))
}

/// Parses the rules of a page. A rule starts with its number in bold, and ends at the next one.
fn parse(page: &Page) -> Vec<Rule> {
    let mut rules = Vec::<Rule>::new();
    let mut is_bold = false;
    let mut is_code = false;
    for event in page.events() {
        match event {
            Event::Start(Tag::Strong) => is_bold = true,
            Event::End(TagEnd::Strong) => is_bold = false,
            Event::Start(Tag::CodeBlock(kind)) => {
                let is_rust = matches!(kind, CodeBlockKind::Fenced(info) if info.starts_with("rust"));
                rules.last_mut().into_iter().for_each(|rule| rule.examples += usize::from(is_rust));
                is_code = true;
            }
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Text(text) if is_bold && number(&text).is_some() => {
                let number = text[..3].to_owned();
                let remark = remark(&text[3..]).to_owned();
                rules.push(Rule { number, remark, ..Rule::default() });
            }
            Event::Text(text) if !is_bold && !is_code => {
                rules.last_mut().into_iter().for_each(|rule| rule.reason += &text);
            }
            _ => {}
        }
    }
    rules
}

/// Returns the number at the start of a text: a letter and two digits, not followed by a letter or digit.
fn number(text: &str) -> Option<&str> {
    let (number, rest) = text.split_at_checked(3)?;
    let is_number = matches!(number.as_bytes(), [b'A'..=b'Z', b'0'..=b'9', b'0'..=b'9']);
    (is_number && !rest.starts_with(char::is_alphanumeric)).then_some(number)
}

/// Returns the remark in the text after a number; empty if it has none.
fn remark(after: &str) -> &str {
    let inside = after.strip_prefix(" (").and_then(|rest| rest.split_once(')'));
    inside.map_or("", |(remark, _)| remark)
}

impl Rule {
    /// Returns `true` if a part of the rule is missing. A rule that the library keeps needs a reason and an example. A
    /// rule that it does not have yet needs a text, and can have no example.
    fn lacks(&self) -> bool {
        let has_reason = !self.reason.trim().is_empty();
        let has_example = self.examples > 0;
        !has_reason || has_example == (self.remark == "not yet")
    }

    /// Returns `true` if the rule does not hold, and its text does not describe today's behaviour.
    fn hides(&self) -> bool {
        let holds = !["not yet", "broken", "no test yet"].contains(&self.remark.as_str());
        !holds && !self.reason.to_lowercase().contains("today")
    }
}

fn numbers(rules: &[Rule], which: impl Fn(&Rule) -> bool) -> Vec<&str> {
    rules.iter().filter(|rule| which(rule)).map(|rule| rule.number.as_str()).collect()
}

#[test]
fn every_rule_has_a_reason_and_unless_marked_not_yet_an_example() {
    assert_eq!(numbers(&rules(), Rule::lacks), [""; 0]);
}

#[test]
fn every_rule_that_does_not_hold_describes_the_behaviour_of_today() {
    assert_eq!(numbers(&rules(), Rule::hides), [""; 0]);
}

#[test]
fn a_rule_in_part_names_the_absent_part() {
    let silent = |rule: &Rule| {
        let admits = ["yet", "today", "not measured"].iter().any(|word| rule.reason.contains(word));
        rule.remark == "in part" && !admits
    };
    assert_eq!(numbers(&rules(), silent), [""; 0]);
}

#[test]
fn rules_have_one_number_each_and_stand_in_order_below_their_heading() {
    let numbers: Vec<String> = rules().into_iter().map(|rule| rule.number).collect();
    assert!(numbers.len() > 40, "{numbers:?}");
    let of_one_letter = |pair: &&[String]| pair[0][..1] == pair[1][..1];
    let twisted: Vec<_> =
        numbers.windows(2).filter(of_one_letter).filter(|pair| pair[0] >= pair[1]).collect();
    assert_eq!(twisted, [[""; 2]; 0]);
}

#[test]
fn pages_name_only_rules_that_exist() {
    let known: Vec<String> = rules().into_iter().map(|rule| rule.number).collect();
    let mut unknown = Vec::new();
    for page in book() {
        for (at, _) in page.text.char_indices() {
            let starts = !page.text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if let Some(rule) = number(&page.text[at..]).filter(|_| starts)
                && "QEMPTGDKAR".contains(&rule[..1])
                && !known.iter().any(|known| known == rule)
            {
                unknown.push(format!("{}: {rule}", page.name()));
            }
        }
    }
    assert_eq!(unknown, [""; 0]);
}

#[test]
fn every_rust_block_is_compiled() {
    let skipped = |page: &Page| page.fences().iter().any(|info| info.contains("ignore"));
    let pages: Vec<String> = book().iter().filter(|page| skipped(page)).map(Page::name).collect();
    assert_eq!(pages, [""; 0]);
}

#[test]
fn a_rule_without_a_reason_or_an_example_is_found() {
    let text = "**A01. One.**\nBecause.\n```rust\nlet a = 1;\n```\n\n**A02. Two.**\n```rust\n```\n\n**A03. Three.** So.";
    let rules = parse(&Page { path: "a.md".into(), text: text.into() });
    let found: Vec<_> =
        rules.iter().map(|rule| (rule.number.as_str(), rule.reason.trim(), rule.examples)).collect();
    assert_eq!(found, [("A01", "Because.", 1), ("A02", "", 1), ("A03", "So.", 0)]);
    assert_eq!(numbers(&rules, Rule::lacks), ["A02", "A03"]);
}

#[test]
fn a_rule_marked_not_yet_has_a_text_and_no_example() {
    let text = "**A01 (not yet). One.**\nToday two.\n\n**A02 (not yet). Two.**\n\n**A03 (not yet). Three.**\nToday.\n\
        ```rust\n```\n\n**A04 (broken). Four.**\nToday five.\n";
    let rules = parse(&Page { path: "a.md".into(), text: text.into() });
    assert_eq!(
        rules.iter().map(|rule| rule.remark.as_str()).collect::<Vec<_>>(),
        ["not yet", "not yet", "not yet", "broken"]
    );
    assert_eq!(numbers(&rules, Rule::lacks), ["A02", "A03", "A04"]);
}

#[test]
fn a_rule_that_does_not_describe_the_behaviour_of_today_is_found() {
    let text = "**A01 (broken). One.**\nSo.\n\n**A02 (not yet). Two.**\nLater.\n\n**A03 (in part). Three.**\nSo.\n\n\
        **A04 (broken). Four.**\nToday not.\n\n**A05. Five.**\nSo.\n";
    let rules = parse(&Page { path: "a.md".into(), text: text.into() });
    assert_eq!(numbers(&rules, Rule::hides), ["A01", "A02"]);
}
