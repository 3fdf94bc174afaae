//! Verbs that compute each element of an array from the elements at the same place in other arrays.

use crate::counted::SizedKernel;
use crate::passes::checked_count;
use crate::reducible::Reducible;
use crate::tuning::WIDE;
use crate::typed_kernel::{compiled, type_number, value};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Element, Grid, IntoArg, Prefix, Result, SameBits};
use fencepost_derive::KernelArgs;

#[track_caller]
pub(crate) fn axpy<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    a: T,
    x: &DeviceArray<T, D>,
    y: &mut DeviceArray<T, D>,
) -> Result<()> {
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
pub(crate) fn cast<T: Reducible, U: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T, D>,
    out: &mut DeviceArray<U, D>,
) -> Result<()> {
    same_shape(queue, x.array(), "out", out)?;
    let count = checked_count(queue, x)?;
    let x = bits(x.array())?;
    let mut out = bits(out)?;
    let overrides = [("FROM", type_number::<T>()), ("TO", type_number::<U>())];
    let kernel = SizedKernel::<ConvertArgs<'static>>::compiled(queue, &overrides, count.as_ref())?;
    kernel.launch_each(queue, x.len(), ConvertArgs { n: x.len() as u32, x: &x, out: &mut out })
}

#[track_caller]
pub(crate) fn clamp<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Prefix<'_, T, D>,
    low: T,
    high: T,
    out: &mut DeviceArray<T, D>,
) -> Result<()> {
    same_shape(queue, x.array(), "out", out)?;
    let count = checked_count(queue, x)?;
    let x = bits(x.array())?;
    let mut out = bits(out)?;
    let [low, high] = [low.to_word(), high.to_word()];
    let overrides = [("TYPE", type_number::<T>())];
    let kernel = SizedKernel::<LimitArgs<'static>>::compiled(queue, &overrides, count.as_ref())?;
    kernel.launch_each(queue, x.len(), LimitArgs { n: x.len() as u32, low, high, x: &x, out: &mut out })
}

#[track_caller]
pub(crate) fn where_<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    mask: &DeviceArray<u32, D>,
    x: Prefix<'_, T, D>,
    y: &DeviceArray<T, D>,
    out: &mut DeviceArray<T, D>,
) -> Result<()> {
    same_shape(queue, x.array(), "mask", mask)?;
    same_shape(queue, x.array(), "y", y)?;
    same_shape(queue, x.array(), "out", out)?;
    let count = checked_count(queue, x)?;
    let mask = flat(mask)?;
    let x = bits(x.array())?;
    let y = bits(y)?;
    let mut out = bits(out)?;
    let kernel = SizedKernel::<ChooseArgs<'static>>::compiled(queue, &[], count.as_ref())?;
    let args = ChooseArgs { n: x.len() as u32, mask: &mask, x: &x, y: &y, out: &mut out };
    kernel.launch_each(queue, x.len(), args)
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

/// Returns an error if the shapes of two arrays differ.
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

/// Returns the array with one dimension.
pub(crate) fn flat<T: Element, const D: usize>(x: &DeviceArray<T, D>) -> Result<DeviceArray<T>> {
    x.reshape([x.len()])
}

/// Returns an array as words, with one dimension. Its elements must consist of whole words.
pub(crate) fn words<T: Element, const D: usize>(x: &DeviceArray<T, D>) -> Result<DeviceArray<u32>> {
    Ok(fencepost_core::words(&flat(x)?))
}

/// Returns the bits of an array's elements, with one dimension.
pub(crate) fn bits<T: Element + SameBits<u32>, const D: usize>(
    x: &DeviceArray<T, D>,
) -> Result<DeviceArray<u32>> {
    Ok(flat(x)?.cast_bits())
}
