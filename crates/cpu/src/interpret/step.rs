//! The loop that executes instructions.

use super::access::put_step;
use super::decode::Decoded;
use super::invocation::{Caller, Invocation, State, at};
use super::memory::Memory;
use super::observer::{Observer, Site, Touched};
use super::op::{Code, Op, Slot};
use crate::error::Fault;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, fence};

/// Executor of the invocations of a workgroup.
pub(super) struct Executor<'r, O> {
    pub(super) decoded: &'r Decoded,
    pub(super) memory: Memory<'r>,
    pub(super) stop: &'r AtomicBool,
    pub(super) observer: &'r mut O,
    /// Number of steps that are left. Each invocation that continues takes a step, and so does each call, and each
    /// iteration of a loop.
    pub(super) left: u64,
}

/// Place of an invocation.
#[derive(Clone, Copy)]
pub(super) struct Here<'c> {
    pub(super) code: &'c Code,
    pub(super) function: usize,
    pub(super) invocation: u32,
    /// Base of the frame.
    pub(super) base: usize,
}

impl<'c> Here<'c> {
    /// Returns the place of an invocation.
    pub(super) fn new(decoded: &'c Decoded, invocation: &Invocation) -> Self {
        let Invocation { function, number, base, .. } = *invocation;
        Self { code: &decoded.functions[function], function, invocation: number, base }
    }

    /// Returns the site of the instruction before `next`.
    pub(super) fn site(&self, next: usize) -> Site {
        let op = next - 1;
        let function = self.function;
        let invocation = self.invocation;
        Site { function, op, expression: self.code.origins[op].expression, invocation }
    }
}

