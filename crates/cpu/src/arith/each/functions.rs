//! The functions of words. With one lane, a function of packed numbers is its reference too.

use super::lanes::{array, each, each_float, each_pair, each_word};
use crate::arith::wide::wide;
use crate::arith::{bits, float, geometry, linear, pack};

wide! {
    fn ldexp(words: &mut [u32], _lanes: usize) =
        each_pair(words, |x, exponent| (float::ldexp(f32::from_bits(x), exponent as i32).to_bits(), 0));
    fn frexp(words: &mut [u32], _lanes: usize) = each_pair(words, |x, _| {
        let (fraction, exponent) = float::frexp(f32::from_bits(x));
        (fraction.to_bits(), exponent as u32)
    });
    fn quantize(words: &mut [u32], _lanes: usize) =
        each_word(words, |x| float::quantize(f32::from_bits(x)).to_bits());
    fn pack4x8snorm(words: &mut [u32], lanes: usize) =
        each(words, lanes, |x| [pack::pack4x8snorm(x.map(f32::from_bits))]);
    fn pack4x8unorm(words: &mut [u32], lanes: usize) =
        each(words, lanes, |x| [pack::pack4x8unorm(x.map(f32::from_bits))]);
    fn pack2x16snorm(words: &mut [u32], lanes: usize) =
        each(words, lanes, |x| [pack::pack2x16snorm(x.map(f32::from_bits))]);
    fn pack2x16unorm(words: &mut [u32], lanes: usize) =
        each(words, lanes, |x| [pack::pack2x16unorm(x.map(f32::from_bits))]);
    fn pack2x16float(words: &mut [u32], lanes: usize) =
        each(words, lanes, |x| [pack::pack2x16float(x.map(f32::from_bits))]);
    fn unpack4x8snorm(words: &mut [u32], lanes: usize) =
        each(words, lanes, |[x]| pack::unpack4x8snorm(x).map(f32::to_bits));
    fn unpack4x8unorm(words: &mut [u32], lanes: usize) =
        each(words, lanes, |[x]| pack::unpack4x8unorm(x).map(f32::to_bits));
    fn unpack2x16snorm(words: &mut [u32], lanes: usize) =
        each(words, lanes, |[x]| pack::unpack2x16snorm(x).map(f32::to_bits));
    fn unpack2x16unorm(words: &mut [u32], lanes: usize) =
        each(words, lanes, |[x]| pack::unpack2x16unorm(x).map(f32::to_bits));
    fn unpack2x16float(words: &mut [u32], lanes: usize) =
        each(words, lanes, |[x]| pack::unpack2x16float(x).map(f32::to_bits));
    fn unpack4xi8(words: &mut [u32], lanes: usize) =
        each(words, lanes, |[x]| pack::unpack4xi8(x).map(|x| x as u32));
    fn unpack4xu8(words: &mut [u32], lanes: usize) = each(words, lanes, |[x]| pack::unpack4xu8(x));
    fn pack4x8(words: &mut [u32], lanes: usize) = each(words, lanes, |x| [pack::pack4x8(x)]);
    fn pack4xi8_clamp(words: &mut [u32], lanes: usize) =
        each(words, lanes, |x: [u32; 4]| [pack::pack4xi8_clamp(x.map(|x| x as i32))]);
    fn pack4xu8_clamp(words: &mut [u32], lanes: usize) = each(words, lanes, |x| [pack::pack4xu8_clamp(x)]);
    fn dot4_i8(words: &mut [u32], lanes: usize) =
        each(words, lanes, |[a, b]| [pack::dot4_i8(a, b) as u32]);
    fn dot4_u8(words: &mut [u32], lanes: usize) = each(words, lanes, |[a, b]| [pack::dot4_u8(a, b)]);
    fn first_leading_bit_of_i32(words: &mut [u32], _lanes: usize) =
        each_word(words, |x| bits::first_leading_bit::<32, true>(x.into()) as u32);
    fn first_leading_bit_of_u32(words: &mut [u32], _lanes: usize) =
        each_word(words, |x| bits::first_leading_bit::<32, false>(x.into()) as u32);
    fn first_trailing_bit(words: &mut [u32], _lanes: usize) =
        each_word(words, |x| bits::first_trailing_bit::<32, false>(x.into()) as u32);
    fn reverse_bits(words: &mut [u32], _lanes: usize) = each_word(words, u32::reverse_bits);
}

pub(crate) fn face_forward(words: &mut [u32], lanes: usize) {
    fn of<const A: usize, const N: usize>(words: &mut [u32], lanes: usize) {
        each_float(words, lanes, |x: [f32; A]| {
            array::<N>(geometry::face_forward(&x[..N], &x[N..2 * N], &x[2 * N..]))
        });
    }
    match words.len() / lanes {
        6 => of::<6, 2>(words, lanes),
        9 => of::<9, 3>(words, lanes),
        _ => of::<12, 4>(words, lanes),
    }
}

pub(crate) fn refract(words: &mut [u32], lanes: usize) {
    fn of<const A: usize, const N: usize>(words: &mut [u32], lanes: usize) {
        each_float(words, lanes, |x: [f32; A]| {
            array::<N>(geometry::refract(&x[..N], &x[N..2 * N], x[2 * N]))
        });
    }
    match words.len() / lanes {
        5 => of::<5, 2>(words, lanes),
        7 => of::<7, 3>(words, lanes),
        _ => of::<9, 4>(words, lanes),
    }
}

pub(crate) fn determinant(words: &mut [u32], lanes: usize) {
    fn of<const A: usize, const SIZE: usize>(words: &mut [u32], lanes: usize) {
        each_float(words, lanes, |x: [f32; A]| [linear::determinant(SIZE, &x.map(f64::from)) as f32]);
    }
    match words.len() / lanes {
        4 => of::<4, 2>(words, lanes),
        9 => of::<9, 3>(words, lanes),
        _ => of::<16, 4>(words, lanes),
    }
}
