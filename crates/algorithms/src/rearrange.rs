//! Verbs that move elements to other places.

use crate::counted::SizedKernel;
use crate::elementwise::{bits, clamp, flat, same_shape};
use crate::grid::folded;
use crate::passes::checked_count;
use crate::permutation::{Axes, Moves};
use crate::reducible::Reducible;
use crate::refusals::check;
use crate::trusted;
use crate::tuning::barriers_are_dear;
use crate::variants::{TILE, Tunable, chosen};
use crate::verb_queue::VerbQueue;
use crate::weighted::add_floats;
use fencepost_core::{DeviceArray, Grid, Prefix, Result, Scalar};
use fencepost_derive::KernelArgs;
use fencepost_kernels::PART_COUNT;

/// Treatment of places outside the array in a gather.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Outside {
    /// The result is 0.
    #[default]
    Zero,
    /// The result is the last element of the array, or 0 if the array is empty.
    Last,
}

#[track_caller]
pub(crate) fn gather<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    places: Prefix<'_, u32, E>,
    outside: Outside,
    out: &mut DeviceArray<T, E>,
) -> Result<()> {
    same_shape(queue, places.array(), "out", out)?;
    let first = checked_count(queue, places)?;
    let x = bits(x)?;
    let list = flat(places.array())?;
    let mut results = bits(out)?;
    if x.is_empty() {
        let first = first.as_ref().map(|first| (PART_COUNT, first));
        let reads: Vec<_> = [("x", &x), ("places", &list)].into_iter().chain(first).collect();
        check(queue, &reads, &[("out", &results)])?;
        // No place is inside of the array, so each result is 0.
        return clamp(queue, places, 0, 0, &mut out.cast_bits());
    }
    let of_last = if outside == Outside::Last { 1.0 } else { 0.0 };
    let kernel = SizedKernel::<GatherArgs<'static>>::compiled(queue, &[("CLAMP", of_last)], first.as_ref())?;
    let n = list.len() as u32;
    let count = x.len() as u32;
    kernel.launch_each(queue, list.len(), GatherArgs { n, count, x: &x, places: &list, out: &mut results })
}

#[track_caller]
pub(crate) fn scatter<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T, E>,
    places: &DeviceArray<u32, E>,
    out: &mut DeviceArray<T, D>,
) -> Result<()> {
    same_shape(queue, places, "x", x.array())?;
    let first = checked_count(queue, x)?;
    let x = bits(x.array())?;
    let places = flat(places)?;
    let mut out = bits(out)?;
    let kernel = SizedKernel::<ScatterArgs<'static>>::compiled(queue, &[], first.as_ref())?;
    let n = x.len();
    let count = out.len() as u32;
    let args = ScatterArgs { n: n as u32, count, x: &x, places: &places, out: &mut out };
    kernel.launch_each(queue, n, args)
}

#[track_caller]
pub(crate) fn scatter_add<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T, E>,
    places: &DeviceArray<u32, E>,
    out: &mut DeviceArray<T, D>,
) -> Result<()> {
    same_shape(queue, places, "x", x.array())?;
    let first = checked_count(queue, x)?;
    let x = bits(x.array())?;
    let places = flat(places)?;
    let mut out = bits(out)?;
    if T::DTYPE.scalar() == Some(Scalar::F32) {
        return add_floats(queue, [&x, &places], first, &mut out);
    }
    let kernel = SizedKernel::<ScatterAddArgs<'static>>::compiled(queue, &[], first.as_ref())?;
    let n = x.len();
    let count = out.len() as u32;
    let args = ScatterAddArgs { n: n as u32, count, x: &x, places: &places, out: &mut out };
    kernel.launch_each(queue, n, args)
}

/// Enqueues the copy of an array with its axes permuted.
#[track_caller]
pub(crate) fn permute<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    axes: [usize; D],
    out: &DeviceArray<T, D>,
) -> Result<()> {
    let moves = Moves::of(queue, x, axes, out)?;
    // Only the exchange of two axes has variants.
    let chosen_tile = match moves {
        Moves::Transpositions { .. } => chosen(queue, Tunable::Transpose, x.len()).get(TILE),
        _ => None,
    };
    let usual = if barriers_are_dear(queue) { 0 } else { USUAL_TILE };
    let tile = chosen_tile.map_or(usual, |tile| tile as usize);
    let moves = if tile == 0 { moves.without_tiles() } else { moves };
    let x = bits(x)?;
    let mut out = bits(out)?;
    match moves {
        Moves::None => {
            // A plain copy would accept overlapping arrays, which other permutations refuse.
            check(queue, &[("x", &x)], &[("out", &out)])?;
            queue.copy(&x, &mut out)
        }
        Moves::Transpositions { batches, rows, columns } => {
            let tiles_x = columns.div_ceil(tile);
            let tiles_y = rows.div_ceil(tile);
            let tiles = batches * tiles_x * tiles_y;
            let [rows, columns, tiles_x, tiles_y, count] =
                [rows, columns, tiles_x, tiles_y, tiles].map(|n| n as u32);
            let args = TransposeArgs { rows, columns, tiles_x, tiles_y, tiles: count, x: &x, out: &mut out };
            let overrides = chosen_tile.map(|tile| (TILE, f64::from(tile)));
            let kernel = trusted::kernel_with::<TransposeArgs>(queue, overrides.as_slice())?;
            queue.launch(&kernel, Grid::groups(folded(tiles)), args)
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

/// Number of rows, and of columns, of a tile in the kernel, unless a table chooses another one.
const USUAL_TILE: usize = 16;

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
