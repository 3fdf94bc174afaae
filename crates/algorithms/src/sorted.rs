//! Verbs on sorted arrays.

use crate::counted::SizedKernel;
use crate::elementwise::{bits, flat, same_shape};
use crate::order::flips;
use crate::passes::checked_count;
use crate::reducible::Reducible;
use crate::trusted;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Grid, Prefix, Result};
use fencepost_derive::KernelArgs;

/// Where a query is placed among equal elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// Before the first equal element.
    Left,
    /// After the last equal element.
    Right,
}

#[track_caller]
pub(crate) fn merge<T: Reducible>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T>,
    y: &DeviceArray<T>,
    out: &mut DeviceArray<T>,
) -> Result<()> {
    let x = bits(x)?;
    let y = bits(y)?;
    let mut all = bits(out)?;
    if all.len() != x.len() + y.len() {
        let remedy = "the result has as many elements as both arrays together";
        return Err(queue.wrong_shape("out", &all, [x.len() + y.len()], remedy));
    }
    let n = x.len() as u32;
    let m = y.len() as u32;
    let invocations = all.len().div_ceil(OF_INVOCATION);
    let [flip_clear, flip_set] = flips::<T>(false);
    let args = MergeArgs { n, m, flip_clear, flip_set, x: &x, y: &y, out: &mut all };
    queue.launch(&trusted::kernel::<MergeArgs>(queue)?, Grid::threads([invocations]), args)
}

/// Number of elements that an invocation of `merge.wgsl` merges.
const OF_INVOCATION: usize = 8;

/// Enqueues the search for each query in a sorted array, or among its first elements.
#[track_caller]
pub(crate) fn searchsorted<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T>,
    queries: &DeviceArray<T, D>,
    side: Side,
    places: &DeviceArray<u32, D>,
) -> Result<()> {
    same_shape(queue, queries, "places", places)?;
    let count = checked_count(queue, x)?;
    let x = bits(x.array())?;
    let queries = bits(queries)?;
    let mut out = flat(places)?;
    let n = x.len() as u32;
    let m = out.len();
    let right = u32::from(side == Side::Right);
    let kernel = SizedKernel::<SearchSortedArgs<'static>>::compiled(queue, &[], count.as_ref())?;
    let [flip_clear, flip_set] = flips::<T>(false);
    let args = SearchSortedArgs {
        n,
        m: m as u32,
        flip_clear,
        flip_set,
        right,
        x: &x,
        queries: &queries,
        out: &mut out,
    };
    kernel.launch_each(queue, m, args)
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
