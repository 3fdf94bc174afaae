//! Profilers, and the profile that is built from the notes of a context.

use crate::api::context::Context;
use crate::error::{CommandKind, ErrorDetail, Result};
use crate::runtime::owner::Owner;
use crate::runtime::pending::{LateSteps, Pending, WaitMode, WakerRegistration, late};
use crate::scheduler::engine::Engine;
use crate::scheduler::times::{NotedCommand, NotedNode, ProfileEntry, ProfileEvent, ProfileNotes, QueueKey};
use crate::work::time_slot::{Ticks, TimeSlot};
use fencepost_profile::{
    Activity, Awaited, ClockBounds, ClockFit, Interval, Profile, ProfileBatch, Row, Unmeasured, WaitCause,
};
use fencepost_sync::{Point, Seq, Slot, Stamp};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use web_time::Instant;

/// A recorder of everything that is enqueued on the queues of a context, from [`Context::profile`] until the profiler
/// is finished or dropped.
#[must_use = "a profiler that is dropped at once records nothing"]
pub struct Profiler {
    /// `None` once the profiler is finished.
    notes: Option<NotesReader>,
}

/// The notes of a finished profiler, which are complete once the queues have reached `points`.
struct Finishing {
    registration: WakerRegistration,
    notes: NotesReader,
    /// Number of notes when `finish` was called. Later notes are not in the profile.
    upto: usize,
    seconds: f64,
    points: Vec<Point>,
}

impl Context {
    /// Starts to record everything that is enqueued on the queues of this context, until the profiler is finished.
    /// Meanwhile all queues are timed, even without `timing` in their options. Until the profile is made, each command
    /// takes a few hundred bytes of host memory. Several profilers can run at once. Without a profiler, nothing is
    /// recorded, at no cost.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 1>([1024])?;
    /// let profiler = ctx.profile();
    /// queue.fill(&mut x, 7)?;
    /// let profile = profiler.finish().wait()?;
    /// assert_eq!(profile.rows.len(), 1);
    /// assert!(profile.rows[0].time.is_ok());
    /// assert!(profile.summary().to_string().contains("fill"));       // a table by kernel and kind
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn profile(&self) -> Profiler {
        let owner = self.owner.clone();
        let epoch = Instant::now();
        let engine = owner.engine();
        let from = engine.start_notes();
        let looks = engine.sample_clock().map(|(_, look)| look).into_iter().collect();
        Profiler { notes: Some(NotesReader { owner, epoch, from, looks }) }
    }
}

impl Profiler {
    /// *Flushes* all queues, and returns the profile once everything enqueued so far is complete. Later commands are
    /// not in the profile.
    ///
    /// # Errors
    /// [`ErrorDetail::DeviceLost`]. Failed work is in the profile, but without times.
    pub fn finish(mut self) -> Pending<Profile> {
        let mut notes = self.notes.take().expect("bug: a profiler is finished twice");
        let (upto, mut points) = notes.engine().stop_notes();
        let seconds = notes.epoch.elapsed().as_secs_f64();
        // The first sample of the device's clock was taken at the start. The two show how the clocks drift apart.
        if let Some((point, look)) = notes.engine().sample_clock_after(&points) {
            notes.looks.push(look);
            points.push(point);
        }
        late(Finishing { registration: WakerRegistration::default(), notes, upto, seconds, points })
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        if let Some(notes) = &self.notes {
            notes.engine().stop_notes();
        }
    }
}

impl Finishing {
    fn report(&self) -> Result<Profile> {
        let engine = self.notes.engine();
        engine.lock().check_not_lost()?;
        let notes = engine.notes(self.notes.from, self.upto);
        Ok(of(engine, &self.notes, &notes, self.seconds))
    }
}

