//! Executes the operations of a program on its contexts, one call each.

use super::awaiting::Waits;
use super::held::{Guard, Held, Reading};
use super::kernels::Home;
use super::op::{Ctx, Id, Maker, Op, Scope, Ty, Wait};
use fencepost::prelude::*;
use fencepost::{Error, ErrorDetail, Priority, QueueOptions, Result, ScopeOptions, UserEvent};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Result of one operation.
#[derive(Debug)]
pub enum Outcome {
    /// The operation has no result.
    Done,
    /// The awaited work is not done yet.
    Later,
    /// The awaited work is done.
    Told,
    Data(Vec<u32>),
    Failed(Error),
}

impl Outcome {
    /// Returns `true` if the outcome is a hazard.
    pub fn hazard(&self) -> bool {
        matches!(self, Outcome::Failed(error) if matches!(error.detail(), ErrorDetail::Hazard { .. }))
    }
}

/// Host callbacks that have run: queue, number of the callback on the queue, and `true` if the queue's earlier work was
/// done.
type Log = Arc<Mutex<Vec<(Id, usize, bool)>>>;

/// Everything that a program has made.
#[derive(Default)]
pub struct Machine {
    pub(super) homes: Vec<Home>,
    /// `true` if the contexts have threads. Without threads, calls that wait do the work of the context.
    pub(super) threads: bool,
    /// Way in which the program waits.
    pub(super) waits: Waits,
    /// `true` if callbacks may query events. Under `Checked` a query can tell the host that work is done.
    asks: bool,
    pub(super) queues: BTreeMap<Id, CommandQueue>,
    queue_homes: BTreeMap<Id, Ctx>,
    pub(super) array_homes: BTreeMap<Id, Ctx>,
    pub(super) arrays: BTreeMap<Id, Held>,
    pub(super) types: BTreeMap<Id, Ty>,
    pub(super) reads: BTreeMap<Id, Reading>,
    pub(super) up: BTreeMap<Id, HostArray<u32, Upload>>,
    pub(super) down: BTreeMap<Id, HostArray<u32, Download>>,
    events: BTreeMap<Id, Event>,
    users: BTreeMap<Id, UserEvent>,
    pub(super) maps: BTreeMap<Id, Guard>,
    callbacks: BTreeMap<Id, usize>,
    log: Log,
}

/// Returns a function for a callback. It returns `true` if the event is complete.
#[cfg(not(target_arch = "wasm32"))]
fn asked(event: Event) -> impl FnOnce() -> bool + Send + 'static {
    move || event.is_complete().is_ok_and(|done| done)
}

/// The same in a page. Its events are not `Send`, but its callbacks run on the same thread.
#[cfg(target_arch = "wasm32")]
fn asked(event: Event) -> impl FnOnce() -> bool + Send + 'static {
    thread_local! {
        static EVENTS: std::cell::RefCell<Vec<Option<Event>>> = std::cell::RefCell::default();
    }
    let at = EVENTS.with_borrow_mut(|events| {
        events.push(Some(event));
        events.len() - 1
    });
    move || {
        let event = EVENTS.with_borrow_mut(|events| events[at].take());
        event.is_some_and(|event| event.is_complete().is_ok_and(|done| done))
    }
}

fn told(done: bool) -> Outcome {
    if done { Outcome::Told } else { Outcome::Later }
}

impl Machine {
    /// Makes a machine with one context or two.
    pub fn new(contexts: Vec<Context>, threads: bool, asks: bool) -> Self {
        Self { homes: contexts.into_iter().map(Home::new).collect(), threads, asks, ..Self::default() }
    }

    /// Returns the machine with another way to wait.
    pub fn waiting(self, waits: Waits) -> Self {
        Self { waits, ..self }
    }

    /// Executes one operation.
    pub fn step(&mut self, op: &Op) -> Outcome {
        self.attempt(op).unwrap_or_else(Outcome::Failed)
    }

    fn attempt(&mut self, op: &Op) -> Result<Outcome> {
        match op {
            Op::Queue { .. } | Op::Fork { .. } | Op::Default { .. } | Op::DropQueue { .. } => {
                self.queue(op);
                Ok(Outcome::Done)
            }
            Op::Within { scopes, op, .. } => self.within(scopes, op),
            _ => match op.queue() {
                Some(q) => self.work(&self.queues[&q].clone(), op),
                None if op.host_touch().is_some() => self.touch(op),
                None => self.order(op),
            },
        }
    }

