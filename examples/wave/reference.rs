//! Computes the same waves on the CPU, in `f32`, one cell after the other.

use anyhow::{Result, ensure};

use super::waves::{CONSTANTS, STEPS, push};

/// The largest difference of two heights. The device may fuse a multiplication with an addition, and heights are
/// about 1.
const TOLERANCE: f32 = 1e-3;

/// Heights of the last two steps.
pub(crate) struct Reference {
    width: usize,
    old: Vec<f32>,
    current: Vec<f32>,
}

impl Reference {
    /// Returns still water.
    pub(crate) fn new([width, height]: [u32; 2]) -> Self {
        let still = vec![0.0; (width * height) as usize];
        Self { width: width as usize, old: still.clone(), current: still }
    }

    /// Computes the steps of one frame.
    pub(crate) fn frame(&mut self, mouse: [f32; 2]) {
        (0..STEPS).for_each(|number| self.step(number, mouse));
    }

    /// Computes one step.
    pub(crate) fn step(&mut self, number: u32, mouse: [f32; 2]) {
        let push = push(number);
        let [rate, kept, radius, _] = CONSTANTS.map(|(_, value)| value as f32);
        let width = self.width;
        let rows = self.current.len() / self.width;
        for y in 1..rows - 1 {
            for x in 1..width - 1 {
                let i = y * width + x;
                let current = &self.current;
                let height = current[i];
                let bend =
                    current[i - 1] + current[i + 1] + current[i - width] + current[i + width] - 4.0 * height;
                let offset = [x as f32 - mouse[0], y as f32 - mouse[1]];
                let distance = offset[0] * offset[0] + offset[1] * offset[1];
                let near = (1.0 - distance / (radius * radius)).max(0.0);
                self.old[i] = height + kept * (height - self.old[i]) + rate * bend + push * near * near;
            }
        }
        std::mem::swap(&mut self.old, &mut self.current);
    }

    /// Returns the colour of each cell.
    pub(crate) fn colours(&self) -> impl Iterator<Item = [u8; 4]> {
        self.current.iter().map(|height| colour(*height))
    }

    /// Fails unless these are the heights, and the pixels have the colours of the heights. Returns the number of cells.
    pub(crate) fn check(&self, heights: &[f32], pixels: &[[u8; 4]]) -> Result<usize> {
        ensure!(
            (heights.len(), pixels.len()) == (self.current.len(), self.current.len()),
            "cells are missing"
        );
        for (cell, (found, expected)) in heights.iter().zip(&self.current).enumerate() {
            ensure!((found - expected).abs() <= TOLERANCE, "cell {cell} has {found}, not {expected}");
        }
        // A difference of heights within the tolerance is less than one level of a colour.
        for (cell, (pixel, colour)) in pixels.iter().zip(self.colours()).enumerate() {
            let off = pixel.iter().zip(colour).any(|(found, colour)| found.abs_diff(colour) > 1);
            ensure!(!off, "pixel {cell} is {pixel:?}, not {colour:?}");
        }
        Ok(heights.len())
    }
}

fn colour(height: f32) -> [u8; 4] {
    let gain = CONSTANTS[3].1 as f32;
    let level = 0.5 + 0.5 * (gain * height).clamp(-1.0, 1.0);
    let channel = |low: f32, high: f32| (255.0 * (low + level * (high - low))).round() as u8;
    [channel(0.0, 0.8), channel(0.1, 1.0), channel(0.3, 0.9), 255]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns waves after a frame, with their heights and pixels.
    fn waves() -> (Reference, Vec<f32>, Vec<[u8; 4]>) {
        let mut reference = Reference::new([20, 12]);
        reference.frame([10.0, 6.0]);
        let heights = reference.current.clone();
        let pixels = reference.colours().collect();
        (reference, heights, pixels)
    }

    #[test]
    fn waves_with_the_pixels_of_their_heights_pass() {
        let (reference, heights, pixels) = waves();
        assert_eq!(reference.check(&heights, &pixels).unwrap(), 20 * 12);
    }

    #[test]
    fn one_wrong_cell_is_an_error_that_names_it() {
        for error in [3.0 * TOLERANCE, -3.0 * TOLERANCE] {
            let (reference, mut heights, pixels) = waves();
            heights[100] += error;
            let said = reference.check(&heights, &pixels).unwrap_err().to_string();
            assert!(said.starts_with("cell 100 has "), "{said}");
        }
    }

    #[test]
    fn one_wrong_channel_of_a_pixel_is_an_error_that_names_the_pixel() {
        for channel in 0..4 {
            let (reference, heights, mut pixels) = waves();
            pixels[100][channel] ^= 0x80;
            let said = reference.check(&heights, &pixels).unwrap_err().to_string();
            assert!(said.starts_with("pixel 100 is "), "{said}");
        }
    }

    #[test]
    fn a_missing_cell_or_pixel_is_an_error() {
        let (reference, heights, pixels) = waves();
        for (heights, pixels) in [(&heights[1..], &pixels[..]), (&heights[..], &pixels[1..])] {
            let said = reference.check(heights, pixels).unwrap_err().to_string();
            assert_eq!(said, "cells are missing");
        }
    }
}