/// Treats failed work as ended. A lost device, and a wait that can never end, remain errors.
fn ignore_failed_work(result: Result<()>) -> Result<()> {
    match result {
        Err(error)
            if matches!(
                error.detail(),
                ErrorDetail::DeviceLost { .. }
                    | ErrorDetail::WouldDeadlock { .. }
                    | ErrorDetail::WaitInGuard { .. }
                    | ErrorDetail::Pending(_)
            ) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

impl LateSteps<Profile> for Finishing {
    fn advance(&mut self, mode: &WaitMode<'_>) -> Option<Result<Profile>> {
        while let Some(&point) = self.points.last() {
            let result = mode.for_point(self.notes.engine(), point, &mut self.registration)?;
            if let Err(error) = ignore_failed_work(result) {
                return Some(Err(error));
            }
            self.points.pop();
        }
        Some(self.report())
    }
}

/// A reader of a part of the context's notes. The context keeps its notes while a reader exists.
pub(crate) struct NotesReader {
    pub(crate) owner: Owner,
    /// Start of the profiler: time 0 of the profile.
    pub(crate) epoch: Instant,
    /// Number of notes when the profiler started. Earlier notes are not in the profile.
    pub(crate) from: usize,
    /// Samples of the device's clock at the start and at the end.
    pub(crate) looks: Vec<Arc<TimeSlot>>,
}

impl NotesReader {
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        self.owner.engine()
    }
}

impl Drop for NotesReader {
    fn drop(&mut self) {
        self.engine().leave_notes();
    }
}

/// Returns the profile of the notes.
pub(crate) fn of(engine: &Engine, taking: &NotesReader, notes: &ProfileNotes, seconds: f64) -> Profile {
    let mut report = ProfileBuilder::new(engine, taking, notes);
    for (at, entry) in notes.entries.iter().enumerate() {
        match &entry.noted {
            ProfileEvent::Node(node) => report.add_node(at, entry, node),
            _ => report.add(at, entry),
        }
    }
    let adapter = format!("{}, recorder {}", engine.device.caps().adapter, engine.device.recorder());
    let clock_error = report.axes.values().map(|axis| axis.error).reduce(f64::max);
    Profile::new(adapter, report.rows, report.batches, seconds, clock_error)
}

/// A profile under construction. `add` appends the row of one note.
struct ProfileBuilder<'a> {
    epoch: Instant,
    /// `true` if the device has timestamps.
    clocked: bool,
    notes: &'a ProfileNotes,
    /// For each lane, the conversion from its ticks to the host's time.
    axes: FxHashMap<usize, ClockFit>,
    /// Index in `batches` of each batch.
    places: FxHashMap<Seq, usize>,
    queues: FxHashMap<QueueKey, QueueRows>,
    /// Number of each captured queue, by the queue of its replay and its own label.
    captured: FxHashMap<(QueueKey, Arc<str>), usize>,
    /// Row of the last replay.
    replay: Option<usize>,
    /// Number of commands on each level. A level is a batch and the tick at which its commands started.
    levels: FxHashMap<(Seq, u64), usize>,
    rows: Vec<Row>,
    batches: Vec<ProfileBatch>,
}

/// The rows of a queue that were added so far.
#[derive(Default)]
struct QueueRows {
    number: usize,
    rows: Vec<QueueRow>,
}

/// A row, as its queue remembers it.
#[derive(Clone, Copy)]
struct QueueRow {
    stamp: Stamp,
    row: usize,
    /// Time by which this row and all rows before it had ended, if known.
    end: Option<f64>,
}

impl QueueRows {
    fn end(&self) -> Option<f64> {
        self.rows.last()?.end
    }

    fn push(&mut self, stamp: Stamp, row: usize, time: Result<Interval, Unmeasured>) {
        let end = match (time, self.end()) {
            (Ok(time), before) => Some(time.end.max(before.unwrap_or(time.end))),
            (Err(Unmeasured::InPlace | Unmeasured::TooShort), before) => before,
            (Err(_), _) => None,
        };
        self.rows.push(QueueRow { stamp, row, end });
    }
}

