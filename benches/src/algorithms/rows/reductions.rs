use fencepost::algorithms::{Algorithms as _, Operation};
use fencepost_oracles as host;
use rayon::prelude::*;

use super::{COLUMNS, Size, TASK, Verb, bytes, offsets, words_below};
use crate::cpu::case::Case;
use crate::cpu::cases::whole_floats;
use crate::cpu::values::{Check, Item};

/// Partial sums of a task, so that the additions do not wait for each other.
const LANES: usize = 64;
/// Panic of a function that needs elements.
const NONE: &str = "bug: the row has no elements";

pub(super) fn sum(size: Size) -> Case {
    sum_of_all(size.many())
}

pub(super) fn short_sum(size: Size) -> Case {
    Case { launches: if size.quick { 2 } else { 100 }, ..sum_of_all(1000) }
}

fn sum_of_all(n: usize) -> Case {
    let x = whole_floats(n, 1);
    let expected = host::sum(&x);
    of_one(x, expected, |queue, x, out| queue.sum(x, out), |x| x.par_chunks(TASK).map(sum_of).sum())
}

fn sum_of(task: &[f32]) -> f32 {
    folded(task, 0.0, |a, b| a + b)
}

/// Combines the elements of a task in several chains.
fn folded(task: &[f32], neutral: f32, combined: impl Fn(f32, f32) -> f32) -> f32 {
    let (parts, rest) = task.as_chunks::<LANES>();
    let mut lanes = [neutral; LANES];
    for part in parts {
        lanes.iter_mut().zip(part).for_each(|(lane, x)| *lane = combined(*lane, *x));
    }
    lanes.iter().chain(rest).fold(neutral, |a, b| combined(a, *b))
}

/// Returns a row of a verb that reduces an array to one element.
fn of_one<T: Item, U: Item>(x: Vec<T>, expected: U, verb: Verb<T, U>, plain: fn(&[T]) -> U) -> Case {
    let work = bytes(4 * x.len());
    Case::verb(
        [x],
        vec![expected],
        work,
        move |queue, [x], out| verb(queue, x, out),
        move |[x], out| out[0] = plain(x),
    )
}

/// Sums three quarters of an array; the number of elements is on the device.
pub(super) fn part(size: Size) -> Case {
    let x = words_below(size.many(), 1000, 43);
    let n = size.many() / 4 * 3;
    let expected = host::sum(&x[..n]);
    Case::verb(
        [x, vec![n as u32]],
        vec![expected],
        bytes(4 * n),
        |queue, [x, n], out| queue.sum(x.first(n), out),
        |[x, n], out| {
            let part = x[..n[0] as usize].par_chunks(TASK);
            out[0] = part.map(|task| task.iter().sum::<u32>()).sum();
        },
    )
}

/// Finds the largest of floats, with a NaN as the result if there is one.
pub(super) fn largest(size: Size) -> Case {
    let x = floats(size, 29, |_| false);
    let expected = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let plain = |x: &[f32]| {
        let largest = x.par_chunks(TASK).map(|task| folded(task, f32::NEG_INFINITY, larger));
        largest.reduce(|| f32::NEG_INFINITY, larger)
    };
    of_one(x, expected, |queue, x, out| queue.max(x, out), plain)
}

/// Finds the smallest of floats, of which one in 16 is a NaN.
pub(super) fn smallest_number(size: Size) -> Case {
    let x = floats(size, 30, |at| at % 16 == 3);
    let expected = x.iter().copied().fold(f32::INFINITY, f32::min);
    of_one(x, expected, |queue, x, out| queue.min(x.skip_nan(), out), least)
}

pub(super) fn argmin(size: Size) -> Case {
    let x = floats(size, 31, |_| false);
    let expected = host::argmin(&x).expect(NONE) as u32;
    let plain = |x: &[f32]| {
        let least = least(x);
        x.par_iter().position_first(|&x| x == least).expect(NONE) as u32
    };
    of_one(x, expected, |queue, x, out| queue.argmin(x, out), plain)
}

