//! The order of commands that use the same bytes. The policy decides what happens with uses that the program left
//! unordered.
//!
//! Every command is checked before it gets its stamp. If the program wants a report, the context counts the waits that
//! the policy adds, and the redundant waits of the program.

#[cfg(test)]
mod ordering_tests;
#[cfg(test)]
mod repeated_programs_tests;
#[cfg(test)]
mod repeated_replay_tests;

use crate::error::{CommandKind, Error, ErrorDetail, Result, Site};
use crate::memory::block::Block;
use crate::memory::uses::{BlockUse, Policy, UseDetails, UseOrigin};
use crate::scheduler::state::State;
use crate::work::step::{BlockAccess, Work};
use fencepost_sync::{Clock, Point, Slot, Stamp};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// Queue, kind and source line of a command that is about to be enqueued.
#[derive(Clone, Copy)]
pub(crate) struct Admission {
    pub(crate) slot: Slot,
    pub(crate) what: CommandKind,
    pub(crate) at: &'static Location<'static>,
}

/// Checks `work` against all earlier uses of its bytes. Returns the waits that must be enqueued before it.
///
/// # Errors
/// [`ErrorDetail::Hazard`] under [`Policy::Checked`] if a wait is missing.
#[inline]
pub(crate) fn missing_waits(state: &State, by: Admission, work: &Work) -> Result<SmallVec<[Point; 2]>> {
    // With a single queue of the program, everything is in order. A context command waits for nothing.
    if state.queues.is_single() || state.policy() == Policy::Unchecked || by.slot == Slot::CONTEXT {
        return Ok(SmallVec::new());
    }
    find_missing_waits(state, by, work)
}

fn find_missing_waits(state: &State, by: Admission, work: &Work) -> Result<SmallVec<[Point; 2]>> {
    // If a replay repeats the last use of its blocks, the previous one already waited for everything necessary.
    if let Work::Graph(graph) = work
        && graph.last_use().is_of(by.slot)
    {
        return Ok(SmallVec::new());
    }
    state.notes.count_compared();
    let mut waits = SmallVec::new();
    for touch in work.touches() {
        let order = touch.block.order();
        for earlier in order.uses.conflicts(touch.range.clone(), touch.write) {
            if ordered(state, by.slot, earlier) {
                continue;
            }
            // The program cannot order some internal commands: one half of a copy between contexts, the part of a
            // replay in another context, and the read that displays an array. For them, the missing wait is added
            // instead of an error.
            let is_unnamed = |what: CommandKind| {
                matches!(
                    what,
                    CommandKind::BetweenContexts | CommandKind::ReplayPart(_) | CommandKind::Inspect
                )
            };
            let between_contexts = is_unnamed(by.what) || is_unnamed(earlier.what);
            if state.policy() == Policy::Checked && !between_contexts {
                return Err(hazard(state, by, &touch, earlier, &order.label));
            }
            add_wait_for(&mut waits, earlier);
        }
    }
    Ok(waits)
}

/// Returns `true` if the calls of the program order `earlier` before the next command of `slot`.
fn ordered(state: &State, slot: Slot, earlier: &BlockUse) -> bool {
    earlier.slot == slot
        || earlier.slot == Slot::CONTEXT
        || state.queue(slot).clock.covers(earlier.slot, earlier.stamp())
        || state.host_clock().covers(earlier.slot, earlier.stamp())
}

/// Adds a wait for `earlier`. Waits for the same queue merge into one for the largest stamp.
fn add_wait_for(waits: &mut SmallVec<[Point; 2]>, earlier: &BlockUse) {
    match waits.iter_mut().find(|point| point.slot == earlier.slot) {
        Some(point) => point.stamp = point.stamp.max(earlier.stamp()),
        None => waits.push(earlier.point()),
    }
}

