//! A model of a device, which lists its submissions and completes them on request.

use crate::device::{CostModel, KeptResources, Lane, LaneValue, Recorder, SubmitFailure};
use crate::work::step::Step;
use fencepost_sync::TimelineValue;
use fencepost_sync::backend::{Fence, ManualFence};
use fencepost_sync::prim::{Condvar, Mutex, lock, sleep};
use std::sync::Arc;

/// Model of a device: the fence of each lane, and the submissions of all lanes.
pub(crate) struct World {
    fences: Vec<Arc<ManualFence>>,
    /// `true` if a submission completes at once.
    quick: bool,
    submissions: Mutex<Vec<Submission>>,
    /// Notified of each submission.
    more: Condvar,
}

/// A submission: the value that it signals, and the number of its steps.
#[derive(Clone, Copy)]
pub(crate) struct Submission {
    pub(crate) at: LaneValue,
    pub(crate) steps: usize,
    /// `true` if it may execute at the same time as an earlier submission on another lane.
    pub(crate) overlaps: bool,
}

struct ModelRecorder {
    world: Arc<World>,
    lane: usize,
}

impl World {
    pub(crate) fn new(lanes: usize, quick: bool) -> Arc<Self> {
        let fences = (0..lanes).map(|_| Arc::default()).collect();
        Arc::new(Self { fences, quick, submissions: Mutex::new(Vec::new()), more: Condvar::new() })
    }

    pub(crate) fn lanes(self: &Arc<Self>) -> Vec<Lane> {
        let lane = |lane: usize| Lane {
            recorder: Box::new(ModelRecorder { world: self.clone(), lane }),
            fence: self.fences[lane].clone(),
            async_submit: true,
            executes_in_submit: false,
            cost_model: CostModel::Unknown,
        };
        (0..self.fences.len()).map(lane).collect()
    }

    /// Returns all submissions so far, in order.
    pub(crate) fn submissions(&self) -> Vec<Submission> {
        lock(&self.submissions).clone()
    }

    /// Counts the commands submitted so far.
    pub(crate) fn steps(&self) -> usize {
        steps(&lock(&self.submissions))
    }

    /// Blocks until `count` commands are submitted.
    pub(crate) fn wait_for(&self, count: usize) {
        let mut submissions = lock(&self.submissions);
        while steps(&submissions) < count {
            submissions = sleep(&self.more, submissions);
        }
    }

    /// Completes submissions, as a device does, until `count` commands are complete.
    pub(crate) fn work_through(&self, count: usize) {
        let mut done = 0;
        while done < count {
            self.wait_for(done + 1);
            let submissions = self.submissions();
            submissions.iter().for_each(|submission| self.pass(submission.at));
            done = steps(&submissions);
        }
    }

    /// Returns `true` if the device has completed the first `count` submissions.
    pub(crate) fn has_completed(&self, count: usize) -> bool {
        let submissions = self.submissions();
        submissions.len() >= count
            && submissions[..count].iter().all(|submission| self.has_passed(submission.at))
    }

    fn has_passed(&self, at: LaneValue) -> bool {
        self.fences[at.lane].completed().is_ok_and(|value| value >= at.value)
    }

    fn pass(&self, at: LaneValue) {
        self.fences[at.lane].pass(at.value);
    }

    /// Marks the device as lost.
    pub(crate) fn lose(&self) {
        self.fences.iter().for_each(|fence| fence.lose("unplugged"));
    }
}

fn steps(submissions: &[Submission]) -> usize {
    submissions.iter().map(|submission| submission.steps).sum()
}

impl Recorder for ModelRecorder {
    fn submit(
        &mut self,
        steps: &Arc<Vec<Step>>,
        waits: &[LaneValue],
        signal: TimelineValue,
    ) -> Result<KeptResources, SubmitFailure> {
        let at = LaneValue { lane: self.lane, value: signal };
        let mut submissions = lock(&self.world.submissions);
        let earlier = |wait: &LaneValue| submissions.iter().any(|submission| submission.at == *wait);
        assert!(waits.iter().all(earlier), "a submission waits for one that was not made: {waits:?}");
        let may_overlap = |other: &Submission| {
            other.at.lane != self.lane && !waits.contains(&other.at) && !self.world.has_passed(other.at)
        };
        let overlaps = submissions.iter().any(may_overlap);
        submissions.push(Submission { at, steps: steps.len(), overlaps });
        drop(submissions);
        if self.world.quick {
            self.world.pass(at);
        }
        self.world.more.notify_all();
        Ok(None)
    }
}
