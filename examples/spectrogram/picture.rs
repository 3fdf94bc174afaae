//! Draws a spectrogram with three axes: time, frequency, and the decibels of the colours.

use crate::cells::Cells;
use crate::paint::{LINE, fill, width, write};
use image::{Rgb, RgbImage};
use std::ops::Range;

/// Size of the spectrogram, in pixels.
const WIDTH: u32 = 800;
const HEIGHT: u32 = 400;
/// Pixels around the spectrogram.
const LEFT: u32 = 72;
const TOP: u32 = 32;
const RIGHT: u32 = 112;
const BOTTOM: u32 = 36;
/// Pixels of the colour bar, from left to right.
const BAR: Range<u32> = LEFT + WIDTH + 24..LEFT + WIDTH + 44;

/// Colours from the median to the loudest cell.
const COLOURS: [[f32; 3]; 5] =
    [[0.0, 0.0, 4.0], [87.0, 16.0, 110.0], [188.0, 55.0, 84.0], [249.0, 142.0, 9.0], [252.0, 255.0, 164.0]];
const BLACK: Rgb<u8> = Rgb([0; 3]);

/// Draws frames from left to right, with low frequencies at the bottom. A pixel shows the loudest of its cells.
pub(crate) fn draw(cells: &Cells, frames: Range<usize>) -> RgbImage {
    let mut image = RgbImage::from_pixel(LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM, Rgb([255; 3]));
    let decibels = |at: u32| {
        let rows = share(HEIGHT - 1 - at / WIDTH, HEIGHT, &cells.rows());
        let ratios = share(at % WIDTH, WIDTH, &frames)
            .flat_map(|frame| rows.clone().map(move |row| cells.ratio(frame, row)));
        10.0 * ratios.fold(1.0_f32, f32::max).log10()
    };
    let levels: Vec<f32> = (0..WIDTH * HEIGHT).map(decibels).collect();
    let top = levels.iter().copied().fold(1.0_f32, f32::max);
    for (at, level) in (0..).zip(levels) {
        image.put_pixel(LEFT + at % WIDTH, TOP + at / WIDTH, colour(level / top));
    }
    for y in 0..HEIGHT {
        let level = 1.0 - y as f32 / (HEIGHT - 1) as f32;
        fill(&mut image, BAR, TOP + y..TOP + y + 1, colour(level));
    }

    let [right, bottom] = [LEFT + WIDTH, TOP + HEIGHT];
    for (x, label) in ticks([frames.start, frames.end].map(|at| cells.time(at as f64 - 0.5)), WIDTH) {
        fill(&mut image, LEFT + x..LEFT + x + 1, bottom..bottom + 5, BLACK);
        write(&mut image, [LEFT + x - width(&label) / 2, bottom + 10], &label);
    }
    let rows = cells.rows();
    for (y, label) in ticks([rows.start, rows.end].map(|at| cells.frequency(at as f64 - 0.5)), HEIGHT) {
        fill(&mut image, LEFT - 5..LEFT, bottom - y..bottom - y + 1, BLACK);
        let x = (LEFT - 10).saturating_sub(width(&label));
        write(&mut image, [x, bottom - y - LINE / 2], &label);
    }
    for (y, label) in ticks([0.0, f64::from(top)], HEIGHT) {
        fill(&mut image, BAR.end..BAR.end + 5, bottom - y..bottom - y + 1, BLACK);
        write(&mut image, [BAR.end + 10, bottom - y - LINE / 2], &label);
    }
    write(&mut image, [right + 40, bottom + 10], "s");
    write(&mut image, [LEFT - 10 - width("Hz"), TOP - 2 * LINE], "Hz");
    write(&mut image, [BAR.start, TOP - 2 * LINE], "dB");
    image
}

/// Returns the part of a range that belongs to pixel `i` of `n`: at least one number.
fn share(i: u32, n: u32, range: &Range<usize>) -> Range<usize> {
    let at = |i: u32| range.start + i as usize * range.len() / n as usize;
    at(i)..at(i + 1).max(at(i) + 1)
}

/// Returns round numbers between the values at both ends of an axis, each with its distance from the first end.
fn ticks([from, to]: [f64; 2], pixels: u32) -> Vec<(u32, String)> {
    let least = (to - from) / 8.0;
    let unit = 10.0_f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|by| by * unit).into_iter().find(|step| *step >= least);
    let step = step.unwrap_or(least);
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    let tick = |number: i64| {
        let value = number as f64 * step;
        let place = (value - from) / (to - from) * f64::from(pixels);
        (place as u32, format!("{value:.decimals$}"))
    };
    ((from / step).ceil() as i64..=(to / step).floor() as i64).map(tick).collect()
}

/// Returns the colour of a level from 0 to 1.
fn colour(level: f32) -> Rgb<u8> {
    let place = level.clamp(0.0, 1.0) * 4.0;
    let at = (place as usize).min(3);
    let part = place - at as f32;
    Rgb([0, 1, 2].map(|i| (COLOURS[at][i] + part * (COLOURS[at + 1][i] - COLOURS[at][i])) as u8))
}
