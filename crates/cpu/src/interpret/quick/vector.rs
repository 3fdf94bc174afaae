//! The math functions of vectors as functions of their components.

use crate::arith::geometry::{self, Vector};
use crate::interpret::op::QuickVector;
use naga::MathFunction as Fun;

/// Returns the quick function of a math function of one or two vectors of `f32`, if there is one.
pub(crate) fn vector(fun: Fun) -> Option<QuickVector> {
    Some(match fun {
        Fun::Length => |a, _| [geometry::length(a), 0.0, 0.0, 0.0],
        Fun::Distance => |a, b| [geometry::distance(a, b), 0.0, 0.0, 0.0],
        Fun::Normalize => |a, _| four(&geometry::normalize(a)),
        Fun::Cross => |a, b| four(&geometry::cross(a, b)),
        Fun::Reflect => |a, b| four(&geometry::reflect(a, b)),
        _ => return None,
    })
}

/// Appends zeros to components.
fn four(vector: &Vector<f32>) -> [f32; 4] {
    std::array::from_fn(|at| vector.get(at).copied().unwrap_or(0.0))
}
