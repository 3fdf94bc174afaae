//! Descriptions of host types, for comparison with those of a shader.

use std::fmt;

/// A type of numbers.
///
/// WGSL stores numbers of 4 and 8 bytes and `f16`; integers of one or two bytes are packed into words of `u32`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the names are the types")]
pub enum Scalar {
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

impl Scalar {
    /// Returns the type's name in Rust, which is also its name in WGSL, if it exists there.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
        }
    }

    /// Returns the size of one value in bytes.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F16 | Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// Returns the scalar of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        use Scalar::*;
        [F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64].into_iter().find(|scalar| scalar.name() == name)
    }

    /// Returns this type as a static reference, for a [`DType::Array`].
    pub const fn dtype(self) -> &'static DType {
        match self {
            Self::F16 => &DType::Scalar(Self::F16),
            Self::F32 => &DType::Scalar(Self::F32),
            Self::F64 => &DType::Scalar(Self::F64),
            Self::I8 => &DType::Scalar(Self::I8),
            Self::I16 => &DType::Scalar(Self::I16),
            Self::I32 => &DType::Scalar(Self::I32),
            Self::I64 => &DType::Scalar(Self::I64),
            Self::U8 => &DType::Scalar(Self::U8),
            Self::U16 => &DType::Scalar(Self::U16),
            Self::U32 => &DType::Scalar(Self::U32),
            Self::U64 => &DType::Scalar(Self::U64),
        }
    }

    /// Compares two scalars in constants, where `==` is not available.
    pub(crate) const fn same(self, other: Self) -> bool {
        self as u8 == other as u8
    }
}

/// Type of one element of an array, or of one parameter, on the host.
///
/// Vectors and matrices are arrays: `[f32; 2]` is WGSL's `vec2<f32>`, and is printed like that.
///
/// # Example
/// ```
/// use fencepost::{DType, Element, Scalar};
/// assert_eq!(f32::DTYPE, DType::Scalar(Scalar::F32));
/// assert_eq!(<[f32; 4]>::DTYPE.to_string(), "vec4<f32>");
/// assert_eq!(<[[f32; 4]; 4]>::DTYPE.to_string(), "mat4x4<f32>");
/// assert_eq!(<[[f32; 4]; 4]>::DTYPE.size(), 64);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum DType {
    /// A single number.
    Scalar(Scalar),
    /// An array of this many values of one type, with no gaps.
    Array(&'static DType, usize),
    /// A struct that derives `Element`.
    Struct(&'static StructType),
}

/// A struct of the host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct StructType {
    /// Name of the struct in Rust.
    pub name: &'static str,
    /// Size in bytes, padding included.
    pub size: usize,
    /// Fields without the padding; a name that begins with `_` marks padding.
    pub fields: &'static [FieldType],
}

/// One field of a struct of the host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FieldType {
    /// Name of the field, which is the member's name in the shader.
    pub name: &'static str,
    /// Number of bytes from the struct's start.
    pub offset: usize,
    /// Type of the field.
    pub dtype: DType,
}

