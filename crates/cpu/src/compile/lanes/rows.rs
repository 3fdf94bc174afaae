//! Elements of several lanes in memory: adjacent words of one element form a row, and four rows are transposed to four
//! vectors.

use super::{LANES, Lane, UNALIGNED, Vector, Vectors};
use crate::compile::layout::Kind;
use crate::compile::place::displacement;
use crate::compile::refusal::Result;
use cranelift_codegen::ir::{self, InstBuilder, MemFlags, types};

/// Shuffles that interleave the first words, the last words, the first halves and the last halves of two vectors.
pub(super) const FIRST_WORDS: [u8; 16] = [0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23];
pub(super) const LAST_WORDS: [u8; 16] = [8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31];
pub(super) const FIRST_HALVES: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23];
pub(super) const LAST_HALVES: [u8; 16] = [8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31];

/// Kind of a component of an element, and its distance from the start.
pub(super) type Field = (Kind, i32);

/// Addresses of the lanes' elements.
pub(super) enum Elements<'e> {
    /// Lane 0 starts at the address; lane k at the address plus k times this stride.
    Line(ir::Value, u32),
    /// Each lane has a distance from an address.
    Each(ir::Value, &'e [ir::Value]),
}

impl Elements<'_> {
    /// Returns a base address for a lane's element, and the constant offset to add.
    pub(super) fn at(
        &self,
        vector: &mut Vector<'_, '_, '_>,
        lane: u32,
        offset: i32,
    ) -> Result<(ir::Value, i32)> {
        Ok(match self {
            Self::Line(address, bytes) => (*address, displacement(offset as u32, lane * bytes)?),
            Self::Each(address, distances) => {
                (vector.lower.builder.ins().iadd(*address, distances[lane as usize]), offset)
            }
        })
    }

    /// Returns `true` if the lanes have adjacent words.
    fn are_adjacent(&self, fields: &[Field]) -> bool {
        fields.len() == 1 && matches!(self, Self::Line(_, stride) if *stride == fields[0].0.bytes())
    }
}

