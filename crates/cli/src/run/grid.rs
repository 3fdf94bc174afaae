//! The grid of a run.

use anyhow::{Result, anyhow, bail};
use fencepost::Grid;

use super::buffer::Bound;
use super::shape::Extent;
use super::signature::Signature;

/// Size of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum GridSize {
    /// Invocations in each dimension.
    Threads([u64; 3]),
    /// Workgroups in each dimension.
    Groups([u64; 3]),
}

impl GridSize {
    /// Returns the size of a launch: the given one, or one invocation for each element of the longest written buffer.
    ///
    /// # Errors
    /// No size is given and the kernel writes no buffer, or the workgroup has several dimensions and the buffer has a
    /// different number of them.
    pub(super) fn new(
        threads: Option<Extent>,
        groups: Option<Extent>,
        signature: &Signature,
        buffers: &[Bound],
    ) -> Result<Self> {
        if let Some(Extent(groups)) = groups {
            return Ok(Self::Groups(groups));
        }
        if let Some(Extent(threads)) = threads {
            return Ok(Self::Threads(threads));
        }
        let written = buffers.iter().filter(|buffer| buffer.is_written);
        let Some(longest) = written.max_by_key(|buffer| count(&buffer.elements)) else {
            bail!(
                "kernel `{}` writes no buffer whose length could be the grid: give --grid or --groups",
                signature.kernel
            );
        };
        covering(signature.workgroup, &longest.elements).map(Self::Threads).ok_or_else(|| {
            anyhow!(
                "workgroups of {:?} have several dimensions, and buffer `{}` has shape {:?}: give it as many dimensions, or \
                 give --grid or --groups",
                signature.workgroup,
                longest.name,
                longest.elements
            )
        })
    }

    /// Returns the grid of the launch.
    pub(super) fn grid(self) -> Grid<'static> {
        match self {
            Self::Threads(threads) => Grid::threads(threads),
            Self::Groups(groups) => Grid::groups(groups),
        }
    }

    /// Returns a sentence about the used buffers that have fewer elements than the grid has invocations; `None` if
    /// there are none. A buffer of one element is left out, because it usually holds one result of all invocations.
    pub(super) fn shorter(self, signature: &Signature, buffers: &[Bound]) -> Option<String> {
        let invocations = self.invocations(signature.workgroup);
        let is_used =
            |name: &str| signature.buffers.iter().any(|known| known.name == name && known.used.is_some());
        let used = buffers.iter().filter(|buffer| is_used(&buffer.name));
        let lengths = used.map(|buffer| (buffer.name.as_str(), count(&buffer.elements)));
        difference(invocations, lengths)
    }

    /// Counts the invocations, without those that fill up the last workgroups.
    fn invocations(self, workgroup: [u32; 3]) -> u128 {
        let product = |sizes: [u64; 3]| sizes.iter().fold(1_u128, |all, &n| all.saturating_mul(n.into()));
        match self {
            Self::Threads(threads) => product(threads),
            Self::Groups(groups) => product(groups).saturating_mul(product(workgroup.map(u64::from))),
        }
    }
}

/// Compares the lengths of buffers with the invocations of a grid.
fn difference<'a>(invocations: u128, lengths: impl Iterator<Item = (&'a str, u64)>) -> Option<String> {
    let shorter = lengths.filter(|&(_, len)| len != 1 && u128::from(len) < invocations);
    let texts: Vec<String> = shorter
        .map(|(name, len)| match len {
            0 => format!("`{name}` has no elements"),
            len => format!("`{name}` has {len} elements"),
        })
        .collect();
    (!texts.is_empty()).then(|| format!("the grid has {invocations} invocations, and {}", texts.join(", ")))
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

    #[test]
    fn workgroups_count_with_all_their_invocations() {
        assert_eq!(GridSize::Groups([3, 2, 1]).invocations([8, 4, 1]), 192);
        assert_eq!(GridSize::Threads([65, 3, 1]).invocations([64, 1, 1]), 195);
        assert_eq!(GridSize::Threads([u64::MAX; 3]).invocations([1; 3]), u128::MAX);
    }

    #[test]
    fn only_buffers_with_fewer_elements_than_invocations_are_named() {
        let of =
            |invocations, lengths: &[(&'static str, u64)]| difference(invocations, lengths.iter().copied());
        assert_eq!(of(60_000, &[("x", 60_000), ("total", 1), ("y", 70_000)]), None);
        assert_eq!(
            of(60_000, &[("a", 300), ("b", 60_000), ("c", 0)]).as_deref(),
            Some("the grid has 60000 invocations, and `a` has 300 elements, `c` has no elements")
        );
        assert_eq!(of(0, &[("a", 0)]), None);
    }
}
