//! Draws the cells of a spectrogram.

use crate::BINS;
use image::{Rgb, RgbImage};

/// Number of the lowest bins, which the picture shows.
const SHOWN: usize = 32;

/// A power in multiples of the median of its bin.
pub(crate) struct Cell {
    pub(crate) frame: usize,
    pub(crate) bin: usize,
    pub(crate) times: f32,
}

/// Returns the lowest bins of every frame, each divided by the median of that bin.
pub(crate) fn by_median(power: &[f32]) -> Vec<f32> {
    let mut cells: Vec<f32> = power.chunks(BINS).flat_map(|frame| &frame[..SHOWN]).copied().collect();
    for bin in 0..SHOWN {
        let mut row: Vec<f32> = cells[bin..].iter().step_by(SHOWN).copied().collect();
        let middle = row.len() / 2;
        let median = *row.select_nth_unstable_by(middle, f32::total_cmp).1;
        cells[bin..].iter_mut().step_by(SHOWN).for_each(|cell| *cell /= median);
    }
    cells
}

/// Returns the cell with the highest multiple of its median, above the two lowest bins.
pub(crate) fn loudest(cells: &[f32]) -> Cell {
    let candidates = cells.iter().enumerate().filter(|(at, _)| at % SHOWN > 1);
    let (at, &times) = candidates.max_by(|(_, a), (_, b)| a.total_cmp(b)).expect("there is a frame");
    Cell { frame: at / SHOWN, bin: at % SHOWN, times }
}

/// Draws 600 frames around one frame from left to right, with low frequencies at the bottom.
pub(crate) fn draw(cells: &[f32], centre: usize) -> RgbImage {
    let width = 600.min(cells.len() / SHOWN);
    let first = centre.saturating_sub(width / 2).min(cells.len() / SHOWN - width);
    RgbImage::from_fn(width as u32, 6 * SHOWN as u32, |x, y| {
        let cell = cells[(first + x as usize) * SHOWN + SHOWN - 1 - y as usize / 6];
        let level = (2.0 * cell.max(1.0).log2()).min(12.0) as u8;
        Rgb([21 * level, level * level, 40 + 4 * level])
    })
}
