//! Makes the points, and finds their clusters on the CPU.

use std::f32::consts::TAU;

/// Number of clusters: a power of two.
pub(crate) const CLUSTERS: usize = 8;

/// Returns the coordinates of points around the corners of an octagon. Each of the first points is at another corner.
pub(crate) fn points(n: usize) -> (Vec<f32>, Vec<f32>) {
    let mut random = fastrand::Rng::with_seed(19);
    let mut noise = || 0.2 * (0..4).map(|_| random.f32() - 0.5).sum::<f32>();
    let point = |i: usize| {
        let angle = TAU * (i % CLUSTERS) as f32 / CLUSTERS as f32;
        (angle.cos() + noise(), angle.sin() + noise())
    };
    (0..n).map(point).unzip()
}

/// Returns the centers after some iterations from the first points, in `f64`.
pub(crate) fn centers(x: &[f32], y: &[f32], iterations: u32) -> Vec<[f64; 2]> {
    let points = || x.iter().zip(y).map(|(&x, &y)| [f64::from(x), f64::from(y)]);
    let mut centers: Vec<[f64; 2]> = points().take(CLUSTERS).collect();
    for _ in 0..iterations {
        let mut sums = [[0.0; 2]; CLUSTERS];
        let mut counts = [0.0; CLUSTERS];
        for point in points() {
            let center = nearest(&centers, point);
            (0..2).for_each(|axis| sums[center][axis] += point[axis]);
            counts[center] += 1.0;
        }
        for (center, (sum, count)) in centers.iter_mut().zip(sums.into_iter().zip(counts)) {
            if count > 0.0 {
                *center = sum.map(|sum| sum / count);
            }
        }
    }
    centers
}

/// Returns the place of the center nearest to a point.
pub(crate) fn nearest(centers: &[[f64; 2]], point: [f64; 2]) -> usize {
    let distance = |center: &[f64; 2]| (point[0] - center[0]).powi(2) + (point[1] - center[1]).powi(2);
    let mut nearest = 0;
    for (at, center) in centers.iter().enumerate() {
        if distance(center) < distance(&centers[nearest]) {
            nearest = at;
        }
    }
    nearest
}
