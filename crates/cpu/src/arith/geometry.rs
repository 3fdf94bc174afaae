//! The functions of vectors of floats.
//!
//! They execute WGSL's formulas step by step in the type of the components. Compiled code that does the same gets the
//! same bits.

use super::real::Real;
use smallvec::SmallVec;

/// Components of a vector.
pub(crate) type Vector<R> = SmallVec<[R; 4]>;

/// Returns the sum of the products of the components, added from the first one on.
pub(crate) fn dot<R: Real>(a: &[R], b: &[R]) -> R {
    let products = a.iter().zip(b).map(|(&a, &b)| a * b);
    products.reduce(|sum, product| sum + product).expect("bug: a vector has components")
}

/// Returns the length. The length of a scalar is its absolute value.
pub(crate) fn length<R: Real>(x: &[R]) -> R {
    if let &[x] = x { x.abs() } else { dot(x, x).sqrt() }
}

/// Returns the length of the difference.
pub(crate) fn distance<R: Real>(a: &[R], b: &[R]) -> R {
    length(&each(a, b, |a, b| a - b))
}

/// Returns the vector divided by its length.
pub(crate) fn normalize<R: Real>(x: &[R]) -> Vector<R> {
    let length = length(x);
    x.iter().map(|&x| x / length).collect()
}

/// Returns the cross product of two vectors of three components.
pub(crate) fn cross<R: Real>(a: &[R], b: &[R]) -> Vector<R> {
    let component = |i: usize, j: usize| a[i] * b[j] - a[j] * b[i];
    [component(1, 2), component(2, 0), component(0, 1)].into_iter().collect()
}

/// Returns `normal` if `incident` and `reference` point to different sides, and its negative otherwise.
pub(crate) fn face_forward<R: Real>(
    normal: &[R],
    incident: &[R],
    reference: &[R],
) -> impl Iterator<Item = R> {
    let facing = dot(incident, reference) < R::of(0.0);
    normal.iter().map(move |&x| if facing { x } else { -x })
}

/// Returns the direction of `incident` after a reflection at a surface with a normal of length 1.
pub(crate) fn reflect<R: Real>(incident: &[R], normal: &[R]) -> Vector<R> {
    let twice = R::of(2.0) * dot(normal, incident);
    each(incident, normal, |incident, normal| incident - twice * normal)
}

/// Returns the direction of `incident` after a refraction. `ratio` is the ratio of the refractive indices. Total
/// reflection gives zeros.
pub(crate) fn refract<R: Real>(incident: &[R], normal: &[R], ratio: R) -> impl Iterator<Item = R> {
    let zero = R::of(0.0);
    let one = R::of(1.0);
    let cosine = dot(normal, incident);
    let k = one - ratio * ratio * (one - cosine * cosine);
    let along = ratio * cosine + k.sqrt();
    let pairs = incident.iter().zip(normal);
    pairs.map(move |(&incident, &normal)| if k < zero { zero } else { ratio * incident - along * normal })
}

fn each<R: Real>(a: &[R], b: &[R], f: impl Fn(R, R) -> R) -> Vector<R> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

#[cfg(test)]
mod tests {
    use crate::arith::tests::edges::{FLOAT_TYPES, INTEGERS, integers, real, value, wrapped};
    use crate::arith::{Operand, Outcome, Scalar, math};
    use naga::MathFunction as Fun;

    /// Calls a function on vectors. Returns the components of the result.
    fn call(fun: Fun, args: &[&[Scalar]]) -> Vec<f64> {
        let args: Vec<Operand<'_>> = args.iter().map(|arg| Operand::Vector(arg)).collect();
        components(math(fun, &args))
    }

    fn components(outcome: Outcome) -> Vec<f64> {
        match outcome {
            Outcome::Scalar(x) => vec![real(x)],
            Outcome::Vector(x) => x.into_iter().map(real).collect(),
            other => panic!("{other:?} is neither a scalar nor a vector"),
        }
    }

    /// Calls a test with vectors of each size and type. It gets the vectors, their components (from -4 to 4) as
    /// numbers, and the distance from 1 to the next number of the type.
    fn vectors(test: impl Fn(&[Vec<Scalar>; 3], &[Vec<f64>; 3], f64)) {
        let mut random = fastrand::Rng::with_seed(8);
        for (make, epsilon) in FLOAT_TYPES {
            for size in (2..=4).cycle().take(300) {
                let scalars: [Vec<Scalar>; 3] =
                    std::array::from_fn(|_| (0..size).map(|_| make(random.f64() * 8.0 - 4.0)).collect());
                let values = scalars.clone().map(|x| x.into_iter().map(real).collect());
                test(&scalars, &values, epsilon);
            }
        }
    }

    fn sum_of_products(x: &[f64], y: &[f64]) -> f64 {
        (0..x.len()).map(|i| x[i] * y[i]).sum()
    }

    fn close(got: f64, exact: f64, bound: f64) {
        assert!((got - exact).abs() <= bound, "{got}, not {exact}");
    }

