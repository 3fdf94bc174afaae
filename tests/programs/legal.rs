//! Checks which operations are valid at a position of a program: their objects exist, and no wait lasts forever.

use super::bounds::Bounds;
use super::op::{Ctx, Frame, Id, Maker, Op, Ty};
use super::touch::Memory;
use std::collections::{BTreeMap, BTreeSet};

/// Alignment of slices that are bound to launches, in elements. Every adapter accepts it.
pub const BINDING: usize = 64;

/// User events for which work waits.
type Gates = BTreeSet<Id>;

/// An array or a table.
#[derive(Clone, Copy)]
pub struct Shape {
    pub ty: Ty,
    /// Number of elements of its memory.
    pub len: usize,
    /// Shapes of a table.
    pub frame: Option<Frame>,
    /// `true` if encoded commands can use the array.
    pub shared: bool,
    pub home: Ctx,
}

/// Objects that exist at a position of a program.
#[derive(Clone, Default)]
pub struct Legal {
    pub queues: BTreeSet<Id>,
    pub arrays: BTreeMap<Id, Shape>,
    pub up: BTreeMap<Id, usize>,
    pub down: BTreeMap<Id, usize>,
    pub events: BTreeMap<Id, Gates>,
    pub reads: BTreeMap<Id, Gates>,
    pub maps: BTreeMap<Id, Id>,
    /// User events that are not signalled.
    pub open: Gates,
    /// Default queue of each context, if it was used.
    pub defaults: BTreeMap<Ctx, Id>,
    /// Contexts of queues, including dropped ones.
    pub homes: BTreeMap<Id, Ctx>,
    pub(super) bounds: Bounds,
    pub(super) users: BTreeSet<Id>,
    pub(super) event_homes: BTreeMap<Id, Ctx>,
    /// Queue that `make_current` made current.
    made_current: BTreeMap<Ctx, Id>,
    /// User events for which queues wait, including dropped queues.
    pub(super) queue_gates: BTreeMap<Id, Gates>,
    memory_gates: BTreeMap<Memory, Gates>,
}

impl Legal {
    /// Returns the operations of a program that are valid, each checked after the previous ones.
    pub fn filter(ops: &[Op]) -> Vec<Op> {
        let mut legal = Legal::default();
        let admitted = |op: &&Op| {
            let ok = legal.admits(op);
            if ok {
                legal.apply(op);
            }
            ok
        };
        ops.iter().filter(admitted).cloned().collect()
    }

    /// Returns `true` if `op` is valid here.
    pub fn admits(&self, op: &Op) -> bool {
        op.queue().is_none_or(|q| self.queues.contains(&q)) && self.names(op) && !self.lasts(op)
    }

    /// Returns the queue that is current in a context, if there is one.
    pub fn current(&self, at: Ctx) -> Option<Id> {
        self.made_current.get(&at).or_else(|| self.defaults.get(&at)).copied()
    }

    /// Returns `true` if the host would wait for a user event that is not signalled.
    fn lasts(&self, op: &Op) -> bool {
        let open = |gates: Option<&Gates>| gates.is_some_and(|gates| !gates.is_disjoint(&self.open));
        match op {
            Op::WaitRead { r, how } if how.blocks() => open(self.reads.get(r)),
            Op::WaitEvent { e, how } if how.blocks() => open(self.events.get(e)),
            Op::Finish { q, how } if how.blocks() => open(self.queue_gates.get(q)),
            Op::Synchronize { at, how } if how.blocks() => {
                self.queues_of(*at).any(|(_, gates)| open(Some(gates)))
            }
            _ => op.host_touch().is_some_and(|touch| open(self.memory_gates.get(&touch.memory))),
        }
    }

