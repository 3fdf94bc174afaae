//! Verbs of sorted arrays.

use crate::elementwise::{bits, flat, same_shape};
use crate::order::flips;
use crate::reducible::Reducible;
use crate::trusted;
use crate::verb_queue::VerbQueue;
use fencepost_core::{CommandQueue, DeviceArray, Grid, Result};
use fencepost_derive::KernelArgs;

/// Place of a query among equal elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// Before the first equal element.
    Left,
    /// After the last equal element.
    Right,
}

/// Searches and merges sorted arrays.
///
/// An array is sorted if its elements ascend in the order of a [sort](crate::RadixSort): NaNs without the sign bit come
/// last, and -0 comes before +0. If an array is not sorted, the results are not specified.
///
/// # Cost
/// A verb takes one launch and no scratch memory.
///
/// # Determinism
/// The result is exact, on all devices.
pub trait Sorted {
    /// *Enqueues* places = the number of elements of `x` before each query. That is the place where the query keeps `x`
    /// sorted.
    ///
    /// # Shape
    /// `queries` has any shape, and `places` has the same one. A query reads about log2(n) elements of the n of `x`.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the shapes differ; [`Kind::Padding`](fencepost_core::Kind::Padding) if an
    /// array is padded; the errors of a launch, and the queue's own error.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::{Side, Sorted};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, queries) = (ctx.array(&[1.0_f32, 2.0, 2.0, 4.0])?, ctx.array(&[2.0, 3.0, 9.0])?);
    /// let mut places = ctx.zeros([3])?;
    /// queue.searchsorted(&x, &queries, Side::Left, &mut places)?;
    /// assert_eq!(queue.read(&places).wait()?, [1, 3, 4]);
    /// queue.searchsorted(&x, &queries, Side::Right, &mut places)?;
    /// assert_eq!(queue.read(&places).wait()?, [3, 3, 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn searchsorted<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T>,
        queries: &DeviceArray<T, D>,
        side: Side,
        places: &mut DeviceArray<u32, D>,
    ) -> Result<()>;

    /// *Enqueues* out = the elements of the sorted arrays `x` and `y` in ascending order.
    ///
    /// # Shape
    /// `out` has as many elements as `x` and `y` together. Each element is written once. Eight of them take two
    /// searches of about log2(n) elements.
    ///
    /// # Errors
    /// [`Kind::Shape`](fencepost_core::Kind::Shape) if the numbers of elements do not fit;
    /// [`Kind::Padding`](fencepost_core::Kind::Padding) if an array is padded; the errors of a launch, and the queue's own error.
    ///
    /// # Source
    /// Each invocation finds the part of both arrays that it merges, as in Oded Green, Robert McColl and David Bader,
    /// *GPU Merge Path*, 2012.
    ///
    /// # Example
    /// ```
    /// use fencepost::algorithms::Sorted;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, y, mut out) = (ctx.array(&[1_i32, 4])?, ctx.array(&[-2, 4, 9])?, ctx.zeros([5])?);
    /// queue.merge(&x, &y, &mut out)?;
    /// assert_eq!(queue.read(&out).wait()?, [-2, 1, 4, 4, 9]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    fn merge<T: Reducible>(
        &self,
        x: &DeviceArray<T>,
        y: &DeviceArray<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()>;
}

impl Sorted for CommandQueue {
    #[track_caller]
    fn searchsorted<T: Reducible, const D: usize>(
        &self,
        x: &DeviceArray<T>,
        queries: &DeviceArray<T, D>,
        side: Side,
        places: &mut DeviceArray<u32, D>,
    ) -> Result<()> {
        searchsorted(&VerbQueue::new(self, "searchsorted"), x, queries, side, places)
    }

    #[track_caller]
    fn merge<T: Reducible>(
        &self,
        x: &DeviceArray<T>,
        y: &DeviceArray<T>,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        let queue = &VerbQueue::new(self, "merge");
        let x = bits(x)?;
        let y = bits(y)?;
        let mut all = bits(out)?;
        if all.len() != x.len() + y.len() {
            let remedy = "two merged arrays have as many elements as both together";
            return Err(queue.wrong_shape("out", &all, [x.len() + y.len()], remedy));
        }
        let n = x.len() as u32;
        let m = y.len() as u32;
        let invocations = all.len().div_ceil(OF_INVOCATION);
        let [flip_clear, flip_set] = flips::<T>(false);
        let args = MergeArgs { n, m, flip_clear, flip_set, x: &x, y: &y, out: &mut all };
        queue.launch(&trusted::kernel::<MergeArgs>(queue)?, Grid::threads([invocations]), args)
    }
}

/// Number of elements that an invocation of `merge.wgsl` merges.
const OF_INVOCATION: usize = 8;

/// Enqueues the search of each query in a sorted array.
#[track_caller]
pub(crate) fn searchsorted<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T>,
    queries: &DeviceArray<T, D>,
    side: Side,
    places: &DeviceArray<u32, D>,
) -> Result<()> {
    same_shape(queue, queries, "places", places)?;
    let x = bits(x)?;
    let queries = bits(queries)?;
    let mut out = flat(places)?;
    let n = x.len() as u32;
    let m = out.len() as u32;
    let right = u32::from(side == Side::Right);
    let ([flip_clear, flip_set], x, queries, out) = (flips::<T>(false), &x, &queries, &mut out);
    let args = SearchSortedArgs { n, m, flip_clear, flip_set, right, x, queries, out };
    queue.launch(&trusted::kernel::<SearchSortedArgs>(queue)?, Grid::threads([m]), args)
}

#[derive(KernelArgs)]
#[kernel(source = "search_sorted.wgsl", crate = fencepost_kernels)]
struct SearchSortedArgs<'a> {
    n: u32,
    m: u32,
    flip_clear: u32,
    flip_set: u32,
    right: u32,
    x: &'a DeviceArray<u32>,
    queries: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "merge.wgsl", crate = fencepost_kernels)]
struct MergeArgs<'a> {
    n: u32,
    m: u32,
    flip_clear: u32,
    flip_set: u32,
    x: &'a DeviceArray<u32>,
    y: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}
