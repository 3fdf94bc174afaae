//! A hardware queue as the scheduler sees it.

use crate::device::CostModel;
use crate::scheduler::batch::{Batch, Submitted};
use crate::scheduler::command_costs::CommandCosts;
use crate::scheduler::priority::Priority;
use fencepost_sync::Timeline;
use std::collections::VecDeque;

/// How many submissions a lane has at once: one running, one behind it; what comes later gathers.
const DEPTH: u64 = 2;
/// How many it has of those that were planned at once: each is short, and gathers nothing more.
const DEPTH_OF_CUTS: u64 = 8;
/// After how many urgent batches one of lower priority goes.
const STARVATION: u32 = 8;

/// After how many batches that callers wait for, each before older ones, the oldest goes.
const OVERTAKEN: u32 = 4;

/// How soon the thread of a lane looks round by itself.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum ThreadRest {
    /// Before it sleeps again.
    #[default]
    Awake,
    /// Within a moment: what is not urgent need not wake it.
    Ticking,
    /// Never.
    Asleep,
    /// When it is time to ask whether the device is still there: else as asleep.
    Guarding,
}

impl ThreadRest {
    /// Whether it does not look round soon.
    pub(crate) fn is_deep(self) -> bool {
        self == Self::Asleep || self == Self::Guarding
    }
}

/// The bookkeeping of a lane.
#[derive(Default)]
pub(crate) struct LaneState {
    pub(crate) ready: [VecDeque<Batch>; 3],
    /// Whether somebody is submitting.
    pub(crate) token: bool,
    pub(crate) timeline: Timeline,
    /// What the device has, oldest first.
    pub(crate) submitted: VecDeque<Submitted>,
    /// Whether the lane's thread has to be woken to see anything.
    pub(crate) rest: ThreadRest,
    /// Whether the lane's completer sleeps.
    pub(crate) idle: bool,
    /// Whether the driver has something to tidy up.
    pub(crate) untidy: bool,
    /// Callers that look at the lane's fence themselves, or are about to: they note what they see.
    pub(crate) watchers: u32,
    /// How often in a row something that was planned at once was submitted while a lower priority was waiting.
    streak: u32,
    /// Whether a batch may have been put before older ones.
    pub(crate) mixed: bool,
    /// How often in a row a batch of each priority was submitted before an older one of the same.
    overtaken: [u32; 3],
    /// How often callers have planned for themselves since the lane's queues were planned.
    pub(crate) passed: u32,
    /// What its commands take.
    pub(crate) costs: CommandCosts,
    /// Whether a thread submits later what does not go at once.
    pub(crate) has_thread: bool,
    /// When the device last finished something.
    pub(crate) last_finish: Option<web_time::Instant>,
}

impl LaneState {
    pub(crate) fn new(pace: CostModel) -> Self {
        Self { costs: CommandCosts::new(pace), ..Self::default() }
    }

    pub(crate) fn list(&mut self, priority: Priority) -> &mut VecDeque<Batch> {
        &mut self.ready[priority as usize]
    }

    /// Whether anything is planned and not submitted.
    pub(crate) fn has_ready(&self) -> bool {
        self.ready.iter().any(|list| !list.is_empty())
    }

    /// The number of planned batches.
    pub(crate) fn ready_len(&self) -> usize {
        self.ready.iter().map(VecDeque::len).sum()
    }

    /// Whether another submission may go now. One at a time while something urgent may come.
    pub(crate) fn has_room(&self, urgent: bool) -> bool {
        self.timeline.in_flight() < if urgent { 1 } else { DEPTH }
    }

    /// As [`has_room`](Self::has_room), for the front batch of `priority`.
    pub(crate) fn has_room_for(&self, priority: Priority, urgent: bool) -> bool {
        let cut = self.ready[priority as usize].front().is_some_and(|batch| batch.cut);
        self.has_room(urgent) || (cut && !urgent && self.has_little())
    }

    /// Whether what the device has is few batches and, if another moment comes to submit more, expected to be over soon.
    fn has_little(&self) -> bool {
        let seconds = || self.submitted.iter().map(|batch| batch.expected.seconds).sum::<f32>();
        let soon = || seconds() <= DEPTH_OF_CUTS as f32 * self.costs.bound;
        self.timeline.in_flight() < DEPTH_OF_CUTS && (!self.has_thread || soon())
    }

    /// The priority whose front batch goes next, among those for which `can_go` holds.
    pub(crate) fn choose(&self, can_go: impl Fn(&Batch) -> bool) -> Option<Priority> {
        let front = |priority: &Priority| self.ready[*priority as usize].front().is_some_and(&can_go);
        let best = Priority::ORDER.into_iter().find(front)?;
        let starved = Priority::ORDER.into_iter().rev().find(front).filter(|low| *low < best);
        if self.streak >= STARVATION { starved.or(Some(best)) } else { Some(best) }
    }

