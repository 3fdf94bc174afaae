//! What the state lock guards.

use crate::device::CostModel;
use crate::error::site::{CommandKind, KernelId, Site};
use crate::error::{Error, Result};
use crate::memory::block::Block;
use crate::memory::pool::Pool;
use crate::memory::uses::Use;
use crate::scheduler::batch::Batches;
use crate::scheduler::callback_state::Callbacks;
use crate::scheduler::command::{Callback, Command};
use crate::scheduler::kernel_names::KernelNames;
use crate::scheduler::lane_state::LaneState;
use crate::scheduler::ordering::policy::Policy;
use crate::scheduler::ordering::wait_log::WaitLog;
use crate::scheduler::priority::Priority;
use crate::scheduler::profile_log::{ProfileLog, ProfiledCause};
use crate::scheduler::queue_state::{Hold, QueueState, Reached};
use crate::scheduler::queue_timing::QueueTiming;
use crate::scheduler::wakers::{WakeCondition, Wakers};
use fencepost_sync::{Clock, HoldId, Point, Seq, Slot, Stamp};
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Arc;
use std::task::Waker;

/// What must not be done under S: arrays are dropped and wakers called outside.
#[derive(Default)]
pub(crate) struct AfterUnlock {
    pub(crate) dropped: Vec<Command>,
    pub(crate) wakers: Vec<Waker>,
    /// What queues that are gone had noted of their times, with the memory of that.
    pub(crate) times: Vec<QueueTiming>,
    /// Whether planning took anything out of a queue, which others may have waited for.
    pub(crate) moved: bool,
}

impl AfterUnlock {
    /// Whether code of the program has to run.
    pub(crate) fn has_code(&self) -> bool {
        !self.dropped.is_empty() || !self.wakers.is_empty()
    }

    /// Whether nothing has to be done.
    pub(crate) fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.wakers.is_empty() && self.times.is_empty() && !self.moved
    }
}

/// All bookkeeping of a context.
pub(crate) struct State {
    stamp: Stamp,
    pub(crate) queues: Vec<QueueState>,
    pub(crate) lanes: Vec<LaneState>,
    pub(crate) batches: Batches,
    pub(crate) pool: Pool,
    /// Blocks on the program's own buffers that no array has any more, and that are not over.
    pub(crate) foreign: Vec<Arc<Block>>,
    pub(crate) lost: Option<Error>,
    /// The last handle is gone: threads end once everything is done.
    pub(crate) closing: bool,
    /// Callbacks whose turn has come, for the callback thread.
    pub(crate) calls: VecDeque<(HoldId, Slot, Callback)>,
    /// Whether the tasks of a context without threads were told that callbacks are due.
    pub(crate) callbacks_announced: bool,
    /// The callbacks that run at this moment.
    pub(crate) callbacks: Callbacks,
    /// Queues whose tasks ask again once something else holds the queue back, and what does now.
    pub(crate) asking: Vec<(Slot, Option<Hold>)>,
    /// What is woken when something is over.
    pub(crate) wakers: Wakers,
    /// An error that came up in a `Drop`.
    pub(crate) drop_error: Option<Error>,
    /// What has to be done once S is released.
    pub(crate) after: AfterUnlock,
    /// How many blocks the host is at.
    pub(crate) host_uses: u32,
    /// Callers that sleep until something moves.
    pub(crate) callers_asleep: u32,
    /// Whether the callback thread sleeps.
    pub(crate) calls_idle: bool,
    /// What is noted while somebody profiles.
    pub(crate) log: Option<Box<ProfileLog>>,
    /// The waits so far, if somebody records them.
    pub(crate) wait_log: Option<Box<WaitLog>>,
    pub(crate) kernels: KernelNames,
    policy: Policy,
    /// Commands that were compared with the earlier uses of their bytes.
    pub(crate) compared: Cell<u64>,
    pub(crate) host_clock: Clock,
    holds: u64,
}

impl State {
    pub(crate) fn new(lanes: impl Iterator<Item = CostModel>, policy: Policy) -> Self {
        let own = QueueState::new("context".into(), 0, Priority::Normal, Clock::default(), Stamp(0));
        Self {
            stamp: Stamp(0),
            queues: vec![own],
            lanes: lanes.map(LaneState::new).collect(),
            batches: Batches::default(),
            pool: Pool::default(),
            foreign: Vec::new(),
            lost: None,
            closing: false,
            calls: VecDeque::new(),
            callbacks_announced: false,
            callbacks: Callbacks::default(),
            asking: Vec::new(),
            wakers: Wakers::default(),
            drop_error: None,
            after: AfterUnlock::default(),
            host_uses: 0,
            callers_asleep: 0,
            calls_idle: false,
            log: None,
            wait_log: None,
            kernels: KernelNames::default(),
            policy,
            compared: Cell::new(0),
            host_clock: Clock::default(),
            holds: 0,
        }
    }

