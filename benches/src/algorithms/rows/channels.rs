use fencepost::algorithms::{Algorithms as _, ConvolveChannels};
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};
use rayon::prelude::*;

use super::Size;
use crate::cpu::case::{Case, Work};
use crate::cpu::cases::whole_floats;

/// Number of weights of a kernel along each axis of an image.
const TAPS: usize = 3;
/// Panic of a view with another number of elements.
const WRONG: &str = "bug: the matrix has other elements";

/// A layer with 3 x 3 weights for each channel, whose results are as large as the images.
#[derive(Clone, Copy)]
struct ImageLayer {
    images: usize,
    channels: usize,
    side: usize,
}

impl ImageLayer {
    fn plane(self) -> usize {
        self.side * self.side
    }

    /// Returns the number of weights of a kernel.
    fn inner(self) -> usize {
        self.channels * TAPS * TAPS
    }

    /// Returns, for a weight, each row of the results, the row of the image below it, and the columns of both that have an
    /// element.
    fn rows(self, tap: usize) -> impl Iterator<Item = (usize, usize, usize, usize, usize)> {
        let Self { side, .. } = self;
        let [down, across] = [tap / TAPS % TAPS, tap % TAPS];
        let first = 1_usize.saturating_sub(across);
        let count = side - across.abs_diff(1);
        let inside = (0..side).filter(move |row| (1..=side).contains(&(row + down)));
        inside.map(move |row| (row, row + down - 1, first, first + across - 1, count))
    }
}

/// Computes a layer with as many kernels as channels.
pub(super) fn layer(size: Size) -> Case {
    let layer = if size.quick {
        ImageLayer { images: 2, channels: 6, side: 16 }
    } else {
        ImageLayer { images: 4, channels: 64, side: 56 }
    };
    let ImageLayer { images, channels, side } = layer;
    let x = whole_floats(images * channels * layer.plane(), 88);
    let weights = whole_floats(channels * layer.inner(), 89);
    let expected = in_order(&x, &weights, layer);
    let products = images * channels * layer.plane() * layer.inner();
    let shape = [images, channels, side, side];
    Case::verb(
        [x, weights],
        expected,
        Work::of(2.0 * products as f64, "flop"),
        move |queue, [x, weights], out| {
            let weights = weights.reshape([channels, channels, TAPS, TAPS])?;
            let options = ConvolveChannels::default().padding([1, 1]);
            queue.convolve_channels(&x.reshape(shape)?, &weights, &mut out.reshape(shape)?, options)
        },
        move |[x, weights], out| plain(x, weights, out, layer),
    )
}

/// Computes the results in the order of the weights.
fn in_order(x: &[f32], weights: &[f32], layer: ImageLayer) -> Vec<f32> {
    let ImageLayer { channels, side, .. } = layer;
    let mut out = vec![0.0; x.len()];
    for (at, out) in out.chunks_mut(layer.plane()).enumerate() {
        let kernel = &weights[at % channels * layer.inner()..][..layer.inner()];
        let image = &x[at / channels * channels * layer.plane()..];
        for (tap, weight) in kernel.iter().enumerate() {
            let plane = &image[tap / (TAPS * TAPS) * layer.plane()..];
            for (row, below, first, from, count) in layer.rows(tap) {
                let x = &plane[below * side + from..][..count];
                let out = &mut out[row * side + first..][..count];
                out.iter_mut().zip(x).for_each(|(sum, x)| *sum += weight * x);
            }
        }
    }
    out
}

/// Copies the elements of the windows of an image to a matrix, and multiplies it by the crate `matrixmultiply`, which
/// ndarray calls, on all threads.
fn plain(x: &[f32], weights: &[f32], out: &mut [f32], layer: ImageLayer) {
    let ImageLayer { channels, side, .. } = layer;
    let [plane, inner] = [layer.plane(), layer.inner()];
    let share = channels.div_ceil(rayon::current_num_threads());
    let mut columns = vec![0.0; inner * plane];
    for (image, out) in x.chunks(channels * plane).zip(out.chunks_mut(channels * plane)) {
        columns.par_chunks_mut(plane).enumerate().for_each(|(tap, columns)| {
            columns.fill(0.0);
            let x = &image[tap / (TAPS * TAPS) * plane..];
            for (row, below, first, from, count) in layer.rows(tap) {
                columns[row * side + first..][..count].copy_from_slice(&x[below * side + from..][..count]);
            }
        });
        let right = ArrayView2::from_shape((inner, plane), &columns[..]).expect(WRONG);
        out.par_chunks_mut(share * plane).zip(weights.par_chunks(share * inner)).for_each(
            |(out, weights)| {
                let rows = out.len() / plane;
                let left = ArrayView2::from_shape((rows, inner), weights).expect(WRONG);
                let mut out = ArrayViewMut2::from_shape((rows, plane), out).expect(WRONG);
                general_mat_mul(1.0, &left, &right, 0.0, &mut out);
            },
        );
    }
}
