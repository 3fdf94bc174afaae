//! Times of commands, queues and replays, and the notes for profiles. S is the state lock.
//!
//! The host clock covers the work that the program knows to be complete.

use crate::error::{CommandKind, Result};
use crate::memory::uses::BlockUse;
use crate::scheduler::batch::{Callback, Command, Op, Timed};
use crate::scheduler::complete::PointHistory;
use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::{Admission, WaitLog};
use crate::scheduler::queue::{PointProgress, QueueState};
use crate::scheduler::queues::Priority;
use crate::scheduler::relay::UserSignal;
use crate::scheduler::state::State;
use crate::scheduler::wait::Caller;
use crate::work::graph::run::{GraphStep, NodeTimes, RunTimes};
use crate::work::step::Work;
use crate::work::time_slot::TimeSlot;
use fencepost_profile::WaitCause;
use fencepost_sync::prim::{Mutex, MutexGuard, lock};
use fencepost_sync::{Clock, Point, Seq, Slot, Stamp};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::panic::Location;
use std::sync::Arc;
use web_time::Instant;

impl Engine {
    /// Takes S and calls [`State::report_done`].
    pub(crate) fn report_done(&self, point: Point, clock: &Clock, answer: &Result<()>) {
        self.lock().report_done(point, clock, answer);
    }

    /// Like [`marker`](Self::marker), but with a time if the queue or the event is timed.
    pub(crate) fn timed_marker(
        &self,
        slot: Slot,
        timed: bool,
    ) -> (Point, Arc<PointHistory>, Option<Arc<PointTime>>) {
        let clocked = timed && self.device.caps().timestamps;
        let mut state = self.lock();
        let (point, past) = state.queues.marker(slot);
        let moment = (clocked || state.queue(slot).is_timed()).then(|| Arc::new(state.moment(slot)));
        (point, past, moment)
    }

    /// Starts noting the launches of a queue. Returns `true` if they were not noted already.
    pub(crate) fn start_tuning(&self, slot: Slot) -> bool {
        let mut state = self.lock();
        let timing = state.queue_mut(slot).timing.get_or_insert_with(|| QueueTiming::for_notes(true));
        let started = timing.tuned.is_none();
        timing.tuned.get_or_insert_default();
        started
    }

    /// Stops noting launches. Returns their times and the point after them.
    pub(crate) fn stop_tuning(&self, slot: Slot) -> Option<(Point, Arc<PointHistory>, TunedLaunches)> {
        let mut state = self.lock();
        let noting = state.notes.is_noting();
        let timing = &mut state.queue_mut(slot).timing;
        let tuned = timing.as_mut()?.tuned.take()?;
        timing.take_if(|timing| timing.for_notes_only() && !noting);
        let (point, past) = state.queues.marker(slot);
        Some((point, past, tuned))
    }

    /// Creates the times of a replay: of all nodes if a profiler is running, else of the timed markers, if there are
    /// any.
    pub(crate) fn time_replay(&self, state: &mut State, by: Admission, whole: &GraphStep) {
        let plan = &whole.run.plan;
        let clocked = self.device.caps().timestamps;
        let noting = state.notes.is_noting();
        if noting || (clocked && !plan.timed_markers.is_empty()) {
            let slots = match noting {
                true => NodeTimes::of_all(plan.nodes.len()),
                false => NodeTimes::of_some(&plan.timed_markers),
            };
            let stamp = state.next_stamp();
            let queue = state.queue(by.slot);
            let times = RunTimes { queue: queue.label.clone(), lane: queue.lane, stamp, clocked, slots };
            let fresh = whole.run.times.set(times).is_ok();
            debug_assert!(fresh, "bug: a run is enqueued twice");
        }
    }

    /// Starts noting every enqueued command. Returns the number of notes so far.
    pub(crate) fn start_notes(&self) -> usize {
        let clocked = self.device.caps().timestamps;
        let mut state = self.lock();
        let from = state.notes.start();
        state.queues.for_each(|queue| {
            queue.timing.get_or_insert_with(|| QueueTiming::for_notes(clocked));
        });
        from
    }

