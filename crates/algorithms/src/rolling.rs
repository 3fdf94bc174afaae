//! Medians, smallest and largest elements of windows.

use crate::elementwise::{bits, flat, same_shape};
use crate::reducible::Reducible;
use crate::refusals::{Named, check};
use crate::trusted;
use crate::typed_kernel::type_number;
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{DeviceArray, Error, ErrorDetail, Grid, Result, Scalar};
use fencepost_derive::KernelArgs;

/// Maximum number of elements of a window, so that the loops of the kernel have few rounds.
const MOST_IN_WINDOW: usize = 2048;

/// Windows of a [`rolling`](crate::Algorithms::rolling), and the result of each.
///
/// The widths are numbers of elements along each axis. They are odd, because a window has its center at an element. A
/// window ends at the ends of the array: there it has fewer elements. At most two axes have a width above 1, and a
/// window has at most 2,048 elements.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let x = ctx.array(&[1.0_f32, 9.0, 2.0, 3.0, 8.0])?;
/// let flags = ctx.array(&[0_u32, 1, 0, 0, 0])?;
/// let mut out = ctx.zeros([5])?;
/// queue.rolling(&x, &mut out, Rolling::median([3]))?;
/// assert_eq!(queue.read(&out).wait()?, [5.0, 2.0, 3.0, 3.0, 5.5]);
/// queue.rolling(&x, &mut out, Rolling::median([3]).without(&flags))?;
/// assert_eq!(queue.read(&out).wait()?, [1.0, 1.5, 2.5, 3.0, 5.5]);
/// queue.rolling(&x, &mut out, Rolling::max([3]))?;
/// assert_eq!(queue.read(&out).wait()?, [9.0, 9.0, 9.0, 8.0, 8.0]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rolling<'a, const D: usize> {
    result: WindowResult,
    widths: [usize; D],
    skips_nan: bool,
    mask: Option<WindowMask<'a, D>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WindowResult {
    Median,
    Smallest,
    Largest,
}

/// Array that selects the elements of windows.
#[derive(Clone, Copy, Debug)]
struct WindowMask<'a, const D: usize> {
    array: &'a DeviceArray<u32, D>,
    /// `true` if elements are left out where the array is not 0, `false` if they are where it is 0.
    leaves_out: bool,
}

impl<'a, const D: usize> Rolling<'a, D> {
    /// Returns windows whose result is the median: the middle element, or the mean of the two in the middle. A mean of
    /// integers is rounded down.
    pub const fn median(widths: [usize; D]) -> Self {
        Self::of(WindowResult::Median, widths)
    }

    /// Returns windows whose result is the smallest element; -0 is smaller than +0.
    pub const fn min(widths: [usize; D]) -> Self {
        Self::of(WindowResult::Smallest, widths)
    }

    /// Returns windows whose result is the largest element; +0 is larger than -0.
    pub const fn max(widths: [usize; D]) -> Self {
        Self::of(WindowResult::Largest, widths)
    }

    const fn of(result: WindowResult, widths: [usize; D]) -> Self {
        Self { result, widths, skips_nan: false, mask: None }
    }

    /// Leaves NaNs out. Without it, a NaN makes the results of its windows NaNs.
    pub const fn skip_nan(self) -> Self {
        Self { skips_nan: true, ..self }
    }

    /// Leaves out the elements whose `mask` is 0. The mask has the shape of the array. It may also have length 1 along
    /// axes with a width of 1, if it has along all of those before, between or after the wider axes.
    pub const fn only(self, mask: &'a DeviceArray<u32, D>) -> Self {
        Self { mask: Some(WindowMask { array: mask, leaves_out: false }), ..self }
    }

    /// Leaves out the elements whose flag is not 0, with the rules of [`only`](Self::only) for the shape.
    pub const fn without(self, flags: &'a DeviceArray<u32, D>) -> Self {
        Self { mask: Some(WindowMask { array: flags, leaves_out: true }), ..self }
    }
}

