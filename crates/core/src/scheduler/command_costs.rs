//! How long commands take on the device of a lane, as far as it was seen.
//!
//! A batch completes as one, so what is planned into it is decided by how late that makes the results before its end.
//! The time of one command is not known; the time of a batch is. A kernel is known by its name, its grid, the bytes that it
//! is bound to and its values: what differs in none of them is expected to take as long as before.

use crate::device::CostModel;
use crate::work::kernel_launch::Launch;
use crate::work::step::{Step, Work};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::hash::Hasher;
use std::time::Duration;

/// Seconds in which a difference between what was expected and what was seen tells nothing.
const NOISE: f32 = 1e-4;
/// Kinds of commands that are told apart; then all is forgotten and learned again.
const MOST: usize = 4096;
/// What takes less than was expected counts as this part of it, each time: where the data decide how long a kernel takes,
/// one that was short says little of the next.
const FALL: f32 = 0.7;
/// A launch that was seen with so many different values is expected to take, with any, as long as it ever did.
const ALIKE: usize = 8;

/// What a transfer takes until one of its size was seen: seconds, and seconds a byte.
const TRANSFER: (f32, f32) = (2e-5, 1e-9);

/// Seconds of commands on one lane.
pub(crate) struct CommandCosts {
    source: CostSource,
    /// Seconds by which a batch may be longer than its first command: so late is a result whose batch goes on behind it.
    pub(crate) bound: f32,
    /// Of each kind of command.
    known: FxHashMap<u64, CostKind>,
}

/// Where the numbers come from.
enum CostSource {
    Measured,
    /// A device that does nothing: what was seen once takes no time, whatever the clock shows.
    Instant,
    /// From a seed: now and then a command takes long, the same ones in each run.
    Drawn(RefCell<fastrand::Rng>),
    /// Every command takes no time.
    Nothing,
}

/// Commands that differ in nothing but their values.
#[derive(Default)]
pub(crate) struct CostKind {
    /// Of those with the same values, a hash of which stands for them.
    values: SmallVec<[(u64, f32); 1]>,
    /// Of all, once many different values were seen.
    any: Option<f32>,
}

/// The commands of one kind in what has completed.
struct SeenCommands {
    count: f32,
    /// The seconds that each was expected to take; infinite if nothing like it was seen.
    each: f32,
}

/// What the planner expects of a batch.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ExpectedCost {
    pub(crate) seconds: f32,
    /// Whether it has a command that was never seen.
    pub(crate) unknown: bool,
}

impl ExpectedCost {
    /// Of two batches, one after the other.
    pub(crate) fn and(self, next: Self) -> Self {
        Self { seconds: self.seconds + next.seconds, unknown: self.unknown || next.unknown }
    }
}

impl Default for CommandCosts {
    fn default() -> Self {
        Self::new(CostModel::Unknown)
    }
}

impl CommandCosts {
    pub(crate) fn new(pace: CostModel) -> Self {
        let (source, bound) = match pace {
            CostModel::Measured(bound) => (CostSource::Measured, bound),
            CostModel::Instant => (CostSource::Instant, CostModel::LATENESS),
            CostModel::Drawn(seed) => {
                (CostSource::Drawn(RefCell::new(fastrand::Rng::with_seed(seed))), CostModel::LATENESS)
            }
            CostModel::Unknown => (CostSource::Nothing, Duration::MAX),
        };
        Self { source, bound: bound.as_secs_f32(), known: FxHashMap::default() }
    }

    /// The seconds that a command is expected to take; infinite if nothing like it was seen.
    pub(crate) fn of_work(&self, work: &Work) -> f32 {
        match work {
            Work::Launch(launch) => self.of_launch(launch, self.kind(launch)),
            Work::Publish(_) | Work::Start(_) | Work::End(_) | Work::Behind | Work::Nothing => 0.0,
            _ => self.source.seconds(|| {
                let known = self.known.get(&kind(work)).and_then(|kind| kind.of(|| 0));
                known.unwrap_or_else(|| transfer(work))
            }),
        }
    }

    /// What is known of launches that differ from this one in their values only.
    #[inline]
    pub(crate) fn kind(&self, launch: &Launch) -> Option<&CostKind> {
        self.known.get(&kind_of_launch(launch))
    }

    /// As [`of_work`](Self::of_work), for a launch of that kind.
    #[inline]
    pub(crate) fn of_launch(&self, launch: &Launch, kind: Option<&CostKind>) -> f32 {
        self.source.seconds(|| kind.and_then(|kind| kind.of(|| values(launch))).unwrap_or(f32::INFINITY))
    }

