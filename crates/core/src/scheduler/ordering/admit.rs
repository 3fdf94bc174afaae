//! The check of every command before the command gets its stamp.

use crate::error::site::CommandKind;
use crate::error::{Error, Kind, Result};
use crate::memory::block::Block;
use crate::memory::uses::{Use, UseDetails, UseOrigin};
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::ordering::policy::Policy;
use crate::scheduler::state::State;
use crate::work::span::Touch;
use crate::work::step::Work;
use fencepost_sync::{Point, Slot, Stamp};
use smallvec::SmallVec;
use std::sync::Arc;

/// Checks `work` against all earlier uses of its bytes. Returns the waits that must be enqueued before it.
///
/// # Errors
/// [`Kind::Hazard`] under [`Policy::Checked`] if a wait is missing.
#[inline]
pub(crate) fn missing_waits(state: &State, by: Admission, work: &Work) -> Result<SmallVec<[Point; 2]>> {
    // A single queue of the program is in order without waits. A context command waits for nothing.
    if state.single_queue() || state.policy() == Policy::Unchecked || by.slot == Slot::CONTEXT {
        return Ok(SmallVec::new());
    }
    find_missing_waits(state, by, work)
}

fn find_missing_waits(state: &State, by: Admission, work: &Work) -> Result<SmallVec<[Point; 2]>> {
    // A replay that repeats the last use of its blocks already comes after everything that its queue had to wait for.
    if let Work::Graph(graph) = work
        && graph.last_use().is_of(by.slot)
    {
        return Ok(SmallVec::new());
    }
    state.compared.set(state.compared.get() + 1);
    let mut waits = SmallVec::new();
    for touch in work.touches() {
        let order = touch.block.order();
        for earlier in order.uses.conflicts(touch.range.clone(), touch.write) {
            if ordered(state, by.slot, earlier) {
                continue;
            }
            // Some commands are internal: one half of a copy between contexts, the part of a replay in another context,
            // and the read that displays an array. The program has no call that could order them, so the missing wait
            // is added instead of an error.
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
            need(&mut waits, earlier);
        }
    }
    Ok(waits)
}

/// Returns `true` if the calls of the program order `earlier` before the next command of `slot`.
fn ordered(state: &State, slot: Slot, earlier: &Use) -> bool {
    earlier.slot == slot
        || earlier.slot == Slot::CONTEXT
        || state.queue(slot).clock.covers(earlier.slot, earlier.stamp())
        || state.host_clock().covers(earlier.slot, earlier.stamp())
}

/// Adds a wait for `earlier`. Waits for the same queue merge into one for the largest stamp.
fn need(waits: &mut SmallVec<[Point; 2]>, earlier: &Use) {
    match waits.iter_mut().find(|point| point.slot == earlier.slot) {
        Some(point) => point.stamp = point.stamp.max(earlier.stamp()),
        None => waits.push(earlier.point()),
    }
}

#[cold]
fn hazard(state: &State, by: Admission, touch: &Touch<'_>, earlier: &Use, array: &str) -> Error {
    let earlier_site = state.site(label(state, earlier), earlier.what, earlier.at);
    let later = state.site(state.queue(by.slot).label.clone(), by.what, by.at);
    let gone = state.has_no_handle(earlier.point());
    let wait = match gone {
        false => format!("{}.wait_for_queue(&{})?", later.queue, earlier_site.queue),
        true => "ctx.synchronize().wait()?".into(),
    };
    Kind::Hazard {
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

/// Returns the label of the queue that made a use. The use itself keeps the label if possible, because another queue
/// may have the slot by now.
pub(crate) fn label(state: &State, earlier: &Use) -> Arc<str> {
    earlier.origin().map_or_else(|| state.name_of(earlier.point()), |origin| origin.queue.clone())
}

/// Returns the word for the access in messages.
pub(crate) fn access(write: bool) -> &'static str {
    if write { "write" } else { "read" }
}

/// Records the uses of bytes that `work` makes as the command with this stamp.
#[inline]
pub(crate) fn record(state: &State, by: Admission, stamp: Stamp, work: &Work) {
    let clock = &state.queue(by.slot).clock;
    let kept = state.policy() == Policy::Checked || state.wait_log.is_some();
    let Admission { slot, what, at } = by;
    let details = match work {
        _ if kept => Some(origin(state, slot)),
        Work::Graph(graph) if graph.last_use().repeat(slot, at, stamp, clock) => return,
        Work::Graph(graph) => Some(graph.last_use().begin(slot, at, stamp, clock)),
        _ => None,
    };
    for Touch { block, range, write } in work.touches() {
        let mut order = block.order();
        order.fresh &= !write;
        if slot == Slot::CONTEXT {
            let planned = state.queue(slot).planned();
            let first = order.made.filter(|&(_, last)| last > planned).map_or(stamp, |(first, _)| first);
            order.made = Some((first, stamp));
        }
        let more = details.clone();
        let many = order.uses.record(Use { slot, first: stamp, range, write, what, at, more }, clock);
        // The list of uses has grown long, so uses that no later command can need are removed.
        if many {
            let born = order.born;
            let is_failed = |u: &Use| state.sticky_failure(u, born).is_some();
            order.uses.retain_with_failed(|u| !state.forgettable(u), is_failed);
        }
    }
}

/// Records that a queue made an array in this block. The creation comes after all earlier uses of the block, so they
/// are dropped.
pub(crate) fn record_making(state: &State, by: Admission, stamp: Stamp, block: &Block) {
    let clock = &state.queue(by.slot).clock;
    let (range, more) = (0..block.size, Some(origin(state, by.slot)));
    let Admission { slot, what, at } = by;
    let making = Use { slot, first: stamp, range, write: true, what, at, more };
    let mut order = block.order();
    order.uses.clear();
    order.uses.record(making, clock);
}
