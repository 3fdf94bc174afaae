//! Loads and stores of several lanes.

use super::{LANES, Lane, Lanes, Local, Vector, Vectors};
use crate::compile::layout::Kind;
use crate::compile::place::{Place, displacement};
use crate::compile::refusal::{Result, refuse};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, MemFlags, types};
use naga::{AddressSpace, Expression, Handle, LocalVariable, TypeInner};
use smallvec::SmallVec;

/// Marks an access of elements that begin at a multiple of 4, not of 16.
const UNALIGNED: MemFlags = MemFlags::new().with_notrap();

/// Holds a scalar for each lane.
type Scalars = SmallVec<[ir::Value; 16]>;

/// Is what the pointers of the lanes point to.
enum Places {
    Local(Handle<LocalVariable>, Local),
    Memory(Reach),
}

/// Is a place in memory for each lane.
#[derive(Clone)]
struct Reach {
    address: ir::Value,
    offset: u32,
    /// Counts the elements of the runtime array at the end of the place.
    length: Option<ir::Value>,
    way: Way,
}

/// Says how the places of the lanes differ.
#[derive(Clone)]
enum Way {
    Same,
    /// Each lane has the element after that of the lane before it. The last index is that of the last element.
    Line {
        first: ir::Value,
        last: ir::Value,
        stride: u32,
    },
    /// Each lane has a distance in bytes.
    Each(Scalars),
}

