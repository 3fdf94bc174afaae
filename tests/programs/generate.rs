//! Draws programs from a seed.

use super::checked::Model;
use super::legal::{BINDING, Legal};
use super::op::{Contents, Id, Kernel, Maker, Op, Part, Steps, Ty, Wait};
use fastrand::Rng;
use fencepost::Policy;

/// What sort of program to draw.
#[derive(Clone, Copy)]
pub struct Style {
    pub policy: Policy,
    /// Whether pinned arrays are used.
    pub pinned: bool,
    /// Whether every conflict is ordered by the program itself: always under `Unchecked`.
    pub ordered: bool,
}

/// A program under construction.
struct Draft {
    rng: Rng,
    ops: Vec<Op>,
    legal: Legal,
    model: Model,
    next: Id,
    style: Style,
}

const LENGTHS: [usize; 7] = [1, 5, 16, 64, 100, 192, 256];

/// Draws a program.
pub fn program(rng: &mut Rng, style: Style) -> Vec<Op> {
    let (legal, model) = (Legal::default(), Model::new(style.policy));
    let mut draft = Draft { rng: rng.fork(), ops: Vec::new(), legal, model, next: 0, style };
    for _ in 0..draft.rng.usize(1..=4) {
        draft.add_queue();
    }
    for _ in 0..draft.rng.usize(1..=4) {
        let op = draft.array();
        draft.push(op);
    }
    if draft.rng.u32(0..4) == 0 {
        draft.gate();
    }
    for _ in 0..draft.rng.usize(4..60) {
        if let Some(op) = draft.any() {
            draft.push(op);
        }
    }
    draft.ops
}

/// The operations of a program that make sense; under `Unchecked` only those that are ordered after all they
/// conflict with.
pub fn repaired(ops: &[Op], policy: Policy) -> Vec<Op> {
    let legal = Legal::filter(ops);
    if policy != Policy::Unchecked {
        return legal;
    }
    let (mut kept, mut model, mut at) = (Vec::new(), Model::new(policy), Legal::default());
    for op in legal {
        if at.admits(&op) && model.missing(&op).is_empty() {
            at.apply(&op);
            model.apply(&op, surely_told(&op));
            kept.push(op);
        }
    }
    kept
}

/// Whether the host learns for sure that what `op` waits for is done.
fn surely_told(op: &Op) -> bool {
    match op {
        Op::WaitRead { how, .. } | Op::WaitEvent { how, .. } | Op::Finish { how, .. } => how.blocks(),
        _ => false,
    }
}

impl Draft {
    fn id(&mut self) -> Id {
        self.next += 1;
        self.next
    }

    fn add_queue(&mut self) {
        let (q, urgency) = (self.id(), self.rng.i32(-1..=1));
        self.push(Op::Queue { q, urgency });
    }

    /// Has every queue wait for one user event: when that is signalled, all that came together is planned at once.
    fn gate(&mut self) {
        let u = self.id();
        self.push(Op::UserEvent { u });
        for q in self.legal.queues.clone() {
            self.push(Op::WaitForUser { q, u });
        }
    }

    /// Adds `op` if it makes sense, behind the waits that it needs if the program is to be ordered.
    fn push(&mut self, op: Op) {
        let ordered = self.style.policy == Policy::Unchecked || self.style.ordered;
        if !self.legal.admits(&op) || (ordered && !self.order(&op)) || !self.legal.admits(&op) {
            return;
        }
        self.add(op);
    }

    fn add(&mut self, op: Op) {
        self.legal.apply(&op);
        if self.model.missing(&op).is_empty() {
            self.model.apply(&op, surely_told(&op));
        }
        self.ops.push(op);
    }

    /// Adds waits until nothing that `op` conflicts with is unordered.
    fn order(&mut self, op: &Op) -> bool {
        let Some(q) = op.queue() else { return true };
        for _ in 0..8 {
            let missing = self.model.missing(op);
            let Some(&(other, number)) = missing.first() else { return true };
            for wait in self.wait_after(q, other, number) {
                if !self.legal.admits(&wait) {
                    return false;
                }
                self.add(wait);
            }
        }
        false
    }

    /// Some way to order what follows on `q` after an operation of `other`.
    fn wait_after(&mut self, q: Id, other: Id, number: u64) -> Vec<Op> {
        if let Some(e) = self.model.event_after(other, number).filter(|_| self.rng.bool()) {
            return vec![Op::WaitFor { q, events: vec![e] }];
        }
        if !self.legal.queues.contains(&other) {
            let between = self.id();
            return vec![Op::Queue { q: between, urgency: 0 }, Op::WaitForQueue { q, other: between }];
        }
        match self.rng.u32(0..5) {
            0 => vec![Op::Finish { q: other, how: Wait::Block }],
            1 | 2 => {
                let e = self.id();
                vec![Op::Mark { e, q: other }, Op::WaitFor { q, events: vec![e] }]
            }
            3 => vec![Op::Join { q, other }],
            _ => vec![Op::WaitForQueue { q, other }],
        }
    }

