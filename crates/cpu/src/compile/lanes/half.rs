//! Numbers of 16 bits on several lanes.

use super::place::{Reach, Scalars};
use super::rows::Elements;
use super::{Lane, Lanes, UNALIGNED, Vector, Vectors};
use crate::arith::builtin;
use crate::compile::layout::Kind;
use crate::compile::refusal::Result;
use cranelift_codegen::ir::{self, InstBuilder, MemFlags, types};
use naga::{BinaryOperator, MathFunction as Fun};

/// Byte shuffle that gathers the low halves of four words, in both halves of the vector.
const LOW_HALVES: [u8; 16] = [0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13];

impl Vector<'_, '_, '_> {
    /// Computes a function whose arguments begin with numbers of 16 bits, if there are instructions on vectors for it.
    pub(super) fn half_math(&mut self, fun: Fun, kinds: &[Kind], values: &[Lanes]) -> Result<Option<Lanes>> {
        if builtin(fun).is_exact {
            let words = vec![Kind::F32; kinds.len()];
            return self.known_math(fun, &words, values);
        }
        if kinds.iter().any(|&kind| kind != Kind::F16) {
            return Ok(None);
        }
        let wide: Vec<Lanes> = values.iter().map(|value| self.promoted(value)).collect();
        let results = self.known_math(fun, &vec![Kind::F64; kinds.len()], &wide)?;
        Ok(results.map(|results| self.demoted(&results)))
    }

    /// Returns numbers of 16 bits as `f64`.
    pub(super) fn promoted(&mut self, values: &[Lane]) -> Lanes {
        values.iter().map(|&value| self.convert_lane(Kind::F16, Kind::F64, value)).collect()
    }

    /// Rounds numbers to 16 bits.
    pub(super) fn demoted(&mut self, values: &[Lane]) -> Lanes {
        values.iter().map(|&value| self.convert_lane(Kind::F64, Kind::F16, value)).collect()
    }

    /// Returns the remainder of numbers of 16 bits, which is rounded once.
    pub(super) fn half_remainder(&mut self, a: Lane, b: Lane) -> Result<Lane> {
        let [a, b] = [a, b].map(|value| self.convert_lane(Kind::F16, Kind::F64, value));
        let remainder = self.binary_component(BinaryOperator::Modulo, Kind::F64, a, b)?;
        Ok(self.convert_lane(Kind::F64, Kind::F16, remainder))
    }

    /// Loads the number of each lane from its own address.
    pub(super) fn gather_halves(
        &mut self,
        mut address: impl FnMut(&mut Self, u32) -> (ir::Value, i32),
    ) -> Lane {
        let bits = self.gather(Kind::U32, |vector, at| {
            let (address, offset) = address(vector, at);
            vector.lower.builder.ins().uload16(types::I32, MemFlags::trusted(), address, offset)
        });
        let bits = self.each(Kind::U32, bits);
        Lane::Each(self.map(bits, |vector, bits| vector.lower.half_number(bits)))
    }

    /// Loads adjacent numbers.
    pub(super) fn load_adjacent_halves(&mut self, elements: &Elements<'_>, offset: i32) -> Result<Vectors> {
        let mut parts = Vec::new();
        for at in 0..self.count() {
            let (address, offset) = elements.at(self, 4 * at as u32, offset)?;
            let bits = self.lower.builder.ins().uload16x4(UNALIGNED, address, offset);
            parts.push(self.lower.half_number(bits));
        }
        Ok(Vectors::make(parts.len(), |at| parts[at]))
    }

    /// Stores adjacent numbers.
    pub(super) fn store_adjacent_halves(
        &mut self,
        elements: &Elements<'_>,
        offset: i32,
        value: Vectors,
    ) -> Result<()> {
        for (at, &part) in value.iter().enumerate() {
            let bits = self.lower.half_bits(part);
            let halves = self.mixed(bits, bits, LOW_HALVES);
            let halves = self.lower.cast(halves, types::I64X2);
            let halves = self.lower.builder.ins().extractlane(halves, 0);
            let (address, offset) = elements.at(self, 4 * at as u32, offset)?;
            self.lower.builder.ins().store(UNALIGNED, halves, address, offset);
        }
        Ok(())
    }

    /// Returns the scalars of the lanes in their memory format.
    pub(super) fn stored_scalars(&mut self, kind: Kind, value: Lane) -> Scalars {
        if kind != Kind::F16 {
            return (0..self.width()).map(|at| self.lane(kind, value, at)).collect();
        }
        let bits = match value {
            Lane::One(value) => Lane::One(self.lower.half_bits(value)),
            value => {
                let value = self.each(kind, value);
                Lane::Each(self.map(value, |vector, value| vector.lower.half_bits(value)))
            }
        };
        (0..self.width())
            .map(|at| {
                let word = self.lane(Kind::U32, bits, at);
                self.lower.builder.ins().ireduce(types::I16, word)
            })
            .collect()
    }

    /// Loads the number of each lane from a different place.
    pub(super) fn load_halves(&mut self, reach: &Reach, distances: &[ir::Value], offset: i32) -> Lane {
        let start = reach.address;
        self.gather_halves(|vector, at| {
            (vector.lower.builder.ins().iadd(start, distances[at as usize]), offset)
        })
    }
}
