//! Types in which formulas compute.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// `f32` or `f64`. A formula on `f16` computes with `f64` and rounds its result once.
pub(crate) trait Real:
    Copy
    + Debug
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Returns the nearest number of the type.
    fn of(x: f64) -> Self;

    /// Returns the number without its fraction.
    fn trunc(self) -> Self;

    /// Returns the greatest integer that is at most the number.
    fn floor(self) -> Self;

    /// Returns the least integer that is at least the number.
    fn ceil(self) -> Self;

    /// Returns the nearest integer, ties to even.
    fn round_ties_even(self) -> Self;

    /// Returns the square root.
    fn sqrt(self) -> Self;

    /// Returns the number without its sign.
    fn abs(self) -> Self;
}

macro_rules! real {
    ($ty:ident, $x:ident => $of:expr) => {
        impl Real for $ty {
            fn of($x: f64) -> Self {
                $of
            }

            fn trunc(self) -> Self {
                self.trunc()
            }

            fn floor(self) -> Self {
                self.floor()
            }

            fn ceil(self) -> Self {
                self.ceil()
            }

            fn round_ties_even(self) -> Self {
                self.round_ties_even()
            }

            fn sqrt(self) -> Self {
                self.sqrt()
            }

            fn abs(self) -> Self {
                self.abs()
            }
        }
    };
}

real!(f32, x => x as f32);
real!(f64, x => x);