    fn pick<T: Copy>(&mut self, from: impl IntoIterator<Item = T>) -> Option<T> {
        let all: Vec<T> = from.into_iter().collect();
        self.rng.choice(all)
    }

    fn queue(&mut self) -> Option<Id> {
        let all: Vec<Id> = self.legal.queues.iter().copied().collect();
        self.rng.choice(all)
    }

    fn part(&mut self, ty: Option<Ty>, binding: bool) -> Option<Part> {
        let fits: Vec<(Id, usize)> = self
            .legal
            .arrays
            .iter()
            .filter(|(_, (other, _))| ty.is_none_or(|ty| ty == *other))
            .map(|(&a, &(_, len))| (a, len))
            .collect();
        let (a, len) = self.pick(fits)?;
        if self.rng.bool() {
            return Some(Part { a, start: 0, len });
        }
        let step = if binding { BINDING } else { 1 };
        let start = self.rng.usize(0..len.div_ceil(step)) * step;
        Some(Part { a, start, len: self.rng.usize(1..=len - start) })
    }

    fn steps(&mut self, ty: Option<Ty>) -> Option<Steps> {
        let (part, step) = (self.part(ty, false)?, self.rng.usize(1..=4));
        Some(Steps { part: Part { len: (part.len - 1) / step * step + 1, ..part }, step })
    }

    fn array(&mut self) -> Op {
        let by = match self.queue().filter(|_| self.rng.bool()) {
            Some(q) => Maker::Queue(q),
            None => Maker::Context,
        };
        let contents = match self.rng.u32(0..6) {
            0 => Contents::Empty,
            1 => Contents::Full(self.rng.u32(..)),
            2 | 3 => Contents::Elements(self.rng.u32(..)),
            _ => Contents::Zeros,
        };
        let ty = if self.rng.u32(0..4) == 0 { Ty::I32 } else { Ty::U32 };
        let len = LENGTHS[self.rng.usize(..LENGTHS.len())];
        Op::Array { a: self.id(), by, ty, len, contents }
    }

    fn any(&mut self) -> Option<Op> {
        match self.rng.u32(0..100) {
            0..24 => self.launch(),
            24..46 => self.transfer(),
            46..62 => self.read(),
            62..78 => self.event(),
            78..84 => self.user_event(),
            84..91 => self.housekeeping(),
            91..96 => self.map(),
            _ if self.style.pinned => self.pinned(),
            _ => self.transfer(),
        }
    }

    fn launch(&mut self) -> Option<Op> {
        let q = self.queue()?;
        let (a, b) = (self.rng.u32(..) | 1, self.rng.u32(..));
        let ty = if self.rng.u32(0..4) == 0 { Ty::I32 } else { Ty::U32 };
        let kernel = match self.rng.u32(0..8) {
            0 => Kernel::Iota { start: a, step: b, out: self.part(Some(ty), true)? },
            1 => {
                let (x, y) = (self.part(Some(ty), true)?, self.part(Some(ty), true)?);
                Kernel::Add { x, y, z: self.part(Some(ty), true)? }
            }
            2 => Kernel::Saxpy { a, x: self.part(Some(ty), true)?, y: self.part(Some(ty), true)? },
            3 => {
                let (values, bins) = (self.part(Some(Ty::U32), true)?, self.part(Some(Ty::U32), true)?);
                Kernel::Histogram { values, bins }
            }
            _ => Kernel::Mix { a, b, x: self.part(Some(Ty::U32), true)?, y: self.part(Some(Ty::U32), true)? },
        };
        Some(Op::Launch { q, kernel })
    }

    fn transfer(&mut self) -> Option<Op> {
        let q = self.queue()?;
        Some(match self.rng.u32(0..5) {
            0 => Op::Fill { q, dst: self.part(None, false)?, value: self.rng.u32(..) },
            1 => Op::Upload { q, dst: self.part(None, false)?, seed: self.rng.u32(..) },
            2 => {
                let src = self.steps(None)?;
                let mut dst = self.steps(Some(self.legal.arrays[&src.part.a].0))?;
                let count = src.count().min(dst.count());
                dst.part.len = (count - 1) * dst.step + 1;
                Op::CopyRegion {
                    q,
                    src: Steps { part: Part { len: (count - 1) * src.step + 1, ..src.part }, ..src },
                    dst,
                }
            }
            _ => {
                let mut src = self.part(None, false)?;
                let ty = self.legal.arrays[&src.a].0;
                let mut dst = self.part(Some(ty), false)?;
                src.len = src.len.min(dst.len);
                dst.len = src.len;
                Op::Copy { q, src, dst }
            }
        })
    }