    pub(crate) fn policy(&self) -> Policy {
        self.policy
    }

    pub(crate) fn queue(&self, slot: Slot) -> &QueueState {
        &self.queues[slot.0 as usize]
    }

    pub(crate) fn queue_mut(&mut self, slot: Slot) -> &mut QueueState {
        &mut self.queues[slot.0 as usize]
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        (0..self.queues.len() as u32).map(Slot)
    }

    /// Whether there is nothing to order: one queue is in order by itself.
    pub(crate) fn single_queue(&self) -> bool {
        self.queues.len() <= 2
    }

    /// The stamp of whatever was enqueued last.
    pub(crate) fn last_stamp(&self) -> Stamp {
        self.stamp
    }

    pub(crate) fn next_stamp(&mut self) -> Stamp {
        self.stamp.0 += 1;
        self.stamp
    }

    pub(crate) fn new_hold(&mut self) -> HoldId {
        self.holds += 1;
        HoldId(self.holds)
    }

    pub(crate) fn kernel_name(&self, id: KernelId) -> Arc<str> {
        self.kernels.get(id)
    }

    /// Whether `known` holds for whatever the queues that are there have enqueued up to `upto`.
    pub(crate) fn known_upto(&self, upto: Stamp, known: &dyn Fn(Slot, Stamp) -> bool) -> bool {
        self.slots().all(|slot| {
            let queue = self.queue(slot);
            queue.born > upto || known(slot, queue.enqueued().min(upto))
        })
    }

    /// The lane with the fewest queues.
    pub(crate) fn idlest_lane(&self) -> usize {
        let load = |lane: usize| self.queues.iter().skip(1).filter(|q| q.open && q.lane == lane).count();
        (0..self.lanes.len()).min_by_key(|&lane| load(lane)).unwrap_or(0)
    }

    /// Makes a queue that comes after everything enqueued so far.
    pub(crate) fn new_queue(
        &mut self,
        label: Arc<str>,
        priority: Priority,
        lane: usize,
        at: &'static Location<'static>,
    ) -> Slot {
        let (clock, born_after) = self.everything();
        // Its own: whoever knows the last command of the slot's queue before it knows nothing of this one.
        let stamp = self.next_stamp();
        let queue = QueueState::new(label, lane, priority, clock, stamp);
        let slot = self.place(queue);
        for point in born_after {
            self.note_wait(slot, point, ProfiledCause::Birth, at);
            self.push_wait(slot, point);
        }
        self.queue_mut(slot).unused = true;
        slot
    }

    /// Makes a queue of the context's own for one command, ordered after nothing but what that needs.
    pub(crate) fn new_helper(&mut self, label: Arc<str>, priority: Priority, lane: usize) -> Slot {
        let stamp = self.next_stamp();
        let mut queue = QueueState::new(label, lane, priority, Clock::default(), stamp);
        queue.helper = true;
        self.place(queue)
    }

    /// What knows of all that is enqueued, and the points to wait for so that it all comes first: of queues that wait
    /// for each other only the last ones. What a queue that is not used waits for is waited for without it.
    fn everything(&self) -> (Clock, Vec<Point>) {
        let used = self.slots().skip(1).filter(|&slot| !self.queue(slot).is_unused());
        let ends = used.map(|slot| self.queue(slot).end(slot));
        let mut ends: Vec<Point> = ends.filter(|&end| self.reached(end) != Reached::Done).collect();
        ends.sort_unstable_by_key(|end| std::cmp::Reverse(end.stamp));
        let (mut waited, mut points) = (Clock::default(), Vec::new());
        for end in ends {
            if !waited.covers(end.slot, end.stamp) {
                waited.join(&self.queue(end.slot).clock);
                points.push(end);
            }
        }
        (Clock::after_all(self.stamp), points)
    }

    fn place(&mut self, mut queue: QueueState) -> Slot {
        // A clock that covers a queue covers the queues that had its slot before. One of the program's comes after those;
        // a helper does not, so it takes the slots of helpers only.
        match self.queues.iter().position(|q| q.free && q.helper == queue.helper) {
            Some(at) => {
                queue.succeed(&mut self.queues[at]);
                self.queues[at] = queue;
                Slot(at as u32)
            }
            None => {
                self.queues.push(queue);
                Slot(self.queues.len() as u32 - 1)
            }
        }
    }

    /// Marks the slots of queues that are gone and done as free.
    pub(crate) fn free_slots(&mut self) {
        for queue in self.queues.iter_mut().skip(1).filter(|q| !q.open && !q.free) {
            queue.free = queue.spent();
            if queue.free {
                self.after.times.extend(queue.timing.take().map(|timing| *timing));
            }
        }
    }

    pub(crate) fn reached(&self, point: Point) -> Reached {
        let queue = self.queue(point.slot);
        match queue.reached(point.stamp) {
            // Only what the queue waited for last is done: the rest of it is what takes time.
            Reached::Planned(seq) if self.batches.is_done(seq) => {
                let open =
                    queue.batches_before(point.stamp, Stamp(0)).find(|&seq| !self.batches.is_done(seq));
                Reached::Planned(open.unwrap_or(seq))
            }
            reached => reached,
        }
    }