    /// Learns from batches that took `took` seconds together, where `expected` was expected when they were planned. Of a command
    /// that was never seen, each took no longer than all of its kind; what was seen before is corrected all in the same
    /// proportion, as one clock cannot tell them apart. The proportion is to what is known now: of batches that were planned
    /// together the first may have corrected it.
    pub(crate) fn learn<'s>(
        &mut self,
        steps: impl Iterator<Item = &'s Step>,
        expected: ExpectedCost,
        took: f32,
    ) {
        let took = match self.source {
            CostSource::Measured => took,
            CostSource::Instant => 0.0,
            CostSource::Drawn(_) | CostSource::Nothing => return,
        };
        if !expected.unknown && !is_off(expected.seconds, took) {
            return;
        }
        let mut seen: FxHashMap<(u64, u64), SeenCommands> = FxHashMap::default();
        for (work, kind, values) in
            steps.filter_map(|step| counted(&step.work).map(|(k, v)| (&step.work, k, v)))
        {
            let any = self.known.get(&kind).is_some_and(|kind| kind.any.is_some());
            let of = (kind, if any { 0 } else { values });
            seen.entry(of).or_insert_with(|| SeenCommands { count: 0.0, each: self.of_work(work) }).count +=
                1.0;
        }
        let now: f32 = seen.values().map(|seen| seen.count * seen.each).sum();
        if !is_off(now, took) {
            return;
        }
        let scale = if now.is_finite() { took / now.max(f32::MIN_POSITIVE) } else { 1.0 };
        for ((kind, values), SeenCommands { count, each }) in seen {
            self.note(kind, values, (each * scale).min(took / count));
        }
    }

    fn note(&mut self, kind: u64, values: u64, seconds: f32) {
        if self.known.len() >= MOST {
            self.known.clear();
        }
        self.known.entry(kind).or_default().note(values, seconds);
    }
}

impl CostSource {
    /// The seconds of a command, of which so many are expected from what was measured.
    #[inline]
    fn seconds(&self, measured: impl FnOnce() -> f32) -> f32 {
        match self {
            Self::Measured | Self::Instant => measured(),
            Self::Nothing => 0.0,
            Self::Drawn(rng) => {
                let bound = CostModel::LATENESS.as_secs_f32();
                [0.0, 0.0, bound / 2.0, f32::INFINITY][rng.borrow_mut().usize(..4)]
            }
        }
    }
}

impl CostKind {
    /// What a command of this kind takes, if one with its values was seen, or many others were.
    #[inline]
    fn of(&self, values: impl FnOnce() -> u64) -> Option<f32> {
        self.any.or_else(|| {
            let values = values();
            self.values.iter().find(|(known, _)| *known == values).map(|&(_, seconds)| seconds)
        })
    }

    fn note(&mut self, values: u64, seconds: f32) {
        if let Some(any) = &mut self.any {
            *any = seconds.max(FALL * *any);
            return;
        }
        match self.values.iter_mut().find(|(known, _)| *known == values) {
            Some((_, known)) => *known = seconds.max(FALL * *known),
            None => self.values.push((values, seconds)),
        }
        if self.values.len() >= ALIKE {
            self.any = Some(self.values.drain(..).fold(0.0, |longest, (_, seconds)| longest.max(seconds)));
        }
    }
}

/// Whether a batch took so much more or less time than expected that it is worth learning from.
fn is_off(expected: f32, took: f32) -> bool {
    took > 2.0 * expected + NOISE || expected > 2.0 * took + NOISE
}

/// The kind of a step and its values, unless it takes no time.
fn counted(work: &Work) -> Option<(u64, u64)> {
    match work {
        Work::Launch(launch) => Some((kind_of_launch(launch), values(launch))),
        Work::Publish(_) | Work::Start(_) | Work::End(_) | Work::Behind | Work::Nothing => None,
        _ => Some((kind(work), 0)),
    }
}

/// A transfer is known by what it does and by its size, as a power of two.
fn kind(work: &Work) -> u64 {
    let kind = match work {
        Work::Copy { .. } => 1,
        Work::Fill { .. } => 2,
        Work::Upload { .. } => 3,
        Work::Read { .. } => 4,
        Work::Region(_) => 5,
        _ => 6,
    };
    let size = work.bytes().unwrap_or(0).checked_ilog2().map_or(0, |log| log + 1);
    kind << 8 | u64::from(size)
}

/// What a transfer takes until one of its size was seen.
pub(crate) fn transfer(work: &Work) -> f32 {
    TRANSFER.0 + TRANSFER.1 * work.bytes().unwrap_or(0) as f32
}

/// A launch is known by its kernel, its groups and the bytes that it is bound to.
#[inline]
fn kind_of_launch(launch: &Launch) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u32(launch.kernel_number());
    launch.groups.iter().for_each(|&groups| hasher.write_u32(groups));
    hasher.write_u8(u8::from(launch.indirect.is_some()));
    launch.bindings.iter().for_each(|bound| hasher.write_u64(bound.size));
    hasher.finish()
}