/// Returns floats, with NaNs at some places.
fn floats(size: Size, seed: u64, is_nan: fn(usize) -> bool) -> Vec<f32> {
    let words = words_below(size.many(), 1 << 24, seed).into_iter().enumerate();
    words.map(|(at, word)| if is_nan(at) { f32::NAN } else { word as f32 - 1e6 }).collect()
}

/// Returns the larger number, or a NaN if one is.
fn larger(a: f32, b: f32) -> f32 {
    if a > b || a.is_nan() { a } else { b }
}

/// Returns the smallest number.
fn least(x: &[f32]) -> f32 {
    let smallest = x.par_chunks(TASK).map(|task| folded(task, f32::INFINITY, f32::min));
    smallest.reduce(|| f32::INFINITY, f32::min)
}

pub(super) fn argmax(size: Size) -> Case {
    let x = words_below(size.many(), 1 << 30, 2);
    let expected = host::argmax(&x).expect(NONE) as u32;
    let plain = |x: &[u32]| {
        let most = *x.par_iter().max().expect(NONE);
        x.par_iter().position_first(|x| *x == most).expect(NONE) as u32
    };
    of_one(x, expected, |queue, x, out| queue.argmax(x, out), plain)
}

pub(super) fn nonzero(size: Size) -> Case {
    let x = words_below(size.many(), 3, 32);
    let expected = host::count_nonzero(&x) as u32;
    let plain = |x: &[u32]| {
        let tasks = x.par_chunks(TASK);
        tasks.map(|task| task.iter().map(|x| u32::from(*x != 0)).sum::<u32>()).sum()
    };
    of_one(x, expected, |queue, x, out| queue.count_nonzero(x, out), plain)
}

pub(super) fn dot(size: Size) -> Case {
    let x = whole_floats(size.many(), 25);
    let y = whole_floats(size.many(), 26);
    let expected = vec![host::dot(&x, &y)];
    Case::verb(
        [x, y],
        expected,
        bytes(8 * size.many()),
        |queue, [x, y], out| queue.dot(x, y, out),
        |[x, y], out| out[0] = products(x, y),
    )
}

pub(super) fn norm(size: Size) -> Case {
    let x = whole_floats(size.many(), 27);
    let squares: f64 = x.iter().map(|&x| f64::from(x * x)).sum();
    let verb: Verb<f32, f32> = |queue, x, out| queue.norm(x, out);
    let row = of_one(x, squares.sqrt() as f32, verb, |x| products(x, x).sqrt());
    Case { check: Check::Close(1e-5), ..row }
}

fn products(x: &[f32], y: &[f32]) -> f32 {
    x.par_chunks(TASK).zip(y.par_chunks(TASK)).map(|(x, y)| products_of(x, y)).sum()
}

/// Adds products in as many chains as [`folded`] does.
fn products_of(x: &[f32], y: &[f32]) -> f32 {
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let mut lanes = [0.0_f32; LANES];
    for (x, y) in x.iter().zip(y) {
        lanes.iter_mut().zip(x.iter().zip(y)).for_each(|(lane, (x, y))| *lane += x * y);
    }
    let rest: f32 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    lanes.iter().sum::<f32>() + rest
}

pub(super) fn mean(size: Size) -> Case {
    let x = whole_floats(size.many(), 28);
    let sum: f64 = x.iter().map(|&x| f64::from(x)).sum();
    let verb: Verb<f32, f32> = |queue, x, out| queue.mean(x, out);
    let plain = |x: &[f32]| x.par_chunks(TASK).map(sum_of).sum::<f32>() / x.len() as f32;
    Case { check: Check::Close(1e-5), ..of_one(x, (sum / size.many() as f64) as f32, verb, plain) }
}

pub(super) fn sum_of_rows(size: Size) -> Case {
    let x = words_below(size.many(), 1000, 3);
    let verb: Verb<u32, u32, 2> = |queue, x, out| queue.reduce(x.axis(1), Operation::Sum, out);
    of_rows(x, verb, host::sum, |row| row.iter().sum())
}

