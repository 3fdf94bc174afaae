//! Calls of Fourier transforms, of convolutions, and of spectra of frames.

use super::super::verb_table::{Arrays, as_complex};
use super::{Calls, N};
use fencepost::algorithms::prelude::*;
use fencepost::{CommandQueue, DeviceArray, Result};

impl Calls {
    /// Transforms with each radix, in one pass and in several, of batches and of columns, and as convolutions.
    pub(super) fn transforms(&mut self) {
        // The results of all shapes have their places in `both`, which has 336 complex numbers.
        let shapes: [[usize; 3]; 10] = [
            [1, 168, 1],
            [2, 84, 1],
            [3, 8, 7],
            [4, 5, 8],
            [24, 7, 1],
            [5, 6, 5],
            [1, 10, 16],
            [7, 12, 2],
            [3, 11, 5],
            [1, 160, 1],
        ];
        for shape in shapes {
            let n = shape[1];
            let len = shape.iter().product();
            self.add(format!("fft {shape:?}"), move |q, a| {
                let plan = FftPlan::new(&q.context(), [n])?.axes([1])?;
                let x = complex_input(q, a, len)?.reshape(shape)?;
                let out = complex_output(a, len)?;
                q.fft(&plan, &x, &mut out.reshape(shape)?)
            });
            self.add(format!("ifft in place {shape:?}"), move |q, a| {
                let plan = FftPlan::new(&q.context(), [n])?.axes([1])?.norm(FftNorm::Ortho);
                let x = complex_input(q, a, len)?;
                let out = complex_output(a, len)?;
                q.copy(&x, &mut out.clone())?;
                q.ifft_in_place(&plan, &mut out.reshape(shape)?)
            });
            self.add(format!("rfft {shape:?}"), move |q, a| {
                let plan = RealFftPlan::new(&q.context(), [n])?.axes([1])?;
                let x = input(q, a, len)?.reshape(shape)?;
                let bins = [shape[0], n / 2 + 1, shape[2]];
                let out = complex_output(a, bins.iter().product())?;
                q.rfft(&plan, &x, &mut out.reshape(bins)?)
            });
            self.add(format!("irfft {shape:?}"), move |q, a| {
                let bins = [shape[0], n / 2 + 1, shape[2]];
                let plan = RealFftPlan::new(&q.context(), [n])?.axes([1])?.norm(FftNorm::Forward);
                let x = complex_input(q, a, bins.iter().product())?.reshape(bins)?;
                q.irfft(&plan, &x, &mut a.floats().slice(0..len)?.reshape(shape)?)
            });
        }
        self.add("fft of two axes", |q, a| {
            let plan = FftPlan::new(&q.context(), [12, 7])?.axes([0, 2])?;
            let x = complex_input(q, a, 168)?.reshape([12, 2, 7])?;
            q.fft(&plan, &x, &mut complex_output(a, 168)?.reshape([12, 2, 7])?)
        });
        self.add("irfft of two axes", |q, a| {
            let plan = RealFftPlan::new(&q.context(), [5, 26])?;
            let x = complex_input(q, a, 140)?.reshape([2, 5, 14])?;
            q.irfft(&plan, &x, &mut a.floats().slice(0..260)?.reshape([2, 5, 26])?)
        });
    }

    /// Convolutions, and spectra of frames.
    pub(super) fn signals(&mut self) {
        for mode in [ConvolveMode::Full, ConvolveMode::Same, ConvolveMode::Valid] {
            for m in [1, 3, 7, 40] {
                self.add(format!("convolve {m} {mode:?}"), move |q, a| {
                    let all = input(q, a, N)?;
                    let x = all.slice(0..150)?.reshape([3, 50])?;
                    let weights = all.slice(192..192 + m)?;
                    let size = match mode {
                        ConvolveMode::Full => 49 + m,
                        ConvolveMode::Same => 50,
                        _ => 51 - m,
                    };
                    let mut out = a.floats().slice(0..3 * size)?.reshape([3, size])?;
                    q.convolve(&x, &weights, mode, &mut out)?;
                    let mut out = a.both.cast_bits().slice(0..3 * size)?.reshape([3, size])?;
                    q.correlate(&x, &weights, mode, &mut out)
                });
            }
        }
        // Frames with and without zeros around them, of even and of odd lengths, that overlap or leave gaps.
        for (width, hop, n) in [(8, 3, 8), (7, 7, 9), (10, 4, 16), (5, 8, 22), (12, 6, 13)] {
            for centered in [false, true] {
                let plan = move |q: &CommandQueue| -> Result<StftPlan> {
                    let window = Window::Gaussian { deviation: 3.0 }.symmetric(width);
                    let plan = StftPlan::padded(&q.context(), &window, hop, n)?;
                    Ok(if centered { plan.centered() } else { plan })
                };
                self.add(format!("stft {width} {hop} {n} {centered}"), move |q, a| {
                    let plan = plan(q)?;
                    let x = input(q, a, 78)?.reshape([2, 39])?;
                    let shape = [2, plan.frames(39), plan.bins()];
                    let out = complex_output(a, shape.iter().product())?;
                    q.stft(&plan, &x, &mut out.reshape(shape)?)
                });
                self.add(format!("istft {width} {hop} {n} {centered}"), move |q, a| {
                    let plan = plan(q)?;
                    // As many samples as there are numbers for their frames.
                    let fits = |samples: &usize| 2 * plan.frames(*samples) * plan.bins() <= N / 2;
                    let samples = (width..60).rev().find(fits).expect("a few frames fit");
                    let shape = [2, plan.frames(samples), plan.bins()];
                    let x = complex_input(q, a, shape.iter().product())?.reshape(shape)?;
                    q.istft(&plan, &x, &mut a.floats().slice(0..2 * samples)?.reshape([2, samples])?)
                });
                if !centered {
                    self.add(format!("welch {width} {hop} {n}"), move |q, a| {
                        let plan = plan(q)?;
                        let x = input(q, a, 78)?.reshape([2, 39])?;
                        let mut out = a.floats().slice(0..2 * plan.bins())?.reshape([2, plan.bins()])?;
                        q.welch(&plan, Welch::density(3.0), &x, &mut out)
                    });
                }
            }
        }
    }
}

/// Writes finite numbers to `other`, and returns the first ones.
fn input(q: &CommandQueue, a: &mut Arrays, len: usize) -> Result<DeviceArray<f32>> {
    let mut all = a.other.cast_bits::<f32>();
    q.map(&a.y, "f32(x >> 8u) / 8388608.0 - 1.0", &mut all)?;
    all.slice(0..len)
}

/// Returns the first of such numbers as complex ones.
fn complex_input(q: &CommandQueue, a: &mut Arrays, len: usize) -> Result<DeviceArray<[f32; 2]>> {
    input(q, a, 0)?;
    as_complex(&a.other, len)?.reshape([len])
}

fn complex_output(a: &Arrays, len: usize) -> Result<DeviceArray<[f32; 2]>> {
    as_complex(&a.both, len)?.reshape([len])
}
