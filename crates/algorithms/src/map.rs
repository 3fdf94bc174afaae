//! Verbs that compute each element by an expression from user code.

use crate::elementwise::{bits, flat, same_shape};
use crate::expression::{self, Input};
use crate::reducible::Reducible;
use crate::refusals::{Named, check};
use crate::typed_kernel::{count_argument, value};
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Element, Error, Grid, IntoArg, NamedArg, Result};
use fencepost_kernels::PART_COUNT;
use std::borrow::Cow;

/// Computes each element of an array by a WGSL expression, passed as text.
///
/// In the expression, `x` is the element of the first array, `y` is the element of the second, and `i` is the place of
/// the element in C order, a `u32`. The expression sees the functions and types of WGSL too, and no other name. The
/// value has the type of the elements of `out`: a comparison needs `u32(..)` or `select(..)`.
///
/// # Shape
/// All arrays of a call have one shape, of any rank.
///
/// # Cost
/// A verb takes one launch. It reads and writes each element once. The first call with an expression compiles a kernel. The
/// context keeps the kernel for calls with the same expression and types.
///
/// # NaN
/// A compiler of a device may assume that no number is a NaN or infinite, so `x != x` may be false for a NaN. The bits decide:
/// `(bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u` is true for a NaN on each device.
/// An element whose value is not a finite number may be anything: where the compiler can see it, as in `x / 0.0`, lavapipe leaves
/// the element of `out` unwritten.
pub trait Map {
    /// *Enqueues* `out[i]` = the value of an expression of `x` and `i`.
    ///
    /// # Errors
    /// [`Kind::Kernel`](fencepost_core::Kind::Kernel) if the text is not one expression, or its value has another type: the
    /// message shows the line of the expression and marks the mistake. [`Kind::Shape`](fencepost_core::Kind::Shape) if the
    /// shapes differ; [`Kind::Padding`](fencepost_core::Kind::Padding) if an array is padded; the errors of a launch, and the
    /// queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Map;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut y) = (ctx.array(&[1.0_f32, 2.0, 3.0])?, ctx.zeros::<f32, 1>([3])?);
    /// queue.map(&x, "x * 2.0 + f32(i)", &mut y)?;
    /// assert_eq!(queue.read(&y).wait()?, [2.0, 5.0, 8.0]);
    ///
    /// let error = queue.map(&x, "x * z", &mut y).unwrap_err();
    /// assert!(error.to_string().ends_with("  | x * z\n  |     ^"), "{error}");
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn map<T: Reducible, U: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        expression: &str,
        out: &mut DeviceArray<U, D>,
    ) -> Result<()>;

    /// *Enqueues* `out[i]` = the value of an expression of `x`, `y` and `i`.
    ///
    /// # Errors
    /// Returns the errors of [`map`](Self::map).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Map;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, y) = (ctx.array(&[1.0_f32, 2.0])?, ctx.array(&[3_u32, 1])?);
    /// let mut out = ctx.zeros::<u32, 1>([2])?;
    /// queue.zip(&x, &y, "select(y, 0u, x > 1.5)", &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [3, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn zip<T: Reducible, V: Reducible, U: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        y: &DeviceArray<V, D>,
        expression: &str,
        out: &mut DeviceArray<U, D>,
    ) -> Result<()>;
}

impl Map for CommandQueue {
    #[track_caller]
    fn map<T: Reducible, U: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        expression: &str,
        out: &mut DeviceArray<U, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "map");
        same_shape(queue, x, "out", out)?;
        map(queue, &flat(x)?, None, expression, &mut flat(out)?)
    }

    #[track_caller]
    fn zip<T: Reducible, V: Reducible, U: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        y: &DeviceArray<V, D>,
        expression: &str,
        out: &mut DeviceArray<U, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "zip");
        same_shape(queue, x, "y", y)?;
        same_shape(queue, x, "out", out)?;
        let x = flat(x)?;
        let y = flat(y)?;
        let mut out = flat(out)?;
        let inputs = [input::<T>("x"), input::<V>("y")];
        let kernel = expression::compiled(queue, &inputs, &U::DTYPE.to_string(), expression, None)?;
        let n = value("n", out.len() as u32);
        let grid = Grid::threads([out.len()]);
        let first = (array_name("x"), (&x).into_arg());
        let second = (array_name("y"), (&y).into_arg());
        let args = [n, first, second, (array_name("out"), (&mut out).into_arg())];
        match queue.launch_dyn(&kernel, grid, args) {
            Ok(()) => Ok(()),
            Err(error) => refused(queue, error, &[("x", &bits(&x)?), ("y", &bits(&y)?)], &out),
        }
    }
}

/// Enqueues the expression of each element of an array, or of a part with a count.
#[track_caller]
pub(crate) fn map<T: Reducible, U: Reducible>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T>,
    count: Option<&DeviceArray<u32>>,
    expression: &str,
    out: &mut DeviceArray<U>,
) -> Result<()> {
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

/// Returns the error of a refused launch with the names of the verb's arguments, in place of those in the text of the kernel.
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