    fn how(&mut self) -> Wait {
        match self.rng.u32(0..8) {
            0..4 => Wait::Block,
            4 => Wait::Await,
            5 | 6 => Wait::Within(self.rng.u64(0..3) * 100),
            _ => Wait::Look,
        }
    }

    fn read(&mut self) -> Option<Op> {
        let pending = self.pick(self.legal.reads.keys().copied().collect::<Vec<_>>());
        Some(match (self.rng.u32(0..8), pending) {
            (0..3, Some(r)) => {
                let how = self.how();
                Op::WaitRead { r, how: if how == Wait::Look { Wait::Within(0) } else { how } }
            }
            (3, Some(r)) => Op::DropRead { r },
            (4, _) => Op::Finish { q: self.queue()?, how: self.how() },
            (5, _) => Op::ReadRegion { r: self.id(), q: self.queue()?, src: self.steps(None)? },
            _ => Op::Read { r: self.id(), q: self.queue()?, src: self.part(None, false)? },
        })
    }

    fn event(&mut self) -> Option<Op> {
        let q = self.queue()?;
        let event = self.pick(self.legal.events.keys().copied().collect::<Vec<_>>());
        Some(match (self.rng.u32(0..10), event) {
            (0..3, Some(e)) => {
                let mut events = vec![e];
                let more = self.pick(self.legal.events.keys().copied().collect::<Vec<_>>());
                events.extend(more.filter(|_| self.rng.bool()));
                Op::WaitFor { q, events }
            }
            (3, Some(e)) => Op::Record { e, q },
            (4, Some(e)) => Op::WaitEvent { e, how: self.how() },
            (5, _) => Op::WaitForQueue { q, other: self.queue()? },
            (6, _) => Op::Join { q, other: self.queue()? },
            _ => Op::Mark { e: self.id(), q },
        })
    }

    fn user_event(&mut self) -> Option<Op> {
        let open: Vec<Id> = self.legal.open.iter().copied().collect();
        Some(match (self.rng.u32(0..5), self.pick(open)) {
            (0..2, Some(u)) => Op::Signal { u },
            (2..4, Some(u)) => Op::WaitForUser { q: self.queue()?, u },
            _ => Op::UserEvent { u: self.id() },
        })
    }

    fn housekeeping(&mut self) -> Option<Op> {
        Some(match self.rng.u32(0..9) {
            0 => Op::Trim,
            1 => Op::DropQueue { q: self.queue()? },
            2 => Op::Fork { q: self.id(), from: self.queue()? },
            3 => Op::Queue { q: self.id(), urgency: self.rng.i32(-1..=1) },
            4 => Op::DropArray { a: self.pick(self.legal.arrays.keys().copied().collect::<Vec<_>>())? },
            5 => Op::Flush { q: self.queue()? },
            6 => Op::Callback { q: self.queue()? },
            _ => self.array(),
        })
    }

    fn map(&mut self) -> Option<Op> {
        let open = self.pick(self.legal.maps.keys().copied().collect::<Vec<_>>());
        Some(match (self.rng.u32(0..4), open) {
            (0..3, Some(m)) => Op::Unmap { m },
            (0 | 3, _) => Op::MapRead { m: self.id(), part: self.part(None, false)? },
            _ => Op::MapWrite { m: self.id(), part: self.part(None, false)?, seed: self.rng.u32(..) },
        })
    }

    fn pinned(&mut self) -> Option<Op> {
        let (up, down): (Vec<_>, Vec<_>) =
            (self.legal.up.clone().into_iter().collect(), self.legal.down.clone().into_iter().collect());
        let len = LENGTHS[self.rng.usize(..LENGTHS.len())];
        Some(match self.rng.u32(0..8) {
            0 => Op::Pin { p: self.id(), len },
            1 => Op::PinBack { d: self.id(), len },
            2 => Op::WritePinned { p: self.pick(up)?.0, seed: self.rng.u32(..) },
            3 => Op::ReadPinned { d: self.pick(down)?.0 },
            4 | 5 => {
                let ((p, len), mut dst) = (self.pick(up)?, self.part(Some(Ty::U32), false)?);
                let start = self.rng.usize(0..len);
                dst.len = dst.len.min(len - start);
                Op::UploadPinned { q: self.queue()?, p, start, dst }
            }
            _ => {
                let ((d, len), mut src) = (self.pick(down)?, self.part(Some(Ty::U32), false)?);
                src.len = len;
                Op::Download { q: self.queue()?, src, d }
            }
        })
    }
}
