//! The failures of a queue that a later call can still ask for.

use crate::error::Error;
use fencepost_sync::{Clock, Stamp};
use std::ops::RangeInclusive;
use std::sync::{Arc, Weak};

/// Number of newest failures that are kept even without a [`FailureWatch`], because a running call may ask for one of
/// them.
const NEWEST: usize = 16;

/// Watch that keeps the failures of one stretch of a queue available. A stretch is a run of commands that ends when the
/// program takes the queue's error. Every handle and every pending result of the stretch holds a clone. Once all clones
/// are dropped, the history may drop the failures.
pub(crate) type FailureWatch = Arc<()>;

/// Facts about a point that its handles carry.
#[derive(Clone, Default)]
pub(crate) struct PointHistory {
    /// Points of other queues that this point comes after.
    pub(crate) clock: Clock,
    /// Watch that keeps the failures of the work before the point.
    pub(crate) stretch: FailureWatch,
}

/// Failures of a queue, and of the earlier queues in its slot, that a call can still ask for.
///
/// A queue whose error is taken begins a new stretch, so that the earlier failures do not affect its later
/// commands.
#[derive(Default)]
pub(crate) struct FailureHistory {
    /// Failures by stamp, without overlaps.
    failed: Vec<FailedCommands>,
    /// Earlier stretches that a watch refers to, in ascending order.
    before: Vec<(RangeInclusive<Stamp>, Weak<()>)>,
    /// Watch of the current stretch.
    now: FailureWatch,
    /// First stamp of the current stretch. Every stretch of `before` ends before it.
    first: Stamp,
    /// Number of entries left by the last [`tidy`](Self::tidy).
    kept: usize,
}

/// A run of commands that failed with one error.
struct FailedCommands {
    stamps: RangeInclusive<Stamp>,
    error: Error,
    /// `true` until the program takes the error. A cancelled command's error is never sticky.
    sticky: bool,
}

impl FailureHistory {
    /// Returns `true` if the program has a handle or a pending result of the current stretch.
    pub(crate) fn is_watched(&self) -> bool {
        Arc::strong_count(&self.now) > 1
    }

    /// Returns a watch for the current stretch.
    pub(crate) fn stretch(&self) -> FailureWatch {
        self.now.clone()
    }

    /// Returns a watch for the stretch of an earlier command, or for the current stretch if the earlier one has no
    /// watch left.
    pub(crate) fn stretch_of(&self, stamp: Stamp) -> FailureWatch {
        let at = self.before.partition_point(|(stamps, _)| *stamps.end() < stamp);
        let held = self.before.get(at).and_then(|(_, stretch)| stretch.upgrade());
        held.unwrap_or_else(|| self.now.clone())
    }

    /// Begins a stretch at `first`. The failures so far do not affect its commands.
    pub(crate) fn begin(&mut self, first: Stamp) {
        let ended = std::mem::take(&mut self.now);
        let stamps = self.first..=Stamp(first.0.saturating_sub(1));
        if Arc::strong_count(&ended) > 1 && !stamps.is_empty() {
            self.before.push((stamps, Arc::downgrade(&ended)));
        }
        self.first = first;
        let earlier = self.before.last().is_none_or(|(stamps, _)| *stamps.end() < first);
        debug_assert!(earlier, "bug: a stretch begins inside an earlier one");
        drop(ended);
        self.tidy();
    }

    /// Begins a stretch at `first`, and notes that the program has taken the error of the current one.
    pub(crate) fn take(&mut self, first: Stamp) {
        let of_stretch = self.failed.partition_point(|failure| *failure.stamps.end() < self.first);
        self.failed[of_stretch..].iter_mut().for_each(|failure| failure.sticky = false);
        self.begin(first);
    }

    /// Notes that the program has taken the errors of the stretches before the current one, and with `all` those of that stretch
    /// too. The stretch goes on.
    pub(crate) fn take_earlier(&mut self, all: bool) {
        let first = self.first;
        let taken = self.failed.iter_mut().take_while(|failed| all || *failed.stamps.end() < first);
        taken.for_each(|failed| failed.sticky = false);
    }