impl<'a> ProfileBuilder<'a> {
    fn new(engine: &Engine, taking: &NotesReader, notes: &'a ProfileNotes) -> Self {
        let mut report = Self {
            epoch: taking.epoch,
            clocked: engine.device.caps().timestamps,
            notes,
            axes: FxHashMap::default(),
            places: FxHashMap::default(),
            queues: FxHashMap::default(),
            captured: FxHashMap::default(),
            replay: None,
            levels: FxHashMap::default(),
            rows: Vec::new(),
            batches: Vec::new(),
        };
        report.axes = report.axes(&taking.looks, engine.device.nanoseconds_a_tick() * 1e-9);
        report.list_batches();
        report.count_levels();
        report
    }

    fn seconds(&self, at: Instant) -> f64 {
        let before = || -self.epoch.saturating_duration_since(at).as_secs_f64();
        at.checked_duration_since(self.epoch).map_or_else(before, |since| since.as_secs_f64())
    }

    /// Computes each lane's conversion of ticks from the times of its batches.
    fn axes(&self, looks: &[Arc<TimeSlot>], seconds_a_tick: f64) -> FxHashMap<usize, ClockFit> {
        let commands = self.notes.commands().filter_map(|command| command.time.as_ref());
        let mut spans: FxHashMap<Seq, Ticks> = FxHashMap::default();
        for (batch, ticks) in commands.chain(looks).filter_map(known) {
            let span = spans.entry(batch).or_insert(ticks);
            *span = Ticks { start: span.start.min(ticks.start), end: span.end.max(ticks.end) };
        }
        let mut sightings: FxHashMap<usize, Vec<ClockBounds>> = FxHashMap::default();
        for (batch, Ticks { start: first, end: last }) in spans {
            if let Some(times) = self.notes.batches.get(&batch)
                && let Some(completed) = times.completed
            {
                let before = self.seconds(times.submitted);
                let after = self.seconds(completed);
                sightings.entry(times.lane).or_default().push(ClockBounds { before, after, first, last });
            }
        }
        let axis =
            |(lane, seen): (usize, Vec<ClockBounds>)| Some((lane, ClockFit::of(&seen, seconds_a_tick)?));
        sightings.into_iter().filter_map(axis).collect()
    }

    /// Lists the batches of the commands in the order of their submission.
    fn list_batches(&mut self) {
        let mut rows: FxHashMap<Seq, usize> = FxHashMap::default();
        for command in self.notes.commands() {
            if let Some(batch) = command.time.as_ref().and_then(|time| time.batch()) {
                *rows.entry(batch).or_default() += 1;
            }
        }
        let submitted = |(batch, rows)| Some((self.notes.batches.get(&batch)?.submitted, batch, rows));
        let mut all: Vec<(Instant, Seq, usize)> = rows.into_iter().filter_map(submitted).collect();
        all.sort_unstable();
        for (place, (submitted, batch, rows)) in all.into_iter().enumerate() {
            let times = self.notes.batches[&batch];
            let completed = times.completed.map(|completed| self.seconds(completed));
            self.batches.push(ProfileBatch::new(times.lane, self.seconds(submitted), completed, rows));
            self.places.insert(batch, place);
        }
    }

    /// Counts the commands of each level, which all start at the same tick. A replay is counted by its nodes.
    fn count_levels(&mut self) {
        for command in self.notes.commands().filter(|command| !is_replay(command)) {
            if let Some((batch, Ticks { start, .. })) = ticks(command) {
                *self.levels.entry((batch, start)).or_default() += 1;
            }
        }
    }

    /// Counts the other commands on the level of the command with index `at` among the notes. A replay and its nodes do
    /// not both count.
    fn level_peers(&self, at: usize, command: &NotedCommand) -> usize {
        let Some((batch, Ticks { start, .. })) = ticks(command) else { return 0 };
        let starts = |node: &NotedCommand| ticks(node).is_some_and(|(_, ticks)| ticks.start == start);
        let own =
            if is_replay(command) { self.nodes_after(at).filter(|node| starts(node)).count() } else { 1 };
        self.levels.get(&(batch, start)).map_or(0, |commands| commands - own)
    }

