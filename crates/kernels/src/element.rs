//! The host types that an array or a parameter can hold.

use crate::{DType, Scalar};

/// A host type that a WGSL storage array or parameter can hold, byte for byte.
///
/// These are
/// - the scalars `f32 i32 u32 f64 i64 u64` and `half::f16`;
/// - `u8 i8 u16 i16`, which a shader reads packed into words of `u32`;
/// - arrays `[T; N]` of any element, which also serve as vectors and matrices;
/// - structs with `#[derive(Element)]`;
/// - with the features `glam` and `num-complex`, the types of those crates.
///
/// For typed arguments, the layout is compared with the shader's at compile time. For arguments that are checked at run
/// time, the launch compares the layouts.
///
/// # Example
/// ```
/// use fencepost::Element;
/// assert_eq!(<[f32; 4]>::DTYPE.to_string(), "vec4<f32>");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type that an array of the device can hold",
    label = "not an element type",
    note = "elements are f32, i32, u32, f64, i64, u64, half::f16, u8, i8, u16, i16, arrays `[T; N]` of elements, and structs with `#[derive(Element)]`"
)]
pub trait Element: bytemuck::Pod + Send + Sync + Unpin {
    /// Type of the element, for comparison with a shader's.
    const DTYPE: DType;
}

macro_rules! scalars {
    ($($host:ty => $scalar:ident),* $(,)?) => {$(
        impl Element for $host {
            const DTYPE: DType = DType::Scalar(Scalar::$scalar);
        }
        const _: () = assert!(size_of::<$host>() == <$host as Element>::DTYPE.size());
    )*};
}

scalars! {
    f32 => F32, i32 => I32, u32 => U32, f64 => F64, i64 => I64, u64 => U64, half::f16 => F16,
    u8 => U8, i8 => I8, u16 => U16, i16 => I16,
}

/// A numeric element, which has the value one.
///
/// # Example
/// ```
/// use fencepost::interface::Number;
/// assert_eq!((f32::ONE, u64::ONE), (1.0, 1));
/// ```
pub trait Number: Element {
    /// The value one.
    const ONE: Self;
}

macro_rules! numbers {
    ($($host:ty = $one:expr),* $(,)?) => {$(
        impl Number for $host {
            const ONE: Self = $one;
        }
    )*};
}

numbers! {
    f32 = 1.0, f64 = 1.0, half::f16 = half::f16::ONE, i8 = 1, i16 = 1, i32 = 1, i64 = 1, u8 = 1, u16 = 1, u32 = 1, u64 = 1,
}

impl<T: Element, const N: usize> Element for [T; N] {
    const DTYPE: DType = DType::Array(&T::DTYPE, N);
}

/// An element that is a complex number: its real part, and then its imaginary part.
///
/// # Example
/// ```
/// use fencepost::interface::ComplexNumber;
/// fn parts<C: ComplexNumber>(value: C) -> [f32; 2] {
///     bytemuck::cast(value)
/// }
/// assert_eq!(parts([0.5_f32, -2.0]), [0.5, -2.0]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a complex number",
    label = "not a complex number",
    note = "complex numbers are `[f32; 2]` and, with the feature `num-complex`, `num_complex::Complex<f32>`"
)]
pub trait ComplexNumber: Element {}

impl ComplexNumber for [f32; 2] {}
#[cfg(feature = "num-complex")]
impl ComplexNumber for num_complex::Complex<f32> {}

/// An element whose bits are also a value of type `U`: a number of the same size, or a vector of such numbers.
///
/// # Example
/// ```
/// use fencepost::interface::SameBits;
/// fn bits<T: SameBits<U>, U: bytemuck::Pod>(value: T) -> U {
///     bytemuck::cast(value)
/// }
/// assert_eq!(bits::<f32, u32>(1.0), 0x3F80_0000);
/// ```
#[diagnostic::on_unimplemented(
    message = "the bits of `{Self}` are not a `{U}`",
    label = "not a number of the same size",
    note = "the bits of f32, i32 and u32 are each other's, so are those of f64, i64 and u64, of half::f16, i16 and u16, of i8 and u8, and of arrays `[T; N]` of them"
)]
pub trait SameBits<U>: Element {}

macro_rules! same_bits {
    (@each [$($from:ty),*] $to:tt) => {$( same_bits!(@one $from, $to); )*};
    (@one $from:ty, [$($to:ty),*]) => {$( impl SameBits<$to> for $from {} )*};
    ($($all:tt)*) => {$( same_bits!(@each $all $all); )*};
}

same_bits!([f32, i32, u32][f64, i64, u64][half::f16, i16, u16][i8, u8]);

impl<T: SameBits<U>, U, const N: usize> SameBits<[U; N]> for [T; N] {}

