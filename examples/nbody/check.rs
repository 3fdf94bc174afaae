//! Computes the same steps and energies on the CPU, in `f64`.

use anyhow::{Result, ensure};
use glam::{DVec3, Vec3};

use crate::{Body, DT, SOFTENING};

/// Returns the pull of all other bodies on one body, and the sum of their masses, each divided by its distance.
fn pull(of: &Body, bodies: &[Body]) -> (DVec3, f64) {
    let mut acceleration = DVec3::ZERO;
    let mut sum = 0.0;
    for other in bodies.iter().filter(|other| !std::ptr::eq(*other, of)) {
        let offset = wide(other.position) - wide(of.position);
        let mass = f64::from(other.mass);
        let near = (offset.length_squared() + SOFTENING * SOFTENING).sqrt().recip();
        acceleration += offset * (mass * near.powi(3));
        sum += mass * near;
    }
    (acceleration, sum)
}

/// Fails unless a step on the CPU leads from `old` to `new`, and the bodies of `new` have these energies.
pub(crate) fn check(old: &[Body], new: &[Body], energies: &[f32]) -> Result<()> {
    for (i, (from, to)) in old.iter().zip(new).enumerate() {
        let velocity = wide(from.velocity) + f64::from(DT) * pull(from, old).0;
        let position = wide(from.position) + f64::from(DT) * velocity;
        let off = wide(to.velocity).distance(velocity) + wide(to.position).distance(position);
        ensure!(off < 1e-4, "body {i} came to {:?}, not to {position}", to.position);
        let motion = wide(to.velocity).length_squared();
        let nearness = pull(to, new).1;
        let found = f64::from(energies[i]);
        let half = 0.5 * f64::from(to.mass);
        let is_close = (found - half * (motion - nearness)).abs() < 1e-5 * half * (motion + nearness);
        ensure!(is_close, "body {i} has the energy {found}, not {}", half * (motion - nearness));
    }
    Ok(())
}

fn wide(vector: [f32; 3]) -> DVec3 {
    Vec3::from_array(vector).as_dvec3()
}
