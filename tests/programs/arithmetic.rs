//! Computes the results of kernels, one element after the other.

use super::op::{Kernel, Ty};
use super::oracle::Word;

/// Computes the results of the first `invocations` invocations of a kernel with elements of this type.
pub fn run(kernel: &Kernel, ty: Ty, invocations: usize, inputs: &[Vec<Word>], out: &mut [Word]) {
    let each = |out: &mut [Word], f: &dyn Fn(usize, u32) -> Word| {
        let shortest = inputs.iter().map(Vec::len).min().unwrap_or(usize::MAX).min(out.len());
        for (i, word) in out.iter_mut().enumerate().take(shortest.min(invocations)) {
            *word = word.and_then(|y| f(i, y));
        }
    };
    match *kernel {
        Kernel::Mix { a, b, .. } => {
            each(out, &|i, y| Some(y.wrapping_mul(a).wrapping_add(inputs[0][i]?).wrapping_add(b)));
        }
        Kernel::Saxpy { a, .. } => each(out, &|i, y| Some(ty.plus(ty.times(a, inputs[0][i]?), y))),
        Kernel::Add { .. } => {
            for ((z, x), y) in out.iter_mut().zip(&inputs[0]).zip(&inputs[1]).take(invocations) {
                *z = x.zip(*y).map(|(x, y)| ty.plus(x, y));
            }
        }
        Kernel::Iota { start, step, .. } => {
            for (i, word) in out.iter_mut().enumerate().take(invocations) {
                *word = Some(ty.plus(start, ty.times(ty.index(i), step)));
            }
        }
        Kernel::Histogram { .. } => {
            for value in inputs[0].iter().take(invocations) {
                match value {
                    Some(value) => {
                        let bin = *value as usize % out.len();
                        out[bin] = out[bin].map(|count| count.wrapping_add(1));
                    }
                    None => out.fill(None),
                }
            }
        }
    }
}

/// Computes on the bits of elements. Arithmetic of f32 is exact on the numbers of programs.
impl Ty {
    fn plus(self, x: u32, y: u32) -> u32 {
        match self {
            Ty::F32 => (f32::from_bits(x) + f32::from_bits(y)).to_bits(),
            Ty::U32 | Ty::I32 | Ty::Groups => x.wrapping_add(y),
        }
    }

    fn times(self, x: u32, y: u32) -> u32 {
        match self {
            Ty::F32 => (f32::from_bits(x) * f32::from_bits(y)).to_bits(),
            Ty::U32 | Ty::I32 | Ty::Groups => x.wrapping_mul(y),
        }
    }

    fn index(self, i: usize) -> u32 {
        if self == Ty::F32 { (i as f32).to_bits() } else { i as u32 }
    }
}