/// A value that a launch can pass as a parameter: any [`Element`], and `bool`, which the shader declares as `u32`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type that a kernel takes as a parameter",
    label = "not a parameter type",
    note = "parameters are bool (`u32` in the shader), f32, i32, u32, f64, i64, u64, half::f16, arrays `[T; N]` of them (vectors and matrices), and structs with `#[derive(Element)]`"
)]
pub trait Param {
    /// Type of the parameter, for comparison with a shader's.
    const TYPE: DType;

    /// Calls `take` with the bytes that the shader reads.
    fn with_bytes<R>(&self, take: impl FnOnce(&[u8]) -> R) -> R;
}

impl<T: Element> Param for T {
    const TYPE: DType = T::DTYPE;

    fn with_bytes<R>(&self, take: impl FnOnce(&[u8]) -> R) -> R {
        take(bytemuck::bytes_of(self))
    }
}

impl Param for bool {
    const TYPE: DType = DType::Scalar(Scalar::U32);

    fn with_bytes<R>(&self, take: impl FnOnce(&[u8]) -> R) -> R {
        take(bytemuck::bytes_of(&u32::from(*self)))
    }
}

macro_rules! like {
    ($feature:literal: $($host:ty => $like:ty),* $(,)?) => {$(
        #[cfg(feature = $feature)]
        impl Element for $host {
            const DTYPE: DType = <$like as Element>::DTYPE;
        }
        #[cfg(feature = $feature)]
        impl<'a> crate::IntoArg<'a> for $host {
            fn into_arg(self) -> crate::DynArg<'a> {
                crate::DynArg::Value(crate::Value::new(self))
            }
        }
        #[cfg(feature = $feature)]
        const _: () = assert!(size_of::<$host>() == <$host as Element>::DTYPE.size());
    )*};
}

like! { "glam":
    glam::Vec2 => [f32; 2], glam::Vec3 => [f32; 3], glam::Vec4 => [f32; 4], glam::Quat => [f32; 4],
    glam::IVec2 => [i32; 2], glam::IVec3 => [i32; 3], glam::IVec4 => [i32; 4],
    glam::UVec2 => [u32; 2], glam::UVec3 => [u32; 3], glam::UVec4 => [u32; 4],
    glam::Mat2 => [[f32; 2]; 2], glam::Mat3 => [[f32; 3]; 3], glam::Mat4 => [[f32; 4]; 4],
    glam::DVec2 => [f64; 2], glam::DVec3 => [f64; 3], glam::DVec4 => [f64; 4],
}

macro_rules! passed_as {
    ($feature:literal: $($host:ty => $like:ty),* $(,)?) => {$(
        #[cfg(feature = $feature)]
        impl Param for $host {
            const TYPE: DType = <$like as Element>::DTYPE;

            fn with_bytes<R>(&self, take: impl FnOnce(&[u8]) -> R) -> R {
                take(bytemuck::bytes_of(&<$like>::from(*self)))
            }
        }
        #[cfg(feature = $feature)]
        impl<'a> crate::IntoArg<'a> for $host {
            fn into_arg(self) -> crate::DynArg<'a> {
                crate::DynArg::Value(crate::Value::new(self))
            }
        }
    )*};
}

passed_as! { "mint":
    mint::Vector2<f32> => [f32; 2], mint::Vector3<f32> => [f32; 3], mint::Vector4<f32> => [f32; 4],
    mint::Vector2<i32> => [i32; 2], mint::Vector3<i32> => [i32; 3], mint::Vector4<i32> => [i32; 4],
    mint::Vector2<u32> => [u32; 2], mint::Vector3<u32> => [u32; 3], mint::Vector4<u32> => [u32; 4],
    mint::Point2<f32> => [f32; 2], mint::Point3<f32> => [f32; 3], mint::Quaternion<f32> => [f32; 4],
    mint::ColumnMatrix2<f32> => [[f32; 2]; 2], mint::ColumnMatrix3<f32> => [[f32; 3]; 3],
    mint::ColumnMatrix4<f32> => [[f32; 4]; 4],
}

like! { "num-complex":
    num_complex::Complex<f32> => [f32; 2], num_complex::Complex<f64> => [f64; 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "mint")]
    fn matrices_of_mint_are_passed_column_by_column() {
        let columns = [[1.0_f32, 2.0], [3.0, 4.0]];
        let matrix = mint::ColumnMatrix2::from(columns);
        assert!(matrix.with_bytes(|bytes| bytes == bytemuck::bytes_of(&columns)));
        assert_eq!(<mint::Vector3<u32> as Param>::TYPE, <[u32; 3]>::DTYPE);
    }

    #[test]
    fn a_bool_is_passed_as_a_u32() {
        let words = [false, true].map(|flag| flag.with_bytes(bytemuck::pod_read_unaligned::<u32>));
        assert_eq!((words, <bool as Param>::TYPE), ([0, 1], u32::DTYPE));
    }

    #[test]
    fn an_array_of_arrays_is_one_type() {
        assert_eq!(<[[f32; 4]; 2] as Element>::DTYPE, DType::Array(&<[f32; 4] as Element>::DTYPE, 2));
    }
}
