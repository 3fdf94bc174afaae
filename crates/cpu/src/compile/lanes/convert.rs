//! Conversions on several lanes.

use super::rows::{FIRST_HALVES, LAST_HALVES};
use super::{Lane, Lanes, Vector, Vectors};
use crate::compile::layout::Kind;
use crate::compile::refusal::Result;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, MemFlags, types};
use naga::{Expression, Handle, ScalarKind};

impl Vector<'_, '_, '_> {
    /// Converts a value, or reinterprets its bits if there is no width.
    pub(super) fn convert(
        &mut self,
        operand: Handle<Expression>,
        kind: ScalarKind,
        width: Option<u8>,
    ) -> Result<Lanes> {
        let from = self.lower.kind(operand)?;
        let to = Kind::of(naga::Scalar { kind, width: width.unwrap_or(from.scalar().width) })?;
        let values = self.value(operand)?;
        Ok(values
            .into_iter()
            .map(|value| match (width, value) {
                (None, Lane::One(value)) if from.ir() != to.ir() => {
                    Lane::One(self.lower.builder.ins().bitcast(to.ir(), MemFlags::new(), value))
                }
                (None, value) if from.ir() == to.ir() => value,
                (None, value) => {
                    let value = self.each(from, value);
                    let ty = Self::vector_type(to);
                    Lane::Each(self.map(value, |vector, value| {
                        vector.lower.builder.ins().bitcast(ty, MemFlags::new(), value)
                    }))
                }
                (Some(_), value) => self.convert_lane(from, to, value),
            })
            .collect())
    }

    /// Converts a component.
    pub(super) fn convert_lane(&mut self, from: Kind, to: Kind, lane: Lane) -> Lane {
        if let Lane::One(value) = lane {
            return Lane::One(self.lower.convert_component(from, to, value));
        }
        let rounds = (from, to) == (Kind::F32, Kind::F16);
        if from.ir() == to.ir() && !rounds {
            return lane;
        }
        let value = self.each(from, lane);
        match (from.is_wide(), to.is_wide()) {
            (false, false) => {
                Lane::Each(self.map(value, |vector, value| vector.convert_vector(from, to, value)))
            }
            (false, true) => match self.widen(from, to, value) {
                Some(wide) => Lane::Each(wide),
                None => self.convert_each(from, to, Lane::Each(value)),
            },
            (true, false) => match self.shorten(from, to, value) {
                Some(short) => Lane::Each(short),
                None => self.convert_each(from, to, Lane::Each(value)),
            },
            (true, true) => self.convert_each(from, to, Lane::Each(value)),
        }
    }

    /// Converts one lane after the other.
    fn convert_each(&mut self, from: Kind, to: Kind, lane: Lane) -> Lane {
        self.gather(to, |vector, at| {
            let value = vector.lane(from, lane, at);
            vector.lower.convert_component(from, to, value)
        })
    }

    /// Converts words to numbers of 64 bits, if there are instructions on vectors for that.
    fn widen(&mut self, from: Kind, to: Kind, value: Vectors) -> Option<Vectors> {
        match (from, to) {
            (Kind::F16 | Kind::F32, Kind::F64) => Some(self.vectors(to, |vector, at| {
                let half = if at.is_multiple_of(2) { FIRST_HALVES } else { LAST_HALVES };
                let half = vector.mixed(value[at / 2], value[at / 2], half);
                let half = vector.lower.cast(half, types::F32X4);
                vector.lower.builder.ins().fvpromote_low(half)
            })),
            (Kind::I32, Kind::I64 | Kind::U64) => {
                let sign = self.map(value, |vector, value| vector.lower.builder.ins().sshr_imm(value, 31));
                Some(self.join(to, value, sign))
            }
            (Kind::U32 | Kind::Bool, Kind::I64 | Kind::U64) => {
                let zero = self.words(0);
                // A `true` lane is a word of ones.
                let value = match from {
                    Kind::Bool => self.map(value, |vector, value| vector.lower.builder.ins().ineg(value)),
                    _ => value,
                };
                let high = Vectors::repeat(value.len(), zero);
                Some(self.join(to, value, high))
            }
            _ => None,
        }
    }

    /// Converts numbers of 64 bits to words, if there are instructions on vectors for that.
    fn shorten(&mut self, from: Kind, to: Kind, value: Vectors) -> Option<Vectors> {
        match (from, to) {
            (Kind::F64, Kind::F32) => Some(self.vectors(to, |vector, at| {
                let halves = [2 * at, 2 * at + 1].map(|at| vector.lower.builder.ins().fvdemote(value[at]));
                let both = vector.mixed(halves[0], halves[1], FIRST_HALVES);
                vector.lower.cast(both, types::F32X4)
            })),
            (Kind::I64 | Kind::U64, Kind::I32 | Kind::U32) => Some(self.split(value)[0]),
            (_, Kind::Bool) => {
                let zero = self.lower.bits(from, 0);
                let zero = self.each(from, Lane::One(zero));
                let differs = self.map_pairs(value, zero, |vector, value, zero| {
                    let ins = vector.lower.builder.ins();
                    match from {
                        Kind::F64 => ins.fcmp(FloatCC::NotEqual, value, zero),
                        _ => ins.icmp(IntCC::NotEqual, value, zero),
                    }
                });
                Some(self.narrow_mask(differs))
            }
            _ => None,
        }
    }

    /// Converts the words of a vector to words. A `true` lane is a word of ones.
    fn convert_vector(&mut self, from: Kind, to: Kind, value: ir::Value) -> ir::Value {
        match (from, to) {
            (Kind::I32 | Kind::U32, Kind::Bool) => {
                let zero = self.lower.word(0);
                let zero = self.lower.spread(value, zero);
                self.lower.builder.ins().icmp(IntCC::NotEqual, value, zero)
            }
            (Kind::Bool, Kind::F16 | Kind::F32) => {
                let one = self.lower.word(1.0_f32.to_bits());
                let one = self.lower.spread(value, one);
                let bits = self.lower.builder.ins().band(value, one);
                self.lower.cast(bits, types::F32X4)
            }
            (Kind::Bool, Kind::Bool) => value,
            (Kind::Bool, _) => self.lower.builder.ins().ineg(value),
            _ => self.lower.convert_component(from, to, value),
        }
    }
}
