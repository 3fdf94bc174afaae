//! 16-bit floats. A component is stored as an `f32` with the value of the `f16`; each operation rounds its result to
//! `f16`.
//!
//! The steps are the same as in [`arith`](crate::arith). The functions take scalars and vectors.

use super::function::Lower;
use super::layout::Kind;
use super::value::Components;
use crate::arith::builtin;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::Ieee32;
use cranelift_codegen::ir::{self, InstBuilder, types};
use naga::{MathFunction as Fun, TypeInner};

/// Bits of an `f32` without its sign.
const MAGNITUDE: u32 = 0x7fff_ffff;
/// Bits of the smallest `f32` that is a normal `f16`: 2^-14.
const LEAST_NORMAL: u32 = 113 << 23;
/// Bits of the smallest `f32` that overflows `f16`: halfway between the greatest `f16` and the next power of two.
const LEAST_INFINITE: u32 = 0x477f_f000;
const INFINITY: u32 = 0x7f80_0000;
/// Bits of 2^17, which is above every `f16`.
const PAST_HALVES: u32 = (127 + 17) << 23;

/// Greatest `f16`.
pub(super) const GREATEST: i64 = 65504;

impl Lower<'_, '_> {
    /// Returns the bits of the nearest `f16`, ties to even, in a word.
    pub(super) fn half_bits(&mut self, x: ir::Value) -> ir::Value {
        let all = self.words_of(x);
        let magnitude = self.word_of(all, MAGNITUDE);
        let magnitude = self.builder.ins().band(all, magnitude);
        let (carried, tiny) = self.rounded_magnitudes(magnitude);
        let normal = self.word_of(all, (112_u32 << 23).wrapping_neg());
        let normal = self.builder.ins().iadd(carried, normal);
        let normal = self.builder.ins().ushr_imm(normal, 13);
        let start = self.word_of(all, 0.5_f32.to_bits());
        let tiny = self.words_of(tiny);
        let subnormal = self.builder.ins().isub(tiny, start);
        let infinity = self.word_of(all, 0x7c00);
        let nan = self.half_nan(magnitude);
        let number = self.half_of(magnitude, [subnormal, normal, infinity, nan]);
        let sign = self.builder.ins().ushr_imm(all, 16);
        let bit = self.word_of(all, 0x8000);
        let sign = self.builder.ins().band(sign, bit);
        self.builder.ins().bor(number, sign)
    }

    /// Returns the bits of an `f16` NaN with the high bits of an `f32` NaN, so that a copied NaN keeps its bits.
    fn half_nan(&mut self, magnitude: ir::Value) -> ir::Value {
        let low = self.word_of(magnitude, 0x1fff);
        let digits = self.builder.ins().band(magnitude, low);
        let carried = self.builder.ins().iadd(digits, low);
        let all = self.builder.ins().bor(carried, magnitude);
        let high = self.builder.ins().ushr_imm(all, 13);
        let kept = self.word_of(magnitude, 0x7fff);
        self.builder.ins().band(high, kept)
    }

    /// Returns the number of the `f16` whose bits are in a word.
    pub(super) fn half_number(&mut self, bits: ir::Value) -> ir::Value {
        let low = self.word_of(bits, 0x7fff);
        let low = self.builder.ins().band(bits, low);
        let magnitude = self.builder.ins().ishl_imm(low, 13);
        // The product with 2^112 moves the exponent from the range of `f16` to the range of `f32`.
        let scale = self.word_of(bits, 239 << 23);
        let scale = self.floats_of(scale);
        let number = self.floats_of(magnitude);
        let finite = self.builder.ins().fmul(number, scale);
        let finite = self.words_of(finite);
        let infinity = self.word_of(bits, INFINITY);
        let infinite = self.builder.ins().bor(magnitude, infinity);
        let least = self.word_of(bits, 0x7c00 << 13);
        let is_infinite = self.builder.ins().icmp(IntCC::SignedGreaterThanOrEqual, magnitude, least);
        let number = self.pick(is_infinite, infinite, finite);
        let bit = self.word_of(bits, 0x8000);
        let sign = self.builder.ins().band(bits, bit);
        let sign = self.builder.ins().ishl_imm(sign, 16);
        let number = self.builder.ins().bor(number, sign);
        self.floats_of(number)
    }

    /// Rounds an `f32` to the nearest `f16`, ties to even.
    pub(super) fn rounded_half(&mut self, x: ir::Value) -> ir::Value {
        let all = self.words_of(x);
        let [exponents, least, most] =
            [INFINITY, LEAST_NORMAL, PAST_HALVES].map(|bits| self.word_of(all, bits));
        let power = self.builder.ins().band(all, exponents);
        let power = self.builder.ins().smax(power, least);
        let power = self.builder.ins().smin(power, most);
        // Adding 3 * 2^12 times the power of two rounds to the precision of `f16`.
        let times = self.word_of(all, 13 << 23 | 1 << 22);
        let large = self.builder.ins().iadd(power, times);
        let large = self.floats_of(large);
        let sum = self.builder.ins().fadd(x, large);
        let mut number = self.builder.ins().fsub(sum, large);
        // A number past the greatest `f16` becomes infinite.
        for exponent in [127 + 112, 127 - 112] {
            let scale = self.word_of(all, exponent << 23);
            let scale = self.floats_of(scale);
            number = self.builder.ins().fmul(number, scale);
        }
        let sign = self.word_of(all, !MAGNITUDE);
        let sign = self.builder.ins().band(all, sign);
        let number = self.words_of(number);
        let number = self.builder.ins().bor(number, sign);
        self.floats_of(number)
    }

