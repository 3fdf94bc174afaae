//! The queues of a context, their priorities, and indexes that keep the cost of a call independent of the number of
//! queues. S is the state lock.

use crate::error::Error;
use crate::memory::uses::BlockUse;
use crate::scheduler::batch::Op;
use crate::scheduler::complete::PointHistory;
use crate::scheduler::plan::open_batch::MOST_CONTEXT_COMMANDS;
use crate::scheduler::queue::{Backlog, HoldReason, QueueState};
use crate::scheduler::relay::UserWait;
use fencepost_sync::{HoldId, Point, Slot, Stamp};
use rustc_hash::FxHashMap;
use std::cell::{RefCell, RefMut};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// The queues of a context by slot.
///
/// Every mutable access to a queue *touches* it. Each query first updates the index entries of the touched queues, so
/// the indexes are always up to date, and a query costs no more than the touches before it.
#[derive(Default)]
pub(crate) struct Queues {
    list: Vec<QueueState>,
    indexes: RefCell<QueueIndexes>,
}

/// Tables over all queues, for the queries. The context queue takes part only in the counts.
#[derive(Default)]
struct QueueIndexes {
    /// Queues whose entries may be out of date.
    touched: Vec<Slot>,
    /// Entries of each queue.
    marks: Vec<IndexEntries>,
    /// For each lane and priority, the queues that can be planned.
    waiting: Vec<[SlotSet; 3]>,
    /// For each lane and priority, those queues that can be planned and are urgent.
    urgent: Vec<[SlotSet; 3]>,
    /// Number of open queues of each priority.
    open: [usize; 3],
    /// Number of open queues on each lane.
    on_lane: Vec<usize>,
    /// Queues with each hold.
    held: FxHashMap<HoldReason, Vec<Slot>>,
    /// Free slots of the program's queues, and of helpers. A listed slot may be in use again.
    free: [Vec<Slot>; 2],
    /// Last linked queue. Each link leads to the queue whose last command comes before.
    newest: Option<Slot>,
    /// Largest stamp of any command.
    last: Stamp,
    /// Total backlog of all queues.
    backlog: Backlog,
    /// Number of queues that wait for the host, or may do so later.
    of_host: usize,
    /// Number of touched queues that queries have updated.
    #[cfg(test)]
    updates: u64,
}

/// Entries of one queue in the indexes.
#[derive(Clone, Default)]
struct IndexEntries {
    lane: usize,
    priority: Priority,
    /// Positions in the sets of the lane and priority.
    waiting: Option<usize>,
    urgent: Option<usize>,
    open: bool,
    is_free: bool,
    hold: Option<HoldReason>,
    of_host: bool,
    backlog: Backlog,
    /// `true` while the queue is linked, because it has incomplete commands that a new queue may have to follow.
    linked: bool,
    enqueued: Stamp,
    /// Largest stamp when the queue was linked. No queue after this one in the list has a later command.
    linked_at: Stamp,
    newer: Option<Slot>,
    older: Option<Slot>,
}

/// A set of queues. The mark of each queue stores its position in the set.
#[derive(Default)]
struct SlotSet(Vec<Slot>);

impl Index<Slot> for Queues {
    type Output = QueueState;

    #[inline]
    fn index(&self, slot: Slot) -> &QueueState {
        &self.list[slot.0 as usize]
    }
}

impl IndexMut<Slot> for Queues {
    #[inline]
    fn index_mut(&mut self, slot: Slot) -> &mut QueueState {
        let queue = &mut self.list[slot.0 as usize];
        if !queue.touched.replace(true) {
            self.indexes.get_mut().touched.push(slot);
        }
        queue
    }
}

impl Queues {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        (0..self.list.len() as u32).map(Slot)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &QueueState> {
        self.list.iter()
    }

    /// Adds a queue in a new slot.
    pub(crate) fn push(&mut self, queue: QueueState) -> Slot {
        let slot = Slot(self.list.len() as u32);
        self.list.push(queue);
        self.indexes.get_mut().touched.push(slot);
        self.list[slot.0 as usize].touched.set(true);
        slot
    }

    /// Puts a queue into a free slot.
    pub(crate) fn replace(&mut self, slot: Slot, queue: QueueState) {
        let at = &mut self[slot];
        *at = queue;
        at.touched.set(true);
    }

