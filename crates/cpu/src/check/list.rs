//! The findings of a launch; each mistake is listed once.

use super::finding::{Finding, Mistake};
use super::names::{Names, Raw};
use super::operands::Kind;
use rustc_hash::FxHashMap;

/// Identity of a mistake: findings with the same key are the same mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A race between two lines on one variable.
    Race { between: bool, lines: [u32; 2], variable: usize },
    /// A read at an instruction of one variable.
    Unwritten { site: u32, variable: usize },
    /// An index at an instruction.
    Index { site: u32 },
    /// Wrong operands at an instruction.
    Operands { site: u32, kind: Kind },
    /// A new NaN at an instruction.
    Nan { site: u32 },
    /// A barrier that not all invocations reach.
    Barrier,
}

/// Sort key of the occurrences of a mistake; the smallest one is shown.
pub(super) type Order = [u64; 6];

struct Entry {
    count: u64,
    order: Order,
    mistake: Mistake,
}

impl Entry {
    /// Returns the file, the line and the column of the mistake.
    fn place(&self) -> Option<(&str, usize, usize)> {
        let place = self.mistake.step().place.as_ref();
        place.map(|place| (&place.label[..], place.line, place.column))
    }
}

/// List of findings, independent of the order in which mistakes are added.
#[derive(Default)]
pub(super) struct List {
    entries: FxHashMap<Key, Entry>,
    /// Line number index of each instruction.
    lines: FxHashMap<u32, u32>,
    /// Index of each line, by file and line number.
    numbers: FxHashMap<(String, usize), u32>,
}

impl List {
    /// Adds a mistake.
    pub(super) fn add(&mut self, key: Key, order: Order, mistake: impl FnOnce() -> Mistake) {
        self.add_times(key, order, 1, mistake);
    }

    /// Adds a mistake that occurs several times.
    fn add_times(&mut self, key: Key, order: Order, times: u64, mistake: impl FnOnce() -> Mistake) {
        match self.entries.get_mut(&key) {
            None => {
                self.entries.insert(key, Entry { count: times, order, mistake: mistake() });
            }
            Some(entry) => {
                entry.count += times;
                if order < entry.order {
                    entry.order = order;
                    entry.mistake = mistake();
                }
            }
        }
    }

    /// Adds a race on several words, described at the lowest of them.
    pub(super) fn add_race(
        &mut self,
        names: &Names<'_>,
        between: bool,
        (region, byte): (u16, u64),
        accesses: [Raw; 2],
        words: u64,
    ) {
        let mut lines = accesses.map(|raw| self.line(names, raw.site));
        lines.sort_unstable();
        let variable = names.variable(region, byte).map_or(usize::MAX, |(variable, _)| variable.index());
        let [one, other] = accesses;
        // Among races on the same lines, one between two writes is shown first.
        let reads = u64::from(one.kind.reads()) + u64::from(other.kind.reads());
        let sites = u64::from(one.site) << 32 | u64::from(other.site);
        let order = [u64::from(region), byte, reads, sites, one.actor, other.actor];
        self.add_times(Key::Race { between, lines, variable }, order, words, || {
            let race = names.race(region, byte, one, other);
            if between { Mistake::RaceBetweenWorkgroups(race) } else { Mistake::RaceInWorkgroup(race) }
        });
    }

    /// Returns the number of the line of an instruction.
    fn line(&mut self, names: &Names<'_>, site: u32) -> u32 {
        if let Some(&line) = self.lines.get(&site) {
            return line;
        }
        let place = names.place(site);
        let key = place.map_or_else(|| (String::new(), site as usize), |place| (place.label, place.line));
        let next = self.numbers.len() as u32;
        let line = *self.numbers.entry(key).or_insert(next);
        self.lines.insert(site, line);
        line
    }

    /// Returns the findings, in the order of their places.
    pub(super) fn finish(self, kernel: &str, most: usize) -> Vec<Finding> {
        let mut entries: Vec<Entry> = self.entries.into_values().collect();
        // A launch with many races has many entries. Text is made only for the entries that come first.
        if most > 0 && most < entries.len() {
            let by_place = |one: &Entry, other: &Entry| one.place().cmp(&other.place());
            let (first, last, rest) = entries.select_nth_unstable_by(most - 1, by_place);
            let after: Vec<usize> = (0..rest.len()).filter(|&at| rest[at].place() == last.place()).collect();
            let kept = first.len() + 1 + after.len();
            after.iter().enumerate().for_each(|(to, &from)| rest.swap(to, from));
            entries.truncate(kept);
        }
        let finding = |Entry { count, mistake, .. }: Entry| Finding {
            kernel: kernel.into(),
            mistake,
            count,
            launch: None,
        };
        let mut findings: Vec<Finding> = entries.into_iter().map(finding).collect();
        findings.sort_by_cached_key(|finding| {
            let place = finding.place();
            let at = place.map(|place| (place.label.clone(), place.line, place.column));
            (at, finding.mistake.to_string())
        });
        findings.truncate(most);
        findings
    }
}
