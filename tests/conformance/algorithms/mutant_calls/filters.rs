//! Calls of filters of images.

use super::Calls;
use fencepost::algorithms::prelude::*;

/// Each kind of elements beside an image.
const BOUNDARIES: [Boundary<u32>; 6] = [
    Boundary::Reflect,
    Boundary::Mirror,
    Boundary::Nearest,
    Boundary::Wrap,
    Boundary::Constant(11),
    Boundary::Valid,
];

/// Numbers of images, rows, columns and channels, and of weights along the columns and the rows: with several images and
/// channels, with remainders of the rows of an invocation and of the sides of a tile, and images smaller than the filter.
const SHAPES: [([usize; 4], [usize; 2]); 6] = [
    ([1, 12, 24, 1], [3, 3]),
    ([1, 13, 9, 1], [2, 5]),
    ([2, 6, 12, 2], [4, 3]),
    ([3, 5, 6, 1], [5, 2]),
    ([1, 3, 2, 1], [8, 9]),
    ([1, 30, 1, 3], [1, 4]),
];

/// First of the second results in an array.
const SECOND: usize = 384;

impl Calls {
    pub(super) fn filters(&mut self) {
        for (shape, taps) in SHAPES {
            let [images, height, width, channels] = shape;
            for boundary in BOUNDARIES {
                let results = |n: usize, taps: usize| match boundary {
                    Boundary::Valid => (n + 1).saturating_sub(taps),
                    _ => n,
                };
                let of_results = [images, results(height, taps[0]), results(width, taps[1]), channels];
                let count = of_results.iter().product::<usize>();
                if count == 0 {
                    continue;
                }
                let filter = Filter::default().boundary(boundary).channels_last();
                self.add(format!("filters of {shape:?} by {taps:?}, {boundary:?}"), move |q, a| {
                    let x = a.y.slice(0..shape.iter().product())?.reshape(shape)?;
                    let weights = a.sorted.slice(192..192 + taps[0] * taps[1])?.reshape(taps)?;
                    let mut first = a.out.slice(0..count)?.reshape(of_results)?;
                    q.convolve_2d(&x, &weights, &mut first, filter)?;
                    let mut second = a.other.slice(0..count)?.reshape(of_results)?;
                    q.correlate_2d(&x, &weights, &mut second, filter)?;
                    let down = a.sorted.slice(192..192 + taps[0])?;
                    let across = a.sorted.slice(128..128 + taps[1])?;
                    let mut first = a.both.slice(0..count)?.reshape(of_results)?;
                    q.convolve_separable(&x, &down, &across, &mut first, filter)?;
                    let mut second = a.both.slice(SECOND..SECOND + count)?.reshape(of_results)?;
                    q.correlate_separable(&x, &down, &across, &mut second, filter)
                });
            }
        }
        // A NaN belongs to the results around it alone.
        self.add("filters of NaNs", |q, a| {
            let x = a.numbers.slice(0..20 * 16)?.reshape([20, 16])?;
            let weights = q.array(&[0.25_f32, -1.0, 0.5, 2.0, 0.125, 1.0])?;
            let mut out = a.floats().slice(0..20 * 16)?.reshape([20, 16])?;
            q.correlate_2d(&x, &weights.reshape([2, 3])?, &mut out, Filter::default())?;
            let mut other = a.other.cast_bits::<f32>().slice(0..20 * 16)?.reshape([20, 16])?;
            let weights = weights.slice(0..3)?;
            let edges = Filter::default().boundary(Boundary::Constant(0.5));
            q.convolve_separable(&x, &weights, &weights, &mut other, edges)
        });
    }
}
