//! The table of the built-in functions.

use super::numbers::{Bits, Format, numbers, of_bits, of_floats, of_integers};
use super::whole;
use crate::arith::curves::each as curves;
use crate::arith::each::Each::{self, One, Two, Words};
use crate::arith::each::{OfWords, functions as each};
use crate::arith::geometry::{self, Vector};
use crate::arith::{Operand, Outcome, bits, double, float, formula};
use half::f16;
use naga::{MathFunction as Fun, Scalar as Type, ScalarKind};

/// Function of up to three vectors. A missing one is empty, and a number is a vector of one component.
pub(crate) type OfVectors<R> = fn(&[R], &[R], &[R]) -> Vector<R>;

/// Reference of a built-in function, which the interpreter executes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reference {
    /// Function of each component, by the type of the first argument.
    Numbers(fn(Type) -> Option<Bits>),
    /// Function of vectors of `f32`, and of `f64`, with which `f16` computes too.
    Vectors(OfVectors<f32>, OfVectors<f64>),
    /// Function of the words of all arguments, with the type and the number of the result's components.
    Words(OfWords, Type, usize),
    /// Function of any arguments.
    Whole(fn(&[Operand<'_>]) -> Outcome),
}

/// A row of the table.
#[derive(Clone, Copy)]
pub(crate) struct Builtin {
    pub(crate) reference: Reference,
    /// Function that machine code calls where it has no instructions for numbers of 32 bits.
    each: Option<Each>,
    /// Such a function of signed integers, if they have another one.
    each_signed: Option<Each>,
    /// `true` if each result of `f16` numbers is an `f16` number without rounding.
    pub(crate) is_exact: bool,
    /// `true` if machine code has few instructions for it, which may execute in lanes that do not need it.
    pub(crate) is_cheap: bool,
}

impl Builtin {
    const fn new(reference: Reference) -> Self {
        Self { reference, each: None, each_signed: None, is_exact: false, is_cheap: false }
    }

    /// Makes the row of a function that machine code calls for numbers of 32 bits too.
    const fn of_words(function: OfWords, ty: Type, count: usize) -> Self {
        Self::new(Reference::Words(function, ty, count)).calls(Words(function))
    }

    const fn calls(self, each: Each) -> Self {
        Self { each: if super::COMPILES { Some(each) } else { None }, ..self }
    }

    const fn calls_signed(self, each: Each) -> Self {
        Self { each_signed: if super::COMPILES { Some(each) } else { None }, ..self }
    }

    const fn exact(self) -> Self {
        Self { is_exact: true, ..self }
    }

    const fn cheap(self) -> Self {
        Self { is_cheap: true, ..self }
    }

    /// Returns the function that machine code calls for numbers of 32 bits, if there is one.
    pub(crate) fn each(&self, kind: ScalarKind) -> Option<Each> {
        self.each_signed.filter(|_| kind == ScalarKind::Sint).or(self.each)
    }
}

/// Makes the row of a function with the same text for vectors of `f32` and of `f64`.
macro_rules! vectors {
    ($function:expr) => {
        Builtin::new(Reference::Vectors($function, $function))
    };
}

/// Returns the row of a function.
pub(crate) fn builtin(fun: Fun) -> &'static Builtin {
    &TABLE[fun as usize].1
}

/// Rows of all functions, in the order of naga.
#[rustfmt::skip]
pub(crate) static TABLE: [(Fun, Builtin); 79] = [
    (Fun::Abs, numbers!(formula, formula, bits => abs(x)).exact().cheap()),
    (Fun::Min, numbers!(formula, formula, bits => min(x, y)).exact().cheap()),
    (Fun::Max, numbers!(formula, formula, bits => max(x, y)).exact().cheap()),
    (Fun::Clamp, numbers!(formula, formula, bits => clamp(x, low, high)).exact().cheap()),
    (Fun::Saturate, numbers!(formula, formula => saturate(x)).exact().cheap()),
    (Fun::Cos, numbers!(float, double => cos(x)).calls(One(curves::cos))),
    (Fun::Cosh, numbers!(float, double => cosh(x)).calls(One(curves::cosh))),
    (Fun::Sin, numbers!(float, double => sin(x)).calls(One(curves::sin))),
    (Fun::Sinh, numbers!(float, double => sinh(x)).calls(One(curves::sinh))),
    (Fun::Tan, numbers!(float, double => tan(x)).calls(One(curves::tan))),
    (Fun::Tanh, numbers!(float, double => tanh(x)).calls(One(curves::tanh))),
    (Fun::Acos, numbers!(float, double => acos(x)).calls(One(curves::acos))),
    (Fun::Asin, numbers!(float, double => asin(x)).calls(One(curves::asin))),
    (Fun::Atan, numbers!(float, double => atan(x)).calls(One(curves::atan))),
    (Fun::Atan2, numbers!(float, double => atan2(y, x)).calls(Two(curves::atan2))),
    (Fun::Asinh, numbers!(float, double => asinh(x)).calls(One(curves::asinh))),
    (Fun::Acosh, numbers!(float, double => acosh(x)).calls(One(curves::acosh))),
    (Fun::Atanh, numbers!(float, double => atanh(x)).calls(One(curves::atanh))),
    (Fun::Radians, numbers!(formula, formula => radians(x))),
    (Fun::Degrees, numbers!(formula, formula => degrees(x))),
    (Fun::Ceil, numbers!(formula, formula => ceil(x)).exact()),
    (Fun::Floor, numbers!(formula, formula => floor(x)).exact()),
    (Fun::Round, numbers!(formula, formula => round(x)).exact()),
    (Fun::Fract, numbers!(formula, formula => fract(x)).cheap()),
    (Fun::Trunc, numbers!(formula, formula => trunc(x)).exact()),
    (Fun::Modf, Builtin::new(Reference::Whole(whole::modf))),
    (Fun::Frexp, Builtin::new(Reference::Whole(whole::frexp)).calls(Words(each::frexp))),
    (Fun::Ldexp, Builtin::new(Reference::Numbers(ldexp)).calls(Words(each::ldexp))),
    (Fun::Exp, numbers!(float, double => exp(x)).calls(One(curves::exp))),
    (Fun::Exp2, numbers!(float, double => exp2(x)).calls(One(curves::exp2))),
    (Fun::Log, numbers!(float, double => log(x)).calls(One(curves::log))),
    (Fun::Log2, numbers!(float, double => log2(x)).calls(One(curves::log2))),
    (Fun::Pow, numbers!(float, double => pow(x, y)).calls(Two(curves::pow))),
    (Fun::Dot, Builtin::new(Reference::Whole(whole::dot))),
    (Fun::Dot4I8Packed, Builtin::of_words(each::dot4_i8, Type::I32, 1)),
    (Fun::Dot4U8Packed, Builtin::of_words(each::dot4_u8, Type::U32, 1)),
    (Fun::Outer, Builtin::new(Reference::Whole(whole::outer))),
    (Fun::Cross, vectors!(|a, b, _| geometry::cross(a, b))),
    (Fun::Distance, vectors!(|a, b, _| one(geometry::distance(a, b)))),
    (Fun::Length, vectors!(|x, _, _| one(geometry::length(x)))),
    (Fun::Normalize, vectors!(|x, _, _| geometry::normalize(x))),
    (Fun::FaceForward, vectors!(|a, b, c| geometry::face_forward(a, b, c).collect()).calls(Words(each::face_forward))),
    (Fun::Reflect, vectors!(|a, b, _| geometry::reflect(a, b))),
    (Fun::Refract, vectors!(|a, b, c| geometry::refract(a, b, c[0]).collect()).calls(Words(each::refract))),
    (Fun::Sign, numbers!(formula, formula, bits => sign(x)).exact()),
    (Fun::Fma, numbers!(float, double => fma(x, y, z))),
    (Fun::Mix, numbers!(formula, formula => mix(x, y, amount)).cheap()),
    (Fun::Step, numbers!(formula, formula => step(edge, x)).exact()),
    (Fun::SmoothStep, numbers!(formula, formula => smoothstep(low, high, x))),
    (Fun::Sqrt, numbers!(formula, formula => sqrt(x))),
    (Fun::InverseSqrt, numbers!(formula, formula => inverse_sqrt(x))),
    (Fun::Inverse, Builtin::new(Reference::Whole(whole::inverse))),
    (Fun::Transpose, Builtin::new(Reference::Whole(whole::transpose)).exact()),
    (Fun::Determinant, Builtin::new(Reference::Whole(whole::determinant)).calls(Words(each::determinant))),
    (Fun::QuantizeToF16, Builtin::new(Reference::Numbers(quantize)).calls(Words(each::quantize))),
    (Fun::CountTrailingZeros, numbers!(bits => count_trailing_zeros(x))),
    (Fun::CountLeadingZeros, numbers!(bits => count_leading_zeros(x))),
    (Fun::CountOneBits, numbers!(bits => count_one_bits(x))),
    (Fun::ReverseBits, numbers!(bits => reverse_bits(x)).calls(Words(each::reverse_bits))),
    (Fun::ExtractBits, numbers!(bits => extract_bits(x, offset, count))),
    (Fun::InsertBits, numbers!(bits => insert_bits(x, new, offset, count))),
    (Fun::FirstTrailingBit, numbers!(bits => first_trailing_bit(x)).calls(Words(each::first_trailing_bit))),
    (Fun::FirstLeadingBit, numbers!(bits => first_leading_bit(x))
        .calls(Words(each::first_leading_bit_of_u32)).calls_signed(Words(each::first_leading_bit_of_i32))),
    (Fun::Pack4x8snorm, Builtin::of_words(each::pack4x8snorm, Type::U32, 1)),
    (Fun::Pack4x8unorm, Builtin::of_words(each::pack4x8unorm, Type::U32, 1)),
    (Fun::Pack2x16snorm, Builtin::of_words(each::pack2x16snorm, Type::U32, 1)),
    (Fun::Pack2x16unorm, Builtin::of_words(each::pack2x16unorm, Type::U32, 1)),
    (Fun::Pack2x16float, Builtin::of_words(each::pack2x16float, Type::U32, 1)),
    (Fun::Pack4xI8, Builtin::of_words(each::pack4x8, Type::U32, 1)),
    (Fun::Pack4xU8, Builtin::of_words(each::pack4x8, Type::U32, 1)),
    (Fun::Pack4xI8Clamp, Builtin::of_words(each::pack4xi8_clamp, Type::U32, 1)),
    (Fun::Pack4xU8Clamp, Builtin::of_words(each::pack4xu8_clamp, Type::U32, 1)),
    (Fun::Unpack4x8snorm, Builtin::of_words(each::unpack4x8snorm, Type::F32, 4)),
    (Fun::Unpack4x8unorm, Builtin::of_words(each::unpack4x8unorm, Type::F32, 4)),
    (Fun::Unpack2x16snorm, Builtin::of_words(each::unpack2x16snorm, Type::F32, 2)),
    (Fun::Unpack2x16unorm, Builtin::of_words(each::unpack2x16unorm, Type::F32, 2)),
    (Fun::Unpack2x16float, Builtin::of_words(each::unpack2x16float, Type::F32, 2)),
    (Fun::Unpack4xI8, Builtin::of_words(each::unpack4xi8, Type::I32, 4)),
    (Fun::Unpack4xU8, Builtin::of_words(each::unpack4xu8, Type::U32, 4)),
];

/// The row of a function is at the place of the function.
const _: () = {
    let mut at = 0;
    while at < TABLE.len() {
        assert!(TABLE[at].0 as usize == at, "the table has the order of naga");
        at += 1;
    }
};

/// Makes a vector of one component.
fn one<R>(x: R) -> Vector<R> {
    std::iter::once(x).collect()
}

/// Returns the product of a float and a power of two, whose exponent is an `i32`.
fn ldexp(ty: Type) -> Option<Bits> {
    Some(Bits::Two(match ty {
        Type::F16 => |x, exponent| f16::give(double::ldexp(f16::take(x), exponent as i32)),
        Type::F32 => |x, exponent| f32::give(float::ldexp(f32::take(x), exponent as i32)),
        Type::F64 => |x, exponent| f64::give(double::ldexp(f64::take(x), exponent as i32)),
        _ => return None,
    }))
}

/// Returns the nearest `f16` of an `f32`.
fn quantize(ty: Type) -> Option<Bits> {
    (ty == Type::F32).then_some(Bits::Two(|x, _| f32::give(float::quantize(f32::take(x)))))
}
