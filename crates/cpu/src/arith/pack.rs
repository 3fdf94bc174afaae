//! Functions that pack several numbers into a word and unpack them.
//!
//! The first number is in the low bits.

use super::curves::ROUND;
use super::half;

/// Packs numbers from -1 to 1 as signed integers from -127 to 127. Other numbers are clamped to that range, and a NaN
/// becomes -1.
#[inline]
pub(crate) fn pack4x8snorm(x: [f32; 4]) -> u32 {
    bytes(x.map(|x| nearest(127.0, at_least(x, -1.0))))
}

/// Packs numbers from 0 to 1 as integers from 0 to 255. Other numbers are clamped to that range, and a NaN becomes 0.
#[inline]
pub(crate) fn pack4x8unorm(x: [f32; 4]) -> u32 {
    bytes(x.map(|x| nearest(255.0, at_least(x, 0.0))))
}

/// Packs numbers from -1 to 1 as signed integers from -32767 to 32767. Other numbers are clamped to that range, and a
/// NaN becomes -1.
#[inline]
pub(crate) fn pack2x16snorm(x: [f32; 2]) -> u32 {
    words(x.map(|x| nearest(32767.0, at_least(x, -1.0))))
}

/// Packs numbers from 0 to 1 as integers from 0 to 65535. Other numbers are clamped to that range, and a NaN becomes 0.
#[inline]
pub(crate) fn pack2x16unorm(x: [f32; 2]) -> u32 {
    words(x.map(|x| nearest(65535.0, at_least(x, 0.0))))
}

/// Packs the nearest `f16`.
#[inline]
pub(crate) fn pack2x16float(x: [f32; 2]) -> u32 {
    words(x.map(half::narrow))
}

/// Packs the low bytes.
#[inline]
pub(crate) fn pack4x8(x: [u32; 4]) -> u32 {
    bytes(x)
}

/// Clamps integers to the range of a signed byte, and packs them.
#[inline]
pub(crate) fn pack4xi8_clamp(x: [i32; 4]) -> u32 {
    bytes(x.map(|x| x.clamp(-128, 127) as u32))
}

/// Clamps integers to the range of a byte, and packs them.
#[inline]
pub(crate) fn pack4xu8_clamp(x: [u32; 4]) -> u32 {
    bytes(x.map(|x| x.min(255)))
}

/// Unpacks signed bytes as numbers from -1 to 1.
#[inline]
pub(crate) fn unpack4x8snorm(x: u32) -> [f32; 4] {
    x.to_le_bytes().map(|x| (f32::from(x as i8) / 127.0).max(-1.0))
}

/// Unpacks bytes as numbers from 0 to 1.
#[inline]
pub(crate) fn unpack4x8unorm(x: u32) -> [f32; 4] {
    x.to_le_bytes().map(|x| f32::from(x) / 255.0)
}

/// Unpacks signed integers of 16 bits as numbers from -1 to 1.
#[inline]
pub(crate) fn unpack2x16snorm(x: u32) -> [f32; 2] {
    halves(x).map(|x| (f32::from(x as i16) / 32767.0).max(-1.0))
}

/// Unpacks integers of 16 bits as numbers from 0 to 1.
#[inline]
pub(crate) fn unpack2x16unorm(x: u32) -> [f32; 2] {
    halves(x).map(|x| x as f32 / 65535.0)
}

/// Unpacks numbers of type `f16`.
#[inline]
pub(crate) fn unpack2x16float(x: u32) -> [f32; 2] {
    halves(x).map(half::widen)
}

/// Unpacks signed bytes.
#[inline]
pub(crate) fn unpack4xi8(x: u32) -> [i32; 4] {
    x.to_le_bytes().map(|x| i32::from(x as i8))
}

/// Unpacks bytes.
#[inline]
pub(crate) fn unpack4xu8(x: u32) -> [u32; 4] {
    x.to_le_bytes().map(u32::from)
}

/// Returns the sum of the products of signed bytes.
#[inline]
pub(crate) fn dot4_i8(a: u32, b: u32) -> i32 {
    unpack4xi8(a).iter().zip(unpack4xi8(b)).map(|(a, b)| a * b).sum()
}