#[cold]
fn hazard(state: &State, by: Admission, touch: &BlockAccess<'_>, earlier: &BlockUse, array: &str) -> Error {
    let earlier_site = state.kernels.site(label(state, earlier), earlier.what, earlier.at);
    let later = state.kernels.site(state.queue(by.slot).label.clone(), by.what, by.at);
    let gone = state.queues.has_no_handle(earlier.point());
    let wait = match gone {
        false => format!("{}.wait_for(&{})?", later.queue, earlier_site.queue),
        true => "ctx.synchronize().wait()?".into(),
    };
    ErrorDetail::Hazard {
        array: array.into(),
        range: touch.range.start.max(earlier.range.start)..touch.range.end.min(earlier.range.end),
        earlier: Box::new(earlier_site),
        later: Box::new(later),
        access: access(earlier.write),
        later_access: access(touch.write),
        wait,
        gone,
    }
    .into()
}

#[cold]
fn origin(state: &State, slot: Slot) -> Arc<UseDetails> {
    let queue = state.queue(slot);
    Arc::new(UseDetails::Origin(UseOrigin { queue: queue.label.clone(), clock: queue.clock.clone() }))
}

/// Returns the label of the queue that made a use. If possible it comes from the use itself, because another queue may
/// have the slot by now.
pub(crate) fn label(state: &State, earlier: &BlockUse) -> Arc<str> {
    earlier.origin().map_or_else(|| state.queues.name_of(earlier.point()), |origin| origin.queue.clone())
}

/// Returns the word for a kind of access in messages.
pub(crate) fn access(write: bool) -> &'static str {
    if write { "write" } else { "read" }
}

/// Records the uses of bytes by `work`, the command with this stamp.
#[inline]
pub(crate) fn record(state: &State, by: Admission, stamp: Stamp, work: &Work) {
    let clock = &state.queue(by.slot).clock;
    let kept = state.policy() == Policy::Checked || state.notes.waits.is_some();
    let Admission { slot, what, at } = by;
    let details = match work {
        _ if kept => Some(origin(state, slot)),
        Work::Graph(graph) if graph.last_use().repeat(slot, at, stamp, clock) => return,
        Work::Graph(graph) => Some(graph.last_use().begin(slot, at, stamp, clock)),
        _ => None,
    };
    for BlockAccess { block, range, write } in work.touches() {
        let mut order = block.order();
        order.fresh &= !write;
        if slot == Slot::CONTEXT {
            let planned = state.queue(slot).planned();
            let first = order.made.filter(|&(_, last)| last > planned).map_or(stamp, |(first, _)| first);
            order.made = Some((first, stamp));
        }
        let more = details.clone();
        let many = order.uses.record(BlockUse { slot, first: stamp, range, write, what, at, more }, clock);
        // The list of uses has grown long, so remove the uses that no later command needs.
        if many {
            let born = order.born;
            let is_failed = |u: &BlockUse| state.queues.sticky_failure(u, born).is_some();
            order.uses.retain_with_failed(|u| !state.forgettable(u), is_failed);
        }
    }
}

/// Records that a queue made an array in this block. The creation comes after all earlier uses of the block, so they
/// are dropped.
pub(crate) fn record_making(state: &State, by: Admission, stamp: Stamp, block: &Block) {
    let clock = &state.queue(by.slot).clock;
    let range = 0..block.size;
    let more = Some(origin(state, by.slot));
    let Admission { slot, what, at } = by;
    let making = BlockUse { slot, first: stamp, range, write: true, what, at, more };
    let mut order = block.order();
    order.uses.clear();
    order.uses.record(making, clock);
}

/// Counts `waits`, which the policy adds before `work`, each with the last use that it waits for. Does nothing if the
/// context does not record waits.
#[cold]
pub(crate) fn note_added(state: &mut State, by: Admission, work: &Work, waits: &[Point]) {
    let Some(mut log) = state.notes.waits.take() else { return };
    for wait in waits {
        log.note_wait(state, by, work, *wait);
    }
    state.notes.waits = Some(log);
}

/// Counts the program's wait of `slot` for `point` if it changes no order. Does nothing if the context does not record
/// waits.
#[cold]
pub(crate) fn note_requested_wait(
    state: &mut State,
    slot: Slot,
    at: &'static Location<'static>,
    point: Point,
    clock: &Clock,
) {
    let Some(already) = why_redundant(state, slot, point, clock) else { return };
    let Some(mut log) = state.notes.waits.take() else { return };
    let queue = state.queue(slot).label.clone();
    let wait = RedundantWaitKey { queue, at, waited_for: state.queues.name_of(point), already };
    *log.redundant.entry(wait).or_default() += 1;
    state.notes.waits = Some(log);
}

