//! The number types of buffers and parameters.

use std::str::FromStr;

use fastrand::Rng;
use fencepost::{Element, Scalar};
use half::f16;
use npyz::{AutoSerialize, Deserialize};
use serde::Serialize;

/// A number that a shader stores unchanged.
pub(crate) trait Number:
    Element + FromStr + AutoSerialize + Deserialize + Send + Sync + 'static
{
    /// Scalar type.
    const SCALAR: Scalar;

    /// Returns the number at index `at` of 0, 1, 2, ...
    fn nth(at: usize) -> Self;

    /// Returns a float from 0 to 1, or any integer.
    fn random(rng: &mut Rng) -> Self;

    /// Writes the shortest text that parses to this number.
    fn text(self) -> String;

    /// Returns the number in JSON; infinity and NaN, which JSON does not have, are null.
    fn json(self) -> serde_json::Value;
}

/// Returns `true` if a shader stores numbers of the type unchanged.
pub(crate) fn is_stored(scalar: Scalar) -> bool {
    scalar.size() >= 4 || scalar == Scalar::F16
}

macro_rules! numbers {
    ($($number:ident $scalar:ident $random:expr, $text:expr, $plain:ty;)*) => {$(
        impl Number for $number {
            const SCALAR: Scalar = Scalar::$scalar;

            fn nth(at: usize) -> Self {
                at as $number
            }

            fn random(rng: &mut Rng) -> Self {
                ($random)(rng)
            }

            fn text(self) -> String {
                format!($text, self)
            }

            fn json(self) -> serde_json::Value {
                json(self as $plain)
            }
        }
    )*};
}

numbers! {
    f32 F32 Rng::f32, "{:?}", f32;
    f64 F64 Rng::f64, "{:?}", f64;
    i32 I32 |rng: &mut Rng| rng.i32(..), "{}", i32;
    i64 I64 |rng: &mut Rng| rng.i64(..), "{}", i64;
    u32 U32 |rng: &mut Rng| rng.u32(..), "{}", u32;
    u64 U64 |rng: &mut Rng| rng.u64(..), "{}", u64;
}

impl Number for f16 {
    const SCALAR: Scalar = Scalar::F16;

    fn nth(at: usize) -> Self {
        f16::from_f64(at as f64)
    }

    fn random(rng: &mut Rng) -> Self {
        f16::from_f32(rng.f32())
    }

    fn text(self) -> String {
        format!("{:?}", self.to_f32())
    }

    fn json(self) -> serde_json::Value {
        json(self.to_f32())
    }
}

fn json(number: impl Serialize) -> serde_json::Value {
    serde_json::to_value(number).unwrap_or(serde_json::Value::Null)
}

/// Calls a generic function with the type of a stored scalar for `$number`.
macro_rules! with_number {
    ($scalar:expr, $number:ident => $call:expr) => {
        with_number!(@ $scalar, $number, $call, F16 half::f16, F32 f32, F64 f64, I32 i32, I64 i64, U32 u32, U64 u64)
    };
    (@ $scalar:expr, $number:ident, $call:expr, $($name:ident $type:ty),*) => {
        match $scalar {
            $(fencepost::Scalar::$name => { type $number = $type; $call })*
            small => anyhow::bail!("numbers of type {} are not stored as they are", small.name()),
        }
    };
}
pub(crate) use with_number;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let draw = |seed| -> Vec<f32> {
            let mut rng = Rng::with_seed(seed);
            (0..100).map(|_| f32::random(&mut rng)).collect()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert!(draw(1).iter().all(|x| (0.0..1.0).contains(x)));
    }

    #[test]
    fn the_text_of_a_number_parses_to_the_number() {
        assert_eq!(
            (1.0_f32.text(), 7_u64.text(), f16::from_f32(0.5).text()),
            ("1.0".into(), "7".into(), "0.5".into())
        );
        assert_eq!(0.1_f32.text().parse(), Ok(0.1_f32));
    }

    #[test]
    fn infinity_and_nan_are_null_in_json() {
        assert_eq!(f32::NAN.json(), serde_json::Value::Null);
        assert_eq!(u64::MAX.json(), serde_json::json!(u64::MAX));
        assert_eq!(0.5_f64.json(), serde_json::json!(0.5));
    }
}
