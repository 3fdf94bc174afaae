//! Provides a device that records its submissions and completes them when the model requests it.

use crate::device::recorder::{Failure, Keep, LaneValue, Recorder};
use crate::device::{CostModel, Lane};
use crate::work::step::Step;
use fencepost_sync::Value;
use fencepost_sync::backend::ManualFence;
use fencepost_sync::prim::{Condvar, Mutex, lock, sleep};
use std::sync::Arc;

/// Holds all lanes of a device and their submissions.
pub(crate) struct World {
    fences: Vec<Arc<ManualFence>>,
    /// Is true if a submission completes at once.
    quick: bool,
    given: Mutex<Vec<Given>>,
    more: Condvar,
}

/// Describes a submission.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    pub(crate) at: LaneValue,
    pub(crate) steps: usize,
}

struct Notes {
    world: Arc<World>,
    lane: usize,
}

impl World {
    pub(crate) fn new(lanes: usize, quick: bool) -> Arc<Self> {
        let fences = (0..lanes).map(|_| Arc::default()).collect();
        Arc::new(Self { fences, quick, given: Mutex::new(Vec::new()), more: Condvar::new() })
    }

    pub(crate) fn lanes(self: &Arc<Self>) -> Vec<Lane> {
        let lane = |lane: usize| Lane {
            recorder: Box::new(Notes { world: self.clone(), lane }),
            fence: self.fences[lane].clone(),
            async_submit: true,
            cost_model: CostModel::Unknown,
        };
        (0..self.fences.len()).map(lane).collect()
    }

    /// Returns all submissions so far, in order.
    pub(crate) fn given(&self) -> Vec<Given> {
        lock(&self.given).clone()
    }

    /// Counts the commands submitted so far.
    pub(crate) fn steps(&self) -> usize {
        steps(&lock(&self.given))
    }

    /// Blocks until `count` commands are submitted.
    pub(crate) fn wait_for(&self, count: usize) {
        let mut given = lock(&self.given);
        while steps(&given) < count {
            given = sleep(&self.more, given);
        }
    }

    /// Acts as the device until it has completed `count` commands, one submission at a time.
    pub(crate) fn work_through(&self, count: usize) {
        let mut done = 0;
        while done < count {
            self.wait_for(done + 1);
            let given = self.given();
            given.iter().for_each(|given| self.pass(given.at));
            done = steps(&given);
        }
    }

    fn pass(&self, at: LaneValue) {
        self.fences[at.lane].pass(at.value);
    }

    /// Marks the device as lost.
    pub(crate) fn lose(&self) {
        self.fences.iter().for_each(|fence| fence.lose("unplugged"));
    }
}

fn steps(given: &[Given]) -> usize {
    given.iter().map(|given| given.steps).sum()
}

impl Recorder for Notes {
    fn submit(
        &mut self,
        steps: &Arc<Vec<Step>>,
        waits: &[LaneValue],
        signal: Value,
    ) -> Result<Keep, Failure> {
        let at = LaneValue { lane: self.lane, value: signal };
        let mut given = lock(&self.world.given);
        let earlier = |wait: &LaneValue| given.iter().any(|g| g.at == *wait);
        assert!(waits.iter().all(earlier), "a submission waits for one that was not made: {waits:?}");
        given.push(Given { at, steps: steps.len() });
        drop(given);
        if self.world.quick {
            self.world.pass(at);
        }
        self.world.more.notify_all();
        Ok(None)
    }
}
