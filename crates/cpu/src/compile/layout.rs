//! The components of a type: their kinds, and their offsets in memory.

use super::refusal::{Result, refuse};
use crate::program::{Program, column_stride};
use cranelift_codegen::ir::{self, types};
use naga::proc::IndexableLength;
use naga::{ArraySize, Handle, ScalarKind, TypeInner};

/// Maximum number of components of a value in compiled code.
const MOST_COMPONENTS: usize = 512;

/// Type of one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    I32,
    U32,
    I64,
    U64,
    /// A float of 16 bits, held as an `f32` with the same value.
    F16,
    F32,
    F64,
}

impl Kind {
    /// Returns the kind of a scalar type.
    pub(super) fn of(scalar: naga::Scalar) -> Result<Self> {
        match (scalar.kind, scalar.width) {
            (ScalarKind::Bool, _) => Ok(Self::Bool),
            (ScalarKind::Sint, 4) => Ok(Self::I32),
            (ScalarKind::Uint, 4) => Ok(Self::U32),
            (ScalarKind::Sint, 8) => Ok(Self::I64),
            (ScalarKind::Uint, 8) => Ok(Self::U64),
            (ScalarKind::Float, 2) => Ok(Self::F16),
            (ScalarKind::Float, 4) => Ok(Self::F32),
            (ScalarKind::Float, 8) => Ok(Self::F64),
            (kind, width) => refuse(format!("a number of kind {kind:?} with {width} bytes")),
        }
    }

    /// Returns the component's type in Cranelift. A bool is a byte that is 0 or 1.
    pub(super) fn ir(self) -> ir::Type {
        match self {
            Self::Bool => types::I8,
            Self::I32 | Self::U32 => types::I32,
            Self::I64 | Self::U64 => types::I64,
            Self::F16 | Self::F32 => types::F32,
            Self::F64 => types::F64,
        }
    }

    /// Returns `true` for float types.
    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// Returns `true` for signed integer types.
    pub(super) fn is_signed(self) -> bool {
        matches!(self, Self::I32 | Self::I64)
    }

    /// Returns the bytes of a component in the memory of a kernel.
    pub(super) fn bytes(self) -> u32 {
        u32::from(self.scalar().width)
    }

    /// Returns `true` for a type whose components have 64 bits.
    pub(super) fn is_wide(self) -> bool {
        matches!(self, Self::I64 | Self::U64 | Self::F64)
    }

    /// Returns the type as naga's scalar.
    pub(super) fn scalar(self) -> naga::Scalar {
        match self {
            Self::Bool => naga::Scalar::BOOL,
            Self::I32 => naga::Scalar::I32,
            Self::U32 => naga::Scalar::U32,
            Self::I64 => naga::Scalar::I64,
            Self::U64 => naga::Scalar::U64,
            Self::F16 => naga::Scalar::F16,
            Self::F32 => naga::Scalar::F32,
            Self::F64 => naga::Scalar::F64,
        }
    }
}

/// One component of a type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub(super) kind: Kind,
    /// Distance from the start of the value in memory, in bytes.
    pub(super) offset: u32,
}

/// Layouts of the types of a module.
#[derive(Clone, Copy)]
pub(super) struct Types<'m> {
    program: &'m Program,
}

impl<'m> Types<'m> {
    /// Takes the types of a program.
    pub(super) fn new(program: &'m Program) -> Self {
        Self { program }
    }

