//! 64-bit numbers on several lanes: two of them fill a vector, and the lanes' own memory stores low and high words
//! separately.

use super::rows::{FIRST_WORDS, LAST_WORDS};
use super::{Vector, Vectors};
use crate::compile::layout::Kind;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};

/// Shuffles of the low words and of the high words of two vectors of 64-bit numbers.
const LOW_WORDS: [u8; 16] = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
const HIGH_WORDS: [u8; 16] = [4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31];

impl Vector<'_, '_, '_> {
    /// Returns the numbers of 64 bits with these low and high words.
    pub(super) fn join(&mut self, kind: Kind, low: Vectors, high: Vectors) -> Vectors {
        self.vectors(kind, |vector, at| {
            let bytes = if at.is_multiple_of(2) { FIRST_WORDS } else { LAST_WORDS };
            let words = vector.mixed(low[at / 2], high[at / 2], bytes);
            vector.lower.cast(words, Self::vector_type(kind))
        })
    }

    /// Returns the low and the high words of numbers of 64 bits.
    pub(super) fn split(&mut self, value: Vectors) -> [Vectors; 2] {
        [LOW_WORDS, HIGH_WORDS].map(|bytes| {
            self.vectors(Kind::U32, |vector, at| vector.mixed(value[2 * at], value[2 * at + 1], bytes))
        })
    }

    /// Returns a mask with 64 bits per lane.
    pub(super) fn wide_mask(&mut self, mask: Vectors) -> Vectors {
        self.join(Kind::U64, mask, mask)
    }

    /// Compares 64-bit numbers, and returns the mask.
    pub(super) fn narrow_mask(&mut self, mask: Vectors) -> Vectors {
        self.vectors(Kind::Bool, |vector, at| vector.mixed(mask[2 * at], mask[2 * at + 1], LOW_WORDS))
    }

    /// Returns the minimum (or maximum, by `order`) of `a` and `b` in each lane.
    pub(super) fn wide_extreme(&mut self, kind: Kind, order: IntCC, a: ir::Value, b: ir::Value) -> ir::Value {
        let [x, y] = [a, b].map(|value| if kind == Kind::U64 { self.turned(value) } else { value });
        let second = self.lower.builder.ins().icmp(order, y, x);
        self.lower.pick(second, b, a)
    }

    /// Flips the highest bits, so that a signed comparison orders unsigned numbers.
    pub(super) fn turned(&mut self, value: ir::Value) -> ir::Value {
        let sign = self.lower.builder.ins().iconst(types::I64, i64::MIN);
        let sign = self.lower.builder.ins().splat(types::I64X2, sign);
        self.lower.builder.ins().bxor(value, sign)
    }
}
