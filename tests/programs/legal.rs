//! Which operations make sense at a place of a program: what they name is there, and no wait lasts for ever.

use super::op::{Id, Kernel, Memory, Op, Part, Steps, Ty};
use std::collections::{BTreeMap, BTreeSet};

/// Elements on a multiple of which the slices start that launches bind, whatever the adapter.
pub const BINDING: usize = 64;

/// User events that something cannot be done before.
type Gates = BTreeSet<Id>;

/// What exists at a place of a program.
#[derive(Clone, Default)]
pub struct Legal {
    pub queues: BTreeSet<Id>,
    pub arrays: BTreeMap<Id, (Ty, usize)>,
    pub up: BTreeMap<Id, usize>,
    pub down: BTreeMap<Id, usize>,
    pub events: BTreeMap<Id, Gates>,
    pub reads: BTreeMap<Id, Gates>,
    pub maps: BTreeMap<Id, Id>,
    /// User events that are not signalled.
    pub open: Gates,
    users: BTreeSet<Id>,
    /// Of queues that are gone too.
    queue_gates: BTreeMap<Id, Gates>,
    memory_gates: BTreeMap<Memory, Gates>,
}

impl Legal {
    /// The operations of a program that make sense, each after those before it.
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

    /// Whether `op` can come here.
    pub fn admits(&self, op: &Op) -> bool {
        op.queue().is_none_or(|q| self.queues.contains(&q)) && self.names(op) && !self.lasts(op)
    }

    /// Whether everything that `op` names is there and fits.
    fn names(&self, op: &Op) -> bool {
        let queue = |q: &Id| self.queues.contains(q);
        match op {
            Op::Queue { q, .. } => !self.queue_gates.contains_key(q),
            Op::Fork { q, from } => !self.queue_gates.contains_key(q) && queue(from),
            Op::Array { a, .. } => !self.arrays.contains_key(a),
            Op::DropArray { a } => self.arrays.contains_key(a),
            Op::Fill { dst, .. } | Op::Upload { dst, .. } => self.part(dst),
            Op::Copy { src, dst, .. } => self.pair(src, dst),
            Op::CopyRegion { src, dst, .. } => self.steps(src, dst),
            Op::Launch { kernel, .. } => self.kernel(kernel),
            Op::Read { r, src, .. } => !self.reads.contains_key(r) && self.part(src),
            Op::ReadRegion { r, src, .. } => !self.reads.contains_key(r) && self.steps(src, src),
            Op::WaitRead { r, .. } | Op::DropRead { r } => self.reads.contains_key(r),
            Op::Pin { p, .. } => !self.up.contains_key(p),
            Op::PinBack { d, .. } => !self.down.contains_key(d),
            Op::WritePinned { p, .. } => self.up.contains_key(p),
            Op::ReadPinned { d } => self.down.contains_key(d),
            Op::UploadPinned { p, start, dst, .. } => {
                self.up.get(p).is_some_and(|&len| start + dst.len <= len) && self.words(dst)
            }
            Op::Download { src, d, .. } => self.down.get(d) == Some(&src.len) && self.words(src),
            Op::Mark { e, q } => !self.events.contains_key(e) && queue(q),
            Op::Record { e, q } => self.events.contains_key(e) && queue(q),
            Op::WaitFor { q, events } => queue(q) && events.iter().all(|e| self.events.contains_key(e)),
            Op::WaitForQueue { q, other } | Op::Join { q, other } => queue(q) && queue(other),
            Op::WaitEvent { e, .. } => self.events.contains_key(e),
            Op::UserEvent { u } => !self.users.contains(u),
            Op::WaitForUser { q, u } => queue(q) && self.users.contains(u),
            Op::Signal { u } => self.open.contains(u),
            Op::DropQueue { q } | Op::Callback { q } | Op::Flush { q } | Op::Finish { q, .. } => queue(q),
            Op::MapRead { m, part } | Op::MapWrite { m, part, .. } => {
                !self.maps.contains_key(m) && self.part(part)
            }
            Op::Unmap { m } => self.maps.contains_key(m),
            Op::Trim => true,
        }
    }

    fn mapped(&self, a: Id) -> bool {
        self.maps.values().any(|&mapped| mapped == a)
    }

    fn part(&self, part: &Part) -> bool {
        self.arrays.get(&part.a).is_some_and(|&(_, len)| part.end() <= len) && !self.mapped(part.a)
    }

