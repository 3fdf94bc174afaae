//! Operations on atomic variables.

use super::memory::Memory;
use crate::arith::{self, Scalar};
use naga::{AtomicFunction, BinaryOperator};

/// Changes an atomic variable, and returns its old value and if a compare-exchange stored.
pub(super) fn change(
    memory: &Memory<'_>,
    (region, byte): (u16, u64),
    (fun, ty): (AtomicFunction, naga::Scalar),
    value: u64,
    compare: Option<u64>,
) -> (u64, bool) {
    let old = memory.update(region, byte, ty.width, |old| match compare {
        Some(compare) => (old == compare).then_some(value),
        None => Some(combine(fun, ty, old, value)),
    });
    (old, compare == Some(old))
}

/// Returns the new value.
fn combine(fun: AtomicFunction, ty: naga::Scalar, old: u64, value: u64) -> u64 {
    let [a, b] = [old, value].map(|bits| Scalar::from_bits(ty, bits));
    let is_less = |a, b| arith::binary(BinaryOperator::Less, a, b) == Scalar::Bool(true);
    let new = match fun {
        AtomicFunction::Add => arith::binary(BinaryOperator::Add, a, b),
        AtomicFunction::Subtract => arith::binary(BinaryOperator::Subtract, a, b),
        AtomicFunction::And => arith::binary(BinaryOperator::And, a, b),
        AtomicFunction::InclusiveOr => arith::binary(BinaryOperator::InclusiveOr, a, b),
        AtomicFunction::ExclusiveOr => arith::binary(BinaryOperator::ExclusiveOr, a, b),
        AtomicFunction::Min if is_less(b, a) => b,
        AtomicFunction::Max if is_less(a, b) => b,
        AtomicFunction::Min | AtomicFunction::Max => a,
        AtomicFunction::Exchange { .. } => b,
    };
    new.bits()
}
