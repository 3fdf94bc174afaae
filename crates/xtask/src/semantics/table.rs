//! The table of rules for people.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::outcome::{Ended, Outcome};
use super::rules::Rule;

/// An adapter with a mode.
type Column<'o> = (&'o str, &'o str);

/// A line for each rule that was run, a column for each adapter and mode, and below it why something failed or was not possible.
pub(super) fn of(rules: &[Rule], outcomes: &[Outcome]) -> String {
    let columns = columns(outcomes);
    let mut text = String::new();
    for head in [|column: &Column<'_>| column.0.to_owned(), |column: &Column<'_>| column.1.to_owned()] {
        line(&mut text, "", columns.iter().map(head), &columns);
    }
    for rule in rules {
        let own: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.rule == rule.number).collect();
        if rule.untested || !own.is_empty() {
            line(&mut text, &rule.number, columns.iter().map(|&column| cell(rule, &own, column)), &columns);
        }
    }
    text += "\nok: every test passed; part: as far as they are possible there; no: none is possible there\n";
    text += &reasons(outcomes);
    text + &totals(outcomes)
}

/// In the order in which they ran.
fn columns(outcomes: &[Outcome]) -> Vec<Column<'_>> {
    let mut known = BTreeSet::new();
    let all = outcomes.iter().map(|outcome| (outcome.adapter.as_str(), outcome.mode.as_str()));
    let mut columns: Vec<_> = all.filter(|column| known.insert(*column)).collect();
    let first = |adapter| outcomes.iter().position(|outcome| outcome.adapter == adapter);
    columns.sort_by_key(|column| first(column.0));
    columns
}

fn line(text: &mut String, head: &str, cells: impl Iterator<Item = String>, columns: &[Column<'_>]) {
    let mut row = format!("{head:4}");
    for (cell, (adapter, mode)) in cells.zip(columns) {
        let width = adapter.len().max(mode.len());
        let _ = write!(row, "  {cell:width$}");
    }
    text.push_str(row.trim_end());
    text.push('\n');
}

fn cell(rule: &Rule, outcomes: &[&Outcome], (adapter, mode): Column<'_>) -> String {
    let here = outcomes.iter().filter(|outcome| outcome.adapter == adapter && outcome.mode == mode);
    let ended: BTreeSet<Ended> = here.map(|outcome| outcome.result).collect();
    let has = |result| ended.contains(&result);
    match () {
        () if has(Ended::Fail) => "FAIL",
        () if has(Ended::Pass) && has(Ended::NotPossible) => "part",
        () if has(Ended::Pass) => "ok",
        () if has(Ended::NotPossible) => "no",
        () if rule.untested => "no test yet",
        () => "-",
    }
    .to_owned()
}

/// Why, with the tests and where; what has the same reason together.
fn reasons(outcomes: &[Outcome]) -> String {
    let mut grouped: BTreeMap<(Ended, &str, &str), BTreeSet<String>> = BTreeMap::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.result != Ended::Pass) {
        let Outcome { adapter, mode, result, test, reason, .. } = outcome;
        let place = if mode == "cpu" { adapter.clone() } else { format!("{adapter} {mode}") };
        grouped.entry((*result, reason.as_deref().unwrap_or(""), test)).or_default().insert(place);
    }
    let mut text = String::new();
    for ((result, reason, test), places) in grouped {
        let what = if result == Ended::Fail { "FAIL" } else { "not possible" };
        let colon = if reason.is_empty() { "" } else { ": " };
        let places = places.into_iter().collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "{what}  {test} on {places}{colon}{reason}");
    }
    text
}

fn totals(outcomes: &[Outcome]) -> String {
    let count = |result| outcomes.iter().filter(|outcome| outcome.result == result).count();
    let [passed, impossible, failed] = [Ended::Pass, Ended::NotPossible, Ended::Fail].map(count);
    format!("{passed} passed, {impossible} not possible, {failed} failed\n")
}

#[cfg(test)]
mod tests {
    use super::super::outcome::tests::outcome;
    use super::*;

    fn rule(number: &str, untested: bool) -> Rule {
        Rule { number: number.to_owned(), untested }
    }

    fn rows(table: &str) -> Vec<Vec<&str>> {
        table.lines().map(|line| line.split_whitespace().collect()).collect()
    }

    #[test]
    fn a_rule_has_a_cell_for_each_adapter() {
        let outcomes = [
            outcome("Q01", "lavapipe", Ended::Pass, None),
            outcome("Q01", "gl", Ended::NotPossible, Some("one thread")),
            outcome("Q02", "lavapipe", Ended::Pass, None),
            outcome("Q02", "lavapipe", Ended::NotPossible, Some("slow")),
            outcome("Q03", "gl", Ended::Pass, None),
            outcome("Q03", "gl", Ended::Fail, None),
        ];
        let rules = [rule("Q01", false), rule("Q02", false), rule("Q03", false)];
        let table = of(&rules, &outcomes);
        let rows = rows(&table);
        assert_eq!(rows[0], ["lavapipe", "gl"]);
        assert_eq!(rows[1], ["default", "default"]);
        assert_eq!(rows[2..5], [vec!["Q01", "ok", "no"], vec!["Q02", "part", "-"], vec!["Q03", "-", "FAIL"]]);
        assert!(table.contains("not possible  q01_it_holds on gl default: one thread\n"), "{table}");
        assert!(table.contains("FAIL  q03_it_holds on gl default\n"), "{table}");
        assert!(table.ends_with("3 passed, 2 not possible, 1 failed\n"), "{table}");
    }

    #[test]
    fn a_rule_that_nothing_proves_yet_says_so() {
        let outcomes = [outcome("Q01", "lavapipe", Ended::Pass, None)];
        let table = of(&[rule("Q01", false), rule("G01", true)], &outcomes);
        assert!(table.contains("G01   no test yet\n"), "{table}");
    }
}
