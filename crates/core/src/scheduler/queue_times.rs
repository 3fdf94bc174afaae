//! What a timed queue notes of its commands.

use crate::scheduler::queue_timing::{PointTime, QueueTiming};
use fencepost_sync::Point;

use crate::scheduler::command::{Command, Op};
use crate::scheduler::engine::Engine;
use crate::scheduler::handle_points::PointHistory;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::queue_state::QueueState;
use crate::scheduler::state::State;
use crate::work::step::Work;
use crate::work::time_slot::TimeSlot;
use fencepost_sync::{Slot, Stamp};
use std::sync::Arc;

impl Engine {
    /// As [`marker`](Self::marker), with the moment at which the queue is there if it is timed, or the event is.
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

    /// Has the launches of a queue noted from now on; whether they were not already.
    pub(crate) fn start_tuning(&self, slot: Slot) -> bool {
        let mut state = self.lock();
        let timing = state.queue_mut(slot).timing.get_or_insert_with(|| QueueTiming::for_notes(true));
        let started = timing.tuned.is_none();
        timing.tuned.get_or_insert_default();
        started
    }

    /// Ends that: the times of the launches, and the point behind them.
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
    /// The end of a queue's last command if that is not known to be over; else the moment at which the device comes by,
    /// which a command of its own finds out. That one wakes nobody: it is for what comes next.
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
            None => (queue.enqueued(), Arc::default()), // never recorded, and waiting for it says why
        };
        let queue = self.queue(slot);
        PointTime { queue: queue.label.clone(), lane: queue.lane, stamp, time }
    }
}

impl State {
    /// Puts work at the end of a queue that is watched.
    #[cold]
    pub(crate) fn push_timed(&mut self, by: Admission, stamp: Stamp, work: Work) {
        let (bytes, queue) = (work.bytes(), self.queue_mut(by.slot));
        let (op, time) = if takes_time(&work) {
            let (op, time) = queue.with_time(stamp, work);
            (op, Some(time))
        } else {
            if let Work::WgpuCommands(_) = work {
                queue.end_times(); // what the program has recorded is timed by what comes around it
            }
            (Op::Work(work), None)
        };
        queue.push(Command { stamp, op });
        self.note_work(by, stamp, bytes, time.as_ref());
    }
}

impl QueueState {
    /// Whether its events have times.
    fn is_timed(&self) -> bool {
        self.timing.as_ref().is_some_and(|timing| timing.marked)
    }

    fn with_time(&mut self, stamp: Stamp, work: Work) -> (Op, Arc<TimeSlot>) {
        let (time, mut clocked) = (Arc::<TimeSlot>::default(), true);
        if let Some(timing) = &mut self.timing {
            if let (Some(tuned), Work::Launch(_)) = (&mut timing.tuned, &work) {
                tuned.push(time.clone());
            }
            (timing.last, clocked) = (Some((stamp, time.clone())), timing.clocked);
        }
        (QueueTiming::op(work, &time, clocked), time)
    }

    /// Notes that the queue waits for something: the end of its last command is not the end of that.
    pub(crate) fn end_times(&mut self) {
        if let Some(timing) = &mut self.timing {
            timing.last = None;
        }
    }
}

/// Whether a device does anything of ours for a command; else nobody can say when.
fn takes_time(work: &Work) -> bool {
    match work {
        Work::WgpuCommands(_) => false,
        Work::Read { src, .. } => !src.block.direct(),
        _ => true,
    }
}
