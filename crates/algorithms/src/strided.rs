//! Copies between places with strides.

use crate::elementwise::bits;
use crate::reducible::Reducible;
use crate::trusted;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, ErrorDetail, Grid, Result, Strides};
use fencepost_derive::KernelArgs;

/// Maximum number of axes with more than one element: the number of axes of the kernel.
pub(crate) const MOST_AXES: usize = 6;

/// Returns an error if a place is outside the array. Each axis of the shape must have an element.
fn check_range<const R: usize>(
    places: &Strides<R>,
    shape: [usize; R],
    array: &str,
    len: usize,
) -> Result<()> {
    let [low, high] = ends(places.first, &shape, &places.strides);
    if low >= 0 && high < len as i128 {
        return Ok(());
    }
    let object = format!("the range of the places of a strided copy in array `{array}`");
    let found = format!("{low}..={high} of {len} elements");
    Err(ErrorDetail::Value { object, found, needed: "a range inside of the array" }.into())
}

/// Returns the least and the greatest place for the indices of a shape. Each axis must have an element.
pub(crate) fn ends(first: usize, shape: &[usize], strides: &[isize]) -> [i128; 2] {
    let ends = shape.iter().zip(strides).map(|(&count, &stride)| (count as i128 - 1) * stride as i128);
    let mut low = first as i128;
    let mut high = first as i128;
    for end in ends {
        low = low.saturating_add(end.min(0));
        high = high.saturating_add(end.max(0));
    }
    [low, high]
}

/// Returns an error if two places may be equal. Each axis of the shape must have an element.
fn check_distinct<const R: usize>(places: &Strides<R>, shape: [usize; R], array: &str) -> Result<()> {
    let mut axes: Vec<(u128, u128)> = shape
        .iter()
        .zip(places.strides)
        .filter(|(count, _)| **count > 1)
        .map(|(&count, stride)| (stride.unsigned_abs() as u128, count as u128 - 1))
        .collect();
    axes.sort_unstable();
    let mut reach = 0_u128;
    for (stride, steps) in axes {
        if stride <= reach {
            let object = format!("the strides of a strided copy to array `{array}`");
            let found = format!("{:?} for the shape {shape:?}", places.strides);
            let needed = "a stride for each axis that is longer than the way along all axes with shorter strides, so \
                          that no two elements have one place";
            return Err(ErrorDetail::Value { object, found, needed }.into());
        }
        reach = reach.saturating_add(stride.saturating_mul(steps));
    }
    Ok(())
}

/// Checks the places of a copy with at least one element. The arrays have names and lengths.
pub fn check_places<const R: usize>(
    shape: [usize; R],
    (x, len, from): (&str, usize, &Strides<R>),
    (out, out_len, to): (&str, usize, &Strides<R>),
) -> Result<()> {
    check_range(from, shape, x, len)?;
    check_range(to, shape, out, out_len)?;
    check_distinct(to, shape, out)?;
    let axes = shape.iter().filter(|&&count| count > 1).count();
    if axes <= MOST_AXES {
        return Ok(());
    }
    let object = "the number of axes of a strided copy".into();
    let found = format!("{axes} in the shape {shape:?}");
    Err(ErrorDetail::Value { object, found, needed: "a shape with at most 6 axes of more than one element" }
        .into())
}

#[track_caller]
pub(crate) fn copy_strided<T: Reducible, const R: usize, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    shape: [usize; R],
    x: &DeviceArray<T, D>,
    from: Strides<R>,
    out: &mut DeviceArray<T, E>,
    to: Strides<R>,
) -> Result<()> {
    let x = bits(x)?;
    let mut out = bits(out)?;
    let is_empty = shape.contains(&0);
    if !is_empty {
        check_places(shape, (x.label(), x.len(), &from), (out.label(), out.len(), &to))?;
    }
    let axes = shape.iter().zip(from.strides.iter().zip(to.strides));
    let axes = axes.map(|(&count, (&from, to))| CopiedAxis { count, from, to });
    copy_axes(queue, &axes.collect::<Vec<_>>(), (&x, from.first), (&mut out, to.first))
}

