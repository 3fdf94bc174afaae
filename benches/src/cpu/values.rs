use anyhow::{Result, bail};
use fencepost::{DeviceArray, Element};

use super::device::Array;

/// Elements of an array.
#[derive(Clone, PartialEq)]
pub(crate) enum Values {
    F32(Vec<f32>),
    U32(Vec<u32>),
    Complex(Vec<[f32; 2]>),
}

/// Comparison of a result with the reference's.
#[derive(Clone, Copy)]
pub(crate) enum Check {
    /// Each element is equal.
    Exact,
    /// The sums of all elements are equal.
    Total,
    /// Each element differs by at most this part of the largest element.
    Close(f32),
    /// At most this part of the elements differs: a device may round steps of an iteration differently.
    Mostly(f64),
}

/// Type of elements, with a variant of [`Values`] and one of [`Array`].
pub(crate) trait Item: Element {
    fn values(list: Vec<Self>) -> Values;
    fn list(values: &Values) -> &[Self];
    fn list_mut(values: &mut Values) -> &mut [Self];
    fn array(array: &Array) -> &DeviceArray<Self>;
    fn array_mut(array: &mut Array) -> &mut DeviceArray<Self>;
}

macro_rules! item {
    ($item:ty, $variant:ident) => {
        impl Item for $item {
            fn values(list: Vec<Self>) -> Values {
                Values::$variant(list)
            }

            fn list(values: &Values) -> &[Self] {
                let Values::$variant(list) = values else { panic!("bug: the list has other elements") };
                list
            }

            fn list_mut(values: &mut Values) -> &mut [Self] {
                let Values::$variant(list) = values else { panic!("bug: the list has other elements") };
                list
            }

            fn array(array: &Array) -> &DeviceArray<Self> {
                let Array::$variant(array) = array else { panic!("bug: the array has other elements") };
                array
            }

            fn array_mut(array: &mut Array) -> &mut DeviceArray<Self> {
                let Array::$variant(array) = array else { panic!("bug: the array has other elements") };
                array
            }
        }
    };
}
item!(f32, F32);
item!(u32, U32);
item!([f32; 2], Complex);

impl Values {
    /// Returns the bits of the elements.
    pub(crate) fn bits(&self) -> &[u32] {
        match self {
            Self::F32(values) => bytemuck::cast_slice(values),
            Self::U32(values) => values,
            Self::Complex(values) => bytemuck::cast_slice(values),
        }
    }

    /// Returns the bits of the elements, mutably.
    pub(crate) fn bits_mut(&mut self) -> &mut [u32] {
        match self {
            Self::F32(values) => bytemuck::cast_slice_mut(values),
            Self::U32(values) => values,
            Self::Complex(values) => bytemuck::cast_slice_mut(values),
        }
    }

    /// Returns as many zeros.
    pub(crate) fn zeros(&self) -> Self {
        let mut zeros = self.clone();
        zeros.bits_mut().fill(0);
        zeros
    }

    /// Returns each element as a number, or as two.
    fn numbers(&self) -> Box<dyn Iterator<Item = f64> + '_> {
        match self {
            Self::F32(values) => Box::new(values.iter().map(|&value| f64::from(value))),
            Self::U32(values) => Box::new(values.iter().map(|&value| f64::from(value))),
            Self::Complex(values) => Box::new(values.iter().flatten().map(|&value| f64::from(value))),
        }
    }
}

impl Check {
    /// Compares a result with the expected one.
    ///
    /// # Errors
    /// Returns the first difference that the check does not allow.
    pub(crate) fn compare(self, found: &Values, expected: &Values) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        if let Self::Total = self {
            let found = found.numbers().sum::<f64>();
            let expected = expected.numbers().sum::<f64>();
            return if found == expected {
                Ok(())
            } else {
                bail!("the sum is {found} instead of {expected}")
            };
        }
        let count = expected.numbers().count();
        let scale = expected.numbers().fold(0.0, |most: f64, value| most.max(value.abs()));
        let slack = if let Self::Close(part) = self { f64::from(part) * scale } else { 0.0 };
        let pairs = found.numbers().zip(expected.numbers()).enumerate();
        // A comparison with NaN is false, so a NaN is not near.
        let near = |found: f64, expected: f64| (found - expected).abs() <= slack;
        let mut wrong = pairs.filter(|&(_, (found, expected))| !near(found, expected));
        let allowed = if let Self::Mostly(part) = self { (part * count as f64) as usize } else { 0 };
        match wrong.nth(allowed) {
            None if found.numbers().count() == count => Ok(()),
            None => bail!("the result has {} elements instead of {count}", found.numbers().count()),
            Some((at, (found, expected))) => bail!("element {at} is {found} instead of {expected}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(check: Check, found: &[f32], expected: &[f32]) -> bool {
        check.compare(&Values::F32(found.to_vec()), &Values::F32(expected.to_vec())).is_ok()
    }

    #[test]
    fn an_exact_check_finds_one_wrong_element_and_a_short_result() {
        assert!(passes(Check::Exact, &[1.0, 2.0], &[1.0, 2.0]));
        assert!(!passes(Check::Exact, &[1.0, 2.5], &[1.0, 2.0]));
        assert!(!passes(Check::Exact, &[1.0], &[1.0, 2.0]));
        assert!(!passes(Check::Close(0.1), &[1.0, f32::NAN], &[1.0, 2.0]));
    }

    #[test]
    fn a_close_check_has_a_limit() {
        assert!(passes(Check::Close(0.1), &[1.0, 10.9], &[1.0, 10.0]));
        assert!(!passes(Check::Close(0.1), &[1.0, 11.1], &[1.0, 10.0]));
    }

    #[test]
    fn a_complex_number_has_two_parts_to_compare() {
        let compared = |found: [f32; 2]| {
            let [found, expected] = [found, [1.0, 8.0]].map(|number| Values::Complex(vec![number]));
            Check::Close(0.1).compare(&found, &expected).is_ok()
        };
        assert!(compared([1.7, 7.3]));
        assert!(!compared([1.0, 7.1]) && !compared([1.9, 8.0]));
    }

    #[test]
    fn a_check_of_most_elements_counts_the_wrong_ones() {
        let expected = [1.0; 10];
        let with_wrong = |wrong: usize| {
            let mut found = expected;
            found[..wrong].fill(2.0);
            found
        };
        assert!(passes(Check::Mostly(0.2), &with_wrong(2), &expected));
        assert!(!passes(Check::Mostly(0.2), &with_wrong(3), &expected));
    }

    #[test]
    fn a_check_of_the_total_ignores_the_parts() {
        assert!(passes(Check::Total, &[3.0, 0.0], &[1.0, 2.0]));
        assert!(!passes(Check::Total, &[3.0, 1.0], &[1.0, 2.0]));
    }
}
