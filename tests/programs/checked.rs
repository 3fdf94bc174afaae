//! A model of what comes before what, written from the rules alone: queue order, events, waits, births, and what
//! the host was told. It says which calls are hazards under `Checked`.

use super::op::{Id, Memory, Op, Touch};
use fencepost::Policy;
use std::collections::BTreeMap;

/// For each queue, the number of its operations that are known to come first.
type Clock = BTreeMap<Id, u64>;

/// A use of memory: the how-manyth operation of which queue, and what is known to come before it.
struct Use {
    queue: Id,
    number: u64,
    touch: Touch,
    clock: Clock,
    /// Whether it may be no work of the queue, but done at the call: an array's being made, or an upload of ordinary
    /// memory. Under `Checked` it is always work.
    early: bool,
}

/// The state of the order of a program.
pub struct Model {
    policy: Policy,
    /// What the next operation of each queue comes after; its own operations included. Of dropped queues too.
    queues: BTreeMap<Id, Clock>,
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
        Self {
            policy,
            queues: BTreeMap::new(),
            host: Clock::new(),
            uses: BTreeMap::new(),
            events: BTreeMap::new(),
            reads: BTreeMap::new(),
        }
    }

    /// The earlier operations that conflict with `op` and that nothing orders before it, as (queue, number).
    pub fn missing(&self, op: &Op) -> Vec<(Id, u64)> {
        let Some(queue) = op.queue() else { return Vec::new() };
        let clock = &self.queues[&queue];
        let ordered = |u: &Use| covers(clock, u.queue, u.number) || covers(&self.host, u.queue, u.number);
        let touches = op.touches();
        let conflicts = touches.iter().flat_map(|touch| self.conflicts(touch));
        conflicts.filter(|u| !ordered(u)).map(|u| (u.queue, u.number)).collect()
    }

    fn conflicts<'a>(&'a self, touch: &'a Touch) -> impl Iterator<Item = &'a Use> {
        self.uses.get(&touch.memory).into_iter().flatten().filter(move |u| u.touch.conflicts(touch))
    }

    /// An event that comes after operation `number` of a queue.
    pub fn event_after(&self, queue: Id, number: u64) -> Option<Id> {
        self.events.iter().find(|(_, clock)| covers(clock, queue, number)).map(|(&e, _)| e)
    }

    /// Does an operation that was let in. `told`: the host was told that what it asked for is done.
    pub fn apply(&mut self, op: &Op, told: bool) {
        match *op {
            Op::Queue { q, .. } | Op::Fork { q, .. } => {
                let mut clock = Clock::new();
                self.queues.values().for_each(|other| join(&mut clock, other));
                self.queues.insert(q, clock);
            }
            Op::Mark { e, q } | Op::Record { e, q } => {
                self.events.insert(e, self.queues[&q].clone());
            }
            Op::WaitFor { q, ref events } => {
                for e in events {
                    self.wait(q, self.events[e].clone());
                }
            }
            Op::WaitForQueue { q, other } | Op::Join { q, other } => {
                self.wait(q, self.queues[&other].clone())
            }
            Op::WaitEvent { e, .. } if told => join(&mut self.host, &self.events[&e]),
            // A read that was refused tells nothing.
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
        if let Op::Read { r, q, .. } | Op::ReadRegion { r, q, .. } = *op {
            self.reads.insert(r, self.queues[&q].clone());
        }
        if let Some(touch) = op.host_touch() {
            let counts = |u: &&Use| !u.early || self.policy == Policy::Checked;
            let clocks: Vec<Clock> = self.conflicts(&touch).filter(counts).map(|u| u.clock.clone()).collect();
            clocks.iter().for_each(|clock| join(&mut self.host, clock));
        }
    }

    fn wait(&mut self, q: Id, clock: Clock) {
        if let Some(own) = self.queues.get_mut(&q) {
            join(own, &clock);
        }
    }

    fn use_memory(&mut self, op: &Op) {
        let Some(queue) = op.queue() else { return };
        let clock = self.queues.entry(queue).or_default();
        let number = clock.entry(queue).or_default();
        *number += 1;
        let (number, clock) = (*number, clock.clone());
        for touch in op.touches() {
            let early = matches!(op, Op::Array { .. } | Op::Upload { .. });
            let used = Use { queue, number, touch: touch.clone(), clock: clock.clone(), early };
            self.uses.entry(touch.memory).or_default().push(used);
        }
    }
}
