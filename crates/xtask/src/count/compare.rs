//! Compares counts with the stored ones.

use crate::count::KEPT;
use crate::count::counts::Counts;

/// Largest increase over a stored count that still passes.
const TOLERANCE: f64 = 0.05;

/// Counts that differ from the stored ones.
pub(super) struct Comparison {
    origins: Option<String>,
    // Counts in the next two lists fail a check.
    more: Vec<String>,
    gone: Vec<String>,
    // Counts in the next two lists do not.
    fewer: Vec<String>,
    new: Vec<String>,
}

impl Comparison {
    pub(super) fn of(counted: &Counts, kept: &Counts) -> Self {
        let mut all = Self { origins: None, more: vec![], gone: vec![], fewer: vec![], new: vec![] };
        all.origins = origins(counted, kept);
        for (contestant, row, before) in each(kept) {
            match counted.per_launch.get(contestant).and_then(|rows| rows.get(row)) {
                Some(&found) => all.add(contestant, row, found, before),
                None => all.gone.push(format!("{contestant}, {row}: kept {before}, not counted any more")),
            }
        }
        let is_new = |contestant: &str, row: &str| {
            !kept.per_launch.get(contestant).is_some_and(|rows| rows.contains_key(row))
        };
        let new = each(counted).filter(|(contestant, row, _)| is_new(contestant, row));
        all.new = new.map(|(contestant, row, found)| format!("{contestant}, {row}: {found}, new")).collect();
        all
    }

    fn add(&mut self, contestant: &str, row: &str, found: f64, before: f64) {
        let ratio = found / before;
        let text = format!("{contestant}, {row}: found {found}, kept {before}, ratio {ratio:.3}");
        if ratio > 1.0 + TOLERANCE {
            self.more.push(text);
        } else if ratio < 1.0 - TOLERANCE {
            self.fewer.push(text);
        }
    }

    /// Returns the differences that do not fail a check.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> =
            self.origins.iter().chain(&self.fewer).chain(&self.new).cloned().collect();
        if !self.fewer.is_empty() || !self.new.is_empty() {
            notes.push(format!("`cargo xtask count --write` keeps these in {KEPT}"));
        }
        notes
    }

    /// Returns why a check fails, with the number of counts first; `None` if it passes.
    pub(super) fn failure(&self) -> Option<String> {
        let lines: Vec<_> = self.more.iter().chain(&self.gone).cloned().collect();
        let percent = TOLERANCE * 100.0;
        let head = format!(
            "{} counts are gone or more than {percent} % over those of {KEPT}{}",
            lines.len(),
            self.origins.iter().map(|origins| format!(" ({origins})")).collect::<String>(),
        );
        (!lines.is_empty()).then(|| [vec![head], lines].concat().join("\n  "))
    }
}

/// Returns every count with its contestant and its row.
fn each(counts: &Counts) -> impl Iterator<Item = (&str, &str, f64)> {
    let rows = counts.per_launch.iter();
    rows.flat_map(|(name, rows)| rows.iter().map(move |(row, &count)| (name.as_str(), row.as_str(), count)))
}

/// Returns a note if the counts come from different compilers.
fn origins(counted: &Counts, kept: &Counts) -> Option<String> {
    let text = |counts: &Counts| format!("rustc {} for {}", counts.origin.rustc, counts.origin.target);
    let now = text(counted);
    let before = text(kept);
    (now != before).then(|| format!("kept with {before}, counted with {now}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::counts::tests::counts;

    fn compared(found: f64, kept: f64) -> Comparison {
        Comparison::of(&counts(&[("launch 1", found)]), &counts(&[("launch 1", kept)]))
    }

    #[test]
    fn an_increase_of_more_than_five_percent_fails_with_row_counts_and_ratio() {
        let failure = compared(1051.0, 1000.0).failure().expect("5.1 % more");
        let line = "\n  expert, launch 1: found 1051, kept 1000, ratio 1.051";
        assert!(failure.starts_with("1 counts ") && failure.ends_with(line), "{failure}");
    }

    #[test]
    fn an_increase_of_up_to_five_percent_passes() {
        assert!(compared(1049.0, 1000.0).failure().is_none());
        assert!(compared(1049.0, 1000.0).notes().is_empty());
    }

    #[test]
    fn fewer_instructions_pass_with_a_note_to_store_them() {
        let fewer = compared(900.0, 1000.0);
        assert!(fewer.failure().is_none());
        assert!(fewer.notes()[0].ends_with("ratio 0.900") && fewer.notes()[1].contains("--write"));
    }

    #[test]
    fn a_missing_row_fails_and_a_new_row_does_not() {
        let one = counts(&[("launch 1", 1.0)]);
        let two = counts(&[("launch 1", 1.0), ("launch 2", 1.0)]);
        assert!(Comparison::of(&one, &two).failure().is_some_and(|failure| failure.contains("launch 2")));
        let grown = Comparison::of(&two, &one);
        assert!(grown.failure().is_none() && grown.notes()[0].contains("launch 2"));
    }

    #[test]
    fn counts_of_another_compiler_are_compared_with_a_note() {
        let mut new = counts(&[("launch 1", 2.0)]);
        let old = counts(&[("launch 1", 1.0)]);
        new.origin.rustc = "2.0.0".to_owned();
        let failure = Comparison::of(&new, &old).failure().expect("twice as many");
        assert!(failure.contains("kept with rustc 1.0.0 for here, counted with rustc 2.0.0"), "{failure}");
        new.per_launch = old.per_launch.clone();
        assert!(Comparison::of(&new, &old).notes()[0].contains("rustc 2.0.0"));
    }
}