    /// Records that commands have failed. A command that has failed before keeps its first error.
    pub(crate) fn fail(&mut self, stamps: RangeInclusive<Stamp>, error: &Error) {
        self.insert(stamps, error, true);
    }

    /// Records that the program has cancelled commands. A command that has failed before keeps its first error.
    pub(crate) fn cancel(&mut self, stamps: RangeInclusive<Stamp>, error: &Error) {
        self.insert(stamps, error, false);
    }

    fn insert(&mut self, stamps: RangeInclusive<Stamp>, error: &Error, sticky: bool) {
        let (mut first, last) = stamps.into_inner();
        let mut at = self.failed.partition_point(|known| *known.stamps.end() < first);
        while first <= last {
            let next = self.failed.get(at).map(|known| known.stamps.clone());
            let known = next.filter(|known| *known.start() <= last);
            let end = known.as_ref().map_or(last, |known| Stamp(known.start().0.saturating_sub(1)));
            if first <= end {
                self.failed.insert(at, FailedCommands { stamps: first..=end, error: error.clone(), sticky });
                at += 1;
            }
            let Some(known) = known else { break };
            (first, at) = (Stamp(known.end().0 + 1), at + 1);
        }
        self.tidy();
    }

    /// Extends the last failure up to `last`.
    pub(crate) fn extend_last(&mut self, last: Stamp) {
        if let Some(FailedCommands { stamps, .. }) = self.failed.last_mut() {
            *stamps = *stamps.start()..=last.max(*stamps.end());
        }
    }

    /// Returns the error of a command, if it has one.
    pub(crate) fn of(&self, stamp: Stamp) -> Option<&Error> {
        self.failure(stamp).map(|failure| &failure.error)
    }

    /// Returns the error of a command, if it has one that the program has not taken.
    #[inline]
    pub(crate) fn sticky(&self, stamp: Stamp) -> Option<&Error> {
        if self.failed.is_empty() {
            return None;
        }
        self.failure(stamp).filter(|failure| failure.sticky).map(|failure| &failure.error)
    }

    fn failure(&self, stamp: Stamp) -> Option<&FailedCommands> {
        let at = self.failed.partition_point(|failure| *failure.stamps.end() < stamp);
        self.failed.get(at).filter(|failure| failure.stamps.contains(&stamp))
    }

