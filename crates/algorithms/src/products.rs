//! The sizes of products of matrices, and the places of their elements.

use crate::broadcast::repeats_to;
use crate::strided::ends;
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{Element, ErrorDetail, Matrices, Result};

/// Maximum number of axes of a stack of matrices in the kernels.
pub(crate) const MOST_AXES: usize = 3;
/// Maximum number of products in a sum, so that the kernels can count them.
const MOST_INNER: usize = 1 << 31;

/// Places of the elements of a stack of matrices: that of the first element, and the distances of neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MatrixPlaces {
    pub(crate) first: usize,
    /// Distance of neighbouring rows.
    pub(crate) row: isize,
    /// Distance of neighbouring columns.
    pub(crate) column: isize,
    /// Distance of neighbouring matrices along each axis of the stack.
    pub(crate) stack: [isize; MOST_AXES],
}

impl MatrixPlaces {
    fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }
}

/// A stack of products of matrices: `out[r, c]` is the sum of `a[r, i] * b[i, c]` over all `i`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Products {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) inner: usize,
    /// Number of matrices along each axis of the stack.
    pub(crate) stack: [usize; MOST_AXES],
    pub(crate) a: MatrixPlaces,
    pub(crate) b: MatrixPlaces,
    pub(crate) out: MatrixPlaces,
    /// Distance of the biases of neighbouring rows, and of neighbouring columns.
    pub(crate) bias: [usize; 2],
}

/// Matrices, divided into the axes of a stack and of a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixAxes<'a> {
    pub(crate) stack: &'a [usize],
    pub(crate) stack_strides: &'a [isize],
    /// Number of rows and of columns.
    pub(crate) matrix: [usize; 2],
    /// Distance of neighbouring rows, and of neighbouring columns.
    pub(crate) strides: [isize; 2],
}

impl<'a> MatrixAxes<'a> {
    /// Divides axes. A vector is a row if `is_row` is `true`, and otherwise a column. Returns `None` if there is no
    /// axis.
    pub(crate) fn of(shape: &'a [usize], strides: &'a [isize], is_row: bool) -> Option<Self> {
        match (shape, strides) {
            (&[len], &[stride]) if is_row => Some(Self::matrix([1, len], [0, stride])),
            (&[len], &[stride]) => Some(Self::matrix([len, 1], [stride, 0])),
            ([stack @ .., rows, columns], [stack_strides @ .., row, column]) => {
                let of_matrix = Self::matrix([*rows, *columns], [*row, *column]);
                Some(Self { stack, stack_strides, ..of_matrix })
            }
            _ => None,
        }
    }

    fn matrix(matrix: [usize; 2], strides: [isize; 2]) -> Self {
        Self { stack: &[], stack_strides: &[], matrix, strides }
    }

    /// Returns the distance of neighbours along an axis of the stack, counted from the last one. It is 0 if the
    /// elements repeat.
    fn step(&self, from_last: usize) -> isize {
        let lens = self.stack.iter().rev().nth(from_last);
        let steps = self.stack_strides.iter().rev().nth(from_last);
        lens.zip(steps).map_or(0, |(&len, &step)| if len == 1 { 0 } else { step })
    }

    /// Returns the places of one matrix, whose first element is at a place.
    pub(crate) fn places(&self, first: usize) -> MatrixPlaces {
        let [row, column] = self.strides;
        MatrixPlaces { first, row, column, stack: [0; MOST_AXES] }
    }
}

const NO_AXIS: &str = "a factor is a vector, a matrix or a stack of matrices";
const INNER: &str = "`b` has as many rows as `a` has columns";
const STACKS: &str = "the stacks of the factors repeat to one shape: each of their axes, counted from the last one, has the length of \
                      that of the other stack, or length 1";
const RESULTS: &str = "the results have the rows of `a`, the columns of `b`, and a matrix for each pair of the factors; a vector as a \
                       factor leaves out its axis";

