//! Estimates of the time that commands take on a lane, learned from measured times of batches. Also the names of
//! kernels in messages.
//!
//! A batch completes as a whole, so a long batch delays the results in its middle. The planner uses the estimates to
//! limit this delay. Only the time of a batch can be measured, not the time of one command. Launches with the same
//! kernel, grid, bound sizes and parameter values are expected to take the same time.

use crate::device::CostModel;
use crate::error::{CommandKind, KernelId, Site, subject};
use crate::work::kernel_launch::Launch;
use crate::work::step::{Step, Work};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::hash::Hasher;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// Differences between the expected and the measured time below this many seconds change no estimate.
const NOISE: f32 = 1e-4;
/// Maximum number of kinds of commands with estimates. At the limit, all are dropped and learned anew.
const MOST_KINDS: usize = 4096;
/// A single measured time lowers an estimate at most to this fraction, because a kernel's time may depend on its data,
/// and then one short run says little about the next.
const FALL: f32 = 0.7;
/// Maximum number of parameter values with separate estimates in a kind. Beyond it, all launches of the kind share the
/// longest estimate.
const ALIKE: usize = 8;

/// Estimate for a transfer until one of its size has been measured: seconds per transfer, and seconds per byte.
const TRANSFER: (f32, f32) = (2e-5, 1e-9);
/// Limit of a transfer's estimate, as a multiple of its initial estimate. On a busy machine, the measured time includes
/// waits of threads for a processor, so without this limit a fill of a few bytes could count as long and get its own
/// batch.
const LONGEST_TRANSFER: f32 = 4.0;

/// Cost estimates for the commands of one lane.
pub(crate) struct CommandCosts {
    source: CostSource,
    /// Largest delay of a result in a batch, in seconds: a batch may take this much longer than its first command.
    pub(crate) bound: f32,
    /// Estimates of each kind of command.
    known: FxHashMap<u64, CostKind>,
}

/// Source of the estimates.
enum CostSource {
    Measured,
    /// The device does nothing, so a command that was seen once has the estimate 0, whatever the clock shows.
    Instant,
    /// A generator with a fixed seed makes some commands long, the same ones in every run.
    Drawn(RefCell<fastrand::Rng>),
    /// The estimate of every command is 0.
    Nothing,
}

/// Estimates of commands that differ only in their parameter values.
#[derive(Default)]
pub(crate) struct CostKind {
    /// Estimate in seconds for each hash of parameter values.
    values: SmallVec<[(u64, f32); 1]>,
    /// Estimate for all values, once there are more than [`ALIKE`] different ones.
    any: Option<f32>,
}

/// The commands of one kind in some completed batches.
struct SeenCommands {
    count: f32,
    /// Expected seconds of one command; infinite if it was never measured.
    each: f32,
    /// Largest estimate that one command may get.
    most: f32,
}

/// Time that the planner expects a batch to take.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ExpectedCost {
    pub(crate) seconds: f32,
    /// `true` if the batch has a command that was never measured.
    pub(crate) unknown: bool,
}

impl ExpectedCost {
    /// Returns `true` if a batch is known to take at most `bound` seconds.
    pub(crate) fn is_short(self, bound: f32) -> bool {
        !self.unknown && self.seconds <= bound
    }

    /// Returns the expected time of two batches that run one after the other.
    pub(crate) fn plus(self, next: Self) -> Self {
        Self { seconds: self.seconds + next.seconds, unknown: self.unknown || next.unknown }
    }
}

impl Default for CommandCosts {
    fn default() -> Self {
        Self::new(CostModel::Unknown)
    }
}

impl CommandCosts {
    pub(crate) fn new(cost_model: CostModel) -> Self {
        let (source, bound) = match cost_model {
            CostModel::Measured(bound) => (CostSource::Measured, bound),
            CostModel::Instant => (CostSource::Instant, CostModel::LATENESS),
            CostModel::Drawn(seed) => {
                (CostSource::Drawn(RefCell::new(fastrand::Rng::with_seed(seed))), CostModel::LATENESS)
            }
            CostModel::Unknown => (CostSource::Nothing, Duration::MAX),
        };
        Self { source, bound: bound.as_secs_f32(), known: FxHashMap::default() }
    }

