//! The results of `bench` as a table with bars.

use super::measure::MEASUREMENTS;
use super::{Adapter, Report};
use crate::table::Columns;

/// Characters of the longest bar.
const BAR: usize = 30;

/// Returns the whole report: the adapters, and for each measurement a row for each adapter.
pub(super) fn text(report: &Report) -> String {
    let mut text = String::new();
    for (at, adapter) in report.adapters.iter().enumerate() {
        text += &format!("{at}: {}, recorder {}\n", adapter.adapter, adapter.recorder);
    }
    let mut table = Columns::with_heading(["median", "", "", "", ""]);
    for (at, measurement) in MEASUREMENTS.iter().enumerate() {
        let values: Vec<f64> = report.adapters.iter().filter_map(|adapter| value(adapter, at)).collect();
        let most = values.iter().copied().fold(0.0, f64::max);
        for (number, value) in values.iter().enumerate() {
            let name = if number == 0 { measurement.name } else { "" };
            table.row([name, &number.to_string(), &three(*value), measurement.unit, &bar(*value, most)]);
        }
    }
    table.right(2);
    text + "\n" + &table.text() + "\nFewer us and more GB/s are better.\n"
}

fn value(adapter: &Adapter, at: usize) -> Option<f64> {
    adapter.results.get(at).map(|measured| measured.median)
}

/// Writes a number with three digits, or with more if necessary.
fn three(value: f64) -> String {
    let after = match value {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.after$}")
}

/// Draws a bar that shows the share of `most`, with at least one character.
fn bar(value: f64, most: f64) -> String {
    "#".repeat(((value / most * BAR as f64).round() as usize).clamp(1, BAR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [0.1234, 1.234, 12.34, 123.4, 12340.0].map(three),
            ["0.123", "1.23", "12.3", "123", "12340"]
        );
    }

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!((bar(2.0, 2.0).len(), bar(1.0, 2.0).len(), bar(0.001, 2.0).len()), (30, 15, 1));
    }
}
