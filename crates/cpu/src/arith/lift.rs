//! Conversions from scalars to the types of formulas, and back.

use super::Scalar;
use super::narrow::narrow;
use super::real::Real;

/// Type with which a formula on some type of floats computes: `f32` for `f32`, and `f64` for the others.
pub(crate) trait Lift: Real {
    /// Converts a scalar that computes with this type.
    fn take(x: Scalar) -> Self;

    /// Converts to a scalar of the same type as `sample`, with one rounding.
    fn give(self, sample: Scalar) -> Scalar;
}

impl Lift for f32 {
    fn take(x: Scalar) -> Self {
        match x {
            Scalar::F32(x) => x,
            _ => unreachable!("bug: {x:?} is not an f32"),
        }
    }

    fn give(self, _: Scalar) -> Scalar {
        Scalar::F32(self)
    }
}

impl Lift for f64 {
    fn take(x: Scalar) -> Self {
        match x {
            Scalar::F16(x) => x.to_f64(),
            Scalar::F64(x) => x,
            _ => unreachable!("bug: {x:?} is neither f16 nor f64"),
        }
    }

    fn give(self, sample: Scalar) -> Scalar {
        match sample {
            Scalar::F16(_) => Scalar::F16(narrow(self)),
            _ => Scalar::F64(self),
        }
    }
}
