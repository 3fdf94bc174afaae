//! Loads and stores of elements at equal distances. The index of the last lane decides whether all elements exist.

use super::place::{Reach, Way};
use super::rows::{Elements, Field};
use super::{Lane, Lanes, Vector, Vectors};
use crate::compile::layout::{Kind, Leaf};
use crate::compile::place::displacement;
use crate::compile::refusal::Result;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, MemFlags, types};
use smallvec::SmallVec;

/// Maximum number of fields of an element that the lanes load and store together.
const MOST_FIELDS: usize = 16;

/// Stack bytes for the indices, the mask and the fields of 16 lanes.
const SCRATCH: u32 = 4 * 16 * (2 + MOST_FIELDS as u32);

/// An element for each lane, with indices that increase by a constant step from lane to lane.
#[derive(Clone)]
pub(super) struct Stride {
    address: ir::Value,
    first: ir::Value,
    step: u32,
    /// Index of the last element in memory.
    last: ir::Value,
    /// Bytes from one element in memory to the next.
    stride: u32,
    fields: Vec<Field>,
}

impl Stride {
    /// Returns the elements of a place, if all their fields are words that the lanes access together.
    pub(super) fn new(reach: &Reach, leaves: &[Leaf], width: u32) -> Option<Self> {
        let Way::Line { first, last, stride, step } = reach.way else { return None };
        let words: usize = leaves.iter().map(|leaf| if leaf.kind.is_wide() { 2 } else { 1 }).sum();
        if reach.is_own() || words > MOST_FIELDS || leaves.iter().any(|leaf| leaf.kind == Kind::Bool) {
            return None;
        }
        let mut fields = Vec::new();
        for (component, leaf) in leaves.iter().enumerate() {
            fields.push((leaf.kind, reach.displacement(component, leaf.offset).ok()?));
        }
        let farthest = stride.checked_mul(step)?.checked_mul(width)?;
        let end = fields.iter().map(|field| field.1).max()?;
        displacement(end as u32, farthest).ok()?;
        Some(Self { address: reach.address, first, step, last, stride, fields })
    }
}

