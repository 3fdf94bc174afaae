//! Verbs that compute each element of an array from the elements at the same place.

use crate::reducible::Reducible;
use crate::trusted;
use crate::tuning::WIDE;
use crate::typed_kernel::{compiled, type_number, value};
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Element, Grid, IntoArg, Result, SameBits};
use fencepost_derive::KernelArgs;

/// Computes each element of an array from the elements at the same place.
///
/// # Shape
/// All arrays of a call have one shape, of any rank.
///
/// # Cost
/// A verb takes one launch. It reads and writes each element once.
pub trait Elementwise {
    /// *Enqueues* `out[i] = start + i * step`, with the elements counted in C order. Integers wrap.
    ///
    /// # Error bound
    /// For `f32`, `i` is rounded from 2^24 on. The error is at most 3 `u` times `|start| + |i * step|`, with `u` = 2^-24 on a
    /// device that rounds to the nearest number.
    ///
    /// # Errors
    /// [`Kind::Padding`](fencepost_core::Kind::Padding) if an array is padded; the errors of a launch, and the queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Elementwise;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros([2, 2])?;
    /// queue.iota(&mut x, 1.0_f32, 0.5)?;
    /// assert_eq!(queue.read(&x).wait()?, [1.0, 1.5, 2.0, 2.5]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn iota<T: Reducible, const D: usize>(
        &self,
        out: &mut DeviceArray<T, D>,
        start: T,
        step: T,
    ) -> Result<()>;

    /// *Enqueues* `y[i] = a * x[i] + y[i]`. Integers wrap.
    ///
    /// # Error bound
    /// For `f32`, the error is at most 3 `u` times `|a * x[i]| + |y[i]|`, with `u` as for [`iota`](Self::iota). A device may
    /// fuse the two operations.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shapes differ, and the errors of [`iota`](Self::iota).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Elementwise;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut y) = (ctx.array(&[1.0_f32, 2.0])?, ctx.full([2], 10.0_f32)?);
    /// queue.axpy(3.0, &x, &mut y)?;
    /// assert_eq!(queue.read(&y).wait()?, [13.0, 16.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn axpy<T: Reducible, const D: usize>(
        &self,
        a: T,
        x: &DeviceArray<T, D>,
        y: &mut DeviceArray<T, D>,
    ) -> Result<()>;

    /// *Enqueues* out = the elements of `x`, converted as the operator `as` of Rust does. A float loses its fraction; one
    /// outside the integers becomes the nearest integer, and a NaN becomes 0. An integer becomes the nearest float, of two the
    /// even one. Integers of the other sign keep their bits.
    ///
    /// # Errors
    /// Returns the errors of [`axpy`](Self::axpy).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Elementwise;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut y) = (ctx.array(&[2.9_f32, -1e20, f32::NAN])?, ctx.zeros::<i32, 1>([3])?);
    /// queue.cast(&x, &mut y)?;
    /// assert_eq!(queue.read(&y).wait()?, [2, i32::MIN, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn cast<T: Reducible, U: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<U, D>,
    ) -> Result<()>;

    /// *Enqueues* out = the elements of `x`, of which those below `low` become `low` and those above `high` become `high`. A
    /// NaN stays a NaN, and a limit that is a NaN limits nothing. If `low` is above `high`, the elements below `low` become
    /// `low`.
    ///
    /// # Errors
    /// Returns the errors of [`axpy`](Self::axpy).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Elementwise;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut y) = (ctx.array(&[-3_i32, 5, 300])?, ctx.zeros([3])?);
    /// queue.clamp(&x, 0, 255, &mut y)?;
    /// assert_eq!(queue.read(&y).wait()?, [0, 5, 255]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn clamp<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        low: T,
        high: T,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()>;

    /// *Enqueues* `out[i] = x[i]` where `mask[i]` is not zero, else `y[i]`. The bits are copied.
    ///
    /// # Errors
    /// Returns the errors of [`axpy`](Self::axpy).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Elementwise;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, y, mask) = (ctx.array(&[1.0_f32, 2.0])?, ctx.zeros([2])?, ctx.array(&[0_u32, 1])?);
    /// let mut out = ctx.zeros([2])?;
    /// queue.where_(&mask, &x, &y, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [0.0, 2.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn where_<T: Reducible, const D: usize>(
        &self,
        mask: &DeviceArray<u32, D>,
        x: &DeviceArray<T, D>,
        y: &DeviceArray<T, D>,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()>;
}

impl Elementwise for CommandQueue {
    #[track_caller]
    fn iota<T: Reducible, const D: usize>(
        &self,
        out: &mut DeviceArray<T, D>,
        start: T,
        step: T,
    ) -> Result<()> {
        iota(&VerbQueue::new(self, "iota"), out, start, step)
    }