    /// Whether nothing is planned, on the device or to be called.
    pub(crate) fn idle(&self) -> bool {
        let idle = |lane: &LaneState| lane.timeline.in_flight() == 0 && !lane.has_ready();
        self.calls.is_empty() && self.lanes.iter().all(idle)
    }

    /// Whether a turn would get anything further.
    pub(crate) fn busy(&self) -> bool {
        let works = |lane: usize| self.lanes[lane].timeline.in_flight() > 0 || self.something_for(lane);
        !self.calls.is_empty() || (0..self.lanes.len()).any(works)
    }

    /// Whether no later use can have to wait for this one. Under [`Policy::Checked`] how far the device is must
    /// not count.
    pub(crate) fn forgettable(&self, earlier: &Use) -> bool {
        match self.policy {
            Policy::Checked => self.host_clock().covers(earlier.slot, earlier.stamp),
            _ => self.queue(earlier.slot).completed() >= earlier.stamp,
        }
    }

    /// The label of the queue that a point is of; `None` if another queue has its slot now.
    pub(crate) fn label_of(&self, point: Point) -> Option<Arc<str>> {
        let queue = self.queue(point.slot);
        (queue.born <= point.stamp).then(|| queue.label.clone())
    }

    /// As [`label_of`](Self::label_of), for messages, which say so if the label is not known any more.
    pub(crate) fn name_of(&self, point: Point) -> Arc<str> {
        self.label_of(point).unwrap_or_else(|| "(gone)".into())
    }

    /// Whether the program has no handle any more of the queue that a point is of.
    pub(crate) fn is_gone(&self, point: Point) -> bool {
        !self.queue(point.slot).open || self.label_of(point).is_none()
    }

    /// A command in the program, on a queue with this label.
    pub(crate) fn site(
        &self,
        queue: Arc<str>,
        what: CommandKind,
        location: &'static Location<'static>,
    ) -> Site {
        let command = match what {
            CommandKind::Launch(id) => format!("kernel `{}`", self.kernels.get(id)),
            CommandKind::Copy => "a copy".into(),
            CommandKind::Fill => "a fill".into(),
            CommandKind::Upload => "an upload".into(),
            CommandKind::Read => "a read".into(),
            CommandKind::Download => "a download".into(),
            CommandKind::Encode => "commands of the program".into(),
            CommandKind::Map => "a map".into(),
            CommandKind::BetweenContexts => "a copy between contexts".into(),
            CommandKind::Look => "a look of the context".into(),
        };
        Site { queue, command, location }
    }

    /// Whether a call that enqueues on `slot` is let in at all. None is if the context's own work has failed: whatever is
    /// enqueued may use what was to be made.
    #[inline]
    pub(crate) fn check(&self, slot: Slot) -> Result<()> {
        let error = |slot: Slot| self.queue(slot).error.as_ref();
        match self.lost.as_ref().or_else(|| error(slot)).or_else(|| error(Slot::CONTEXT)) {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// Lets go of whatever `hold` held; `true` if that was anything.
    pub(crate) fn release(&mut self, is: impl Fn(Hold) -> bool) -> bool {
        let mut any = false;
        for queue in &mut self.queues {
            if queue.hold.is_some_and(&is) {
                queue.hold = None;
                any = true;
            }
        }
        any
    }

    /// Takes the wakers of queues that got further without a batch's ending, or are held back by something else.
    pub(crate) fn collect_wakers(&mut self) {
        self.ask_tasks();
        let queues = &self.queues;
        let reached = self.wakers.take_reached(|slot| queues[slot.0 as usize].completed());
        self.after.wakers.extend(reached);
        let due = self.due_submitted();
        self.after.wakers.extend(due);
    }

    /// Has everybody who awaits something ask again.
    pub(crate) fn wake_all_waiters(&mut self) {
        // A callback may signal what tasks wait for, and be one that can run now.
        self.after.wakers.extend(self.wakers.take_of_ends());
    }

    /// Notes that the queues in a finished batch are further, and gives whom to wake.
    pub(crate) fn settle(&mut self, seq: Seq) -> Vec<Waker> {
        let slots = self.batches.finish(seq);
        let mut wakers = self.wakers.take(WakeCondition::Batch(seq));
        for slot in slots {
            let batches = &self.batches;
            let queue = &mut self.queues[slot.0 as usize];
            queue.settle(|seq| batches.is_done(seq));
            wakers.extend(self.wakers.take_upto(slot, queue.completed()));
            if queue.drained() {
                self.release(|hold| hold == Hold::Drain(slot));
            }
        }
        wakers.extend(self.due_submitted());
        self.batches.trim();
        self.free_slots();
        wakers
    }
}