    /// Stops noting commands for one profiler. Returns the number of notes and the ends of all queues. Noting continues
    /// for other profilers. Batches are noted as long as a reader exists.
    pub(crate) fn stop_notes(&self) -> (usize, Vec<Point>) {
        let mut state = self.lock();
        let Some((upto, last)) = state.notes.stop() else { return (0, Vec::new()) };
        if last {
            state.queues.for_each(|queue| _ = queue.timing.take_if(|timing| timing.for_notes_only()));
        }
        (upto, state.queues.ends())
    }

    /// Removes a reader of the notes. The last one drops the log.
    pub(crate) fn leave_notes(&self) {
        let mut state = self.lock();
        let over = state.notes.leave();
        drop(state);
        drop(over);
    }

    /// Returns the notes with the numbers `from..upto`, and the times of the batches.
    pub(crate) fn notes(&self, from: usize, upto: usize) -> ProfileNotes {
        self.lock().notes.between(from, upto)
    }

    /// Makes the device read its clock before any command planned from now on, and flushes. Returns `None` if the
    /// device has no clock.
    pub(crate) fn sample_clock(&self) -> Option<(Point, Arc<TimeSlot>)> {
        let state = self.lock();
        if !self.device.caps().timestamps || state.check(Slot::CONTEXT).is_err() {
            return None;
        }
        Some(self.look_at_clock(state, Slot::CONTEXT))
    }

    /// Makes the device read its clock after `ends`, on a queue of its own, so that no later command delays it. Flushes
    /// that command. Returns `None` if the device has no clock.
    pub(crate) fn sample_clock_after(&self, ends: &[Point]) -> Option<(Point, Arc<TimeSlot>)> {
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
    /// Returns the host clock, which covers everything that the program knows to be complete.
    pub(crate) fn host_clock(&self) -> &Clock {
        &self.host_clock
    }

    /// Updates the host clock before a call for `point` returns `answer` to the program. If the answer is the outcome
    /// of the work itself (success, or the work's own error), the program learns that this work and everything before
    /// it is complete. The error of a refused call or of a lost device says nothing about the work.
    pub(crate) fn report_done(&mut self, point: Point, clock: &Clock, answer: &Result<()>) {
        if answer.as_ref().err().is_none_or(|error| self.queues.is_outcome(point, error)) {
            self.note_done(point, Some(clock));
        }
    }

    /// Adds uses of an array to the host clock. The uses must be complete.
    pub(crate) fn report_uses_done<'a>(&mut self, uses: impl Iterator<Item = &'a BlockUse>) {
        uses.for_each(|earlier| {
            self.note_done(earlier.point(), earlier.origin().map(|origin| &origin.clock))
        });
    }

    /// Adds a point to the host clock if it is done. All reports to the program go through here, so the clock never
    /// covers work that is not done.
    fn note_done(&mut self, point: Point, clock: Option<&Clock>) {
        if self.reached(point) != PointProgress::Done {
            return;
        }
        if let Some(clock) = clock {
            self.host_clock.join(clock);
        }
        self.host_clock.see(point.slot, point.stamp);
    }