/// Returns why `slot` already comes after `point` and everything in `clock`, or `None` if a wait would add an order.
fn why_redundant(state: &State, slot: Slot, point: Point, clock: &Clock) -> Option<Already> {
    if point.slot == slot {
        // If `point` belongs to an earlier queue of the slot, this queue comes after that queue since its creation.
        return Some(if state.queues.label_of(point).is_some() {
            Already::SameQueue
        } else {
            Already::Ordered
        });
    }
    let own = &state.queue(slot).clock;
    let host = state.host_clock();
    let ordered = |at, stamp| at == Slot::CONTEXT || at == slot || own.covers(at, stamp);
    let is_reported = |at, stamp| ordered(at, stamp) || host.covers(at, stamp);
    let all = |known: &dyn Fn(Slot, Stamp) -> bool| {
        known(point.slot, point.stamp)
            && clock.entries().all(|(at, stamp)| known(at, stamp))
            && state.queues.known_upto(clock.all(), known)
    };
    match () {
        () if all(&ordered) => Some(Already::Ordered),
        () if all(&is_reported) => Some(Already::Told),
        () => None,
    }
}

impl WaitLog {
    /// Counts a wait that the policy adds before `work`. The key is the source lines of both commands, and the array.
    pub(crate) fn note_wait(&mut self, state: &State, by: Admission, work: &Work, wait: Point) {
        let is_for = |earlier: &&BlockUse| earlier.point() == wait;
        for touch in work.touches() {
            let order = touch.block.order();
            let Some(earlier) = order.uses.conflicts(touch.range.clone(), touch.write).find(is_for) else {
                continue;
            };
            let added = AddedWaitKey {
                later: WaitSite { queue: state.queue(by.slot).label.clone(), what: by.what, at: by.at },
                earlier: WaitSite { queue: label(state, earlier), what: earlier.what, at: earlier.at },
                array: order.label.clone(),
            };
            let range = touch.range.start.max(earlier.range.start)..touch.range.end.min(earlier.range.end);
            return self.added.entry(added).or_insert(WaitCount::none(&range)).count(range, earlier.write);
        }
    }

    /// Returns the report of all recorded waits, the most frequent first.
    pub(crate) fn report(&self, state: &State) -> WaitReport {
        let site = |line: &WaitSite| state.kernels.site(line.queue.clone(), line.what, line.at);
        let added = |(wait, times): (&AddedWaitKey, &WaitCount)| AddedWait {
            later: site(&wait.later),
            earlier: site(&wait.earlier),
            array: wait.array.to_string(),
            range: times.range.clone(),
            access: access(times.write),
            count: times.count,
        };
        let redundant = |(wait, &count): (&RedundantWaitKey, &u64)| RedundantWait {
            queue: wait.queue.clone(),
            location: wait.at,
            waited_for: wait.waited_for.clone(),
            already: wait.already,
            count,
        };
        let mut added: Vec<AddedWait> = self.added.iter().map(added).collect();
        let mut redundant: Vec<RedundantWait> = self.redundant.iter().map(redundant).collect();
        added.sort_by_key(|wait| (Reverse(wait.count), wait.later.location, wait.earlier.location));
        redundant.sort_by_key(|wait| (Reverse(wait.count), wait.location));
        WaitReport { added, redundant }
    }
}

/// All waits since recording began. Waits between the same source lines share an entry.
#[derive(Default)]
pub(crate) struct WaitLog {
    pub(crate) added: FxHashMap<AddedWaitKey, WaitCount>,
    pub(crate) redundant: FxHashMap<RedundantWaitKey, u64>,
}

/// Two commands that the policy has ordered, and the array that both use.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct AddedWaitKey {
    pub(crate) later: WaitSite,
    pub(crate) earlier: WaitSite,
    pub(crate) array: Arc<str>,
}

/// A source line of the program, the command that it enqueues, and the queue.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct WaitSite {
    pub(crate) queue: Arc<str>,
    pub(crate) what: CommandKind,
    pub(crate) at: &'static Location<'static>,
}