    /// Returns `true` if no failure is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.failed.is_empty()
    }

    /// Returns the number of failures and stretches that are kept.
    pub(crate) fn len(&self) -> usize {
        self.failed.len() + self.before.len()
    }

    /// Drops the failures that no watch refers to, but only once the entries have doubled, so that the cost per failure
    /// stays small.
    fn tidy(&mut self) {
        if self.len() <= 2 * self.kept + 2 * NEWEST {
            return;
        }
        self.before.retain(|(_, stretch)| stretch.strong_count() > 0);
        let (before, first, newest) = (&self.before, self.first, self.failed.len().saturating_sub(NEWEST));
        let mut at = 0;
        self.failed.retain(|FailedCommands { stamps, .. }| {
            at += 1;
            let next = before.partition_point(|(held, _)| held.end() < stamps.start());
            let held = before.get(next).is_some_and(|(held, _)| held.start() <= stamps.end());
            held || at > newest || *stamps.end() >= first
        });
        self.kept = self.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn error(name: &str) -> Error {
        Kind::Busy { array: name.into() }.into()
    }

    fn name(failures: &FailureHistory, stamp: u64) -> Option<String> {
        let error = failures.of(Stamp(stamp))?;
        let Kind::Busy { array } = error.kind() else { panic!("{error}") };
        Some(array.clone())
    }

    fn fail(failures: &mut FailureHistory, first: u64, last: u64, name: &str) {
        failures.fail(Stamp(first)..=Stamp(last), &error(name));
    }

    #[test]
    fn a_command_keeps_its_first_error() {
        let mut failures = FailureHistory::default();
        fail(&mut failures, 5, 6, "first");
        fail(&mut failures, 9, 9, "second");
        fail(&mut failures, 3, 12, "third");
        fail(&mut failures, 1, 20, "fourth");
        let names: Vec<_> = (1..=20).map(|stamp| name(&failures, stamp).expect("it has failed")).collect();
        let expected = [("fourth", 2), ("third", 2), ("first", 2), ("third", 2), ("second", 1), ("third", 3)];
        let expected: Vec<_> = expected.iter().flat_map(|&(name, count)| vec![name; count]).collect();
        assert_eq!(names[..12], expected);
        assert!(names[12..].iter().all(|name| name == "fourth") && name(&failures, 21).is_none());
    }

    /// Fails the last two commands of each round of ten, and keeps a watch for the rounds that `held` selects.
    fn rounds(count: u64, held: impl Fn(u64) -> bool) -> (FailureHistory, Vec<(u64, FailureWatch)>) {
        let (mut failures, mut rights) = (FailureHistory::default(), Vec::new());
        for round in 0..count {
            if held(round) {
                rights.push((round, failures.stretch()));
            }
            fail(&mut failures, 10 * round + 8, 10 * round + 9, &round.to_string());
            failures.begin(Stamp(10 * round + 10));
        }
        (failures, rights)
    }

    #[test]
    fn failures_with_a_watch_are_kept_exactly() {
        let (failures, rights) = rounds(1000, |round| round % 7 == 3);
        for (round, _) in &rights {
            assert_eq!(name(&failures, 10 * round + 7), None);
            assert_eq!(
                [8, 9].map(|at| name(&failures, 10 * round + at)),
                [Some(round.to_string()), Some(round.to_string())]
            );
        }
        assert!(failures.len() < 1000, "{}", failures.len());
    }

    #[test]
    fn failures_without_a_watch_are_dropped() {
        let [few, many] = [100, 10_000].map(|count| rounds(count, |_| false).0.len());
        assert!(few <= 2 * (2 * NEWEST) && many <= 2 * (2 * NEWEST), "{few} and {many}");
    }

    #[test]
    fn a_failure_across_two_stretches_is_kept_while_the_earlier_one_is_watched() {
        let mut failures = FailureHistory::default();
        let old = failures.stretch();
        failures.begin(Stamp(10));
        fail(&mut failures, 5, 15, "back");
        failures.begin(Stamp(20));
        for round in 2..1000 {
            fail(&mut failures, 10 * round + 8, 10 * round + 9, "later");
            failures.begin(Stamp(10 * round + 10));
        }
        assert_eq!(name(&failures, 7).as_deref(), Some("back"));
        drop(old);
    }

    #[test]
    fn an_error_is_sticky_until_it_is_taken() {
        let mut failures = FailureHistory::default();
        fail(&mut failures, 1, 2, "of a closed queue");
        failures.begin(Stamp(10));
        fail(&mut failures, 12, 14, "taken");
        failures.cancel(Stamp(16)..=Stamp(17), &error("cancelled"));
        let sticky =
            |failures: &FailureHistory| [2, 9, 13, 16].map(|at| failures.sticky(Stamp(at)).is_some());
        assert_eq!(sticky(&failures), [true, false, true, false]);
        failures.take(Stamp(20));
        assert_eq!(sticky(&failures), [true, false, false, false]);
        failures.take_earlier(false);
        assert_eq!(sticky(&failures), [false; 4]);
        fail(&mut failures, 21, 22, "now");
        failures.take_earlier(false);
        assert!(failures.sticky(Stamp(21)).is_some());
        failures.take_earlier(true);
        assert!(failures.sticky(Stamp(21)).is_none());
        assert!([2, 13, 16].iter().all(|&at| failures.of(Stamp(at)).is_some()));
    }

    #[test]
    fn the_watch_of_a_command_is_that_of_its_stretch() {
        let mut failures = FailureHistory::default();
        let first = failures.stretch();
        failures.begin(Stamp(10));
        let second = failures.stretch();
        failures.begin(Stamp(20));
        for (stamp, stretch) in [(1, &first), (9, &first), (10, &second), (20, &failures.stretch())] {
            assert!(Arc::ptr_eq(&failures.stretch_of(Stamp(stamp)), stretch), "{stamp}");
        }
    }
}