    /// Calls `change` for every queue.
    pub(crate) fn for_each(&mut self, mut change: impl FnMut(&mut QueueState)) {
        self.slots().for_each(|slot| change(&mut self[slot]));
    }

    /// Returns a free slot of a queue of the program, or of a helper.
    pub(crate) fn free_slot(&self, helper: bool) -> Option<Slot> {
        let mut indexes = self.indexes();
        while let Some(slot) = indexes.free[usize::from(helper)].pop() {
            indexes.marks[slot.0 as usize].is_free = false;
            let queue = &self[slot];
            if queue.free && queue.helper == helper {
                return Some(slot);
            }
        }
        None
    }

    /// Returns `true` if a queue of a lane and priority can be planned. With `urgent`, only urgent queues count.
    pub(crate) fn can_plan(&self, lane: usize, priority: Priority, urgent: bool) -> bool {
        let indexes = self.indexes();
        let sets = if urgent { &indexes.urgent } else { &indexes.waiting };
        sets.get(lane).is_some_and(|sets| !sets[priority as usize].0.is_empty())
    }

    /// Returns `true` if a queue of a lane can be planned. With `urgent`, only urgent queues count.
    pub(crate) fn can_plan_any(&self, lane: usize, urgent: bool) -> bool {
        let indexes = self.indexes();
        let sets = if urgent { &indexes.urgent } else { &indexes.waiting };
        sets.get(lane).is_some_and(|sets| sets.iter().any(|set| !set.0.is_empty()))
    }

    /// Returns the queues of a lane and priority that can be planned. With `urgent`, returns only the urgent ones.
    pub(crate) fn to_plan(&self, lane: usize, priority: Priority, urgent: bool) -> Vec<Slot> {
        let indexes = self.indexes();
        let sets = if urgent { &indexes.urgent } else { &indexes.waiting };
        sets.get(lane).map_or_else(Vec::new, |sets| sets[priority as usize].0.clone())
    }

    /// Returns the queues with unplanned commands, including held queues.
    pub(crate) fn unplanned(&self) -> Vec<Slot> {
        let indexes = self.indexes();
        let waiting = indexes.waiting.iter().flatten().flat_map(|set| &set.0);
        let held = indexes.held.values().flatten();
        let all = waiting.chain(held).copied().filter(|&slot| slot != Slot::CONTEXT).chain([Slot::CONTEXT]);
        all.filter(|&slot| !self[slot].pending.is_empty()).collect()
    }

    /// Returns `true` if all open queues have the same priority. Then no long batch can delay a queue of higher
    /// priority.
    pub(crate) fn one_priority(&self) -> bool {
        self.indexes().open.iter().filter(|&&open| open > 0).count() <= 1
    }

    /// Returns `true` if an open queue has a higher priority than `priority`.
    pub(crate) fn any_above(&self, priority: Priority) -> bool {
        self.indexes().open[priority as usize + 1..].iter().any(|&open| open > 0)
    }

    /// Returns the lane with the fewest open queues.
    pub(crate) fn emptiest_lane(&self, lanes: usize) -> usize {
        let indexes = self.indexes();
        (0..lanes).min_by_key(|&lane| indexes.on_lane.get(lane).copied().unwrap_or(0)).unwrap_or(0)
    }

    /// Returns the queues with a hold, in the order in which they got it.
    pub(crate) fn held(&self, hold: HoldReason) -> Vec<Slot> {
        self.indexes().held.get(&hold).cloned().unwrap_or_default()
    }

    /// Ends a hold. Returns `true` if it held a queue.
    pub(crate) fn release(&mut self, hold: HoldReason) -> bool {
        let Some(slots) = self.indexes().held.remove(&hold) else { return false };
        for &slot in &slots {
            self.indexes.get_mut().marks[slot.0 as usize].hold = None;
            self[slot].hold = None;
        }
        true
    }

    /// Returns the amount of work that is enqueued but not planned.
    pub(crate) fn backlog(&self) -> Backlog {
        self.indexes().backlog
    }

    /// Returns `true` if no queue has a callback, and none waits for the host or for another context.
    pub(crate) fn have_device_work_only(&self) -> bool {
        self.indexes().of_host == 0
    }

