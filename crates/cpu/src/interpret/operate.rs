//! The instructions that compute values without a quick function.

use super::invocation::at;
use super::op::{Argument, Binary, Math, Product, QuickVectors, Slot, To};
use crate::arith::geometry::Vector;
use crate::arith::{self, Operand, Outcome, Scalar};
use naga::{BinaryOperator, RelationalFunction, ScalarKind, UnaryOperator};
use smallvec::SmallVec;

/// Applies an operator to components.
pub(super) fn binary(stack: &mut [u64], base: usize, op: &Binary) {
    let a = at(base, op.a.slot);
    let b = at(base, op.b.slot);
    let to = at(base, op.to.slot);
    for component in 0..op.to.count as usize {
        let left = Scalar::from_bits(op.ty, stack[a + component * usize::from(op.a.step)]);
        let right = Scalar::from_bits(op.ty_b, stack[b + component * usize::from(op.b.step)]);
        stack[to + component] = arith::binary(op.op, left, right).bits();
    }
}

/// Applies an operator to components.
pub(super) fn unary(stack: &mut [u64], base: usize, op: UnaryOperator, ty: naga::Scalar, to: To, from: Slot) {
    let from = at(base, from);
    let first = at(base, to.slot);
    for component in 0..to.count as usize {
        stack[first + component] = arith::unary(op, Scalar::from_bits(ty, stack[from + component])).bits();
    }
}

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
    let mut values: SmallVec<[Scalar; 16]> = SmallVec::new();
    for argument in &op.arguments {
        let from = at(base, argument.slot);
        let bits = stack[from..from + argument.count()].iter();
        values.extend(bits.map(|&bits| Scalar::from_bits(argument.ty, bits)));
    }
    let mut operands: SmallVec<[Operand<'_>; 4]> = SmallVec::new();
    let mut rest = &values[..];
    for argument in &op.arguments {
        let (own, others) = rest.split_at(argument.count());
        operands.push(operand(argument, own));
        rest = others;
    }
    let outcome = op.reference.call(&operands);
    put(stack, at(base, op.to), &outcome);
}

fn operand<'a>(argument: &Argument, values: &'a [Scalar]) -> Operand<'a> {
    match (usize::from(argument.columns), usize::from(argument.rows)) {
        (0, 0) => Operand::Scalar(values[0]),
        (0, _) => Operand::Vector(values),
        (columns, rows) => Operand::Matrix { columns, rows, values },
    }
}

/// Puts the scalars of a result into slots, and returns the next free slot.
fn put(stack: &mut [u64], to: usize, outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Scalar(value) => {
            stack[to] = value.bits();
            to + 1
        }
        Outcome::Vector(values) | Outcome::Matrix { values, .. } => {
            for (slot, value) in stack[to..to + values.len()].iter_mut().zip(values) {
                *slot = value.bits();
            }
            to + values.len()
        }
        Outcome::Pair(pair) => pair.iter().fold(to, |to, member| put(stack, to, member)),
    }
}
