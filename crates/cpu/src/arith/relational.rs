//! Functions that test components.

use super::{Outcome, Scalar};
use naga::RelationalFunction;

/// Calls a function on the components of a vector, or on one scalar.
///
/// `all` and `any` return a scalar. `isNan` and `isInf` return a vector, or a scalar for one component.
pub(crate) fn relational(fun: RelationalFunction, x: &[Scalar]) -> Outcome {
    let is_true = |x: &Scalar| x.bits() != 0;
    match fun {
        RelationalFunction::All => Outcome::Scalar(Scalar::Bool(x.iter().all(is_true))),
        RelationalFunction::Any => Outcome::Scalar(Scalar::Bool(x.iter().any(is_true))),
        RelationalFunction::IsNan => each(x, f64::is_nan),
        RelationalFunction::IsInf => each(x, f64::is_infinite),
    }
}

fn each(x: &[Scalar], test: fn(f64) -> bool) -> Outcome {
    let of = |x: Scalar| match x {
        Scalar::F16(x) => Scalar::Bool(test(x.to_f64())),
        Scalar::F32(x) => Scalar::Bool(test(x.into())),
        Scalar::F64(x) => Scalar::Bool(test(x)),
        _ => unreachable!("bug: {x:?} is not a float"),
    };
    match *x {
        [x] => Outcome::Scalar(of(x)),
        _ => Outcome::Vector(x.iter().map(|&x| of(x)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::relational;
    use crate::arith::{Outcome, Scalar};
    use half::f16;
    use naga::RelationalFunction::{All, Any, IsInf, IsNan};

    fn bools(values: &[bool]) -> Vec<Scalar> {
        values.iter().map(|&value| Scalar::Bool(value)).collect()
    }

    #[test]
    fn all_needs_every_component_and_any_needs_one() {
        for (values, all, any) in [
            (&[true, true][..], true, true),
            (&[false, true, false], false, true),
            (&[false; 4], false, false),
        ] {
            assert_eq!(relational(All, &bools(values)), Outcome::Scalar(Scalar::Bool(all)));
            assert_eq!(relational(Any, &bools(values)), Outcome::Scalar(Scalar::Bool(any)));
        }
    }

    #[test]
    fn tests_of_floats_see_nan_and_both_infinities_in_every_type() {
        let values = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX];
        let types: [fn(f32) -> Scalar; 2] = [Scalar::F32, |x| Scalar::F64(x.into())];
        for make in types {
            let x = values.map(make);
            let nan = Outcome::Vector(bools(&[true, false, false, false]).into());
            let inf = Outcome::Vector(bools(&[false, true, true, false]).into());
            assert_eq!((relational(IsNan, &x), relational(IsInf, &x)), (nan, inf), "{x:?}");
        }
        let halves = [f16::NAN, f16::INFINITY, f16::MAX].map(Scalar::F16);
        assert_eq!(relational(IsNan, &halves), Outcome::Vector(bools(&[true, false, false]).into()));
        assert_eq!(relational(IsInf, &halves), Outcome::Vector(bools(&[false, true, false]).into()));
    }

    #[test]
    fn the_test_of_one_scalar_is_a_scalar() {
        assert_eq!(relational(IsNan, &[Scalar::F32(1.0)]), Outcome::Scalar(Scalar::Bool(false)));
        assert_eq!(relational(IsInf, &[Scalar::F64(f64::INFINITY)]), Outcome::Scalar(Scalar::Bool(true)));
    }
}