    /// Returns the expected seconds of a command; infinite for a launch that was never measured.
    pub(crate) fn of_work(&self, work: &Work) -> f32 {
        match work {
            Work::Launch(launch) => self.of_launch(launch, self.kind(launch)),
            Work::Start(_) | Work::End(_) | Work::QueueFence | Work::Nothing => 0.0,
            Work::Graph(graph) => self.source.seconds(|| {
                let known = self.known.get(&graph.kind()).and_then(|kind| kind.estimate_for(|| 0));
                known.unwrap_or(f32::INFINITY)
            }),
            _ => self.source.seconds(|| {
                let known = self.known.get(&kind(work)).and_then(|kind| kind.estimate_for(|| 0));
                known.unwrap_or_else(|| transfer(work))
            }),
        }
    }

    /// Returns the estimates of launches that differ from `launch` only in their parameter values.
    #[inline]
    pub(crate) fn kind(&self, launch: &Launch) -> Option<&CostKind> {
        self.known.get(&kind_of_launch(launch))
    }

    /// Like [`of_work`](Self::of_work), for a launch whose `kind` has already been looked up.
    #[inline]
    pub(crate) fn of_launch(&self, launch: &Launch, kind: Option<&CostKind>) -> f32 {
        self.source
            .seconds(|| kind.and_then(|kind| kind.estimate_for(|| values(launch))).unwrap_or(f32::INFINITY))
    }

    /// Learns from completed batches that together took `took` seconds, while the planner had expected `expected`.
    ///
    /// For a kind of command that was never measured, `took` divided by the number of its commands is an upper bound.
    /// One measured time cannot tell the known commands apart, so all their estimates change by the same factor. The
    /// factor is `took` divided by the sum of the current estimates, which another batch of the same planning may
    /// already have corrected.
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
            let first = || SeenCommands { count: 0.0, each: self.of_work(work), most: longest(work) };
            seen.entry(of).or_insert_with(first).count += 1.0;
        }
        let now: f32 = seen.values().map(|seen| seen.count * seen.each).sum();
        if !is_off(now, took) {
            return;
        }
        let scale = if now.is_finite() { took / now.max(f32::MIN_POSITIVE) } else { 1.0 };
        for ((kind, values), SeenCommands { count, each, most }) in seen {
            self.note(kind, values, (each * scale).min(took / count).min(most));
        }
    }

    fn note(&mut self, kind: u64, values: u64, seconds: f32) {
        if self.known.len() >= MOST_KINDS {
            self.known.clear();
        }
        self.known.entry(kind).or_default().note(values, seconds);
    }
}