/// Returns the sum of the products of bytes.
#[inline]
pub(crate) fn dot4_u8(a: u32, b: u32) -> u32 {
    unpack4xu8(a).iter().zip(unpack4xu8(b)).map(|(a, b)| a * b).sum()
}

/// Clamps a number to the range from `low` to 1.
#[inline]
fn at_least(x: f32, low: f32) -> f64 {
    f64::from(super::formula::clamp(x, low, 1.0))
}

/// Rounds a product to the nearest integer, ties upwards. The steps are the same as in vector code.
#[inline]
fn nearest(scale: f64, x: f64) -> u32 {
    let number = 0.5 + scale * x;
    let sum = number + ROUND;
    let is_above = sum - ROUND > number;
    (sum.to_bits() as u32).wrapping_sub(u32::from(is_above))
}

#[inline]
fn bytes(x: [u32; 4]) -> u32 {
    let x = x.map(|x| x & 0xff);
    x[0] | x[1] << 8 | x[2] << 16 | x[3] << 24
}

#[inline]
fn words(x: [u32; 2]) -> u32 {
    x[0] & 0xffff | x[1] << 16
}

#[inline]
fn halves(x: u32) -> [u32; 2] {
    [x & 0xffff, x >> 16]
}

#[cfg(test)]
mod tests {
    use crate::arith::tests::edges::{floats, nearest_half};
    use crate::arith::{Components, Operand, Outcome, Scalar, math};
    use naga::MathFunction as Fun;

    fn pack(fun: Fun, x: &[Scalar]) -> u32 {
        match math(fun, &[Operand::Vector(x)]) {
            Outcome::Scalar(Scalar::U32(word)) => word,
            other => panic!("{other:?} is not a u32"),
        }
    }

    fn unpack(fun: Fun, word: u32) -> Components {
        match math(fun, &[Operand::Scalar(Scalar::U32(word))]) {
            Outcome::Vector(x) => x,
            other => panic!("{other:?} is not a vector"),
        }
    }

    fn float(x: Scalar) -> f32 {
        match x {
            Scalar::F32(x) => x,
            other => panic!("{other:?} is not an f32"),
        }
    }

    fn words() -> impl Iterator<Item = u32> {
        let mut random = fastrand::Rng::with_seed(5);
        let edges = [0, u32::MAX, 0x8000_8000, 0x8080_8080, 0x7fff_8001, 0x7f80_81ff, 1, 0x0100_ff00];
        edges.into_iter().chain((0..2000).map(move |_| random.u32(..)))
    }

    /// Checks a packing function with fields of `bits` bits that represent numbers up to 1.
    fn check_normalized(fun: [Fun; 2], bits: u32, scale: f64, signed: bool) {
        let [pack_fun, unpack_fun] = fun;
        for word in words() {
            let numbers = unpack(unpack_fun, word);
            assert_eq!(numbers.len() as u32, 32 / bits);
            for (place, &number) in numbers.iter().enumerate() {
                let field = i64::from(word) >> (place as u32 * bits) & ((1 << bits) - 1);
                let negative = signed && field >> (bits - 1) == 1;
                let value = if negative { field - (1 << bits) } else { field };
                let expected = (value as f64 / scale).max(-1.0) as f32;
                assert_eq!(float(number), expected, "{unpack_fun:?} of {word:x}");
            }
            let again = unpack(unpack_fun, pack(pack_fun, &numbers));
            assert_eq!(again, numbers, "{pack_fun:?} after {unpack_fun:?} of {word:x}");
        }
        for x in floats().into_iter().filter(|x| !x.is_nan()) {
            let vector = vec![Scalar::F32(x); (32 / bits) as usize];
            let low = if signed { -1.0 } else { 0.0 };
            let scaled = f64::from(x).clamp(low, 1.0) * scale;
            let word = pack(pack_fun, &vector);
            for place in 0..32 / bits {
                let field = i64::from(word) >> (place * bits) & ((1 << bits) - 1);
                let negative = signed && field >> (bits - 1) == 1;
                let value = (if negative { field - (1 << bits) } else { field }) as f64;
                // The nearest integer is less than one half away; in a tie, it is the upper one.
                assert!(value - scaled <= 0.5 && scaled - value < 0.5, "{pack_fun:?} of {x:e}: {value}");
            }
        }
    }