impl Products {
    /// Returns the products of two arguments of a verb, or an error if the arrays do not fit each other.
    pub(crate) fn of<T: Element, P: Element>(
        queue: &VerbQueue<'_>,
        a: &Matrices<T>,
        b: &Matrices<T>,
        out: &Matrices<P>,
    ) -> Result<Self> {
        let refused = |argument: &str, factor: &Matrices<T>, expected: Vec<usize>, remedy| {
            let label = factor.array().label();
            Err(queue.wrong_shape_of(argument, label, factor.shape().into(), expected, remedy))
        };
        let Some(left) = MatrixAxes::of(a.shape(), a.strides(), true) else {
            return refused("a", a, vec![1], NO_AXIS);
        };
        let Some(right) = MatrixAxes::of(b.shape(), b.strides(), false) else {
            return refused("b", b, vec![1], NO_AXIS);
        };
        let [rows, inner] = left.matrix;
        let [_, columns] = right.matrix;
        if right.matrix[0] != inner {
            let mut expected = b.shape().to_vec();
            let axis = expected.len().saturating_sub(2);
            expected[axis] = inner;
            return refused("b", b, expected, INNER);
        }
        let Some(stack) = joined(left.stack, right.stack) else {
            let expected = [left.stack, &right.matrix[..right_axes(b)]].concat();
            return refused("b", b, expected, STACKS);
        };
        // A vector as a factor has no axis in the results.
        let of_rows = (a.shape().len() > 1).then_some(rows);
        let of_columns = (b.shape().len() > 1).then_some(columns);
        let of_matrix: Vec<usize> = of_rows.into_iter().chain(of_columns).collect();
        let found = out.shape();
        let split = found.len().saturating_sub(of_matrix.len());
        let (of_stack, rest) = found.split_at(split);
        if rest != of_matrix || !repeats_to(&stack, of_stack) {
            let of_stack = if repeats_to(&stack, of_stack) { of_stack } else { &stack[..] };
            let expected = [of_stack, &of_matrix].concat();
            return Err(queue.wrong_shape_of("out", out.array().label(), found.into(), expected, RESULTS));
        }
        check_range(queue, "a", a)?;
        check_range(queue, "b", b)?;
        if inner >= MOST_INNER {
            let object = format!("{}: the number of columns of `a`", subject(queue.verb));
            let found = inner.to_string();
            return Err(ErrorDetail::Value { object, found, needed: "a number below 2^31" }.into());
        }
        let results = MatrixAxes {
            stack: of_stack,
            stack_strides: &out.strides()[..split],
            matrix: [rows, columns],
            strides: matrix_strides(&out.strides()[split..], [of_rows, of_columns]),
        };
        let whole = Self {
            rows,
            columns,
            inner,
            stack: [1; MOST_AXES],
            a: left.places(a.first()),
            b: right.places(b.first()),
            out: results.places(out.first()),
            bias: [0, 1],
        };
        whole.with_stack(queue, merged(of_stack, &[left, right, results]))
    }

    /// Adds the axes of the stack: for each, its length, and the distances of neighbours in `a`, `b` and `out`.
    fn with_stack(mut self, queue: &VerbQueue<'_>, mut axes: Vec<StackAxis>) -> Result<Self> {
        // If all products have the same right factor, the rows of neighbouring matrices may be those of one matrix.
        while let Some(&(len, [a, 0, out])) = axes.last() {
            if self.rows == 1 {
                self.a.row = a;
                self.out.row = out;
            } else if !continues(self.rows, self.a.row, a) || !continues(self.rows, self.out.row, out) {
                break;
            }
            // Without results, the lengths may be any.
            self.rows = self.rows.saturating_mul(len);
            axes.pop();
        }
        check_axes(queue, axes.len())?;
        let first = MOST_AXES - axes.len();
        for (at, (len, [a, b, out])) in (first..).zip(axes) {
            self.stack[at] = len;
            self.a.stack[at] = a;
            self.b.stack[at] = b;
            self.out.stack[at] = out;
        }
        Ok(self)
    }

    /// Returns the products with rows and columns exchanged: the left factor is the right one, transposed.
    pub(crate) fn transposed(self) -> Self {
        let [of_row, of_column] = self.bias;
        Self {
            rows: self.columns,
            columns: self.rows,
            a: self.b.transposed(),
            b: self.a.transposed(),
            out: self.out.transposed(),
            bias: [of_column, of_row],
            ..self
        }
    }

