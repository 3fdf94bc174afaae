//! Records the times of the commands of a timed queue.

use crate::scheduler::queue_timing::{PointTime, QueueTiming};
use fencepost_sync::Point;

use crate::scheduler::command::{Command, Op};
use crate::scheduler::engine::Engine;
use crate::scheduler::failure_history::PointHistory;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::queue_state::QueueState;
use crate::scheduler::state::State;
use crate::work::step::Work;
use crate::work::time_slot::TimeSlot;
use fencepost_sync::{Slot, Stamp};
use std::sync::Arc;

impl Engine {
    /// Like [`marker`](Self::marker), with a time if the queue or the event is timed.
    pub(crate) fn timed_marker(
        &self,
        slot: Slot,
        timed: bool,
    ) -> (Point, Arc<PointHistory>, Option<Arc<PointTime>>) {
        let clocked = timed && self.device.caps().timestamps;
        let mut state = self.lock();
        let (point, past) = state.marker(slot);
        let moment = (clocked || state.queue(slot).is_timed()).then(|| Arc::new(state.moment(slot)));
        (point, past, moment)
    }

    /// Starts noting the launches of a queue. Returns `true` if they were not noted before.
    pub(crate) fn start_tuning(&self, slot: Slot) -> bool {
        let mut state = self.lock();
        let timing = state.queue_mut(slot).timing.get_or_insert_with(|| QueueTiming::for_notes(true));
        let started = timing.tuned.is_none();
        timing.tuned.get_or_insert_default();
        started
    }

    /// Stops noting launches. Returns their times and the point after them.
    pub(crate) fn stop_tuning(&self, slot: Slot) -> Option<(Point, Arc<PointHistory>, Vec<Arc<TimeSlot>>)> {
        let mut state = self.lock();
        let noting = state.is_noting();
        let timing = &mut state.queue_mut(slot).timing;
        let tuned = timing.as_mut()?.tuned.take()?;
        timing.take_if(|timing| timing.for_notes_only() && !noting);
        let (point, past) = state.marker(slot);
        Some((point, past, tuned))
    }
}

impl State {
    /// Returns the time slot of a queue's last command if its completion is not known. Otherwise enqueues a timestamp
    /// command, which triggers no submission and runs with the next batch.
    fn moment(&mut self, slot: Slot) -> PointTime {
        let lets_in = self.check(slot).is_ok();
        let queue = self.queue(slot);
        let running = queue.timing.as_ref().and_then(|timing| timing.last.clone());
        let running = running.filter(|(stamp, _)| *stamp > queue.completed());
        let (stamp, time) = match running {
            Some(last) => last,
            None if lets_in => {
                let stamp = self.next_stamp();
                let queue = self.queue_mut(slot);
                let (op, time) = queue.with_time(stamp, Work::Nothing);
                queue.push(Command { stamp, op });
                (stamp, time)
            }
            // The slot is never recorded, and a wait for the marker returns the error.
            None => (queue.enqueued(), Arc::default()),
        };
        let queue = self.queue(slot);
        PointTime { queue: queue.label.clone(), lane: queue.lane, stamp, time }
    }

    /// Appends work to a timed queue.
    #[cold]
    pub(crate) fn push_timed(&mut self, by: Admission, stamp: Stamp, work: Work) {
        let (bytes, queue) = (work.bytes(), self.queue_mut(by.slot));
        let (op, time) = if takes_time(&work) {
            let (op, time) = queue.with_time(stamp, work);
            (op, Some(time))
        } else {
            if let Work::WgpuCommands(_) = work {
                queue.end_times(); // the program's own commands are timed by the commands around them
            }
            (Op::Work(work), None)
        };
        queue.push(Command { stamp, op });
        self.note_work(by, stamp, bytes, time.as_ref());
    }
}

impl QueueState {
    /// Returns `true` if the markers of the queue have times.
    fn is_timed(&self) -> bool {
        self.timing.as_ref().is_some_and(|timing| timing.marked)
    }

    fn with_time(&mut self, stamp: Stamp, work: Work) -> (Op, Arc<TimeSlot>) {
        let (time, mut clocked) = (Arc::<TimeSlot>::default(), true);
        if let Some(timing) = &mut self.timing {
            if let (Some(tuned), Work::Launch(_)) = (&mut timing.tuned, &work) {
                tuned.push(time.clone());
            }
            timing.last = Some((stamp, time.clone()));
            clocked = timing.clocked;
        }
        (QueueTiming::op(work, &time, clocked), time)
    }

    /// Records that the last timed command no longer ends the queue, because another command follows.
    pub(crate) fn end_times(&mut self) {
        if let Some(timing) = &mut self.timing {
            timing.last = None;
        }
    }
}

/// Returns `true` if a step of the library executes `work` on the device. Only such a step can be timed.
fn takes_time(work: &Work) -> bool {
    match work {
        Work::WgpuCommands(_) => false,
        Work::Read { src, .. } => !src.block.direct(),
        _ => true,
    }
}
