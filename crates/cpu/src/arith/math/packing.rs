//! The calls of functions on packed numbers.

use crate::arith::lift::Lift;
use crate::arith::{Components, Operand, Outcome, Scalar, pack};
use naga::MathFunction as Fun;

/// Calls a function that packs or unpacks, or a product of packed vectors. Returns `None` for another function.
pub(crate) fn call(fun: Fun, args: &[Operand<'_>]) -> Option<Outcome> {
    let x = args[0].components();
    let word = |index: usize| args[index].component(0).bits() as u32;
    Some(match fun {
        Fun::Pack4x8snorm => packed(pack::pack4x8snorm(floats(x))),
        Fun::Pack4x8unorm => packed(pack::pack4x8unorm(floats(x))),
        Fun::Pack2x16snorm => packed(pack::pack2x16snorm(floats(x))),
        Fun::Pack2x16unorm => packed(pack::pack2x16unorm(floats(x))),
        Fun::Pack2x16float => packed(pack::pack2x16float(floats(x))),
        Fun::Pack4xI8 | Fun::Pack4xU8 => packed(pack::pack4x8(words(x))),
        Fun::Pack4xI8Clamp => packed(pack::pack4xi8_clamp(words(x).map(|x| x as i32))),
        Fun::Pack4xU8Clamp => packed(pack::pack4xu8_clamp(words(x))),
        Fun::Unpack4x8snorm => unpacked(pack::unpack4x8snorm(word(0)), Scalar::F32),
        Fun::Unpack4x8unorm => unpacked(pack::unpack4x8unorm(word(0)), Scalar::F32),
        Fun::Unpack2x16snorm => unpacked(pack::unpack2x16snorm(word(0)), Scalar::F32),
        Fun::Unpack2x16unorm => unpacked(pack::unpack2x16unorm(word(0)), Scalar::F32),
        Fun::Unpack2x16float => unpacked(pack::unpack2x16float(word(0)), Scalar::F32),
        Fun::Unpack4xI8 => unpacked(pack::unpack4xi8(word(0)), Scalar::I32),
        Fun::Unpack4xU8 => unpacked(pack::unpack4xu8(word(0)), Scalar::U32),
        Fun::Dot4I8Packed => Outcome::Scalar(Scalar::I32(pack::dot4_i8(word(0), word(1)))),
        Fun::Dot4U8Packed => packed(pack::dot4_u8(word(0), word(1))),
        _ => return None,
    })
}

fn packed(word: u32) -> Outcome {
    Outcome::Scalar(Scalar::U32(word))
}

fn unpacked<T, const N: usize>(numbers: [T; N], scalar: fn(T) -> Scalar) -> Outcome {
    Outcome::Vector(numbers.into_iter().map(scalar).collect::<Components>())
}

fn floats<const N: usize>(x: &[Scalar]) -> [f32; N] {
    std::array::from_fn(|i| f32::take(x[i]))
}

fn words<const N: usize>(x: &[Scalar]) -> [u32; N] {
    std::array::from_fn(|i| x[i].bits() as u32)
}
