//! The table of rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::Absent;
use super::outcome::{Ended, Outcome};
use super::rules::{Rule, Standing};

/// An adapter and a mode.
type Column<'o> = (&'o str, &'o str);

/// Writes a line for each rule with a column for each adapter and mode, then the reasons of tests that failed or were
/// not possible. The line of a rule with a remark ends with the remark's word.
pub(super) fn of(rules: &[Rule], outcomes: &[Outcome], absent: &Absent) -> String {
    let columns = columns(outcomes);
    let mut text = String::new();
    for head in [|column: &Column<'_>| column.0.to_owned(), |column: &Column<'_>| column.1.to_owned()] {
        line(&mut text, "", columns.iter().map(head), &columns, "");
    }
    for rule in rules {
        let own = of_rule(rule, outcomes);
        let cells: Vec<_> = columns.iter().map(|&column| cell(&own, column).to_owned()).collect();
        let cells = if own.is_empty() { Vec::new() } else { cells };
        line(&mut text, &rule.number, cells.into_iter(), &columns, rule.standing.word().unwrap_or(""));
    }
    text += "\nok: every test passed; part: every test that is possible there passed; no: no test is possible there\n";
    text += "in part, broken, missing, no test yet: the remark on the rule in docs/semantics.md\n";
    text += &reasons(outcomes);
    for (rule, places) in absent {
        let _ = writeln!(text, "not proved  {rule}: no test passed at {}", places.join(", "));
    }
    text + &totals(rules, outcomes, absent)
}

fn of_rule<'o>(rule: &Rule, outcomes: &'o [Outcome]) -> Vec<&'o Outcome> {
    outcomes.iter().filter(|outcome| outcome.rule == rule.number).collect()
}

/// Returns the columns in the order in which they ran.
fn columns(outcomes: &[Outcome]) -> Vec<Column<'_>> {
    let mut known = BTreeSet::new();
    let all = outcomes.iter().map(|outcome| (outcome.adapter.as_str(), outcome.mode.as_str()));
    let mut columns: Vec<_> = all.filter(|column| known.insert(*column)).collect();
    let first = |adapter| outcomes.iter().position(|outcome| outcome.adapter == adapter);
    columns.sort_by_key(|column| first(column.0));
    columns
}

