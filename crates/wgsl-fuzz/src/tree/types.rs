//! The types of generated programs.

/// A scalar type of WGSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scalar {
    Bool,
    I32,
    U32,
    F32,
    I64,
    U64,
    F64,
    F16,
}

/// A type of WGSL. A struct is an index into [`Tree::structs`](super::Tree::structs).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    Scalar(Scalar),
    Vector(Scalar, u8),
    /// Columns, then rows, of a matrix of `f32`.
    Matrix(u8, u8),
    Array(Box<Type>, u32),
    Struct(usize),
}

/// A struct.
#[derive(Clone, Debug)]
pub(crate) struct Struct {
    pub(crate) name: String,
    pub(crate) fields: Vec<(String, Type)>,
}

pub(crate) const BOOL: Type = Type::Scalar(Scalar::Bool);
pub(crate) const I32: Type = Type::Scalar(Scalar::I32);
pub(crate) const U32: Type = Type::Scalar(Scalar::U32);
pub(crate) const F32: Type = Type::Scalar(Scalar::F32);

impl Scalar {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::F32 => "f32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F64 => "f64",
            Self::F16 => "f16",
        }
    }

    pub(crate) fn is_integer(self) -> bool {
        matches!(self, Self::I32 | Self::U32 | Self::I64 | Self::U64)
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::F16)
    }

    /// Returns the 32-bit scalar of the same kind.
    pub(crate) fn word(self) -> Self {
        match self {
            Self::I64 => Self::I32,
            Self::U64 => Self::U32,
            Self::F64 | Self::F16 => Self::F32,
            word => word,
        }
    }
}

impl Type {
    pub(crate) fn vector(scalar: Scalar, size: u8) -> Self {
        if size == 1 { Self::Scalar(scalar) } else { Self::Vector(scalar, size) }
    }

    pub(crate) fn array(of: Self, len: u32) -> Self {
        Self::Array(Box::new(of), len)
    }

    /// Returns the scalar and size of a scalar or vector.
    pub(crate) fn lanes(&self) -> Option<(Scalar, u8)> {
        match self {
            Self::Scalar(scalar) => Some((*scalar, 1)),
            Self::Vector(scalar, size) => Some((*scalar, *size)),
            _ => None,
        }
    }

    /// Returns the type of the same size with other scalars, if this is a scalar or a vector.
    pub(crate) fn with_scalar(&self, scalar: Scalar) -> Self {
        self.lanes().map_or_else(|| self.clone(), |(_, size)| Self::vector(scalar, size))
    }

    /// Returns `true` if the type is a scalar, a vector or a matrix of floats.
    pub(crate) fn is_float(&self) -> bool {
        matches!(self, Self::Matrix(..)) || self.lanes().is_some_and(|(scalar, _)| scalar.is_float())
    }

    /// Returns the mantissa bits of a float.
    pub(crate) fn mantissa(&self) -> i32 {
        match self.lanes() {
            Some((Scalar::F16, _)) => 11,
            Some((Scalar::F64, _)) => 53,
            _ => 24,
        }
    }

    /// Writes the type as WGSL does.
    pub(crate) fn text(&self, structs: &[Struct]) -> String {
        match self {
            Self::Scalar(scalar) => scalar.name().into(),
            Self::Vector(scalar, size) => format!("vec{size}<{}>", scalar.name()),
            Self::Matrix(columns, rows) => format!("mat{columns}x{rows}<f32>"),
            Self::Array(of, len) => format!("array<{}, {len}>", of.text(structs)),
            Self::Struct(at) => structs[*at].name.clone(),
        }
    }
}
