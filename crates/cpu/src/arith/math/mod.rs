//! The built-in functions of WGSL.

mod component;
mod packing;
mod vector;

use super::{Components, Operand, Outcome, Scalar, convert, double, linear};
use component::component;
use naga::{MathFunction as Fun, ScalarKind};
use smallvec::SmallVec;

/// Calls a built-in function.
///
/// Functions of `f32` are within WGSL's error bounds. Functions of `f16` compute with `f64` and round once. `min`,
/// `max` and `clamp` ignore a NaN if another argument is a number. The results are the same bits on every host, except
/// the bits of a NaN.
///
/// # Panics
/// Panics for arguments that cannot occur in a validated module, which is a bug.
pub(crate) fn math(fun: Fun, args: &[Operand<'_>]) -> Outcome {
    match fun {
        Fun::Modf => pair(&args[0], modf),
        Fun::Frexp => pair(&args[0], frexp),
        Fun::Transpose | Fun::Determinant | Fun::Inverse => matrix(fun, &args[0]),
        _ => {
            let special = vector::call(fun, args).or_else(|| packing::call(fun, args));
            special.unwrap_or_else(|| componentwise(fun, args))
        }
    }
}

fn componentwise(fun: Fun, args: &[Operand<'_>]) -> Outcome {
    let of = |index: usize| {
        let values: Components = args.iter().map(|arg| arg.component(index)).collect();
        component(fun, &values)
    };
    Outcome::shaped_like(&args[0], (0..args[0].components().len()).map(of).collect())
}

/// Calls a function with two results for each component.
fn pair(x: &Operand<'_>, f: fn(Scalar) -> [Scalar; 2]) -> Outcome {
    let results: SmallVec<[[Scalar; 2]; 4]> = x.components().iter().map(|&x| f(x)).collect();
    let member = |index: usize| Outcome::shaped_like(x, results.iter().map(|result| result[index]).collect());
    Outcome::Pair(Box::new([member(0), member(1)]))
}

/// Returns `x - trunc(x)` and `trunc(x)`.
fn modf(x: Scalar) -> [Scalar; 2] {
    let whole = component(Fun::Trunc, &[x]);
    [super::binary(naga::BinaryOperator::Subtract, x, whole), whole]
}

/// Returns the fraction and the exponent. naga declares the exponent of `f64` as `i64`. naga declares the exponent of
/// `f16` as `i16`, which is not a [`Scalar`]; WGSL declares it as `i32`.
fn frexp(x: Scalar) -> [Scalar; 2] {
    let (fraction, exponent) = double::frexp(convert::to_f64(x));
    let width = x.ty().width;
    let exponent = convert(Scalar::I32(exponent), ScalarKind::Sint, Some(width.max(4)));
    [convert(Scalar::F64(fraction), ScalarKind::Float, Some(width)), exponent]
}

fn matrix(fun: Fun, x: &Operand<'_>) -> Outcome {
    let Operand::Matrix { columns, rows, values } = *x else { unreachable!("bug: {x:?} is no matrix") };
    let sample = values[0];
    let wide = || values.iter().map(|&x| convert::to_f64(x)).collect::<SmallVec<[f64; 16]>>();
    let narrow = |x: f64| convert(Scalar::F64(x), ScalarKind::Float, Some(sample.ty().width));
    match fun {
        Fun::Determinant => Outcome::Scalar(narrow(linear::determinant(rows, &wide()))),
        Fun::Inverse => {
            let values = linear::inverse(rows, &wide()).into_iter().map(narrow).collect();
            Outcome::Matrix { columns, rows, values }
        }
        _ => {
            let values = linear::transpose(rows, values).collect();
            Outcome::Matrix { columns: rows, rows: columns, values }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::math;
    use crate::arith::tests::edges::{doubles, floats, halves, real, same, value};
    use crate::arith::{Operand, Outcome, Scalar};
    use half::f16;
    use naga::MathFunction as Fun;

    fn list(values: &[f32]) -> Vec<Scalar> {
        values.iter().map(|&x| Scalar::F32(x)).collect()
    }

    /// Returns the two result members for one scalar.
    fn members(fun: Fun, x: Scalar) -> [Scalar; 2] {
        let Outcome::Pair(pair) = math(fun, &[Operand::Scalar(x)]) else { panic!("{fun:?} gives no pair") };
        pair.map(|member| match member {
            Outcome::Scalar(member) => member,
            other => panic!("{other:?} is no scalar"),
        })
    }

    #[test]
    fn the_members_of_modf_are_a_fraction_and_an_integer_that_add_up() {
        let all = halves().into_iter().map(Scalar::F16).chain(floats().into_iter().map(Scalar::F32));
        for x in all.chain(doubles().into_iter().map(Scalar::F64)).filter(|&x| real(x).is_finite()) {
            let [fraction, whole] = members(Fun::Modf, x);
            assert_eq!([fraction.ty(), whole.ty()], [x.ty(); 2]);
            let fraction = real(fraction);
            let whole = real(whole);
            assert_eq!(fraction + whole, real(x), "{x:?}");
            assert!(fraction.abs() < 1.0 && whole % 1.0 == 0.0 && fraction * real(x) >= 0.0, "{x:?}");
        }
    }

    #[test]
    fn the_members_of_frexp_are_a_fraction_from_one_half_on_and_an_exponent() {
        let all = halves().into_iter().map(Scalar::F16).chain(floats().into_iter().map(Scalar::F32));
        for x in all.chain(doubles().into_iter().map(Scalar::F64)) {
            let [fraction, exponent] = members(Fun::Frexp, x);
            let exponent = value(exponent) as i32;
            assert_eq!(fraction.ty(), x.ty());
            if real(x) == 0.0 || !real(x).is_finite() {
                assert!(exponent == 0 && same(fraction, x), "{x:?}");
            } else {
                assert!((0.5..1.0).contains(&real(fraction).abs()), "{x:?}");
                let half = exponent / 2;
                let product = real(fraction) * 2_f64.powi(half) * 2_f64.powi(exponent - half);
                assert_eq!(product, real(x), "{x:?}");
            }
        }
    }

    #[test]
    fn the_members_of_vectors_are_vectors() {
        let x = list(&[1.25, -0.5, 6.0]);
        let pair = |a: &[Scalar], b: &[Scalar]| {
            Outcome::Pair(Box::new([Outcome::Vector(a.into()), Outcome::Vector(b.into())]))
        };
        let modf = pair(&list(&[0.25, -0.5, 0.0]), &list(&[1.0, 0.0, 6.0]));
        assert_eq!(math(Fun::Modf, &[Operand::Vector(&x)]), modf);
        let frexp = pair(&list(&[0.625, -0.5, 0.75]), &[1, 0, 3].map(Scalar::I32));
        assert_eq!(math(Fun::Frexp, &[Operand::Vector(&x)]), frexp);
    }

    #[test]
    fn mix_of_vectors_takes_one_amount_or_an_amount_for_each_component() {
        let x = list(&[0.0, 10.0]);
        let y = list(&[4.0, 30.0]);
        let amounts = list(&[0.25, 0.5]);
        let x = Operand::Vector(&x);
        let y = Operand::Vector(&y);
        let half = Operand::Scalar(Scalar::F32(0.5));
        assert_eq!(math(Fun::Mix, &[x, y, half]), Outcome::Vector(list(&[2.0, 20.0]).into()));
        let each = Operand::Vector(&amounts);
        assert_eq!(math(Fun::Mix, &[x, y, each]), Outcome::Vector(list(&[1.0, 20.0]).into()));
    }

    #[test]
    fn components_of_vectors_keep_their_order() {
        let x = [8, 1, 6, 4].map(Scalar::U32);
        let (x, amount) = (Operand::Vector(&x), |x| Operand::Scalar(Scalar::U32(x)));
        let zeros = [3, 0, 1, 2].map(Scalar::U32);
        assert_eq!(math(Fun::CountTrailingZeros, &[x]), Outcome::Vector(zeros.as_slice().into()));
        let bits = [2, 0, 1, 1].map(Scalar::U32);
        assert_eq!(
            math(Fun::ExtractBits, &[x, amount(2), amount(9)]),
            Outcome::Vector(bits.as_slice().into())
        );
        let exponents = [1, -1].map(Scalar::I32);
        let product = math(Fun::Ldexp, &[Operand::Vector(&list(&[3.0, 3.0])), Operand::Vector(&exponents)]);
        assert_eq!(product, Outcome::Vector(list(&[6.0, 1.5]).into()));
    }

    #[test]
    fn quantized_numbers_are_those_that_f16_holds() {
        for x in halves() {
            let got = math(Fun::QuantizeToF16, &[Operand::Scalar(Scalar::F32(x.to_f32()))]);
            assert!(matches!(got, Outcome::Scalar(got) if same(got, Scalar::F32(x.to_f32()))));
        }
        let third = Operand::Scalar(Scalar::F32(1.0 / 3.0));
        let quantized = Outcome::Scalar(Scalar::F32(f16::from_bits(0x3555).to_f32()));
        assert_eq!(math(Fun::QuantizeToF16, &[third]), quantized);
    }
}
