//! Bounds the numbers in arrays of f32, so that every sum and product of them is exact.

use super::op::{Contents, Id, Kernel, Op, Ty};
use std::collections::BTreeMap;

/// Largest number up to which every integer is an f32.
const LARGEST: u64 = 1 << 24;
/// Bound of the drawn elements.
const DRAWN: u64 = 8;

/// A bound for each array of f32. The absolute value of its elements never exceeded the bound. The bound never
/// decreases, because a refused operation keeps larger elements that it would have overwritten.
#[derive(Clone, Default)]
pub struct Bounds(BTreeMap<Id, u64>);

impl Bounds {
    /// Returns `true` if a kernel's results are exact.
    pub fn fits(&self, kernel: &Kernel) -> bool {
        self.after(kernel).is_none_or(|bound| bound <= LARGEST)
    }

    /// Raises the bounds of the arrays that an operation may write.
    pub fn apply(&mut self, op: &Op) {
        match op {
            Op::Array { a, ty: Ty::F32, contents, .. } => {
                let bound = if *contents == Contents::Zeros { 0 } else { DRAWN };
                self.0.insert(*a, bound);
            }
            Op::Fill { dst, .. } | Op::Upload { dst, .. } | Op::MapWrite { part: dst, .. } => {
                self.raise(dst.a, DRAWN);
            }
            Op::UploadRegion { dst, .. } => self.raise(dst.a(), DRAWN),
            Op::Copy { src, dst, .. } => self.raise(dst.a, self.of(src.a)),
            Op::CopyRegion { src, dst, .. } => self.raise(dst.a(), self.of(src.a())),
            Op::Launch { kernel, .. } => {
                if let Some(bound) = self.after(kernel) {
                    self.raise(kernel.parts().1.a, bound);
                }
            }
            _ => {}
        }
    }

    fn of(&self, a: Id) -> u64 {
        self.0.get(&a).copied().unwrap_or_default()
    }

    fn raise(&mut self, a: Id, bound: u64) {
        if let Some(own) = self.0.get_mut(&a) {
            *own = bound.max(*own);
        }
    }

    /// Returns the bound of a kernel's results, if they are f32.
    fn after(&self, kernel: &Kernel) -> Option<u64> {
        let size = |bits: u32| f32::from_bits(bits).abs() as u64;
        self.0.get(&kernel.parts().1.a)?;
        Some(match *kernel {
            Kernel::Add { x, y, .. } => self.of(x.a) + self.of(y.a),
            Kernel::Saxpy { a, x, y } => size(a) * self.of(x.a) + self.of(y.a),
            Kernel::Iota { start, step, out } => size(start) + size(step) * out.len as u64,
            Kernel::Mix { .. } | Kernel::Histogram { .. } => 0,
        })
    }
}
