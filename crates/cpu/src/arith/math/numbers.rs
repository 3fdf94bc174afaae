//! The functions that compute each component by itself, as functions of bits.

use crate::arith::narrow::narrow;
use half::f16;

/// Function from the bits of the operands to the bits of the result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bits {
    /// Function of one or two operands. A function of one operand ignores the second one.
    Two(fn(u64, u64) -> u64),
    Three(fn(u64, u64, u64) -> u64),
    Four(fn(u64, u64, u64, u64) -> u64),
}

impl Bits {
    /// Calls the function, which ignores the operands that it does not have.
    pub(super) fn call(self, [x, y, z, w]: [u64; 4]) -> u64 {
        match self {
            Self::Two(function) => function(x, y),
            Self::Three(function) => function(x, y, z),
            Self::Four(function) => function(x, y, z, w),
        }
    }
}

/// Format of floats. Its functions compute with another type, and round to the format once.
pub(super) trait Format {
    /// Type of the computation.
    type Real;

    /// Returns the number with these bits.
    fn take(bits: u64) -> Self::Real;

    /// Returns the bits of the nearest number of the format.
    fn give(x: Self::Real) -> u64;
}

impl Format for f16 {
    type Real = f64;

    fn take(bits: u64) -> f64 {
        Self::from_bits(bits as u16).to_f64()
    }

    fn give(x: f64) -> u64 {
        narrow(x).to_bits().into()
    }
}

impl Format for f32 {
    type Real = Self;

    fn take(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }

    fn give(x: Self) -> u64 {
        x.to_bits().into()
    }
}

impl Format for f64 {
    type Real = Self;

    fn take(bits: u64) -> Self {
        Self::from_bits(bits)
    }

    fn give(x: Self) -> u64 {
        x.to_bits()
    }
}

/// Makes [`Bits`] from the text of a closure.
macro_rules! of_bits {
    (|$x:ident| $result:expr) => {
        Bits::Two(|$x, _| $result)
    };
    (|$x:ident, $y:ident| $result:expr) => {
        Bits::Two(|$x, $y| $result)
    };
    (|$x:ident, $y:ident, $z:ident| $result:expr) => {
        Bits::Three(|$x, $y, $z| $result)
    };
    (|$x:ident, $y:ident, $z:ident, $w:ident| $result:expr) => {
        Bits::Four(|$x, $y, $z, $w| $result)
    };
}

/// Returns the [`Bits`] of a function of floats for a type. The function of `f32` is in the first module, and that of
/// `f64`, with which `f16` computes too, in the second one.
macro_rules! of_floats {
    ($ty:ident, $single:ident, $double:ident, $name:ident($($x:ident),+)) => {
        match $ty {
            Type::F16 => Some(of_bits!(|$($x),+| f16::give($double::$name($(f16::take($x)),+)))),
            Type::F32 => Some(of_bits!(|$($x),+| f32::give($single::$name($(f32::take($x)),+)))),
            Type::F64 => Some(of_bits!(|$($x),+| f64::give($double::$name($(f64::take($x)),+)))),
            _ => None,
        }
    };
}

/// Returns the [`Bits`] of a function of integers for a type. The function is in `bits`.
macro_rules! of_integers {
    ($ty:ident, $name:ident($($x:ident),+)) => {
        match $ty {
            Type::I32 => Some(of_bits!(|$($x),+| bits::$name::<32, true>($($x),+))),
            Type::U32 => Some(of_bits!(|$($x),+| bits::$name::<32, false>($($x),+))),
            Type::I64 => Some(of_bits!(|$($x),+| bits::$name::<64, true>($($x),+))),
            Type::U64 => Some(of_bits!(|$($x),+| bits::$name::<64, false>($($x),+))),
            _ => None,
        }
    };
}

/// Makes the row of a function of each component: `numbers!(float, double, bits => name(x, y))` has the modules of the
/// functions of `f32`, of `f64` and of integers, and the operands.
macro_rules! numbers {
    (bits => $name:ident($($x:ident),+)) => {
        Builtin::new(Reference::Numbers(|ty| of_integers!(ty, $name($($x),+))))
    };
    ($single:ident, $double:ident => $name:ident($($x:ident),+)) => {
        Builtin::new(Reference::Numbers(|ty| of_floats!(ty, $single, $double, $name($($x),+))))
    };
    ($single:ident, $double:ident, bits => $name:ident($($x:ident),+)) => {
        Builtin::new(Reference::Numbers(|ty| {
            of_floats!(ty, $single, $double, $name($($x),+)).or(of_integers!(ty, $name($($x),+)))
        }))
    };
}

pub(super) use {numbers, of_bits, of_floats, of_integers};