    /// Returns the time slot of a queue's last command, if that is not yet known to be complete. Otherwise enqueues a
    /// timestamp command, which causes no submission but runs with the next batch.
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
            // The slot never gets a time; a wait for the marker returns the error.
            None => (queue.enqueued(), Arc::default()),
        };
        let queue = self.queue(slot);
        PointTime { queue: queue.label.clone(), lane: queue.lane, stamp, time }
    }

    /// Appends work to a timed queue.
    #[cold]
    pub(crate) fn push_timed(&mut self, by: Admission, stamp: Stamp, work: Work) {
        let bytes = work.bytes();
        let queue = self.queue_mut(by.slot);
        let (op, time) = if takes_time(&work) {
            let (op, time) = queue.with_time(stamp, work);
            (op, Some(time))
        } else {
            if let Work::WgpuCommands(_) = work {
                queue.end_times(); // commands that the program recorded are timed by the commands around them
            }
            (Op::Work(work), None)
        };
        queue.push(Command { stamp, op });
        self.note_work(by, stamp, bytes, time.as_ref());
    }

    /// Adds a part of a replay to the end of a queue. It is timed if its nodes are timed.
    pub(crate) fn push_replay(&mut self, by: Admission, stamp: Stamp, step: GraphStep) {
        if step.run.times.get().is_none() {
            return self.push_stamped(by, stamp, Work::Graph(Box::new(step)));
        }
        self.push_timed(by, stamp, Work::Graph(Box::new(step.clone())));
        if self.notes.is_noting() {
            self.note_nodes(by, stamp, &step);
        }
    }

    /// Notes the nodes of a part of a replay. The replay itself must already be noted.
    fn note_nodes(&mut self, by: Admission, stamp: Stamp, step: &GraphStep) {
        let plan = &step.run.plan;
        let times = step.run.times.get();
        for at in step.nodes() {
            let node = &plan.nodes[at as usize];
            let command = &*node.command;
            let time = times.and_then(|times| times.slots.of_node(at).cloned());
            if command.is_timed_marker() {
                continue;
            }
            let kernel =
                if let Work::Launch(launch) = &command.work { Some(&launch.kernel().label) } else { None };
            let noted = NotedCommand {
                what: command.what,
                kernel: command.label.as_ref().or(kernel).cloned(),
                bytes: command.work.bytes(),
                time,
            };
            let queue = plan.queues[node.queue as usize].clone();
            self.note(by.slot, command.at, stamp, || ProfileEvent::Node(NotedNode { command: noted, queue }));
        }
    }

    /// Notes a command.
    pub(crate) fn note_work(
        &mut self,
        by: Admission,
        stamp: Stamp,
        bytes: Option<u64>,
        time: Option<&Arc<TimeSlot>>,
    ) {
        if !self.notes.is_noting() {
            return;
        }
        let kernel = match by.what {
            CommandKind::Launch(id) | CommandKind::Replay(id) => Some(self.kernels.get(id)),
            _ => None,
        };
        let noted = NotedCommand { what: by.what, kernel, bytes, time: time.cloned() };
        self.note(by.slot, by.at, stamp, || ProfileEvent::Command(noted));
    }

    /// Notes a command that the host has executed during the call.
    pub(crate) fn note_in_place(&mut self, by: Admission, bytes: u64) {
        if self.notes.profile.is_some() {
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
        if self.notes.profile.is_some() {
            let stamp = self.next_stamp();
            let label = self.queues.label_of(point);
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
        if self.notes.profile.is_some() {
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
        if !self.notes.is_noting() {
            return callback;
        }
        let stamp = self.next_stamp();
        let time = Arc::<CallTime>::default();
        self.note(slot, at, stamp, || ProfileEvent::Callback(time.clone()));
        Callback::new(move || {
            let start = Instant::now();
            callback.call();
            *lock(&time.0) = Some((start, Instant::now()));
        })
    }

    /// Notes an event of a queue, if a profiler is running.
    fn note(
        &mut self,
        slot: Slot,
        at: &'static Location<'static>,
        stamp: Stamp,
        noted: impl FnOnce() -> ProfileEvent,
    ) {
        self.notes.note(slot, &self.queues[slot], at, stamp, noted);
    }
}

impl QueueState {
    /// Notes that a graph is replayed, because tuning does not measure the graph's launches.
    pub(crate) fn note_replay(&mut self) {
        if let Some(tuned) = self.timing.as_mut().and_then(|timing| timing.tuned.as_mut()) {
            tuned.has_replays = true;
        }
    }

    /// Returns `true` if the markers of the queue have times.
    fn is_timed(&self) -> bool {
        self.timing.as_ref().is_some_and(|timing| timing.marked)
    }

    fn with_time(&mut self, stamp: Stamp, work: Work) -> (Op, Arc<TimeSlot>) {
        let time = Arc::<TimeSlot>::default();
        let mut clocked = true;
        if let Some(timing) = &mut self.timing {
            if let (Some(tuned), Work::Launch(_)) = (&mut timing.tuned, &work) {
                tuned.times.push(time.clone());
            }
            timing.last = Some((stamp, time.clone()));
            clocked = timing.clocked;
        }
        (QueueTiming::op(work, &time, clocked), time)
    }

    /// Records that the last timed command is no longer the end of the queue, because another command follows.
    pub(crate) fn end_times(&mut self) {
        if let Some(timing) = &mut self.timing {
            timing.last = None;
        }
    }
}

/// Returns `true` if `work` is a step that the library executes on the device. Only such steps can be timed.
fn takes_time(work: &Work) -> bool {
    match work {
        Work::WgpuCommands(_) => false,
        Work::Read { src, .. } => !src.block.direct(),
        _ => true,
    }
}

/// Times of a queue's commands.
pub(crate) struct QueueTiming {
    /// `true` if the program wants the times of markers, `false` if only a profiler needs the times.
    pub(crate) marked: bool,
    /// `true` if the device has a clock.
    pub(crate) clocked: bool,
    /// Stamp and time of the last timed command, unless a wait, a callback or untimed work follows it.
    pub(crate) last: Option<(Stamp, Arc<TimeSlot>)>,
    /// Times of the launches since tuning started.
    pub(crate) tuned: Option<TunedLaunches>,
}

/// Launches of a queue since its tuning started.
#[derive(Default)]
pub(crate) struct TunedLaunches {
    pub(crate) times: Vec<Arc<TimeSlot>>,
    /// `true` if a graph was replayed, whose launches are not measured.
    pub(crate) has_replays: bool,
}

impl QueueTiming {
    /// Returns the timing of a queue whose events report times.
    pub(crate) fn for_events() -> Box<Self> {
        Box::new(Self { marked: true, clocked: true, last: None, tuned: None })
    }

    /// Returns the timing of a queue whose commands are timed only for a profiler.
    pub(crate) fn for_notes(clocked: bool) -> Box<Self> {
        Box::new(Self { marked: false, clocked, last: None, tuned: None })
    }

    /// Returns `true` if neither an event nor tuning needs the times.
    pub(crate) fn for_notes_only(&self) -> bool {
        !self.marked && self.tuned.is_none()
    }

    /// Returns a command that stores its time in `time`.
    pub(crate) fn op(work: Work, time: &Arc<TimeSlot>, clocked: bool) -> Op {
        Op::Timed(Box::new(Timed { work, time: time.clone(), clocked }))
    }
}

/// Time at which a queue passes a point.
pub(crate) struct PointTime {
    pub(crate) queue: Arc<str>,
    pub(crate) lane: usize,
    /// Stamp of the command at the point.
    pub(crate) stamp: Stamp,
    pub(crate) time: Arc<TimeSlot>,
}

/// Notes of a context, kept while a profiler or a reader of the notes exists.
#[derive(Default)]
pub(crate) struct ProfileLog {
    /// Number of running profilers: `profilers <= readers`, because each of them is a reader too.
    pub(crate) profilers: usize,
    /// Number of readers of the notes. The last one drops the log.
    pub(crate) readers: usize,
    pub(crate) entries: Vec<Arc<ProfileEntry>>,
    pub(crate) batches: FxHashMap<Seq, BatchTimes>,
}

/// Notes of a context about its work, for profiles and wait reports.
///
/// `profile` and `waits` are `None` until the program asks for notes, so that there is no cost before.
#[derive(Default)]
pub(crate) struct ContextNotes {
    /// Notes for profiles, while a profiler or a reader of the notes exists.
    pub(crate) profile: Option<Box<ProfileLog>>,
    /// All waits so far, if the program wants a wait report.
    pub(crate) waits: Option<Box<WaitLog>>,
    /// Number of commands that were compared with the earlier uses of their bytes.
    pub(crate) compared: Cell<u64>,
}

impl ContextNotes {
    /// Counts a command that is compared with the earlier uses of its bytes.
    pub(crate) fn count_compared(&self) {
        self.compared.set(self.compared.get() + 1);
    }

    /// Returns `true` if enqueued commands are noted.
    pub(crate) fn is_noting(&self) -> bool {
        self.profile.as_ref().is_some_and(|log| log.profilers > 0)
    }

    /// Adds a profiler. Returns the number of notes so far.
    fn start(&mut self) -> usize {
        let log = self.profile.get_or_insert_default();
        log.profilers += 1;
        log.readers += 1;
        log.entries.len()
    }

    /// Ends a profiler, which remains a reader. Returns the number of notes, and `true` if no profiler is left.
    fn stop(&mut self) -> Option<(usize, bool)> {
        let log = self.profile.as_mut()?;
        log.profilers -= 1;
        Some((log.entries.len(), log.profilers == 0))
    }

    /// Removes a reader. Returns the log, to be dropped, if no reader is left.
    fn leave(&mut self) -> Option<Box<ProfileLog>> {
        let log = self.profile.as_mut()?;
        log.readers -= 1;
        debug_assert!(log.profilers <= log.readers, "bug: a profiler stops reading before it stops noting");
        if log.readers == 0 { self.profile.take() } else { None }
    }

    /// Returns the notes with the numbers `from..upto`, and the times of the batches.
    fn between(&self, from: usize, upto: usize) -> ProfileNotes {
        let Some(log) = &self.profile else { return ProfileNotes::default() };
        ProfileNotes { entries: log.entries[from..upto].to_vec(), batches: log.batches.clone() }
    }

    /// Notes an event of a queue, if a profiler is running.
    fn note(
        &mut self,
        slot: Slot,
        of: &QueueState,
        at: &'static Location<'static>,
        stamp: Stamp,
        noted: impl FnOnce() -> ProfileEvent,
    ) {
        if let Some(log) = self.profile.as_deref_mut().filter(|log| log.profilers > 0) {
            let queue = QueueKey { slot, born: of.born };
            let label = of.label.clone();
            let enqueued = Instant::now();
            let entry = ProfileEntry { queue, label, lane: of.lane, stamp, at, enqueued, noted: noted() };
            log.entries.push(Arc::new(entry));
        }
    }

    /// Notes the submission of a batch.
    pub(crate) fn note_submit(&mut self, seq: Seq, lane: usize, submitted: Instant) {
        if let Some(log) = &mut self.profile {
            log.batches.insert(seq, BatchTimes { lane, submitted, completed: None });
        }
    }

    /// Notes the completion of a batch.
    pub(crate) fn note_complete(&mut self, seq: Seq) {
        if let Some(batch) = self.profile.as_mut().and_then(|log| log.batches.get_mut(&seq)) {
            batch.completed = Some(Instant::now());
        }
    }
}

/// A noted command, wait or callback.
pub(crate) struct ProfileEntry {
    pub(crate) queue: QueueKey,
    pub(crate) label: Arc<str>,
    pub(crate) lane: usize,
    pub(crate) stamp: Stamp,
    pub(crate) at: &'static Location<'static>,
    pub(crate) enqueued: Instant,
    pub(crate) noted: ProfileEvent,
}

/// The noted event.
pub(crate) enum ProfileEvent {
    Command(NotedCommand),
    /// A node. Its graph's replay is the last command that was noted before it.
    Node(NotedNode),
    Wait {
        point: Point,
        label: Option<Arc<str>>,
        cause: WaitCause,
    },
    UserWait(Arc<UserSignal>),
    Callback(Arc<CallTime>),
}

/// A noted command that a device or the host executes.
pub(crate) struct NotedCommand {
    pub(crate) what: CommandKind,
    /// Name of the launched kernel or of the node.
    pub(crate) kernel: Option<Arc<str>>,
    pub(crate) bytes: Option<u64>,
    /// Device times of the command, or `None` if the host executes it.
    pub(crate) time: Option<Arc<TimeSlot>>,
}

/// A node of a noted replay.
pub(crate) struct NotedNode {
    pub(crate) command: NotedCommand,
    /// Label of the captured queue.
    pub(crate) queue: Arc<str>,
}

/// Key of a queue: its slot and the stamp of its creation, because several queues may use a slot in turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct QueueKey {
    pub(crate) slot: Slot,
    pub(crate) born: Stamp,
}

/// Start and end of a host callback, once it has run.
#[derive(Default)]
pub(crate) struct CallTime(pub(crate) Mutex<Option<(Instant, Instant)>>);

/// Host times of one batch.
#[derive(Clone, Copy)]
pub(crate) struct BatchTimes {
    pub(crate) lane: usize,
    /// Time right before the batch was recorded and submitted.
    pub(crate) submitted: Instant,
    /// Time at which the host saw the completion.
    pub(crate) completed: Option<Instant>,
}

/// A range of the notes in the log.
#[derive(Default)]
pub(crate) struct ProfileNotes {
    pub(crate) entries: Vec<Arc<ProfileEntry>>,
    pub(crate) batches: FxHashMap<Seq, BatchTimes>,
}

impl ProfileNotes {
    /// Returns the noted commands, and the nodes of noted replays.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &NotedCommand> {
        self.entries.iter().filter_map(|entry| match &entry.noted {
            ProfileEvent::Command(command) | ProfileEvent::Node(NotedNode { command, .. }) => Some(command),
            _ => None,
        })
    }
}

