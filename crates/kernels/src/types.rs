//! Converts naga's types to the host's types and to WGSL text.

use naga::{ArraySize, Handle, ScalarKind, Type, TypeInner};

use crate::{Dim, Layout, Leaf, Scalar};

/// Element of a buffer.
pub(crate) struct BufferElement {
    pub(crate) ty: Handle<Type>,
    pub(crate) stride: u32,
    pub(crate) runtime_sized: bool,
}

/// Returns the element of a buffer of type `ty`; a buffer that is not an array is one element.
pub(crate) fn element(module: &naga::Module, ty: Handle<Type>) -> BufferElement {
    match &module.types[ty].inner {
        TypeInner::Array { base, size, stride } => {
            BufferElement { ty: *base, stride: *stride, runtime_sized: matches!(size, ArraySize::Dynamic) }
        }
        inner => BufferElement {
            ty,
            stride: size(module, ty),
            runtime_sized: inner.is_dynamically_sized(&module.types),
        },
    }
}

/// Returns the size of a value in bytes; a runtime-sized array counts as one element.
pub(crate) fn size(module: &naga::Module, ty: Handle<Type>) -> u32 {
    module.types[ty].inner.size(module.to_ctx())
}

/// Returns the size in bytes of a variable, which may exceed the `u32` in which naga counts.
pub(crate) fn bytes(module: &naga::Module, ty: Handle<Type>) -> u64 {
    match module.types[ty].inner {
        TypeInner::Array { size, stride, .. } => match size.resolve(module.to_ctx()) {
            Ok(naga::proc::IndexableLength::Known(length)) => u64::from(length) * u64::from(stride),
            _ => u64::from(stride),
        },
        _ => u64::from(size(module, ty)),
    }
}

/// Returns the memory layout of a value of the type, with `size` bytes from one to the next; `None` if the host has no
/// such type.
pub(crate) fn layout(module: &naga::Module, ty: Handle<Type>, size: u32) -> Option<Layout<'static>> {
    let mut leaves = Vec::new();
    add_leaves(module, ty, &Leaf::default(), &mut leaves)?;
    Some(Layout { size, leaves: leaves.into() })
}

fn add_leaves(
    module: &naga::Module,
    ty: Handle<Type>,
    at: &Leaf<'static>,
    into: &mut Vec<Leaf<'static>>,
) -> Option<()> {
    match &module.types[ty].inner {
        TypeInner::Scalar(s) | TypeInner::Atomic(s) => into.push(Leaf { scalar: scalar(*s)?, ..at.clone() }),
        TypeInner::Vector { size, scalar: s } => into.push(numbers(at, *size, *s)?),
        TypeInner::Matrix { columns, rows, scalar: s } => {
            // A column of three has the same stride as a column of four.
            let stride = u32::from(s.width) * if *rows == naga::VectorSize::Bi { 2 } else { 4 };
            into.push(numbers(&within(at, *columns as u32, stride), *rows, *s)?);
        }
        TypeInner::Array { base, size: ArraySize::Constant(len), stride } => {
            add_leaves(module, *base, &within(at, len.get(), *stride), into)?;
        }
        TypeInner::Struct { members, .. } => {
            for member in members {
                let name = member.name.as_deref().unwrap_or_default();
                let path = if at.path.is_empty() {
                    name.to_string().into()
                } else {
                    format!("{}.{name}", at.path).into()
                };
                let inside = Leaf { path, offset: at.offset + member.offset, ..at.clone() };
                add_leaves(module, member.ty, &inside, into)?;
            }
        }
        _ => return None,
    }
    Some(())
}

fn numbers(at: &Leaf<'static>, size: naga::VectorSize, of: naga::Scalar) -> Option<Leaf<'static>> {
    Some(Leaf { scalar: scalar(of)?, ..within(at, size as u32, of.width.into()) })
}

fn within(at: &Leaf<'static>, len: u32, stride: u32) -> Leaf<'static> {
    let mut dims = at.dims.to_vec();
    dims.push(Dim { len, stride });
    Leaf { dims: dims.into(), ..at.clone() }
}

/// Returns the type as WGSL text.
pub(crate) fn text(module: &naga::Module, ty: Handle<Type>) -> String {
    let ty = &module.types[ty];
    match &ty.inner {
        // Other types may be named by an alias, which says less than the type.
        TypeInner::Struct { .. } => ty.name.clone().unwrap_or_default(),
        TypeInner::Scalar(s) => scalar_text(*s),
        TypeInner::Atomic(s) => format!("atomic<{}>", scalar_text(*s)),
        TypeInner::Vector { size, scalar } => format!("vec{}<{}>", *size as u8, scalar_text(*scalar)),
        TypeInner::Matrix { columns, rows, scalar } => {
            format!("mat{}x{}<{}>", *columns as u8, *rows as u8, scalar_text(*scalar))
        }
        TypeInner::Array { base, size, .. } => match array_length(module, *size) {
            Some(length) => format!("array<{}, {length}>", text(module, *base)),
            None => format!("array<{}>", text(module, *base)),
        },
        _ => "a type without a name".into(),
    }
}

fn array_length(module: &naga::Module, size: ArraySize) -> Option<String> {
    match size {
        ArraySize::Constant(length) => Some(length.to_string()),
        ArraySize::Pending(length) => Some(module.overrides[length].name.clone().unwrap_or_default()),
        ArraySize::Dynamic => None,
    }
}

fn scalar(scalar: naga::Scalar) -> Option<Scalar> {
    Scalar::from_name(&scalar_text(scalar))
}

fn scalar_text(scalar: naga::Scalar) -> String {
    let letter = match scalar.kind {
        ScalarKind::Sint => 'i',
        ScalarKind::Uint => 'u',
        ScalarKind::Float => 'f',
        ScalarKind::Bool => return "bool".into(),
        ScalarKind::AbstractInt => return "an abstract integer".into(),
        ScalarKind::AbstractFloat => return "an abstract float".into(),
    };
    format!("{letter}{}", u32::from(scalar.width) * 8)
}