/// An axis of a strided copy: its count, and the distances of neighbours in both arrays.
#[derive(Clone, Copy)]
pub(crate) struct CopiedAxis {
    pub(crate) count: usize,
    pub(crate) from: isize,
    pub(crate) to: isize,
}

/// Enqueues a strided copy from a place on, whose places are in the arrays and are distinct in `out`. At most
/// [`MOST_AXES`] axes may have more than one element.
#[track_caller]
pub(crate) fn copy_axes(
    queue: &VerbQueue<'_>,
    axes: &[CopiedAxis],
    (x, first_from): (&DeviceArray<u32>, usize),
    (out, first_to): (&mut DeviceArray<u32>, usize),
) -> Result<()> {
    // The places in `out` are distinct, so there are no more elements than in the array.
    let is_empty = axes.iter().any(|axis| axis.count == 0);
    let n = if is_empty { 0 } else { axes.iter().map(|axis| axis.count).product::<usize>() };
    let mut of_kernel = [CopiedAxis { count: 1, from: 0, to: 0 }; MOST_AXES];
    let used = axes.iter().filter(|axis| axis.count > 1);
    for (axis, used) in of_kernel.iter_mut().rev().zip(used.rev()) {
        *axis = *used;
    }
    let count = |axis: usize| of_kernel[axis].count as u32;
    // Products with indices wrap, so the lowest bits of a negative stride suffice.
    let source = |axis: usize| of_kernel[axis].from as u32;
    let place = |axis: usize| of_kernel[axis].to as u32;
    let args = StridedArgs {
        n: n as u32,
        count_1: count(1),
        count_2: count(2),
        count_3: count(3),
        count_4: count(4),
        count_5: count(5),
        first_from: first_from as u32,
        from_0: source(0),
        from_1: source(1),
        from_2: source(2),
        from_3: source(3),
        from_4: source(4),
        from_5: source(5),
        first_to: first_to as u32,
        to_0: place(0),
        to_1: place(1),
        to_2: place(2),
        to_3: place(3),
        to_4: place(4),
        to_5: place(5),
        x,
        out,
    };
    queue.launch(&trusted::kernel::<StridedArgs>(queue)?, Grid::threads([n]), args)
}

#[derive(KernelArgs)]
#[kernel(source = "strided.wgsl", crate = fencepost_kernels)]
struct StridedArgs<'a> {
    n: u32,
    count_1: u32,
    count_2: u32,
    count_3: u32,
    count_4: u32,
    count_5: u32,
    first_from: u32,
    from_0: u32,
    from_1: u32,
    from_2: u32,
    from_3: u32,
    from_4: u32,
    from_5: u32,
    first_to: u32,
    to_0: u32,
    to_1: u32,
    to_2: u32,
    to_3: u32,
    to_4: u32,
    to_5: u32,
    x: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_that_pass_over_shorter_axes_are_distinct() {
        let distinct = |shape, strides| check_distinct(&Strides { first: 0, strides }, shape, "out").is_ok();
        assert!(distinct([2, 3], [3, 1]) && distinct([2, 3], [1, -2]) && distinct([1, 3], [0, 5]));
        assert!(!distinct([2, 3], [2, 1]) && !distinct([2, 1], [0, 1]) && !distinct([2, 2], [-3, 3]));
        assert!(!distinct([usize::MAX, 2], [1, isize::MIN]) && distinct([usize::MAX, 1], [isize::MIN, 1]));
    }

    #[test]
    fn the_range_of_a_copy_has_its_least_and_its_greatest_place() {
        let fits = |first, strides, len| check_range(&Strides { first, strides }, [3, 2], "x", len).is_ok();
        assert!(fits(4, [-2, 1], 6) && !fits(4, [-2, 1], 5) && !fits(3, [-2, 1], 6));
        assert!(!fits(usize::MAX, [isize::MAX, isize::MAX], usize::MAX) && !fits(0, [isize::MIN, 0], 9));
    }
}