impl Vector<'_, '_, '_> {
    /// Loads elements.
    pub(super) fn load_stride(&mut self, place: &Stride) -> Result<Lanes> {
        let (fits, address) = self.whole(place);
        let [whole, parts, after] = [(); 3].map(|()| self.lower.builder.create_block());
        self.lower.builder.set_cold_block(parts);
        self.lower.builder.ins().brif(fits, whole, &[], parts, &[]);
        let results: Vec<Vectors> =
            place.fields.iter().map(|&(kind, _)| self.parameters(after, kind)).collect();
        self.lower.enter(whole);
        let elements = Elements::Line(address, place.stride * place.step);
        let loaded = self.load_elements(&elements, &place.fields)?;
        let arguments = Self::arguments(&loaded);
        self.lower.builder.ins().jump(after, &arguments);
        self.lower.enter(parts);
        let loaded = self.load_parts(place)?;
        let arguments = Self::arguments(&loaded);
        self.lower.builder.ins().jump(after, &arguments);
        self.lower.enter(after);
        Ok(results.into_iter().map(Lane::Each).collect())
    }

    /// Stores elements in the lanes of a mask.
    pub(super) fn store_stride(
        &mut self,
        place: &Stride,
        values: &[Lane],
        mask: Option<Vectors>,
    ) -> Result<()> {
        let values: Vec<Vectors> =
            values.iter().zip(&place.fields).map(|(&value, &(kind, _))| self.each(kind, value)).collect();
        let (mut all, address) = self.whole(place);
        if let Some(mask) = mask {
            let every = self.all(mask);
            all = self.lower.builder.ins().band(all, every);
        }
        let [whole, parts, after] = [(); 3].map(|()| self.lower.builder.create_block());
        self.lower.builder.set_cold_block(parts);
        // The vectors are passed to both blocks, so that neither computes them again.
        let arguments = Self::arguments(&values);
        self.lower.builder.ins().brif(all, whole, &arguments, parts, &arguments);
        let [in_whole, in_parts] = [whole, parts].map(|block| {
            place.fields.iter().map(|&(kind, _)| self.parameters(block, kind)).collect::<Vec<_>>()
        });
        self.lower.enter(whole);
        let elements = Elements::Line(address, place.stride * place.step);
        self.store_elements(&elements, &place.fields, &in_whole)?;
        self.lower.jump(after);
        self.lower.enter(parts);
        self.store_parts(place, &in_parts, mask)?;
        self.lower.jump(after);
        self.lower.enter(after);
        Ok(())
    }

    /// Adds a parameter for each vector of a component to a block.
    fn parameters(&mut self, block: ir::Block, kind: Kind) -> Vectors {
        let ty = Self::vector_type(kind);
        self.vectors(kind, |vector, _| vector.lower.builder.append_block_param(block, ty))
    }

    fn arguments(values: &[Vectors]) -> SmallVec<[ir::BlockArg; 4]> {
        let parts = values.iter().flat_map(|value| &**value);
        parts.map(|&vector| vector.into()).collect()
    }

    /// Returns a flag that is set if the elements of all lanes exist, and the address of the first element.
    fn whole(&mut self, place: &Stride) -> (ir::Value, ir::Value) {
        let ins = self.lower.builder.ins();
        // The index of the last lane may have more than 32 bits.
        let first = ins.uextend(types::I64, place.first);
        let last = self.lower.builder.ins().uextend(types::I64, place.last);
        let steps = i64::from(place.step) * i64::from(self.width() - 1);
        let end = self.lower.builder.ins().iadd_imm(first, steps);
        let fits = self.lower.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, last);
        let distance = self.lower.builder.ins().imul_imm(first, i64::from(place.stride));
        (fits, self.lower.builder.ins().iadd(place.address, distance))
    }

    /// Loads the elements one after the other. An index past the end is clamped to the last element.
    fn load_parts(&mut self, place: &Stride) -> Result<Vec<Vectors>> {
        let slot = self.lower.scratch()?;
        let bytes = self.column();
        let columns = columns(&place.fields);
        self.for_each_part(place, None, |vector, words, element| {
            for (at, &(kind, offset)) in columns.iter().enumerate() {
                let word = vector.lower.load_leaf(kind, element, offset);
                let to = (2 + at as i32) * bytes;
                vector.lower.builder.ins().store(MemFlags::trusted(), word, words, to);
            }
        })?;
        let mut loaded = Vec::new();
        for (at, &(kind, _)) in columns.iter().enumerate() {
            loaded.push(self.vectors(kind, |vector, part| {
                let from = (2 + at as i32) * bytes + 16 * part as i32;
                vector.lower.builder.ins().stack_load(Self::vector_type(kind), slot, from)
            }));
        }
        let mut loaded = loaded.into_iter();
        let mut column = || loaded.next().expect("bug: a field has columns");
        let fields = place.fields.iter().map(|&(kind, _)| {
            let first = column();
            if kind.is_wide() { self.join(kind, first, column()) } else { first }
        });
        Ok(fields.collect())
    }

    /// Stores the elements one after the other.
    fn store_parts(&mut self, place: &Stride, values: &[Vectors], mask: Option<Vectors>) -> Result<()> {
        let bytes = self.column();
        let mut column = 2;
        for (&value, &(kind, _)) in values.iter().zip(&place.fields) {
            let words = if kind.is_wide() { self.split(value).to_vec() } else { vec![value] };
            for words in words {
                self.keep(words, column)?;
                column += 1;
            }
        }
        let columns = columns(&place.fields);
        self.for_each_part(place, mask, |vector, words, element| {
            for (at, &(kind, offset)) in columns.iter().enumerate() {
                let from = (2 + at as i32) * bytes;
                let word = vector.lower.builder.ins().load(kind.ir(), MemFlags::trusted(), words, from);
                vector.lower.store_leaf(kind, word, element, offset);
            }
        })
    }

    /// Returns the bytes of one component in all lanes.
    fn column(&self) -> i32 {
        4 * self.width() as i32
    }

    /// Stores a component in a column on the stack.
    fn keep(&mut self, value: Vectors, column: i32) -> Result<()> {
        let slot = self.lower.scratch()?;
        let start = column * self.column();
        for (part, &vector) in value.iter().enumerate() {
            self.lower.builder.ins().stack_store(vector, slot, start + 16 * part as i32);
        }
        Ok(())
    }

    /// Translates a loop over the lanes of a mask. `part` gets the addresses of the lane's words on the stack and of
    /// its element.
    fn for_each_part(
        &mut self,
        place: &Stride,
        mask: Option<Vectors>,
        part: impl FnOnce(&mut Self, ir::Value, ir::Value),
    ) -> Result<()> {
        let slot = self.lower.scratch()?;
        let indices = self.each(Kind::U32, Lane::Line { first: place.first, step: place.step });
        self.keep(indices, 0)?;
        if let Some(mask) = mask {
            self.keep(mask, 1)?;
        }
        let [head, inside, next, done] = [(); 4].map(|()| self.lower.builder.create_block());
        let start = self.lower.builder.ins().stack_addr(types::I64, slot, 0);
        let bytes = self.column();
        let end = self.lower.builder.ins().iadd_imm(start, i64::from(bytes));
        let words = self.lower.builder.append_block_param(head, types::I64);
        self.lower.builder.ins().jump(head, &[start.into()]);
        self.lower.enter(head);
        if mask.is_some() {
            let ins = self.lower.builder.ins();
            let takes_part = ins.load(types::I32, MemFlags::trusted(), words, bytes);
            self.lower.builder.ins().brif(takes_part, inside, &[], next, &[]);
        } else {
            self.lower.jump(inside);
        }
        self.lower.enter(inside);
        let index = self.lower.builder.ins().load(types::I32, MemFlags::trusted(), words, 0);
        let distance = self.distance(index, place.last, place.stride);
        let element = self.lower.builder.ins().iadd(place.address, distance);
        part(self, words, element);
        self.lower.jump(next);
        self.lower.enter(next);
        let following = self.lower.builder.ins().iadd_imm(words, 4);
        let more = self.lower.builder.ins().icmp(IntCC::UnsignedLessThan, following, end);
        self.lower.builder.ins().brif(more, head, &[following.into()], done, &[]);
        self.lower.enter(done);
        Ok(())
    }
}

/// Lists the words of fields. Each word has a column on the stack.
fn columns(fields: &[Field]) -> SmallVec<[Field; 8]> {
    let words = |&(kind, offset): &Field| match kind.is_wide() {
        true => SmallVec::<[Field; 2]>::from_slice(&[(Kind::U32, offset), (Kind::U32, offset + 4)]),
        false => SmallVec::from_slice(&[(kind, offset)]),
    };
    fields.iter().flat_map(words).collect()
}

impl crate::compile::function::Lower<'_, '_> {
    /// Returns uninitialised bytes on the stack for the words of all lanes.
    fn scratch(&mut self) -> Result<ir::StackSlot> {
        if let Some(slot) = self.scratch {
            return Ok(slot);
        }
        let slot = self.stack(SCRATCH)?;
        self.scratch = Some(slot);
        Ok(slot)
    }
}