impl CallTime {
    pub(crate) fn get(&self) -> Option<(Instant, Instant)> {
        *lock(&self.0)
    }
}

#[cfg(test)]
mod host_clock_tests {
    use super::*;
    use crate::error::{Error, ErrorDetail};
    use crate::memory::uses::Policy;
    use crate::scheduler::test_engine::{engine_with, queues};
    use fencepost_sync::{Slot, Stamp};
    use std::sync::Arc;

    fn engine() -> (Arc<Engine>, Slot, Slot) {
        let engine = engine_with(Policy::Checked, false);
        let [one, two] = queues(&engine);
        (engine, one, two)
    }

    fn refusal() -> Error {
        ErrorDetail::WouldDeadlock { callbacks: vec!["one".into()], queue: "one".into() }.into()
    }

    /// Returns a complete point of `slot`, a clock that covers a stamp of `other`, and that stamp.
    fn over(engine: &Engine, slot: Slot, other: Slot) -> (Point, Clock, Stamp) {
        let (point, _) = engine.marker(slot);
        let mut clock = Clock::default();
        let stamp = Stamp(1);
        clock.see(other, stamp);
        (point, clock, stamp)
    }

    fn knows(engine: &Engine, slot: Slot, stamp: Stamp) -> bool {
        engine.lock().host_clock().covers(slot, stamp)
    }

