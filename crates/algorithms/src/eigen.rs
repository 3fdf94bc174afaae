//! Eigenvalues and eigenvectors of small symmetric matrices.

use crate::factors::{EACH, Triangle};
use crate::matrix_stack::{
    MOST_SYMMETRIC, MatrixStack, OF_A, list_of, matrices_of, read, size, square, write,
};
use crate::matrix_tasks::{MatrixGroups, MatrixWork, check_arrays};
use crate::typed_kernel::value;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Matrices, NamedArg, Result};

const OF_VECTORS: [&str; 6] =
    ["vectors_first", "vectors_row", "vectors_column", "vectors_0", "vectors_1", "vectors_2"];
const VALUES: &str = "there is one eigenvalue for each row of each matrix";
const VECTORS: &str = "the eigenvectors have the shape of `a`";

#[track_caller]
pub(crate) fn eigh<const E: usize, const F: usize, const G: usize>(
    queue: &VerbQueue<'_>,
    a: Matrices<f32>,
    values: &DeviceArray<f32, E>,
    vectors: &DeviceArray<f32, F>,
    info: &DeviceArray<u32, G>,
    triangle: Triangle,
) -> Result<()> {
    let [n, _] = square(queue, &a, MOST_SYMMETRIC)?.matrix;
    let a = triangle.as_lower(a);
    let of_a = square(queue, &a, MOST_SYMMETRIC)?;
    let vectors = Matrices::from(vectors);
    let of_vectors = matrices_of(queue, ("vectors", &vectors), of_a.stack, [n, n], VECTORS)?;
    let values = list_of(queue, ("values", values), [of_vectors.stack, &[n]].concat(), VALUES)?;
    let info = list_of(queue, ("info", info), of_vectors.stack.to_vec(), EACH)?;
    let arrays = [(of_a, a.first()), (of_vectors, vectors.first())];
    let stack = MatrixStack::of(queue, of_vectors.stack, arrays)?;
    let arrays = [
        read("a", a.array()),
        write("values", &values),
        write("vectors", vectors.array()),
        write("info", &info),
    ];
    rotate(queue, n, &stack, true, arrays)
}

#[track_caller]
pub(crate) fn eigvalsh<const E: usize, const F: usize>(
    queue: &VerbQueue<'_>,
    a: Matrices<f32>,
    values: &DeviceArray<f32, E>,
    info: &DeviceArray<u32, F>,
    triangle: Triangle,
) -> Result<()> {
    let [n, _] = square(queue, &a, MOST_SYMMETRIC)?.matrix;
    let a = triangle.as_lower(a);
    let of_a = square(queue, &a, MOST_SYMMETRIC)?;
    let values = list_of(queue, ("values", values), [of_a.stack, &[n]].concat(), VALUES)?;
    let info = list_of(queue, ("info", info), of_a.stack.to_vec(), EACH)?;
    let stack = MatrixStack::of(queue, of_a.stack, [(of_a, a.first()); 2])?;
    check_arrays(queue, &[read("a", a.array()), write("values", &values), write("info", &info)])?;
    // The kernel writes no vectors.
    let unwritten = queue.scratch::<f32>(1)?;
    let arrays =
        [read("a", a.array()), write("values", &values), write("vectors", &unwritten), write("info", &info)];
    rotate(queue, n, &stack, false, arrays)
}

/// Enqueues the rotations of matrices, and those of their eigenvectors if `has_vectors` is `true`.
#[track_caller]
fn rotate(
    queue: &VerbQueue<'_>,
    n: usize,
    stack: &MatrixStack<2>,
    has_vectors: bool,
    arrays: [NamedArg<'_>; 4],
) -> Result<()> {
    let mut args: Vec<NamedArg<'_>> = stack.parameters([OF_A, OF_VECTORS]);
    args.extend([size("n", n), value("nan", f32::NAN)]);
    args.extend(arrays);
    let groups = MatrixGroups::of_symmetric(queue, n);
    let [vectors, elements] = if has_vectors { [1, n * n] } else { [0, 0] };
    let overrides = [("VECTORS", vectors as f64)];
    let tasks = stack.matrices();
    MatrixWork { stem: "jacobi", groups, overrides: &overrides, tasks, elements }.enqueue(queue, &args)
}
