//! Places in memory: pointers, loads and stores.

use super::context;
use super::function::{Argument, Local, Lower};
use super::layout::Kind;
use super::refusal::{Result, refuse};
use super::value::Components;
use crate::program::column_stride;
use cranelift_codegen::ir::{self, InstBuilder, MemFlags, types};
use cranelift_frontend::Variable;
use naga::{AddressSpace, ArraySize, Expression, GlobalVariable, Handle, TypeInner};

/// Target of a pointer. Its type is the type of the pointer expression.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A Cranelift variable for each component.
    Registers(Vec<Variable>),
    Memory {
        address: ir::Value,
        offset: u32,
        /// Number of elements of the runtime array at the end of the place, if it has one.
        length: Option<ir::Value>,
    },
}

impl Lower<'_, '_> {
    /// Returns the place to which a pointer points.
    pub(super) fn place(&mut self, pointer: Handle<Expression>) -> Result<Place> {
        match self.expression(pointer) {
            Expression::LocalVariable(local) => {
                let Some(local) = self.frame.locals.get(local).cloned() else {
                    return refuse("a local variable outside of its part of the function");
                };
                Ok(self.local_place(&local))
            }
            Expression::GlobalVariable(variable) => self.global_place(*variable),
            Expression::FunctionArgument(index) => match &self.frame.arguments[*index as usize] {
                Argument::Pointer(place) => Ok(place.clone()),
                Argument::Value(_) => refuse("a pointer that is not one"),
            },
            Expression::AccessIndex { base, index } => self.member_place(*base, *index),
            Expression::Access { base, index } => self.element_place(*base, *index),
            other => refuse(format!("the pointer {other:?}")),
        }
    }

    /// Returns the place of a local variable.
    pub(super) fn local_place(&mut self, local: &Local) -> Place {
        match local {
            Local::Registers(variables) => Place::Registers(variables.clone()),
            Local::Stack(slot) => {
                let address = self.builder.ins().stack_addr(types::I64, *slot, 0);
                Place::Memory { address, offset: 0, length: None }
            }
            Local::Invocation(offset) => {
                Place::Memory { address: self.invocation, offset: *offset, length: None }
            }
        }
    }

    fn global_place(&mut self, handle: Handle<GlobalVariable>) -> Result<Place> {
        let program = self.shared.program;
        let variable = &program.module().global_variables[handle];
        let flags = MemFlags::trusted().with_readonly().with_can_move();
        Ok(match variable.space {
            AddressSpace::Uniform | AddressSpace::Immediate => {
                if program.params() != Some(handle) {
                    return refuse("a second uniform block");
                }
                let address = self.context_field(types::I64, context::PARAMS);
                Place::Memory { address, offset: 0, length: None }
            }
            AddressSpace::Storage { .. } => {
                let Some(at) = program.buffers().iter().position(|buffer| *buffer == Some(handle)) else {
                    return refuse("a storage variable that the host does not bind");
                };
                let table = self.context_field(types::I64, context::BUFFERS);
                let field = at as i32 * context::BUFFER_SIZE;
                let address = self.builder.ins().load(types::I64, flags, table, field);
                let length = self.types().is_unsized(self.types().inner(variable.ty)).then(|| {
                    let field = field + context::BUFFER_LENGTH;
                    self.builder.ins().load(types::I32, flags, table, field)
                });
                Place::Memory { address, offset: 0, length }
            }
            AddressSpace::WorkGroup => {
                let Some(&offset) = self.shared.workgroup_offsets.get(&handle) else {
                    return refuse("a workgroup variable that the entry point does not use");
                };
                let address = self.context_field(types::I64, context::WORKGROUP);
                Place::Memory { address, offset, length: None }
            }
            AddressSpace::Private => {
                let Some(&offset) = self.shared.private_offsets.get(&handle) else {
                    return refuse("a private variable that the entry point does not use");
                };
                Place::Memory { address: self.invocation, offset, length: None }
            }
            space => return refuse(format!("a variable in the address space {space:?}")),
        })
    }

    /// Returns the type that a pointer points to.
    pub(super) fn pointee(&self, pointer: Handle<Expression>) -> Result<TypeInner> {
        Ok(match self.ty(pointer) {
            TypeInner::Pointer { base, .. } => self.types().inner(*base).clone(),
            TypeInner::ValuePointer { size: Some(size), scalar, .. } => {
                TypeInner::Vector { size: *size, scalar: *scalar }
            }
            TypeInner::ValuePointer { size: None, scalar, .. } => TypeInner::Scalar(*scalar),
            other => return refuse(format!("a pointer of type {other:?}")),
        })
    }

    fn member_place(&mut self, base: Handle<Expression>, index: u32) -> Result<Place> {
        let inner = self.pointee(base)?;
        let (address, start, length) = match self.place(base)? {
            Place::Registers(variables) => {
                let (start, count) = super::value::member(self.types(), &inner, index)?;
                return Ok(Place::Registers(variables[start..start + count].to_vec()));
            }
            Place::Memory { address, offset, length } => (address, offset, length),
        };
        let (distance, keeps_length) = match &inner {
            TypeInner::Struct { members, .. } => {
                let member = &members[index as usize];
                (member.offset, self.types().is_unsized(self.types().inner(member.ty)))
            }
            // The length of an array may be an override, so validation could not check a constant index.
            TypeInner::Array { .. } => {
                let index = self.word(index);
                return self.element_at(&inner, address, start, length, index);
            }
            other => (index * self.stride(other)?, false),
        };
        let offset = displacement(start, distance)? as u32;
        Ok(Place::Memory { address, offset, length: length.filter(|_| keeps_length) })
    }