impl Vector<'_, '_, '_> {
    /// Loads the fields of the elements of all lanes.
    pub(super) fn load_elements(
        &mut self,
        elements: &Elements<'_>,
        fields: &[Field],
    ) -> Result<Vec<Vectors>> {
        if elements.are_adjacent(fields) {
            return Ok(vec![self.load_adjacent(elements, fields[0])?]);
        }
        let mut loaded = Vec::new();
        let mut rest = fields;
        while let Some((&field, others)) = rest.split_first() {
            if row(rest) {
                let mut columns = [const { Vec::new() }; 4];
                for at in 0..self.count() {
                    let mut rows = [field_value(); 4];
                    for (lane, row) in rows.iter_mut().enumerate() {
                        let lane = at as u32 * LANES + lane as u32;
                        let (address, offset) = elements.at(self, lane, field.1)?;
                        *row = self.lower.builder.ins().load(types::I32X4, UNALIGNED, address, offset);
                    }
                    for (column, value) in columns.iter_mut().zip(self.transpose(rows)) {
                        column.push(value);
                    }
                }
                for (column, &(kind, _)) in columns.iter().zip(rest) {
                    let ty = Self::vector_type(kind);
                    loaded.push(self.vectors(kind, |vector, at| vector.lower.cast(column[at], ty)));
                }
                rest = &rest[4..];
            } else {
                loaded.push(self.load_field(elements, field)?);
                rest = others;
            }
        }
        Ok(loaded)
    }

    fn load_adjacent(&mut self, elements: &Elements<'_>, (kind, offset): Field) -> Result<Vectors> {
        if kind == Kind::F16 {
            return self.load_adjacent_halves(elements, offset);
        }
        let mut parts = Vec::new();
        for at in 0..self.count_of(kind) {
            let (address, offset) = elements.at(self, at as u32 * Self::lanes_of(kind), offset)?;
            let ty = Self::vector_type(kind);
            parts.push(self.lower.builder.ins().load(ty, UNALIGNED, address, offset));
        }
        Ok(Vectors::make(parts.len(), |at| parts[at]))
    }

    fn load_field(&mut self, elements: &Elements<'_>, (kind, offset): Field) -> Result<Vectors> {
        let mut places = Vec::new();
        for lane in 0..self.width() {
            places.push(elements.at(self, lane, offset)?);
        }
        if kind == Kind::F16 {
            let lane = self.gather_halves(|_, at| places[at as usize]);
            return Ok(self.each(kind, lane));
        }
        let mut scalars = Vec::new();
        for (address, offset) in places {
            scalars.push(self.lower.builder.ins().load(kind.ir(), MemFlags::trusted(), address, offset));
        }
        let lane = self.gather(kind, |_, at| scalars[at as usize]);
        Ok(self.each(kind, lane))
    }

    /// Stores the fields of the elements of all lanes.
    pub(super) fn store_elements(
        &mut self,
        elements: &Elements<'_>,
        fields: &[Field],
        values: &[Vectors],
    ) -> Result<()> {
        if elements.are_adjacent(fields) && fields[0].0 == Kind::F16 {
            return self.store_adjacent_halves(elements, fields[0].1, values[0]);
        }
        if elements.are_adjacent(fields) {
            for (at, &part) in values[0].iter().enumerate() {
                let lanes = Self::lanes_of(fields[0].0);
                let (address, offset) = elements.at(self, at as u32 * lanes, fields[0].1)?;
                self.lower.builder.ins().store(UNALIGNED, part, address, offset);
            }
            return Ok(());
        }
        let mut at = 0;
        while at < fields.len() {
            let (kind, offset) = fields[at];
            if row(&fields[at..]) {
                let rows = (0..self.count()).flat_map(|part| {
                    let columns = [0, 1, 2, 3].map(|column| values[at + column][part]);
                    let columns = columns.map(|value| self.lower.cast(value, types::I32X4));
                    self.transpose(columns)
                });
                for (lane, row) in rows.collect::<Vec<_>>().into_iter().enumerate() {
                    let (address, offset) = elements.at(self, lane as u32, offset)?;
                    self.lower.builder.ins().store(UNALIGNED, row, address, offset);
                }
                at += 4;
            } else {
                let scalars = self.stored_scalars(kind, Lane::Each(values[at]));
                for (lane, value) in scalars.into_iter().enumerate() {
                    let (address, offset) = elements.at(self, lane as u32, offset)?;
                    self.lower.builder.ins().store(MemFlags::trusted(), value, address, offset);
                }
                at += 1;
            }
        }
        Ok(())
    }

    /// Exchanges the rows and the columns of four vectors of four words.
    fn transpose(&mut self, [a, b, c, d]: [ir::Value; 4]) -> [ir::Value; 4] {
        let first = self.mixed(a, b, FIRST_WORDS);
        let second = self.mixed(c, d, FIRST_WORDS);
        let third = self.mixed(a, b, LAST_WORDS);
        let fourth = self.mixed(c, d, LAST_WORDS);
        [
            self.mixed(first, second, FIRST_HALVES),
            self.mixed(first, second, LAST_HALVES),
            self.mixed(third, fourth, FIRST_HALVES),
            self.mixed(third, fourth, LAST_HALVES),
        ]
    }

    /// Returns a vector of words with the bytes at these indices in two vectors.
    pub(super) fn mixed(&mut self, a: ir::Value, b: ir::Value, bytes: [u8; 16]) -> ir::Value {
        let [a, b] = [a, b].map(|value| self.lower.cast(value, types::I8X16));
        let bytes = self.lower.builder.func.dfg.immediates.push(bytes[..].into());
        let mixed = self.lower.builder.ins().shuffle(a, b, bytes);
        self.lower.cast(mixed, types::I32X4)
    }
}

/// Returns a placeholder for a value that is replaced before it is read.
fn field_value() -> ir::Value {
    ir::Value::from_u32(0)
}

/// Returns `true` if the first four fields are adjacent words.
fn row(fields: &[Field]) -> bool {
    let are_words = |fields: &[Field]| fields.iter().all(|field| field.0.bytes() == 4);
    fields.len() >= 4
        && are_words(&fields[..4])
        && fields[..4].windows(2).all(|pair| pair[0].1 + 4 == pair[1].1)
}
