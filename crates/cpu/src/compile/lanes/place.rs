//! The memory places to which the pointers of several lanes point.

use super::{Argument, Lane, Local, Vector};
use crate::compile::function::Lower;
use crate::compile::layout::Kind;
use crate::compile::place::{Place, displacement};
use crate::compile::refusal::{Result, refuse};
use crate::compile::value::member;
use cranelift_codegen::ir::{self, InstBuilder, types};
use naga::{AddressSpace, Expression, Handle, LocalVariable, TypeInner};
use smallvec::SmallVec;

/// A scalar for each lane.
pub(super) type Scalars = SmallVec<[ir::Value; 16]>;

/// Target of the lanes' pointers.
#[derive(Clone)]
pub(super) enum Places {
    Local(Handle<LocalVariable>, Local),
    Memory(Reach),
}

/// A place in memory for each lane.
#[derive(Clone)]
pub(super) struct Reach {
    pub(super) address: ir::Value,
    /// Bytes from the address to the place. In the lanes' own memory, where each component has a cell, this is the
    /// distance for a single lane.
    offset: u32,
    /// Number of elements of the runtime array at the end of the place.
    length: Option<ir::Value>,
    pub(super) way: Way,
    /// Number of adjacent copies of each word, one for each invocation (on the stack, for each lane). It is 1 in memory
    /// that the lanes share.
    pub(super) spread: u32,
    /// Bytes of a cell: one word, or two if the program has numbers of 64 bits.
    cell: u32,
}

/// Differences between the places of the lanes, apart from the interleaving.
#[derive(Clone)]
pub(super) enum Way {
    Same,
    /// Each lane's index is the previous lane's plus a step. `last` is the index of the last element in memory.
    Line {
        first: ir::Value,
        last: ir::Value,
        stride: u32,
        step: u32,
    },
    /// Each lane has a distance in bytes.
    Each(Scalars),
}

impl Reach {
    /// Returns the place at a distance from the start of the memory of the invocations.
    pub(super) fn of_invocations(lower: &Lower<'_, '_>, offset: u32) -> Self {
        let spread = lower.shared.columns;
        Self {
            address: lower.invocation,
            offset,
            length: None,
            way: Way::Same,
            spread,
            cell: lower.shared.cell,
        }
    }

    /// Returns `true` if all lanes have the same place, or each lane the same place in its own memory.
    pub(super) fn is_same(&self) -> bool {
        matches!(self.way, Way::Same)
    }

    /// Returns `true` if each lane has its own memory.
    pub(super) fn is_own(&self) -> bool {
        self.spread > 1
    }

    /// Returns the distance of a component from the address, without the lane's own offset. `bytes` is the distance of
    /// the component from the start of the value.
    pub(super) fn displacement(&self, component: usize, bytes: u32) -> Result<i32> {
        if !self.is_own() {
            return displacement(self.offset, bytes);
        }
        let words = displacement(self.offset, self.cell * component as u32)?;
        match (words as u32).checked_mul(self.spread) {
            Some(distance) => displacement(distance, 0),
            None => refuse("more memory for invocations than a thread has for it"),
        }
    }
}