    /// Calls `each` for the queues with incomplete commands that a new queue may have to follow, newest commands first,
    /// until a call returns `false`. Each queue is passed with a stamp: neither it nor the queues after it have a
    /// command after that stamp.
    pub(crate) fn newest_first(&self, mut each: impl FnMut(Slot, Stamp) -> bool) {
        let indexes = self.indexes();
        let mut next = indexes.newest;
        while let Some(slot) = next {
            let mark = &indexes.marks[slot.0 as usize];
            if !each(slot, mark.linked_at.max(mark.enqueued)) {
                return;
            }
            next = mark.older;
        }
    }

    /// Returns `true` if there is an unplanned context command.
    pub(crate) fn has_context_commands(&self) -> bool {
        !self[Slot::CONTEXT].pending.is_empty()
    }

    /// Returns the stamp of the first unplanned context command, or the largest stamp if there is none.
    pub(crate) fn first_context_command(&self) -> Stamp {
        self[Slot::CONTEXT].pending.front().map_or(Stamp(u64::MAX), |front| front.stamp)
    }

    /// Returns `true` if the context has at most one queue of the program, so that no waits have to be added.
    pub(crate) fn is_single(&self) -> bool {
        self.len() <= 2
    }

    /// Returns `true` if `known` holds for each existing queue and its last stamp, or `upto` if that is smaller.
    pub(crate) fn known_upto(&self, upto: Stamp, known: &dyn Fn(Slot, Stamp) -> bool) -> bool {
        self.slots().all(|slot| {
            let queue = &self[slot];
            queue.born > upto || known(slot, queue.enqueued().min(upto))
        })
    }

    /// Returns the label of the queue of a point, or `None` if another queue has taken the slot.
    pub(crate) fn label_of(&self, point: Point) -> Option<Arc<str>> {
        let queue = &self[point.slot];
        (queue.born <= point.stamp).then(|| queue.label.clone())
    }

    /// Like [`label_of`](Self::label_of), but returns `(gone)` if the label is no longer known.
    pub(crate) fn name_of(&self, point: Point) -> Arc<str> {
        self.label_of(point).unwrap_or_else(|| "(gone)".into())
    }

    /// Returns `true` if the program has no handle of the queue that a point belongs to.
    pub(crate) fn has_no_handle(&self, point: Point) -> bool {
        !self[point.slot].open || self.label_of(point).is_none()
    }

    /// Puts a queue into a free slot, or into a new one.
    pub(crate) fn add(&mut self, mut queue: QueueState) -> Slot {
        // A clock that covers a queue also covers earlier queues of its slot. Queues of the program do come after
        // those, but helper queues do not, so helpers reuse only slots of helpers.
        match self.free_slot(queue.helper) {
            Some(slot) => {
                queue.inherit_failures(&mut self[slot]);
                self.replace(slot, queue);
                slot
            }
            None => self.push(queue),
        }
    }

    /// Returns the error of the command that made a use, if the program has not taken it. Uses up to the stamp `born`
    /// belong to an earlier array.
    pub(crate) fn sticky_failure(&self, u: &BlockUse, born: Stamp) -> Option<&Error> {
        let failures = &self[u.slot].failures;
        if u.stamp() > born { failures.sticky(u.stamp()) } else { None }
    }

    /// Returns the wait for the user event of a hold.
    pub(crate) fn held_event(&self, hold: HoldId) -> Option<&UserWait> {
        let held = self.held(HoldReason::User(hold)).into_iter();
        held.filter_map(|slot| self[slot].pending.front()).find_map(|front| match &front.op {
            Op::WaitUser(event) if event.hold == hold => Some(event),
            _ => None,
        })
    }

    /// Returns the ends of all queues.
    pub(crate) fn ends(&self) -> Vec<Point> {
        self.slots().map(|slot| self[slot].end(slot)).collect()
    }

    /// Returns `true` if the command at `point` has ended with `error`.
    pub(crate) fn is_outcome(&self, point: Point, error: &Error) -> bool {
        self[point.slot].result(point.stamp).is_err_and(|own| own.is(error))
    }

    /// Returns `true` if the thread of this lane should plan the context commands now.
    pub(crate) fn plans_context_on(&self, lane: usize) -> bool {
        let queue = &self[Slot::CONTEXT];
        !queue.pending.is_empty()
            && queue.lane == lane
            && queue.hold.is_none()
            && self.context_commands_are_due()
    }

    /// Returns `true` if the context commands must be planned even without a command that needs them: because the
    /// program requested them, or because at least [`MOST_CONTEXT_COMMANDS`] are pending.
    pub(crate) fn context_commands_are_due(&self) -> bool {
        let queue = &self[Slot::CONTEXT];
        queue.is_requested() || queue.pending.len() >= MOST_CONTEXT_COMMANDS
    }

