//! How long commands take on the device of a lane, as far as it was seen.
//!
//! A batch completes as one, so what is planned into it is decided by how late that makes the results before its end.
//! The time of one command is not known; the time of a batch is. A kernel is known by its name, its grid, the bytes that it
//! is bound to and its values: what differs in none of them is expected to take as long as before.

use crate::command::{Launch, Step, Work};
use crate::lane::Pace;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;
use std::time::Duration;

/// Seconds in which a difference between what was expected and what was seen tells nothing.
const NOISE: f32 = 1e-4;
/// Commands that are told apart; then all is forgotten and learned again.
const MOST: usize = 4096;
/// A kernel that was seen with so many different values is expected to take, with others, as long as it ever did.
const ALIKE: u32 = 8;

/// What a transfer takes until one of its size was seen: seconds, and seconds a byte.
const TRANSFER: (f32, f32) = (2e-5, 1e-9);

/// Seconds of commands on one lane.
pub(super) struct Costs {
    source: Source,
    /// Seconds by which a batch may be longer than its first command: so late is a result whose batch goes on behind it.
    pub(super) bound: f32,
    /// Of commands that are the same in everything.
    exact: FxHashMap<u64, f32>,
    /// Of launches that differ in nothing but their values.
    alike: FxHashMap<u64, Alike>,
}

/// Where the numbers come from.
enum Source {
    Measured,
    /// A device that does nothing: what was seen once takes no time, whatever the clock shows.
    Instant,
    /// From a seed: now and then a command takes long, the same ones in each run.
    Drawn(fastrand::Rng),
    /// Every command takes no time.
    Nothing,
}

/// Launches of one kernel and grid, with different values.
#[derive(Default)]
struct Alike {
    seen: u32,
    longest: f32,
}

/// What a command is known by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    exact: u64,
    /// Without its values, if it has any.
    alike: Option<u64>,
}

/// What the planner expects of a batch.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Expected {
    pub(crate) seconds: f32,
    /// Whether it has a command that was never seen.
    pub(crate) unknown: bool,
}

impl Expected {
    /// Of two batches, one after the other.
    pub(super) fn and(self, next: Self) -> Self {
        Self { seconds: self.seconds + next.seconds, unknown: self.unknown || next.unknown }
    }
}

impl Default for Costs {
    fn default() -> Self {
        Self::new(Pace::Unknown)
    }
}

impl Costs {
    pub(super) fn new(pace: Pace) -> Self {
        let (source, bound) = match pace {
            Pace::Measured(bound) => (Source::Measured, bound),
            Pace::Instant => (Source::Instant, Pace::LATENESS),
            Pace::Drawn(seed) => (Source::Drawn(fastrand::Rng::with_seed(seed)), Pace::LATENESS),
            Pace::Unknown => (Source::Nothing, Duration::MAX),
        };
        let (bound, exact, alike) = (bound.as_secs_f32(), FxHashMap::default(), FxHashMap::default());
        Self { source, bound, exact, alike }
    }

    /// The seconds that a command is expected to take; infinite if nothing like it was seen.
    pub(super) fn of_work(&mut self, work: &Work) -> f32 {
        match work {
            Work::Launch(launch) => self.of_launch(launch),
            Work::Publish(_) | Work::Start(_) | Work::End(_) | Work::Behind | Work::Nothing => 0.0,
            _ => self.look_up(|| key(work), || transfer(work)),
        }
    }

    #[inline]
    pub(super) fn of_launch(&mut self, launch: &Launch) -> f32 {
        self.look_up(|| key_of_launch(launch), || f32::INFINITY)
    }

    #[inline]
    fn look_up(&mut self, key: impl FnOnce() -> Key, unseen: impl FnOnce() -> f32) -> f32 {
        match &mut self.source {
            Source::Nothing => 0.0,
            Source::Drawn(rng) => [0.0, 0.0, self.bound / 2.0, f32::INFINITY][rng.usize(..4)],
            Source::Measured | Source::Instant => self.known(key()).unwrap_or_else(unseen),
        }
    }