    /// Records the objects that `op` makes and drops.
    pub fn apply(&mut self, op: &Op) {
        match op {
            Op::Within { op: inner, .. } => {
                op.waits().iter().for_each(|wait| self.apply(wait));
                return self.apply(inner);
            }
            Op::Queue { q, at, .. } => self.add_queue(*q, *at),
            Op::Fork { q, from } => self.add_queue(*q, self.homes[from]),
            Op::Default { q, at } => {
                self.add_queue(*q, *at);
                self.defaults.insert(*at, *q);
            }
            Op::DropQueue { q } => {
                self.queues.remove(q);
                self.made_current.retain(|_, current| current != q);
            }
            Op::MakeCurrent { q } => drop(self.made_current.insert(self.homes[q], *q)),
            Op::Array { a, ty, len, by, .. } => {
                let shared = *by == Maker::Shared;
                let home = self.home_of(*by);
                self.arrays.insert(*a, Shape { ty: *ty, len: *len, frame: None, shared, home });
            }
            Op::Table { a, by, frame, .. } => {
                let len = frame.memory();
                let home = self.home_of(*by);
                self.arrays.insert(*a, Shape { ty: Ty::U32, len, frame: Some(*frame), shared: false, home });
            }
            Op::DropArray { a } => {
                self.arrays.remove(a);
                self.memory_gates.remove(&Memory::Array(*a));
            }
            Op::DropRead { r } => drop(self.reads.remove(r)),
            Op::Pin { p, len } => drop(self.up.insert(*p, *len)),
            Op::PinBack { d, len } => drop(self.down.insert(*d, *len)),
            Op::Mark { e, q } | Op::Record { e, q } => {
                self.events.insert(*e, self.gates(*q));
                self.event_homes.insert(*e, self.homes[q]);
            }
            Op::WaitFor { q, events } => {
                let gates: Gates = events.iter().flat_map(|e| self.events[e].clone()).collect();
                self.gate(*q, gates);
            }
            Op::WaitForQueue { q, other } => self.gate(*q, self.gates(*other)),
            Op::UserEvent { u, .. } => {
                self.users.insert(*u);
                self.open.insert(*u);
            }
            Op::WaitForUser { q, u } => self.gate(*q, [*u].into()),
            Op::Signal { u } => drop(self.open.remove(u)),
            Op::MapRead { m, part } | Op::MapWrite { m, part, .. } => drop(self.maps.insert(*m, part.a)),
            Op::Unmap { m } => drop(self.maps.remove(m)),
            _ => {}
        }
        self.use_memory(op);
        self.bounds.apply(op);
        if let (Some(r), Some(q)) = (op.begins_read(), op.queue()) {
            self.reads.insert(r, self.gates(q));
        }
    }

    /// Adds a queue. It comes after everything that was enqueued on its context before.
    fn add_queue(&mut self, q: Id, at: Ctx) {
        let gates = self.queues_of(at).flat_map(|(_, gates)| gates.clone()).collect();
        self.queue_gates.insert(q, gates);
        self.queues.insert(q);
        self.homes.insert(q, at);
    }

    fn queues_of(&self, at: Ctx) -> impl Iterator<Item = (&Id, &Gates)> {
        self.queue_gates.iter().filter(move |(q, _)| self.homes[q] == at)
    }

    fn home_of(&self, by: Maker) -> Ctx {
        match by {
            Maker::Context(at) => at,
            Maker::Queue(q) => self.homes[&q],
            Maker::Shared => 0,
        }
    }

    fn gates(&self, q: Id) -> Gates {
        self.queue_gates.get(&q).cloned().unwrap_or_default()
    }

    fn gate(&mut self, q: Id, gates: Gates) {
        self.queue_gates.entry(q).or_default().extend(gates);
    }

    /// Adds the gates of `q` to the internal queue that a copy between contexts uses in the array's context.
    fn note_other_side(&mut self, q: Id, memory: Memory) {
        let Memory::Array(a) = memory else { return };
        if let Some(at) = self.arrays.get(&a).map(|shape| shape.home).filter(|at| *at != self.homes[&q]) {
            let unnamed = usize::MAX - at;
            self.homes.insert(unnamed, at);
            self.gate(unnamed, self.gates(q));
        }
    }

    /// Adds the gates of earlier uses of the same memory, because the policy may make the queue wait for them.
    fn use_memory(&mut self, op: &Op) {
        let Some(q) = op.queue() else { return };
        for touch in op.touches() {
            let gates = self.memory_gates.get(&touch.memory).cloned().unwrap_or_default();
            self.gate(q, gates);
        }
        for touch in op.touches() {
            let gates = self.gates(q);
            self.memory_gates.entry(touch.memory).or_default().extend(gates);
            self.note_other_side(q, touch.memory);
        }
    }
}
