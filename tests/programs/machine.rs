//! Does the operations of a program on a context, one call each.

use super::held::{Guard, Held, Reading};
use super::kernels::Kernels;
use super::op::{Contents, Id, Kernel, Maker, Op, Part, Ty, Wait, elements};
use fencepost::prelude::*;
use fencepost::{Error, Kind, Priority, QueueOptions, Result, UserEvent};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

/// What came of an operation.
#[derive(Debug)]
pub enum Outcome {
    /// Nothing to show.
    Done,
    /// What it asked for is not done yet.
    Later,
    /// What it asked for is done.
    Told,
    Data(Vec<u32>),
    Failed(Error),
}

impl Outcome {
    /// Whether it is a hazard.
    pub fn hazard(&self) -> bool {
        matches!(self, Outcome::Failed(error) if matches!(error.kind(), Kind::Hazard { .. }))
    }
}

/// Notes of host callbacks that have run: the queue, how many of it had been enqueued, and whether what came before
/// was done.
type Log = Arc<Mutex<Vec<(Id, usize, bool)>>>;

/// Everything that a program holds.
pub struct Machine {
    ctx: Context,
    /// Whether the context has threads; without, whoever waits does their work.
    threads: bool,
    /// Whether callbacks may ask what is done: under `Checked` that would tell the host something.
    asks: bool,
    kernels: Kernels,
    queues: BTreeMap<Id, CommandQueue>,
    arrays: BTreeMap<Id, Held>,
    reads: BTreeMap<Id, Reading>,
    up: BTreeMap<Id, HostArray<u32, Upload>>,
    down: BTreeMap<Id, HostArray<u32, Download>>,
    events: BTreeMap<Id, Event>,
    users: BTreeMap<Id, UserEvent>,
    maps: BTreeMap<Id, Guard>,
    callbacks: BTreeMap<Id, usize>,
    log: Log,
}

fn told(done: bool) -> Outcome {
    if done { Outcome::Told } else { Outcome::Later }
}

impl Machine {
    pub fn new(ctx: Context, threads: bool, asks: bool) -> Self {
        Self {
            ctx,
            threads,
            asks,
            kernels: Kernels::default(),
            queues: BTreeMap::new(),
            arrays: BTreeMap::new(),
            reads: BTreeMap::new(),
            up: BTreeMap::new(),
            down: BTreeMap::new(),
            events: BTreeMap::new(),
            users: BTreeMap::new(),
            maps: BTreeMap::new(),
            callbacks: BTreeMap::new(),
            log: Log::default(),
        }
    }

    /// Does one operation.
    pub fn step(&mut self, op: &Op) -> Outcome {
        self.attempt(op).unwrap_or_else(Outcome::Failed)
    }

    fn attempt(&mut self, op: &Op) -> Result<Outcome> {
        match *op {
            Op::Queue { q, urgency } => {
                // One of them timed: nothing else may come of that.
                let options = QueueOptions {
                    label: format!("q{q}"),
                    priority: Priority::clamped(urgency),
                    timing: q == 1,
                };
                self.queues.insert(q, self.ctx.queue_with(options));
            }
            Op::Fork { q, from } => {
                let fork = self.queues[&from].fork(&format!("q{q}"));
                self.queues.insert(q, fork);
            }
            Op::DropQueue { q } => drop(self.queues.remove(&q)),
            Op::Array { a, by, ty, len, contents } => {
                let array = self.array(by, ty, len, contents)?;
                self.arrays.insert(a, array);
            }
            Op::DropArray { a } => drop(self.arrays.remove(&a)),
            Op::Fill { q, dst, value } => self.slice(dst)?.fill(&self.queues[&q], value)?,
            Op::Upload { q, dst, seed } => {
                self.slice(dst)?.upload(&self.queues[&q], &elements(seed, dst.len))?
            }
            Op::Copy { q, src, dst } => self.slice(src)?.copy_to(&self.queues[&q], &mut self.slice(dst)?)?,
            Op::CopyRegion { q, src, dst } => {
                let (from, to) = (&self.arrays[&src.part.a], &self.arrays[&dst.part.a]);
                from.copy_region_to(&self.queues[&q], src, to, dst)?;
            }
            Op::Launch { q, ref kernel } => self.launch(q, kernel)?,
            Op::Read { q, r, src } => {
                let read = self.slice(src)?.read(&self.queues[&q]);
                self.reads.insert(r, read);
            }
            Op::ReadRegion { q, r, src } => {
                let read = self.arrays[&src.part.a].read_region(&self.queues[&q], src);
                self.reads.insert(r, read);
            }
            Op::WaitRead { r, how } => return self.wait_read(r, how),
            Op::DropRead { r } => drop(self.reads.remove(&r)),
            Op::Trim => drop(self.ctx.trim()),
            Op::Pin { .. }
            | Op::WritePinned { .. }
            | Op::UploadPinned { .. }
            | Op::PinBack { .. }
            | Op::Download { .. }
            | Op::ReadPinned { .. } => return self.pinned(op),
            Op::MapRead { m, part } => return self.map(m, part, None),
            Op::MapWrite { m, part, seed } => return self.map(m, part, Some(seed)),
            Op::Unmap { m } => drop(self.maps.remove(&m)),
            _ => return self.order(op),
        }
        Ok(Outcome::Done)
    }

