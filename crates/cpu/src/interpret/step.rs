//! The loop that executes instructions.

use super::decode::Decoded;
use super::invocation::{Caller, Invocation, State, at, memory_place, stack_place};
use super::memory::{self, Memory};
use super::observer::{Observer, Site, Touched};
use super::op::{Address, Call, Code, From, Op, Slot, To, Unsized};
use super::{atomic, operate};
use crate::error::Fault;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, fence};

/// Executes the invocations of a workgroup.
pub(super) struct Executor<'r, O> {
    pub(super) decoded: &'r Decoded,
    pub(super) memory: Memory<'r>,
    pub(super) stop: &'r AtomicBool,
    pub(super) observer: &'r mut O,
}

/// Says how an instruction left its function.
enum Flow {
    /// Goes on in another function.
    Switched,
    /// Leaves the invocation.
    Paused,
}

impl<O: Observer> Executor<'_, O> {
    /// Executes an invocation until it waits or ends.
    ///
    /// # Errors
    /// [`Fault::Stopped`].
    pub(super) fn resume(&mut self, invocation: &mut Invocation) -> Result<(), Fault> {
        let decoded = self.decoded;
        while let Flow::Switched = self.run_function(&decoded.functions[invocation.function], invocation)? {}
        Ok(())
    }

    /// Executes instructions of one function.
    fn run_function(&mut self, code: &Code, invocation: &mut Invocation) -> Result<Flow, Fault> {
        let base = invocation.base;
        let mut next = invocation.next;
        loop {
            let op = &code.ops[next];
            next += 1;
            let stack = &mut invocation.stack[..];
            match *op {
                Op::Move { to, from } => stack[at(base, to)] = stack[at(base, from)],
                Op::Quick { function, to, a, b } => {
                    let (a, b) = (stack[at(base, a)], stack[at(base, b)]);
                    if O::ACTIVE {
                        self.observer.operands(site(invocation, code, next), a, Some(b));
                    }
                    invocation.stack[at(base, to)] = function(a, b);
                }
                Op::QuickEach { function, to, a, b } => {
                    self.see_operands(code, next, invocation, to, a, Some(b));
                    let (a_at, b_at, to_at) = (at(base, a.slot), at(base, b.slot), at(base, to.slot));
                    let stack = &mut invocation.stack;
                    for component in 0..to.count as usize {
                        let a = stack[a_at + component * usize::from(a.step)];
                        let b = stack[b_at + component * usize::from(b.step)];
                        stack[to_at + component] = function(a, b);
                    }
                }
                Op::Jump(target) => next = target as usize,
                Op::JumpIf { condition, target } => {
                    if stack[at(base, condition)] != 0 {
                        next = target as usize;
                    }
                }
                Op::JumpUnless { condition, target } => {
                    if stack[at(base, condition)] == 0 {
                        next = target as usize;
                    }
                }
                Op::Switch { selector, ref cases } => {
                    let value = stack[at(base, selector)] as u32;
                    let case = cases.values.iter().find(|(case, _)| *case == value);
                    next = case.map_or(cases.default, |&(_, target)| target) as usize;
                }
                Op::Poll => self.poll()?,
                Op::Call(ref call) => {
                    self.poll()?;
                    self.enter(code, call, invocation, next);
                    return Ok(Flow::Switched);
                }
                Op::Return { from, count } => return Ok(leave(invocation, from, count)),
                Op::Barrier | Op::Subgroup(_) => {
                    invocation.next = next;
                    let waits = matches!(op, Op::Barrier);
                    invocation.state = if waits { State::Barrier } else { State::Subgroup };
                    return Ok(Flow::Paused);
                }
                Op::Fence => fence(SeqCst),
                _ if self.access(op, code, next, invocation) => {}
                _ => self.compute(op, code, next, invocation),
            }
        }
    }

    /// Fails if the run has to end.
    fn poll(&self) -> Result<(), Fault> {
        if self.stop.load(Relaxed) { Err(Fault::Stopped) } else { Ok(()) }
    }

    /// Begins a called function.
    fn enter(&self, code: &Code, call: &Call, invocation: &mut Invocation, next: usize) {
        let callee = &self.decoded.functions[call.function];
        let frame = invocation.base + code.frame;
        let base = frame + callee.constants.len();
        let mut to = base;
        for &(from, count) in &call.arguments {
            let from = at(invocation.base, from);
            invocation.stack.copy_within(from..from + count as usize, to);
            to += count as usize;
        }
        invocation.stack[frame..base].copy_from_slice(&callee.constants);
        let (function, base_before) = (invocation.function, invocation.base);
        invocation.callers.push(Caller { function, next, base: base_before, to: call.to });
        invocation.function = call.function;
        invocation.base = base;
        invocation.next = 0;
    }

    /// Executes an instruction that accesses a variable. Returns `false` for other instructions.
    #[inline]
    fn access(&mut self, op: &Op, code: &Code, next: usize, invocation: &mut Invocation) -> bool {
        let base = invocation.base;
        match *op {
            Op::LoadStack { to, ref at } => {
                let from = stack_place(&invocation.stack, base, at);
                self.see_load(
                    code,
                    next,
                    invocation,
                    Touched::Stack { slot: from, count: to.count as usize },
                );
                copy(&mut invocation.stack, from, self::at(base, to.slot), to.count as usize);
            }
            Op::StoreStack { from, count, ref at } => {
                let to = stack_place(&invocation.stack, base, at);
                self.see_store(code, next, invocation, Touched::Stack { slot: to, count: count as usize });
                copy(&mut invocation.stack, self::at(base, from), to, count as usize);
            }
            Op::LoadWords { to, ref at } => {
                let (region, byte) = memory_place(&invocation.stack, base, at);
                let bytes = 4 * u64::from(to.count);
                self.see_load(code, next, invocation, Touched::Memory { region, byte, bytes });
                self.memory.read_words(region, byte, invocation.row_mut(to));
            }
            Op::StoreWords { from, count, ref at } => {
                let (region, byte) = memory_place(&invocation.stack, base, at);
                let bytes = 4 * u64::from(count);
                self.see_store(code, next, invocation, Touched::Memory { region, byte, bytes });
                self.memory.write_words(region, byte, invocation.row(from, count));
            }
            Op::Load { .. } | Op::Store { .. } => self.access_shape(op, code, next, invocation),
            Op::LoadAtomic { .. } | Op::StoreAtomic { .. } | Op::Atomic(_) => {
                self.access_atomic(op, code, next, invocation);
            }
            _ => return false,
        }
        true
    }

    fn access_shape(&mut self, op: &Op, code: &Code, next: usize, invocation: &mut Invocation) {
        let base = invocation.base;
        let (Op::Load { at: ref place, shape, .. } | Op::Store { at: ref place, shape, .. }) = *op else {
            return;
        };
        let (region, byte) = memory_place(&invocation.stack, base, place);
        let runs = &self.decoded.shapes[shape as usize][..];
        if O::ACTIVE {
            for run in runs {
                let bytes = u64::from(run.count) * u64::from(run.width);
                let touched = Touched::Memory { region, byte: byte + u64::from(run.offset), bytes };
                match op {
                    Op::Load { .. } => self.see_load(code, next, invocation, touched),
                    _ => self.see_store(code, next, invocation, touched),
                }
            }
        }
        let count = runs.iter().map(|run| run.count).sum();
        match *op {
            Op::Load { to, .. } => {
                self.memory.read_shape(region, byte, runs, invocation.row_mut(To { slot: to, count }));
            }
            Op::Store { from, .. } => {
                self.memory.write_shape(region, byte, runs, invocation.row(from, count));
            }
            _ => {}
        }
    }

    fn access_atomic(&mut self, op: &Op, code: &Code, next: usize, invocation: &mut Invocation) {
        let base = invocation.base;
        let (place, width) = match *op {
            Op::LoadAtomic { ref at, width, .. } | Op::StoreAtomic { ref at, width, .. } => (at, width),
            Op::Atomic(ref atomic) => (&atomic.at, atomic.ty.width),
            _ => return,
        };
        let (region, byte) = memory_place(&invocation.stack, base, place);
        if O::ACTIVE {
            let touched = Touched::Memory { region, byte, bytes: u64::from(width) };
            self.observer.atomic(site(invocation, code, next), touched);
        }
        match *op {
            Op::LoadAtomic { to, .. } => {
                invocation.stack[at(base, to)] = self.memory.read(region, byte, width);
            }
            Op::StoreAtomic { from, .. } => self.memory.write(region, byte, width, invocation.get(from)),
            Op::Atomic(ref op) => {
                let compare = op.compare.map(|slot| invocation.get(slot));
                let value = invocation.get(op.value);
                let (old, exchanged) =
                    atomic::change(&self.memory, (region, byte), (op.fun, op.ty), value, compare);
                if let Some(to) = op.to {
                    invocation.stack[at(base, to)] = old;
                    if compare.is_some() {
                        invocation.stack[at(base, to) + 1] = u64::from(exchanged);
                    }
                }
            }
            _ => {}
        }
    }

    /// Executes an instruction that computes a value.
    fn compute(&mut self, op: &Op, code: &Code, next: usize, invocation: &mut Invocation) {
        let base = invocation.base;
        match *op {
            Op::Copy { to, from } => {
                copy(&mut invocation.stack, at(base, from), at(base, to.slot), to.count as usize);
            }
            Op::Zero { to } => invocation.row_mut(to).fill(0),
            Op::Splat { to, from } => {
                let value = invocation.get(from);
                invocation.row_mut(to).fill(value);
            }
            Op::Pick { to, from, index, len } => {
                let index = self.element(code, next, invocation, index, u64::from(len)) as usize;
                let from = at(base, from) + index * to.count as usize;
                copy(&mut invocation.stack, from, at(base, to.slot), to.count as usize);
            }
            Op::Index { to, base: before, index, len, stride } => {
                let index = self.element(code, next, invocation, index, u64::from(len));
                put_index(invocation, to, before, index * u64::from(stride));
            }
            Op::IndexUnsized { to, base: before, index, ref array } => {
                let len = self.length(invocation, array);
                let index = self.element(code, next, invocation, index, len);
                put_index(invocation, to, before, index * u64::from(array.stride));
            }
            Op::Length { to, ref array } => {
                invocation.stack[at(base, to)] = u64::from(self.length(invocation, array) as u32);
            }
            Op::Pointer { to, at: ref address } => {
                invocation.stack[at(base, to)] = pointer(&invocation.stack, base, address);
            }
            Op::Select { to, condition, accept, reject } => {
                let stack = &mut invocation.stack;
                for component in 0..to.count as usize {
                    let chosen = stack[at(base, condition.slot) + component * usize::from(condition.step)];
                    let from = if chosen == 0 { reject } else { accept };
                    stack[at(base, to.slot) + component] = stack[at(base, from) + component];
                }
            }
            Op::Binary(ref binary) => {
                self.see_operands(code, next, invocation, binary.to, binary.a, Some(binary.b));
                operate::binary(&mut invocation.stack, base, binary);
            }
            Op::Unary { op, ty, to, from } => {
                self.see_operands(code, next, invocation, to, From { slot: from, step: 1 }, None);
                operate::unary(&mut invocation.stack, base, op, ty, to, from);
            }
            Op::Product(ref product) => operate::product(&mut invocation.stack, base, product),
            Op::Convert { to, from, ty, kind, width } => {
                operate::convert(&mut invocation.stack, base, to, from, (ty, kind, width));
            }
            Op::Relational { fun, to, from, count, ty } => {
                operate::relational(&mut invocation.stack, base, fun, to, (from, count, ty));
            }
            Op::Math(ref math) => {
                if O::ACTIVE {
                    for argument in &math.arguments {
                        let row = invocation.row(argument.slot, argument.count() as u32);
                        self.observer.math(site(invocation, code, next), row);
                    }
                }
                operate::math(&mut invocation.stack, base, math);
            }
            _ => unreachable!("bug: {op:?} computes nothing"),
        }
    }

    /// Returns an index, moved to the last element if it is past the end.
    #[inline]
    fn element(&mut self, code: &Code, next: usize, invocation: &Invocation, index: Slot, len: u64) -> u64 {
        let index = invocation.get(index);
        if O::ACTIVE {
            self.observer.index(site(invocation, code, next), index, len);
        }
        index.min(len.saturating_sub(1))
    }

    /// Counts the elements of an array whose length depends on its memory.
    #[inline]
    fn length(&self, invocation: &Invocation, array: &Unsized) -> u64 {
        let (region, byte) = memory_place(&invocation.stack, invocation.base, &array.at);
        self.memory.len(region).saturating_sub(byte) / u64::from(array.stride)
    }

    #[inline(always)]
    fn see_load(&mut self, code: &Code, next: usize, invocation: &Invocation, touched: Touched) {
        if O::ACTIVE {
            self.observer.load(site(invocation, code, next), touched);
        }
    }

    #[inline(always)]
    fn see_store(&mut self, code: &Code, next: usize, invocation: &Invocation, touched: Touched) {
        if O::ACTIVE {
            self.observer.store(site(invocation, code, next), touched);
        }
    }

    #[inline(always)]
    fn see_operands(
        &mut self,
        code: &Code,
        next: usize,
        invocation: &Invocation,
        to: To,
        a: From,
        b: Option<From>,
    ) {
        if O::ACTIVE {
            let get = |from: From, component| invocation.get(from.slot + component * Slot::from(from.step));
            for component in 0..to.count as Slot {
                let b = b.map(|b| get(b, component));
                self.observer.operands(site(invocation, code, next), get(a, component), b);
            }
        }
    }
}

