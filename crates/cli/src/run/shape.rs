//! Shapes and sizes in the form of the command line: `1000`, `64x64`.

use std::str::FromStr;

/// Number of elements in each dimension of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape(pub(crate) Vec<usize>);

/// Invocations or workgroups in three dimensions; a missing number is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent(pub(crate) [u64; 3]);

impl Shape {
    /// Counts its elements.
    ///
    /// # Errors
    /// The count does not fit into `usize`.
    pub(crate) fn len(&self) -> Result<usize, String> {
        let count = self.0.iter().try_fold(1_usize, |all, &n| all.checked_mul(n));
        count.ok_or_else(|| format!("{:?} has more elements than can be counted", self.0))
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape = Self(numbers(text)?);
        shape.len().map(|_| shape)
    }
}

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let given: Vec<u64> = numbers(text)?;
        if given.len() > 3 {
            return Err(format!("`{text}` has {} dimensions, and a grid has one to three", given.len()));
        }
        Ok(Self(std::array::from_fn(|at| given.get(at).copied().unwrap_or(1))))
    }
}

fn numbers<N: FromStr>(text: &str) -> Result<Vec<N>, String> {
    let number = |part: &str| {
        let digits = part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse().ok().filter(|_| digits)
    };
    let numbers = text.split('x').map(number).collect::<Option<_>>();
    numbers.ok_or_else(|| {
        format!("`{text}` is not a size: write numbers with `x` between them, such as 1000 or 64x64")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_numbers_with_x_between_them() {
        assert_eq!("64x32".parse(), Ok(Shape(vec![64, 32])));
        assert_eq!("7".parse(), Ok(Extent([7, 1, 1])));
        assert_eq!("1x2x3".parse(), Ok(Extent([1, 2, 3])));
    }

    #[test]
    fn a_text_that_is_no_size_is_refused() {
        for text in ["", "x", "3x", "-1", "+1", "1.5", "1e3", "99999999999999999999"] {
            assert!(text.parse::<Shape>().is_err(), "{text}");
        }
        assert!("1x1x1x1".parse::<Extent>().is_err());
        assert!("4294967296x4294967296".parse::<Shape>().is_err(), "it overflows");
    }
}
