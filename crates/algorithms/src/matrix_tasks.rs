//! The distribution of small matrices among workgroups, and the launches of their kernels.

use crate::grid::folded;
use crate::matrix_stack::{size, write};
use crate::refusals::{Named, check};
use crate::trusted;
use crate::tuning::{by_adapter, limit};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, DynArg, Grid, NamedArg, Result, ShaderSource, words_of};

/// Number of elements in the memory of a workgroup that every device has.
const ROOM: usize = 16_384 / size_of::<f32>();
/// Row counts for which the kernels have memory of a workgroup. The last one is the largest that leaves room for
/// three numbers of each row.
const SIDES: [usize; 5] = [4, 8, 16, 32, 62];
/// Number of rows for which the kernels have all other memory of a workgroup, if the elements are elsewhere.
const LARGEST: usize = 128;
/// The same numbers for symmetric matrices, half of which is in the memory of a workgroup.
const SYMMETRIC_SIDES: [usize; 5] = [4, 8, 16, 32, 64];
/// Maximum number of rows of a symmetric matrix whose eigenvectors are in the memory of a workgroup too.
const LARGEST_WITH_VECTORS: usize = 32;
/// Maximum number of elements in scratch memory. More matrices take several launches.
const MOST_ELEMENTS: usize = 1 << 24;

/// Distribution of matrices among the invocations of workgroups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MatrixGroups {
    /// Number of invocations of a matrix.
    pub(crate) width: usize,
    /// Number of matrices of a workgroup.
    matrices: usize,
    /// Number of rows and of columns for which there is memory of a workgroup.
    side: usize,
    /// `true` if the elements are in the memory of a workgroup.
    in_group: bool,
}

impl MatrixGroups {
    /// Returns the distribution of matrices with up to this number of rows and columns, whose columns are divided.
    pub(crate) fn of(queue: &VerbQueue<'_>, rows: usize, columns: usize) -> Self {
        let most = rows.max(columns);
        let side = SIDES.into_iter().find(|&side| most <= side && most <= limit(side, 5));
        let Some(side) = side else {
            // With few invocations, the loops of one would have more iterations than some devices execute.
            return Self { width: limit(LARGEST, 8), matrices: 1, side: LARGEST, in_group: false };
        };
        let groups = Self::with_width(queue, columns);
        Self { matrices: groups.matrices.min((ROOM - 1) / elements_of(side)), side, in_group: true, ..groups }
    }

    /// Returns the distribution of symmetric matrices whose eigenvalues are computed.
    pub(crate) fn of_symmetric(queue: &VerbQueue<'_>, rows: usize) -> Self {
        let side = SYMMETRIC_SIDES.into_iter().find(|&side| rows <= side).unwrap_or(LARGEST);
        let in_group = side <= limit(LARGEST_WITH_VECTORS, 4);
        if rows > LARGEST_WITH_VECTORS {
            return Self { width: 64, matrices: 1, side, in_group };
        }
        Self { in_group, side, ..Self::with_width(queue, rows) }
    }

    /// Returns a distribution with an invocation for each column. A processor executes a workgroup in parts, and
    /// switches between them at each barrier: there, a workgroup is one part, or few.
    fn with_width(queue: &VerbQueue<'_>, columns: usize) -> Self {
        let lanes = columns.next_power_of_two();
        let [width, invocations] = if lanes <= 4 {
            by_adapter(queue, [1, 16], [4, 64])
        } else {
            by_adapter(queue, [lanes.min(16), 16], [lanes, 64])
        };
        Self { width, matrices: (invocations / width).max(1), side: 0, in_group: false }
    }