impl<O: Observer> Executor<'_, O> {
    /// Executes an invocation until it waits or ends. Returns `false` if no step is left before that.
    ///
    /// # Errors
    /// [`Fault::Stopped`].
    pub(super) fn resume(&mut self, invocation: &mut Invocation) -> Result<bool, Fault> {
        if !self.take_step() {
            return Ok(false);
        }
        while invocation.state == State::Ready {
            let here = Here::new(self.decoded, invocation);
            let next = self.run_function(&here, invocation.next, &mut invocation.stack)?;
            invocation.next = next;
            match &here.code.ops[next - 1] {
                Op::Call(_) => {
                    self.enter(&here, invocation);
                    if !self.take_step() {
                        return Ok(false);
                    }
                }
                Op::Poll => return Ok(false),
                Op::Barrier => invocation.state = State::Barrier,
                Op::Subgroup(_) => invocation.state = State::Subgroup,
                _ => leave(invocation, &here),
            }
        }
        Ok(true)
    }

    /// Executes instructions of one function. Returns the number of the instruction after the one that leaves the
    /// function, or after an [`Op::Poll`] at which no step is left.
    fn run_function(&mut self, here: &Here<'_>, mut next: usize, stack: &mut [u64]) -> Result<usize, Fault> {
        let base = here.base;
        loop {
            let op = &here.code.ops[next];
            next += 1;
            match *op {
                Op::Move { to, from } => stack[at(base, to)] = stack[at(base, from)],
                Op::LoadSlot { to, from } => {
                    let slot = at(base, from);
                    self.tell_load(here, next, Touched::Stack { slot, count: 1 });
                    stack[at(base, to)] = stack[slot];
                }
                Op::StoreSlot { to, from } => {
                    let slot = at(base, to);
                    self.tell_store(here, next, Touched::Stack { slot, count: 1 });
                    stack[slot] = stack[at(base, from)];
                }
                Op::Quick { function, to, a, b } => {
                    let a = stack[at(base, a)];
                    let b = stack[at(base, b)];
                    if O::ACTIVE {
                        self.observer.compute(here.site(next), &[a, b]);
                    }
                    stack[at(base, to)] = function(a, b);
                }
                Op::QuickEach { function, to, a, b } => {
                    self.tell_operands(here, next, stack, to, a, b);
                    let mut a_at = at(base, a.slot);
                    let mut b_at = at(base, b.slot);
                    let to_at = at(base, to.slot);
                    for slot in to_at..to_at + to.count as usize {
                        stack[slot] = function(stack[a_at], stack[b_at]);
                        a_at += usize::from(a.step);
                        b_at += usize::from(b.step);
                    }
                }
                Op::Copy { to, from } => copy(stack, at(base, from), at(base, to.slot), to.count as usize),
                Op::LoadStack { .. } => self.load_stack(op, here, next, stack),
                Op::StoreStack { .. } => self.store_stack(op, here, next, stack),
                Op::LoadWords { .. } => self.load_words(op, here, next, stack),
                Op::StoreWords { .. } => self.store_words(op, here, next, stack),
                Op::Index { to, base: before, index, len, stride } => {
                    let index = self.element(here, next, stack[at(base, index)], u64::from(len));
                    put_step(stack, base, to, before, index * u64::from(stride));
                }
                Op::IndexUnsized { to, base: before, index, ref array } => {
                    let len = self.length(stack, base, array);
                    let index = self.element(here, next, stack[at(base, index)], len);
                    put_step(stack, base, to, before, index * u64::from(array.stride));
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
                    let case = cases.values.binary_search_by_key(&value, |&(value, _)| value);
                    next = case.map_or(cases.default, |case| cases.values[case].1) as usize;
                }
                Op::Poll => {
                    self.poll()?;
                    if !self.take_step() {
                        return Ok(next);
                    }
                }
                Op::Call(_) => {
                    self.poll()?;
                    return Ok(next);
                }
                Op::Return { .. } | Op::Barrier | Op::Subgroup(_) => return Ok(next),
                Op::Fence => fence(SeqCst),
                _ => self.compute(op, here, next, stack),
            }
        }
    }

    /// Fails if the run has to end.
    fn poll(&self) -> Result<(), Fault> {
        if self.stop.load(Relaxed) { Err(Fault::Stopped) } else { Ok(()) }
    }

    /// Takes one of the steps that are left. Returns `false` if there is none.
    #[inline]
    fn take_step(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// Enters the function that the current instruction calls.
    fn enter(&self, here: &Here<'_>, invocation: &mut Invocation) {
        let next = invocation.next;
        let Op::Call(call) = &here.code.ops[next - 1] else { return };
        let callee = &self.decoded.functions[call.function];
        let frame = here.base + here.code.frame;
        let base = frame + callee.constants.len();
        let mut to = base;
        for &(from, count) in &call.arguments {
            copy(&mut invocation.stack, at(here.base, from), to, count as usize);
            to += count as usize;
        }
        invocation.stack[frame..base].copy_from_slice(&callee.constants);
        invocation.callers.push(Caller { function: here.function, next, base: here.base, to: call.to });
        invocation.function = call.function;
        invocation.base = base;
        invocation.next = 0;
    }

    /// Passes a load to the observer.
    #[inline(always)]
    pub(super) fn tell_load(&mut self, here: &Here<'_>, next: usize, touched: Touched) {
        if O::ACTIVE {
            self.observer.load(here.site(next), touched);
        }
    }

    /// Passes a store to the observer.
    #[inline(always)]
    pub(super) fn tell_store(&mut self, here: &Here<'_>, next: usize, touched: Touched) {
        if O::ACTIVE {
            self.observer.store(here.site(next), touched);
        }
    }
}

/// Executes the current instruction, a return from a function.
fn leave(invocation: &mut Invocation, here: &Here<'_>) {
    let Op::Return { from, count } = here.code.ops[invocation.next - 1] else { return };
    let Some(caller) = invocation.callers.pop() else {
        invocation.state = State::Ended;
        return;
    };
    let from = at(here.base, from);
    let to = at(caller.base, caller.to);
    copy(&mut invocation.stack, from, to, count as usize);
    invocation.function = caller.function;
    invocation.next = caller.next;
    invocation.base = caller.base;
}

/// Copies a row of slots.
#[inline]
pub(super) fn copy(stack: &mut [u64], from: usize, to: usize, count: usize) {
    match count {
        1 => stack[to] = stack[from],
        _ => stack.copy_within(from..from + count, to),
    }
}

/// Returns a row of slots.
#[inline]
pub(super) fn row(stack: &[u64], base: usize, slot: Slot, count: u32) -> &[u64] {
    let from = at(base, slot);
    &stack[from..from + count as usize]
}

/// Returns a row of slots for writing.
#[inline]
pub(super) fn row_mut(stack: &mut [u64], base: usize, slot: Slot, count: u32) -> &mut [u64] {
    let from = at(base, slot);
    &mut stack[from..from + count as usize]
}
