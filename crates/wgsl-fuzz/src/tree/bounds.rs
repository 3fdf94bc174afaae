//! Bounds of the floats in an expression, which prove that every operation is exact.
//!
//! A float is a multiple of `2^-fraction` whose magnitude has a bound. As long as the product of the bound and
//! `2^fraction` fits into the mantissa (24 bits for `f32`), no operation rounds; so fused multiplication or another
//! order of additions does not change a result.

use super::types::Type;
use super::visit::expressions;
use super::{Argument, Expr, Node, Step};

/// Bound of a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    fraction: i32,
    most: f64,
}

/// Bound of each float in memory: multiples of 1/4 up to 64.
pub(crate) const STORED: Bound = Bound { fraction: 2, most: 64.0 };

impl Bound {
    fn new(fraction: i32, most: f64) -> Self {
        Self { fraction: fraction.max(0), most }
    }

    fn bits(self) -> f64 {
        self.most * 2_f64.powi(self.fraction)
    }

    /// Returns `true` if the value may be stored in a variable.
    pub(crate) fn is_storable(self) -> bool {
        self.fraction <= STORED.fraction && self.most <= STORED.most
    }

    fn or(self, other: Self) -> Self {
        Self::new(self.fraction.max(other.fraction), self.most.max(other.most))
    }

    fn plus(self, other: Self) -> Self {
        Self::new(self.fraction.max(other.fraction), self.most + other.most)
    }

    fn times(self, other: Self) -> Self {
        Self::new(self.fraction + other.fraction, self.most * other.most)
    }

    fn scaled(self, by: f64) -> Self {
        Self::new(self.fraction, self.most * by)
    }

    /// Returns the bound if every float within it is exact in `ty`.
    fn exact(self, ty: &Type) -> Option<Self> {
        (self.bits() <= 2_f64.powi(ty.mantissa())).then_some(self)
    }
}

/// Returns the bound of a float expression; `None` if an operation may round.
pub(crate) fn bound(expr: &Expr) -> Option<Bound> {
    let all = |of: &[Expr]| {
        let mut bounds = of.iter().filter(|expr| expr.ty.is_float()).map(bound);
        bounds.try_fold(Bound::new(0, 0.0), |all, next| Some(all.or(next?)))
    };
    match &expr.node {
        Node::F32(quarters) => Some(Bound::new(2, f64::from(quarters.abs()) / 4.0)),
        Node::Zero => Some(Bound::new(0, 0.0)),
        Node::Read(_) | Node::Call(..) => Some(STORED),
        Node::Unary(_, of) | Node::Swizzle(of, _) | Node::Element(of, ..) => bound(of),
        Node::Binary(operator, left, right) => {
            let left_bound = bound(left)?;
            let right_bound = bound(right)?;
            let found = match *operator {
                "*" => {
                    // A product of matrices adds up to four products.
                    let is_linear = [left, right].iter().any(|side| side.ty.lanes().is_none());
                    left_bound.times(right_bound).scaled(if is_linear { 4.0 } else { 1.0 })
                }
                "/" => return None,
                _ => left_bound.plus(right_bound),
            };
            found.exact(&expr.ty)
        }
        // A conversion of integers may round.
        Node::Construct(of) if expr.ty.lanes().is_some() => {
            let floats = of.iter().all(|of| of.ty.is_float());
            floats.then(|| all(of)).flatten()?.exact(&expr.ty)
        }
        Node::Construct(of) => all(of),
        Node::Builtin(name, of) => builtin(name, of)?.exact(&expr.ty),
        Node::Bool(_) | Node::I32(_) | Node::U32(_) => None,
    }
}

