//! The grid of a run.

use anyhow::{Result, bail};
use fencepost::Grid;

use super::buffer::Bound;
use super::shape::Extent;
use super::signature::Signature;

/// Returns the grid of a launch: the given one, or one invocation for each element of the longest written buffer.
///
/// # Errors
/// No grid is given and the kernel writes no buffer, or the workgroup has several dimensions and the buffer has a
/// different number of them.
pub(super) fn grid(
    threads: Option<Extent>,
    groups: Option<Extent>,
    signature: &Signature,
    buffers: &[Bound],
) -> Result<Grid<'static>> {
    if let Some(Extent(groups)) = groups {
        return Ok(Grid::groups(groups));
    }
    if let Some(Extent(threads)) = threads {
        return Ok(Grid::threads(threads));
    }
    let written = buffers.iter().filter(|buffer| buffer.is_written);
    let Some(longest) = written.max_by_key(|buffer| count(&buffer.elements)) else {
        bail!(
            "kernel `{}` writes no buffer whose length could be the grid: give --grid or --groups",
            signature.kernel
        );
    };
    covering(signature.workgroup, &longest.elements).map(Grid::threads).ok_or_else(|| {
        anyhow::anyhow!(
            "workgroups of {:?} have several dimensions, and buffer `{}` has shape {:?}: give it as many dimensions, or give \
             --grid or --groups",
            signature.workgroup,
            longest.name,
            longest.elements
        )
    })
}

fn count(shape: &[usize]) -> u64 {
    shape.iter().map(|&n| n as u64).product()
}

/// Returns the invocations that cover a buffer: along one line, or in the shape of the buffer with its last axis as x.
fn covering(workgroup: [u32; 3], shape: &[usize]) -> Option<[u64; 3]> {
    let dims = workgroup.iter().rposition(|&n| n > 1).map_or(1, |last| last + 1);
    if dims == 1 {
        return Some([count(shape), 1, 1]);
    }
    let axis = |at: usize| shape.iter().rev().nth(at).map_or(1, |&n| n as u64);
    (shape.len() == dims).then(|| std::array::from_fn(axis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workgroup_of_one_dimension_covers_every_shape() {
        assert_eq!(covering([64, 1, 1], &[10, 20]), Some([200, 1, 1]));
        assert_eq!(covering([1, 1, 1], &[]), Some([1, 1, 1]));
    }

    #[test]
    fn a_workgroup_of_two_dimensions_has_the_last_axis_as_x() {
        assert_eq!(covering([8, 8, 1], &[10, 20]), Some([20, 10, 1]));
        assert_eq!(covering([1, 4, 2], &[2, 3, 4]), Some([4, 3, 2]));
        assert_eq!(covering([8, 8, 1], &[200]), None);
    }
}
