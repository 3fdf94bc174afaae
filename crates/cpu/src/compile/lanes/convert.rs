//! Conversions on several lanes.

use super::{Lane, Lanes, Vector};
use crate::compile::layout::Kind;
use crate::compile::operator::{LAST_I32, LAST_U32};
use crate::compile::refusal::Result;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, MemFlags, types};
use naga::{Expression, Handle, ScalarKind};

impl Vector<'_, '_, '_> {
    /// Converts a value, or takes its bits as those of another type if there is no width.
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
                (Some(_), Lane::One(value)) => Lane::One(self.lower.convert_component(from, to, value)),
                (Some(_), value) => self.convert_lanes(from, to, value),
            })
            .collect())
    }

    fn convert_lanes(&mut self, from: Kind, to: Kind, lane: Lane) -> Lane {
        let integers = [Kind::I32, Kind::U32];
        if from == to || integers.contains(&from) && integers.contains(&to) {
            return lane;
        }
        let value = self.each(from, lane);
        Lane::Each(self.map(value, |vector, value| vector.convert_vector(from, to, value)))
    }

    fn convert_vector(&mut self, from: Kind, to: Kind, value: ir::Value) -> ir::Value {
        let ty = Self::vector_type(to);
        let last = |vector: &mut Self, last: i64| {
            let last = vector.lower.builder.ins().iconst(types::I32, last);
            vector.lower.builder.ins().splat(types::I32X4, last)
        };
        match (from, to) {
            (Kind::I32, Kind::F32) => self.lower.builder.ins().fcvt_from_sint(ty, value),
            (Kind::U32, Kind::F32) => self.lower.builder.ins().fcvt_from_uint(ty, value),
            (Kind::F32, Kind::I32) => {
                let value = self.lower.builder.ins().fcvt_to_sint_sat(ty, value);
                let last = last(self, LAST_I32);
                self.lower.builder.ins().smin(value, last)
            }
            (Kind::F32, Kind::U32) => {
                let value = self.lower.builder.ins().fcvt_to_uint_sat(ty, value);
                let last = last(self, LAST_U32);
                self.lower.builder.ins().umin(value, last)
            }
            (Kind::F32, Kind::Bool) => {
                let zero = self.splat(0.0);
                self.lower.builder.ins().fcmp(FloatCC::NotEqual, value, zero)
            }
            (_, Kind::Bool) => {
                let zero = last(self, 0);
                self.lower.builder.ins().icmp(IntCC::NotEqual, value, zero)
            }
            (Kind::Bool, Kind::F32) => {
                let one = self.splat(1.0);
                let one = self.lower.builder.ins().bitcast(types::I32X4, MemFlags::new(), one);
                let bits = self.lower.builder.ins().band(value, one);
                self.lower.builder.ins().bitcast(ty, MemFlags::new(), bits)
            }
            // A bool is a word of ones.
            (Kind::Bool, _) => self.lower.builder.ins().ineg(value),
            (Kind::F32, Kind::F32) | (Kind::I32 | Kind::U32, Kind::I32 | Kind::U32) => value,
        }
    }
}