    fn queue(&mut self, op: &Op) {
        let (q, home, queue) = match *op {
            Op::Queue { q, urgency, at } => {
                // The first queue is timed. Timing must not change any result.
                let label = format!("q{q}");
                let priority = Priority::clamped(urgency);
                let options = QueueOptions::default().label(label).priority(priority).timing(q == 1);
                (q, at, self.homes[at].ctx.queue_with(options))
            }
            Op::Fork { q, from } => (q, self.queue_homes[&from], self.queues[&from].fork(&format!("q{q}"))),
            Op::Default { q, at } => (q, at, self.homes[at].ctx.default_queue()),
            Op::DropQueue { q } => return drop(self.queues.remove(&q)),
            _ => unreachable!("bug: {op:?} makes no queue"),
        };
        self.queues.insert(q, queue);
        self.queue_homes.insert(q, home);
    }

    /// Adds an existing queue of the first context.
    pub fn adopt(&mut self, q: Id, queue: CommandQueue) {
        self.queues.insert(q, queue);
        self.queue_homes.insert(q, 0);
    }

    /// Waits for a read.
    pub fn reading(&mut self, reading: Reading) -> Result<Vec<u32>> {
        match reading {
            Reading::U32(pending) => self.get(pending),
            Reading::I32(pending) => self.get(pending).map(bytemuck::cast_vec),
            Reading::F32(pending) => self.get(pending).map(bytemuck::cast_vec),
            Reading::Here(elements) => Ok(elements),
            Reading::Failed(error) => Err(error),
        }
    }

    /// Returns the context that makes an array.
    pub(super) fn home_by(&self, by: Maker) -> Ctx {
        match by {
            Maker::Context(at) => at,
            Maker::Queue(q) => self.queue_homes[&q],
            Maker::Shared => 0,
        }
    }

    /// Returns the context of an array.
    pub fn home_of(&self, a: Id) -> Ctx {
        self.array_homes[&a]
    }

    /// Returns the context of a queue.
    pub(super) fn home(&self, q: Id) -> &Home {
        &self.homes[self.queue_homes[&q]]
    }

    /// Enters scopes, and calls a verb of the context inside.
    fn within(&mut self, scopes: &[Scope], op: &Op) -> Result<Outcome> {
        match scopes {
            [] => {
                let q = op.queue().expect("it is a verb");
                self.work(&self.home(q).ctx.current_queue(), op)
            }
            [Scope { q, waits }, inner @ ..] => {
                let queue = self.queues[q].clone();
                let options = ScopeOptions::default().wait(*waits);
                match *waits {
                    true => queue.scope(|| self.within(inner, op)),
                    false => queue.scope_with(options, || self.within(inner, op)),
                }
            }
        }
    }

    /// Executes operations that order work or drop objects: events, waits, callbacks, drops.
    fn order(&mut self, op: &Op) -> Result<Outcome> {
        match *op {
            Op::Array { .. } | Op::Table { .. } | Op::Pin { .. } | Op::PinBack { .. } => {
                return self.make(op);
            }
            Op::DropArray { a } => drop(self.arrays.remove(&a)),
            Op::WaitRead { r, how } => return self.wait_read(r, how),
            Op::DropRead { r } => drop(self.reads.remove(&r)),
            Op::Unmap { m } => drop(self.maps.remove(&m)),
            Op::Trim => {
                for home in &self.homes {
                    home.ctx.pool().trim();
                }
            }
            Op::MakeCurrent { q } => self.queues[&q].make_current(),
            Op::Mark { e, q } => drop(self.events.insert(e, self.queues[&q].marker())),
            Op::Record { e, q } => self.events[&e].record(&self.queues[&q])?,
            Op::WaitFor { q, ref events } => {
                let events: Vec<&Event> = events.iter().map(|e| &self.events[e]).collect();
                self.queues[&q].wait_for(&events)?;
            }
            Op::WaitForQueue { q, other } => self.queues[&q].wait_for(&self.queues[&other])?,
            Op::WaitEvent { e, how: Wait::Look } => return self.events[&e].is_complete().map(told),
            Op::WaitEvent { e, how } => {
                return self.wait(self.events[&e].done(), how).map(|done| told(done.is_some()));
            }
            Op::UserEvent { u, at } => {
                self.users.insert(u, self.homes[at].ctx.user_event(&format!("u{u}")));
            }
            Op::WaitForUser { q, u } => self.queues[&q].wait_for(&self.users[&u].event())?,
            Op::Signal { u } => self.users[&u].signal(),
            Op::Callback { q } => self.callback(q)?,
            Op::Flush { q } => self.queues[&q].flush()?,
            Op::Finish { q, how: Wait::Look } => return self.queues[&q].marker().is_complete().map(told),
            Op::Finish { q, how } => {
                return self.wait(self.queues[&q].finish(), how).map(|done| told(done.is_some()));
            }
            Op::Synchronize { at, how } => {
                let all = self.homes[at].ctx.synchronize();
                return self.wait(all, how).map(|done| told(done.is_some()));
            }
            _ => unreachable!("bug: no arm for {op:?}"),
        }
        Ok(Outcome::Done)
    }