    /// Returns the form of a type.
    pub(super) fn inner(self, ty: Handle<naga::Type>) -> &'m TypeInner {
        &self.program.module().types[ty].inner
    }

    /// Returns the bytes of a type in memory. A runtime array counts as one element.
    pub(super) fn size(self, ty: Handle<naga::Type>) -> u32 {
        self.program.layouter()[ty].size
    }

    /// Lists the components of a type in order.
    pub(super) fn leaves(self, inner: &TypeInner) -> Result<Vec<Leaf>> {
        let mut leaves = Vec::new();
        self.add_leaves(inner, 0, &mut leaves)?;
        Ok(leaves)
    }

    fn add_leaves(self, inner: &TypeInner, start: u32, leaves: &mut Vec<Leaf>) -> Result<()> {
        match inner {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => {
                leaves.push(Leaf { kind: Kind::of(*scalar)?, offset: start });
            }
            TypeInner::Vector { size, scalar } => {
                let kind = Kind::of(*scalar)?;
                let width = u32::from(scalar.width);
                leaves.extend((0..*size as u32).map(|at| Leaf { kind, offset: start + at * width }));
            }
            TypeInner::Matrix { columns, rows, scalar } => {
                let column = TypeInner::Vector { size: *rows, scalar: *scalar };
                for at in 0..*columns as u32 {
                    self.add_leaves(&column, start + at * column_stride(*rows, *scalar), leaves)?;
                }
            }
            TypeInner::Array { base, size, stride } => {
                for at in 0..self.elements(*size)? {
                    self.add_leaves(self.inner(*base), start + at * stride, leaves)?;
                    if leaves.len() > MOST_COMPONENTS {
                        return refuse(format!("a value with more than {MOST_COMPONENTS} components"));
                    }
                }
            }
            TypeInner::Struct { members, .. } => {
                for member in members {
                    self.add_leaves(self.inner(member.ty), start + member.offset, leaves)?;
                }
            }
            other => return refuse(format!("a value of type {other:?}")),
        }
        Ok(())
    }

    /// Returns the number of components of a type.
    pub(super) fn count(self, inner: &TypeInner) -> Result<usize> {
        Ok(match inner {
            TypeInner::Scalar(_) | TypeInner::Atomic(_) => 1,
            TypeInner::Vector { size, .. } => *size as usize,
            TypeInner::Matrix { columns, rows, .. } => *columns as usize * *rows as usize,
            TypeInner::Array { base, size, .. } => {
                self.count(self.inner(*base))?.saturating_mul(self.elements(*size)? as usize)
            }
            TypeInner::Struct { members, .. } => {
                let counts = members.iter().map(|member| self.count(self.inner(member.ty)));
                counts.sum::<Result<usize>>()?
            }
            other => return refuse(format!("a value of type {other:?}")),
        })
    }

    /// Returns the number of elements of an array, whose length may be an override.
    pub(super) fn elements(self, size: ArraySize) -> Result<u32> {
        match size.resolve(self.program.module().to_ctx()) {
            Ok(IndexableLength::Known(length)) => Ok(length),
            _ => refuse("a value of a runtime array"),
        }
    }

    /// Returns `true` if the length of a type is known only at run time.
    pub(super) fn is_unsized(self, inner: &TypeInner) -> bool {
        match inner {
            TypeInner::Array { size: ArraySize::Dynamic, .. } => true,
            TypeInner::Struct { members, .. } => {
                members.last().is_some_and(|member| self.is_unsized(self.inner(member.ty)))
            }
            _ => false,
        }
    }

    /// Returns the offset and the stride of the runtime array at the end of a type.
    pub(super) fn runtime_array(self, inner: &TypeInner) -> Option<(u32, u32)> {
        match inner {
            TypeInner::Array { size: ArraySize::Dynamic, stride, .. } => Some((0, *stride)),
            TypeInner::Struct { members, .. } => {
                let last = members.last()?;
                let (offset, stride) = self.runtime_array(self.inner(last.ty))?;
                Some((last.offset + offset, stride))
            }
            _ => None,
        }
    }

    /// Returns the kind of the components of a scalar, a vector or a matrix.
    pub(super) fn kind(self, inner: &TypeInner) -> Result<Kind> {
        match inner.scalar() {
            Some(scalar) => Kind::of(scalar),
            None => refuse(format!("arithmetic on {inner:?}")),
        }
    }
}
