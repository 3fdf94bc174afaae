//! The host types that WGSL can store.

use std::fmt;

/// A WGSL scalar type that the host has too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the names are the types")]
pub enum Scalar {
    F16,
    F32,
    F64,
    I32,
    U32,
    I64,
    U64,
}

impl Scalar {
    /// The WGSL spelling, which is also Rust's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
        }
    }

    /// Bytes of one value.
    pub const fn size(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// The scalar of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        const ALL: [Scalar; 7] =
            [Scalar::F16, Scalar::F32, Scalar::F64, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64];
        ALL.into_iter().find(|scalar| scalar.name() == name)
    }
}

/// The type of one element of an array or of one parameter: a scalar, or a vector of 2 or 4.
///
/// `vec3` is left out: WGSL stores it with a stride of four scalars, so that a tight host array of
/// `[T; 3]` does not have its layout. Use `[T; 4]`, or three arrays.
///
/// # Example
/// ```
/// use fencepost_kernels::{DType, Element};
/// assert_eq!(<[f32; 4]>::DTYPE.to_string(), "vec4<f32>");
/// assert_eq!(<[f32; 4]>::DTYPE.size(), 16);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DType {
    /// The type of each lane.
    pub scalar: Scalar,
    /// 1 for a scalar, 2 or 4 for a vector.
    pub lanes: u8,
}

impl DType {
    /// A scalar type.
    pub const fn scalar(scalar: Scalar) -> Self {
        Self { scalar, lanes: 1 }
    }

    /// A vector type of 2 or 4 lanes.
    pub const fn vector(scalar: Scalar, lanes: u8) -> Self {
        Self { scalar, lanes }
    }

    /// Bytes of one element, which is also the distance between two in an array.
    pub const fn size(self) -> usize {
        self.scalar.size() * self.lanes as usize
    }

    /// Whether the two are the same type; usable where `==` is not: in constants.
    pub const fn same(self, other: Self) -> bool {
        self.scalar as u8 == other.scalar as u8 && self.lanes == other.lanes
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lanes {
            1 => f.write_str(self.scalar.name()),
            n => write!(f, "vec{n}<{}>", self.scalar.name()),
        }
    }
}

/// A host type that a WGSL storage array or parameter can hold, byte for byte.
///
/// The list is closed: the scalars `f32 i32 u32 f64 i64 u64 f16` and `[T; 2]`, `[T; 4]` of the first three.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type that WGSL stores as the host does",
    label = "not an element type",
    note = "elements are f32, i32, u32, f64, i64, u64, half::f16, and [T; 2], [T; 4] of f32, i32, u32"
)]
pub trait Element: bytemuck::Pod + Send + Sync + sealed::Sealed {
    /// The same type in WGSL's words.
    const DTYPE: DType;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! element {
    ($($host:ty => $scalar:ident $lanes:literal),* $(,)?) => {$(
        impl sealed::Sealed for $host {}
        impl Element for $host {
            const DTYPE: DType = DType { scalar: Scalar::$scalar, lanes: $lanes };
        }
        const _: () = assert!(size_of::<$host>() == <$host as Element>::DTYPE.size());
    )*};
}

element! {
    f32 => F32 1, i32 => I32 1, u32 => U32 1, f64 => F64 1, i64 => I64 1, u64 => U64 1, half::f16 => F16 1,
    [f32; 2] => F32 2, [i32; 2] => I32 2, [u32; 2] => U32 2,
    [f32; 4] => F32 4, [i32; 4] => I32 4, [u32; 4] => U32 4,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dtype_prints_as_wgsl() {
        assert_eq!(<f32 as Element>::DTYPE.to_string(), "f32");
        assert_eq!(<[u32; 2] as Element>::DTYPE.to_string(), "vec2<u32>");
        assert_eq!(<half::f16 as Element>::DTYPE.to_string(), "f16");
    }

    #[test]
    fn scalars_are_found_by_their_own_names_only() {
        assert_eq!(Scalar::from_name("i64"), Some(Scalar::I64));
        assert_eq!(Scalar::from_name("bool"), None);
    }

    #[test]
    fn same_agrees_with_equality() {
        let all = [<f32 as Element>::DTYPE, <u32 as Element>::DTYPE, <[f32; 2] as Element>::DTYPE];
        for a in all {
            for b in all {
                assert_eq!(a.same(b), a == b);
            }
        }
    }
}