    /// Returns the nodes of the replay with the index `at` among the notes.
    fn nodes_after(&self, at: usize) -> impl Iterator<Item = &'a NotedCommand> {
        self.notes.entries[at + 1..].iter().map_while(|entry| match &entry.noted {
            ProfileEvent::Node(node) => Some(&node.command),
            _ => None,
        })
    }

    /// Adds the row of a node, after the row of its replay. Each captured queue has its own number in the profile.
    fn add_node(&mut self, at: usize, entry: &ProfileEntry, node: &NotedNode) {
        let number = self.queues.len() + self.captured.len();
        let captured = (entry.queue, node.queue.clone());
        let queue_number = *self.captured.entry(captured).or_insert(number);
        let label = format!("{} / {}", entry.label, node.queue).into();
        let batch = self.place(&node.command);
        let mut row = Row::new(label, activity(&entry.noted), name(&node.command), entry.at);
        row.queue_number = queue_number;
        row.lane = entry.lane;
        row.bytes = node.command.bytes;
        row.enqueued = self.seconds(entry.enqueued);
        row.submitted = batch.map(|at| self.batches[at].submitted);
        row.batch = batch;
        row.level_peers = self.level_peers(at, &node.command);
        row.time = self.time(entry.lane, &node.command);
        row.replay = self.replay;
        self.rows.push(row);
    }

    fn add(&mut self, at: usize, entry: &ProfileEntry) {
        let enqueued = self.seconds(entry.enqueued);
        let number = self.queues.len() + self.captured.len();
        let seen =
            self.queues.entry(entry.queue).or_insert_with(|| QueueRows { number, ..QueueRows::default() });
        let queue_number = seen.number;
        let free = seen.end().unwrap_or(enqueued).max(enqueued);
        let (name, time, awaited) = self.describe(entry, free);
        let command = if let ProfileEvent::Command(command) = &entry.noted { Some(command) } else { None };
        let batch = command.and_then(|command| self.place(command));
        if let Some(seen) = self.queues.get_mut(&entry.queue) {
            seen.push(entry.stamp, self.rows.len(), time);
        }
        let mut row = Row::new(entry.label.clone(), activity(&entry.noted), name, entry.at);
        row.by_context = entry.queue.slot == Slot::CONTEXT;
        row.queue_number = queue_number;
        row.lane = entry.lane;
        row.bytes = command.and_then(|command| command.bytes);
        row.enqueued = enqueued;
        row.submitted = batch.map(|at| self.batches[at].submitted);
        row.batch = batch;
        row.level_peers = command.map_or(0, |command| self.level_peers(at, command));
        row.time = time;
        row.awaited = awaited;
        if row.activity == Activity::Replay {
            self.replay = Some(self.rows.len());
        }
        self.rows.push(row);
    }

    /// Returns the name and the time of an entry, and, for a wait, the awaited work or event. `free` is the time when
    /// the earlier rows of its queue have ended; a wait starts then.
    fn describe(
        &self,
        entry: &ProfileEntry,
        free: f64,
    ) -> (Arc<str>, Result<Interval, Unmeasured>, Option<Awaited>) {
        match &entry.noted {
            ProfileEvent::Command(command) | ProfileEvent::Node(NotedNode { command, .. }) => {
                (name(command), self.time(entry.lane, command), None)
            }
            ProfileEvent::Callback(time) => {
                let host = |(start, end)| Interval { start: self.seconds(start), end: self.seconds(end) };
                ("callback".into(), time.get().map(host).ok_or(Unmeasured::NeverRan), None)
            }
            ProfileEvent::UserWait(event) => {
                let label: Arc<str> = event.label().into();
                let ended = event.ended().map(|ended| self.seconds(ended));
                let time = ended.map(|end| Interval { start: free, end: end.max(free) });
                let awaited = Awaited::new(Some(label.clone()), None, WaitCause::Host);
                (label, time.ok_or(Unmeasured::NeverRan), Some(awaited))
            }
            ProfileEvent::Wait { point, label, cause } => {
                let past = self.last_before(*point);
                let end = past.and_then(|past| past.end).map(|end| end.max(free));
                let time = end.map(|end| Interval { start: free, end }).ok_or(Unmeasured::NoTime);
                let awaited = Awaited::new(label.clone(), past.map(|past| past.row), *cause);
                (label.clone().unwrap_or_else(|| "(gone)".into()), time, Some(awaited))
            }
        }
    }

    fn place(&self, command: &NotedCommand) -> Option<usize> {
        self.places.get(&command.time.as_ref()?.batch()?).copied()
    }

    /// Returns the interval in which the device ran a command.
    fn time(&self, lane: usize, command: &NotedCommand) -> Result<Interval, Unmeasured> {
        let time = command.time.as_ref();
        let foreign = command.what == CommandKind::Encode;
        let time = time.ok_or(if foreign { Unmeasured::Foreign } else { Unmeasured::InPlace })?;
        self.place(command).ok_or(Unmeasured::NeverRan)?;
        if !self.clocked {
            return Err(Unmeasured::NoClock);
        }
        let ticks = time.ticks().ok().flatten().ok_or(Unmeasured::NeverRan)?;
        let axis = self.axes.get(&lane).filter(|_| ticks.are_valid()).ok_or(Unmeasured::Invalid)?;
        if ticks.start == ticks.end {
            return Err(Unmeasured::TooShort);
        }
        Ok(Interval { start: axis.seconds(ticks.start), end: axis.seconds(ticks.end) })
    }

    /// Returns the last row up to a point on its queue. Several queues may have used its slot in turn; the queue is the
    /// newest that existed at that point.
    fn last_before(&self, point: Point) -> Option<QueueRow> {
        let born = |(key, _): &(&QueueKey, &QueueRows)| key.slot == point.slot && key.born <= point.stamp;
        let (_, seen) = self.queues.iter().filter(born).max_by_key(|(key, _)| key.born)?;
        let before = seen.rows.partition_point(|past| past.stamp <= point.stamp);
        Some(seen.rows[before.checked_sub(1)?])
    }
}

