//! The rows of the tables.

use std::fmt;
use std::time::Duration;

use crate::{job::Variant, transfer::Direction};

/// One measurement of all implementations.
#[derive(Clone, Copy, Debug)]
pub enum Row {
    /// Host cost per launch for many launches and one flush, while `live` arrays exist that no launch uses.
    Launch {
        /// Dependencies between the launches.
        variant: Variant,
        /// Number of launches of a sample.
        launches: usize,
        /// Number of live arrays.
        live: usize,
    },
    /// The same launches again and again: at once, so that the host finds its own code and data in the caches, or each
    /// time after a pause, so that all threads sleep.
    Again {
        /// Dependencies between the launches.
        variant: Variant,
        /// Number of launches of a sample.
        launches: usize,
        /// Pause before each sample, if there is one.
        pause: Option<Duration>,
    },
    /// One launch and the wait for it.
    LaunchWait,
    /// A transfer and the wait for it.
    Transfer {
        /// Direction.
        direction: Direction,
        /// Number of bytes.
        bytes: usize,
    },
}

const MIB: usize = 1 << 20;
/// Pause that outlasts the spinning of the software drivers' threads, so that they sleep.
const PAUSE: Duration = Duration::from_millis(2);

impl Row {
    /// Returns every row, in the order of the report.
    pub fn all(quick: bool) -> Vec<Self> {
        let counts: &[usize] = if quick { &[1, 10, 100] } else { &[1, 10, 1000, 10_000] };
        let (several, many, large) = if quick { (100, 500, 8 * MIB) } else { (1000, 50_000, 64 * MIB) };
        let mut rows = Vec::new();
        for variant in [Variant::Independent, Variant::Chain] {
            rows.extend(counts.iter().map(|&launches| Self::Launch { variant, launches, live: 0 }));
        }
        rows.extend(Self::beside_live_arrays(several, many));
        for pause in [None, Some(PAUSE)] {
            let again = |variant| Self::Again { variant, launches: several, pause };
            rows.extend([Variant::Independent, Variant::Chain].map(again));
        }
        rows.push(Self::LaunchWait);
        for direction in [Direction::Read, Direction::Upload] {
            rows.extend([4, MIB, large].map(|bytes| Self::Transfer { direction, bytes }));
        }
        rows
    }

    /// Returns the same launches with few and with many live arrays.
    fn beside_live_arrays(several: usize, many: usize) -> impl Iterator<Item = Self> {
        let launch = |launches, live| Self::Launch { variant: Variant::Independent, launches, live };
        [10, many].into_iter().flat_map(move |live| [1, several].map(|launches| launch(launches, live)))
    }

    /// Counts the live arrays that this row does not use.
    pub fn live(&self) -> usize {
        if let Self::Launch { live, .. } = *self { live } else { 0 }
    }

    /// Counts the launches of a sample; 1 for a transfer.
    pub fn launches(&self) -> usize {
        match *self {
            Self::Launch { launches, .. } | Self::Again { launches, .. } => launches,
            Self::LaunchWait | Self::Transfer { .. } => 1,
        }
    }

    /// Counts the bytes that one transfer of this row moves.
    pub fn bytes(&self) -> usize {
        if let Self::Transfer { bytes, .. } = *self { bytes } else { 0 }
    }

    /// Counts the samples of each implementation. The number is odd, so that the median is a sample, and smaller for
    /// slow rows.
    pub fn rounds(&self, quick: bool) -> usize {
        match *self {
            _ if quick => 1,
            Self::Launch { launches, .. } if launches >= 10_000 => 11,
            Self::Launch { launches, .. } | Self::Again { launches, .. } if launches >= 1000 => 21,
            Self::Launch { live, .. } if live >= 10_000 => 101,
            Self::Transfer { bytes, .. } if bytes >= 64 * MIB => 21,
            _ => 501,
        }
    }

    /// Counts the rounds that run first and are not measured.
    pub fn warm_up(&self, quick: bool) -> usize {
        1 + self.rounds(quick) / 20
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Launch { launches, live, .. } if live > 0 => {
                write!(f, "launch {launches}, {} live arrays", with_commas(live))
            }
            Self::Launch { variant, launches, .. } => write!(f, "launch {} {launches}", name_of(variant)),
            Self::Again { variant, launches, pause } => {
                let kind = if pause.is_some() { "paused" } else { "again" };
                write!(f, "{kind} {} {launches}", name_of(variant))
            }
            Self::LaunchWait => write!(f, "launch+wait"),
            Self::Transfer { direction, bytes } => {
                let direction = if direction == Direction::Read { "readback" } else { "upload" };
                let (size, unit) = if bytes < MIB { (bytes, "B") } else { (bytes / MIB, "MiB") };
                write!(f, "{direction} {size} {unit}")
            }
        }
    }
}

fn name_of(variant: Variant) -> &'static str {
    if variant == Variant::Chain { "chain" } else { "independent" }
}

/// Formats a number with a comma after every three digits.
fn with_commas(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rows_with_live_arrays_have_their_number() {
        let names: Vec<_> = Row::beside_live_arrays(1000, 50_000).map(|row| row.to_string()).collect();
        assert_eq!((&*names[0], &*names[3]), ("launch 1, 10 live arrays", "launch 1000, 50,000 live arrays"));
        assert_eq!(with_commas(1_234_567), "1,234,567");
    }

    #[test]
    fn every_row_has_an_odd_number_of_rounds() {
        assert!(Row::all(false).iter().all(|row| row.rounds(false) % 2 == 1));
    }

    #[test]
    fn names_of_rows_differ() {
        let mut names: Vec<_> = Row::all(false).iter().map(Row::to_string).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
