//! The batches of the CPU's lane. At most one thread executes them at a time: the thread of the lane, or a caller that
//! waits.

use super::device_clock::DeviceClock;
use crate::record::step_order::StepOrder;
use crate::work::step::Step;
use fencepost_sync::{Lost, TimelineValue};
use std::collections::VecDeque;
use std::sync::Arc;

/// Objects that each batch reuses. The thread that has them has the right to execute.
pub(super) struct Executor {
    pub(super) clock: DeviceClock,
    pub(super) order: StepOrder,
}

/// A batch with the right to execute it.
pub(super) struct TakenBatch {
    pub(super) steps: Arc<Vec<Step>>,
    pub(super) value: TimelineValue,
    pub(super) executor: Executor,
}

/// The batches that are submitted and not executed, and the progress of the lane.
pub(super) struct LaneProgress {
    batches: VecDeque<(Arc<Vec<Step>>, TimelineValue)>,
    /// Largest value whose batch the thread of the lane may execute. Batches with larger values are left to the callers
    /// that submitted them, until one of these calls [`start`](Self::start).
    started: TimelineValue,
    completed: TimelineValue,
    /// `None` while a thread executes a batch.
    executor: Option<Executor>,
    pub(super) lost: Option<Lost>,
    /// `true` while the thread of the lane sleeps and was not notified.
    pub(super) thread_sleeps: bool,
    /// Number of callers that sleep until a batch is complete.
    pub(super) sleeping_callers: u32,
    closing: bool,
}

impl LaneProgress {
    pub(super) fn new() -> Self {
        Self {
            batches: VecDeque::new(),
            started: TimelineValue(0),
            completed: TimelineValue(0),
            executor: Some(Executor { clock: DeviceClock::new(), order: StepOrder::default() }),
            lost: None,
            thread_sleeps: false,
            sleeping_callers: 0,
            closing: false,
        }
    }

    /// Returns the largest value whose batch is executed.
    pub(super) fn completed(&self) -> Result<TimelineValue, Lost> {
        self.lost.clone().map_or(Ok(self.completed), Err)
    }

    /// Adds a batch after the others. No thread executes it before the next call of [`start`](Self::start) with its
    /// value, except a caller that waits for it.
    pub(super) fn push(&mut self, steps: Arc<Vec<Step>>, value: TimelineValue) {
        self.batches.push_back((steps, value));
    }

    /// Lets the thread of the lane execute the batches up to `value`. Returns `true` if the caller must notify that
    /// thread.
    #[must_use]
    pub(super) fn start(&mut self, value: TimelineValue) -> bool {
        self.started = self.started.max(value);
        self.wakes_thread()
    }

    /// Lets the thread of the lane execute all batches and end. Returns `true` if the caller must notify that thread.
    #[must_use]
    pub(super) fn close(&mut self) -> bool {
        self.started = TimelineValue(u64::MAX);
        self.closing = true;
        std::mem::take(&mut self.thread_sleeps)
    }

    /// Returns `true` if the thread of the lane has nothing more to do.
    pub(super) fn is_over(&self) -> bool {
        self.lost.is_some() || (self.closing && self.batches.is_empty())
    }

    /// Takes the next batch that is started, for the thread of the lane.
    pub(super) fn take_started(&mut self) -> Option<TakenBatch> {
        self.take_up_to(self.started)
    }

    /// Takes the next batch if its value is at most `value` and no other thread executes a batch.
    pub(super) fn take_up_to(&mut self, value: TimelineValue) -> Option<TakenBatch> {
        let is_due = self.lost.is_none() && self.batches.front().is_some_and(|&(_, front)| front <= value);
        let executor = if is_due { self.executor.take() } else { None }?;
        let (steps, value) = self.batches.pop_front()?;
        Some(TakenBatch { steps, value, executor })
    }

    /// Records the end of a batch, and gives back the right to execute. Returns `true` if the caller must notify the
    /// thread of the lane.
    #[must_use]
    pub(super) fn end(&mut self, executor: Executor, outcome: Result<TimelineValue, Lost>) -> bool {
        self.executor = Some(executor);
        match outcome {
            Ok(value) => self.completed = value,
            Err(lost) => self.lost = Some(lost),
        }
        self.wakes_thread()
    }

    /// Returns `true` if the thread of the lane sleeps and has a batch to execute. Later calls return `false` until it
    /// sleeps again.
    fn wakes_thread(&mut self) -> bool {
        let has_batch = self.batches.front().is_some_and(|&(_, front)| front <= self.started);
        let wakes = self.thread_sleeps && (self.lost.is_some() || (has_batch && self.executor.is_some()));
        self.thread_sleeps &= !wakes;
        wakes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: TimelineValue = TimelineValue(1);
    const TWO: TimelineValue = TimelineValue(2);

    fn two_batches() -> LaneProgress {
        let mut lane = LaneProgress::new();
        lane.push(Arc::default(), ONE);
        lane.push(Arc::default(), TWO);
        lane
    }

    #[test]
    fn the_thread_of_the_lane_takes_only_batches_that_are_started() {
        let mut lane = two_batches();
        assert!(lane.take_started().is_none());
        assert!(!lane.start(ONE), "the thread does not sleep");
        let taken = lane.take_started().expect("the first batch is started");
        assert_eq!(taken.value, ONE);
        assert!(!lane.end(taken.executor, Ok(ONE)));
        assert!(lane.take_started().is_none(), "the second batch is not started");
    }

    #[test]
    fn one_thread_executes_at_a_time_and_batches_stay_in_order() {
        let mut lane = two_batches();
        let first = lane.take_up_to(TWO).expect("it is free");
        assert_eq!(first.value, ONE);
        assert!(lane.take_up_to(TWO).is_none(), "another thread executes");
        assert!(!lane.end(first.executor, Ok(ONE)));
        assert_eq!(lane.completed().expect("it is not lost"), ONE);
        assert!(lane.take_up_to(ONE).is_none(), "the next value is larger");
        assert_eq!(lane.take_up_to(TWO).expect("it is free").value, TWO);
    }

    #[test]
    fn a_sleeping_thread_is_notified_once_when_it_has_a_batch() {
        let mut lane = two_batches();
        lane.thread_sleeps = true;
        let first = lane.take_up_to(ONE).expect("it is free");
        assert!(!lane.start(TWO), "a caller executes the first batch");
        assert!(lane.end(first.executor, Ok(ONE)), "the second batch is started");
        assert!(!lane.start(TWO), "the thread is already notified");
    }

    #[test]
    fn a_lost_lane_executes_nothing_and_its_thread_ends() {
        let mut lane = two_batches();
        lane.thread_sleeps = true;
        let first = lane.take_up_to(ONE).expect("it is free");
        assert!(lane.end(first.executor, Err(Lost { reason: "a test".into() })));
        assert!(lane.take_up_to(TWO).is_none() && lane.is_over());
    }

    #[test]
    fn the_thread_of_a_closing_lane_ends_after_the_last_batch() {
        let mut lane = two_batches();
        lane.thread_sleeps = true;
        assert!(lane.close());
        for value in [ONE, TWO] {
            assert!(!lane.is_over());
            let taken = lane.take_started().expect("a batch is left");
            assert!(!lane.end(taken.executor, Ok(value)));
        }
        assert!(lane.is_over());
    }
}
