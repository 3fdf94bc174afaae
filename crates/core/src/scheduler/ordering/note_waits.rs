//! Records the waits that the policy adds, and the redundant waits of the program, while a report is wanted.

use crate::memory::uses::Use;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::ordering::admit::{access, label};
use crate::scheduler::ordering::wait_log::{AddedWaitKey, RedundantWaitKey, WaitCount, WaitLog, WaitSite};
use crate::scheduler::ordering::wait_report::{AddedWait, Already, RedundantWait, WaitReport};
use crate::scheduler::state::State;
use crate::work::step::Work;
use fencepost_sync::{Clock, Point, Slot, Stamp};
use std::cmp::Reverse;
use std::panic::Location;

/// Records `waits`, which the policy adds before `work`, each with the last use that it waits for. Does nothing if the
/// context does not record waits.
#[cold]
pub(crate) fn note_added(state: &mut State, by: Admission, work: &Work, waits: &[Point]) {
    let Some(mut log) = state.wait_log.take() else { return };
    for wait in waits {
        log.note_wait(state, by, work, *wait);
    }
    state.wait_log = Some(log);
}

/// Records a wait of the program, of `slot` for `point`, if the wait changes no order. Does nothing if the context does
/// not record waits.
#[cold]
pub(crate) fn note_requested_wait(
    state: &mut State,
    slot: Slot,
    at: &'static Location<'static>,
    point: Point,
    clock: &Clock,
) {
    let Some(already) = already(state, slot, point, clock) else { return };
    let Some(mut log) = state.wait_log.take() else { return };
    let queue = state.queue(slot).label.clone();
    let wait = RedundantWaitKey { queue, at, waited_for: state.name_of(point), already };
    *log.redundant.entry(wait).or_default() += 1;
    state.wait_log = Some(log);
}

/// Returns the reason why `slot` is already ordered after `point` and after everything in `clock`, or `None` if a
/// wait would add an order.
fn already(state: &State, slot: Slot, point: Point, clock: &Clock) -> Option<Already> {
    if point.slot == slot {
        // If `point` is of an earlier queue of the slot, this queue has been ordered after that queue since its
        // creation.
        return Some(if state.label_of(point).is_some() { Already::SameQueue } else { Already::Ordered });
    }
    let (own, host) = (&state.queue(slot).clock, state.host_clock());
    let ordered = |at, stamp| at == Slot::CONTEXT || at == slot || own.covers(at, stamp);
    let is_reported = |at, stamp| ordered(at, stamp) || host.covers(at, stamp);
    let all = |known: &dyn Fn(Slot, Stamp) -> bool| {
        known(point.slot, point.stamp)
            && clock.entries().all(|(at, stamp)| known(at, stamp))
            && state.known_upto(clock.all(), known)
    };
    match () {
        () if all(&ordered) => Some(Already::Ordered),
        () if all(&is_reported) => Some(Already::Told),
        () => None,
    }
}

impl WaitLog {
    /// Counts a wait that the policy adds before `work`, under the source lines of both commands and the array.
    pub(crate) fn note_wait(&mut self, state: &State, by: Admission, work: &Work, wait: Point) {
        let is_for = |earlier: &&Use| earlier.point() == wait;
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
        let site = |line: &WaitSite| state.site(line.queue.clone(), line.what, line.at);
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