/// Names the instruction before `next`.
pub(super) fn site(invocation: &Invocation, code: &Code, next: usize) -> Site {
    let op = next - 1;
    let expression = code.origins[op].expression;
    Site { function: invocation.function, op, expression, invocation: invocation.number }
}

/// Returns from a function.
fn leave(invocation: &mut Invocation, from: Slot, count: u32) -> Flow {
    let Some(caller) = invocation.callers.pop() else {
        invocation.state = State::Ended;
        return Flow::Paused;
    };
    let (from, to) = (at(invocation.base, from), at(caller.base, caller.to));
    copy(&mut invocation.stack, from, to, count as usize);
    (invocation.function, invocation.next, invocation.base) = (caller.function, caller.next, caller.base);
    Flow::Switched
}

/// Copies a row of slots.
#[inline]
fn copy(stack: &mut [u64], from: usize, to: usize, count: usize) {
    match count {
        1 => stack[to] = stack[from],
        _ => stack.copy_within(from..from + count, to),
    }
}

#[inline]
fn put_index(invocation: &mut Invocation, to: Slot, before: Option<Slot>, step: u64) {
    let before = before.map_or(0, |before| invocation.get(before));
    invocation.stack[at(invocation.base, to)] = before + step;
}

/// Returns an address as a pointer that a function can take.
fn pointer(stack: &[u64], base: usize, address: &Address) -> u64 {
    if address.is_stack() {
        return stack_place(stack, base, address) as u64;
    }
    let (region, byte) = memory_place(stack, base, address);
    memory::pointer(region, byte)
}
