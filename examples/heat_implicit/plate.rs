//! The plate on the host: its exact temperatures, the bound of the error, and a picture.

use std::f64::consts::PI;

use image::{Rgb, RgbImage};

/// Half waves along both sides, and the amplitude, of each part of the first temperatures.
const MODES: [([f64; 2], f64); 3] = [([1.0, 1.0], 0.6), ([3.0, 4.0], 0.25), ([8.0, 6.0], 0.15)];
/// Time of the last step. The conductivity and the sides of the plate are 1.
pub(crate) const TIME: f64 = 0.05;
/// Reciprocal of the highest temperature with a colour of its own.
const GAIN: f32 = 2.0;

/// Numbers of unknowns along a side, and of time steps.
#[derive(Clone, Copy)]
pub(crate) struct Plate {
    pub(crate) side: usize,
    pub(crate) steps: u32,
}

impl Plate {
    /// Returns time step / width of a cell^2. An explicit method is stable up to 1/4.
    pub(crate) fn ratio(self) -> f64 {
        TIME / f64::from(self.steps) * ((self.side + 1) as f64).powi(2)
    }

    /// Returns the `factors` of `half_step.wgsl`.
    pub(crate) fn factors(self) -> Vec<f32> {
        let rate = 0.5 * self.ratio();
        let mut last = 0.0_f64;
        let factor = |_: usize| {
            last = rate / (1.0 + 2.0 * rate - rate * last);
            last as f32
        };
        (0..self.side).map(factor).collect()
    }

    /// Returns the exact temperatures at a time.
    pub(crate) fn temperatures(self, time: f64) -> Vec<f64> {
        let Self { side, .. } = self;
        let wave = |count: f64, at: usize| (PI * count * (at + 1) as f64 / (side + 1) as f64).sin();
        let cell = |i: usize| -> f64 {
            let parts = MODES.iter().map(|&([p, q], amplitude)| {
                amplitude * decay([p, q], time) * wave(p, i / side) * wave(q, i % side)
            });
            parts.sum()
        };
        (0..side * side).map(cell).collect()
    }

    /// Returns the bound of the error after the last step: the error of the method in exact numbers, and that of `f32`.
    pub(crate) fn bound(self) -> f64 {
        let Self { side, steps } = self;
        // A step multiplies a mode by one factor for each direction.
        let factor = |count: f64| {
            let bend = 2.0 * self.ratio() * (0.5 * PI * count / (side + 1) as f64).sin().powi(2);
            (1.0 - bend) / (1.0 + bend)
        };
        let off = |&([p, q], amplitude): &([f64; 2], f64)| {
            amplitude * ((factor(p) * factor(q)).powi(steps as i32) - decay([p, q], TIME)).abs()
        };
        // Each step rounds temperatures of at most 1, and the ratio multiplies the rounding errors of the differences.
        let rounding = (f64::from(steps) + self.ratio()) * f64::from(f32::EPSILON);
        MODES.iter().map(off).sum::<f64>() + rounding
    }
}

/// Returns the part of a mode that is left at a time.
fn decay([p, q]: [f64; 2], time: f64) -> f64 {
    (-PI * PI * (p * p + q * q) * time).exp()
}

/// Draws squares of temperatures next to each other: hot is red, cold is blue.
pub(crate) fn draw<const N: usize>(side: usize, squares: [&[f32]; N]) -> RgbImage {
    let side = side as u32;
    let light = |part: f32| (255.0 * (1.0 - (GAIN * part).clamp(0.0, 1.0))).round() as u8;
    RgbImage::from_fn(side * N as u32, side, |x, y| {
        let temperature = squares[(x / side) as usize][(y * side + x % side) as usize];
        Rgb([light(-temperature), light(temperature.abs()), light(temperature)])
    })
}
