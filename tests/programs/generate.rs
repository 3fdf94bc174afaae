//! Draws programs from a seed.

use super::checked::Model;
use super::legal::Legal;
use super::op::{Ctx, Id, Op, Wait};
use fastrand::Rng;
use fencepost::Policy;

/// The kind of program to draw.
#[derive(Clone, Copy)]
pub struct Style {
    pub policy: Policy,
    /// `true` if programs use pinned arrays.
    pub pinned: bool,
    /// `true` if the program itself orders every conflict. Under `Unchecked` it always does.
    pub ordered: bool,
    /// `true` if programs encode wgpu commands, which needs a wgpu device.
    pub encodes: bool,
    /// `true` if there may be a second context.
    pub contexts: bool,
    /// `true` if grids may be read from the device. A fault could leave a wrong grid in the array.
    pub indirect: bool,
}

/// A program under construction.
pub struct Draft {
    pub rng: Rng,
    pub legal: Legal,
    pub style: Style,
    /// Number of contexts.
    pub contexts: Ctx,
    ops: Vec<Op>,
    model: Model,
    next: Id,
}

impl Style {
    /// Returns the style of programs with every operation. The program of every second seed orders its conflicts.
    pub fn of_seed(seed: u64, policy: Policy) -> Self {
        let ordered = seed.is_multiple_of(2);
        Self { policy, pinned: true, ordered, encodes: true, contexts: true, indirect: true }
    }

    /// Returns the style of programs on one context, in which faults can occur.
    pub fn with_faults() -> Self {
        let policy = Policy::Ordered;
        Self { policy, pinned: true, ordered: false, encodes: false, contexts: false, indirect: false }
    }
}

/// Draws a program.
pub fn program(rng: &mut Rng, style: Style) -> Vec<Op> {
    let legal = Legal::default();
    let model = Model::new(style.policy);
    let mut draft = Draft { rng: rng.fork(), ops: Vec::new(), legal, model, next: 0, style, contexts: 1 };
    if style.contexts && draft.rng.u32(0..3) == 0 {
        draft.contexts = 2;
    }
    for at in 0..draft.contexts {
        draft.furnish(at);
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

/// Returns the operations of a program that are valid. Under `Unchecked`, only operations that are ordered after every
/// conflicting operation are kept.
pub fn repaired(ops: &[Op], policy: Policy) -> Vec<Op> {
    let legal = Legal::filter(ops);
    if policy != Policy::Unchecked {
        return legal;
    }
    let mut kept = Vec::new();
    let mut model = Model::new(policy);
    let mut at = Legal::default();
    for op in legal {
        if at.admits(&op) && model.missing(&op).is_empty() {
            at.apply(&op);
            model.apply(&op, surely_told(&op));
            kept.push(op);
        }
    }
    kept
}

/// Returns `true` if `op` waits for work, and the host surely learns that this work is done.
fn surely_told(op: &Op) -> bool {
    match op {
        Op::WaitRead { how, .. }
        | Op::WaitEvent { how, .. }
        | Op::Finish { how, .. }
        | Op::Synchronize { how, .. } => how.blocks(),
        _ => false,
    }
}

impl Draft {
    pub fn id(&mut self) -> Id {
        self.next += 1;
        self.next
    }

    /// Adds some queues and arrays of a context.
    fn furnish(&mut self, at: Ctx) {
        let most = if at == 0 { 4 } else { 2 };
        for _ in 0..self.rng.usize(1..=most) {
            let q = self.id();
            let urgency = self.rng.i32(-1..=1);
            self.push(Op::Queue { q, urgency, at });
        }
        for _ in 0..self.rng.usize(1..=most) {
            let op = self.array(at);
            self.push(op);
        }
        for op in self.special_arrays(at) {
            if self.rng.bool() {
                self.push(op);
            }
        }
    }

    /// Makes every queue wait for one user event. After its signal, all commands enqueued so far are planned together.
    fn gate(&mut self) {
        let u = self.id();
        let at = self.context();
        self.push(Op::UserEvent { u, at });
        for q in self.legal.queues.clone() {
            self.push(Op::WaitForUser { q, u });
        }
    }

    /// Adds `op` if it is valid. If the program must be ordered, first adds the waits that `op` needs.
    pub fn push(&mut self, op: Op) {
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
        } else {
            self.model.refuse(&op);
        }
        self.ops.push(op);
    }

    /// Adds waits until every conflict of `op` is ordered.
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

    /// Draws a way to order later work of `q` after an operation of `other`.
    fn wait_after(&mut self, q: Id, other: Id, number: u64) -> Vec<Op> {
        if let Some(e) = self.model.event_after(other, number).filter(|_| self.rng.bool()) {
            return vec![Op::WaitFor { q, events: vec![e] }];
        }
        if !self.legal.queues.contains(&other) {
            let between = self.id();
            let at = self.legal.homes[&other];
            let born = Op::Queue { q: between, urgency: 0, at };
            return vec![born, Op::WaitForQueue { q, other: between }];
        }
        match self.rng.u32(0..6) {
            0 => vec![Op::Finish { q: other, how: Wait::Block }],
            1 | 2 => {
                let e = self.id();
                vec![Op::Mark { e, q: other }, Op::WaitFor { q, events: vec![e] }]
            }
            4 => vec![Op::Synchronize { at: self.legal.homes[&other], how: Wait::Block }],
            _ => vec![Op::WaitForQueue { q, other }],
        }
    }

    pub fn pick<T: Copy>(&mut self, from: impl IntoIterator<Item = T>) -> Option<T> {
        let all: Vec<T> = from.into_iter().collect();
        self.rng.choice(all)
    }

    /// Draws a queue.
    pub fn queue(&mut self) -> Option<Id> {
        let all: Vec<Id> = self.legal.queues.iter().copied().collect();
        self.rng.choice(all)
    }

    /// Draws a queue of a context.
    pub fn queue_of(&mut self, at: Ctx) -> Option<Id> {
        let all: Vec<Id> = self.legal.queues.iter().copied().filter(|q| self.legal.homes[q] == at).collect();
        self.rng.choice(all)
    }

    /// Draws a context.
    pub fn context(&mut self) -> Ctx {
        self.rng.usize(0..self.contexts)
    }
}
