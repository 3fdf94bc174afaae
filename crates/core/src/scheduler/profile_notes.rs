//! Records commands and batches while a context is profiled.
use crate::error::site::CommandKind;
use crate::scheduler::command::{Callback, Command, Op};
use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::priority::Priority;
use crate::scheduler::profile_log::{
    BatchTimes, CallTime, NotedCommand, ProfileEntry, ProfileEvent, ProfileNotes, QueueKey,
};
use crate::scheduler::queue_state::PointProgress;
use crate::scheduler::queue_timing::QueueTiming;
use crate::scheduler::state::State;
use crate::scheduler::user_signal::UserSignal;
use crate::scheduler::wait_target::Caller;
use crate::work::step::Work;
use crate::work::time_slot::TimeSlot;
use fencepost_profile::WaitCause;
use fencepost_sync::prim::{MutexGuard, lock};
use fencepost_sync::{Point, Seq, Slot, Stamp};
use std::panic::Location;
use std::sync::Arc;
use web_time::Instant;

impl Engine {
    /// Starts noting every enqueued command. Returns the number of notes so far.
    pub(crate) fn start_notes(&self) -> usize {
        let clocked = self.device.caps().timestamps;
        let mut state = self.lock();
        let log = state.log.get_or_insert_default();
        log.profilers += 1;
        log.readers += 1;
        let from = log.entries.len();
        state.queues.for_each(|queue| {
            queue.timing.get_or_insert_with(|| QueueTiming::for_notes(clocked));
        });
        from
    }

    /// Stops noting for one profiler. Returns the number of notes and the ends of all queues. Notes continue while
    /// another profiler exists. Batches are noted while a reader exists.
    pub(crate) fn stop_notes(&self) -> (usize, Vec<Point>) {
        let mut state = self.lock();
        let Some(log) = &mut state.log else { return (0, Vec::new()) };
        log.profilers -= 1;
        let (upto, last) = (log.entries.len(), log.profilers == 0);
        if last {
            state.queues.for_each(|queue| _ = queue.timing.take_if(|timing| timing.for_notes_only()));
        }
        (upto, state.ends())
    }

    /// Removes a reader of the notes. The last one drops the log.
    pub(crate) fn leave_notes(&self) {
        let mut state = self.lock();
        let Some(log) = &mut state.log else { return };
        log.readers -= 1;
        debug_assert!(log.profilers <= log.readers, "bug: a profiler stops reading before it stops noting");
        let over = if log.readers == 0 { state.log.take() } else { None };
        drop(state);
        drop(over);
    }

    /// Returns the notes from `from` to `upto` and the times of the batches.
    pub(crate) fn notes(&self, from: usize, upto: usize) -> ProfileNotes {
        let state = self.lock();
        let Some(log) = &state.log else { return ProfileNotes::default() };
        ProfileNotes { entries: log.entries[from..upto].to_vec(), batches: log.batches.clone() }
    }

    /// Makes the device read its clock before any command planned from now on, and flushes that command. Returns
    /// `None` if the device has no clock.
    pub(crate) fn sample_clock(&self) -> Option<(Point, Arc<TimeSlot>)> {
        let state = self.lock();
        if !self.device.caps().timestamps || state.check(Slot::CONTEXT).is_err() {
            return None;
        }
        Some(self.look_at_clock(state, Slot::CONTEXT))
    }

    /// Makes the device read its clock after `ends`, on a queue of its own, so that no later command delays it. Flushes
    /// that command. Returns `None` if the device has no clock.
    pub(crate) fn sample_clock_behind(&self, ends: &[Point]) -> Option<(Point, Arc<TimeSlot>)> {
        if !self.device.caps().timestamps {
            return None;
        }
        let slot = self.helper("end of a profile", Priority::Normal).ok()?;
        let mut state = self.lock();
        let ends: Vec<Point> =
            ends.iter().copied().filter(|&end| state.reached(end) != PointProgress::Done).collect();
        for end in ends {
            let stamp = state.next_stamp();
            state.queue_mut(slot).push(Command { stamp, op: Op::Wait(end) });
        }
        state.queue_mut(slot).open = false;
        Some(self.look_at_clock(state, slot))
    }

