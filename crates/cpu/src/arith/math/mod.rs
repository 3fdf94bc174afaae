//! The built-in functions of WGSL.

mod numbers;
mod table;
mod whole;

use super::geometry::Vector;
use super::lift::Lift;
use super::{Components, Operand, Outcome, Scalar};
use naga::{MathFunction as Fun, Scalar as Type};
pub(crate) use numbers::Bits;
use smallvec::SmallVec;
#[cfg(all(test, feature = "compile", not(target_family = "wasm")))]
pub(crate) use table::TABLE;
pub(crate) use table::{OfVectors, Reference, builtin};

/// `true` if kernels may become machine code.
const COMPILES: bool = cfg!(all(feature = "compile", not(target_family = "wasm")));

/// Calls a built-in function.
///
/// Functions of `f32` are within WGSL's error bounds. Functions of `f16` compute with `f64` and round once. `min`,
/// `max` and `clamp` ignore a NaN if another argument is a number. The results are the same bits on every host, except
/// the bits of a NaN.
///
/// # Panics
/// Panics for arguments that cannot occur in a validated module, which is a bug.
pub(crate) fn math(fun: Fun, args: &[Operand<'_>]) -> Outcome {
    builtin(fun).reference.call(args)
}

impl Reference {
    /// Calls the function.
    ///
    /// # Panics
    /// Panics for arguments that the function does not take in a validated module, which is a bug.
    pub(crate) fn call(self, args: &[Operand<'_>]) -> Outcome {
        match self {
            Self::Numbers(of) => componentwise(of, args),
            Self::Vectors(single, double) => match args[0].component(0) {
                Scalar::F32(_) => of_vectors(single, args),
                _ => of_vectors(double, args),
            },
            Self::Words(function, ty, count) => {
                let components = args.iter().flat_map(|arg| arg.components());
                let mut words: SmallVec<[u32; 8]> = components.map(|x| x.bits() as u32).collect();
                words.resize(words.len().max(count), 0);
                function(&mut words, 1);
                let words = words[..count].iter();
                scalar_or_vector(words.map(|&word| Scalar::from_bits(ty, word.into())).collect())
            }
            Self::Whole(function) => function(args),
        }
    }
}

fn componentwise(of: fn(Type) -> Option<Bits>, args: &[Operand<'_>]) -> Outcome {
    let ty = args[0].component(0).ty();
    let function = of(ty).unwrap_or_else(|| unreachable!("bug: a function of {args:?}"));
    let component = |index: usize| {
        let bits = |at: usize| args.get(at).map_or(0, |arg: &Operand<'_>| arg.component(index).bits());
        Scalar::from_bits(ty, function.call([0, 1, 2, 3].map(bits)))
    };
    Outcome::shaped_like(&args[0], (0..args[0].components().len()).map(component).collect())
}

fn of_vectors<R: Lift>(function: OfVectors<R>, args: &[Operand<'_>]) -> Outcome {
    let sample = args[0].component(0);
    let vector = |at: usize| args.get(at).map_or_else(Vector::new, |arg| whole::lift(arg.components()));
    let [x, y, z] = [0, 1, 2].map(vector);
    scalar_or_vector(function(&x, &y, &z).into_iter().map(|x| x.give(sample)).collect())
}

/// Returns a scalar if there is one component, and a vector otherwise.
fn scalar_or_vector(values: Components) -> Outcome {
    if let [value] = values[..] { Outcome::Scalar(value) } else { Outcome::Vector(values) }
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
            other => panic!("{other:?} is not a scalar"),
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
        let x = Operand::Vector(&x);
        let amount = |x| Operand::Scalar(Scalar::U32(x));
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
