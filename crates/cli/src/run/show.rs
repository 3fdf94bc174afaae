//! Arrays as text, in NumPy's format.

/// Maximum number of elements of an array that is printed in full.
const MOST: usize = 1000;
/// Number of elements printed at each end of each dimension of a larger array.
const EDGE: usize = 3;
/// Maximum number of characters in a line.
const WIDTH: usize = 80;

/// Returns the text of an array in C order; `number` returns the text of the number at an index.
pub(super) fn text(shape: &[usize], number: &dyn Fn(usize) -> String) -> String {
    let in_part = shape.iter().product::<usize>() > MOST;
    let mut array = Array { shape, number, in_part, width: 0 };
    array.width = array.widest(0, 0);
    array.block(0, 0)
}

struct Array<'a> {
    shape: &'a [usize],
    number: &'a dyn Fn(usize) -> String,
    in_part: bool,
    /// Characters of the longest printed number.
    width: usize,
}

impl Array<'_> {
    /// Returns the printed indices of an axis, with `None` where some are left out.
    fn places(&self, axis: usize) -> Vec<Option<usize>> {
        let len = self.shape[axis];
        if self.in_part && len > 2 * EDGE {
            let first = (0..EDGE).map(Some);
            first.chain([None]).chain((len - EDGE..len).map(Some)).collect()
        } else {
            (0..len).map(Some).collect()
        }
    }

    /// Returns the offset of an item of an axis, given the start of its block.
    fn inside(&self, axis: usize, start: usize, at: usize) -> usize {
        start + at * self.shape[axis + 1..].iter().product::<usize>()
    }

    fn widest(&self, axis: usize, start: usize) -> usize {
        if axis == self.shape.len() {
            return (self.number)(start).chars().count();
        }
        let places = self.places(axis).into_iter().flatten();
        places.map(|at| self.widest(axis + 1, self.inside(axis, start, at))).max().unwrap_or(0)
    }

    /// Returns the text of the sub-array at offset `start`, whose first axis is `axis`.
    fn block(&self, axis: usize, start: usize) -> String {
        if axis == self.shape.len() {
            return format!("{:>1$}", (self.number)(start), self.width);
        }
        let item = |at: Option<usize>| match at {
            Some(at) => self.block(axis + 1, self.inside(axis, start, at)),
            None => "...".into(),
        };
        let items = self.places(axis).into_iter().map(item);
        let indent = " ".repeat(axis + 1);
        let after = self.shape.len() - axis - 1;
        let inner = if after == 0 {
            lines(items, &indent)
        } else {
            items.collect::<Vec<_>>().join(&format!("{}{indent}", "\n".repeat(after)))
        };
        format!("[{inner}]")
    }
}

/// Joins items into as few lines as they need.
fn lines(items: impl Iterator<Item = String>, indent: &str) -> String {
    let mut text = String::new();
    let mut used = indent.len();
    for item in items {
        let first = text.is_empty();
        if !first && used + 1 + item.len() > WIDTH {
            text += &format!("\n{indent}");
            used = indent.len();
        } else if !first {
            text.push(' ');
            used += 1;
        }
        used += item.len();
        text += &item;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iota(shape: &[usize]) -> String {
        text(shape, &|at| at.to_string())
    }

    #[test]
    fn a_short_array_is_printed_whole_with_aligned_numbers() {
        assert_eq!(iota(&[3]), "[0 1 2]");
        assert_eq!(iota(&[2, 6]), "[[ 0  1  2  3  4  5]\n [ 6  7  8  9 10 11]]");
        assert_eq!(iota(&[2, 1, 2]), "[[[0 1]]\n\n [[2 3]]]");
        assert_eq!((iota(&[0]), iota(&[]), iota(&[2, 0])), ("[]".into(), "0".into(), "[[]\n []]".into()));
    }

    #[test]
    fn a_long_array_is_printed_with_its_ends_only() {
        assert_eq!(iota(&[1001]), "[   0    1    2 ...  998  999 1000]");
        let rows = iota(&[100, 100]);
        assert_eq!(rows.lines().count(), 7);
        assert_eq!(rows.lines().nth(3), Some(" ..."));
        assert_eq!(rows.lines().last(), Some(" [9900 9901 9902 ... 9997 9998 9999]]"));
    }

    #[test]
    fn lines_have_at_most_eighty_characters() {
        let all = iota(&[1000]);
        assert!(all.lines().all(|line| line.len() <= 81), "the bracket at the end comes on top");
        let numbers: Vec<usize> =
            all.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
        assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
    }
}
