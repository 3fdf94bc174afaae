//! Waits that the policy adds, and waits that add nothing, are noted while a report is wanted.

use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::ordering::wait_log::Redundant;
use crate::scheduler::ordering::wait_report::Already;
use crate::scheduler::state::State;
use crate::work::step::Work;
use fencepost_sync::Clock;
use fencepost_sync::Point;
use fencepost_sync::Slot;
use fencepost_sync::Stamp;
use std::panic::Location;
/// Notes `waits`, which the policy adds before `work`, if somebody records: each with the last of the uses that it is
/// for.
#[cold]
pub(crate) fn note_added(state: &mut State, by: Admission, work: &Work, waits: &[Point]) {
    let Some(mut log) = state.wait_log.take() else { return };
    for wait in waits {
        log.note_wait(state, by, work, *wait);
    }
    state.wait_log = Some(log);
}

/// Notes a wait of `slot` for `point` that the program asked for, and that changes nothing, if somebody records.
#[cold]
pub(crate) fn note_asked(
    state: &mut State,
    slot: Slot,
    at: &'static Location<'static>,
    point: Point,
    clock: &Clock,
) {
    let Some(already) = already(state, slot, point, clock) else { return };
    let Some(mut log) = state.wait_log.take() else { return };
    let queue = state.queue(slot).label.clone();
    let wait = Redundant { queue, at, waited_for: state.name_of(point), already };
    *log.redundant.entry(wait).or_default() += 1;
    state.wait_log = Some(log);
}

/// Why `slot` comes after `point`, and all that it came after, without another wait; `None` if it does not.
fn already(state: &State, slot: Slot, point: Point, clock: &Clock) -> Option<Already> {
    if point.slot == slot {
        // A queue that had the slot before is another one, which this one comes after since it was made.
        return Some(if state.label_of(point).is_some() { Already::SameQueue } else { Already::Ordered });
    }
    let (own, host) = (&state.queue(slot).clock, state.host_clock());
    let ordered = |at, stamp| at == Slot::CONTEXT || at == slot || own.covers(at, stamp);
    let told = |at, stamp| ordered(at, stamp) || host.covers(at, stamp);
    let all = |known: &dyn Fn(Slot, Stamp) -> bool| {
        known(point.slot, point.stamp)
            && clock.entries().all(|(at, stamp)| known(at, stamp))
            && state.known_upto(clock.all(), known)
    };
    match () {
        () if all(&ordered) => Some(Already::Ordered),
        () if all(&told) => Some(Already::Told),
        () => None,
    }
}
