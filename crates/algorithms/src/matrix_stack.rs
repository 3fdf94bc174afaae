//! The shapes and the places of the arguments of linear algebra.

use crate::broadcast::repeats_to;
use crate::elementwise::flat;
use crate::products::{
    MOST_AXES, MatrixAxes, MatrixPlaces, check_axes, check_range, joined, matrix_strides, merged,
};
use crate::typed_kernel::value;
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::{BufferArg, DeviceArray, DynArg, Element, ErrorDetail, Matrices, NamedArg, Result};

/// Maximum number of rows, and of columns, of a matrix, and the text about it in messages.
pub(crate) const MOST_ROWS: (usize, &str) = (128, "a number up to 128");
/// Maximum number of rows of a symmetric matrix whose eigenvalues are computed.
pub(crate) const MOST_SYMMETRIC: (usize, &str) = (64, "a number up to 64");

/// Places of the matrices of some arrays that repeat to one stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MatrixStack<const N: usize> {
    /// Number of matrices along each axis of the stack.
    counts: [usize; MOST_AXES],
    pub(crate) places: [MatrixPlaces; N],
}

impl<const N: usize> MatrixStack<N> {
    /// Returns the places for a stack of this shape. Each array has its parts, and the place of its first element.
    pub(crate) fn of(
        queue: &VerbQueue<'_>,
        stack: &[usize],
        arrays: [(MatrixAxes<'_>, usize); N],
    ) -> Result<Self> {
        let axes = merged(stack, &arrays.map(|(parts, _)| parts));
        check_axes(queue, axes.len())?;
        let places = arrays.map(|(parts, first)| parts.places(first));
        let mut found = Self { counts: [1; MOST_AXES], places };
        let first = MOST_AXES - axes.len();
        for (at, (len, steps)) in (first..).zip(axes) {
            found.counts[at] = len;
            for (places, step) in found.places.iter_mut().zip(steps) {
                places.stack[at] = step;
            }
        }
        Ok(found)
    }

    /// Returns the number of matrices, which is 0 if an axis of the stack has length 0.
    pub(crate) fn matrices(&self) -> usize {
        if self.counts.contains(&0) { 0 } else { self.counts.iter().product() }
    }

    /// Returns the parameters of a kernel: the counts of the stack, and the places in arrays with these names.
    pub(crate) fn parameters(&self, names: [[&'static str; 6]; N]) -> Vec<NamedArg<'static>> {
        let [_, count_1, count_2] = self.counts;
        let mut list = vec![size("count_1", count_1), size("count_2", count_2)];
        for (names, places) in names.into_iter().zip(&self.places) {
            let [first, row, column, stack @ ..] = names;
            list.extend([size(first, places.first), step(row, places.row), step(column, places.column)]);
            list.extend(stack.into_iter().zip(places.stack).map(|(name, distance)| step(name, distance)));
        }
        list
    }
}

/// Parameter names of the places in the arrays of the kernels.
pub(crate) const OF_A: [&str; 6] = ["a_first", "a_row", "a_column", "a_0", "a_1", "a_2"];
pub(crate) const OF_B: [&str; 6] = ["b_first", "b_row", "b_column", "b_0", "b_1", "b_2"];
pub(crate) const OF_OUT: [&str; 6] = ["out_first", "out_row", "out_column", "out_0", "out_1", "out_2"];

/// Returns the argument for a parameter that is a number of elements, or a place.
pub(crate) fn size(name: &'static str, n: usize) -> NamedArg<'static> {
    value(name, n as u32)
}

/// Returns the argument for a distance. Products of distances and indices wrap, so the lowest bits of a negative one
/// suffice.
fn step(name: &'static str, distance: isize) -> NamedArg<'static> {
    value(name, distance as u32)
}

/// Returns the argument for an array that a kernel reads.
pub(crate) fn read<'a>(name: &'static str, array: &'a dyn BufferArg) -> NamedArg<'a> {
    (Some(name.into()), DynArg::Read(array))
}

/// Returns the argument for an array that a kernel writes.
pub(crate) fn write<'a>(name: &'static str, array: &'a dyn BufferArg) -> NamedArg<'a> {
    (Some(name.into()), DynArg::ReadWrite(array))
}

const NO_MATRIX: &str = "the argument is a matrix or a stack of matrices";
const NOT_SQUARE: &str = "a matrix has as many columns as rows";
const STACKS: &str = "the stacks of `a` and `b` repeat to one shape: each of their axes, counted from the last one, has the length of \
                      that of the other stack, or length 1";
const RIGHT_SIDES: &str =
    "`b` has as many rows as `a`; an array with one axis is one column, and each other one has columns";
const SOLUTIONS: &str =
    "the solutions have the shape of `b`, repeated to a matrix for each pair of `a` and `b`";

/// Returns the parts of an argument with matrices that have at most this number of rows and of columns.
pub(crate) fn small<'a>(
    queue: &VerbQueue<'_>,
    a: &'a Matrices<f32>,
    (most, needed): (usize, &'static str),
) -> Result<MatrixAxes<'a>> {
    let shape = a.shape();
    let parts = MatrixAxes::of(shape, a.strides(), false).filter(|_| shape.len() > 1);
    let Some(parts) = parts else {
        let side = shape.first().copied().unwrap_or(1);
        let found = shape.into();
        return Err(queue.wrong_shape_of("a", a.array().label(), found, [side, side], NO_MATRIX));
    };
    for (what, len) in ["rows", "columns"].into_iter().zip(parts.matrix) {
        if len > most {
            let object = format!("{}, argument `a`: the number of {what}", subject(queue.verb));
            return Err(ErrorDetail::Value { object, found: len.to_string(), needed }.into());
        }
    }
    check_range(queue, "a", a)?;
    Ok(parts)
}

/// Returns the parts of an argument with square matrices that have at most this number of rows.
pub(crate) fn square<'a>(
    queue: &VerbQueue<'_>,
    a: &'a Matrices<f32>,
    most: (usize, &'static str),
) -> Result<MatrixAxes<'a>> {
    let shape = a.shape();
    if let [stack @ .., rows, columns] = shape
        && rows != columns
    {
        let expected = [stack, &[*rows, *rows]].concat();
        return Err(queue.wrong_shape_of("a", a.array().label(), shape.into(), expected, NOT_SQUARE));
    }
    small(queue, a, most)
}

/// Returns the parts of an array with a matrix of this shape for each matrix of a stack, which may repeat.
pub(crate) fn matrices_of<'a>(
    queue: &VerbQueue<'_>,
    (argument, out): (&str, &'a Matrices<f32>),
    stack: &[usize],
    matrix: [usize; 2],
    remedy: &'static str,
) -> Result<MatrixAxes<'a>> {
    let shape = out.shape();
    let parts = MatrixAxes::of(shape, out.strides(), false).filter(|_| shape.len() > 1);
    let has_stack = |parts: &MatrixAxes<'_>| repeats_to(stack, parts.stack);
    match parts {
        Some(parts) if parts.matrix == matrix && has_stack(&parts) => Ok(parts),
        _ => {
            let own = parts.filter(has_stack).map_or(stack, |parts| parts.stack);
            let expected = [own, &matrix].concat();
            Err(queue.wrong_shape_of(argument, out.array().label(), shape.into(), expected, remedy))
        }
    }
}

/// Returns an array with one axis, which has this shape. An array for one number has one element.
pub(crate) fn list_of<T: Element, const D: usize>(
    queue: &VerbQueue<'_>,
    (argument, array): (&str, &DeviceArray<T, D>),
    shape: Vec<usize>,
    remedy: &'static str,
) -> Result<DeviceArray<T>> {
    let found = array.shape();
    let is_single = shape.is_empty() && found[..] == [1];
    if is_single || found[..] == shape[..] {
        return flat(array);
    }
    let expected = if shape.is_empty() { vec![1] } else { shape };
    Err(queue.wrong_shape(argument, array, expected, remedy))
}

/// Right sides of equations, and the array of their solutions.
pub(crate) struct RightSides<'a> {
    /// Shape of the stack of the solutions.
    pub(crate) stack: &'a [usize],
    /// Number of columns, or 0 if there are no rows.
    pub(crate) columns: usize,
    pub(crate) b: MatrixAxes<'a>,
    pub(crate) out: MatrixAxes<'a>,
}

impl<'a> RightSides<'a> {
    /// Divides the axes of `b` and `out`, which fit the matrices of `a`.
    pub(crate) fn of(
        queue: &VerbQueue<'_>,
        a: &MatrixAxes<'_>,
        b: &'a Matrices<f32>,
        out: &'a Matrices<f32>,
    ) -> Result<Self> {
        let [rows, _] = a.matrix;
        let refused = |argument: &str, array: &Matrices<f32>, expected: Vec<usize>, remedy| {
            let label = array.array().label();
            Err(queue.wrong_shape_of(argument, label, array.shape().into(), expected, remedy))
        };
        let Some(right) = MatrixAxes::of(b.shape(), b.strides(), false) else {
            return refused("b", b, vec![rows], RIGHT_SIDES);
        };
        let is_vector = b.shape().len() == 1;
        let of_matrix = [rows, right.matrix[1]];
        let of_matrix = if is_vector { &of_matrix[..1] } else { &of_matrix[..] };
        if right.matrix[0] != rows {
            return refused("b", b, [right.stack, of_matrix].concat(), RIGHT_SIDES);
        }
        let Some(stack) = joined(a.stack, right.stack) else {
            return refused("b", b, [a.stack, of_matrix].concat(), STACKS);
        };
        let found = out.shape();
        let split = found.len().saturating_sub(of_matrix.len());
        let (of_stack, rest) = found.split_at(split);
        if rest != of_matrix || !repeats_to(&stack, of_stack) {
            let of_stack = if repeats_to(&stack, of_stack) { of_stack } else { &stack[..] };
            return refused("out", out, [of_stack, of_matrix].concat(), SOLUTIONS);
        }
        check_range(queue, "b", b)?;
        let columns = right.matrix[1];
        let of_columns = (!is_vector).then_some(columns);
        let results = MatrixAxes {
            stack: of_stack,
            stack_strides: &out.strides()[..split],
            matrix: [rows, columns],
            strides: matrix_strides(&out.strides()[split..], [Some(rows), of_columns]),
        };
        // Without rows, the number of columns may be any.
        let columns = if rows == 0 { 0 } else { columns };
        Ok(Self { stack: of_stack, columns, b: right, out: results })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_of_a_stack_have_the_names_and_the_distances_of_its_arrays() {
        let places = |first, row| MatrixPlaces { first, row, column: 1, stack: [0, 7, -2] };
        let stack = MatrixStack { counts: [1, 3, 4], places: [places(5, -6), places(0, 9)] };
        assert_eq!(stack.matrices(), 12);
        let found = stack.parameters([OF_A, OF_OUT]);
        let name = |(name, _): &NamedArg<'_>| name.clone().map_or_else(String::new, |name| name.into_owned());
        let names: Vec<String> = found.iter().map(name).collect();
        assert_eq!(names[..2], ["count_1", "count_2"]);
        assert_eq!(names[2..].iter().map(|name| &**name).collect::<Vec<_>>(), [OF_A, OF_OUT].concat());
        let bytes = |at: usize| match &found[at].1 {
            DynArg::Value(value) => value.bytes().to_vec(),
            other => panic!("{other:?} is not a value"),
        };
        for (at, number) in
            [(0, 3), (1, 4), (2, 5), (3, 6_u32.wrapping_neg()), (6, 7), (7, 2_u32.wrapping_neg()), (9, 9)]
        {
            assert_eq!(bytes(at), number.to_ne_bytes(), "{}", names[at]);
        }
    }
}