fn builtin(name: &str, of: &[Expr]) -> Option<Bound> {
    let at = |index: usize| bound(of.get(index)?);
    Some(match name {
        "abs" | "transpose" | "modf.fract" => at(0)?,
        "sign" | "step" => Bound::new(0, 1.0),
        "floor" | "ceil" | "trunc" | "round" | "modf.whole" => Bound::new(0, at(0)?.most + 1.0),
        "fract" | "saturate" => Bound::new(at(0)?.fraction, 1.0),
        "min" | "max" | "select" => at(0)?.or(at(1)?),
        "clamp" => {
            let limits = at(1)?.or(at(2)?);
            Bound::new(at(0)?.fraction.max(limits.fraction), limits.most)
        }
        "fma" => at(0)?.times(at(1)?).plus(at(2)?),
        "dot" => at(0)?.times(at(1)?).scaled(4.0),
        "cross" => at(0)?.times(at(1)?).scaled(2.0),
        "mix" => {
            let part = at(2)?.plus(Bound::new(0, 1.0));
            at(0)?.plus(at(1)?).times(part).scaled(2.0)
        }
        "quantizeToF16" | "through_half" => at(0).filter(|bound| bound.bits() <= 2048.0)?,
        "small" => Bound::new(0, 63.0),
        "through_snorm16" | "through_unorm16" => Bound::new(0, 65535.0),
        "determinant" => at(0)?.times(at(0)?).scaled(2.0),
        "through_snorm" | "through_unorm" => Bound::new(0, 255.0),
        _ => return None,
    })
}

/// Returns `true` if no float operation in the expression can round, and every float in it that is stored may be in a
/// variable.
pub(crate) fn is_exact(expr: &mut Expr) -> bool {
    let mut exact = true;
    expressions(expr, &mut |inner| exact &= is_exact_here(inner));
    exact
}

/// Returns `true` if the value may be stored in a variable.
pub(crate) fn is_storable(expr: &Expr) -> bool {
    !expr.ty.is_float() || bound(expr).is_some_and(Bound::is_storable)
}

fn is_exact_here(expr: &Expr) -> bool {
    let own = !expr.ty.is_float() || bound(expr).is_some();
    let passed = match &expr.node {
        Node::Construct(of) if expr.ty.lanes().is_none() => of.iter().all(is_storable),
        Node::Call(_, arguments) => arguments.iter().all(|argument| match argument {
            Argument::Value(value) => is_storable(value),
            Argument::Pointer(_) => true,
        }),
        Node::Read(place) => place.steps.iter().all(|step| !matches!(step, Step::Index(_, 0))),
        Node::Builtin("clamp", of) if !expr.ty.is_float() => is_ordered(&of[1], &of[2]),
        Node::Builtin("extractBits" | "insertBits", of) => fits_word(&of[of.len() - 2..]),
        Node::Builtin("pack2x16snorm" | "pack2x16unorm" | "frexp.exp", of) => bound(&of[0]).is_some(),
        Node::Builtin("pack2x16float" | "pack4x8snorm" | "pack4x8unorm" | "float_bits", of) => {
            of.iter().all(|of| bound(of).is_some())
        }
        _ => true,
    };
    own && passed
}

/// Returns `true` if two constant limits are in order.
fn is_ordered(low: &Expr, high: &Expr) -> bool {
    match (numbers(low), numbers(high)) {
        (Some(low), Some(high)) => low.len() == high.len() && low.iter().zip(&high).all(|(a, b)| a <= b),
        _ => false,
    }
}

/// Returns `true` if a range of bits, given by offset and count, is within a word.
fn fits_word(of: &[Expr]) -> bool {
    match (numbers(&of[0]), numbers(&of[1])) {
        (Some(offset), Some(count)) => offset[0] + count[0] <= 32,
        _ => true,
    }
}

/// Returns the integers of a constant.
fn numbers(expr: &Expr) -> Option<Vec<i64>> {
    match &expr.node {
        Node::I32(value) => Some(vec![i64::from(*value)]),
        Node::U32(value) => Some(vec![i64::from(*value)]),
        Node::Zero => Some(vec![0; usize::from(expr.ty.lanes()?.1)]),
        Node::Construct(of) => {
            let parts = of.iter().map(numbers).collect::<Option<Vec<_>>>()?.concat();
            let lanes = usize::from(expr.ty.lanes()?.1);
            Some(if parts.len() == 1 { vec![parts[0]; lanes] } else { parts })
        }
        _ => None,
    }
}
