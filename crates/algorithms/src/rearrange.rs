//! Verbs that move elements to other places.

use crate::elementwise::{bits, flat, same_shape};
use crate::grid::folded;
use crate::permutation::{Axes, Moves};
use crate::reducible::Reducible;
use crate::refusals::check;
use crate::trusted;
use crate::tuning::barriers_are_dear;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Grid, Result};
use fencepost_derive::KernelArgs;

/// Treatment of places outside of the gathered array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Outside {
    /// The element is 0.
    #[default]
    Zero,
    /// The element is the last one of the array. Of an array without elements, it is 0.
    Last,
}

/// Is an element that is an integer: `i32` and `u32`.
pub trait Integer: Reducible {}

impl Integer for i32 {}
impl Integer for u32 {}

/// Moves elements to other places. The bits of elements are copied.
///
/// # Cost
/// A verb takes one launch or one copy, and no scratch memory.
pub trait Rearrange {
    /// *Enqueues* `out[i] = x[places[i]]`. The places count the elements of `x` in C order.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shapes of `places` and `out` differ, and the errors of
    /// [`CommandQueue::launch`].
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Outside, Rearrange};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, places) = (ctx.array(&[10, 11, 12])?, ctx.array(&[2_u32, 0, 9])?);
    /// let mut out = ctx.zeros([3])?;
    /// queue.gather(&x, &places, Outside::Zero, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [12, 10, 0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn gather<T: Reducible, const D: usize, const E: usize>(
        &self,
        x: &DeviceArray<T, D>,
        places: &DeviceArray<u32, E>,
        outside: Outside,
        out: &mut DeviceArray<T, E>,
    ) -> Result<()>;

    /// *Enqueues* `out[places[i]] = x[i]`. The places count the elements of `out` in C order. A place outside of `out` is left
    /// out, and so are the other elements of `out`.
    ///
    /// # Determinism
    /// Of several elements with one place, `out` has any. If the places differ, the result is the same on each device.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shapes of `x` and `places` differ, and the errors of
    /// [`CommandQueue::launch`].
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Rearrange;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, places) = (ctx.array(&[10, 11, 12])?, ctx.array(&[2_u32, 0, 9])?);
    /// let mut out = ctx.full([4], -1)?;
    /// queue.scatter(&x, &places, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [11, -1, 10, -1]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn scatter<T: Reducible, const D: usize, const E: usize>(
        &self,
        x: &DeviceArray<T, E>,
        places: &DeviceArray<u32, E>,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()>;

    /// *Enqueues* `out[places[i]] += x[i]`. Each element of `x` is added, and sums wrap. A place outside of `out` is left out.
    ///
    /// # Errors
    /// Returns the errors of [`scatter`](Self::scatter).
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Rearrange;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, places) = (ctx.array(&[1, 2, 4])?, ctx.array(&[2_u32, 0, 2])?);
    /// let mut out = ctx.full([3], 10)?;
    /// queue.scatter_add(&x, &places, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [12, 10, 15]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn scatter_add<T: Integer, const D: usize, const E: usize>(
        &self,
        x: &DeviceArray<T, E>,
        places: &DeviceArray<u32, E>,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()>;

    /// *Enqueues* out = `x` with rows and columns exchanged.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shape of `out` is not the shape of `x` with both counts
    /// exchanged, and the errors of [`CommandQueue::launch`].
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Rearrange;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[1, 2, 3, 4, 5, 6])?.reshape([2, 3])?;
    /// let mut out = ctx.zeros([3, 2])?;
    /// queue.transpose(&x, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn transpose<T: Reducible>(&self, x: &DeviceArray<T, 2>, out: &mut DeviceArray<T, 2>) -> Result<()>;

    /// *Enqueues* out = `x` with its axes in another order: axis `k` of `out` is axis `axes[k]` of `x`.
    ///
    /// # Algorithm
    /// Axes of one element are left out, and axes that stay neighbours count as one. If the last two of the others are
    /// exchanged, tiles of the array pass through the memory of workgroups. An order that moves no element is a copy, with the
    /// errors of the other orders.
    ///
    /// # Errors
    /// [`Kind::Value`](fencepost_core::Kind::Value) if `axes` does not name each axis once, or more than six axes are left;
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shape of `out` is another one, and the errors of
    /// [`CommandQueue::launch`].
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Rearrange;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.zeros::<f32, 4>([8, 3, 16, 20])?;           // pictures, colours, rows, columns
    /// let mut out = ctx.zeros([8, 16, 20, 3])?;
    /// queue.permute(&x, [0, 2, 3, 1], &mut out)?;             // pictures, rows, columns, colours
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn permute<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        axes: [usize; D],
        out: &mut DeviceArray<T, D>,
    ) -> Result<()>;
}