    /// Events, waits, callbacks.
    fn order(&mut self, op: &Op) -> Result<Outcome> {
        match *op {
            Op::Mark { e, q } => drop(self.events.insert(e, self.queues[&q].marker())),
            Op::Record { e, q } => self.queues[&q].record(&self.events[&e])?,
            Op::WaitFor { q, ref events } => {
                let events: Vec<&Event> = events.iter().map(|e| &self.events[e]).collect();
                self.queues[&q].wait_for(&events)?;
            }
            Op::WaitForQueue { q, other } => self.queues[&q].wait_for_queue(&self.queues[&other])?,
            Op::Join { q, other } => self.queues[&q].join(&self.queues[&other])?,
            Op::WaitEvent { e, how: Wait::Look } => return self.events[&e].is_complete().map(told),
            Op::WaitEvent { e, how } => {
                return self.wait(self.events[&e].done(), how).map(|done| told(done.is_some()));
            }
            Op::UserEvent { u } => drop(self.users.insert(u, self.ctx.user_event(&format!("u{u}")))),
            Op::WaitForUser { q, u } => self.queues[&q].wait_for(&self.users[&u].event())?,
            Op::Signal { u } => self.users[&u].signal(),
            Op::Callback { q } => self.callback(q)?,
            Op::Flush { q } => self.queues[&q].flush()?,
            Op::Finish { q, how: Wait::Look } => return self.queues[&q].is_complete().map(told),
            Op::Finish { q, how } => {
                return self.wait(self.queues[&q].finish(), how).map(|done| told(done.is_some()));
            }
            _ => unreachable!("bug: no arm for {op:?}"),
        }
        Ok(Outcome::Done)
    }

    fn slice(&self, part: Part) -> Result<Held> {
        self.arrays[&part.a].slice(part.range())
    }

    fn array(&self, by: Maker, ty: Ty, len: usize, contents: Contents) -> Result<Held> {
        match (by, ty) {
            (Maker::Context, Ty::U32) => on_context(&self.ctx, len, contents).map(Held::U32),
            (Maker::Context, Ty::I32) => on_context(&self.ctx, len, contents).map(Held::I32),
            (Maker::Queue(q), Ty::U32) => on_queue(&self.queues[&q], len, contents).map(Held::U32),
            (Maker::Queue(q), Ty::I32) => on_queue(&self.queues[&q], len, contents).map(Held::I32),
        }
    }

    fn launch(&self, q: Id, kernel: &Kernel) -> Result<()> {
        let (reads, write) = kernel.parts();
        let reads: Vec<Held> = reads.into_iter().map(|part| self.slice(part)).collect::<Result<_>>()?;
        self.kernels.launch(&self.ctx, &self.queues[&q], kernel, &reads, &mut self.slice(write)?)
    }

    fn wait_read(&mut self, r: Id, how: Wait) -> Result<Outcome> {
        let result = match self.reads.remove(&r) {
            Some(Reading::U32(pending)) => {
                self.wait_or_keep(pending, how).map(|found| read(found, Reading::U32))
            }
            Some(Reading::I32(pending)) => {
                self.wait_or_keep(pending, how).map(|found| read(found, Reading::I32))
            }
            Some(Reading::Here(elements)) => Ok(Reading::Here(elements)),
            Some(Reading::Failed(error)) => Err(error),
            None => unreachable!("bug: no read {r}"),
        };
        let (outcome, kept) = match result {
            Ok(Reading::Here(elements)) => (Outcome::Data(elements.clone()), Reading::Here(elements)),
            Ok(pending) => (Outcome::Later, pending),
            Err(error) => (Outcome::Failed(error.clone()), Reading::Failed(error)),
        };
        self.reads.insert(r, kept);
        Ok(outcome)
    }

