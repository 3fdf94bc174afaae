//! Computes the same filters on the CPU.

use image::{Rgba, RgbaImage};

/// Returns the result of the three filters on the CPU: edges from 0 to 1.
pub(crate) fn filtered(image: &RgbaImage) -> Vec<f32> {
    let luma = |Rgba([r, g, b, _]): &Rgba<u8>| {
        (0.2126 * f32::from(*r) + 0.7152 * f32::from(*g) + 0.0722 * f32::from(*b)) / 255.0
    };
    let grey: Vec<f32> = image.pixels().map(luma).collect();
    let width = image.width() as i32;
    let weight = |offset: i32| [1.0, 4.0, 6.0, 4.0, 1.0][(offset + 2) as usize] / 16.0;
    let blurred = sums(&grey, width, 2, |x, y| weight(x) * weight(y));
    let across = sums(&blurred, width, 1, |x, y| (x * (2 - y.abs())) as f32);
    let down = sums(&blurred, width, 1, |x, y| (y * (2 - x.abs())) as f32);
    across.iter().zip(down).map(|(x, y)| x.hypot(y).min(1.0)).collect()
}

/// Returns for each pixel the weighted sum of the pixels up to `reach` away. Outside the picture the nearest pixels
/// count.
fn sums(source: &[f32], width: i32, reach: i32, weight: impl Fn(i32, i32) -> f32) -> Vec<f32> {
    let height = source.len() as i32 / width;
    let at = |x: i32, y: i32| source[(y.clamp(0, height - 1) * width + x.clamp(0, width - 1)) as usize];
    let offsets = || (-reach..=reach).flat_map(|y| (-reach..=reach).map(move |x| (x, y)));
    let sum = |i: i32| offsets().map(|(x, y)| weight(x, y) * at(i % width + x, i / width + y)).sum();
    (0..width * height).map(sum).collect()
}