    /// Adds to `firsts` the queues that fail with them, each with its first failed command. If work of the context
    /// itself has failed, every queue with later commands fails, because they may use its result.
    pub(crate) fn with_followers(&self, mut firsts: Vec<(Slot, Stamp)>) -> Vec<(Slot, Stamp)> {
        let Some((_, own)) = firsts.iter_mut().find(|(slot, _)| *slot == Slot::CONTEXT) else {
            return firsts;
        };
        // The command may have overtaken other context commands, which fail with it.
        *own = (*own).min(self.first_context_command());
        let own = *own;
        let blamed: Vec<Slot> = firsts.iter().map(|&(slot, _)| slot).collect();
        for slot in self.slots().filter(|slot| !blamed.contains(slot)) {
            let queue = &self[slot];
            if queue.end(slot).stamp > own {
                let pending = queue.pending.front().map(|command| command.stamp);
                firsts.push((slot, pending.map_or(own, |first| first.min(own))));
            }
        }
        firsts
    }

    /// Returns the end of a queue, with the clock and the failure watch of that point.
    pub(crate) fn marker(&mut self, slot: Slot) -> (Point, Arc<PointHistory>) {
        let queue = &mut self[slot];
        let past = Arc::new(PointHistory { clock: queue.clock.clone(), stretch: queue.failures.stretch() });
        (queue.end(slot), past)
    }

    /// Returns the number of queues that queries have updated so far.
    #[cfg(test)]
    pub(crate) fn updates(&self) -> u64 {
        self.indexes().updates
    }

    /// Updates the indexes and returns them.
    fn indexes(&self) -> RefMut<'_, QueueIndexes> {
        let mut indexes = self.indexes.borrow_mut();
        if !indexes.touched.is_empty() {
            indexes.update(&self.list);
        }
        indexes
    }
}

impl QueueIndexes {
    fn update(&mut self, list: &[QueueState]) {
        self.marks.resize(list.len(), IndexEntries::default());
        let mut touched = std::mem::take(&mut self.touched);
        // The links must be in the order of the last commands.
        touched.sort_unstable_by_key(|slot| list[slot.0 as usize].enqueued());
        for &slot in &touched {
            self.last = self.last.max(list[slot.0 as usize].enqueued());
        }
        for &slot in &touched {
            let queue = &list[slot.0 as usize];
            queue.touched.set(false);
            self.update_one(slot, queue);
        }
        #[cfg(test)]
        {
            self.updates += touched.len() as u64;
        }
        self.touched = touched;
        self.touched.clear();
    }

    fn update_one(&mut self, slot: Slot, queue: &QueueState) {
        let at = slot.0 as usize;
        let backlog = queue.backlog();
        let before = std::mem::replace(&mut self.marks[at].backlog, backlog);
        self.backlog.commands = self.backlog.commands + backlog.commands - before.commands;
        self.backlog.bytes = self.backlog.bytes + backlog.bytes - before.bytes;
        let of_host = !queue.has_device_work_only();
        if std::mem::replace(&mut self.marks[at].of_host, of_host) != of_host {
            self.of_host = if of_host { self.of_host + 1 } else { self.of_host - 1 };
        }
        self.update_hold(slot, queue.hold);
        if slot == Slot::CONTEXT {
            return;
        }
        self.update_place(slot, queue);
        let waits = !queue.pending.is_empty() && queue.hold.is_none();
        let mark = &mut self.marks[at];
        let lane = mark.lane;
        let priority = mark.priority as usize;
        self.waiting[lane][priority].put(slot, waits, &mut self.marks, |mark| &mut mark.waiting);
        let urgent = waits && queue.urgent();
        self.urgent[lane][priority].put(slot, urgent, &mut self.marks, |mark| &mut mark.urgent);
        let linked = !queue.is_finished() && !queue.is_unused();
        let moved = self.marks[at].enqueued != queue.enqueued();
        self.marks[at].enqueued = queue.enqueued();
        if self.marks[at].linked && (moved || !linked) {
            self.unlink(slot);
        }
        if linked && !self.marks[at].linked {
            self.link(slot);
        }
    }

