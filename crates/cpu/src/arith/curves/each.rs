//! The functions on lists of numbers.

use super::circle;
use crate::arith::wide::wide;

/// Function that replaces each number of a list by the result.
pub(crate) type One = fn(&mut [f32]);

/// Function that replaces each number of the first list by its result. The second list contains the second arguments.
pub(crate) type Two = fn(&mut [f32], &[f32]);

/// Length of a loop that the compiler vectorises.
const PART: usize = 8;

/// Number that fills the unused elements of a loop.
const FILL: f32 = 1.0;

#[inline(always)]
fn each_one(x: &mut [f32], f: impl Fn(f32) -> f32) {
    let (parts, rest) = x.as_chunks_mut::<PART>();
    for part in parts {
        for x in part {
            *x = f(*x);
        }
    }
    if !rest.is_empty() {
        let mut part = filled(rest);
        for x in &mut part {
            *x = f(*x);
        }
        rest.iter_mut().zip(part).for_each(|(x, result)| *x = result);
    }
}

#[inline(always)]
fn each_two(x: &mut [f32], y: &[f32], f: impl Fn(f32, f32) -> f32) {
    let (parts, rest) = x.as_chunks_mut::<PART>();
    let (seconds, second) = y.as_chunks::<PART>();
    for (part, second) in parts.iter_mut().zip(seconds) {
        for (x, &y) in part.iter_mut().zip(second) {
            *x = f(*x, y);
        }
    }
    if !rest.is_empty() {
        let mut part = filled(rest);
        let second = filled(second);
        for (x, y) in part.iter_mut().zip(second) {
            *x = f(*x, y);
        }
        rest.iter_mut().zip(part).for_each(|(x, result)| *x = result);
    }
}

#[inline(always)]
fn filled(rest: &[f32]) -> [f32; PART] {
    std::array::from_fn(|at| rest.get(at).copied().unwrap_or(FILL))
}

wide! {
    fn acos(x: &mut [f32]) = each_one(x, super::acos);
    fn acosh(x: &mut [f32]) = each_one(x, super::acosh);
    fn asin(x: &mut [f32]) = each_one(x, super::asin);
    fn asinh(x: &mut [f32]) = each_one(x, super::asinh);
    fn atan(x: &mut [f32]) = each_one(x, super::atan);
    fn atan2(x: &mut [f32], y: &[f32]) = each_two(x, y, super::atan2);
    fn atanh(x: &mut [f32]) = each_one(x, super::atanh);
    fn near_cos(x: &mut [f32]) = each_one(x, |x| circle::cos(x.into()) as f32);
    fn cosh(x: &mut [f32]) = each_one(x, super::cosh);
    fn exp(x: &mut [f32]) = each_one(x, super::exp);
    fn exp2(x: &mut [f32]) = each_one(x, super::exp2);
    fn log(x: &mut [f32]) = each_one(x, super::log);
    fn log2(x: &mut [f32]) = each_one(x, super::log2);
    fn pow(x: &mut [f32], y: &[f32]) = each_two(x, y, super::pow);
    fn near_sin(x: &mut [f32]) = each_one(x, |x| circle::sin(x.into()) as f32);
    fn sinh(x: &mut [f32]) = each_one(x, super::sinh);
    fn near_tan(x: &mut [f32]) = each_one(x, |x| circle::tan(x.into()) as f32);
    fn tanh(x: &mut [f32]) = each_one(x, super::tanh);
}

/// Calls a function of angles on a list, or on one angle after the other if any angle is large.
fn of_angles(x: &mut [f32], near: One, any: fn(f32) -> f32) {
    if x.iter().fold(false, |is_far, x| is_far | (x.abs() > circle::LARGEST)) {
        x.iter_mut().for_each(|x| *x = any(*x));
    } else {
        near(x);
    }
}

/// Replaces each angle by its cosine.
pub(crate) fn cos(x: &mut [f32]) {
    of_angles(x, near_cos, super::cos);
}

/// Replaces each angle by its sine.
pub(crate) fn sin(x: &mut [f32]) {
    of_angles(x, near_sin, super::sin);
}

/// Replaces each angle by its tangent.
pub(crate) fn tan(x: &mut [f32]) {
    of_angles(x, near_tan, super::tan);
}
