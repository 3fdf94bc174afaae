//! The accuracy of functions that round.

/// Largest difference between two results: `absolute + relative * magnitude`. The default requires equal values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// Absolute part.
    pub absolute: f64,
    /// Part relative to the larger result.
    pub relative: f64,
}

const ULP: f64 = 1.0 / 8_388_608.0;

/// Functions that round, with WGSL's absolute and relative error for the arguments used by the generator.
pub(crate) const FUNCTIONS: [(&str, f64, f64); 22] = [
    ("divide", 0.0, 2.5 * ULP),
    ("sqrt", 0.0, 5.0 * ULP),
    ("inverseSqrt", 0.0, 2.0 * ULP),
    ("exp", 0.0, 11.0 * ULP),
    ("exp2", 0.0, 11.0 * ULP),
    ("log", 4.0 * ULP, 3.0 * ULP),
    ("log2", 4.0 * ULP, 3.0 * ULP),
    ("pow", 0.0, 512.0 * ULP),
    ("sin", 4096.0 * ULP, 0.0),
    ("cos", 4096.0 * ULP, 0.0),
    ("tan", 0.01, 0.01),
    ("atan", 0.0, 4096.0 * ULP),
    ("atan2", 0.0, 4096.0 * ULP),
    ("asin", 8192.0 * ULP, 4096.0 * ULP),
    ("acos", 8192.0 * ULP, 4096.0 * ULP),
    ("sinh", 1024.0 * ULP, 16.0 * ULP),
    ("cosh", 1024.0 * ULP, 16.0 * ULP),
    ("tanh", 1024.0 * ULP, 64.0 * ULP),
    ("length", 0.0, 8.0 * ULP),
    ("distance", 0.0, 8.0 * ULP),
    ("degrees", 0.0, 3.0 * ULP),
    ("radians", 0.0, 3.0 * ULP),
];

impl Tolerance {
    /// Returns the tolerance between two results of a function that rounds.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let (_, absolute, relative) = FUNCTIONS.iter().find(|(known, ..)| *known == name)?;
        Some(Self { absolute: 2.0 * absolute, relative: 2.0 * relative })
    }

    /// Returns the looser of two tolerances.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { absolute: self.absolute.max(other.absolute), relative: self.relative.max(other.relative) }
    }

    /// Returns `true` if two results may represent the same value. Zeros of either sign are equal, and so are NaNs.
    pub fn allows(self, one: f32, other: f32) -> bool {
        if one == other || (one.is_nan() && other.is_nan()) {
            return true;
        }
        let one = f64::from(one);
        let other = f64::from(other);
        (one - other).abs() <= self.absolute + self.relative * one.abs().max(other.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_results_differ_only_by_the_sign_of_zero() {
        let exact = Tolerance::default();
        assert!(exact.allows(0.0, -0.0) && exact.allows(f32::NAN, f32::NAN));
        assert!(!exact.allows(1.0, 1.0 + f32::EPSILON));
    }

    #[test]
    fn a_function_that_rounds_has_room_for_both_engines() {
        let sine = Tolerance::of("sin").expect("it rounds");
        assert!(sine.allows(0.5, 0.5009) && !sine.allows(0.5, 0.502));
        assert_eq!(Tolerance::of("floor"), None);
    }
}