    fn update_hold(&mut self, slot: Slot, hold: Option<HoldReason>) {
        let before = std::mem::replace(&mut self.marks[slot.0 as usize].hold, hold);
        if before == hold {
            return;
        }
        if let Some(before) = before
            && let Some(slots) = self.held.get_mut(&before)
        {
            slots.retain(|&held| held != slot);
            if slots.is_empty() {
                self.held.remove(&before);
            }
        }
        if let Some(hold) = hold {
            self.held.entry(hold).or_default().push(slot);
        }
    }

    /// Updates the counts of open queues and the lists of free slots. The queue may be a new one in an old slot.
    fn update_place(&mut self, slot: Slot, queue: &QueueState) {
        let lane = queue.lane;
        let priority = queue.priority;
        if self.waiting.len() <= lane {
            self.waiting.resize_with(lane + 1, Default::default);
            self.urgent.resize_with(lane + 1, Default::default);
            self.on_lane.resize(lane + 1, 0);
        }
        let mark = &mut self.marks[slot.0 as usize];
        if (mark.lane, mark.priority) != (lane, priority) {
            let old_lane = mark.lane;
            let old = mark.priority as usize;
            if std::mem::take(&mut mark.open) {
                self.open[old] -= 1;
                self.on_lane[old_lane] -= 1;
            }
            self.waiting[old_lane][old].put(slot, false, &mut self.marks, |mark| &mut mark.waiting);
            self.urgent[old_lane][old].put(slot, false, &mut self.marks, |mark| &mut mark.urgent);
        }
        let mark = &mut self.marks[slot.0 as usize];
        mark.lane = lane;
        mark.priority = priority;
        if std::mem::replace(&mut mark.open, queue.open) != queue.open {
            let add = |count: &mut usize| *count = if queue.open { *count + 1 } else { *count - 1 };
            add(&mut self.open[priority as usize]);
            add(&mut self.on_lane[lane]);
        }
        if queue.free && !std::mem::replace(&mut mark.is_free, true) {
            self.free[usize::from(queue.helper)].push(slot);
        }
    }

    fn link(&mut self, slot: Slot) {
        let older = self.newest.replace(slot);
        let linked_at = self.last;
        if let Some(older) = older {
            self.marks[older.0 as usize].newer = Some(slot);
        }
        let mark = &mut self.marks[slot.0 as usize];
        mark.linked = true;
        mark.linked_at = linked_at;
        mark.older = older;
        mark.newer = None;
    }

    fn unlink(&mut self, slot: Slot) {
        let mark = &mut self.marks[slot.0 as usize];
        let older = mark.older.take();
        let newer = mark.newer.take();
        mark.linked = false;
        match newer {
            Some(newer) => self.marks[newer.0 as usize].older = older,
            None => self.newest = older,
        }
        if let Some(older) = older {
            self.marks[older.0 as usize].newer = newer;
        }
    }
}

impl SlotSet {
    /// Adds or removes a queue. `place` returns the stored position of a queue in this set.
    #[inline]
    fn put(
        &mut self,
        slot: Slot,
        add: bool,
        marks: &mut [IndexEntries],
        place: impl Fn(&mut IndexEntries) -> &mut Option<usize>,
    ) {
        let known = place(&mut marks[slot.0 as usize]);
        match (*known, add) {
            (None, true) => {
                *known = Some(self.0.len());
                self.0.push(slot);
            }
            (Some(at), false) => {
                *known = None;
                self.0.swap_remove(at);
                if let Some(moved) = self.0.get(at) {
                    *place(&mut marks[moved.0 as usize]) = Some(at);
                }
            }
            _ => {}
        }
    }
}
/// Urgency of a queue's work, compared with other queues of the same context.
///
/// The priority is a hint. It decides which batch is submitted next, and never interrupts a running batch. If a batch
/// depends on one of lower priority, the latter is raised.
///
/// # Example
/// ```
/// use fencepost::Priority;
/// assert_eq!(Priority::clamped(-100), Priority::High);    // CUDA's numbers: lower is more urgent
/// assert_eq!(Priority::clamped(0), Priority::Normal);
/// assert_eq!(Priority::clamped(100), Priority::Low);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Priority {
    /// Work that runs after all other work, but is never starved.
    Low,
    /// The default.
    #[default]
    Normal,
    /// Work that runs before all other work.
    High,
}

impl Priority {
    /// All priorities, the highest first.
    pub(crate) const ORDER: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