/// Returns the batch and the ticks of a command, if both are known.
fn ticks(command: &NotedCommand) -> Option<(Seq, Ticks)> {
    known(command.time.as_ref()?)
}

fn is_replay(command: &NotedCommand) -> bool {
    matches!(command.what, CommandKind::Replay(_) | CommandKind::ReplayPart(_))
}

fn known(time: &Arc<TimeSlot>) -> Option<(Seq, Ticks)> {
    let ticks = time.ticks().ok().flatten().filter(|ticks| ticks.are_valid())?;
    Some((time.batch()?, ticks))
}

fn activity(noted: &ProfileEvent) -> Activity {
    match noted {
        ProfileEvent::Wait { .. } | ProfileEvent::UserWait(_) => Activity::Wait,
        ProfileEvent::Callback(_) => Activity::Callback,
        ProfileEvent::Command(command) | ProfileEvent::Node(NotedNode { command, .. }) => {
            match command.what {
                CommandKind::Launch(_) => Activity::Launch,
                CommandKind::Copy | CommandKind::BetweenContexts => Activity::Copy,
                CommandKind::Fill => Activity::Fill,
                CommandKind::Upload => Activity::Upload,
                CommandKind::Read | CommandKind::Download | CommandKind::Map | CommandKind::Inspect => {
                    Activity::Read
                }
                CommandKind::Encode => Activity::Encode,
                CommandKind::Replay(_) | CommandKind::ReplayPart(_) | CommandKind::Gate => Activity::Replay,
            }
        }
    }
}

fn name(command: &NotedCommand) -> Arc<str> {
    match (&command.kernel, command.bytes) {
        (Some(kernel), _) => kernel.clone(),
        (None, Some(bytes)) => format!("{bytes} bytes").into(),
        (None, None) => "commands of the program".into(),
    }
}
