//! Permutations of axes, reduced to as few axes as possible.

use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Element, ErrorDetail, Result};

/// Maximum number of axes of the kernel.
const MOST: usize = 6;

/// Moves that permute the axes of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moves {
    /// The elements stay in their order.
    None,
    /// The rows and columns of each batch are exchanged. The counts are those of the input.
    Transpositions { batches: usize, rows: usize, columns: usize },
    /// The axes are permuted.
    Axes(Axes),
}

/// Axes of the output: for each, its count, and the distance of its neighbours in the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Axes {
    pub(crate) counts: [usize; MOST],
    pub(crate) strides: [usize; MOST],
}

impl Moves {
    /// Returns the moves for a permutation of the axes of `x`.
    pub(crate) fn of<T: Element, const D: usize>(
        queue: &VerbQueue<'_>,
        x: &DeviceArray<T, D>,
        axes: [usize; D],
        out: &DeviceArray<T, D>,
    ) -> Result<Self> {
        let refused = |needed| {
            let object = "`axes` of `permute`".into();
            let found = format!("{axes:?}");
            Err(ErrorDetail::Value { object, found, needed }.into())
        };
        if !names_each_once(&axes) {
            return refused("an order that names each axis of the array once");
        }
        let expected = axes.map(|axis| x.shape()[axis]);
        if out.shape() != expected {
            let remedy = "the result has the counts of the array in the new order";
            return Err(queue.wrong_shape("out", out, expected, remedy));
        }
        let merged = merged(&x.shape(), &axes);
        if merged.len() > MOST {
            return refused("an order with at most six groups of axes that move");
        }
        Ok(Self::of_merged(&merged))
    }

    /// Returns the same moves as a permutation of axes, for the kernel without tiles.
    pub(crate) fn without_tiles(self) -> Self {
        let Self::Transpositions { batches, rows, columns } = self else { return self };
        let counts = [1, 1, 1, batches, columns, rows];
        Self::Axes(Axes { counts, strides: [0, 0, 0, rows * columns, 1, columns] })
    }

    fn of_merged(merged: &[(usize, usize)]) -> Self {
        match *merged {
            [] | [_] => Self::None,
            [(columns, 1), (rows, stride)] if stride == columns => {
                Self::Transpositions { batches: 1, rows, columns }
            }
            [(batches, batch), (columns, 1), (rows, stride)]
                if stride == columns && batch == rows * columns =>
            {
                Self::Transpositions { batches, rows, columns }
            }
            _ => {
                let mut counts = [1; MOST];
                let mut strides = [0; MOST];
                let first = MOST - merged.len();
                for (at, &(count, stride)) in merged.iter().enumerate() {
                    (counts[first + at], strides[first + at]) = (count, stride);
                }
                Self::Axes(Axes { counts, strides })
            }
        }
    }
}

fn names_each_once(axes: &[usize]) -> bool {
    (0..axes.len()).all(|axis| axes.contains(&axis))
}

/// Returns the count and the stride of each axis of the result, without axes of one element. Axes that stay neighbours
/// are merged. There are no axes if there are no elements.
fn merged(shape: &[usize], axes: &[usize]) -> Vec<(usize, usize)> {
    if shape.contains(&0) {
        return Vec::new();
    }
    let stride = |axis: usize| shape[axis + 1..].iter().product::<usize>();
    let mut merged: Vec<(usize, usize)> = Vec::new();
    for &axis in axes.iter().filter(|&&axis| shape[axis] != 1) {
        let count = shape[axis];
        let stride = stride(axis);
        match merged.last_mut() {
            Some(last) if last.1 == count * stride => *last = (last.0 * count, stride),
            _ => merged.push((count, stride)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(shape: &[usize], axes: &[usize]) -> Moves {
        Moves::of_merged(&merged(shape, axes))
    }

    #[test]
    fn axes_that_stay_neighbours_count_as_one() {
        assert_eq!(moves(&[2, 3, 4], &[0, 1, 2]), Moves::None);
        assert_eq!(moves(&[1, 7, 1], &[2, 0, 1]), Moves::None);
        assert_eq!(moves(&[0, 7], &[1, 0]), Moves::None);
        let transpositions = |batches, rows, columns| Moves::Transpositions { batches, rows, columns };
        assert_eq!(moves(&[5, 7], &[1, 0]), transpositions(1, 5, 7));
        assert_eq!(moves(&[2, 3, 4], &[2, 0, 1]), transpositions(1, 6, 4));
        assert_eq!(moves(&[2, 3, 4], &[1, 2, 0]), transpositions(1, 2, 12));
        assert_eq!(moves(&[8, 3, 16, 20], &[0, 2, 3, 1]), transpositions(8, 3, 320));
        let counts = [1, 1, 1, 4, 3, 2];
        let strides = [0, 0, 0, 1, 4, 12];
        assert_eq!(moves(&[2, 3, 4], &[2, 1, 0]), Moves::Axes(Axes { counts, strides }));
    }

    #[test]
    fn transpositions_without_tiles_read_the_same_elements() {
        let Moves::Axes(Axes { counts, strides }) = moves(&[2, 3, 4], &[0, 2, 1]).without_tiles() else {
            panic!("a transposition has axes");
        };
        assert_eq!((counts, strides), ([1, 1, 1, 2, 4, 3], [0, 0, 0, 12, 1, 4]));
        assert_eq!(moves(&[2, 3], &[0, 1]).without_tiles(), Moves::None);
    }

    #[test]
    fn an_order_names_each_axis_once() {
        assert!(names_each_once(&[2, 0, 1]) && names_each_once(&[]));
        assert!(!names_each_once(&[0, 0, 1]) && !names_each_once(&[0, 3, 1]));
    }
}