impl Vector<'_, '_, '_> {
    /// Reserves a new variable of a type on the stack, and returns its place.
    pub(super) fn stack_reach(&mut self, ty: Handle<naga::Type>) -> Result<Reach> {
        let count = self.lower.types().count(self.lower.types().inner(ty))?;
        let bytes =
            u32::try_from(count).unwrap_or(u32::MAX).saturating_mul(self.lower.shared.cell * self.width());
        let slot = self.lower.stack(bytes)?;
        let address = self.lower.builder.ins().stack_addr(types::I64, slot, 0);
        let spread = self.width();
        let cell = self.lower.shared.cell;
        Ok(Reach { address, offset: 0, length: None, way: Way::Same, spread, cell })
    }

    /// Returns the place to which a pointer points.
    pub(super) fn places(&mut self, pointer: Handle<Expression>) -> Result<Places> {
        match self.lower.expression(pointer) {
            Expression::LocalVariable(handle) => match self.body.locals.get(handle) {
                Some(Local::Memory(reach)) => Ok(Places::Memory(reach.clone())),
                Some(local) => Ok(Places::Local(*handle, local.clone())),
                None => match self.lower.place(pointer)? {
                    Place::Registers(variables) => Ok(Places::Local(*handle, Local::Shared(variables))),
                    Place::Memory { .. } => refuse("a local variable in memory"),
                },
            },
            Expression::GlobalVariable(variable) => {
                let space = self.lower.shared.program.module().global_variables[*variable].space;
                if space == AddressSpace::Private {
                    let Some(&offset) = self.lower.shared.private_offsets.get(variable) else {
                        return refuse("a private variable that the entry point does not use");
                    };
                    return Ok(Places::Memory(Reach::of_invocations(self.lower, offset)));
                }
                match self.lower.place(pointer)? {
                    Place::Memory { address, offset, length } => {
                        let cell = self.lower.shared.cell;
                        Ok(Places::Memory(Reach { address, offset, length, way: Way::Same, spread: 1, cell }))
                    }
                    Place::Registers(_) => refuse("a global variable in registers"),
                }
            }
            Expression::FunctionArgument(index) => match &self.body.arguments[*index as usize] {
                Argument::Pointer(places) => Ok(places.clone()),
                Argument::Value(_) => refuse("a pointer that is not one"),
            },
            Expression::AccessIndex { base, index } => self.member_places(*base, *index),
            Expression::Access { base, index } => {
                let inner = self.lower.pointee(*base)?;
                let index = self.index(*index)?;
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
                let (start, count) = member(self.lower.types(), &inner, index)?;
                let part = start..start + count;
                return Ok(Places::Local(
                    handle,
                    match local {
                        Local::Shared(variables) => Local::Shared(variables[part].to_vec()),
                        Local::Each(variables) => Local::Each(variables[part].to_vec()),
                        Local::Memory(_) => return refuse("a member of a variable in memory"),
                    },
                ));
            }
            Places::Memory(reach) => reach,
        };
        let distance = match &inner {
            TypeInner::Array { .. } => {
                let index = self.lower.word(index);
                return self.element(reach, &inner, Lane::One(index));
            }
            inner if reach.is_own() => reach.cell * member(self.lower.types(), inner, index)?.0 as u32,
            TypeInner::Struct { members, .. } => {
                let member = &members[index as usize];
                let ty = self.lower.types().inner(member.ty);
                reach.length = reach.length.filter(|_| self.lower.types().is_unsized(ty));
                member.offset
            }
            other => index * self.lower.stride(other)?,
        };
        reach.offset = displacement(reach.offset, distance)? as u32;
        Ok(Places::Memory(reach))
    }

    /// Returns the places of elements. An index past the end is clamped to the last element.
    fn element(&mut self, mut reach: Reach, inner: &TypeInner, index: Lane) -> Result<Places> {
        let last = self.lower.last(inner, reach.length)?;
        let stride = if reach.is_own() {
            reach.cell * member(self.lower.types(), inner, 0)?.1 as u32 * reach.spread
        } else {
            self.lower.stride(inner)?
        };
        reach.length = None;
        match (index, &reach.way) {
            (Lane::One(index), _) => {
                let distance = self.distance(index, last, stride);
                reach.address = self.lower.builder.ins().iadd(reach.address, distance);
            }
            (Lane::Line { first, step }, Way::Same) if !reach.is_own() => {
                reach.way = Way::Line { first, last, stride, step };
            }
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
    pub(super) fn distance(&mut self, index: ir::Value, last: ir::Value, stride: u32) -> ir::Value {
        let index = self.lower.clamp(index, last);
        let index = self.lower.builder.ins().uextend(types::I64, index);
        self.lower.builder.ins().imul_imm(index, i64::from(stride))
    }

    /// Returns the distances of the lanes, or `None` if they have the same place.
    pub(super) fn distances(&mut self, way: &Way) -> Option<Scalars> {
        match way {
            Way::Same => None,
            Way::Each(each) => Some(each.clone()),
            Way::Line { first, last, stride, step } => Some(
                (0..self.width())
                    .map(|at| {
                        let index = self.lower.builder.ins().iadd_imm(*first, i64::from(at * step));
                        self.distance(index, *last, *stride)
                    })
                    .collect(),
            ),
        }
    }
}
