//! The steps that failed while the CPU executed them, and the later steps of their queues, which are not executed.

use crate::device::function_mark::DeviceNumber;
use crate::device::recorder::ExecutionFailure;
use crate::error::Error;
use crate::memory::heap::BlockId;
use crate::work::kernel_launch::Launch;
use crate::work::step::{Step, Work};
use fencepost_sync::prim::{Mutex, lock};
use fencepost_sync::{Lost, Slot, Stamp};
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// Failures of the device. The thread of the lane adds them, and the scheduler takes them.
#[derive(Default)]
pub(super) struct FailedSteps {
    /// `true` once a step has failed, so that a device without failures locks nothing.
    any: AtomicBool,
    runs: Mutex<Vec<FailedRun>>,
    /// Message buffers of the launches that the device began and whose messages no command has read.
    messages: Mutex<FxHashSet<BlockId>>,
    /// `true` once a test has lost the device.
    is_lost: AtomicBool,
}

/// A run of one queue's commands that are not executed.
struct FailedRun {
    slot: Slot,
    first: Stamp,
    /// Last command that the failure affects. `None` until the scheduler takes the failure: no later command exists
    /// until then.
    last: Option<Stamp>,
    error: Error,
}

impl FailedSteps {
    /// Returns the number of the device of these failures.
    pub(super) fn device(&self) -> DeviceNumber {
        DeviceNumber(std::ptr::from_ref(self).addr())
    }

    /// Loses the device: the next operation to execute fails it.
    pub(super) fn lose_device(&self) {
        self.is_lost.store(true, Ordering::Release);
    }

    /// Returns the loss of the device, if a test has lost it.
    pub(super) fn loss(&self) -> Option<Lost> {
        let is_lost = self.is_lost.load(Ordering::Acquire);
        is_lost.then(|| Lost { reason: "loss injected by `testing::lose`".into() })
    }

    /// Records that the device could not execute a step.
    pub(super) fn add(&self, step: &Step, error: Error) {
        let mut runs = lock(&self.runs);
        if runs.iter().any(|run| run.slot == step.slot && run.last.is_none()) {
            return; // the queue has failed already
        }
        // The commands of an earlier failure of this queue came before this step.
        runs.retain(|run| run.slot != step.slot);
        runs.push(FailedRun { slot: step.slot, first: step.stamp, last: None, error });
        self.any.store(true, Ordering::Release);
    }

    /// Records that the device begins a launch, so that its messages are read even if it fails.
    pub(super) fn begin(&self, launch: &Launch) {
        if let Some(buffer) = launch.message_buffer() {
            lock(&self.messages).insert(buffer.id);
        }
    }

    /// Returns `true` if a step must be skipped, because its queue has failed before it. The messages of a launch that
    /// the device began are still read.
    pub(super) fn skip(&self, step: &Step) -> bool {
        let is_read = match &step.work {
            Work::Read { src, slot } if slot.messages().is_some() => {
                lock(&self.messages).remove(&src.block.id)
            }
            _ => false,
        };
        !is_read && self.contain(step)
    }

    /// Returns `true` if a step is work of a queue that has failed before it.
    fn contain(&self, step: &Step) -> bool {
        if !self.any.load(Ordering::Acquire) || !step.is_own() {
            return false;
        }
        let fails = |run: &FailedRun| {
            run.slot == step.slot && run.first <= step.stamp && run.last.is_none_or(|last| step.stamp <= last)
        };
        lock(&self.runs).iter().any(fails)
    }

    /// Returns the failures that were not taken yet. They affect the commands up to `last`.
    pub(super) fn take(&self, last: Stamp) -> Vec<ExecutionFailure> {
        if !self.any.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut runs = lock(&self.runs);
        let untaken = runs.iter_mut().filter(|run| run.last.is_none());
        untaken
            .map(|run| {
                run.last = Some(last);
                ExecutionFailure { slot: run.slot, first: run.first, error: run.error.clone() }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::work::step::Work;
    use smallvec::SmallVec;

    fn step(slot: u32, stamp: u64) -> Step {
        let (slot, stamp) = (Slot(slot), Stamp(stamp));
        Step { work: Work::QueueFence, slot, stamp, level: 0, after: SmallVec::new() }
    }

    #[test]
    fn a_failure_affects_the_commands_of_its_queue_up_to_those_that_the_scheduler_fails() {
        let failed = FailedSteps::default();
        assert!(!failed.contain(&step(1, 5)) && failed.take(Stamp(9)).is_empty());
        failed.add(&step(1, 5), Kind::Busy { array: "x".into() }.into());
        failed.add(&step(1, 6), Kind::Busy { array: "y".into() }.into());
        let contains = |failed: &FailedSteps| [4, 5, 9, 10].map(|stamp| failed.contain(&step(1, stamp)));
        assert_eq!(contains(&failed), [false, true, true, true]);
        assert!(!failed.contain(&step(2, 7)), "another queue goes on");

        let taken = failed.take(Stamp(9));
        assert_eq!(taken.len(), 1, "a queue fails once");
        assert_eq!((taken[0].slot, taken[0].first), (Slot(1), Stamp(5)));
        assert!(failed.take(Stamp(12)).is_empty(), "a failure is taken once");
        assert_eq!(contains(&failed), [false, true, true, false]);

        failed.add(&step(1, 20), Kind::Busy { array: "z".into() }.into());
        assert_eq!(failed.take(Stamp(30))[0].first, Stamp(20));
    }
}
