//! The instructions that compute values, except the most common ones.

use super::access::pointer;
use super::invocation::at;
use super::observer::Observer;
use super::op::{Argument, Op, Slot, Strided, To};
use super::operate;
use super::step::{Executor, Here, copy, row, row_mut};

impl<O: Observer> Executor<'_, O> {
    /// Executes an instruction.
    pub(super) fn compute(&mut self, op: &Op, here: &Here<'_>, next: usize, stack: &mut [u64]) {
        let base = here.base;
        match *op {
            Op::Zero { to } => row_mut(stack, base, to.slot, to.count).fill(0),
            Op::Splat { to, from } => {
                let value = stack[at(base, from)];
                row_mut(stack, base, to.slot, to.count).fill(value);
            }
            Op::Pick { to, from, index, len } => {
                let index = self.element(here, next, stack[at(base, index)], u64::from(len)) as usize;
                let count = to.count as usize;
                copy(stack, at(base, from) + index * count, at(base, to.slot), count);
            }
            Op::Length { to, ref array } => {
                stack[at(base, to)] = u64::from(self.length(stack, base, array) as u32);
            }
            Op::Pointer { to, at: ref address } => stack[at(base, to)] = pointer(stack, base, address),
            Op::Load { .. } => self.load_shape(op, here, next, stack),
            Op::Store { .. } => self.store_shape(op, here, next, stack),
            Op::LoadAtomic { .. } | Op::StoreAtomic { .. } | Op::Atomic(_) => {
                self.access_atomic(op, here, next, stack);
            }
            Op::Select { to, condition, accept, reject } => {
                for component in 0..to.count as usize {
                    let chosen = stack[at(base, condition.slot) + component * usize::from(condition.step)];
                    let from = if chosen == 0 { reject } else { accept };
                    stack[at(base, to.slot) + component] = stack[at(base, from) + component];
                }
            }
            Op::QuickThree(ref three) => {
                for component in 0..three.to.count as usize {
                    let operand =
                        |from: Strided| stack[at(base, from.slot) + component * usize::from(from.step)];
                    let operands = three.from.map(operand);
                    if O::ACTIVE {
                        self.observer.compute(here.site(next), &operands);
                    }
                    let [a, b, c] = operands;
                    stack[at(base, three.to.slot) + component] = (three.function)(a, b, c);
                }
            }
            Op::QuickVector(ref vectors) => {
                self.tell_arguments(here, next, stack, &vectors.from);
                operate::vectors(stack, base, vectors);
            }
            Op::Product(ref product) => {
                self.tell_arguments(here, next, stack, &[product.a, product.b]);
                operate::product(stack, base, product);
            }
            Op::Convert { to, from, ty, kind, width } => {
                let operand = Strided { slot: from, step: 1 };
                self.tell_operands(here, next, stack, to, operand, operand);
                operate::convert(stack, base, to, from, (ty, kind, width));
            }
            Op::Relational { fun, to, from, count, ty } => {
                operate::relational(stack, base, fun, to, (from, count, ty));
            }
            Op::Math(ref math) => {
                self.tell_arguments(here, next, stack, &math.arguments);
                operate::math(stack, base, math);
            }
            _ => unreachable!("bug: {op:?} computes nothing"),
        }
    }

    /// Passes all arguments of a function to the observer.
    #[inline(always)]
    fn tell_arguments(&mut self, here: &Here<'_>, next: usize, stack: &[u64], arguments: &[Argument]) {
        if O::ACTIVE {
            let row = |argument: &Argument| row(stack, here.base, argument.slot, argument.count() as u32);
            self.observer.compute(here.site(next), &arguments.iter().map(row).collect::<Vec<_>>().concat());
        }
    }

    /// Passes the operands of an operator to the observer.
    #[inline(always)]
    pub(super) fn tell_operands(
        &mut self,
        here: &Here<'_>,
        next: usize,
        stack: &[u64],
        to: To,
        a: Strided,
        b: Strided,
    ) {
        if O::ACTIVE {
            let get = |from: Strided, component| {
                stack[at(here.base, from.slot + component * Slot::from(from.step))]
            };
            for component in 0..to.count as Slot {
                self.observer.compute(here.site(next), &[get(a, component), get(b, component)]);
            }
        }
    }
}
