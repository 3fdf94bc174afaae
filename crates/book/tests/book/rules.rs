//! Rules have a sentence, a reason and an example; pages name rules that there are.

use crate::pages::{Page, book};
use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};
use std::path::Path;

/// A rule of `semantics.md`: its number, and what follows its sentence.
#[derive(Default)]
struct Rule {
    number: String,
    reason: String,
    examples: usize,
}

fn rules() -> Vec<Rule> {
    let page = book().into_iter().find(|page| page.path == Path::new("docs/semantics.md"));
    parse(&page.expect("it is there"))
}

/// A rule starts with its number in bold, and ends where the next one starts.
fn parse(page: &Page) -> Vec<Rule> {
    let (mut rules, mut is_bold, mut is_code) = (Vec::<Rule>::new(), false, false);
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
                rules.push(Rule { number: text[..3].to_owned(), ..Rule::default() });
            }
            Event::Text(text) if !is_bold && !is_code => {
                rules.last_mut().into_iter().for_each(|rule| rule.reason += &text);
            }
            _ => {}
        }
    }
    rules
}

/// The number that a text starts with: a letter and two digits, and then no more of either.
fn number(text: &str) -> Option<&str> {
    let (number, rest) = text.split_at_checked(3)?;
    let is_number = matches!(number.as_bytes(), [b'A'..=b'Z', b'0'..=b'9', b'0'..=b'9']);
    (is_number && !rest.starts_with(char::is_alphanumeric)).then_some(number)
}

#[test]
fn every_rule_has_a_reason_and_an_example_that_is_run() {
    let rules = rules();
    let lacks = |rule: &&Rule| rule.reason.trim().is_empty() || rule.examples == 0;
    let lacking: Vec<&str> = rules.iter().filter(lacks).map(|rule| rule.number.as_str()).collect();
    assert_eq!(lacking, [""; 0]);
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
fn pages_name_only_rules_that_there_are() {
    let known: Vec<String> = rules().into_iter().map(|rule| rule.number).collect();
    let mut unknown = Vec::new();
    for page in book() {
        for (at, _) in page.text.char_indices() {
            let starts = !page.text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if let Some(rule) = number(&page.text[at..]).filter(|_| starts)
                && "QEMPTDKR".contains(&rule[..1])
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
}
