//! The places of elements in arrays whose elements are repeated along some axes, as in NumPy.

/// Maximum number of arrays that the expression of a map takes.
pub(crate) const MOST_INPUTS: usize = 6;
/// Maximum number of axes of the kernel.
pub(crate) const MOST_AXES: usize = 6;

/// An axis of the results: its length, and the distance between neighbours along it in each input, which is 0 where an
/// element is repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Axis {
    len: usize,
    strides: [usize; MOST_INPUTS],
}

/// Returns `true` if an array of a shape repeats to another shape: each axis, counted from the last one, is as long as
/// that of the other shape, or has length 1.
pub(crate) fn repeats_to(shape: &[usize], results: &[usize]) -> bool {
    let mut pairs = shape.iter().rev().zip(results.iter().rev());
    shape.len() <= results.len() && pairs.all(|(&len, &wanted)| len == wanted || len == 1)
}

/// Returns the axes of the results, without those of length 1. Axes that are neighbours in the memory of all inputs
/// count as one. There must be at least one result, and all inputs must repeat to the shape of the results.
pub(crate) fn axes(results: &[usize], inputs: &[&[usize]]) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    // Distance between neighbours in each input along the next axis that it does not repeat.
    let mut steps = [1; MOST_INPUTS];
    for (from_last, &len) in results.iter().rev().enumerate() {
        let mut strides = [0; MOST_INPUTS];
        for (at, shape) in inputs.iter().enumerate() {
            let own = shape.iter().rev().nth(from_last).copied().unwrap_or(1);
            if own != 1 {
                strides[at] = steps[at];
                steps[at] *= own;
            }
        }
        if len == 1 {
            continue;
        }
        let outer = Axis { len, strides };
        match axes.last_mut() {
            Some(inner) if inner.continues_in(&outer) => inner.len *= len,
            _ => axes.push(outer),
        }
    }
    axes.reverse();
    axes
}

impl Axis {
    /// Returns `true` if in all inputs, the end of this axis is where the next index of the outer axis begins.
    fn continues_in(&self, outer: &Self) -> bool {
        self.strides.iter().zip(outer.strides).all(|(inner, outer)| inner * self.len == outer)
    }
}

/// Returns `true` if the place of each element in all inputs is that of the result.
pub(crate) fn is_flat(axes: &[Axis], inputs: usize) -> bool {
    match axes {
        [] => true,
        [only] => only.strides[..inputs].iter().all(|&stride| stride == 1),
        _ => false,
    }
}

/// Returns the axes as the kernel takes them: two vectors for each axis, with its length and its strides.
pub(crate) fn vectors(axes: &[Axis]) -> [[u32; 4]; 2 * MOST_AXES] {
    let mut vectors = [[0; 4]; 2 * MOST_AXES];
    for (pair, axis) in vectors.chunks_exact_mut(2).zip(axes) {
        let [a, b, c, d, e, f] = axis.strides.map(|stride| stride as u32);
        pair[0] = [axis.len as u32, a, b, c];
        pair[1] = [d, e, f, 0];
    }
    vectors
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the place of a result's element in an input, by the rules of NumPy: the input gets axes of length 1
    /// before its own, and an index along an axis of length 1 is 0.
    fn place(mut rest: usize, results: &[usize], input: &[usize]) -> usize {
        let mut index = vec![0; results.len()];
        for (at, len) in results.iter().enumerate().rev() {
            index[at] = rest % len;
            rest /= len;
        }
        let own = &index[results.len() - input.len()..];
        own.iter().zip(input).fold(0, |place, (&at, &len)| place * len + if len == 1 { 0 } else { at })
    }

    /// Returns the place as the kernel computes it.
    fn computed(mut rest: usize, vectors: &[[u32; 4]; 2 * MOST_AXES], axes: usize, input: usize) -> usize {
        let number = |axis: usize, at: usize| vectors[2 * axis + at / 4][at % 4] as usize;
        let mut place = 0;
        for axis in (1..axes).rev() {
            place += rest % number(axis, 0) * number(axis, input + 1);
            rest /= number(axis, 0);
        }
        place + rest * number(0, input + 1)
    }

    /// Lists the shapes with at most four axes of the lengths 1, 2 and 3.
    fn shapes() -> Vec<Vec<usize>> {
        let mut all = vec![vec![]];
        for axes in 0..4 {
            let longer = |shape: &Vec<usize>| [1, 2, 3].map(|len| [&shape[..], &[len]].concat());
            let next: Vec<_> = all.iter().filter(|shape| shape.len() == axes).flat_map(longer).collect();
            all.extend(next);
        }
        all
    }

    #[test]
    fn each_place_is_the_one_of_numpy() {
        let all = shapes();
        for results in &all {
            let fitting: Vec<&[usize]> =
                all.iter().filter(|shape| repeats_to(shape, results)).map(Vec::as_slice).collect();
            for inputs in fitting.chunks(MOST_INPUTS) {
                let axes = axes(results, inputs);
                let vectors = vectors(&axes);
                assert!(axes.len() <= results.len());
                for i in 0..results.iter().product::<usize>() {
                    for (at, input) in inputs.iter().enumerate() {
                        let expected = place(i, results, input);
                        let found = if is_flat(&axes, inputs.len()) {
                            i
                        } else {
                            computed(i, &vectors, axes.len(), at)
                        };
                        assert_eq!(found, expected, "{results:?} {inputs:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_shape_repeats_only_along_axes_of_length_one_and_before_its_first_axis() {
        for shape in [&[2, 3][..], &[3][..], &[1, 3][..], &[2, 1][..], &[1][..], &[][..]] {
            assert!(repeats_to(shape, &[2, 3]), "{shape:?}");
        }
        for shape in [&[2][..], &[3, 2][..], &[1, 2, 3][..], &[0][..], &[2, 0][..]] {
            assert!(!repeats_to(shape, &[2, 3]), "{shape:?}");
        }
        assert!(repeats_to(&[1], &[0]) && !repeats_to(&[0], &[1]));
    }

    #[test]
    fn axes_that_all_inputs_repeat_alike_count_as_one() {
        let counted = |results: &[usize], inputs: &[&[usize]]| axes(results, inputs).len();
        assert_eq!(counted(&[2, 3, 4], &[&[2, 3, 4], &[2, 3, 4]]), 1);
        assert_eq!(counted(&[2, 3, 4], &[&[2, 3, 4], &[3, 4]]), 2);
        assert_eq!(counted(&[2, 3, 4], &[&[2, 3, 4], &[4]]), 2);
        assert_eq!(counted(&[2, 3, 4], &[&[2, 1, 4]]), 3);
        assert_eq!(counted(&[2, 3, 4], &[&[1], &[]]), 1);
        assert!(is_flat(&axes(&[2, 3], &[&[2, 3]]), 1) && is_flat(&axes(&[1, 1], &[&[1]]), 1));
        assert!(!is_flat(&axes(&[2, 3], &[&[1]]), 1), "the only element is at place 0");
    }
}
