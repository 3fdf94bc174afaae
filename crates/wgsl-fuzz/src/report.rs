//! The counts of the answers of a campaign, by engine.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::engine::{Answer, Given};

/// Counts of the programs of each engine.
#[derive(Clone, Debug, Default)]
pub struct Report {
    engines: Vec<Counts>,
}

/// Counts of the programs of one engine.
#[derive(Clone, Debug, Default)]
struct Counts {
    engine: String,
    took: Duration,
    ran: u64,
    failed: u64,
    /// Number of refused programs by reason. Numbers are stripped from the reasons.
    refused: BTreeMap<String, u64>,
}

impl Report {
    /// Counts an answer.
    pub(crate) fn count(&mut self, given: &Given) {
        let at = self.engines.iter().position(|counts| counts.engine == given.engine);
        let at = at.unwrap_or_else(|| {
            self.engines.push(Counts { engine: given.engine.clone(), ..Counts::default() });
            self.engines.len() - 1
        });
        let counts = &mut self.engines[at];
        counts.took += given.took;
        match &given.answer {
            Answer::Results(_) => counts.ran += 1,
            Answer::Failed(_) => counts.failed += 1,
            Answer::Refused(reason) => *counts.refused.entry(without_numbers(reason)).or_default() += 1,
        }
    }

    /// Counts the programs that an engine ran.
    pub fn ran(&self, engine: &str) -> u64 {
        self.engines.iter().find(|counts| counts.engine == engine).map_or(0, |counts| counts.ran)
    }

    /// Counts the programs that an engine refused for a reason.
    pub fn refused(&self, engine: &str, reason: &str) -> u64 {
        let counts = self.engines.iter().find(|counts| counts.engine == engine);
        counts.and_then(|counts| counts.refused.get(&without_numbers(reason))).copied().unwrap_or(0)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.engines.iter().map(|counts| counts.engine.len()).max().unwrap_or(0);
        writeln!(f, "{:width$} {:>9} {:>9} {:>7} {:>9}", "engine", "ran", "refused", "failed", "seconds")?;
        for Counts { engine, took, ran, failed, refused } in &self.engines {
            let all: u64 = refused.values().sum();
            let seconds = took.as_secs_f64();
            writeln!(f, "{engine:width$} {ran:>9} {all:>9} {failed:>7} {seconds:>9.1}")?;
            let mut reasons: Vec<(&String, &u64)> = refused.iter().collect();
            reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            for (reason, count) in reasons {
                writeln!(f, "{:width$} {:>9} {count:>9}  {reason}", "", "")?;
            }
        }
        Ok(())
    }
}

/// Replaces each number by `#`, so that the same reason for different expressions counts as one.
fn without_numbers(reason: &str) -> String {
    let mut text = String::new();
    for letter in reason.chars() {
        match letter {
            '0'..='9' if text.ends_with('#') => {}
            '0'..='9' => text.push('#'),
            letter => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_of_each_engine_are_counted_and_refusals_by_their_reason() {
        let mut report = Report::default();
        let answers = [
            Answer::Results(Vec::new()),
            Answer::Refused("the pointer [12]".into()),
            Answer::Refused("the pointer [7]".into()),
            Answer::Refused("switch".into()),
            Answer::Failed("lost".into()),
        ];
        for answer in answers {
            report.count(&Given {
                engine: "a".into(),
                is_exact: true,
                answer,
                took: Duration::from_millis(500),
            });
        }
        assert_eq!((report.ran("a"), report.refused("a", "the pointer [3]"), report.ran("b")), (1, 2, 0));
        let text = report.to_string();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["a", "1", "3", "1", "2.5"]);
        assert_eq!(lines[2], ["2", "the", "pointer", "[#]"]);
        assert_eq!(lines[3], ["1", "switch"]);
    }
}
