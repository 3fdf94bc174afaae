//! Verbs that compute each element by an expression from user code.

use crate::elementwise::{bits, flat, same_shape};
use crate::expression::{self, Input};
use crate::passes::checked_count;
use crate::reducible::Reducible;
use crate::refusals::{Named, check};
use crate::typed_kernel::{count_argument, value};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Element, Error, Grid, IntoArg, NamedArg, Prefix, Result};
use fencepost_kernels::PART_COUNT;
use std::borrow::Cow;

#[track_caller]
pub(crate) fn zip<T: Reducible, V: Reducible, U: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T, D>,
    y: &DeviceArray<V, D>,
    expression: &str,
    out: &mut DeviceArray<U, D>,
) -> Result<()> {
    same_shape(queue, x.array(), "y", y)?;
    same_shape(queue, x.array(), "out", out)?;
    let count = checked_count(queue, x)?;
    let x = flat(x.array())?;
    let y = flat(y)?;
    let mut out = flat(out)?;
    let inputs = [input::<T>("x"), input::<V>("y")];
    let kernel = expression::compiled(queue, &inputs, &U::DTYPE.to_string(), expression, count.as_ref())?;
    let n = value("n", out.len() as u32);
    let grid = Grid::threads([out.len()]);
    let first = (array_name("x"), (&x).into_arg());
    let second = (array_name("y"), (&y).into_arg());
    let arrays = [first, second, (array_name("out"), (&mut out).into_arg())];
    let args: Vec<NamedArg<'_>> =
        [n].into_iter().chain(arrays).chain(count_argument(count.as_ref())).collect();
    match queue.launch_dyn(&kernel, grid, args) {
        Ok(()) => Ok(()),
        Err(error) => {
            let [x, y] = [bits(&x)?, bits(&y)?];
            let count = count.as_ref().map(|count| (PART_COUNT, count));
            let reads = [("x", &x), ("y", &y)].into_iter().chain(count);
            refused(queue, error, &reads.collect::<Vec<_>>(), &out)
        }
    }
}

/// Enqueues the evaluation of an expression for each element of an array, or for its first elements if there is a
/// count.
#[track_caller]
pub(crate) fn map<T: Reducible, U: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T, D>,
    expression: &str,
    out: &DeviceArray<U, D>,
) -> Result<()> {
    same_shape(queue, x.array(), "out", out)?;
    let count = checked_count(queue, x)?;
    let count = count.as_ref();
    let x = &flat(x.array())?;
    let out = &mut flat(out)?;
    let kernel = expression::compiled(queue, &[input::<T>("x")], &U::DTYPE.to_string(), expression, count)?;
    let n = value("n", out.len() as u32);
    let grid = Grid::threads([out.len()]);
    let arrays = [(array_name("x"), x.into_arg()), (array_name("out"), (&mut *out).into_arg())];
    let args: Vec<NamedArg<'_>> = [n].into_iter().chain(arrays).chain(count_argument(count)).collect();
    match queue.launch_dyn(&kernel, grid, args) {
        Ok(()) => Ok(()),
        Err(error) => {
            let x = bits(x)?;
            let reads = [("x", &x)].into_iter().chain(count.map(|count| (PART_COUNT, count)));
            refused(queue, error, &reads.collect::<Vec<_>>(), out)
        }
    }
}

/// Returns the error of a refused launch with the names of the verb's arguments, instead of those in the kernel's text.
#[track_caller]
fn refused<U: Reducible>(
    queue: &VerbQueue<'_>,
    error: Error,
    reads: &[Named<'_>],
    out: &DeviceArray<U>,
) -> Result<()> {
    check(queue, reads, &[("out", &bits(out)?)])?;
    Err(error)
}

fn input<T: Element>(name: &'static str) -> Input {
    Input { name, wgsl: T::DTYPE.to_string() }
}

/// Returns the name of an array in the text of a kernel.
fn array_name(name: &str) -> Option<Cow<'static, str>> {
    Some(format!("{}{name}", expression::HIDDEN).into())
}