impl DType {
    /// Returns the size of one element in bytes, which is also the distance between two elements of an array.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            Self::Scalar(scalar) => scalar.size(), // the fast path of every launch
            larger => larger.size_of_parts(),
        }
    }

    const fn size_of_parts(self) -> usize {
        match self {
            Self::Scalar(scalar) => scalar.size(),
            Self::Array(of, len) => of.size_of_parts() * len,
            Self::Struct(of) => of.size,
        }
    }

    /// Returns the scalar, vector or matrix with this name in WGSL, if there is one.
    ///
    /// # Example
    /// ```
    /// use fencepost::{DType, Element};
    /// assert_eq!(DType::from_name("vec4<f32>"), Some(<[f32; 4]>::DTYPE));
    /// assert_eq!(DType::from_name("Particle"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(scalar) = Scalar::from_name(name) {
            return Some(Self::Scalar(scalar));
        }
        let (outer, inner) = name.strip_suffix('>')?.split_once('<')?;
        let scalar = Scalar::from_name(inner)?;
        let found = match outer.strip_prefix("vec") {
            Some(len) => Self::Array(scalar.dtype(), len.parse().ok()?),
            None => Self::matrix(scalar, outer.strip_prefix("mat")?)?,
        };
        Some(found).filter(|found| found.to_string() == name)
    }

    /// Returns the matrix with this number of columns and rows, such as `4x3`.
    fn matrix(scalar: Scalar, size: &str) -> Option<Self> {
        const F16: [DType; 3] = DType::columns(Scalar::F16);
        const F32: [DType; 3] = DType::columns(Scalar::F32);
        static COLUMNS: [[DType; 3]; 2] = [F16, F32];
        let (columns, rows) = size.split_once('x')?;
        let of = match scalar {
            Scalar::F16 => &COLUMNS[0],
            Scalar::F32 => &COLUMNS[1],
            _ => return None,
        };
        Some(Self::Array(of.get(rows.parse::<usize>().ok()?.checked_sub(2)?)?, columns.parse().ok()?))
    }

    /// Returns the vectors of 2, 3 and 4 numbers.
    const fn columns(scalar: Scalar) -> [Self; 3] {
        [Self::Array(scalar.dtype(), 2), Self::Array(scalar.dtype(), 3), Self::Array(scalar.dtype(), 4)]
    }

    /// Returns the number type of a scalar, vector or matrix; `None` for a struct.
    pub const fn scalar(self) -> Option<Scalar> {
        match self {
            Self::Scalar(scalar) => Some(scalar),
            Self::Array(of, _) => of.scalar(),
            Self::Struct(_) => None,
        }
    }

    /// Returns WGSL's name of a vector or a matrix with two to four elements a side.
    fn short(of: Self, len: usize) -> Option<String> {
        let small = |n: &usize| (2..=4).contains(n);
        match of {
            Self::Scalar(scalar) if small(&len) => Some(format!("vec{len}<{}>", scalar.name())),
            Self::Array(&Self::Scalar(scalar), rows) if small(&len) && small(&rows) => {
                Some(format!("mat{len}x{rows}<{}>", scalar.name()))
            }
            _ => None,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Scalar(scalar) => f.write_str(scalar.name()),
            Self::Array(of, len) => match Self::short(*of, len) {
                Some(text) => f.write_str(&text),
                None => write!(f, "array<{of}, {len}>"),
            },
            Self::Struct(of) => f.write_str(of.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Element;

    #[test]
    fn a_dtype_prints_as_wgsl() {
        assert_eq!(f32::DTYPE.to_string(), "f32");
        assert_eq!(<[u32; 2]>::DTYPE.to_string(), "vec2<u32>");
        assert_eq!(half::f16::DTYPE.to_string(), "f16");
        assert_eq!(<[[f32; 2]; 3]>::DTYPE.to_string(), "mat3x2<f32>");
        assert_eq!(<[[f32; 2]; 5]>::DTYPE.to_string(), "array<vec2<f32>, 5>");
    }

    #[test]
    fn numbers_vectors_and_matrices_are_found_by_their_names() {
        let types =
            [f32::DTYPE, u8::DTYPE, <[i32; 3]>::DTYPE, <[[f32; 2]; 3]>::DTYPE, <[[half::f16; 4]; 4]>::DTYPE];
        for dtype in types {
            assert_eq!(DType::from_name(&dtype.to_string()), Some(dtype));
        }
        for name in ["", "vec<f32>", "vec5<f32>", "vec18446744073709551615<f32>", "vec02<f32>", "mat2x5<f32>"]
        {
            assert_eq!(DType::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn scalars_are_found_by_their_own_names_only() {
        assert_eq!(Scalar::from_name("i64"), Some(Scalar::I64));
        assert_eq!(Scalar::from_name("bool"), None);
    }

    #[test]
    fn a_scalar_has_the_type_of_its_name() {
        for name in ["f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"] {
            let scalar = Scalar::from_name(name).unwrap();
            assert_eq!((scalar.dtype().to_string(), scalar.dtype().size()), (name.into(), scalar.size()));
        }
    }
}