    fn callback(&mut self, q: Id) -> Result<()> {
        let queue = &self.queues[&q];
        let before = asked(queue.marker());
        let log = self.log.clone();
        let asks = self.asks;
        let count = self.callbacks.entry(q).or_default();
        let number = *count;
        queue.callback(move || {
            let done = !asks || before();
            log.lock().unwrap_or_else(PoisonError::into_inner).push((q, number, done));
        })?;
        *count += 1;
        Ok(())
    }

    /// Returns the event of everything enqueued so far on a queue.
    pub fn mark(&self, q: Id) -> Event {
        self.queues[&q].marker()
    }

    /// Drops the user events, signalled or not.
    pub fn abandon(&mut self) {
        self.users.clear();
    }

    /// Returns the queues that exist.
    pub fn queues(&self) -> impl Iterator<Item = &CommandQueue> {
        self.queues.values()
    }

    /// Signals every user event.
    pub fn signal_all(&self) {
        self.users.values().for_each(UserEvent::signal);
    }

    /// Drops every guard of a map.
    pub fn unmap_all(&mut self) {
        self.maps.clear();
    }

    /// Returns a queue of each context whose work comes after everything else.
    pub fn last_queues(&self) -> Result<Vec<CommandQueue>> {
        let last: Vec<_> = self.homes.iter().map(|home| home.ctx.queue("last")).collect();
        // The queues wait for each other, because a queue of the other context may have copied to this one.
        for (queue, other) in last.iter().zip(last.iter().skip(1)) {
            let event = queue.marker();
            queue.wait_for(other)?;
            other.wait_for(&event)?;
        }
        Ok(last)
    }

    /// Returns the memory of an array, read on `queue`.
    pub fn elements(&mut self, queue: &CommandQueue, a: Id) -> Result<Vec<u32>> {
        let elements = self.reading(self.arrays[&a].read(queue));
        self.around(a, &elements?)
    }

    /// Returns all memory of an array. `elements` are the elements that a read returned.
    fn around(&mut self, a: Id, elements: &[u32]) -> Result<Vec<u32>> {
        let Held::Table(table) = &self.arrays[&a] else { return Ok(elements.to_vec()) };
        let ([_, cols], [_, padded], map) = (table.shape(), table.padded_shape(), table.map_read());
        let mut memory = self.get(map)?.to_vec();
        for (row, elements) in memory.chunks_mut(padded).zip(elements.chunks(cols)) {
            row[..cols].copy_from_slice(elements);
        }
        Ok(memory)
    }

    /// Returns the memory of an array, through a map.
    pub fn mapped(&mut self, a: Id) -> Result<Vec<u32>> {
        let array = self.arrays[&a].slice(0..self.arrays[&a].memory())?;
        array.map(None, self).map(|(_, found)| found)
    }

    /// Checks that each callback ran, in the order of its queue, after the work before it.
    pub fn check_callbacks(&self) -> Result<(), String> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        for (&q, &count) in &self.callbacks {
            let ran: Vec<_> = log.iter().filter(|(queue, ..)| *queue == q).collect();
            let numbers: Vec<usize> = ran.iter().map(|(_, number, _)| *number).collect();
            if numbers != (0..count).collect::<Vec<_>>() {
                return Err(format!("callbacks 0..{count} of q{q} ran as {numbers:?}"));
            }
            if let Some((_, number, _)) = ran.iter().find(|(.., done)| !done) {
                return Err(format!(
                    "callback {number} of q{q} ran before the earlier work of its queue was done"
                ));
            }
        }
        Ok(())
    }
}