    fn element_place(&mut self, base: Handle<Expression>, index: Handle<Expression>) -> Result<Place> {
        let inner = self.pointee(base)?;
        let index = self.index(index)?;
        match self.place(base)? {
            Place::Registers(_) => refuse("an index into registers"),
            Place::Memory { address, offset, length } => {
                self.element_at(&inner, address, offset, length, index)
            }
        }
    }

    fn element_at(
        &mut self,
        inner: &TypeInner,
        address: ir::Value,
        offset: u32,
        length: Option<ir::Value>,
        index: ir::Value,
    ) -> Result<Place> {
        let last = self.last(inner, length)?;
        let index = self.clamp(index, last);
        let index = self.builder.ins().uextend(types::I64, index);
        let stride = self.stride(inner)?;
        let distance = self.builder.ins().imul_imm(index, i64::from(stride));
        let address = self.builder.ins().iadd(address, distance);
        Ok(Place::Memory { address, offset, length: None })
    }

    /// Returns the index of the last member of a vector, a matrix or an array.
    pub(super) fn last(&mut self, inner: &TypeInner, length: Option<ir::Value>) -> Result<ir::Value> {
        Ok(match (inner, length) {
            (TypeInner::Array { size: ArraySize::Dynamic, .. }, Some(length)) => {
                self.builder.ins().iadd_imm(length, -1)
            }
            (TypeInner::Array { size, .. }, _) => {
                let elements = self.types().elements(*size)?;
                self.word(elements - 1)
            }
            (TypeInner::Vector { size, .. }, _) => self.word(*size as u32 - 1),
            (TypeInner::Matrix { columns, .. }, _) => self.word(*columns as u32 - 1),
            _ => return refuse(format!("an index into {inner:?}")),
        })
    }

    /// Returns the distance between two members of a vector, a matrix or an array.
    pub(super) fn stride(&self, inner: &TypeInner) -> Result<u32> {
        Ok(match inner {
            TypeInner::Array { stride, .. } => *stride,
            TypeInner::Vector { scalar, .. } => u32::from(scalar.width),
            TypeInner::Matrix { rows, scalar, .. } => column_stride(*rows, *scalar),
            other => return refuse(format!("an index into {other:?}")),
        })
    }

    /// Loads a value of a type.
    pub(super) fn load(&mut self, place: &Place, inner: &TypeInner) -> Result<Components> {
        match place {
            Place::Registers(variables) => Ok(self.read(variables)),
            Place::Memory { address, offset, .. } => {
                let leaves = self.types().leaves(inner)?;
                let mut values = Components::new();
                for leaf in leaves {
                    let offset = displacement(*offset, leaf.offset)?;
                    values.push(self.load_leaf(leaf.kind, *address, offset));
                }
                Ok(values)
            }
        }
    }

    /// Loads a component of a value.
    pub(super) fn load_leaf(&mut self, kind: Kind, address: ir::Value, offset: i32) -> ir::Value {
        if kind == Kind::F16 {
            let bits = self.builder.ins().uload16(types::I32, MemFlags::trusted(), address, offset);
            return self.half_number(bits);
        }
        self.builder.ins().load(kind.ir(), MemFlags::trusted(), address, offset)
    }

    /// Stores a component of a value.
    pub(super) fn store_leaf(&mut self, kind: Kind, value: ir::Value, address: ir::Value, offset: i32) {
        if kind == Kind::F16 {
            let bits = self.half_bits(value);
            self.builder.ins().istore16(MemFlags::trusted(), bits, address, offset);
            return;
        }
        self.builder.ins().store(MemFlags::trusted(), value, address, offset);
    }

    /// Stores a value of a type.
    pub(super) fn store(&mut self, place: &Place, inner: &TypeInner, values: &[ir::Value]) -> Result<()> {
        match place {
            Place::Registers(variables) => self.define(variables, values),
            Place::Memory { address, offset, .. } => {
                for (leaf, &value) in self.types().leaves(inner)?.iter().zip(values) {
                    let offset = displacement(*offset, leaf.offset)?;
                    self.store_leaf(leaf.kind, value, *address, offset);
                }
            }
        }
        Ok(())
    }

    /// Returns the length of a runtime array.
    pub(super) fn array_length(&mut self, pointer: Handle<Expression>) -> Result<ir::Value> {
        match self.place(pointer)? {
            Place::Memory { length: Some(length), .. } => Ok(length),
            _ => refuse("the length of a value that is not a runtime array"),
        }
    }
}

/// Adds two distances. The sum must fit into the 31 bits of an instruction's offset.
pub(super) fn displacement(start: u32, distance: u32) -> Result<i32> {
    match start.checked_add(distance).map(i32::try_from) {
        Some(Ok(sum)) => Ok(sum),
        _ => refuse("a variable with more than 2 GiB"),
    }
}