/// Enqueues the result of the window around each element.
#[track_caller]
pub(crate) fn rolling<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    out: &DeviceArray<T, D>,
    rolling: Rolling<'_, D>,
) -> Result<()> {
    same_shape(queue, x, "out", out)?;
    let Rolling { result, widths, skips_nan, mask } = rolling;
    let axes = WindowAxes::of(queue, x.shape(), widths)?;
    let strides = match mask {
        Some(mask) => axes.strides_of_mask(mask.array.shape()).ok_or_else(|| wrong_mask(queue, x, mask))?,
        None => [0; 5],
    };
    let x = bits(x)?;
    let mut out = bits(out)?;
    let masks = mask.map(|mask| flat(mask.array)).transpose()?;
    let reads = [("x", &x)].into_iter().chain(masks.as_ref().map(|masks| ("mask", masks)));
    check(queue, &reads.collect::<Vec<Named<'_>>>(), &[("out", &out)])?;
    if x.is_empty() {
        return Ok(());
    }
    let is_float = T::DTYPE.scalar() == Some(Scalar::F32);
    let masked = mask.map_or(0.0, |mask| if mask.leaves_out { 2.0 } else { 1.0 });
    let overrides = [
        ("TYPE", type_number::<T>()),
        ("OPERATION", f64::from(result as u8)),
        ("SKIP_NAN", f64::from(skips_nan)),
        ("MASKED", masked),
    ];
    let kernel = trusted::kernel_with::<RollingArgs<'_>>(queue, &overrides)?;
    let [size_a, middle, size_b, inner] = [axes.sizes[1], axes.sizes[2], axes.sizes[3], axes.sizes[4]];
    let [half_a, half_b] = axes.halves.map(|half| half.min(x.len()) as u32);
    let [mask_outer, mask_a, mask_middle, mask_b, mask_inner] = strides.map(|stride| stride as u32);
    let args = RollingArgs {
        n: x.len() as u32,
        none: if is_float { f32::NAN.to_bits() } else { 0 },
        size_a: size_a as u32,
        middle: middle as u32,
        size_b: size_b as u32,
        inner: inner as u32,
        half_a,
        half_b,
        mask_outer,
        mask_a,
        mask_middle,
        mask_b,
        mask_inner,
        x: &x,
        mask: masks.as_ref().unwrap_or(&x),
        out: &mut out,
    };
    queue.launch(&kernel, Grid::threads([x.len()]), args)
}

/// Returns the error for a mask that does not fit the array.
fn wrong_mask<T: Reducible, const D: usize>(
    queue: &VerbQueue<'_>,
    x: &DeviceArray<T, D>,
    mask: WindowMask<'_, D>,
) -> Error {
    let remedy = "the mask has the shape of `x`, or length 1 along all axes before, between or after those of the windows";
    queue.wrong_shape("mask", mask.array, x.shape(), remedy)
}

/// An array seen as five axes. A window extends along the second and the fourth one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct WindowAxes<const D: usize> {
    shape: [usize; D],
    /// Axes of the windows, the first one first.
    axes: [usize; 2],
    sizes: [usize; 5],
    /// Number of elements on each side of the center.
    halves: [usize; 2],
}

impl<const D: usize> WindowAxes<D> {
    /// Returns the axes of the windows, or an error for widths that no window may have.
    fn of(queue: &VerbQueue<'_>, shape: [usize; D], widths: [usize; D]) -> Result<Self> {
        let refused = |needed: &'static str| {
            let object = format!("{}: the widths of a window", subject(queue.verb));
            Err(ErrorDetail::Value { object, found: format!("{widths:?}"), needed }.into())
        };
        if widths.iter().any(|width| width.is_multiple_of(2)) {
            return refused("an odd number of elements along each axis");
        }
        let wide: Vec<usize> = (0..D).filter(|&axis| widths[axis] > 1).collect();
        if wide.len() > 2 {
            return refused("a width above 1 along at most two axes");
        }
        if widths.iter().fold(1, |all: usize, &width| all.saturating_mul(width)) > MOST_IN_WINDOW {
            return refused("at most 2,048 elements of a window");
        }
        // An array of no axes, and a second axis of no windows, have one element.
        let [a, b] = match wide[..] {
            [a, b, ..] => [a, b],
            [a] => [a, D],
            [] => [D, D],
        };
        let product = |axes: &[usize]| axes.iter().product::<usize>();
        let size = |axis: usize| shape.get(axis).copied().unwrap_or(1);
        let between = if a < b { &shape[a + 1..b] } else { &[] };
        let sizes = [product(&shape[..a]), size(a), product(between), size(b), product(after(&shape, b))];
        let half = |axis: usize| widths.get(axis).map_or(0, |width| width / 2);
        Ok(Self { shape, axes: [a, b], sizes, halves: [half(a), half(b)] })
    }

    /// Returns the distances of the neighbours in a mask along the five axes, which are 0 along axes of one element.
    /// Returns `None` for a mask of another shape.
    fn strides_of_mask(&self, mask: [usize; D]) -> Option<[usize; 5]> {
        let [a, b] = self.axes;
        let between = |list: &[usize; D]| if a < b { list[a + 1..b].to_vec() } else { Vec::new() };
        let has = |of_mask: &[usize], of_shape: &[usize]| match of_mask == of_shape {
            true => Some(true),
            false => of_mask.iter().all(|&n| n == 1).then_some(false),
        };
        let of_axis = |axis: usize| mask.get(axis) == self.shape.get(axis);
        let is_full = [
            has(&mask[..a], &self.shape[..a])?,
            of_axis(a).then_some(true)?,
            has(&between(&mask), &between(&self.shape))?,
            of_axis(b).then_some(true)?,
            has(after(&mask, b), after(&self.shape, b))?,
        ];
        let mut strides = [0; 5];
        let mut next = 1;
        for axis in (0..5).rev().filter(|&axis| is_full[axis]) {
            strides[axis] = next;
            next *= self.sizes[axis];
        }
        Some(strides)
    }
}

/// Returns the lengths of the axes after one; of none after the last one.
fn after(shape: &[usize], axis: usize) -> &[usize] {
    shape.get(axis + 1..).unwrap_or_default()
}

#[derive(KernelArgs)]
#[kernel(source = "rolling.wgsl", crate = fencepost_kernels)]
struct RollingArgs<'a> {
    n: u32,
    none: u32,
    size_a: u32,
    middle: u32,
    size_b: u32,
    inner: u32,
    half_a: u32,
    half_b: u32,
    mask_outer: u32,
    mask_a: u32,
    mask_middle: u32,
    mask_b: u32,
    mask_inner: u32,
    x: &'a DeviceArray<u32>,
    mask: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}