    fn known(&self, key: Key) -> Option<f32> {
        let exact = self.exact.get(&key.exact).copied();
        exact.or_else(|| {
            let alike = self.alike.get(&key.alike?)?;
            (alike.seen >= ALIKE).then_some(alike.longest)
        })
    }

    /// Learns from batches that took `took` seconds together. Of a command that was never seen, each took no longer than
    /// all of its kind; what was seen before is corrected all in the same proportion, as one clock cannot tell them apart.
    pub(super) fn learn<'s>(&mut self, steps: impl Iterator<Item = &'s Step>, expected: Expected, took: f32) {
        let took = match self.source {
            Source::Measured => took,
            Source::Instant => 0.0,
            Source::Drawn(_) | Source::Nothing => return,
        };
        if !expected.unknown && !is_off(expected.seconds, took) {
            return;
        }
        let mut counts: FxHashMap<Key, u32> = FxHashMap::default();
        steps.filter_map(|step| counted(&step.work)).for_each(|key| *counts.entry(key).or_default() += 1);
        let scale = if expected.unknown { 1.0 } else { took / expected.seconds.max(f32::MIN_POSITIVE) };
        for (key, count) in counts {
            let most = took / count as f32;
            let seconds = self.known(key).map_or(most, |known| (known * scale).min(most));
            self.note(key, seconds);
        }
    }

    fn note(&mut self, key: Key, seconds: f32) {
        if self.exact.len() >= MOST {
            self.exact.clear();
        }
        if self.alike.len() >= MOST {
            self.alike.clear();
        }
        let known = self.exact.contains_key(&key.exact);
        if let Some(alike) = key.alike {
            let alike = self.alike.entry(alike).or_default();
            if alike.seen >= ALIKE && !known {
                alike.longest = seconds;
                return; // its values tell nothing more
            }
            alike.seen += u32::from(!known);
            alike.longest = alike.longest.max(seconds);
        }
        self.exact.insert(key.exact, seconds);
    }
}

/// Whether a batch took so much more or less time than expected that it is worth learning from.
fn is_off(expected: f32, took: f32) -> bool {
    took > 2.0 * expected + NOISE || expected > 2.0 * took + NOISE
}

/// What a step is known by, unless it takes no time.
fn counted(work: &Work) -> Option<Key> {
    match work {
        Work::Launch(launch) => Some(key_of_launch(launch)),
        Work::Publish(_) | Work::Start(_) | Work::End(_) | Work::Behind | Work::Nothing => None,
        _ => Some(key(work)),
    }
}

/// A transfer is known by what it does and by its size, as a power of two.
fn key(work: &Work) -> Key {
    let kind = match work {
        Work::Copy { .. } => 1,
        Work::Fill { .. } => 2,
        Work::Upload { .. } => 3,
        Work::Read { .. } => 4,
        Work::Region(_) => 5,
        _ => 6,
    };
    let size = work.bytes().unwrap_or(0).checked_ilog2().map_or(0, |log| log + 1);
    Key { exact: kind << 8 | u64::from(size), alike: None }
}

fn transfer(work: &Work) -> f32 {
    TRANSFER.0 + TRANSFER.1 * work.bytes().unwrap_or(0) as f32
}