    #[test]
    fn normalized_numbers_become_the_nearest_fields_and_come_back() {
        check_normalized([Fun::Pack4x8snorm, Fun::Unpack4x8snorm], 8, 127.0, true);
        check_normalized([Fun::Pack4x8unorm, Fun::Unpack4x8unorm], 8, 255.0, false);
        check_normalized([Fun::Pack2x16snorm, Fun::Unpack2x16snorm], 16, 32767.0, true);
        check_normalized([Fun::Pack2x16unorm, Fun::Unpack2x16unorm], 16, 65535.0, false);
    }

    #[test]
    fn packed_halves_are_the_nearest_ones_and_come_back() {
        let all = floats();
        for (&x, &y) in all.iter().zip(all.iter().rev()).filter(|(x, y)| !x.is_nan() && !y.is_nan()) {
            let word = pack(Fun::Pack2x16float, &[Scalar::F32(x), Scalar::F32(y)]);
            let expected = [x, y].map(|x| u32::from(nearest_half(x.into()).to_bits()));
            assert_eq!(word, expected[0] + (expected[1] << 16), "{x:e} and {y:e}");
            assert_eq!(pack(Fun::Pack2x16float, &unpack(Fun::Unpack2x16float, word)), word);
        }
    }

    #[test]
    fn packed_integers_are_low_bytes_or_limited_ones() {
        let mut random = fastrand::Rng::with_seed(6);
        let edges = [i32::MIN, -129, -128, -1, 0, 1, 127, 128, 255, 256, i32::MAX];
        for _ in 0..500 {
            let x: [i32; 4] = std::array::from_fn(|_| {
                if random.bool() { random.i32(..) } else { *random.choice(&edges).expect("there are edges") }
            });
            let sum = |field: fn(i64) -> i64, x: [i64; 4]| {
                x.iter().rev().fold(0_i64, |word, &x| word * 256 + field(x).rem_euclid(256)) as u32
            };
            let signed = x.map(i64::from);
            let unsigned = x.map(|x| i64::from(x as u32));
            let as_i32 = x.map(Scalar::I32);
            let as_u32 = x.map(|x| Scalar::U32(x as u32));
            assert_eq!(pack(Fun::Pack4xI8, &as_i32), sum(|x| x, signed));
            assert_eq!(pack(Fun::Pack4xU8, &as_u32), sum(|x| x, unsigned));
            assert_eq!(pack(Fun::Pack4xI8Clamp, &as_i32), sum(|x| x.clamp(-128, 127), signed));
            assert_eq!(pack(Fun::Pack4xU8Clamp, &as_u32), sum(|x| x.clamp(0, 255), unsigned));
        }
        for word in words() {
            let signed = unpack(Fun::Unpack4xI8, word);
            let unsigned = unpack(Fun::Unpack4xU8, word);
            assert_eq!(pack(Fun::Pack4xI8, &signed), word);
            assert_eq!(pack(Fun::Pack4xU8, &unsigned), word);
            assert!(signed.iter().all(|&x| matches!(x, Scalar::I32(-128..=127))));
            assert!(unsigned.iter().all(|&x| matches!(x, Scalar::U32(0..=255))));
        }
    }

    #[test]
    fn the_product_of_packed_vectors_is_that_of_the_unpacked_ones() {
        for (a, b) in words().zip(words().skip(3)) {
            let word = |x: u32| Operand::Scalar(Scalar::U32(x));
            for (fun, unpack_fun) in
                [(Fun::Dot4I8Packed, Fun::Unpack4xI8), (Fun::Dot4U8Packed, Fun::Unpack4xU8)]
            {
                let x = unpack(unpack_fun, a);
                let y = unpack(unpack_fun, b);
                let vectors = math(Fun::Dot, &[Operand::Vector(&x), Operand::Vector(&y)]);
                assert_eq!(math(fun, &[word(a), word(b)]), vectors, "{fun:?} of {a:x} and {b:x}");
            }
        }
        let least = Operand::Scalar(Scalar::U32(0x8080_8080));
        assert_eq!(math(Fun::Dot4I8Packed, &[least, least]), Outcome::Scalar(Scalar::I32(65536)));
        assert_eq!(math(Fun::Dot4U8Packed, &[least, least]), Outcome::Scalar(Scalar::U32(65536)));
    }
}
