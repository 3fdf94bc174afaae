//! The initial positions of the bodies, and a picture of the final ones.

use crate::{BODIES, Body, SOFTENING};
use glam::Vec3;
use image::{Rgb, RgbImage};
use std::array::from_fn;
use std::f32::consts::TAU;

/// Returns two galaxies that move past each other.
pub(crate) fn bodies() -> Vec<Body> {
    let centre = Vec3::new(-1.2, -0.7, 0.0);
    let drift = Vec3::new(0.5, 0.0, 0.0);
    galaxy(centre, drift).chain(galaxy(-centre, -drift)).collect()
}

/// Returns a heavy body, and light bodies on circles around it.
fn galaxy(centre: Vec3, drift: Vec3) -> impl Iterator<Item = Body> {
    let mut random = fastrand::Rng::with_seed(6);
    (0..BODIES / 2).map(move |i| {
        let (mass, radius) = if i == 0 { (1.0, 0.0) } else { (1e-4, 0.15 + 0.65 * random.f32().sqrt()) };
        let speed = radius / (radius.powi(2) + SOFTENING.powi(2) as f32).powf(0.75);
        let (sin, cos) = (TAU * random.f32()).sin_cos();
        let position = (centre + radius * Vec3::new(cos, sin, 0.0)).to_array();
        let velocity = (drift + speed * Vec3::new(-sin, cos, 0.0)).to_array();
        Body { position, mass, velocity, _padding: [0; 4] }
    })
}

/// Draws the bodies from above. Each galaxy has a colour.
pub(crate) fn draw(bodies: &[Body]) -> RgbImage {
    const SIDE: u32 = 480;
    let mut picture = RgbImage::new(SIDE, SIDE);
    for (i, body) in bodies.iter().enumerate() {
        let colour = if i < BODIES / 2 { [250_u8, 160, 60] } else { [70, 140, 250] };
        let pixel = |x: f32| ((x / 7.0 + 0.5) * SIDE as f32) as i32; // 7 units wide
        for (dx, dy) in (0..9).map(|at| (at % 3 - 1, at / 3 - 1)) {
            let at = [pixel(body.position[0]) + dx, pixel(body.position[1]) + dy].map(u32::try_from);
            let [Ok(x), Ok(y)] = at else { continue };
            if let Some(Rgb(channels)) = picture.get_pixel_mut_checked(x, y) {
                *channels = from_fn(|c| channels[c].saturating_add(colour[c] >> (dx.abs() + dy.abs())));
            }
        }
    }
    picture
}
