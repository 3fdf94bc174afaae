//! Operations on atomic variables.

use super::memory::Memory;
use naga::{AtomicFunction, Scalar, ScalarKind};

/// Changes an atomic variable, and returns its old value and if a compare-exchange stored.
pub(super) fn change(
    memory: &Memory<'_>,
    (region, byte): (u16, u64),
    (fun, ty): (AtomicFunction, Scalar),
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
fn combine(fun: AtomicFunction, ty: Scalar, old: u64, value: u64) -> u64 {
    let bits = match fun {
        AtomicFunction::Add => return sum(ty, old, value, false),
        AtomicFunction::Subtract => return sum(ty, old, value, true),
        AtomicFunction::And => old & value,
        AtomicFunction::InclusiveOr => old | value,
        AtomicFunction::ExclusiveOr => old ^ value,
        AtomicFunction::Min => {
            if is_less(ty, value, old) {
                value
            } else {
                old
            }
        }
        AtomicFunction::Max => {
            if is_less(ty, old, value) {
                value
            } else {
                old
            }
        }
        AtomicFunction::Exchange { .. } => value,
    };
    if ty.width == 4 { bits & u64::from(u32::MAX) } else { bits }
}

fn sum(ty: Scalar, old: u64, value: u64, subtract: bool) -> u64 {
    match (ty.kind, ty.width) {
        (ScalarKind::Float, 4) => {
            let old = f32::from_bits(old as u32);
            let value = f32::from_bits(value as u32);
            u64::from((if subtract { old - value } else { old + value }).to_bits())
        }
        (ScalarKind::Float, _) => {
            let old = f64::from_bits(old);
            let value = f64::from_bits(value);
            (if subtract { old - value } else { old + value }).to_bits()
        }
        (_, 4) => {
            let old = old as u32;
            let value = value as u32;
            u64::from(if subtract { old.wrapping_sub(value) } else { old.wrapping_add(value) })
        }
        _ if subtract => old.wrapping_sub(value),
        _ => old.wrapping_add(value),
    }
}

fn is_less(ty: Scalar, a: u64, b: u64) -> bool {
    match (ty.kind, ty.width) {
        (ScalarKind::Sint, 4) => (a as u32 as i32) < b as u32 as i32,
        (ScalarKind::Sint, _) => (a as i64) < b as i64,
        (ScalarKind::Float, 4) => f32::from_bits(a as u32) < f32::from_bits(b as u32),
        (ScalarKind::Float, _) => f64::from_bits(a) < f64::from_bits(b),
        _ => a < b,
    }
}
