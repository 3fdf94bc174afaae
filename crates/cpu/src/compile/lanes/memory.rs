//! Loads and stores of several lanes.

use super::place::{Places, Reach, Scalars, Way};
use super::rows::Elements;
use super::stride::Stride;
use super::{LANES, Lane, Lanes, Local, UNALIGNED, Vector, Vectors};
use crate::compile::layout::{Kind, Leaf};
use crate::compile::refusal::{Result, refuse};
use cranelift_codegen::ir::{self, InstBuilder, MemFlags};
use naga::{AddressSpace, Expression, Handle, TypeInner};

impl Vector<'_, '_, '_> {
    /// Lists the kinds of the components of a type.
    pub(super) fn kinds(&self, inner: &TypeInner) -> Result<Vec<Kind>> {
        Ok(self.lower.types().leaves(inner)?.iter().map(|leaf| leaf.kind).collect())
    }

    /// Loads the value that a pointer points to.
    pub(super) fn load(&mut self, pointer: Handle<Expression>) -> Result<Lanes> {
        let inner = self.lower.pointee(pointer)?;
        let reach = match self.places(pointer)? {
            Places::Local(_, local) => return Ok(self.read(&local)),
            Places::Memory(reach) => reach,
        };
        if self.is_shared_atomic(&inner, pointer) {
            return self.load_atomic(&reach, &inner);
        }
        let leaves = self.lower.types().leaves(&inner)?;
        if let Some(place) = Stride::new(&reach, &leaves, self.width()) {
            return self.load_stride(&place);
        }
        if let (Way::Each(distances), false) = (&reach.way, reach.is_own())
            && leaves.iter().all(|leaf| leaf.kind != Kind::Bool)
        {
            return self.load_apart(&reach, distances, &leaves);
        }
        let mut values = Lanes::new();
        for (component, leaf) in leaves.iter().enumerate() {
            let offset = reach.displacement(component, leaf.offset)?;
            values.push(if reach.is_own() {
                self.load_own(&reach, leaf.kind, offset)
            } else {
                self.load_component(&reach, leaf.kind, offset)
            });
        }
        Ok(values)
    }

    /// Returns `true` if other threads may access a place atomically.
    pub(super) fn is_shared_atomic(&self, inner: &TypeInner, pointer: Handle<Expression>) -> bool {
        let space = self.lower.ty(pointer).pointer_space();
        matches!(inner, TypeInner::Atomic(_)) && matches!(space, Some(AddressSpace::Storage { .. }))
    }

    /// Loads a component from each lane's own memory.
    fn load_own(&mut self, reach: &Reach, kind: Kind, offset: i32) -> Lane {
        if kind.is_wide() {
            let high = offset + 4 * reach.spread as i32;
            let [low, high] = [offset, high].map(|offset| self.load_own(reach, Kind::U32, offset));
            let low = self.each(Kind::U32, low);
            let high = self.each(Kind::U32, high);
            return Lane::Each(self.join(kind, low, high));
        }
        let ty = Self::vector_type(kind);
        let address = reach.address;
        let Some(distances) = self.distances(&reach.way) else {
            return Lane::Each(self.vectors(kind, |vector, at| {
                vector.lower.builder.ins().load(ty, UNALIGNED, address, offset + 16 * at as i32)
            }));
        };
        // In memory a bool is a word, so its lanes need no conversion.
        let kind = if kind == Kind::Bool { Kind::U32 } else { kind };
        self.gather(kind, |vector, at| {
            let address = vector.lower.builder.ins().iadd(address, distances[at as usize]);
            vector.lower.builder.ins().load(kind.ir(), MemFlags::trusted(), address, offset + 4 * at as i32)
        })
    }

    fn load_component(&mut self, reach: &Reach, kind: Kind, offset: i32) -> Lane {
        match &reach.way {
            Way::Same => Lane::One(self.lower.load_leaf(kind, reach.address, offset)),
            _ => self.load_each(reach, kind, offset),
        }
    }

    /// Loads a value from a different place in each lane.
    fn load_apart(&mut self, reach: &Reach, distances: &[ir::Value], leaves: &[Leaf]) -> Result<Lanes> {
        let mut fields = Vec::new();
        for (component, leaf) in leaves.iter().enumerate() {
            fields.push((leaf.kind, reach.displacement(component, leaf.offset)?));
        }
        let loaded = self.load_elements(&Elements::Each(reach.address, distances), &fields)?;
        Ok(loaded.into_iter().map(Lane::Each).collect())
    }

    fn load_each(&mut self, reach: &Reach, kind: Kind, offset: i32) -> Lane {
        let distances = self.distances(&reach.way).expect("bug: the lanes have places of their own");
        if kind == Kind::F16 {
            return self.load_halves(reach, &distances, offset);
        }
        let address = reach.address;
        self.gather(kind, |vector, at| {
            let address = vector.lower.builder.ins().iadd(address, distances[at as usize]);
            vector.lower.builder.ins().load(kind.ir(), MemFlags::trusted(), address, offset)
        })
    }

    /// Stores a value.
    pub(super) fn store(&mut self, pointer: Handle<Expression>, value: Handle<Expression>) -> Result<()> {
        let values = self.value(value)?;
        let inner = self.lower.pointee(pointer)?;
        let leaves = self.lower.types().leaves(&inner)?;
        let reach = match self.places(pointer)? {
            Places::Local(handle, local) => {
                let mask = self.changing();
                if matches!(local, Local::Shared(_)) && !self.body.locals.contains_key(&handle) {
                    return refuse("a store to a variable of the workgroup");
                }
                return self.assign(&local, &self.kinds(&inner)?, &values, mask);
            }
            Places::Memory(reach) => reach,
        };
        let mask = self.storing();
        if let Some(place) = Stride::new(&reach, &leaves, self.width())
            && !self.is_shared_atomic(&inner, pointer)
        {
            return self.store_stride(&place, &values, mask);
        }
        for (component, (leaf, value)) in leaves.iter().zip(values).enumerate() {
            let offset = reach.displacement(component, leaf.offset)?;
            if reach.is_own() {
                self.store_own(&reach, leaf.kind, offset, value, mask);
            } else {
                let parts = self.stored_scalars(leaf.kind, value);
                self.store_each(&reach, offset, &parts, mask);
            }
        }
        Ok(())
    }

    /// Sets a value in each lane's own memory. All lanes store.
    pub(super) fn fill(&mut self, reach: &Reach, inner: &TypeInner, values: &[Lane]) -> Result<()> {
        for (component, (&kind, &value)) in self.kinds(inner)?.iter().zip(values).enumerate() {
            let offset = reach.displacement(component, 0)?;
            self.store_own(reach, kind, offset, value, None);
        }
        Ok(())
    }

    /// Stores a component in each lane's own memory.
    fn store_own(&mut self, reach: &Reach, kind: Kind, offset: i32, value: Lane, mask: Option<Vectors>) {
        let value = self.each(kind, value);
        if kind.is_wide() {
            let [low, high] = self.split(value);
            self.store_own(reach, Kind::U32, offset, Lane::Each(low), mask);
            return self.store_own(
                reach,
                Kind::U32,
                offset + 4 * reach.spread as i32,
                Lane::Each(high),
                mask,
            );
        }
        if !reach.is_same() {
            let kind = if kind == Kind::Bool { Kind::U32 } else { kind };
            let parts: Scalars = (0..self.width()).map(|at| self.lane(kind, Lane::Each(value), at)).collect();
            return self.store_each(reach, offset, &parts, mask);
        }
        for at in 0..self.count() {
            let offset = offset + 16 * at as i32;
            let mut part = value[at];
            if let Some(mask) = mask {
                let ty = Self::vector_type(kind);
                let old = self.lower.builder.ins().load(ty, UNALIGNED, reach.address, offset);
                part = self.lower.pick(mask[at], part, old);
            }
            self.lower.builder.ins().store(UNALIGNED, part, reach.address, offset);
        }
    }

    /// Stores the scalars of the lanes, one after the other.
    fn store_each(&mut self, reach: &Reach, offset: i32, values: &[ir::Value], mask: Option<Vectors>) {
        let distances = self.distances(&reach.way);
        for (at, &value) in values.iter().enumerate() {
            let address = match &distances {
                Some(distances) => self.lower.builder.ins().iadd(reach.address, distances[at]),
                None => reach.address,
            };
            let offset = if reach.is_own() { offset + 4 * at as i32 } else { offset };
            self.if_lane(mask, at as u32, |vector| {
                vector.lower.builder.ins().store(MemFlags::trusted(), value, address, offset);
            });
        }
    }

    /// Translates `part` for one lane, which executes it only if the lane is in the mask.
    pub(super) fn if_lane(&mut self, mask: Option<Vectors>, at: u32, part: impl FnOnce(&mut Self)) {
        let Some(mask) = mask else { return part(self) };
        let vector = mask[(at / LANES) as usize];
        let takes_part = self.lower.builder.ins().extractlane(vector, (at % LANES) as u8);
        let [inside, after] = [(); 2].map(|()| self.lower.builder.create_block());
        self.lower.builder.ins().brif(takes_part, inside, &[], after, &[]);
        self.lower.enter(inside);
        part(self);
        self.lower.jump(after);
        self.lower.enter(after);
    }

    /// Loads a value from the memory of the invocations.
    pub(in crate::compile) fn load_invocations(&mut self, inner: &TypeInner, offset: u32) -> Result<Lanes> {
        let reach = Reach::of_invocations(self.lower, offset);
        let mut values = Lanes::new();
        for (component, &kind) in self.kinds(inner)?.iter().enumerate() {
            let offset = reach.displacement(component, 0)?;
            values.push(self.load_own(&reach, kind, offset));
        }
        Ok(values)
    }

    /// Stores a value in the memory of the invocations.
    pub(in crate::compile) fn store_invocations(
        &mut self,
        inner: &TypeInner,
        offset: u32,
        values: &[Lane],
    ) -> Result<()> {
        let reach = Reach::of_invocations(self.lower, offset);
        self.fill(&reach, inner, values)
    }

    pub(super) fn load_spill(&mut self, expression: Handle<Expression>) -> Result<Lanes> {
        let offset = self.lower.frame.spills[&expression];
        self.load_invocations(self.lower.ty(expression), offset)
    }

    pub(super) fn store_spill(&mut self, expression: Handle<Expression>, values: &[Lane]) -> Result<()> {
        let offset = self.lower.frame.spills[&expression];
        self.store_invocations(self.lower.ty(expression), offset, values)
    }

    fn load_atomic(&mut self, reach: &Reach, inner: &TypeInner) -> Result<Lanes> {
        let kind = self.kinds(inner)?[0];
        let leaf = self.lower.types().leaves(inner)?[0];
        let offset = reach.displacement(0, leaf.offset)?;
        let load = |vector: &mut Self, address: ir::Value| {
            let address = vector.lower.builder.ins().iadd_imm(address, i64::from(offset));
            vector.lower.load_atomic(kind, address)
        };
        let lane = match self.distances(&reach.way) {
            None => Lane::One(load(self, reach.address)),
            Some(distances) => self.gather(kind, |vector, at| {
                let address = vector.lower.builder.ins().iadd(reach.address, distances[at as usize]);
                load(vector, address)
            }),
        };
        Ok([lane].into_iter().collect())
    }
}