    /// Returns the number of matrices.
    pub(crate) fn matrices(&self) -> usize {
        self.stack.iter().product()
    }

    /// Returns the number of results.
    pub(crate) fn results(&self) -> usize {
        self.matrices() * self.rows * self.columns
    }

    /// Returns the places of the results in an array that has them all without gaps.
    pub(crate) fn compact(&self) -> MatrixPlaces {
        let [_, middle, last] = self.stack;
        let matrix = self.rows * self.columns;
        let stack = [middle * last * matrix, last * matrix, matrix].map(|step| step as isize);
        MatrixPlaces { first: 0, row: self.columns as isize, column: 1, stack }
    }
}

/// Returns the number of axes of a right factor that are not those of the stack.
fn right_axes<T: Element>(b: &Matrices<T>) -> usize {
    b.shape().len().min(2)
}

/// Returns the distances of neighbouring rows and columns. An axis that the results do not have has one element.
pub(crate) fn matrix_strides(strides: &[isize], [rows, columns]: [Option<usize>; 2]) -> [isize; 2] {
    match (strides, rows, columns) {
        (&[row, column], ..) => [row, column],
        (&[row], Some(_), _) => [row, 0],
        (&[column], None, _) => [0, column],
        _ => [0, 0],
    }
}

/// An axis of a stack: its length, and the distances of neighbours in each array; of a product, in `a`, `b` and `out`.
type StackAxis<const N: usize = 3> = (usize, [isize; N]);

/// Returns the shape to which two shapes repeat, or `None` if there is none.
pub(crate) fn joined(one: &[usize], other: &[usize]) -> Option<Vec<usize>> {
    let len = one.len().max(other.len());
    let at = |shape: &[usize], from_last: usize| shape.iter().rev().nth(from_last).copied().unwrap_or(1);
    let mut shape = Vec::with_capacity(len);
    for from_last in (0..len).rev() {
        shape.push(match (at(one, from_last), at(other, from_last)) {
            (1, len) | (len, 1) => len,
            (len, same) if len == same => len,
            _ => return None,
        });
    }
    Some(shape)
}

