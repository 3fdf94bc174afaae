//! A scalar value of WGSL.

use half::f16;
use naga::ScalarKind;

/// A scalar of any WGSL type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    Bool(bool),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F16(f16),
    F32(f32),
    F64(f64),
}

impl Scalar {
    /// Returns the type.
    pub(crate) fn ty(self) -> naga::Scalar {
        let (kind, width) = match self {
            Self::Bool(_) => (ScalarKind::Bool, 1),
            Self::I32(_) => (ScalarKind::Sint, 4),
            Self::U32(_) => (ScalarKind::Uint, 4),
            Self::I64(_) => (ScalarKind::Sint, 8),
            Self::U64(_) => (ScalarKind::Uint, 8),
            Self::F16(_) => (ScalarKind::Float, 2),
            Self::F32(_) => (ScalarKind::Float, 4),
            Self::F64(_) => (ScalarKind::Float, 8),
        };
        naga::Scalar { kind, width }
    }

    /// Returns the bits of the value, in the low bits of a word.
    pub(crate) fn bits(self) -> u64 {
        match self {
            Self::Bool(value) => u64::from(value),
            Self::I32(value) => u64::from(value as u32),
            Self::U32(value) => u64::from(value),
            Self::I64(value) => value as u64,
            Self::U64(value) => value,
            Self::F16(value) => u64::from(value.to_bits()),
            Self::F32(value) => u64::from(value.to_bits()),
            Self::F64(value) => value.to_bits(),
        }
    }

    /// Returns the value of a type that has these bits.
    ///
    /// # Panics
    /// Panics for a type that cannot occur in a validated module, which is a bug.
    pub(crate) fn from_bits(ty: naga::Scalar, bits: u64) -> Self {
        match (ty.kind, ty.width) {
            (ScalarKind::Bool, _) => Self::Bool(bits != 0),
            (ScalarKind::Sint, 4) => Self::I32(bits as u32 as i32),
            (ScalarKind::Uint, 4) => Self::U32(bits as u32),
            (ScalarKind::Sint, 8) => Self::I64(bits as i64),
            (ScalarKind::Uint, 8) => Self::U64(bits),
            (ScalarKind::Float, 2) => Self::F16(f16::from_bits(bits as u16)),
            (ScalarKind::Float, 4) => Self::F32(f32::from_bits(bits as u32)),
            (ScalarKind::Float, 8) => Self::F64(f64::from_bits(bits)),
            _ => unreachable!("bug: {ty:?} is not a scalar of a kernel"),
        }
    }
}
