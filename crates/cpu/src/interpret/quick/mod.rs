//! Operators and functions of the common types, as functions on bits.
//!
//! They give the same results as [`arith`](crate::arith), but do not choose the type at each operation. Unused operands
//! are ignored.

mod math;
mod operator;
mod vector;

pub(super) use math::{math, math_of_three};
pub(super) use operator::{binary, conversion, unary};
pub(super) use vector::vector;

fn u(bits: u64) -> u32 {
    bits as u32
}

fn i(bits: u64) -> i32 {
    bits as u32 as i32
}

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn of_u(value: u32) -> u64 {
    u64::from(value)
}

fn of_i(value: i32) -> u64 {
    u64::from(value as u32)
}

fn of_f(value: f32) -> u64 {
    u64::from(value.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::{self, Operand, Outcome, Scalar as Value};
    use crate::interpret::op::Quick;
    use naga::{MathFunction as Fun, Scalar, UnaryOperator};

    /// Returns numbers of a type: edge values and random bits.
    fn numbers(ty: Scalar) -> Vec<u64> {
        if ty == Scalar::BOOL {
            return vec![0, 1];
        }
        let floats = [0.0, -0.0, 0.5, 1.5, -2.5, 3e9, 5e9, -3e9, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE];
        let edges = [0, 1, 2, 31, 32, 33, i32::MAX as u32, i32::MIN as u32, u32::MAX];
        let mut random = fastrand::Rng::with_seed(7);
        let mixed = (0..40).map(|_| random.u32(..)).chain(floats.map(f32::to_bits)).chain(edges);
        if ty.width == 4 {
            return mixed.map(u64::from).collect();
        }
        let doubles = floats.map(|x| f64::from(x).to_bits());
        let longs = mixed.zip(0..).map(|(low, high)| u64::from(low) | (high % 3) << 62);
        longs.chain(doubles).chain([u64::MAX, 1 << 63, 64]).collect()
    }

    /// Compares results. All NaNs count as equal.
    fn same(ty: Scalar, a: u64, b: u64) -> bool {
        let nan = |bits| match ty {
            Scalar::F32 => f(bits).is_nan(),
            Scalar::F64 => f64::from_bits(bits).is_nan(),
            _ => false,
        };
        a == b || (nan(a) && nan(b))
    }

    /// Compares a quick function with the function of `arith` on all pairs of numbers.
    fn agree(name: &str, quick: Quick, ty: Scalar, slow: impl Fn(Value, Value) -> Value) {
        for a in numbers(ty) {
            for b in numbers(ty) {
                let expected = slow(Value::from_bits(ty, a), Value::from_bits(ty, b));
                let found = quick(a, b);
                assert!(
                    same(expected.ty(), expected.bits(), found),
                    "{name} of {ty:?} {a:x} {b:x}: {found:x}"
                );
            }
        }
    }

    /// Returns the only component of a result.
    fn call(fun: Fun, arguments: &[Operand<'_>]) -> Value {
        match arith::math(fun, arguments) {
            Outcome::Scalar(value) => value,
            outcome => panic!("{outcome:?} is no scalar"),
        }
    }

    const TYPES: [Scalar; 7] =
        [Scalar::U32, Scalar::I32, Scalar::F32, Scalar::BOOL, Scalar::U64, Scalar::I64, Scalar::F64];

    #[test]
    fn quick_operators_compute_what_the_slow_ones_compute() {
        use naga::BinaryOperator::*;
        let arithmetic = [Add, Subtract, Multiply, Divide, Modulo, Equal, NotEqual, Less, LessEqual];
        let others = [Greater, GreaterEqual, And, ExclusiveOr, InclusiveOr, LogicalAnd, LogicalOr];
        for ty in TYPES {
            for op in arithmetic.into_iter().chain(others) {
                if let Some(quick) = binary(op, ty) {
                    agree(&format!("{op:?}"), quick, ty, |a, b| arith::binary(op, a, b));
                }
            }
            for op in [ShiftLeft, ShiftRight] {
                let slow = |a, b: Value| arith::binary(op, a, Value::U32(b.bits() as u32));
                binary(op, ty).inspect(|&quick| agree(&format!("{op:?}"), quick, ty, slow));
            }
            for op in [UnaryOperator::Negate, UnaryOperator::LogicalNot, UnaryOperator::BitwiseNot] {
                unary(op, ty)
                    .inspect(|&quick| agree(&format!("{op:?}"), quick, ty, |a, _| arith::unary(op, a)));
            }
        }
    }

    #[test]
    fn quick_conversions_compute_what_the_slow_ones_compute() {
        for from in TYPES {
            for to in TYPES {
                let slow = |a, _| arith::convert(a, to.kind, Some(to.width));
                conversion(from, to).inspect(|&quick| agree(&format!("to {to:?}"), quick, from, slow));
            }
        }
    }

    #[test]
    fn quick_functions_compute_what_the_slow_ones_compute() {
        let functions =
            [Fun::Abs, Fun::Floor, Fun::Ceil, Fun::Trunc, Fun::Round, Fun::Fract, Fun::Sqrt, Fun::Sign];
        let others =
            [Fun::InverseSqrt, Fun::Sin, Fun::Cos, Fun::Tan, Fun::Exp, Fun::Exp2, Fun::Log, Fun::Log2];
        let integer = [Fun::Saturate, Fun::Tanh, Fun::Min, Fun::Max, Fun::Pow, Fun::Step, Fun::CountOneBits];
        let mut found = 0;
        for fun in functions.into_iter().chain(others).chain(integer) {
            for ty in TYPES {
                let Some(quick) = math(fun, ty) else { continue };
                found += 1;
                let slow =
                    |a, b| call(fun, &[Operand::Scalar(a), Operand::Scalar(b)][..fun.argument_count()]);
                agree(&format!("{fun:?}"), quick, ty, slow);
            }
        }
        assert_eq!(found, 30);
    }

    #[test]
    fn quick_functions_of_three_compute_what_the_slow_ones_compute() {
        for (fun, ty) in
            [Fun::Clamp, Fun::Fma, Fun::Mix, Fun::SmoothStep].into_iter().flat_map(|f| TYPES.map(|t| (f, t)))
        {
            let Some(quick) = math_of_three(fun, ty) else { continue };
            for c in numbers(ty).into_iter().step_by(7) {
                let last = Value::from_bits(ty, c);
                for a in numbers(ty) {
                    for b in numbers(ty).into_iter().step_by(3) {
                        let values = [Value::from_bits(ty, a), Value::from_bits(ty, b), last];
                        let slow = call(fun, &values.map(Operand::Scalar));
                        assert!(same(ty, slow.bits(), quick(a, b, c)), "{fun:?} {ty:?} {values:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn quick_functions_of_vectors_compute_what_the_slow_ones_compute() {
        let numbers: Vec<f32> = numbers(Scalar::F32).into_iter().map(f).filter(|x| x.is_finite()).collect();
        for fun in [Fun::Length, Fun::Distance, Fun::Normalize, Fun::Cross, Fun::Reflect] {
            for pair in numbers.windows(6) {
                let (a, b) = pair.split_at(3);
                let values: Vec<Value> = pair.iter().map(|&x| Value::F32(x)).collect();
                let operands = [Operand::Vector(&values[..3]), Operand::Vector(&values[3..])];
                let outcome = arith::math(fun, &operands[..fun.argument_count()]);
                let expected = match &outcome {
                    Outcome::Scalar(value) => std::slice::from_ref(value),
                    Outcome::Vector(values) => values,
                    _ => panic!("{outcome:?} is no vector"),
                };
                let found = vector(fun).unwrap()(a, b);
                for (expected, found) in expected.iter().zip(found) {
                    assert!(same(Scalar::F32, expected.bits(), of_f(found)), "{fun:?} of {pair:?}");
                }
            }
        }
    }
}