impl Rearrange for CommandQueue {
    #[track_caller]
    fn gather<T: Reducible, const D: usize, const E: usize>(
        &self,
        x: &DeviceArray<T, D>,
        places: &DeviceArray<u32, E>,
        outside: Outside,
        out: &mut DeviceArray<T, E>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "gather");
        same_shape(queue, places, "out", out)?;
        let x = bits(x)?;
        let places = flat(places)?;
        let mut out = bits(out)?;
        if x.is_empty() {
            check(queue, &[("x", &x), ("places", &places)], &[("out", &out)])?;
            return queue.fill(&mut out, 0);
        }
        let clamp = if outside == Outside::Last { 1.0 } else { 0.0 };
        let kernel = trusted::kernel_with::<GatherArgs>(queue, &[("CLAMP", clamp)])?;
        let n = out.len() as u32;
        let count = x.len() as u32;
        let args = GatherArgs { n, count, x: &x, places: &places, out: &mut out };
        queue.launch(&kernel, Grid::threads([places.len()]), args)
    }

    #[track_caller]
    fn scatter<T: Reducible, const D: usize, const E: usize>(
        &self,
        x: &DeviceArray<T, E>,
        places: &DeviceArray<u32, E>,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "scatter");
        same_shape(queue, places, "x", x)?;
        let x = bits(x)?;
        let places = flat(places)?;
        let mut out = bits(out)?;
        let kernel = trusted::kernel::<ScatterArgs>(queue)?;
        let n = x.len();
        let count = out.len() as u32;
        let args = ScatterArgs { n: n as u32, count, x: &x, places: &places, out: &mut out };
        queue.launch(&kernel, Grid::threads([n]), args)
    }

    #[track_caller]
    fn scatter_add<T: Integer, const D: usize, const E: usize>(
        &self,
        x: &DeviceArray<T, E>,
        places: &DeviceArray<u32, E>,
        out: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "scatter_add");
        same_shape(queue, places, "x", x)?;
        let x = bits(x)?;
        let places = flat(places)?;
        let mut out = bits(out)?;
        let kernel = trusted::kernel::<ScatterAddArgs>(queue)?;
        let n = x.len();
        let count = out.len() as u32;
        let args = ScatterAddArgs { n: n as u32, count, x: &x, places: &places, out: &mut out };
        queue.launch(&kernel, Grid::threads([n]), args)
    }

    #[track_caller]
    fn transpose<T: Reducible>(&self, x: &DeviceArray<T, 2>, out: &mut DeviceArray<T, 2>) -> Result<()> {
        permute(&VerbQueue::new(self, "transpose"), x, [1, 0], out)
    }

    #[track_caller]
    fn permute<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T, D>,
        axes: [usize; D],
        out: &mut DeviceArray<T, D>,
    ) -> Result<()> {
        permute(&VerbQueue::new(self, "permute"), x, axes, out)
    }
}

/// Enqueues the copy of an array with its dimensions in another order.
#[track_caller]
fn permute<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    axes: [usize; D],
    out: &DeviceArray<T, D>,
) -> Result<()> {
    let moves = Moves::of(queue, x, axes, out)?;
    let moves = if barriers_are_dear(queue) { moves.without_tiles() } else { moves };
    let x = bits(x)?;
    let mut out = bits(out)?;
    match moves {
        Moves::None => {
            // A copy accepts what no other order does: arrays that overlap.
            check(queue, &[("x", &x)], &[("out", &out)])?;
            queue.copy(&x, &mut out)
        }
        Moves::Transpositions { batches, rows, columns } => {
            let tiles_x = columns.div_ceil(TILE);
            let tiles_y = rows.div_ceil(TILE);
            let tiles = batches * tiles_x * tiles_y;
            let [rows, columns, tiles_x, tiles_y, count] =
                [rows, columns, tiles_x, tiles_y, tiles].map(|n| n as u32);
            let args = TransposeArgs { rows, columns, tiles_x, tiles_y, tiles: count, x: &x, out: &mut out };
            queue.launch(&trusted::kernel::<TransposeArgs>(queue)?, Grid::groups(folded(tiles)), args)
        }
        Moves::Axes(Axes { counts, strides }) => {
            let [_, count_1, count_2, count_3, count_4, count_5] = counts.map(|n| n as u32);
            let [stride_0, stride_1, stride_2, stride_3, stride_4, stride_5] = strides.map(|n| n as u32);
            let n = out.len();
            let args = PermuteArgs {
                n: n as u32,
                count_1,
                count_2,
                count_3,
                count_4,
                count_5,
                stride_0,
                stride_1,
                stride_2,
                stride_3,
                stride_4,
                stride_5,
                x: &x,
                out: &mut out,
            };
            queue.launch(&trusted::kernel::<PermuteArgs>(queue)?, Grid::threads([n]), args)
        }
    }
}

/// Number of rows, and of columns, of a tile in the kernel.
const TILE: usize = 16;

#[derive(KernelArgs)]
#[kernel(source = "gather.wgsl", crate = fencepost_kernels)]
struct GatherArgs<'a> {
    n: u32,
    count: u32,
    x: &'a DeviceArray<u32>,
    places: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "scatter.wgsl", crate = fencepost_kernels)]
struct ScatterArgs<'a> {
    n: u32,
    count: u32,
    x: &'a DeviceArray<u32>,
    places: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "scatter_add.wgsl", crate = fencepost_kernels)]
struct ScatterAddArgs<'a> {
    n: u32,
    count: u32,
    x: &'a DeviceArray<u32>,
    places: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "transpose.wgsl", crate = fencepost_kernels)]
struct TransposeArgs<'a> {
    rows: u32,
    columns: u32,
    tiles_x: u32,
    tiles_y: u32,
    tiles: u32,
    x: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "permute.wgsl", crate = fencepost_kernels)]
struct PermuteArgs<'a> {
    n: u32,
    count_1: u32,
    count_2: u32,
    count_3: u32,
    count_4: u32,
    count_5: u32,
    stride_0: u32,
    stride_1: u32,
    stride_2: u32,
    stride_3: u32,
    stride_4: u32,
    stride_5: u32,
    x: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}