    fn words(&self, part: &Part) -> bool {
        self.part(part) && self.arrays[&part.a].0 == Ty::U32
    }

    fn pair(&self, src: &Part, dst: &Part) -> bool {
        self.part(src)
            && self.part(dst)
            && src.len == dst.len
            && self.arrays[&src.a].0 == self.arrays[&dst.a].0
    }

    fn steps(&self, src: &Steps, dst: &Steps) -> bool {
        let ends_on_one =
            |steps: &Steps| steps.part.len > 0 && (steps.part.len - 1).is_multiple_of(steps.step);
        self.part(&src.part)
            && self.part(&dst.part)
            && [src, dst].into_iter().all(ends_on_one)
            && src.count() == dst.count()
            && self.arrays[&src.part.a].0 == self.arrays[&dst.part.a].0
    }

    fn kernel(&self, kernel: &Kernel) -> bool {
        let (reads, write) = kernel.parts();
        let overlap = |p: &Part| p.a == write.a && p.start < write.end() && write.start < p.end();
        let all: Vec<Part> = reads.iter().copied().chain([write]).collect();
        let fits = all.iter().all(|part| self.part(part) && part.start % BINDING == 0 && part.len > 0);
        if !fits || reads.iter().any(overlap) {
            return false;
        }
        let words_only = matches!(kernel, Kernel::Mix { .. } | Kernel::Histogram { .. });
        let ty = self.arrays[&write.a].0;
        (!words_only || ty == Ty::U32) && all.iter().all(|part| self.arrays[&part.a].0 == ty)
    }

    /// Whether the host would wait for a user event that is not signalled.
    fn lasts(&self, op: &Op) -> bool {
        let open = |gates: Option<&Gates>| gates.is_some_and(|gates| !gates.is_disjoint(&self.open));
        match op {
            Op::WaitRead { r, how } if how.blocks() => open(self.reads.get(r)),
            Op::WaitEvent { e, how } if how.blocks() => open(self.events.get(e)),
            Op::Finish { q, how } if how.blocks() => open(self.queue_gates.get(q)),
            _ => op.host_touch().is_some_and(|touch| open(self.memory_gates.get(&touch.memory))),
        }
    }

    /// Notes what `op` makes and takes away.
    pub fn apply(&mut self, op: &Op) {
        match op {
            Op::Queue { q, .. } | Op::Fork { q, .. } => {
                let gates = self.queue_gates.values().flatten().copied().collect();
                self.queue_gates.insert(*q, gates);
                self.queues.insert(*q);
            }
            Op::DropQueue { q } => drop(self.queues.remove(q)),
            Op::Array { a, ty, len, .. } => drop(self.arrays.insert(*a, (*ty, *len))),
            Op::DropArray { a } => {
                self.arrays.remove(a);
                self.memory_gates.remove(&Memory::Array(*a));
            }
            Op::DropRead { r } => drop(self.reads.remove(r)),
            Op::Pin { p, len } => drop(self.up.insert(*p, *len)),
            Op::PinBack { d, len } => drop(self.down.insert(*d, *len)),
            Op::Mark { e, q } | Op::Record { e, q } => drop(self.events.insert(*e, self.gates(*q))),
            Op::WaitFor { q, events } => {
                let gates: Gates = events.iter().flat_map(|e| self.events[e].clone()).collect();
                self.gate(*q, gates);
            }
            Op::WaitForQueue { q, other } | Op::Join { q, other } => self.gate(*q, self.gates(*other)),
            Op::UserEvent { u } => {
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
        if let Op::Read { r, q, .. } | Op::ReadRegion { r, q, .. } = op {
            self.reads.insert(*r, self.gates(*q));
        }
    }

    fn gates(&self, q: Id) -> Gates {
        self.queue_gates.get(&q).cloned().unwrap_or_default()
    }

    fn gate(&mut self, q: Id, gates: Gates) {
        self.queue_gates.entry(q).or_default().extend(gates);
    }

    /// The policy may make a queue wait for whoever used the same memory.
    fn use_memory(&mut self, op: &Op) {
        let Some(q) = op.queue() else { return };
        for touch in op.touches() {
            let gates = self.memory_gates.get(&touch.memory).cloned().unwrap_or_default();
            self.gate(q, gates);
        }
        for touch in op.touches() {
            let gates = self.gates(q);
            self.memory_gates.entry(touch.memory).or_default().extend(gates);
        }
    }
}