    #[track_caller]
    fn axpy<T: Reducible, const D: usize>(
        &self,
        a: T,
        x: &DeviceArray<T, D>,
        y: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "axpy");
        same_shape(queue, x, "y", y)?;
        let x = flat(x)?;
        let mut y = flat(y)?;
        let kernel = compiled::<T>(queue, "saxpy", &WIDE)?;
        let grid = Grid::threads([y.len()]);
        let x = (Some("x".into()), (&x).into_arg());
        let y = (Some("y".into()), (&mut y).into_arg());
        queue.launch_dyn(&kernel, grid, [value("a", a), x, y])
    }

    #[track_caller]
    fn cast<T: Reducible, U: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        out: &mut DeviceArray<U, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "cast");
        same_shape(queue, x, "out", out)?;
        let x = bits(x)?;
        let mut out = bits(out)?;
        let overrides = [("FROM", type_number::<T>()), ("TO", type_number::<U>())];
        let kernel = trusted::kernel_with::<ConvertArgs>(queue, &overrides)?;
        let args = ConvertArgs { n: x.len() as u32, x: &x, out: &mut out };
        queue.launch(&kernel, Grid::threads([x.len()]), args)
    }

    #[track_caller]
    fn clamp<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        low: T,
        high: T,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "clamp");
        same_shape(queue, x, "out", out)?;
        let x = bits(x)?;
        let mut out = bits(out)?;
        let [low, high] = [low.to_word(), high.to_word()];
        let kernel = trusted::kernel_with::<LimitArgs>(queue, &[("TYPE", type_number::<T>())])?;
        let args = LimitArgs { n: x.len() as u32, low, high, x: &x, out: &mut out };
        queue.launch(&kernel, Grid::threads([x.len()]), args)
    }

    #[track_caller]
    fn where_<T: Reducible, const D: usize>(
        &self,
        mask: &DeviceArray<u32, D>,
        x: &DeviceArray<T, D>,
        y: &DeviceArray<T, D>,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "where_");
        same_shape(queue, x, "mask", mask)?;
        same_shape(queue, x, "y", y)?;
        same_shape(queue, x, "out", out)?;
        let mask = flat(mask)?;
        let x = bits(x)?;
        let y = bits(y)?;
        let mut out = bits(out)?;
        let kernel = trusted::kernel::<ChooseArgs>(queue)?;
        let args = ChooseArgs { n: x.len() as u32, mask: &mask, x: &x, y: &y, out: &mut out };
        queue.launch(&kernel, Grid::threads([x.len()]), args)
    }
}

/// Enqueues `out[i] = start + i * step`.
#[track_caller]
pub(crate) fn iota<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    out: &DeviceArray<T, D>,
    start: T,
    step: T,
) -> Result<()> {
    let mut out = flat(out)?;
    let kernel = compiled::<T>(queue, "iota", &WIDE)?;
    let grid = Grid::threads([out.len()]);
    let args = [value("start", start), value("step", step), (Some("out".into()), (&mut out).into_arg())];
    queue.launch_dyn(&kernel, grid, args)
}

#[derive(KernelArgs)]
#[kernel(source = "convert.wgsl", crate = fencepost_kernels)]
pub(crate) struct ConvertArgs<'a> {
    pub(crate) n: u32,
    pub(crate) x: &'a DeviceArray<u32>,
    pub(crate) out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "limit.wgsl", crate = fencepost_kernels)]
struct LimitArgs<'a> {
    n: u32,
    low: u32,
    high: u32,
    x: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "choose.wgsl", crate = fencepost_kernels)]
struct ChooseArgs<'a> {
    n: u32,
    mask: &'a DeviceArray<u32>,
    x: &'a DeviceArray<u32>,
    y: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

/// Returns an error if the shape of an array differs from the shape of another array.
pub(crate) fn same_shape<T: Element, U: Element, const D: usize>(
    queue: &VerbQueue<'_>,
    first: &DeviceArray<T, D>,
    argument: &str,
    other: &DeviceArray<U, D>,
) -> Result<()> {
    if first.shape() == other.shape() {
        return Ok(());
    }
    Err(queue.wrong_shape(argument, other, first.shape(), "all arrays of the call have one shape"))
}

/// Returns an array with one dimension.
pub(crate) fn flat<T: Element, const D: usize>(x: &DeviceArray<T, D>) -> Result<DeviceArray<T>> {
    x.reshape([x.len()])
}

/// Returns an array as words with one dimension. Its elements have whole words.
pub(crate) fn words<T: Element, const D: usize>(x: &DeviceArray<T, D>) -> Result<DeviceArray<u32>> {
    Ok(fencepost_core::words(&flat(x)?))
}

/// Returns an array as bits with one dimension.
pub(crate) fn bits<T: Element + SameBits<u32>, const D: usize>(
    x: &DeviceArray<T, D>,
) -> Result<DeviceArray<u32>> {
    Ok(flat(x)?.cast_bits())
}
