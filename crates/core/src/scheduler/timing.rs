//! What a timed queue notes of its commands.

use super::engine::Engine;
use super::queue::QueueState;
use super::state::State;
use crate::command::{Command, Op, TimeSlot, Timed, Work};
use crate::event::Point;
use fencepost_sync::{Clock, Slot, Stamp};
use std::sync::Arc;

/// The times of a queue's commands.
#[derive(Default)]
pub(crate) struct Timing {
    /// The last command, unless the queue waits for something since.
    last: Option<(Stamp, Arc<TimeSlot>)>,
}

/// When a queue is past a point.
pub(crate) struct Moment {
    pub(crate) queue: Arc<str>,
    pub(crate) lane: usize,
    /// The command whose end it is.
    pub(crate) stamp: Stamp,
    pub(crate) time: Arc<TimeSlot>,
}

impl Engine {
    /// As [`marker`](Self::marker), with the moment at which a timed queue is there.
    pub(crate) fn timed_marker(&self, slot: Slot) -> (Point, Arc<Clock>, Option<Arc<Moment>>) {
        let mut state = self.lock();
        let (point, clock) = state.marker(slot);
        let moment = state.queue(slot).timing.is_some().then(|| Arc::new(state.moment(slot)));
        (point, clock, moment)
    }
}

impl State {
    /// The end of a queue's last command if that is not known to be over; else the moment at which the device comes by,
    /// which a command of its own finds out. That one wakes nobody: it is for what comes next.
    fn moment(&mut self, slot: Slot) -> Moment {
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
        Moment { queue: queue.label.clone(), lane: queue.lane, stamp, time }
    }

    /// The label of the queue that a point is of; `None` if that is gone, and another one has its slot.
    pub(crate) fn label_of(&self, point: Point) -> Option<Arc<str>> {
        let queue = self.queue(point.slot);
        (queue.born <= point.stamp).then(|| queue.label.clone())
    }
}

impl QueueState {
    /// What a timed queue makes of work that comes next.
    #[cold]
    pub(super) fn timed(&mut self, stamp: Stamp, work: Work) -> Op {
        match work {
            // What the program has recorded is timed by what comes around it.
            Work::Encoded(_) => self.end_times(),
            _ if takes_time(&work) => return self.with_time(stamp, work).0,
            _ => {}
        }
        Op::Work(work)
    }

    fn with_time(&mut self, stamp: Stamp, work: Work) -> (Op, Arc<TimeSlot>) {
        let time = Arc::<TimeSlot>::default();
        if let Some(timing) = &mut self.timing {
            timing.last = Some((stamp, time.clone()));
        }
        (Op::Timed(Box::new(Timed { work, time: time.clone() })), time)
    }

    /// Notes that the queue waits for something: the end of its last command is not the end of that.
    pub(super) fn end_times(&mut self) {
        if let Some(timing) = &mut self.timing {
            timing.last = None;
        }
    }
}

/// Whether a device does anything for a command; else nobody can say when.
fn takes_time(work: &Work) -> bool {
    !matches!(work, Work::Read { src, .. } if src.block.direct())
}
