//! The calls of functions of vectors and matrices.

use super::Row;
use super::bits;
use super::reference::{
    Bound, Reference, determinant, dot, each, exact, length, products, ulps, ulps_of, whole,
};
use super::rows::{row, row_of_integers, row_without_halves};
use crate::arith::tests::accuracy::Format;
use naga::MathFunction as Fun;

/// Returns the calls of a function with vectors of each size.
fn of_sizes(
    text: &'static str,
    types: [&'static str; 3],
    f: fn(&[Vec<f64>]) -> Vec<f64>,
    bound: fn() -> Bound,
) -> Vec<Row> {
    types.map(|types| row(text, types, whole(f), bound())).into()
}

/// Returns the calls of a function of vectors.
pub(super) fn vectors(fun: Fun) -> Vec<Row> {
    match fun {
        Fun::Dot => {
            let bound = || ulps_of(4.0, |x| products(&x[0], &x[1]));
            let types = ["m2 m2 -> f", "m3 m3 -> f", "m4 m4 -> f"];
            let mut rows = of_sizes("dot(a, b)", types, |x| vec![dot(&x[0], &x[1])], bound);
            let of_integers =
                ["i2 i2 -> i", "i3 i3 -> i", "i4 i4 -> i", "u2 u2 -> u", "u3 u3 -> u", "u4 u4 -> u"];
            rows.extend(of_integers.map(|types| row_of_integers("dot(a, b)", types, Box::new(bits::dot))));
            rows
        }
        Fun::Cross => {
            let bound = ulps_of(2.0, |x| 2.0 * length(&x[0]) * length(&x[1]));
            let cross = |x: &[Vec<f64>]| {
                (0..3)
                    .map(|at| (at + 1) % 3)
                    .map(|at| {
                        let next = (at + 1) % 3;
                        x[0][at] * x[1][next] - x[0][next] * x[1][at]
                    })
                    .collect()
            };
            vec![row("cross(a, b)", "m3 m3 -> f3", whole(cross), bound)]
        }
        Fun::Distance => {
            let of_vectors = ["m2 m2 -> f", "m3 m3 -> f", "m4 m4 -> f"];
            let mut rows = of_sizes("distance(a, b)", of_vectors, distances, || ulps(6.0));
            rows.push(row("distance(a, b)", "m m -> f", each(|x| (x[0] - x[1]).abs()), ulps(1.0)));
            rows
        }
        Fun::Length => {
            let of_vectors = ["m2 -> f", "m3 -> f", "m4 -> f"];
            let mut rows = of_sizes("length(a)", of_vectors, |x| vec![length(&x[0])], || ulps(4.0));
            rows.push(row("length(a)", "f -> f", each(|x| x[0].abs()), exact()));
            rows
        }
        Fun::Normalize => {
            let unit = |x: &[Vec<f64>]| {
                let length = length(&x[0]);
                x[0].iter().map(|x| if length == 0.0 { f64::NAN } else { x / length }).collect()
            };
            of_sizes("normalize(a)", ["m2 -> f2", "m3 -> f3", "m4 -> f4"], unit, || ulps(6.0))
        }
        Fun::FaceForward => {
            let types = ["m2 m2 m2 -> f2", "m3 m3 m3 -> f3", "m4 m4 m4 -> f4"];
            let turned = |x: &[Vec<f64>]| {
                let cosine = dot(&x[1], &x[2]);
                let size = products(&x[1], &x[2]);
                let sign = if cosine < 0.0 { 1.0 } else { -1.0 };
                let is_near = cosine != 0.0 && cosine.abs() <= 4.0 * Format::F32.ulp(size);
                x[0].iter().map(|x| if is_near { f64::NAN } else { sign * x }).collect()
            };
            of_sizes("faceForward(a, b, c)", types, turned, exact)
        }
        Fun::Reflect => {
            let types = ["m2 m2 -> f2", "m3 m3 -> f3", "m4 m4 -> f4"];
            let turned = |x: &[Vec<f64>]| {
                let cosine = dot(&x[0], &x[1]);
                x[0].iter().zip(&x[1]).map(|(a, b)| a - 2.0 * cosine * b).collect()
            };
            let bound = || ulps_of(6.0, |x| length(&x[0]) + 2.0 * products(&x[0], &x[1]) * length(&x[1]));
            of_sizes("reflect(a, b)", types, turned, bound)
        }
        Fun::Refract => {
            let types = ["m2 m2 m -> f2", "m3 m3 m -> f3", "m4 m4 m -> f4"];
            let mut rows =
                of_sizes("refract(a, b, c)", types, refracted, || ulps_of(64.0, size_of_refracted));
            // Total reflections are frequent among directions. `f16` directions are rounded, but the reference does not
            // round.
            rows.extend(types.map(|types| {
                let bound = ulps_of(64.0, |x| 1.0 + x[2][0].abs() * 4.0);
                let text = "refract(normalize(a), normalize(b), c)";
                row_without_halves(text, types, whole(refracted_directions), bound)
            }));
            rows
        }
        _ => unreachable!("bug: {fun:?} is in another group"),
    }
}

/// Returns the calls of a function of matrices.
pub(super) fn matrices(fun: Fun) -> Vec<Row> {
    match fun {
        Fun::Transpose => {
            let types = [
                "f22 -> f22",
                "f23 -> f32",
                "f24 -> f42",
                "f32 -> f23",
                "f33 -> f33",
                "f34 -> f43",
                "f42 -> f24",
                "f43 -> f34",
                "f44 -> f44",
            ];
            types.into_iter().map(|types| row("transpose(a)", types, transposed(types), exact())).collect()
        }
        Fun::Determinant => {
            let bound =
                || ulps_of(16.0, |x| determinant(&x[0].iter().map(|x| x.abs()).collect::<Vec<_>>(), 1.0));
            of_sizes(
                "determinant(a)",
                ["m22 -> f", "m33 -> f", "m44 -> f"],
                |x| vec![determinant(&x[0], -1.0)],
                bound,
            )
        }
        _ => unreachable!("bug: {fun:?} is in another group"),
    }
}

/// Returns the length of the difference of two vectors.
fn distances(x: &[Vec<f64>]) -> Vec<f64> {
    let difference: Vec<f64> = x[0].iter().zip(&x[1]).map(|(a, b)| a - b).collect();
    vec![length(&difference)]
}

/// Returns the transposed matrix of these types.
fn transposed(types: &str) -> Reference {
    let number = |at: usize| usize::from(types.as_bytes()[at] - b'0');
    let columns = number(1);
    let rows = number(2);
    whole(move |x| {
        (0..rows)
            .flat_map(|row| (0..columns).map(move |column| column * rows + row))
            .map(|at| x[0][at])
            .collect()
    })
}

/// Returns the refracted vector. It has no bound where the argument of the square root is near 0.
fn refracted(x: &[Vec<f64>]) -> Vec<f64> {
    let cosine = dot(&x[0], &x[1]);
    let ratio = x[2][0];
    let square = 1.0 - ratio * ratio * (1.0 - cosine * cosine);
    let part = |(a, b): (&f64, &f64)| match square {
        _ if square.abs() < 0.01 * square_size(ratio, products(&x[0], &x[1])) => f64::NAN,
        square if square < 0.0 => 0.0,
        square => ratio * a - (ratio * cosine + square.sqrt()) * b,
    };
    x[0].iter().zip(&x[1]).map(part).collect()
}

/// Returns the refracted vector for two directions. There is no bound if one vector is 0.
fn refracted_directions(x: &[Vec<f64>]) -> Vec<f64> {
    let unit = |at: usize| -> Vec<f64> { x[at].iter().map(|part| part / length(&x[at])).collect() };
    refracted(&[unit(0), unit(1), x[2].clone()])
}

/// Returns the sum of the absolute terms of a refracted vector.
fn size_of_refracted(x: &[Vec<f64>]) -> f64 {
    let along = products(&x[0], &x[1]);
    let ratio = x[2][0].abs();
    ratio * length(&x[0]) + (ratio * along + square_size(ratio, along).sqrt()) * length(&x[1])
}

/// Returns the sum of the absolute terms under the square root of a refraction.
fn square_size(ratio: f64, along: f64) -> f64 {
    1.0 + ratio * ratio * (1.0 + along * along)
}