    #[test]
    fn p02_a_success_reports_the_work_and_all_before_it_as_complete() {
        let (engine, one, two) = engine();
        let (point, clock, stamp) = over(&engine, one, two);
        assert!(!knows(&engine, one, point.stamp) && !knows(&engine, two, stamp));
        engine.report_done(point, &clock, &Ok(()));
        assert!(knows(&engine, one, point.stamp) && knows(&engine, two, stamp));
    }

    #[test]
    fn p02_an_error_reports_the_work_as_complete_only_if_it_is_the_works_own() {
        let (engine, one, two) = engine();
        let (point, clock, stamp) = over(&engine, one, two);
        engine.report_done(point, &clock, &Err(refusal()));
        assert!(!knows(&engine, one, point.stamp), "the work has succeeded");
        let own = refusal();
        engine.lock().fail_queue(one, point.stamp, own.clone());
        engine.report_done(point, &clock, &Err(refusal()));
        assert!(!knows(&engine, one, point.stamp), "the error only has the same kind");
        engine.report_done(point, &clock, &Err(own));
        assert!(knows(&engine, one, point.stamp) && knows(&engine, two, stamp));
    }

    #[test]
    fn p01_work_that_is_not_done_is_never_reported_as_complete() {
        let (engine, one, two) = engine();
        let (point, clock, stamp) = over(&engine, one, two);
        let later = Point { stamp: Stamp(point.stamp.0 + 1), ..point };
        engine.report_done(later, &clock, &Ok(()));
        assert!(!knows(&engine, one, point.stamp) && !knows(&engine, two, stamp));
    }
}