fn line(
    text: &mut String,
    head: &str,
    cells: impl Iterator<Item = String>,
    columns: &[Column<'_>],
    word: &str,
) {
    let mut row = format!("{head:4}");
    for (cell, (adapter, mode)) in cells.zip(columns) {
        let width = adapter.len().max(mode.len());
        let _ = write!(row, "  {cell:width$}");
    }
    let _ = write!(row, "  {word}");
    text.push_str(row.trim_end());
    text.push('\n');
}

fn cell(outcomes: &[&Outcome], (adapter, mode): Column<'_>) -> &'static str {
    let here = outcomes.iter().filter(|outcome| outcome.adapter == adapter && outcome.mode == mode);
    let ended: BTreeSet<Ended> = here.map(|outcome| outcome.result).collect();
    let has = |result| ended.contains(&result);
    match () {
        () if has(Ended::Fail) => "FAIL",
        () if has(Ended::Pass) && has(Ended::NotPossible) => "part",
        () if has(Ended::Pass) => "ok",
        () if has(Ended::NotPossible) => "no",
        () => "-",
    }
}

/// Writes the reasons with their tests and places; places with the same reason share a line.
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

/// Writes one line of totals: the rules by status, then the tests by result.
fn totals(rules: &[Rule], outcomes: &[Outcome], absent: &Absent) -> String {
    let stand = |rule: &Rule| stands(rule, &of_rule(rule, outcomes), absent);
    let of = |name: &str| rules.iter().filter(|rule| stand(rule) == name).count();
    let always = |name: &str| ["kept", "broken", "missing"].contains(&name);
    let counts =
        ["kept", "in part", "failing", "not run", "not everywhere", "broken", "missing", "without a test"];
    let counts = counts.iter().filter(|name| always(name) || of(name) > 0);
    let counts = counts.map(|name| format!("{} {name}", of(name))).collect::<Vec<_>>().join(", ");
    let count = |result| outcomes.iter().filter(|outcome| outcome.result == result).count();
    let [passed, impossible, failed] = [Ended::Pass, Ended::NotPossible, Ended::Fail].map(count);
    let all = if rules.len() == 1 { "1 rule".to_owned() } else { format!("{} rules", rules.len()) };
    format!("{all}: {counts}; {passed} passed, {impossible} not possible, {failed} failed\n")
}

/// Returns the status of a rule. A remark in the document takes precedence. A rule without a remark is kept if none of
/// its tests failed, and one passed at each place where the rule is promised.
fn stands(rule: &Rule, own: &[&Outcome], absent: &Absent) -> &'static str {
    let has = |result| own.iter().any(|outcome| outcome.result == result);
    match &rule.standing {
        Standing::Missing => "missing",
        Standing::NoTest => "without a test",
        Standing::Broken => "broken",
        _ if has(Ended::Fail) => "failing",
        _ if !has(Ended::Pass) => "not run",
        _ if absent.contains_key(&rule.number) => "not everywhere",
        Standing::InPart => "in part",
        Standing::Kept | Standing::Unknown(_) => "kept",
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::tests::outcome;
    use super::*;

    fn rule(number: &str, standing: Standing) -> Rule {
        Rule { number: number.to_owned(), standing }
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
        let rules = ["Q01", "Q02", "Q03"].map(|number| rule(number, Standing::Kept));
        let table = of(&rules, &outcomes, &Absent::new());
        let rows = rows(&table);
        assert_eq!(rows[0], ["lavapipe", "gl"]);
        assert_eq!(rows[1], ["default", "default"]);
        assert_eq!(rows[2..5], [vec!["Q01", "ok", "no"], vec!["Q02", "part", "-"], vec!["Q03", "-", "FAIL"]]);
        assert!(table.contains("not possible  q01_it_holds on gl default: one thread\n"), "{table}");
        assert!(table.contains("FAIL  q03_it_holds on gl default\n"), "{table}");
        let last = "3 rules: 2 kept, 1 failing, 0 broken, 0 missing; 3 passed, 2 not possible, 1 failed\n";
        assert!(table.ends_with(last), "{table}");
    }

    #[test]
    fn a_broken_rule_has_its_cells_and_a_missing_one_has_none() {
        let outcomes = ["E01", "T01"].map(|number| outcome(number, "lavapipe", Ended::Pass, None));
        let rules = [
            rule("E01", Standing::Broken),
            rule("T01", Standing::InPart),
            rule("G01", Standing::Missing),
            rule("K08", Standing::NoTest),
        ];
        let table = of(&rules, &outcomes, &Absent::new());
        assert!(
            of(&rules[..1], &outcomes[..1], &Absent::new())
                .contains("\n1 rule: 0 kept, 1 broken, 0 missing; 1 passed")
        );
        assert!(table.contains("E01   ok        broken\n"), "{table}");
        assert!(table.contains("T01   ok        in part\n"), "{table}");
        assert!(table.contains("\nG01   missing\n"), "{table}");
        assert!(table.contains("\nK08   no test yet\n"), "{table}");
        let last = "4 rules: 0 kept, 1 in part, 1 broken, 1 missing, 1 without a test; 2 passed, 0 not possible, 0 failed\n";
        assert!(table.ends_with(last), "{table}");
    }

    #[test]
    fn a_rule_that_is_broken_or_was_not_run_is_not_counted_as_kept() {
        let passed = outcome("E01", "lavapipe", Ended::Pass, None);
        let impossible = outcome("Q02", "lavapipe", Ended::NotPossible, None);
        assert_eq!(stands(&rule("E01", Standing::Broken), &[&passed], &Absent::new()), "broken");
        assert_eq!(stands(&rule("Q01", Standing::Kept), &[], &Absent::new()), "not run");
        assert_eq!(stands(&rule("Q02", Standing::Kept), &[&impossible], &Absent::new()), "not run");
        assert_eq!(stands(&rule("Q02", Standing::Kept), &[&impossible, &passed], &Absent::new()), "kept");
        let absent = Absent::from([("Q02".to_owned(), vec!["gl"])]);
        assert_eq!(stands(&rule("Q02", Standing::Kept), &[&impossible, &passed], &absent), "not everywhere");
        assert!(
            of(&[rule("Q02", Standing::Kept)], &[passed], &absent)
                .contains("not proved  Q02: no test passed at gl")
        );
    }

    #[test]
    fn a_rule_with_a_failed_test_is_not_counted_as_kept() {
        let ended = [Ended::Pass, Ended::Fail].map(|result| outcome("Q01", "lavapipe", result, None));
        let own: Vec<_> = ended.iter().collect();
        assert_eq!(stands(&rule("Q01", Standing::Kept), &own, &Absent::new()), "failing");
        assert_eq!(stands(&rule("Q01", Standing::InPart), &own, &Absent::new()), "failing");
    }
}
