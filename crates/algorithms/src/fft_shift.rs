//! The order of the frequencies of a Fourier transform.

use crate::axis::View;
use crate::elementwise::{same_shape, words};
use crate::refusals::check;
use crate::strided::{CopiedAxis, MOST_AXES, copy_axes};
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{DeviceArray, Element, ErrorDetail, Over, Parts, Result};

/// Returns the frequencies of a Fourier transform of `n` samples, as in `numpy.fft.fftfreq`: 0, the positive ones, and
/// then the negative ones. `spacing` is the time between two samples.
///
/// # Example
/// ```
/// use fencepost::algorithms::fftfreq;
/// assert_eq!(fftfreq(4, 0.5), [0.0, 0.5, -1.0, -0.5]);
/// assert_eq!(fftfreq(5, 0.2), [0.0, 1.0, 2.0, -2.0, -1.0]);
/// ```
pub fn fftfreq(n: usize, spacing: f64) -> Vec<f32> {
    let positive = n.div_ceil(2);
    let number = |k: usize| if k < positive { k as f64 } else { k as f64 - n as f64 };
    (0..n).map(|k| (number(k) / (n as f64 * spacing)) as f32).collect()
}

/// Returns the frequencies of the spectrum of `n` real samples, as in `numpy.fft.rfftfreq`. `spacing` is the time
/// between two samples.
///
/// # Example
/// ```
/// use fencepost::algorithms::rfftfreq;
/// assert_eq!(rfftfreq(4, 0.5), [0.0, 0.5, 1.0]);
/// ```
pub fn rfftfreq(n: usize, spacing: f64) -> Vec<f32> {
    // No samples have no frequencies.
    let count = if n == 0 { 0 } else { n / 2 + 1 };
    (0..count).map(|k| (k as f64 / (n as f64 * spacing)) as f32).collect()
}

/// Enqueues the array with its first half exchanged with its second one, along one axis or along all of them. Of an odd
/// number of elements, the middle one belongs to the first half, or to the second one if `inverse`.
#[track_caller]
pub(crate) fn shift<T: Element, const D: usize>(
    queue: &VerbQueue<'_>,
    x: Over<'_, T, D>,
    inverse: bool,
    out: &DeviceArray<T, D>,
) -> Result<()> {
    let array = x.array();
    same_shape(queue, array, "out", out)?;
    let size = T::DTYPE.size() / size_of::<u32>();
    if size * size_of::<u32>() != T::DTYPE.size() {
        let object = format!("{}, argument `x`: the type of the elements", subject(queue.verb));
        let needed = "a type of whole words";
        return Err(ErrorDetail::Value { object, found: format!("`{}`", T::DTYPE), needed }.into());
    }
    // The words of an element are an axis of their own, along which nothing moves.
    let mut counts: Vec<(usize, bool)> = match x.parts() {
        Parts::Whole => array.shape().map(|count| (count, true)).to_vec(),
        Parts::Axis(axis) => {
            let View { outer, n, inner } = View::along(queue, array, axis)?;
            vec![(outer, false), (n, true), (inner, false)]
        }
        _ => {
            let object = format!("{}, argument `x`: the kind of its parts", subject(queue.verb));
            let found = "segments or first elements".into();
            return Err(ErrorDetail::Value { object, found, needed: "a whole array or an axis" }.into());
        }
    };
    counts.push((size, false));
    counts.retain(|&(count, _)| count != 1);
    let x = words(array)?;
    let mut out = words(out)?;
    check(queue, &[("x", &x)], &[("out", &out)])?;
    if x.is_empty() {
        return Ok(());
    }
    if counts.len() > MOST_AXES {
        let object = format!("{}, argument `x`: the number of axes", subject(queue.verb));
        let found = counts.len().to_string();
        let needed = "at most 6 axes of more than one element, with the words of an element counted as one,";
        return Err(ErrorDetail::Value { object, found, needed }.into());
    }
    let moving = counts.iter().filter(|(_, moves)| *moves).count();
    for block in 0..1_usize << moving {
        let MovedBlock { axes, from, to } = MovedBlock::of(&counts, block, inverse);
        copy_axes(queue, &axes, (&x, from), (&mut out, to))?;
    }
    Ok(())
}

/// Elements that stay together.
struct MovedBlock {
    axes: Vec<CopiedAxis>,
    from: usize,
    to: usize,
}

impl MovedBlock {
    /// Returns a block of an array with these axes, some of which move. Bit k of its number says which half of the k-th
    /// moving axis it has.
    fn of(counts: &[(usize, bool)], number: usize, inverse: bool) -> Self {
        let mut block = Self { axes: Vec::new(), from: 0, to: 0 };
        let mut rest = number;
        let mut stride = 1;
        for &(count, moves) in counts.iter().rev() {
            let mut own = count;
            if moves {
                // Number of elements that move to the end.
                let first = if inverse { count / 2 } else { count.div_ceil(2) };
                if rest.is_multiple_of(2) {
                    own = first;
                    block.to += (count - first) * stride;
                } else {
                    own = count - first;
                    block.from += first * stride;
                }
                rest /= 2;
            }
            block.axes.insert(0, CopiedAxis { count: own, from: stride as isize, to: stride as isize });
            stride *= count;
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_samples_have_no_frequencies() {
        assert!(fftfreq(0, 1.0).is_empty() && rfftfreq(0, 1.0).is_empty());
        assert_eq!((fftfreq(1, 1.0), rfftfreq(1, 1.0)), (vec![0.0], vec![0.0]));
    }

    #[test]
    fn blocks_move_each_element_to_one_place() {
        for inverse in [false, true] {
            let counts = [(5, true), (4, true), (2, false)];
            let mut moved = [usize::MAX; 40];
            for number in 0..4 {
                let MovedBlock { axes, from, to } = MovedBlock::of(&counts, number, inverse);
                let [rows, columns, words] = axes[..] else { panic!("three axes") };
                for (i, j, k) in (0..rows.count).flat_map(|i| {
                    (0..columns.count).flat_map(move |j| (0..words.count).map(move |k| (i, j, k)))
                }) {
                    moved[to + 8 * i + 2 * j + k] = from + 8 * i + 2 * j + k;
                }
            }
            let half = |n: usize| if inverse { n / 2 } else { n - n / 2 };
            let expected = (0..40).map(|at| {
                let [row, column, word] = [at / 8, at / 2 % 4, at % 2];
                (row + half(5)) % 5 * 8 + (column + half(4)) % 4 * 2 + word
            });
            assert!(moved.into_iter().eq(expected), "{moved:?}");
        }
    }
}