    /// Waits for a result; gives it, or the one that will have it.
    fn wait_or_keep<T: Unpin + 'static>(
        &self,
        mut pending: Pending<T>,
        how: Wait,
    ) -> Result<Result<T, Pending<T>>> {
        Ok(match how {
            Wait::Block => Ok(pending.wait()?),
            Wait::Await => Ok(self.awaited(pending)?),
            Wait::Within(us) => pending.wait_timeout(Duration::from_micros(us))?.ok_or(pending),
            Wait::Look => Err(pending),
        })
    }

    fn wait<T: Unpin + 'static>(&self, pending: Pending<T>, how: Wait) -> Result<Option<T>> {
        Ok(self.wait_or_keep(pending, how)?.ok())
    }

    /// Awaits a result: on an executor, or, where no thread works meanwhile, by asking again and again.
    fn awaited<T: Unpin + 'static>(&self, mut pending: Pending<T>) -> Result<T> {
        if self.threads {
            return pollster::block_on(pending);
        }
        let mut cx = std::task::Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(result) = Future::poll(std::pin::Pin::new(&mut pending), &mut cx) {
                return result;
            }
        }
    }

    fn pinned(&mut self, op: &Op) -> Result<Outcome> {
        match *op {
            Op::Pin { p, len } => drop(self.up.insert(p, self.ctx.pinned([len])?)),
            Op::PinBack { d, len } => drop(self.down.insert(d, self.ctx.pinned([len])?)),
            Op::WritePinned { p, seed } => {
                let Some(up) = self.up.get_mut(&p) else { unreachable!("bug: no pinned array {p}") };
                let words = elements(seed, up.len());
                up.write(|host| host.copy_from_slice(&words))?;
            }
            Op::UploadPinned { q, p, start, dst } => {
                let Held::U32(mut array) = self.slice(dst)? else {
                    unreachable!("bug: a pinned array of i32")
                };
                self.queues[&q].upload_range(&self.up[&p], start..start + dst.len, &mut array)?;
            }
            Op::Download { q, src, d } => {
                let Held::U32(array) = self.slice(src)? else { unreachable!("bug: a pinned array of i32") };
                let Some(down) = self.down.get_mut(&d) else { unreachable!("bug: no pinned array {d}") };
                self.queues[&q].download(&array, down)?;
            }
            Op::ReadPinned { d } => return self.down[&d].read(<[u32]>::to_vec).map(Outcome::Data),
            _ => unreachable!("bug: no pinned array in {op:?}"),
        }
        Ok(Outcome::Done)
    }

    fn map(&mut self, m: Id, part: Part, seed: Option<u32>) -> Result<Outcome> {
        let (guard, found) = self.slice(part)?.map(seed.map(|seed| elements(seed, part.len)))?;
        self.maps.insert(m, guard);
        Ok(Outcome::Data(found))
    }

    fn callback(&mut self, q: Id) -> Result<()> {
        let queue = &self.queues[&q];
        let (before, log, asks) = (queue.marker(), self.log.clone(), self.asks);
        let count = self.callbacks.entry(q).or_default();
        let number = *count;
        queue.callback(move || {
            let done = !asks || before.is_complete().is_ok_and(|done| done);
            log.lock().unwrap_or_else(PoisonError::into_inner).push((q, number, done));
        })?;
        *count += 1;
        Ok(())
    }

    /// The event of everything enqueued so far on a queue.
    pub fn mark(&self, q: Id) -> Event {
        self.queues[&q].marker()
    }

    /// Drops the user events, signalled or not.
    pub fn abandon(&mut self) {
        self.users.clear();
    }

    /// The queues that there are.
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

    /// A queue that comes after everything.
    pub fn last_queue(&self) -> CommandQueue {
        self.ctx.queue("last")
    }

    /// The elements of an array, read on `queue`.
    pub fn elements(&self, queue: &CommandQueue, a: Id) -> Result<Vec<u32>> {
        match self.arrays[&a].read(queue) {
            Reading::U32(pending) => pending.wait(),
            Reading::I32(pending) => pending.wait().map(bytemuck::cast_vec),
            Reading::Here(elements) => Ok(elements),
            Reading::Failed(error) => Err(error),
        }
    }

    /// What is wrong with the callbacks that have run, if anything is: each ran, in the order of its queue, after
    /// what came before it.
    pub fn check_callbacks(&self) -> Result<(), String> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        for (&q, &count) in &self.callbacks {
            let ran: Vec<_> = log.iter().filter(|(queue, ..)| *queue == q).collect();
            let numbers: Vec<usize> = ran.iter().map(|(_, number, _)| *number).collect();
            if numbers != (0..count).collect::<Vec<_>>() {
                return Err(format!("callbacks 0..{count} of q{q} ran as {numbers:?}"));
            }
            if let Some((_, number, _)) = ran.iter().find(|(.., done)| !done) {
                return Err(format!("callback {number} of q{q} ran before what came before it was done"));
            }
        }
        Ok(())
    }
}

fn read<T: bytemuck::Pod + Unpin>(
    found: Result<Vec<T>, Pending<Vec<T>>>,
    pending: fn(Pending<Vec<T>>) -> Reading,
) -> Reading {
    found.map_or_else(pending, |elements| Reading::Here(bytemuck::cast_slice(&elements).to_vec()))
}

fn on_context<T: fencepost::Element>(
    ctx: &Context,
    len: usize,
    contents: Contents,
) -> Result<DeviceArray<T>> {
    match contents {
        Contents::Zeros => ctx.zeros([len]),
        Contents::Full(value) => ctx.full([len], bytemuck::cast(value)),
        Contents::Elements(seed) => ctx.array(bytemuck::cast_slice(&elements(seed, len))),
        Contents::Empty => ctx.empty([len]),
    }
}

fn on_queue<T: fencepost::Element>(
    queue: &CommandQueue,
    len: usize,
    contents: Contents,
) -> Result<DeviceArray<T>> {
    match contents {
        Contents::Zeros => queue.zeros([len]),
        Contents::Full(value) => queue.full([len], bytemuck::cast(value)),
        Contents::Elements(seed) => queue.array(bytemuck::cast_slice(&elements(seed, len))),
        Contents::Empty => queue.empty([len]),
    }
}