/// Returns the axes of a stack with more than one matrix. Axes that all arrays continue alike count as one. Without
/// results, a length may be too large, and is `usize::MAX` then.
pub(crate) fn merged<const N: usize>(stack: &[usize], arrays: &[MatrixAxes<'_>; N]) -> Vec<StackAxis<N>> {
    let mut axes: Vec<StackAxis<N>> = Vec::new();
    for (from_last, &len) in stack.iter().rev().enumerate() {
        if len == 1 {
            continue;
        }
        let steps = arrays.map(|array| array.step(from_last));
        match axes.last_mut() {
            Some((inner, own)) if own.iter().zip(steps).all(|(&own, step)| continues(*inner, own, step)) => {
                *inner = inner.saturating_mul(len);
            }
            _ => axes.push((len, steps)),
        }
    }
    axes.reverse();
    axes
}

/// Returns `true` if the end of an axis is where the next index of the outer axis begins.
fn continues(len: usize, step: isize, outer: isize) -> bool {
    (len as isize).checked_mul(step) == Some(outer)
}

/// Returns an error if a stack has more axes than the kernels.
pub(crate) fn check_axes(queue: &VerbQueue<'_>, axes: usize) -> Result<()> {
    if axes <= MOST_AXES {
        return Ok(());
    }
    let object = format!(
        "{}: the number of axes of the stack, with those that all arrays continue alike counted as one,",
        subject(queue.verb)
    );
    Err(ErrorDetail::Value { object, found: axes.to_string(), needed: "a number up to 3" }.into())
}

/// Returns an error if an element of a factor is outside of its array.
pub(crate) fn check_range<T: Element>(
    queue: &VerbQueue<'_>,
    argument: &str,
    factor: &Matrices<T>,
) -> Result<()> {
    if factor.shape().contains(&0) {
        return Ok(());
    }
    let len = factor.array().len();
    let [low, high] = ends(factor.first(), factor.shape(), factor.strides());
    if low >= 0 && high < len as i128 {
        return Ok(());
    }
    let object = format!("{}, argument `{argument}`: the range of the places", subject(queue.verb));
    let found = format!("{low}..={high} of {len} elements");
    Err(ErrorDetail::Value { object, found, needed: "a range inside of the array" }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts<'a>(stack: &'a [usize], stack_strides: &'a [isize]) -> MatrixAxes<'a> {
        MatrixAxes { stack, stack_strides, ..MatrixAxes::matrix([2, 3], [3, 1]) }
    }

    #[test]
    fn shapes_repeat_to_one_shape_as_in_numpy() {
        assert_eq!(joined(&[2, 1, 4], &[3, 1]), Some(vec![2, 3, 4]));
        assert_eq!(joined(&[], &[5]), Some(vec![5]));
        assert_eq!(joined(&[1, 0], &[7, 1]), Some(vec![7, 0]));
        assert_eq!(joined(&[2], &[3]), None);
        assert_eq!(joined(&[0], &[2]), None);
    }

    #[test]
    fn a_vector_is_a_row_on_the_left_and_a_column_on_the_right() {
        let left = MatrixAxes::of(&[5], &[2], true).unwrap();
        assert_eq!((left.matrix, left.strides), ([1, 5], [0, 2]));
        let right = MatrixAxes::of(&[5], &[2], false).unwrap();
        assert_eq!((right.matrix, right.strides), ([5, 1], [2, 0]));
        assert!(MatrixAxes::of(&[], &[], true).is_none());
        let stack = MatrixAxes::of(&[4, 5, 6], &[30, 6, 1], true).unwrap();
        assert_eq!((stack.stack, stack.stack_strides, stack.matrix), (&[4][..], &[30][..], [5, 6]));
    }

    #[test]
    fn axes_that_all_arrays_continue_alike_count_as_one() {
        let whole = parts(&[2, 3, 4], &[72, 24, 6]);
        let none = parts(&[], &[]);
        assert_eq!(merged(&[2, 3, 4], &[whole, none, whole]), [(24, [6, 0, 6])]);
        let last = parts(&[4], &[6]);
        assert_eq!(merged(&[2, 3, 4], &[whole, last, whole]), [(6, [24, 0, 24]), (4, [6, 6, 6])]);
        let ones = parts(&[2, 1, 4], &[24, 0, 6]);
        let axes = merged(&[2, 3, 4], &[whole, ones, whole]);
        assert_eq!(axes, [(2, [72, 24, 72]), (3, [24, 0, 24]), (4, [6, 6, 6])]);
        assert!(merged(&[1, 1], &[none; 3]).is_empty());
    }

    #[test]
    fn an_axis_that_the_results_lack_has_a_stride_of_zero() {
        assert_eq!(matrix_strides(&[7, 1], [Some(2), Some(3)]), [7, 1]);
        assert_eq!(matrix_strides(&[1], [Some(2), None]), [1, 0]);
        assert_eq!(matrix_strides(&[1], [None, Some(3)]), [0, 1]);
        assert_eq!(matrix_strides(&[], [None, None]), [0, 0]);
    }

    #[test]
    fn transposed_twice_are_the_same_products() {
        let places = |first| MatrixPlaces { first, row: 7, column: 1, stack: [9, 8, 7] };
        let products = Products {
            rows: 2,
            columns: 3,
            inner: 5,
            stack: [2, 4, 6],
            a: places(1),
            b: places(2),
            out: places(3),
            bias: [0, 1],
        };
        let turned = products.transposed();
        assert_eq!((turned.rows, turned.a.first, turned.a.row, turned.bias), (3, 2, 1, [1, 0]));
        assert_eq!(turned.transposed(), products);
        assert_eq!(products.results(), 288);
        let compact = MatrixPlaces { first: 0, row: 3, column: 1, stack: [144, 36, 6] };
        assert_eq!(products.compact(), compact);
    }
}