    #[test]
    fn a_dot_product_is_the_sum_of_products() {
        vectors(|[x, y, _], [a, b, _], epsilon| {
            let bound = 64.0 * 4.0 * epsilon;
            close(call(Fun::Dot, &[x, y])[0], sum_of_products(a, b), bound);
        });
        for ty in INTEGERS {
            let list = integers(ty);
            for (x, y) in list.chunks_exact(4).zip(list.rchunks_exact(4)) {
                let exact = (0..4).fold(0_i128, |sum, i| sum.wrapping_add(x[i].wrapping_mul(y[i])));
                let scalars = [x, y].map(|x| x.iter().map(|&x| wrapped(ty, x)).collect::<Vec<_>>());
                let got = math(Fun::Dot, &[Operand::Vector(&scalars[0]), Operand::Vector(&scalars[1])]);
                let Outcome::Scalar(got) = got else { panic!("{got:?} is not a scalar") };
                assert_eq!(value(got), value(wrapped(ty, exact)), "{x:?} and {y:?} of {ty:?}");
            }
        }
    }

    #[test]
    fn lengths_and_distances_are_those_of_space() {
        vectors(|[x, y, _], [a, b, _], epsilon| {
            let bound = 16.0 * 4.0 * epsilon;
            close(call(Fun::Length, &[x])[0], sum_of_products(a, a).sqrt(), bound);
            let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
            close(
                call(Fun::Distance, &[x, y])[0],
                difference.iter().fold(0.0, |length, x| x.hypot(length)),
                bound,
            );
        });
        for (make, _) in FLOAT_TYPES {
            let x = Operand::Scalar(make(-1.5));
            let y = Operand::Scalar(make(2.0));
            assert_eq!(components(math(Fun::Length, &[x])), [1.5]);
            assert_eq!(components(math(Fun::Distance, &[x, y])), [3.5]);
        }
        // The square of this number overflows `f32`, but the length of a scalar needs no square.
        let large = Operand::Scalar(Scalar::F32(1e30));
        assert_eq!(math(Fun::Length, &[large]), Outcome::Scalar(Scalar::F32(1e30)));
    }

    #[test]
    fn a_normalized_vector_has_the_length_one_and_the_same_direction() {
        vectors(|[x, ..], [a, ..], epsilon| {
            let unit = call(Fun::Normalize, &[x]);
            close(sum_of_products(&unit, &unit), 1.0, 16.0 * epsilon);
            close(sum_of_products(&unit, a), sum_of_products(a, a).sqrt(), 64.0 * epsilon);
        });
    }

    #[test]
    fn a_cross_product_is_orthogonal_and_as_long_as_the_area_is_large() {
        vectors(|[x, y, _], [a, b, _], epsilon| {
            if let ([_, _, _], [_, _, _]) = (&x[..], &y[..]) {
                let cross = call(Fun::Cross, &[x, y]);
                let bound = 2048.0 * epsilon;
                close(sum_of_products(&cross, a), 0.0, bound);
                close(sum_of_products(&cross, b), 0.0, bound);
                let area = sum_of_products(a, a) * sum_of_products(b, b) - sum_of_products(a, b).powi(2);
                close(sum_of_products(&cross, &cross), area, 16.0 * bound);
            }
        });
        let [x, y] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].map(|x| x.map(Scalar::F32));
        assert_eq!(call(Fun::Cross, &[&x, &y]), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn face_forward_points_against_the_incident_vector() {
        vectors(|[x, y, z], [a, b, c], _| {
            let sign = if sum_of_products(b, c) < 0.0 { 1.0 } else { -1.0 };
            let expected: Vec<f64> = a.iter().map(|a| sign * a).collect();
            assert_eq!(call(Fun::FaceForward, &[x, y, z]), expected);
        });
    }

    #[test]
    fn a_reflection_keeps_the_length_and_turns_the_part_along_the_normal() {
        vectors(|[x, y, _], [a, _, _], epsilon| {
            let length = call(Fun::Length, &[y])[0];
            let normal: Vec<Scalar> = if length > 0.1 {
                let args = [Operand::Vector(y)];
                let Outcome::Vector(normal) = math(Fun::Normalize, &args) else {
                    panic!("it is not a vector")
                };
                normal.into_vec()
            } else {
                return;
            };
            let exact_normal: Vec<f64> = normal.iter().map(|&x| real(x)).collect();
            let reflected = call(Fun::Reflect, &[x, &normal]);
            let bound = 1024.0 * epsilon;
            close(sum_of_products(&reflected, &reflected), sum_of_products(a, a), bound);
            close(sum_of_products(&reflected, &exact_normal), -sum_of_products(a, &exact_normal), bound);
        });
    }

    #[test]
    fn refraction_follows_the_law_of_snell() {
        for (make, epsilon) in FLOAT_TYPES {
            for degree in 0..90 {
                for ratio in [0.5, 0.75, 1.0, 1.25, 2.0] {
                    let angle = f64::from(degree).to_radians();
                    let incident = [angle.sin(), -angle.cos()].map(make);
                    let args = [Operand::Vector(&incident), Operand::Vector(&[make(0.0), make(1.0)])];
                    let got =
                        components(math(Fun::Refract, &[args[0], args[1], Operand::Scalar(make(ratio))]));
                    let sine = angle.sin() * ratio;
                    let k = 1.0 - sine * sine;
                    if k < -16.0 * epsilon {
                        assert_eq!(got, [0.0, 0.0], "{degree} degrees, ratio {ratio}");
                    } else if k > 16.0 * epsilon {
                        close(got[0], sine, 8.0 * epsilon);
                        close(got[1], -k.sqrt(), 16.0 * epsilon / k.sqrt());
                    }
                }
            }
        }
    }
}
