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

    /// Returns the square root.
    fn sqrt(self) -> Self;

    /// Returns the number without its sign.
    fn abs(self) -> Self;
}

impl Real for f32 {
    fn of(x: f64) -> Self {
        x as Self
    }

    fn trunc(self) -> Self {
        self.trunc()
    }

    fn floor(self) -> Self {
        self.floor()
    }

    fn sqrt(self) -> Self {
        self.sqrt()
    }

    fn abs(self) -> Self {
        self.abs()
    }
}

impl Real for f64 {
    fn of(x: f64) -> Self {
        x
    }

    fn trunc(self) -> Self {
        self.trunc()
    }

    fn floor(self) -> Self {
        self.floor()
    }

    fn sqrt(self) -> Self {
        self.sqrt()
    }

    fn abs(self) -> Self {
        self.abs()
    }
}