    /// Returns the priority for a number of CUDA's convention, in which negative numbers are more urgent. Numbers out
    /// of range are clamped.
    pub fn clamped(number: i32) -> Self {
        match number {
            ..0 => Priority::High,
            0 => Priority::Normal,
            1.. => Priority::Low,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::device::CostModel;
    use crate::memory::block::Block;
    use crate::memory::uses::Policy;
    use crate::scheduler::costs::CommandCosts;
    use crate::scheduler::engine::Engine;
    use crate::scheduler::queue::{Backlog, HoldReason, PointProgress};
    use crate::scheduler::queues::Priority;
    use crate::scheduler::test_engine::{
        block, engine, engine_with, enqueue, enqueue_wait, enqueue_work, fill, finish, hold, queue, queue_of,
    };
    use fencepost_sync::{Point, Slot};
    use std::sync::Arc;

    /// Makes `count` queues with one command each, plans and completes the commands, and drops the queues. Returns the
    /// total number of planner steps, of queues that queries updated, and of added waits.
    fn work_of(count: usize, made: impl Fn(usize) -> Arc<Block>, flushes: bool, interleaved: bool) -> u64 {
        let engine = engine_with(Policy::Ordered, false);
        // With measured times, the number of batches would depend on the speed of the machine.
        engine.lock().lanes[0].costs = CommandCosts::new(CostModel::Unknown);
        let mut slots = Vec::new();
        if !interleaved {
            slots.extend((0..count).map(|_| queue(&engine)));
        }
        for at in 0..count {
            if interleaved {
                slots.push(queue(&engine));
            }
            enqueue_work(&engine, slots[at], fill(&made(at)));
            if flushes {
                engine.flush_all().expect("the device is there");
            }
        }
        let ends = engine.lock().queues.ends();
        let waits = ends.iter().map(|end| engine.lock().queue(end.slot).pending.len()).sum::<usize>() as u64;
        engine.flush_all().expect("the device is there");
        ends.iter().for_each(|&end| finish(&engine, end));
        slots.iter().for_each(|&slot| engine.close_queue(slot));
        let state = engine.lock();
        assert!(slots.iter().all(|&slot| state.queue(slot).free));
        state.plannings.steps + state.queues.updates() + waits
    }

    /// The work for each queue must not depend on the number of queues, even if there are too many for one planning.
    #[test]
    fn q01_the_work_for_a_queue_does_not_grow_with_the_number_of_queues() {
        for (shared, interleaved) in [(false, false), (true, false), (false, true), (true, true)] {
            let [few, many] = [3000, 6000].map(|count| {
                let one = block();
                work_of(count, |_| if shared { one.clone() } else { block() }, false, interleaved)
            });
            assert!(many <= 3 * few, "shared {shared}, interleaved {interleaved}: {few}, then {many}");
        }
    }

    #[test]
    fn q01_flushes_of_many_queues_look_only_at_what_has_changed() {
        for shared in [false, true] {
            let [few, many] = [200, 400].map(|count| {
                let one = block();
                work_of(count, |_| if shared { one.clone() } else { block() }, true, false)
            });
            assert!(many <= 3 * few, "shared {shared}: {few}, then {many}");
        }
    }

    /// Each command fills a third of a batch. The planner must not look at all queues for each batch, nor at the
    /// remaining queues once the last batch is full.
    #[test]
    fn q01_a_planning_of_many_batches_looks_at_few_queues() {
        const QUEUES: u64 = 3000;
        let engine = engine_with(Policy::Ordered, false);
        let mut costs = CommandCosts::new(CostModel::Measured(CostModel::LATENESS));
        costs.expect(&fill(&block()), CostModel::LATENESS.as_secs_f32() / 3.5);
        engine.lock().lanes[0].costs = costs;
        let slots: Vec<Slot> = (0..QUEUES).map(|_| queue(&engine)).collect();
        let ends: Vec<Point> =
            slots.iter().map(|&slot| enqueue_work(&engine, slot, fill(&block()))).collect();
        let mut state = engine.lock();
        let before = state.plannings.steps;
        let rest = state.plan(ends.iter().copied(), Priority::Normal);
        let steps = state.plannings.steps - before;
        let batches = state.lanes[0].ready_len();
        assert!(batches > 10 && !rest.roots.is_empty(), "{batches} batches");
        assert!(steps < QUEUES / 2, "{steps} steps for {batches} batches");
    }

    #[test]
    fn q01_new_queues_after_many_do_not_wait_for_each_of_them() {
        let engine = engine_with(Policy::Ordered, false);
        let old: Vec<Point> = (0..400).map(|_| queue(&engine)).map(|slot| enqueue(&engine, slot)).collect();
        let new: Vec<Slot> = (0..400).map(|_| queue(&engine)).collect();
        let waits = |slot: &Slot| engine.lock().queue(*slot).pending.len();
        assert!(new.iter().map(waits).sum::<usize>() < 2 * new.len());
        let end = enqueue(&engine, new[399]);
        finish(&engine, end);
        let state = engine.lock();
        assert!(old.iter().all(|&end| state.reached(end) == PointProgress::Done), "a command is left out");
    }

    fn plans(engine: &Engine, priority: Priority, urgent: bool) -> Vec<Slot> {
        let state = engine.lock();
        let mut slots = state.queues.to_plan(0, priority, urgent);
        slots.sort_unstable();
        assert_eq!(state.queues.can_plan(0, priority, urgent), !slots.is_empty());
        slots
    }

    #[test]
    fn the_indexes_follow_commands_requests_and_holds() {
        let engine = engine(false);
        let [a, b] = [(); 2].map(|()| queue(&engine));
        let high = queue_of(&engine, Priority::High);
        assert!(!engine.lock().queues.one_priority() && engine.lock().queues.any_above(Priority::Normal));
        assert!(plans(&engine, Priority::Normal, false).is_empty());
        let gate = hold(&engine, a);
        let [of_a, of_b, of_high] = [a, b, high].map(|slot| enqueue(&engine, slot));
        assert!(!engine.lock().queues.have_device_work_only());
        assert_eq!(engine.lock().queues.backlog(), Backlog { commands: 4, bytes: 0 });
        assert_eq!(plans(&engine, Priority::Normal, false), [a, b]);
        assert_eq!(plans(&engine, Priority::High, false), [high]);
        assert!(plans(&engine, Priority::Normal, true).is_empty());
        engine.lock().queue_mut(b).request(of_b.stamp);
        assert_eq!(plans(&engine, Priority::Normal, true), [b]);
        drop(engine.lock().plan([of_a, of_b], Priority::Normal));
        assert!(plans(&engine, Priority::Normal, false).is_empty());
        let held = engine.lock().queue(a).hold.expect("the gate holds the queue");
        assert!(matches!(held, HoldReason::User(_)));
        assert_eq!(engine.lock().queues.held(held), [a]);
        gate.signal();
        assert_eq!(plans(&engine, Priority::Normal, true), [a]);
        assert!(engine.lock().queues.held(held).is_empty());
        [of_a, of_b, of_high].into_iter().for_each(|point| finish(&engine, point));
        assert!(engine.lock().queues.have_device_work_only());
        assert_eq!(engine.lock().queues.backlog(), Backlog::default());
        engine.close_queue(high);
        assert!(engine.lock().queues.one_priority());
        assert_eq!(queue(&engine), high, "the slot is free");
    }

    /// Compares the waits of a new queue with those found by searching all queues.
    #[test]
    fn q03_a_new_queue_follows_every_incomplete_command() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..50 {
            let engine = engine_with(Policy::Ordered, false);
            let mut slots = Vec::new();
            let mut ends: Vec<Point> = Vec::new();
            for _ in 0..40 {
                match rng.u32(..6) {
                    0 | 1 => slots.push(queue(&engine)),
                    2 if !ends.is_empty() && !slots.is_empty() => {
                        let slot = slots[rng.usize(..slots.len())];
                        let end = ends[rng.usize(..ends.len())];
                        enqueue_wait(&engine, slot, end);
                    }
                    3 if !ends.is_empty() => finish(&engine, ends[rng.usize(..ends.len())]),
                    _ if !slots.is_empty() => ends.push(enqueue(&engine, slots[rng.usize(..slots.len())])),
                    _ => {}
                }
            }
            let open: Vec<Point> = {
                let state = engine.lock();
                ends.retain(|&end| state.reached(end) != PointProgress::Done);
                ends.clone()
            };
            let new = queue(&engine);
            let first = enqueue(&engine, new);
            finish(&engine, first);
            let state = engine.lock();
            assert!(
                open.iter().all(|&end| state.reached(end) == PointProgress::Done),
                "a command is left out"
            );
        }
    }
}