    /// Enqueues and flushes a timed command without work.
    fn look_at_clock(&self, mut state: MutexGuard<'_, State>, slot: Slot) -> (Point, Arc<TimeSlot>) {
        let stamp = state.next_stamp();
        let time = Arc::<TimeSlot>::default();
        let op = QueueTiming::op(Work::Nothing, &time, true);
        state.queue_mut(slot).push(Command { stamp, op });
        let point = Point { slot, stamp };
        self.submit_up_to(state, point, Caller::Continues);
        (point, time)
    }
}

impl State {
    /// Returns `true` if enqueued commands are noted.
    pub(crate) fn is_noting(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.profilers > 0)
    }

    /// Notes a command.
    pub(crate) fn note_work(
        &mut self,
        by: Admission,
        stamp: Stamp,
        bytes: Option<u64>,
        time: Option<&Arc<TimeSlot>>,
    ) {
        if !self.is_noting() {
            return;
        }
        let kernel = match by.what {
            CommandKind::Launch(id) | CommandKind::Replay(id) => Some(self.kernels.get(id)),
            _ => None,
        };
        let noted = NotedCommand { what: by.what, kernel, bytes, time: time.cloned() };
        self.note(by.slot, by.at, stamp, || ProfileEvent::Command(noted));
    }

    /// Notes a command that the host executed during the call.
    pub(crate) fn note_in_place(&mut self, by: Admission, bytes: u64) {
        if self.log.is_some() {
            let stamp = self.next_stamp();
            self.note_work(by, stamp, Some(bytes), None);
        }
    }

    /// Notes a wait that is about to be enqueued.
    pub(crate) fn note_wait(
        &mut self,
        slot: Slot,
        point: Point,
        cause: WaitCause,
        at: &'static Location<'static>,
    ) {
        if self.log.is_some() {
            let (stamp, label) = (self.next_stamp(), self.label_of(point));
            self.note(slot, at, stamp, || ProfileEvent::Wait { point, label, cause });
        }
    }

    /// Notes a wait for a user event.
    pub(crate) fn note_user_wait(
        &mut self,
        slot: Slot,
        event: &Arc<UserSignal>,
        at: &'static Location<'static>,
    ) {
        if self.log.is_some() {
            let stamp = self.next_stamp();
            self.note(slot, at, stamp, || ProfileEvent::UserWait(event.clone()));
        }
    }

    /// Notes a callback and makes it record its times when it runs.
    pub(crate) fn note_callback(
        &mut self,
        slot: Slot,
        callback: Callback,
        at: &'static Location<'static>,
    ) -> Callback {
        if !self.is_noting() {
            return callback;
        }
        let (stamp, time) = (self.next_stamp(), Arc::<CallTime>::default());
        self.note(slot, at, stamp, || ProfileEvent::Callback(time.clone()));
        Callback::new(move || {
            let start = Instant::now();
            callback.call();
            *lock(&time.0) = Some((start, Instant::now()));
        })
    }

    pub(crate) fn note(
        &mut self,
        slot: Slot,
        at: &'static Location<'static>,
        stamp: Stamp,
        noted: impl FnOnce() -> ProfileEvent,
    ) {
        let queue = self.queue(slot);
        let (label, lane, born) = (queue.label.clone(), queue.lane, queue.born);
        if let Some(log) = self.log.as_deref_mut().filter(|log| log.profilers > 0) {
            let (queue, enqueued) = (QueueKey { slot, born }, Instant::now());
            let entry = ProfileEntry { queue, label, lane, stamp, at, enqueued, noted: noted() };
            log.entries.push(Arc::new(entry));
        }
    }

    /// Notes the submission of a batch.
    pub(crate) fn note_submit(&mut self, seq: Seq, lane: usize, submitted: Instant) {
        if let Some(log) = &mut self.log {
            log.batches.insert(seq, BatchTimes { lane, submitted, completed: None });
        }
    }

    /// Notes the completion of a batch.
    pub(crate) fn note_complete(&mut self, seq: Seq) {
        if let Some(batch) = self.log.as_mut().and_then(|log| log.batches.get_mut(&seq)) {
            batch.completed = Some(Instant::now());
        }
    }
}
