//! Paints rectangles and text.

use image::{Rgb, RgbImage};
use std::ops::Range;

/// Pixels of a dot of a glyph.
const DOT: u32 = 2;
/// Height of a line of text, in pixels.
pub(crate) const LINE: u32 = 5 * DOT;

/// Returns the width of a text, in pixels.
pub(crate) fn width(text: &str) -> u32 {
    4 * DOT * text.len() as u32
}

/// Fills a rectangle. The parts outside of the picture are left out.
pub(crate) fn fill(image: &mut RgbImage, xs: Range<u32>, ys: Range<u32>, colour: Rgb<u8>) {
    for y in ys {
        for x in xs.clone() {
            if let Some(pixel) = image.get_pixel_mut_checked(x, y) {
                *pixel = colour;
            }
        }
    }
}

/// Writes numbers and units. `x` and `y` are the upper left corner.
pub(crate) fn write(image: &mut RgbImage, [x, y]: [u32; 2], text: &str) {
    for (at, character) in (0..).zip(text.chars()) {
        for dot in (0..15_u32).filter(|&dot| (glyph(character) >> (14 - dot)) & 1 == 1) {
            let left = x + DOT * (4 * at + dot % 3);
            let top = y + DOT * (dot / 3);
            fill(image, left..left + DOT, top..top + DOT, Rgb([0; 3]));
        }
    }
}

/// Returns the dots of a glyph. Each octal digit is a row of three dots.
fn glyph(character: char) -> u32 {
    match character {
        '0' => 0o75557,
        '1' => 0o26227,
        '2' => 0o71747,
        '3' => 0o71717,
        '4' => 0o55711,
        '5' => 0o74717,
        '6' => 0o74757,
        '7' => 0o71111,
        '8' => 0o75757,
        '9' => 0o75717,
        '.' => 0o2,
        'B' => 0o65656,
        'H' => 0o55755,
        'd' => 0o11757,
        's' => 0o34216,
        'z' => 0o07247,
        _ => 0,
    }
}