impl CostSource {
    /// Returns the estimate of a command. `measured` returns the estimate based on measurements.
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
    /// Returns the estimate for these parameter values, if it is known.
    #[inline]
    fn estimate_for(&self, values: impl FnOnce() -> u64) -> Option<f32> {
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

/// Returns `true` if the measured and the expected time differ by more than a factor of 2 and by more than the noise.
fn is_off(expected: f32, took: f32) -> bool {
    took > 2.0 * expected + NOISE || expected > 2.0 * took + NOISE
}

/// Returns the kind and the hashed values of a step, or `None` for a step that takes no time.
fn counted(work: &Work) -> Option<(u64, u64)> {
    match work {
        Work::Launch(launch) => Some((kind_of_launch(launch), values(launch))),
        Work::Graph(graph) => Some((graph.kind(), 0)),
        Work::Start(_) | Work::End(_) | Work::QueueFence | Work::Nothing => None,
        _ => Some((kind(work), 0)),
    }
}

/// Returns the kind of a transfer: its operation, and its size rounded to a power of two.
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

/// Returns the estimate of a transfer until one of its size has been measured.
pub(crate) fn transfer(work: &Work) -> f32 {
    TRANSFER.0 + TRANSFER.1 * work.bytes().unwrap_or(0) as f32
}

/// Returns the limit of a command's estimate. A copy between regions has no limit, because its time depends on its
/// rows.
fn longest(work: &Work) -> f32 {
    match work {
        Work::Copy { .. } | Work::Fill { .. } | Work::Upload { .. } | Work::Read { .. } => {
            LONGEST_TRANSFER * transfer(work)
        }
        _ => f32::INFINITY,
    }
}

/// Returns the kind of a launch: a hash of its kernel, its grid and the sizes of its bindings.
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

/// Number of dropped kernels whose names are kept, because a hazard may name an earlier launch.
const GONE: u32 = 1024;

/// Names of the kernels of a context. Kernels with the same name share a number.
#[derive(Default)]
pub(crate) struct KernelNames {
    ids: FxHashMap<Arc<str>, KernelId>,
    /// The same pairs as in `ids`, but by number.
    names: FxHashMap<KernelId, Arc<str>>,
    /// Number for the next name, larger than all numbers in the tables.
    next: u32,
    /// Number of names left by the last [`tidy`](Self::tidy).
    kept: usize,
}

impl KernelNames {
    /// Returns the number of a kernel name, and the registered name. It stays registered while the returned reference
    /// is held.
    pub(crate) fn note(&mut self, name: &str) -> (KernelId, Arc<str>) {
        if let Some((name, &id)) = self.ids.get_key_value(name) {
            return (id, name.clone());
        }
        self.tidy();
        let id = KernelId(self.next);
        let name = Arc::<str>::from(name);
        self.next += 1;
        self.ids.insert(name.clone(), id);
        self.names.insert(id, name.clone());
        debug_assert_eq!(self.ids.len(), self.names.len(), "bug: a name has no number");
        (id, name)
    }

    pub(crate) fn get(&self, id: KernelId) -> Arc<str> {
        self.names.get(&id).cloned().unwrap_or_else(|| "(gone)".into())
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    fn tidy(&mut self) {
        if self.names.len() <= 2 * self.kept + 2 * GONE as usize {
            return;
        }
        let oldest = self.next.saturating_sub(GONE);
        // Both tables hold a reference. Any further reference belongs to a kernel or to a row of a profile.
        self.names.retain(|id, name| id.0 >= oldest || Arc::strong_count(name) > 2);
        self.ids.retain(|_, id| self.names.contains_key(id));
        self.kept = self.names.len();
    }

    /// Returns the description of a command in messages. `label` is that of its queue.
    pub(crate) fn site(
        &self,
        queue: Arc<str>,
        what: CommandKind,
        location: &'static Location<'static>,
    ) -> Site {
        let command = match what {
            CommandKind::Launch(id) => subject(&self.get(id)),
            CommandKind::Copy => "a copy".into(),
            CommandKind::Fill => "a fill".into(),
            CommandKind::Upload => "an upload".into(),
            CommandKind::Read => "a read".into(),
            CommandKind::Download => "a download".into(),
            CommandKind::Replay(id) | CommandKind::ReplayPart(id) => {
                format!("graph `{}`", self.get(id))
            }
            CommandKind::Encode => "commands of the program".into(),
            CommandKind::Gate => "a condition".into(),
            CommandKind::Map => "a map".into(),
            CommandKind::BetweenContexts => "a copy between contexts".into(),
            CommandKind::Inspect => "a read by the context".into(),
        };
        Site { queue, command, location }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::test_engine::{block, fill, span};
    use crate::work::step::{Pattern, Span};

    impl CommandCosts {
        /// Sets the estimate of a command.
        pub(in crate::scheduler) fn expect(&mut self, work: &Work, seconds: f32) {
            let (kind, values) = counted(work).expect("the command takes time");
            self.note(kind, values, seconds);
        }
    }

    /// Returns a launch of `groups` workgroups, with a parameter value if one is given.
    fn launch(groups: u32, value: Option<u32>) -> Work {
        let mut launch = Launch::default();
        launch.groups = [groups, 1, 1];
        if let Some(value) = value {
            launch.params = fencepost_kernels::ParamsBlock::with_size(4);
            launch
                .params
                .set(fencepost_kernels::ArgumentSlot::Value { offset: 0, size: 4 }, &value.to_ne_bytes());
        }
        Work::Launch(Box::new(launch))
    }

    fn steps(works: impl IntoIterator<Item = Work>) -> Vec<Step> {
        let slot = fencepost_sync::Slot(1);
        let stamp = fencepost_sync::Stamp(1);
        let after = SmallVec::new();
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
    fn an_unmeasured_command_is_infinite_and_then_takes_its_share_of_its_batch() {
        let mut costs = measured();
        assert_eq!(costs.of_work(&launch(1, None)), f32::INFINITY);
        costs.learn(steps((0..10).map(|_| launch(1, None))).iter(), UNKNOWN, 0.5);
        assert!((costs.of_work(&launch(1, None)) - 0.05).abs() < 1e-6);
        assert_eq!(costs.of_work(&launch(2, None)), f32::INFINITY, "another grid");
    }

    /// A thread that waits for a processor makes every batch look long.
    #[test]
    fn a_small_transfer_is_short_whatever_the_clock_shows() {
        let mut costs = measured();
        let small = fill(&block());
        let large = Work::Fill { dst: Span { size: 1 << 30, ..span(&block()) }, pattern: Pattern::ZERO };
        for work in [small.duplicate(), large.duplicate(), launch(1, None)] {
            let batch = steps([work.duplicate()]);
            costs.learn(batch.iter(), known(costs.of_work(&work)), 0.5);
        }
        assert!(costs.of_work(&small) < costs.bound / 10.0);
        assert_eq!([&large, &launch(1, None)].map(|work| costs.of_work(work)), [0.5; 2]);
    }

    #[test]
    fn an_estimate_is_corrected_up_and_down() {
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
        assert!((costs.of_work(&launch(1, None)) - 0.002).abs() < 0.002, "the estimate converges");
        let before = costs.of_work(&launch(1, None));
        costs.learn(batch.iter(), known(10.0 * before), 15.0 * before);
        assert_eq!(costs.of_work(&launch(1, None)), before, "a small difference changes nothing");
    }

    #[test]
    fn batches_that_were_planned_together_correct_an_estimate_once() {
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
    fn a_command_that_is_sometimes_short_still_counts_as_long() {
        let mut costs = measured();
        let batch = steps([launch(1, None)]);
        costs.learn(batch.iter(), UNKNOWN, 0.5);
        for took in [1e-5, 0.5, 1e-5, 1e-5, 0.5, 1e-5] {
            let expected = costs.of_work(&launch(1, None));
            costs.learn(batch.iter(), known(expected), took);
            assert!(costs.of_work(&launch(1, None)) > 0.1);
        }
        // Four batches in flight were all planned with the same estimate.
        for _ in 0..4 {
            costs.learn(batch.iter(), known(0.5), 1e-5);
        }
        assert!(costs.of_work(&launch(1, None)) > 0.05);
    }

    #[test]
    fn the_shared_estimate_of_many_values_falls_slowly() {
        let mut costs = measured();
        for value in 0..ALIKE as u32 {
            costs.learn(steps([launch(1, Some(value))]).iter(), UNKNOWN, 0.5);
        }
        costs.learn(steps([launch(1, Some(0))]).iter(), known(0.5), 1e-5);
        assert!(costs.of_work(&launch(1, Some(1))) > 0.3);
    }

    #[test]
    fn a_long_command_in_a_batch_of_many_short_ones_counts_as_long() {
        let mut costs = measured();
        let batch = (0..1000).map(|_| launch(1, None)).chain([launch(2, None)]);
        costs.learn(steps(batch).iter(), UNKNOWN, 1.0);
        assert_eq!(costs.of_work(&launch(2, None)), 1.0);
        assert_eq!(costs.of_work(&launch(1, None)), 1e-3);
    }

    #[test]
    fn unseen_values_are_unknown_until_many_were_seen_and_then_count_as_the_longest() {
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
        assert!((costs.of_work(&launch(1, Some(0))) - together).abs() < 1e-6, "they share one estimate");
    }

    #[test]
    fn the_number_of_known_kinds_is_bounded() {
        let mut costs = measured();
        for groups in 0..3 * MOST_KINDS as u32 {
            costs.learn(steps([launch(groups, None)]).iter(), UNKNOWN, 1.0);
        }
        assert!(costs.known.len() <= MOST_KINDS);
    }

    #[test]
    fn kernels_of_one_name_share_a_number() {
        let mut names = KernelNames::default();
        let [first, other, again] = ["saxpy", "add", "saxpy"].map(|name| names.note(name).0);
        assert!(first == again && first != other);
        assert_eq!((&*names.get(first), &*names.get(other)), ("saxpy", "add"));
    }

    #[test]
    fn names_are_kept_for_live_kernels_and_for_the_last_dropped_ones() {
        let mut names = KernelNames::default();
        let (id, held) = names.note("held");
        let made: Vec<KernelId> = (0..10 * GONE).map(|at| names.note(&at.to_string()).0).collect();
        assert!(names.len() <= 3 * GONE as usize && names.ids.len() == names.len(), "{}", names.len());
        assert_eq!((names.get(id), &*names.get(made[0])), (held, "(gone)"));
        for (at, &id) in made.iter().enumerate().rev().take(GONE as usize) {
            assert_eq!(*names.get(id), *at.to_string());
        }
    }
}
