//! The slots and the bytes of the types.

use crate::program::column_stride;
use naga::proc::{IndexableLength, TypeResolution};
use naga::{ArraySize, Handle, Module, ScalarKind, Type, TypeInner};

/// Maximum number of runs in a shape.
const RUNS: usize = 1 << 20;

/// A row of scalars without gaps in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Bytes before the first scalar.
    pub(super) offset: u32,
    /// Number of scalars.
    pub(super) count: u32,
    /// Bytes of a scalar.
    pub(super) width: u8,
}

impl Run {
    /// Returns the bytes of the scalars.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.count) * u64::from(self.width)
    }

    fn end(&self) -> u32 {
        self.offset.saturating_add(self.count.saturating_mul(u32::from(self.width)))
    }
}

/// A step from a composite to one of its parts.
pub(super) struct Part {
    /// Bytes from the start of the composite to the part.
    pub(super) bytes: u64,
    /// Slots from the start of the composite to the part.
    pub(super) slots: u64,
}

/// Layout of the elements of a composite.
pub(super) struct Elements {
    pub(super) ty: TypeResolution,
    /// Number of elements, or `None` if it depends on the memory.
    pub(super) len: Option<u32>,
    /// Bytes from one element to the next.
    pub(super) bytes: u32,
    /// Slots from one element to the next.
    pub(super) slots: u32,
}

/// Number of slots of each type of a module.
pub(super) struct Shapes<'m> {
    module: &'m Module,
    slots: Vec<Option<u32>>,
}

impl<'m> Shapes<'m> {
    /// Counts the slots of all types.
    pub(super) fn new(module: &'m Module) -> Self {
        let mut shapes = Self { module, slots: Vec::with_capacity(module.types.len()) };
        for (_, ty) in module.types.iter() {
            let slots = shapes.slots(&ty.inner);
            shapes.slots.push(slots);
        }
        shapes
    }

    /// Returns the inner type.
    pub(super) fn inner<'a>(&'a self, ty: &'a TypeResolution) -> &'a TypeInner {
        ty.inner_with(&self.module.types)
    }

    /// Returns the number of slots of a type, or `None` for an unsupported type.
    pub(super) fn slots(&self, inner: &TypeInner) -> Option<u32> {
        match *inner {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => known(scalar).then_some(1),
            TypeInner::Vector { size, scalar } => known(scalar).then_some(size as u32),
            TypeInner::Matrix { columns, rows, scalar } => {
                known(scalar).then_some(columns as u32 * rows as u32)
            }
            TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } => Some(1),
            TypeInner::Array { base, size, .. } => self.slots_of(base)?.checked_mul(self.len(size)??),
            TypeInner::Struct { ref members, .. } => {
                members.iter().try_fold(0_u32, |sum, member| sum.checked_add(self.slots_of(member.ty)?))
            }
            _ => None,
        }
    }

    /// Returns the number of slots of a type of the module.
    pub(super) fn slots_of(&self, ty: Handle<Type>) -> Option<u32> {
        self.slots.get(ty.index()).copied().flatten()
    }

    /// Returns the part of a composite with a constant number.
    pub(super) fn part(&self, inner: &TypeInner, number: u32) -> Option<Part> {
        if let TypeInner::Struct { members, .. } = inner {
            let before = members.get(..number as usize)?;
            let member = members.get(number as usize)?;
            let slots = before
                .iter()
                .map(|member| Some(u64::from(self.slots_of(member.ty)?)))
                .sum::<Option<u64>>()?;
            return Some(Part { bytes: member.offset.into(), slots });
        }
        let elements = self.elements(inner)?;
        let at = u64::from(elements.len.map_or(number, |len| number.min(len.saturating_sub(1))));
        let bytes = at * u64::from(elements.bytes);
        let slots = at * u64::from(elements.slots);
        Some(Part { bytes, slots })
    }

    /// Returns the length of an array, or `None` in the inner option if it depends on the memory.
    fn len(&self, size: ArraySize) -> Option<Option<u32>> {
        match size.resolve(self.module.to_ctx()).ok()? {
            IndexableLength::Known(len) => Some(Some(len)),
            IndexableLength::Dynamic => Some(None),
        }
    }

    /// Returns the layout of the elements of a vector, a matrix or an array.
    pub(super) fn elements(&self, inner: &TypeInner) -> Option<Elements> {
        Some(match *inner {
            TypeInner::Vector { size, scalar } => Elements {
                ty: TypeResolution::Value(TypeInner::Scalar(scalar)),
                len: Some(size as u32),
                bytes: u32::from(scalar.width),
                slots: 1,
            },
            TypeInner::Matrix { columns, rows, scalar } => Elements {
                ty: TypeResolution::Value(TypeInner::Vector { size: rows, scalar }),
                len: Some(columns as u32),
                bytes: column_stride(rows, scalar),
                slots: rows as u32,
            },
            TypeInner::Array { base, size, stride } => Elements {
                ty: TypeResolution::Handle(base),
                len: self.len(size)?,
                bytes: stride,
                slots: self.slots_of(base)?,
            },
            _ => return None,
        })
    }

    /// Returns the scalars of a type in memory, in the order of the slots, or `None` for a type with too many runs.
    pub(super) fn runs(&self, inner: &TypeInner) -> Option<Vec<Run>> {
        // Each list entry is a type and its offset.
        let mut runs: Vec<Run> = Vec::new();
        let mut todo = vec![(TypeResolution::Value(inner.clone()), 0_u32)];
        while let Some((ty, offset)) = todo.pop() {
            let inner = self.inner(&ty);
            match *inner {
                TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => {
                    push(&mut runs, offset, 1, scalar.width)
                }
                TypeInner::Vector { size, scalar } => push(&mut runs, offset, size as u32, scalar.width),
                TypeInner::Struct { ref members, .. } => {
                    let members = members.iter().rev();
                    todo.extend(members.map(|m| (TypeResolution::Handle(m.ty), offset + m.offset)));
                }
                TypeInner::Matrix { .. } | TypeInner::Array { .. } => {
                    let elements = self.elements(inner)?;
                    let len = elements.len?;
                    match *self.inner(&elements.ty) {
                        TypeInner::Scalar(scalar) if u32::from(scalar.width) == elements.bytes => {
                            push(&mut runs, offset, len, scalar.width);
                        }
                        _ if len as usize > RUNS => return None,
                        _ => todo.extend(
                            (0..len).rev().map(|at| (elements.ty.clone(), offset + at * elements.bytes)),
                        ),
                    }
                }
                _ => return None,
            }
            if runs.len().max(todo.len()) > RUNS {
                return None;
            }
        }
        Some(runs)
    }
}

/// Appends scalars. If they follow the last run, extends it.
fn push(runs: &mut Vec<Run>, offset: u32, count: u32, width: u8) {
    match runs.last_mut() {
        Some(last) if last.width == width && last.end() == offset => last.count += count,
        _ => runs.push(Run { offset, count, width }),
    }
}

/// Returns `true` for the supported scalar types.
pub(super) fn known(scalar: naga::Scalar) -> bool {
    match scalar.kind {
        ScalarKind::Bool => true,
        ScalarKind::Sint | ScalarKind::Uint => matches!(scalar.width, 4 | 8),
        ScalarKind::Float => matches!(scalar.width, 2 | 4 | 8),
        ScalarKind::AbstractInt | ScalarKind::AbstractFloat => false,
    }
}