    /// Returns the bits of a magnitude with the carry of rounding to 11 bits, and the magnitude plus 1/2, which rounds
    /// it to a multiple of the smallest `f16`.
    fn rounded_magnitudes(&mut self, magnitude: ir::Value) -> (ir::Value, ir::Value) {
        let odd = self.builder.ins().ushr_imm(magnitude, 13);
        let one = self.word_of(magnitude, 1);
        let odd = self.builder.ins().band(odd, one);
        let most = self.word_of(magnitude, 0xfff);
        let more = self.builder.ins().iadd(odd, most);
        let carried = self.builder.ins().iadd(magnitude, more);
        let half = self.word_of(magnitude, 0.5_f32.to_bits());
        let half = self.floats_of(half);
        let number = self.floats_of(magnitude);
        (carried, self.builder.ins().fadd(number, half))
    }

    /// Selects the normal, subnormal, infinite or NaN result by the bits of the magnitude.
    fn half_of(
        &mut self,
        magnitude: ir::Value,
        [subnormal, normal, infinity, nan]: [ir::Value; 4],
    ) -> ir::Value {
        let limits = [LEAST_NORMAL, LEAST_INFINITE, INFINITY].map(|bits| self.word_of(magnitude, bits));
        let ins = self.builder.ins();
        let is_small = ins.icmp(IntCC::SignedLessThan, magnitude, limits[0]);
        let is_large = self.builder.ins().icmp(IntCC::SignedGreaterThanOrEqual, magnitude, limits[1]);
        let is_nan = self.builder.ins().icmp(IntCC::SignedGreaterThan, magnitude, limits[2]);
        let number = self.pick(is_small, subnormal, normal);
        let number = self.pick(is_large, infinity, number);
        self.pick(is_nan, nan, number)
    }

    /// Rounds an `f64` to the nearest `f16`, ties to even.
    pub(super) fn half_of_double(&mut self, x: ir::Value) -> ir::Value {
        let nearest = self.builder.ins().fdemote(types::F32, x);
        let back = self.builder.ins().fpromote(types::F64, nearest);
        let is_same = self.builder.ins().fcmp(FloatCC::Equal, back, x);
        let size = self.builder.ins().fabs(back);
        let exact_size = self.builder.ins().fabs(x);
        let infinity = self.number(Kind::F64, f64::INFINITY);
        let is_finite = self.builder.ins().fcmp(FloatCC::LessThan, size, infinity);
        // Round to odd: the last bit of an inexact `f32` is set, so that the second rounding is correct.
        let is_above = self.builder.ins().fcmp(FloatCC::GreaterThan, size, exact_size);
        let is_above = self.builder.ins().uextend(types::I32, is_above);
        let bits = self.words_of(nearest);
        let below = self.builder.ins().isub(bits, is_above);
        let odd = self.builder.ins().bor_imm(below, 1);
        let odd = self.floats_of(odd);
        let inexact = self.builder.ins().select(is_finite, odd, nearest);
        let number = self.builder.ins().select(is_same, nearest, inexact);
        self.rounded_half(number)
    }

    /// Computes a function of 16-bit floats, if there are instructions for it.
    pub(super) fn half_math(
        &mut self,
        fun: Fun,
        inner: &TypeInner,
        values: &[Components],
    ) -> Option<Components> {
        if builtin(fun).is_exact {
            return self.known_math(fun, Kind::F32, inner, values);
        }
        if fun == Fun::Ldexp {
            return None;
        }
        let wide: Vec<Components> = values.iter().map(|value| self.promoted(value)).collect();
        let results = self.known_math(fun, Kind::F64, inner, &wide)?;
        Some(results.into_iter().map(|value| self.half_of_double(value)).collect())
    }

    /// Returns numbers as `f64`.
    pub(super) fn promoted(&mut self, values: &[ir::Value]) -> Components {
        values.iter().map(|&value| self.builder.ins().fpromote(types::F64, value)).collect()
    }

    /// Returns the bits of a float or of a vector of floats.
    fn words_of(&mut self, x: ir::Value) -> ir::Value {
        let ty = if self.is_vector(x) { types::I32X4 } else { types::I32 };
        self.cast(x, ty)
    }

    /// Returns the float, or the vector of floats, with these bits.
    fn floats_of(&mut self, x: ir::Value) -> ir::Value {
        let ty = if self.is_vector(x) { types::F32X4 } else { types::F32 };
        self.cast(x, ty)
    }

    /// Returns a constant word, or a vector of it if `like` is a vector.
    fn word_of(&mut self, like: ir::Value, bits: u32) -> ir::Value {
        let word = self.word(bits);
        self.spread(like, word)
    }

    /// Returns the number with the bits of an `f16`.
    pub(super) fn half_constant(&mut self, bits: u64) -> ir::Value {
        let number = half::f16::from_bits(bits as u16).to_f32();
        self.builder.ins().f32const(Ieee32::with_bits(number.to_bits()))
    }
}