pub(super) fn mean_of_rows(size: Size) -> Case {
    let x = whole_floats(size.many(), 50);
    let verb: Verb<f32, f32, 2> = |queue, x, out| queue.mean(x.axis(1), out);
    of_rows(x, verb, |row| host::mean(row).expect(NONE), |row| sum_of(row) / COLUMNS as f32)
}

/// Finds the rows with an element that is not zero: about one in 16.
pub(super) fn any_of_rows(size: Size) -> Case {
    let words = words_below(size.many(), 1 << 14, 51);
    let x: Vec<u32> = words.into_iter().map(|word| u32::from(word == 0)).collect();
    let verb: Verb<u32, u32, 2> = |queue, x, out| queue.any(x.axis(1), out);
    let plain = |row: &[u32]| u32::from(row.iter().any(|x| *x != 0));
    of_rows(x, verb, |row| u32::from(host::any(row)), plain)
}

pub(super) fn argmin_of_rows(size: Size) -> Case {
    let x = words_below(size.many(), u32::MAX, 52);
    let verb: Verb<u32, u32, 2> = |queue, x, out| queue.argmin(x.axis(1), out);
    let plain = |row: &[u32]| {
        let least = row.iter().min().expect(NONE);
        row.iter().position(|x| x == least).expect(NONE) as u32
    };
    of_rows(x, verb, |row| host::argmin(row).expect(NONE) as u32, plain)
}

/// Returns a row of a verb that reduces each row of a matrix to one element.
fn of_rows<T: Item, U: Item>(
    x: Vec<T>,
    verb: Verb<T, U, 2>,
    reference: fn(&[T]) -> U,
    plain: impl Fn(&[T]) -> U + Sync + 'static,
) -> Case {
    let expected: Vec<U> = x.chunks(COLUMNS).map(reference).collect();
    let work = bytes(4 * x.len());
    Case::verb(
        [x],
        expected,
        work,
        move |queue, [x], out| {
            let rows = out.len();
            verb(queue, &x.reshape([rows, COLUMNS])?, &mut out.reshape([rows, 1])?)
        },
        move |[x], out| {
            x.par_chunks(COLUMNS).zip(out.par_iter_mut()).for_each(|(row, out)| *out = plain(row));
        },
    )
}

pub(super) fn columns(size: Size) -> Case {
    let x = words_below(size.many(), 1000, 4);
    let expected = x.chunks(COLUMNS).fold(vec![0; COLUMNS], add);
    Case::verb(
        [x],
        expected,
        bytes(4 * size.many()),
        |queue, [x], out| {
            let x = x.reshape([x.len() / COLUMNS, COLUMNS])?;
            queue.reduce(x.axis(0), Operation::Sum, &mut out.reshape([1, COLUMNS])?)
        },
        |[x], out| {
            let sums = x.par_chunks(COLUMNS).fold(|| vec![0; COLUMNS], add);
            out.copy_from_slice(&sums.reduce(|| vec![0; COLUMNS], |a, b| add(a, &b)));
        },
    )
}

fn add(mut sums: Vec<u32>, row: &[u32]) -> Vec<u32> {
    sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    sums
}

pub(super) fn segments(size: Size) -> Case {
    let x = words_below(size.many(), 1000, 33);
    let offsets = offsets(size.many());
    let expected = host::reduce_segments(&x, &offsets, Operation::Sum);
    Case::verb(
        [x, offsets],
        expected,
        bytes(4 * size.many()),
        |queue, [x, offsets], out| queue.reduce(x.segments(offsets), Operation::Sum, out),
        |[x, offsets], out| {
            let sums = out.par_iter_mut().zip(offsets.par_windows(2));
            sums.for_each(|(sum, ends)| *sum = x[ends[0] as usize..ends[1] as usize].iter().sum());
        },
    )
}
