//! The functions that pack several numbers into a word, and those that unpack it.
//!
//! The first number is in the low bits.

use half::f16;

/// Packs numbers from -1 to 1 as signed integers from -127 to 127. Other numbers are limited to that range, and a NaN
/// becomes -1.
pub(crate) fn pack4x8snorm(x: [f32; 4]) -> u32 {
    u32::from_le_bytes(x.map(|x| nearest(127.0, at_least(x, -1.0)) as i8 as u8))
}

/// Packs numbers from 0 to 1 as integers from 0 to 255. Other numbers are limited to that range, and a NaN becomes 0.
pub(crate) fn pack4x8unorm(x: [f32; 4]) -> u32 {
    u32::from_le_bytes(x.map(|x| nearest(255.0, at_least(x, 0.0)) as u8))
}

/// Packs numbers from -1 to 1 as signed integers from -32767 to 32767. Other numbers are limited to that range, and a NaN
/// becomes -1.
pub(crate) fn pack2x16snorm(x: [f32; 2]) -> u32 {
    words(x.map(|x| nearest(32767.0, at_least(x, -1.0)) as i16 as u16))
}

/// Packs numbers from 0 to 1 as integers from 0 to 65535. Other numbers are limited to that range, and a NaN becomes 0.
pub(crate) fn pack2x16unorm(x: [f32; 2]) -> u32 {
    words(x.map(|x| nearest(65535.0, at_least(x, 0.0)) as u16))
}

/// Packs the nearest `f16`.
pub(crate) fn pack2x16float(x: [f32; 2]) -> u32 {
    words(x.map(|x| f16::from_f32(x).to_bits()))
}

/// Packs the low bytes.
pub(crate) fn pack4x8(x: [u32; 4]) -> u32 {
    u32::from_le_bytes(x.map(|x| x as u8))
}

/// Packs integers after a limitation to those of a signed byte.
pub(crate) fn pack4xi8_clamp(x: [i32; 4]) -> u32 {
    u32::from_le_bytes(x.map(|x| x.clamp(-128, 127) as u8))
}

/// Packs integers after a limitation to those of a byte.
pub(crate) fn pack4xu8_clamp(x: [u32; 4]) -> u32 {
    u32::from_le_bytes(x.map(|x| x.min(255) as u8))
}

/// Unpacks signed bytes as numbers from -1 to 1.
pub(crate) fn unpack4x8snorm(x: u32) -> [f32; 4] {
    x.to_le_bytes().map(|x| (f32::from(x as i8) / 127.0).max(-1.0))
}

/// Unpacks bytes as numbers from 0 to 1.
pub(crate) fn unpack4x8unorm(x: u32) -> [f32; 4] {
    x.to_le_bytes().map(|x| f32::from(x) / 255.0)
}

/// Unpacks signed integers of 16 bits as numbers from -1 to 1.
pub(crate) fn unpack2x16snorm(x: u32) -> [f32; 2] {
    halves(x).map(|x| (f32::from(x as i16) / 32767.0).max(-1.0))
}

/// Unpacks integers of 16 bits as numbers from 0 to 1.
pub(crate) fn unpack2x16unorm(x: u32) -> [f32; 2] {
    halves(x).map(|x| f32::from(x) / 65535.0)
}

/// Unpacks numbers of type `f16`.
pub(crate) fn unpack2x16float(x: u32) -> [f32; 2] {
    halves(x).map(|x| f16::from_bits(x).to_f32())
}

/// Unpacks signed bytes.
pub(crate) fn unpack4xi8(x: u32) -> [i32; 4] {
    x.to_le_bytes().map(|x| i32::from(x as i8))
}

/// Unpacks bytes.
pub(crate) fn unpack4xu8(x: u32) -> [u32; 4] {
    x.to_le_bytes().map(u32::from)
}

/// Returns the sum of the products of signed bytes.
pub(crate) fn dot4_i8(a: u32, b: u32) -> i32 {
    unpack4xi8(a).iter().zip(unpack4xi8(b)).map(|(a, b)| a * b).sum()
}

/// Returns the sum of the products of bytes.
pub(crate) fn dot4_u8(a: u32, b: u32) -> u32 {
    unpack4xu8(a).iter().zip(unpack4xu8(b)).map(|(a, b)| a * b).sum()
}

/// Limits a number to `low` and 1.
fn at_least(x: f32, low: f32) -> f64 {
    f64::from(super::formula::clamp(x, low, 1.0))
}

/// Returns the integer nearest to a product, and the upper one of two.
fn nearest(scale: f64, x: f64) -> i32 {
    (0.5 + scale * x).floor() as i32
}

fn words(x: [u16; 2]) -> u32 {
    u32::from(x[0]) | u32::from(x[1]) << 16
}

fn halves(x: u32) -> [u16; 2] {
    [x as u16, (x >> 16) as u16]
}