/// Waits of one entry: their number, the smallest range that contains all their bytes, and `true` if an earlier command
/// wrote some.
pub(crate) struct WaitCount {
    pub(crate) count: u64,
    pub(crate) range: Range<u64>,
    pub(crate) write: bool,
}

/// A wait of the program that changed no order.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct RedundantWaitKey {
    pub(crate) queue: Arc<str>,
    pub(crate) at: &'static Location<'static>,
    pub(crate) waited_for: Arc<str>,
    pub(crate) already: Already,
}

impl WaitCount {
    pub(crate) fn none(range: &Range<u64>) -> Self {
        Self { count: 0, range: range.clone(), write: false }
    }

    pub(crate) fn count(&mut self, range: Range<u64>, write: bool) {
        self.count += 1;
        self.range = self.range.start.min(range.start)..self.range.end.max(range.end);
        self.write |= write;
    }
}

/// Waits that the policy added, and waits of the program that were not needed, the most frequent first.
/// [`Diagnostics::wait_report`](crate::Diagnostics::wait_report) returns the report, and `Display` prints it as tables.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WaitReport {
    /// Waits that [`Policy::Ordered`](crate::Policy::Ordered) added.
    pub added: Vec<AddedWait>,
    /// Waits that the program could omit.
    pub redundant: Vec<RedundantWait>,
}

/// A wait that the policy added between two source lines of the program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AddedWait {
    /// Command that waits.
    pub later: Site,
    /// Command that is waited for.
    pub earlier: Site,
    /// Label of the array that both commands use.
    pub array: String,
    /// Smallest range of the array's block that contains the bytes in conflict, over all counted waits.
    pub range: Range<u64>,
    /// Access of the earlier command: `read` or `write`.
    pub access: &'static str,
    /// Number of times that the policy added the wait.
    pub count: u64,
}

/// A wait of the program that changed no order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RedundantWait {
    /// Queue that waits.
    pub queue: Arc<str>,
    /// Source line of the program that enqueues the wait.
    pub location: &'static Location<'static>,
    /// Queue that is waited for.
    pub waited_for: Arc<str>,
    /// Reason why the wait changed no order.
    pub already: Already,
    /// Number of times that the program enqueued the wait.
    pub count: u64,
}

/// Reason why a wait changed no order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Already {
    /// The wait is for a point of the same queue, which executes in order.
    SameQueue,
    /// The queues are ordered already: by an earlier wait of the program or the policy, or because the waiting queue
    /// was made later.
    Ordered,
    /// The host has waited for the point, so the program knows that it is complete.
    Told,
}

impl fmt::Display for Already {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SameQueue => "a queue executes in order",
            Self::Ordered => "the queue is already ordered after it",
            Self::Told => "the host has waited for it",
        })
    }
}

impl fmt::Display for WaitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let added = self.added.iter().map(|wait| {
            let bytes = format!("bytes {:?} of array `{}`", wait.range, wait.array);
            [wait.count.to_string(), wait.later.to_string(), wait.earlier.to_string(), bytes]
        });
        let redundant = self.redundant.iter().map(|wait| {
            let line = format!("queue `{}` at {}", wait.queue, wait.location);
            [wait.count.to_string(), line, format!("queue `{}`", wait.waited_for), wait.already.to_string()]
        });
        f.write_str("waits that the policy added")?;
        table(f, ["times", "later", "earlier", "both use"], added.collect())?;
        f.write_str("waits that were not needed")?;
        table(f, ["times", "wait", "for", "because"], redundant.collect())
    }
}

/// Writes a table below the title on the current line. Each column is as wide as its longest entry.
fn table(f: &mut fmt::Formatter<'_>, heads: [&str; 4], rows: Vec<[String; 4]>) -> fmt::Result {
    if rows.is_empty() {
        return writeln!(f, ": none");
    }
    writeln!(f)?;
    let rows: Vec<[String; 4]> = std::iter::once(heads.map(str::to_owned)).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 3] = [width(0), width(1), width(2)];
    for [times, first, second, last] in &rows {
        let [a, b, c] = widths;
        writeln!(f, "  {times:>a$}  {first:b$}  {second:c$}  {last}")?;
    }
    Ok(())
}
