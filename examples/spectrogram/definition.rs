//! Computes the power of a frame by its definition, on the CPU in `f64`.

use anyhow::{Result, ensure};
use std::f64::consts::TAU;

use crate::{BINS, EVERY, HOP, N};

/// Returns points of the unit circle, one for each sample of a frame.
pub(crate) fn circle() -> Vec<[f64; 2]> {
    (0..N).map(|i| (TAU * i as f64 / N as f64).sin_cos()).map(|(sin, cos)| [cos, sin]).collect()
}

/// Fails unless the sums of the definition equal the power of every `EVERY`-th frame.
pub(crate) fn check(samples: &[f32], circle: &[[f64; 2]], power: &[f32]) -> Result<()> {
    let mut frames = power.chunks(BINS).enumerate().step_by(EVERY);
    frames.try_for_each(|(frame, power)| check_frame(&samples[frame * HOP..][..N], circle, power))
}

/// Fails unless the sums equal the power of a frame.
fn check_frame(samples: &[f32], circle: &[[f64; 2]], power: &[f32]) -> Result<()> {
    let tone = |bin: usize, part: usize| -> f64 {
        let term =
            |(n, x): (usize, &f32)| (0.5 - 0.5 * circle[n][0]) * f64::from(*x) * circle[bin * n % N][part];
        samples.iter().enumerate().map(term).sum()
    };
    let expected: Vec<f64> = (0..BINS).map(|bin| tone(bin, 0).powi(2) + tone(bin, 1).powi(2)).collect();
    let limit = 1e-5 * expected.iter().sum::<f64>();
    for (bin, (found, expected)) in power.iter().zip(expected).enumerate() {
        ensure!((f64::from(*found) - expected).abs() <= limit, "bin {bin} has {found}, not {expected}");
    }
    Ok(())
}
