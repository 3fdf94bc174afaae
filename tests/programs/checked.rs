//! Models the order of operations from the rules alone: queue order, events, waits, new queues, and the completions
//! that the host knows. The model predicts which calls are hazards under `Checked`.

use super::op::{Ctx, Id, Maker, Op};
use super::touch::{Memory, Touch};
use fencepost::Policy;
use std::collections::BTreeMap;

/// For each queue, the number of its operations that are known to come before.
type Clock = BTreeMap<Id, u64>;

/// One use of memory: its queue, the number of the operation on the queue, and the operations that are known to come
/// before.
#[derive(Clone)]
struct Use {
    queue: Id,
    number: u64,
    touch: Touch,
    clock: Clock,
    /// `true` if the memory may be free before the queue has done the operation and all earlier ones, because the
    /// operation may be done at the call, or the other context does a part of it. Under `Checked`, an operation that is
    /// done at the call still counts as work of the queue.
    early: bool,
}

/// The known order of a program.
#[derive(Clone, Default)]
pub struct Model {
    policy: Policy,
    /// Operations that come before the next operation of each queue, including its own. Entries of dropped queues are
    /// kept.
    queues: BTreeMap<Id, Clock>,
    /// Context of each queue. The next two fields are the contexts of arrays and of events.
    homes: BTreeMap<Id, Ctx>,
    array_homes: BTreeMap<Id, Ctx>,
    event_homes: BTreeMap<Id, Ctx>,
    host: Clock,
    uses: BTreeMap<Memory, Vec<Use>>,
    events: BTreeMap<Id, Clock>,
    reads: BTreeMap<Id, Clock>,
}

fn join(clock: &mut Clock, other: &Clock) {
    for (&queue, &number) in other {
        let known = clock.entry(queue).or_default();
        *known = (*known).max(number);
    }
}

fn covers(clock: &Clock, queue: Id, number: u64) -> bool {
    clock.get(&queue).is_some_and(|&known| known >= number)
}

