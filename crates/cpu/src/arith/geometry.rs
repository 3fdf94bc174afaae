//! The functions of vectors of floats.
//!
//! They execute WGSL's formulas step by step in the type of the components. Compiled code that does the same gets the same
//! bits.

use super::real::Real;
use smallvec::SmallVec;

/// Holds the components of a vector.
pub(crate) type Vector<R> = SmallVec<[R; 4]>;

/// Returns the sum of the products of the components, which are added from the first one on.
pub(crate) fn dot<R: Real>(a: &[R], b: &[R]) -> R {
    let products = a.iter().zip(b).map(|(&a, &b)| a * b);
    products.reduce(|sum, product| sum + product).expect("bug: a vector has components")
}

/// Returns the length. That of a single number is its absolute value.
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
pub(crate) fn face_forward<R: Real>(normal: &[R], incident: &[R], reference: &[R]) -> Vector<R> {
    let facing = dot(incident, reference) < R::of(0.0);
    normal.iter().map(|&x| if facing { x } else { -x }).collect()
}

/// Returns the direction of `incident` after a reflection at a surface with a normal of length 1.
pub(crate) fn reflect<R: Real>(incident: &[R], normal: &[R]) -> Vector<R> {
    let twice = R::of(2.0) * dot(normal, incident);
    each(incident, normal, |incident, normal| incident - twice * normal)
}

/// Returns the direction of `incident` behind a surface. `ratio` is that of the indices of refraction. Total reflection
/// gives zeros.
pub(crate) fn refract<R: Real>(incident: &[R], normal: &[R], ratio: R) -> Vector<R> {
    let (zero, one) = (R::of(0.0), R::of(1.0));
    let cosine = dot(normal, incident);
    let k = one - ratio * ratio * (one - cosine * cosine);
    if k < zero {
        return incident.iter().map(|_| zero).collect();
    }
    let along = ratio * cosine + k.sqrt();
    each(incident, normal, |incident, normal| ratio * incident - along * normal)
}

fn each<R: Real>(a: &[R], b: &[R], f: impl Fn(R, R) -> R) -> Vector<R> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}