    /// Returns the overrides of a kernel.
    fn overrides(&self) -> [(&'static str, f64); 4] {
        [
            ("WIDTH", self.width as f64),
            ("MATRICES", self.matrices as f64),
            ("SIDE", self.side as f64),
            ("IN_GROUP", if self.in_group { 1.0 } else { 0.0 }),
        ]
    }
}

/// Returns the number of elements of a matrix in the memory of a workgroup, with three numbers for each row.
const fn elements_of(side: usize) -> usize {
    side * (side + 3)
}

/// Work of a kernel: a task for each matrix, or several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixWork<'a> {
    /// Name of the kernel.
    pub(crate) stem: &'static str,
    pub(crate) groups: MatrixGroups,
    /// Overrides of the kernel, besides those of the distribution.
    pub(crate) overrides: &'a [(&'static str, f64)],
    pub(crate) tasks: usize,
    /// Number of elements that a task changes.
    pub(crate) elements: usize,
}

impl MatrixWork<'_> {
    /// Enqueues the launches of the tasks with these arguments. Without tasks, it only checks them.
    ///
    /// All launches have the same arrays, so the first one is refused if any is.
    #[track_caller]
    pub(crate) fn enqueue(&self, queue: &VerbQueue<'_>, args: &[NamedArg<'_>]) -> Result<()> {
        let Self { stem, groups, tasks, .. } = *self;
        let source = ShaderSource::builtin(&format!("{stem}.wgsl"))?;
        let overrides = [&groups.overrides()[..], self.overrides].concat();
        let kernel = trusted::kernel_from_source(queue, &source, stem, &overrides, false)?;
        let all = |first: usize, end: usize, work| {
            let mut all: Vec<NamedArg<'_>> = args.to_vec();
            all.extend([size("first_task", first), size("end_task", end), write("work", work)]);
            all
        };
        // Scratch memory can wait for its last use in another queue, and the wait is a command.
        check_arrays(queue, args)?;
        let in_launch = self.in_launch();
        let elements = if groups.in_group { 1 } else { (in_launch * self.elements).max(1) };
        let work = queue.scratch::<f32>(elements)?;
        let mut first = 0;
        loop {
            let end = tasks.min(first + in_launch);
            let workgroups = (end - first).div_ceil(groups.matrices);
            queue.launch_dyn(&kernel, Grid::groups(folded(workgroups)), all(first, end, &work))?;
            if end == tasks {
                return Ok(());
            }
            first = end;
        }
    }

    /// Returns the number of tasks in a launch.
    fn in_launch(&self) -> usize {
        if self.groups.in_group || self.elements == 0 {
            return self.tasks;
        }
        (limit(MOST_ELEMENTS, 300) / self.elements).clamp(1, self.tasks.max(1))
    }
}

/// Returns the error that a launch with the arrays among some arguments would give, but enqueues nothing.
#[track_caller]
pub(crate) fn check_arrays(queue: &VerbQueue<'_>, args: &[NamedArg<'_>]) -> Result<()> {
    let [mut reads, mut writes] = [Vec::new(), Vec::new()];
    for (name, arg) in args {
        let (list, array) = match arg {
            DynArg::Read(array) => (&mut reads, words_of(*array)),
            DynArg::ReadWrite(array) => (&mut writes, words_of(*array)),
            _ => continue,
        };
        list.extend(name.as_deref().zip(array));
    }
    check(queue, &named(&reads), &named(&writes))
}

fn named<'a>(list: &'a [(&'a str, DeviceArray<u32>)]) -> Vec<Named<'a>> {
    list.iter().map(|(name, array)| (*name, array)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_workgroup_has_room_for_all_sides() {
        // As in the shaders: the elements, and up to three numbers for each row.
        assert!(SIDES.into_iter().all(|side| elements_of(side) < ROOM) && 3 * LARGEST < ROOM);
        // A triangle, four numbers for each pair of rows, one of each invocation, a sum, and vectors of up to 32 rows.
        for side in SYMMETRIC_SIDES {
            let matrices = (64 / side).max(1);
            let vectors = if side <= LARGEST_WITH_VECTORS { side * side } else { 0 };
            let triangle = side * (side + 1) / 2;
            assert!(matrices * (triangle + vectors + 2 * side) + 64 + 2 <= ROOM, "{side} rows");
        }
    }
}
