//! The table of counts.

use std::collections::BTreeSet;

use crate::count::counts::Counts;

/// Writes a line for each row, with two columns for each contestant: instructions per launch, and their ratio to the
/// stored ones.
pub(super) fn of(counted: &Counts, kept: Option<&Counts>) -> String {
    let names: BTreeSet<&String> = counted.per_launch.values().flat_map(|rows| rows.keys()).collect();
    let width = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let heads: String = counted.per_launch.keys().map(|name| format!("  {name:>16}  x kept")).collect();
    let lines = names.into_iter().map(|row| {
        let cells = counted.per_launch.keys().map(|name| cell(counted, kept, name, row));
        format!("{row:width$}{}\n", cells.collect::<String>())
    });
    let head = "instructions per launch";
    format!("{head:width$}{heads}\n{}", lines.collect::<String>())
}

fn cell(counted: &Counts, kept: Option<&Counts>, contestant: &str, row: &str) -> String {
    let count = |counts: &Counts| counts.per_launch.get(contestant)?.get(row).copied();
    let found = count(counted);
    let ratio = found.zip(kept.and_then(count)).map(|(found, kept)| format!("{:.3}", found / kept));
    let [found, ratio] =
        [found.map(|found| format!("{found:.1}")), ratio].map(|cell| cell.unwrap_or("-".into()));
    format!("  {found:>16}  {ratio:>6}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::counts::tests::counts;

    #[test]
    fn the_table_has_each_count_and_its_ratio_to_the_stored_one() {
        let found = counts(&[("launch 1", 30.0), ("launch 2", 1.0)]);
        let kept = counts(&[("launch 1", 20.0)]);
        let table = of(&found, Some(&kept));
        let cells: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(cells[1], ["launch", "1", "30.0", "1.500"]);
        assert_eq!(cells[2], ["launch", "2", "1.0", "-"]);
    }
}