#[inline]
fn key_of_launch(launch: &Launch) -> Key {
    let mut hasher = FxHasher::default();
    hasher.write_u32(launch.kernel_number());
    launch.groups.iter().for_each(|&groups| hasher.write_u32(groups));
    hasher.write_u8(u8::from(launch.indirect.is_some()));
    launch.bindings.iter().for_each(|bound| hasher.write_u64(bound.size));
    let alike = hasher.finish();
    let values = launch.params.bytes();
    if values.is_empty() {
        return Key { exact: alike, alike: None };
    }
    hasher.write(values);
    Key { exact: hasher.finish(), alike: Some(alike) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::SmallVec;

    impl Costs {
        /// Has a command take so many seconds.
        pub(in crate::scheduler) fn expect(&mut self, work: &Work, seconds: f32) {
            self.note(counted(work).expect("it takes time"), seconds);
        }
    }

    /// A launch of so many workgroups, with a value.
    fn launch(groups: u32, value: Option<u32>) -> Work {
        let mut launch = Launch::default();
        launch.groups = [groups, 1, 1];
        if let Some(value) = value {
            launch.params = fencepost_kernels::ParamsBlock::with_size(4);
            launch.params.set(fencepost_kernels::Slot::Value { offset: 0, size: 4 }, &value.to_ne_bytes());
        }
        Work::Launch(Box::new(launch))
    }

    fn steps(works: impl IntoIterator<Item = Work>) -> Vec<Step> {
        let (slot, stamp, after) = (fencepost_sync::Slot(1), fencepost_sync::Stamp(1), SmallVec::new());
        works.into_iter().map(|work| Step { slot, stamp, level: 0, after: after.clone(), work }).collect()
    }

    fn measured() -> Costs {
        Costs::new(Pace::Measured(Pace::LATENESS))
    }

    const UNKNOWN: Expected = Expected { seconds: 0.0, unknown: true };

    fn known(seconds: f32) -> Expected {
        Expected { seconds, unknown: false }
    }

    #[test]
    fn what_was_never_seen_takes_for_ever_and_then_its_share_of_its_batch() {
        let mut costs = measured();
        assert_eq!(costs.of_work(&launch(1, None)), f32::INFINITY);
        costs.learn(steps((0..10).map(|_| launch(1, None))).iter(), UNKNOWN, 0.5);
        assert!((costs.of_work(&launch(1, None)) - 0.05).abs() < 1e-6);
        assert_eq!(costs.of_work(&launch(2, None)), f32::INFINITY, "another grid");
    }

    #[test]
    fn what_takes_otherwise_than_expected_is_corrected_up_and_down() {
        let mut costs = measured();
        let batch = steps((0..10).map(|_| launch(1, None)));
        costs.learn(batch.iter(), UNKNOWN, 0.01);
        for (expected, took) in [(0.01, 0.5), (0.5, 0.02)] {
            costs.learn(batch.iter(), known(expected), took);
            let seconds = costs.of_work(&launch(1, None));
            assert!((seconds - took / 10.0).abs() < 1e-5, "{seconds} s of {took} s");
        }
        costs.learn(batch.iter(), known(0.02), 0.03);
        assert!((costs.of_work(&launch(1, None)) - 0.002).abs() < 1e-5, "so little off teaches nothing");
    }

    #[test]
    fn a_long_command_beside_many_short_ones_is_not_taken_for_short() {
        let mut costs = measured();
        let batch = (0..1000).map(|_| launch(1, None)).chain([launch(2, None)]);
        costs.learn(steps(batch).iter(), UNKNOWN, 1.0);
        assert_eq!(costs.of_work(&launch(2, None)), 1.0);
        assert_eq!(costs.of_work(&launch(1, None)), 1e-3);
    }

    #[test]
    fn other_values_are_unknown_until_many_were_seen_and_then_count_as_the_longest() {
        let mut costs = measured();
        for value in 0..ALIKE {
            assert_eq!(costs.of_work(&launch(1, Some(100 + value))), f32::INFINITY);
            costs.learn(steps([launch(1, Some(value))]).iter(), UNKNOWN, 1e-4 * (1.0 + value as f32));
        }
        assert_eq!(costs.of_work(&launch(1, Some(0))), 1e-4, "values that were seen");
        assert_eq!(costs.of_work(&launch(1, Some(100))), 1e-4 * ALIKE as f32);
        let rows = costs.exact.len();
        (0..1000).for_each(|value| costs.learn(steps([launch(1, Some(value))]).iter(), known(0.0), 1.0));
        assert_eq!(costs.exact.len(), rows, "more values take no memory");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut costs = measured();
        for groups in 0..3 * MOST as u32 {
            costs.learn(steps([launch(groups, None)]).iter(), UNKNOWN, 1.0);
        }
        assert!(costs.exact.len() <= MOST);
    }
}