    /// Takes the front batch of `priority`.
    pub(crate) fn take(&mut self, priority: Priority) -> Option<Batch> {
        let lower_waits =
            Priority::ORDER.into_iter().any(|p| p < priority && !self.ready[p as usize].is_empty());
        let batch = self.list(priority).pop_front()?;
        self.mixed &= self.has_ready();
        let overtakes = self.mixed && self.list(priority).iter().any(|other| other.seq < batch.seq);
        let overtaken = &mut self.overtaken[priority as usize];
        *overtaken = if overtakes { *overtaken + 1 } else { 0 };
        // What was planned at once counts once, into however many batches it was cut.
        self.streak = if lower_waits { self.streak + u32::from(!batch.cut) } else { 0 };
        Some(batch)
    }

    /// Puts the oldest batch of each list for which `can_go` holds in front, if it was overtaken often enough.
    pub(crate) fn let_oldest_go(&mut self, can_go: impl Fn(&Batch) -> bool) {
        if self.overtaken.iter().all(|&overtaken| overtaken < OVERTAKEN) {
            return;
        }
        for (list, _) in self.ready.iter_mut().zip(self.overtaken).filter(|(_, often)| *often >= OVERTAKEN) {
            let ready = list.iter().enumerate().filter(|(_, batch)| can_go(batch));
            let oldest = ready.min_by_key(|(_, batch)| batch.seq).map(|(at, _)| at);
            let batch = oldest.and_then(|at| list.remove(at));
            batch.into_iter().for_each(|batch| list.push_front(batch));
        }
    }

    /// What is planned, of every priority.
    pub(crate) fn planned(&mut self) -> impl Iterator<Item = &mut Batch> {
        self.ready.iter_mut().flatten()
    }

    /// Takes all that is planned and all that the device has.
    pub(crate) fn take_all(&mut self) -> (Vec<Batch>, VecDeque<Submitted>) {
        (self.ready.iter_mut().flat_map(std::mem::take).collect(), std::mem::take(&mut self.submitted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_sync::Seq;

    fn fill(lane: &mut LaneState, priority: Priority, seqs: std::ops::Range<u64>) {
        for seq in seqs {
            lane.list(priority).push_back(Batch {
                seq: Seq(seq),
                steps: vec![],
                deps: Default::default(),
                expected: Default::default(),
                cut: false,
                refused: false,
            });
        }
    }

    #[test]
    fn urgent_goes_first_and_low_is_not_starved() {
        let mut lane = LaneState::default();
        fill(&mut lane, Priority::Low, 0..1);
        fill(&mut lane, Priority::High, 1..20);
        let mut order = Vec::new();
        while let Some(priority) = lane.choose(|_| true) {
            order.extend(lane.take(priority).map(|batch| batch.seq.0));
        }
        assert_eq!(order[..10], [1, 2, 3, 4, 5, 6, 7, 8, 0, 9]);
    }

    /// What is submitted where each new batch of a normal queue is put before the older ones, of which there are so many, and
    /// each priority of `taken` has its turn.
    fn submitted(old: u64, taken: &[Priority]) -> Vec<u64> {
        let mut lane = LaneState { mixed: true, ..LaneState::default() };
        fill(&mut lane, Priority::Normal, 0..old);
        let mut order = Vec::new();
        for seq in old..20 {
            fill(&mut lane, Priority::Normal, seq..seq + 1);
            lane.list(Priority::Normal).rotate_right(1);
            fill(&mut lane, Priority::High, 100 + seq..101 + seq);
            for &priority in taken {
                lane.let_oldest_go(|_| true);
                order.extend(lane.take(priority).map(|batch| batch.seq.0));
            }
        }
        order
    }

    #[test]
    fn what_is_overtaken_again_and_again_goes() {
        let order = submitted(2, &[Priority::Normal]);
        assert_eq!(order[..10], [2, 3, 4, 5, 0, 7, 8, 9, 10, 1]);
    }

    /// A queue of high priority always has a batch that overtakes nothing of its own.
    #[test]
    fn what_is_overtaken_again_and_again_goes_beside_batches_of_other_priorities() {
        let order = submitted(1, &[Priority::High, Priority::Normal]);
        assert_eq!(order[..10], [101, 1, 102, 2, 103, 3, 104, 4, 105, 0]);
    }

    #[test]
    fn what_cannot_go_lets_others_pass() {
        let mut lane = LaneState::default();
        fill(&mut lane, Priority::High, 0..1);
        fill(&mut lane, Priority::Low, 1..2);
        assert_eq!(lane.choose(|batch| batch.seq == Seq(1)), Some(Priority::Low));
    }
}