impl Vector<'_, '_, '_> {
    fn places(&mut self, pointer: Handle<Expression>) -> Result<Places> {
        match self.lower.expression(pointer) {
            Expression::LocalVariable(handle) => match self.locals.get(handle) {
                Some(local) => Ok(Places::Local(*handle, local.clone())),
                None => match self.lower.place(pointer)? {
                    Place::Registers(variables) => Ok(Places::Local(*handle, Local::Shared(variables))),
                    Place::Memory { .. } => refuse("a local variable in memory"),
                },
            },
            Expression::GlobalVariable(variable) => {
                let space = self.lower.shared.program.module().global_variables[*variable].space;
                if space == AddressSpace::Private {
                    return refuse("a private variable");
                }
                match self.lower.place(pointer)? {
                    Place::Memory { address, offset, length } => {
                        Ok(Places::Memory(Reach { address, offset, length, way: Way::Same }))
                    }
                    Place::Registers(_) => refuse("a global variable in registers"),
                }
            }
            Expression::AccessIndex { base, index } => self.member_places(*base, *index),
            Expression::Access { base, index } => {
                let inner = self.lower.pointee(*base)?;
                let index = self.value(*index)?[0];
                match self.places(*base)? {
                    Places::Local(..) => refuse("an index into a local variable"),
                    Places::Memory(reach) => self.element(reach, &inner, index),
                }
            }
            other => refuse(format!("the pointer {other:?}")),
        }
    }

    fn member_places(&mut self, base: Handle<Expression>, index: u32) -> Result<Places> {
        let inner = self.lower.pointee(base)?;
        let mut reach = match self.places(base)? {
            Places::Local(handle, local) => {
                let (start, count) = crate::compile::value::member(self.lower.types(), &inner, index)?;
                let part = start..start + count;
                return Ok(Places::Local(
                    handle,
                    match local {
                        Local::Shared(variables) => Local::Shared(variables[part].to_vec()),
                        Local::Each(variables) => Local::Each(variables[part].to_vec()),
                    },
                ));
            }
            Places::Memory(reach) => reach,
        };
        let distance = match &inner {
            TypeInner::Struct { members, .. } => {
                let member = &members[index as usize];
                let ty = self.lower.types().inner(member.ty);
                reach.length = reach.length.filter(|_| self.lower.types().is_unsized(ty));
                member.offset
            }
            TypeInner::Array { .. } => {
                let index = self.lower.word(index);
                return self.element(reach, &inner, Lane::One(index));
            }
            other => index * self.lower.stride(other)?,
        };
        reach.offset = displacement(reach.offset, distance)? as u32;
        Ok(Places::Memory(reach))
    }

    /// Returns the places of elements. An index past the end is moved to the last element.
    fn element(&mut self, mut reach: Reach, inner: &TypeInner, index: Lane) -> Result<Places> {
        let last = self.lower.last(inner, reach.length)?;
        let stride = self.lower.stride(inner)?;
        reach.length = None;
        match (index, &reach.way) {
            (Lane::One(index), _) => {
                let distance = self.distance(index, last, stride);
                reach.address = self.lower.builder.ins().iadd(reach.address, distance);
            }
            (Lane::Line(first), Way::Same) => reach.way = Way::Line { first, last, stride },
            (index, _) => {
                let before = self.distances(&reach.way);
                let mut each = Scalars::new();
                for at in 0..self.width() {
                    let index = self.lane(Kind::U32, index, at);
                    let mut distance = self.distance(index, last, stride);
                    if let Some(before) = &before {
                        distance = self.lower.builder.ins().iadd(before[at as usize], distance);
                    }
                    each.push(distance);
                }
                reach.way = Way::Each(each);
            }
        }
        Ok(Places::Memory(reach))
    }

    /// Returns the distance of an element from the first one, in bytes.
    fn distance(&mut self, index: ir::Value, last: ir::Value, stride: u32) -> ir::Value {
        let index = self.lower.clamp(index, last);
        let index = self.lower.builder.ins().uextend(types::I64, index);
        self.lower.builder.ins().imul_imm(index, i64::from(stride))
    }

    /// Returns the distances of the lanes, unless they have one place.
    fn distances(&mut self, way: &Way) -> Option<Scalars> {
        match way {
            Way::Same => None,
            Way::Each(each) => Some(each.clone()),
            Way::Line { first, last, stride } => Some(
                (0..self.width())
                    .map(|at| {
                        let index = self.lower.builder.ins().iadd_imm(*first, i64::from(at));
                        self.distance(index, *last, *stride)
                    })
                    .collect(),
            ),
        }
    }

    /// Returns whether the elements of all lanes exist, and the address of the first one if they do.
    fn whole_line(
        &mut self,
        address: ir::Value,
        first: ir::Value,
        last: ir::Value,
        stride: u32,
    ) -> (ir::Value, ir::Value) {
        let steps = i64::from(self.width() - 1);
        let end = self.lower.builder.ins().iadd_imm(first, steps);
        let inside = self.lower.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, last);
        // The index of the last lane may wrap.
        let ordered = self.lower.builder.ins().icmp(IntCC::UnsignedLessThanOrEqual, first, end);
        let fits = self.lower.builder.ins().band(inside, ordered);
        let first = self.lower.builder.ins().uextend(types::I64, first);
        let distance = self.lower.builder.ins().imul_imm(first, i64::from(stride));
        (fits, self.lower.builder.ins().iadd(address, distance))
    }

    /// Loads the value that a pointer points to.
    pub(super) fn load(&mut self, pointer: Handle<Expression>) -> Result<Lanes> {
        let inner = self.lower.pointee(pointer)?;
        if matches!(inner, TypeInner::Atomic(_)) {
            return refuse("an atomic load in several lanes");
        }
        let reach = match self.places(pointer)? {
            Places::Local(_, Local::Shared(variables)) => {
                return Ok(self.lower.read(&variables).into_iter().map(Lane::One).collect());
            }
            Places::Local(_, Local::Each(variables)) => {
                return Ok(variables.iter().map(|parts| Lane::Each(self.use_vectors(parts))).collect());
            }
            Places::Memory(reach) => reach,
        };
        let leaves = self.lower.types().leaves(&inner)?;
        let mut values = Lanes::new();
        for leaf in leaves {
            let offset = displacement(reach.offset, leaf.offset)?;
            values.push(self.load_component(&reach, leaf.kind, offset));
        }
        Ok(values)
    }

    fn load_component(&mut self, reach: &Reach, kind: Kind, offset: i32) -> Lane {
        let flags = MemFlags::trusted();
        match &reach.way {
            Way::Same => Lane::One(self.lower.builder.ins().load(kind.ir(), flags, reach.address, offset)),
            Way::Line { first, last, stride } if *stride == 4 && kind != Kind::Bool => {
                let (fits, address) = self.whole_line(reach.address, *first, *last, *stride);
                let [whole, parts, after] = [(); 3].map(|()| self.lower.builder.create_block());
                let ty = Self::vector_type(kind);
                let result = self.vectors(|vector, _| vector.lower.builder.append_block_param(after, ty));
                self.lower.builder.set_cold_block(parts);
                self.lower.builder.ins().brif(fits, whole, &[], parts, &[]);
                self.lower.enter(whole);
                let vectors = self.vectors(|vector, at| {
                    vector.lower.builder.ins().load(ty, UNALIGNED, address, offset + 16 * at as i32)
                });
                self.jump_with(after, vectors);
                self.lower.enter(parts);
                let lane = self.load_each(reach, kind, offset);
                let vectors = self.each(kind, lane);
                self.jump_with(after, vectors);
                self.lower.enter(after);
                Lane::Each(result)
            }
            _ => self.load_each(reach, kind, offset),
        }
    }

    /// Continues in a block that takes a component.
    fn jump_with(&mut self, block: ir::Block, vectors: Vectors) {
        let arguments = self.arguments(vectors);
        self.lower.builder.ins().jump(block, &arguments);
    }

    fn arguments(&self, vectors: Vectors) -> SmallVec<[ir::BlockArg; 4]> {
        vectors[..self.count()].iter().map(|&vector| vector.into()).collect()
    }

    fn load_each(&mut self, reach: &Reach, kind: Kind, offset: i32) -> Lane {
        let distances = self.distances(&reach.way).expect("bug: the lanes have places of their own");
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
        if matches!(inner, TypeInner::Atomic(_)) {
            return refuse("an atomic store in several lanes");
        }
        let leaves = self.lower.types().leaves(&inner)?;
        let reach = match self.places(pointer)? {
            Places::Local(handle, local) => {
                let kinds: Vec<Kind> = leaves.iter().map(|leaf| leaf.kind).collect();
                return self.store_local(handle, &local, &kinds, &values);
            }
            Places::Memory(reach) => reach,
        };
        for (leaf, value) in leaves.iter().zip(values) {
            let offset = displacement(reach.offset, leaf.offset)?;
            self.store_component(&reach, leaf.kind, offset, value);
        }
        Ok(())
    }

    fn store_local(
        &mut self,
        handle: Handle<LocalVariable>,
        local: &Local,
        kinds: &[Kind],
        values: &[Lane],
    ) -> Result<()> {
        match local {
            Local::Shared(variables) => {
                if self.changing().is_some() || !self.locals.contains_key(&handle) {
                    return refuse("a store of some lanes to a variable that all share");
                }
                for (variable, value) in variables.iter().zip(values) {
                    let value = Self::shared(*value)?;
                    self.lower.builder.def_var(*variable, value);
                }
            }
            Local::Each(variables) => {
                for ((variable, &kind), &value) in variables.iter().zip(kinds).zip(values) {
                    let mut value = self.each(kind, value);
                    if let Some(mask) = self.changing() {
                        let old = self.use_vectors(variable);
                        value = self.blend_vectors(kind, mask, value, old);
                    }
                    self.def_vectors(variable, value);
                }
            }
        }
        Ok(())
    }

    fn store_component(&mut self, reach: &Reach, kind: Kind, offset: i32, value: Lane) {
        let mask = self.storing();
        let Way::Line { first, last, stride: 4 } = &reach.way else {
            let parts: Scalars = (0..self.width()).map(|at| self.lane(kind, value, at)).collect();
            return self.store_each(reach, offset, &parts, mask);
        };
        if kind == Kind::Bool {
            let parts: Scalars = (0..self.width()).map(|at| self.lane(kind, value, at)).collect();
            return self.store_each(reach, offset, &parts, mask);
        }
        let vectors = self.each(kind, value);
        let (mut all, address) = self.whole_line(reach.address, *first, *last, 4);
        if let Some(mask) = mask {
            let every = self.all(mask);
            all = self.lower.builder.ins().band(all, every);
        }
        let [whole, parts, after] = [(); 3].map(|()| self.lower.builder.create_block());
        // The vectors are arguments of both blocks, so that neither computes them again.
        let ty = Self::vector_type(kind);
        let in_whole = self.vectors(|vector, _| vector.lower.builder.append_block_param(whole, ty));
        let in_parts = self.vectors(|vector, _| vector.lower.builder.append_block_param(parts, ty));
        self.lower.builder.set_cold_block(parts);
        let arguments = self.arguments(vectors);
        self.lower.builder.ins().brif(all, whole, &arguments, parts, &arguments);
        self.lower.enter(whole);
        for (at, &part) in in_whole[..arguments.len()].iter().enumerate() {
            self.lower.builder.ins().store(UNALIGNED, part, address, offset + 16 * at as i32);
        }
        self.lower.jump(after);
        self.lower.enter(parts);
        let lanes: Scalars = (0..self.width()).map(|at| self.lane(kind, Lane::Each(in_parts), at)).collect();
        self.store_each(reach, offset, &lanes, mask);
        self.lower.jump(after);
        self.lower.enter(after);
    }

    /// Stores the scalars of the lanes, one after the other.
    fn store_each(&mut self, reach: &Reach, offset: i32, values: &[ir::Value], mask: Option<Vectors>) {
        let distances = self.distances(&reach.way);
        for (at, &value) in values.iter().enumerate() {
            let address = match &distances {
                Some(distances) => self.lower.builder.ins().iadd(reach.address, distances[at]),
                None => reach.address,
            };
            let Some(mask) = mask else {
                self.lower.builder.ins().store(MemFlags::trusted(), value, address, offset);
                continue;
            };
            let takes_part =
                self.lower.builder.ins().extractlane(mask[at / LANES as usize], (at % LANES as usize) as u8);
            let [store, after] = [(); 2].map(|()| self.lower.builder.create_block());
            self.lower.builder.ins().brif(takes_part, store, &[], after, &[]);
            self.lower.enter(store);
            self.lower.builder.ins().store(MemFlags::trusted(), value, address, offset);
            self.lower.jump(after);
            self.lower.enter(after);
        }
    }

    /// Returns the distance of a component of the invocations from the start of their memory. The memory has one array for
    /// each component, so that the lanes are adjacent.
    fn column(&self, offset: u32, component: usize) -> Result<i32> {
        let count: u32 = self.lower.shared.program.workgroup().iter().product();
        match (offset + 4 * component as u32).checked_mul(count) {
            Some(start) => displacement(start, 0),
            None => refuse("more memory for invocations than a thread has for it"),
        }
    }

    /// Loads a value out of the memory of the invocations.
    pub(in crate::compile) fn load_invocations(&mut self, inner: &TypeInner, offset: u32) -> Result<Lanes> {
        let mut values = Lanes::new();
        for (component, leaf) in self.lower.types().leaves(inner)?.iter().enumerate() {
            let start = self.column(offset, component)?;
            let ty = Self::vector_type(leaf.kind);
            values.push(Lane::Each(self.vectors(|vector, at| {
                let address = vector.lower.invocation;
                vector.lower.builder.ins().load(ty, MemFlags::trusted(), address, start + 16 * at as i32)
            })));
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
        let leaves = self.lower.types().leaves(inner)?;
        for (component, (leaf, &value)) in leaves.iter().zip(values).enumerate() {
            let start = self.column(offset, component)?;
            let vectors = self.each(leaf.kind, value);
            let address = self.lower.invocation;
            for (at, &part) in vectors[..self.count()].iter().enumerate() {
                let offset = start + 16 * at as i32;
                self.lower.builder.ins().store(MemFlags::trusted(), part, address, offset);
            }
        }
        Ok(())
    }

    pub(super) fn load_spill(&mut self, expression: Handle<Expression>) -> Result<Lanes> {
        let offset = self.lower.frame.spills[&expression];
        self.load_invocations(self.lower.ty(expression), offset)
    }

    pub(super) fn store_spill(&mut self, expression: Handle<Expression>, values: &[Lane]) -> Result<()> {
        let offset = self.lower.frame.spills[&expression];
        self.store_invocations(self.lower.ty(expression), offset, values)
    }
}
