//! naga's types in the host's words.

use naga::{ArraySize, Handle, ScalarKind, Type, TypeInner};

use crate::{DType, Scalar};

/// What a buffer is an array of.
pub(crate) struct ElementOf {
    pub(crate) ty: Handle<Type>,
    pub(crate) stride: u32,
    pub(crate) runtime_sized: bool,
}

/// The element of a buffer of type `ty`; a buffer that is no array is one element.
pub(crate) fn element(module: &naga::Module, ty: Handle<Type>) -> ElementOf {
    match &module.types[ty].inner {
        TypeInner::Array { base, size, stride } => {
            ElementOf { ty: *base, stride: *stride, runtime_sized: matches!(size, ArraySize::Dynamic) }
        }
        inner => ElementOf {
            ty,
            stride: size(module, ty),
            runtime_sized: inner.is_dynamically_sized(&module.types),
        },
    }
}

/// Bytes of a value; a runtime-sized array counts as one element.
pub(crate) fn size(module: &naga::Module, ty: Handle<Type>) -> u32 {
    module.types[ty].inner.size(module.to_ctx())
}

/// The host's type with the same bytes, if there is one.
pub(crate) fn dtype(inner: &TypeInner) -> Option<DType> {
    match inner {
        TypeInner::Scalar(s) | TypeInner::Atomic(s) => scalar(*s).map(DType::scalar),
        TypeInner::Vector { size: naga::VectorSize::Tri, .. } => None,
        TypeInner::Vector { size, scalar: s } => scalar(*s).map(|s| DType::vector(s, *size as u8)),
        _ => None,
    }
}

/// The type as WGSL text.
pub(crate) fn text(module: &naga::Module, ty: Handle<Type>) -> String {
    let ty = &module.types[ty];
    match &ty.inner {
        // Other types may have a name too: that of an alias, which says less than the type.
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