#[cfg(test)]
mod replay_times_tests {
    use super::*;
    use crate::error::CommandKind;
    use crate::scheduler::test_engine::{block, engine, fill, graph_plan, graph_run, here, node, queue};
    use crate::scheduler::times::ProfileLog;
    use crate::work::graph::plan::PlanParts;

    /// Enqueues a replay of fills with a timed marker after the first one. Returns the number of time slots.
    fn slots(engine: &Engine, fills: usize) -> usize {
        let block = block();
        let mut nodes: Vec<_> = (0..fills).map(|_| node(fill(&block), CommandKind::Inspect)).collect();
        nodes.insert(1, node(Work::Nothing, CommandKind::Inspect));
        let run = graph_run(graph_plan(PlanParts::of_one_queue(nodes)));
        let slot = queue(engine);
        let by = Admission { slot, what: CommandKind::Replay(engine.new_kernel("graph").0), at: here() };
        engine.enqueue_replay(by, &run, Vec::new(), &[], Vec::new()).expect("the queue has not failed");
        run.times.get().map_or(0, |times| times.slots.len())
    }

    #[test]
    fn t04_a_replay_has_times_of_its_timed_markers_alone_unless_it_is_profiled() {
        let engine = engine(false);
        assert_eq!((slots(&engine, 1), slots(&engine, 1000)), (1, 1));
        engine.lock().notes.profile =
            Some(Box::new(ProfileLog { profilers: 1, readers: 1, ..ProfileLog::default() }));
        assert_eq!(slots(&engine, 1000), 1001);
    }
}