#[inline]
fn values(launch: &Launch) -> u64 {
    let mut hasher = FxHasher::default();
    launch.params.words().iter().for_each(|&word| hasher.write_u32(word));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl CommandCosts {
        /// Has a command take so many seconds.
        pub(in crate::scheduler) fn expect(&mut self, work: &Work, seconds: f32) {
            let (kind, values) = counted(work).expect("it takes time");
            self.note(kind, values, seconds);
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

    fn measured() -> CommandCosts {
        CommandCosts::new(CostModel::Measured(CostModel::LATENESS))
    }

    const UNKNOWN: ExpectedCost = ExpectedCost { seconds: 0.0, unknown: true };

    fn known(seconds: f32) -> ExpectedCost {
        ExpectedCost { seconds, unknown: false }
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
        costs.learn(batch.iter(), known(0.01), 0.5);
        assert!((costs.of_work(&launch(1, None)) - 0.05).abs() < 1e-5);
        for step in 1..20 {
            let before = costs.of_work(&launch(1, None));
            costs.learn(batch.iter(), known(10.0 * before), 0.02);
            let after = costs.of_work(&launch(1, None));
            assert!(after >= FALL * before - 1e-6, "step {step}: {before} s, then {after} s");
        }
        assert!((costs.of_work(&launch(1, None)) - 0.002).abs() < 0.002, "in the end it is what it takes");
        let before = costs.of_work(&launch(1, None));
        costs.learn(batch.iter(), known(10.0 * before), 15.0 * before);
        assert_eq!(costs.of_work(&launch(1, None)), before, "so little off teaches nothing");
    }

    #[test]
    fn batches_that_were_planned_together_correct_what_is_known_once() {
        let mut costs = measured();
        let batch = steps([launch(1, None)]);
        costs.learn(batch.iter(), UNKNOWN, 7e-4);
        for _ in 0..48 {
            costs.learn(batch.iter(), known(7e-4), 2.5e-4);
        }
        assert!(costs.of_work(&launch(1, None)) > 2.4e-4);
        for _ in 0..48 {
            costs.learn(batch.iter(), UNKNOWN, 2e-3);
        }
        assert!((costs.of_work(&launch(1, None)) - 2e-3).abs() < 1e-6);
    }

    #[test]
    fn a_command_that_is_short_now_and_then_still_counts_as_long() {
        let mut costs = measured();
        let batch = steps([launch(1, None)]);
        costs.learn(batch.iter(), UNKNOWN, 0.5);
        for took in [1e-5, 0.5, 1e-5, 1e-5, 0.5, 1e-5] {
            let expected = costs.of_work(&launch(1, None));
            costs.learn(batch.iter(), known(expected), took);
            assert!(costs.of_work(&launch(1, None)) > 0.1);
        }
        // Of several batches on their way each was planned with what was known then.
        for _ in 0..4 {
            costs.learn(batch.iter(), known(0.5), 1e-5);
        }
        assert!(costs.of_work(&launch(1, None)) > 0.05);
    }

    #[test]
    fn what_is_remembered_of_many_values_falls_as_slowly() {
        let mut costs = measured();
        for value in 0..ALIKE as u32 {
            costs.learn(steps([launch(1, Some(value))]).iter(), UNKNOWN, 0.5);
        }
        costs.learn(steps([launch(1, Some(0))]).iter(), known(0.5), 1e-5);
        assert!(costs.of_work(&launch(1, Some(1))) > 0.3);
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
        for value in 0..ALIKE as u32 {
            assert_eq!(costs.of_work(&launch(1, Some(100 + value))), f32::INFINITY);
            costs.learn(steps([launch(1, Some(value))]).iter(), UNKNOWN, 1e-4 * (1.0 + value as f32));
            let told_apart = value + 1 < ALIKE as u32;
            assert!(!told_apart || costs.of_work(&launch(1, Some(0))) == 1e-4, "values that were seen");
        }
        for value in [0, 100] {
            assert_eq!(costs.of_work(&launch(1, Some(value))), 1e-4 * ALIKE as f32);
        }
        costs.learn(steps((0..4).map(|value| launch(1, Some(value)))).iter(), known(3.2e-3), 2e-4);
        let together = 1e-4 * ALIKE as f32 * FALL;
        assert!((costs.of_work(&launch(1, Some(0))) - together).abs() < 1e-6, "they are corrected together");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut costs = measured();
        for groups in 0..3 * MOST as u32 {
            costs.learn(steps([launch(groups, None)]).iter(), UNKNOWN, 1.0);
        }
        assert!(costs.known.len() <= MOST);
    }
}
