//! The table of faults.

use std::fmt::Write;
use std::time::Duration;

use super::faults::Placed;
use super::outcome::{Outcome, Verdict};

/// Lists the faults, with the promise that each breaks.
pub(super) fn list(faults: &[&Placed]) -> String {
    let rows =
        faults.iter().map(|placed| [placed.fault.name.clone(), placed.place(), placed.fault.breaks.clone()]);
    aligned(["fault", "place", "breaks"].map(str::to_owned), rows.collect())
}

/// Writes a line for each fault with the test that detected it, then the faults that no test detected, and the totals.
pub(super) fn of(outcomes: &[Outcome], after: Duration) -> String {
    let rows = outcomes.iter().map(|outcome| [outcome.fault.clone(), outcome.place.clone(), result(outcome)]);
    let mut text = aligned(["fault", "place", "killed by"].map(str::to_owned), rows.collect());
    text.push('\n');
    for outcome in outcomes {
        let why = match outcome.result {
            Verdict::Survived => format!("SURVIVED  {}: {}", outcome.fault, outcome.breaks),
            Verdict::Explained => {
                format!("explained  {}: {}", outcome.fault, outcome.explained.as_deref().unwrap_or_default())
            }
            Verdict::Killed | Verdict::DoesNotBuild => continue,
        };
        let _ = writeln!(text, "{why}");
    }
    text + &totals(outcomes, after)
}

fn result(outcome: &Outcome) -> String {
    match outcome.result {
        Verdict::Killed => outcome.killed_by.clone().unwrap_or_default(),
        Verdict::Explained => "- (explained)".to_owned(),
        Verdict::Survived => "- SURVIVED".to_owned(),
        Verdict::DoesNotBuild => "- does not build".to_owned(),
    }
}

fn aligned(heads: [String; 3], rows: Vec<[String; 3]>) -> String {
    let rows: Vec<[String; 3]> = std::iter::once(heads).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [first, second] = [width(0), width(1)];
    let line = |[name, place, last]: &[String; 3]| format!("{name:first$}  {place:second$}  {last}\n");
    rows.iter().map(line).collect()
}

fn totals(outcomes: &[Outcome], after: Duration) -> String {
    let count = |result| outcomes.iter().filter(|outcome| outcome.result == result).count();
    let [killed, explained, survived, broken] =
        [Verdict::Killed, Verdict::Explained, Verdict::Survived, Verdict::DoesNotBuild].map(count);
    let all = outcomes.len();
    let seconds = after.as_secs();
    format!(
        "{all} faults in {seconds} s: {killed} killed, {explained} explained, {survived} survived, {broken} do not build\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(fault: &str, result: Verdict) -> Outcome {
        Outcome {
            fault: fault.into(),
            place: "a.rs:3".into(),
            breaks: "an order".into(),
            result,
            killed_by: Some("core: it_holds".into()),
            explained: Some("it only costs time".into()),
            seconds: 0.5,
        }
    }

    #[test]
    fn the_table_has_a_line_for_each_fault_with_the_test_that_detected_it() {
        let outcomes = [
            outcome("seen", Verdict::Killed),
            outcome("slow", Verdict::Explained),
            outcome("unseen", Verdict::Survived),
        ];
        let table = of(&outcomes, Duration::from_secs(9));
        assert!(table.contains("seen    a.rs:3  core: it_holds\n"), "{table}");
        assert!(table.contains("explained  slow: it only costs time\n"), "{table}");
        assert!(table.contains("SURVIVED  unseen: an order\n"), "{table}");
        let last = "3 faults in 9 s: 1 killed, 1 explained, 1 survived, 0 do not build\n";
        assert!(table.ends_with(last), "{table}");
        assert!(!outcomes[2].is_fine() && outcomes[1].is_fine() && outcomes[0].is_fine());
    }
}