impl Model {
    pub fn new(policy: Policy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Returns the earlier operations that conflict with `op` and are not ordered before it, as (queue, number).
    pub fn missing(&self, op: &Op) -> Vec<(Id, u64)> {
        let Some(queue) = op.queue() else { return Vec::new() };
        let clock = self.clock_at(queue, &op.waits());
        let ordered = |u: &Use| covers(&clock, u.queue, u.number) || covers(&self.host, u.queue, u.number);
        let touches = op.touches();
        let conflicts = touches.iter().flat_map(|touch| self.conflicts(touch));
        conflicts.filter(|u| !ordered(u)).map(|u| (u.queue, u.number)).collect()
    }

    /// Returns the operations before the next operation of a queue, after these waits.
    fn clock_at(&self, queue: Id, waits: &[Op]) -> Clock {
        if waits.is_empty() {
            return self.queues[&queue].clone();
        }
        let mut later = self.clone();
        waits.iter().for_each(|wait| later.apply(wait, false));
        later.queues[&queue].clone()
    }

    fn conflicts<'a>(&'a self, touch: &'a Touch) -> impl Iterator<Item = &'a Use> {
        self.uses.get(&touch.memory).into_iter().flatten().filter(move |u| u.touch.conflicts(touch))
    }

    /// Returns an event that comes after operation `number` of a queue.
    pub fn event_after(&self, queue: Id, number: u64) -> Option<Id> {
        self.events.iter().find(|(_, clock)| covers(clock, queue, number)).map(|(&e, _)| e)
    }

    /// Applies the remaining part of a refused operation: the waits of its scopes.
    pub fn refuse(&mut self, op: &Op) {
        op.waits().iter().for_each(|wait| self.apply(wait, false));
    }

    /// Applies an accepted operation. `told` is `true` if the host learned that the awaited work is done.
    pub fn apply(&mut self, op: &Op, told: bool) {
        match *op {
            Op::Within { op: ref inner, .. } => {
                self.refuse(op);
                return self.apply(inner, told);
            }
            Op::Queue { q, at, .. } | Op::Default { q, at } => self.add_queue(q, at),
            Op::Fork { q, from } => self.add_queue(q, self.homes[&from]),
            Op::Array { a, by, .. } | Op::Table { a, by, .. } => {
                let home = match by {
                    Maker::Context(at) => at,
                    Maker::Queue(q) => self.homes[&q],
                    Maker::Shared => 0,
                };
                self.array_homes.insert(a, home);
            }
            Op::Mark { e, q } | Op::Record { e, q } => {
                self.events.insert(e, self.queues[&q].clone());
                self.event_homes.insert(e, self.homes[&q]);
            }
            Op::WaitFor { q, ref events } => {
                for e in events {
                    self.wait(q, self.event_homes[e], self.events[e].clone());
                }
            }
            Op::WaitForQueue { q, other } => {
                self.wait(q, self.homes[&other], self.queues[&other].clone());
            }
            Op::WaitEvent { e, .. } if told => join(&mut self.host, &self.events[&e]),
            Op::Synchronize { at, .. } if told => {
                let clocks = self.queues.iter().filter(|(q, _)| self.homes[q] == at);
                clocks.for_each(|(_, clock)| join(&mut self.host, clock));
            }
            // The host learns nothing from a refused read.
            Op::WaitRead { r, .. } if told => {
                join(&mut self.host, self.reads.get(&r).unwrap_or(&Clock::new()))
            }
            Op::Finish { q, .. } if told => join(&mut self.host, &self.queues[&q]),
            Op::DropArray { a } => {
                self.uses.remove(&Memory::Array(a));
            }
            _ => {}
        }
        self.use_memory(op);
        if let (Some(r), Some(q)) = (op.begins_read(), op.queue()) {
            self.reads.insert(r, self.queues[&q].clone());
        }
        if let Some(touch) = op.host_touch() {
            let counts = |u: &&Use| !u.early || self.policy == Policy::Checked;
            let clocks: Vec<Clock> = self.conflicts(&touch).filter(counts).map(|u| u.clock.clone()).collect();
            clocks.iter().for_each(|clock| join(&mut self.host, clock));
        }
    }

    /// Adds a queue. It comes after everything that was enqueued on its context before.
    fn add_queue(&mut self, q: Id, at: Ctx) {
        let mut clock = Clock::new();
        let here = self.queues.iter().filter(|(other, _)| self.homes[other] == at);
        here.for_each(|(_, other)| join(&mut clock, other));
        self.queues.insert(q, clock);
        self.homes.insert(q, at);
    }

    /// Adds the wait of a queue. `Checked` ignores order through another context.
    fn wait(&mut self, q: Id, home: Ctx, clock: Clock) {
        if self.policy == Policy::Checked && self.homes[&q] != home {
            return;
        }
        if let Some(own) = self.queues.get_mut(&q) {
            join(own, &clock);
        }
    }

    /// Returns `true` if the other context does a part of the operation.
    fn is_across(&self, queue: Id, touches: &[Touch]) -> bool {
        let elsewhere =
            |memory| matches!(memory, Memory::Array(a) if self.array_homes[&a] != self.homes[&queue]);
        touches.iter().any(|touch| elsewhere(touch.memory))
    }

    fn use_memory(&mut self, op: &Op) {
        let Some(queue) = op.queue() else { return };
        let clock = self.queues.entry(queue).or_default();
        let number = clock.entry(queue).or_default();
        *number += 1;
        let number = *number;
        let clock = clock.clone();
        let touches = op.touches();
        let early = op.may_be_early() || self.is_across(queue, &touches);
        for touch in touches {
            let used = Use { queue, number, touch: touch.clone(), clock: clock.clone(), early };
            self.uses.entry(touch.memory).or_default().push(used);
        }
    }
}
