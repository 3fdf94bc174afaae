//! The instructions that compute values without a quick function.

use super::invocation::at;
use super::op::{Argument, Math, Product, QuickVectors, Slot, To};
use crate::arith::geometry::Vector;
use crate::arith::{self, Operand, Outcome, Scalar};
use naga::{BinaryOperator, RelationalFunction, ScalarKind};
use smallvec::SmallVec;

/// Multiplies matrices, or computes a dot product.
pub(super) fn product(stack: &mut [u64], base: usize, op: &Product) {
    let a = at(base, op.a.slot);
    let b = at(base, op.b.slot);
    let to = at(base, op.to);
    let rows = usize::from(op.rows);
    let inner = usize::from(op.inner);
    if op.a.ty != naga::Scalar::F32 {
        let a = values(stack, base, &op.a);
        let b = values(stack, base, &op.b);
        let outcome = arith::binary_whole(BinaryOperator::Multiply, operand(&op.a, &a), operand(&op.b, &b));
        put(stack, to, &outcome);
        return;
    }
    for column in 0..usize::from(op.columns) {
        for row in 0..rows {
            let left = stack[a..].iter().skip(row).step_by(rows);
            let terms = left.zip(&stack[b + column * inner..]).take(inner);
            let terms = terms.map(|(&a, &b)| f32::from_bits(a as u32) * f32::from_bits(b as u32));
            let sum = terms.reduce(|sum, term| sum + term).unwrap_or(0.0);
            stack[to + column * rows + row] = u64::from(sum.to_bits());
        }
    }
}

/// Applies a quick function to vectors.
pub(super) fn vectors(stack: &mut [u64], base: usize, op: &QuickVectors) {
    let vector = |number: usize| -> Vector<f32> {
        let row = op.from.get(number).map(|argument| (at(base, argument.slot), argument.count()));
        let row = row.map_or(&[][..], |(from, count)| &stack[from..from + count]);
        row.iter().map(|&bits| f32::from_bits(bits as u32)).collect()
    };
    let [x, y, z] = [0, 1, 2].map(vector);
    let result = (op.function)(&x, &y, &z);
    let to = at(base, op.to.slot);
    for (slot, value) in stack[to..to + op.to.count as usize].iter_mut().zip(result) {
        *slot = u64::from(value.to_bits());
    }
}

/// Returns the components of an argument.
fn values(stack: &[u64], base: usize, argument: &Argument) -> SmallVec<[Scalar; 16]> {
    let from = at(base, argument.slot);
    let bits = stack[from..from + argument.count()].iter();
    bits.map(|&bits| Scalar::from_bits(argument.ty, bits)).collect()
}

/// Converts components.
pub(super) fn convert(
    stack: &mut [u64],
    base: usize,
    to: To,
    from: Slot,
    (ty, kind, width): (naga::Scalar, ScalarKind, Option<u8>),
) {
    let from = at(base, from);
    let first = at(base, to.slot);
    for component in 0..to.count as usize {
        let value = Scalar::from_bits(ty, stack[from + component]);
        stack[first + component] = arith::convert(value, kind, width).bits();
    }
}

/// Calls a relational function.
pub(super) fn relational(
    stack: &mut [u64],
    base: usize,
    fun: RelationalFunction,
    to: To,
    (from, count, ty): (Slot, u8, naga::Scalar),
) {
    let from = at(base, from);
    let values = &stack[from..from + usize::from(count)];
    let values: SmallVec<[Scalar; 4]> = values.iter().map(|&bits| Scalar::from_bits(ty, bits)).collect();
    let outcome = arith::relational(fun, &values);
    put(stack, at(base, to.slot), &outcome);
}

/// Calls a math function.
pub(super) fn math(stack: &mut [u64], base: usize, op: &Math) {
    let all = op.arguments.iter().map(|argument| values(stack, base, argument));
    let all: SmallVec<[SmallVec<[Scalar; 16]>; 4]> = all.collect();
    let operands = op.arguments.iter().zip(&all).map(|(argument, values)| operand(argument, values));
    let outcome = op.reference.call(&operands.collect::<SmallVec<[Operand<'_>; 4]>>());
    put(stack, at(base, op.to), &outcome);
}

fn operand<'a>(argument: &Argument, values: &'a [Scalar]) -> Operand<'a> {
    Operand::new(argument.columns.into(), argument.rows.into(), values)
}

/// Puts the scalars of a result into slots.
fn put(stack: &mut [u64], to: usize, outcome: &Outcome) {
    let mut slots = stack[to..].iter_mut();
    outcome.each(&mut |value| *slots.next().expect("bug: the result has slots") = value.bits());
}
