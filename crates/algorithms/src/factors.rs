//! Factors of small matrices.

use crate::matrix_stack::{
    MOST_ROWS, MatrixStack, OF_A, OF_OUT, list_of, matrices_of, read, size, small, square, write,
};
use crate::matrix_tasks::{MatrixGroups, MatrixWork};
use crate::typed_kernel::value;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Matrices, Result};

/// A triangle of a matrix, with its diagonal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Triangle {
    /// The elements on the diagonal and below it.
    #[default]
    Lower,
    /// The elements on the diagonal and above it.
    Upper,
}

impl Triangle {
    /// Returns matrices of which the lower triangle is this one.
    pub(crate) fn as_lower(self, matrices: Matrices<f32>) -> Matrices<f32> {
        if self == Self::Lower { matrices } else { matrices.transposed() }
    }
}

const FACTORS: &str = "the factors have the shape of `a`";
/// Remedy for an array with a number for each matrix.
pub(crate) const EACH: &str = "there is one element for each matrix";
const ROWS: &str = "there is one element for each row of each matrix";
const ORTHONORMAL: &str =
    "`q` has the rows of `a`, and as many columns as `a` has rows or columns, whichever is less";
const TRIANGULAR: &str = "`r` has the columns of `a`, as many rows as `q` has columns, and the stack of `q`";

#[track_caller]
pub(crate) fn cholesky<const E: usize, const F: usize>(
    queue: &VerbQueue<'_>,
    a: Matrices<f32>,
    out: &DeviceArray<f32, E>,
    info: &DeviceArray<u32, F>,
    triangle: Triangle,
) -> Result<()> {
    let out = Matrices::from(out);
    let of_a = square(queue, &a, MOST_ROWS)?;
    let [n, _] = of_a.matrix;
    matrices_of(queue, ("out", &out), of_a.stack, [n, n], FACTORS)?;
    // The upper triangle is the lower one of the matrix with rows and columns exchanged, and so is the factor.
    let a = triangle.as_lower(a);
    let out = triangle.as_lower(out);
    let of_a = square(queue, &a, MOST_ROWS)?;
    let of_out = matrices_of(queue, ("out", &out), of_a.stack, [n, n], FACTORS)?;
    let info = list_of(queue, ("info", info), of_out.stack.to_vec(), EACH)?;
    let stack = MatrixStack::of(queue, of_out.stack, [(of_a, a.first()), (of_out, out.first())])?;
    let mut args = stack.parameters([OF_A, OF_OUT]);
    args.extend([size("n", n), value("nan", f32::NAN)]);
    args.extend([read("a", a.array()), write("out", out.array()), write("info", &info)]);
    let groups = MatrixGroups::of(queue, n, n);
    let tasks = stack.matrices();
    MatrixWork { stem: "cholesky", groups, overrides: &[], tasks, elements: n * n }.enqueue(queue, &args)
}

#[track_caller]
pub(crate) fn lu<const E: usize, const F: usize, const G: usize>(
    queue: &VerbQueue<'_>,
    a: &Matrices<f32>,
    out: &DeviceArray<f32, E>,
    order: &DeviceArray<u32, F>,
    info: &DeviceArray<u32, G>,
) -> Result<()> {
    let of_a = square(queue, a, MOST_ROWS)?;
    let [n, _] = of_a.matrix;
    let out = Matrices::from(out);
    let of_out = matrices_of(queue, ("out", &out), of_a.stack, [n, n], FACTORS)?;
    let order = list_of(queue, ("order", order), [of_out.stack, &[n]].concat(), ROWS)?;
    let info = list_of(queue, ("info", info), of_out.stack.to_vec(), EACH)?;
    let stack = MatrixStack::of(queue, of_out.stack, [(of_a, a.first()), (of_out, out.first())])?;
    let mut args = stack.parameters([OF_A, OF_OUT]);
    args.push(size("n", n));
    args.extend([read("a", a.array()), write("out", out.array())]);
    args.extend([write("order", &order), write("info", &info)]);
    let groups = MatrixGroups::of(queue, n, n);
    let tasks = stack.matrices();
    MatrixWork { stem: "lu", groups, overrides: &[], tasks, elements: n * n }.enqueue(queue, &args)
}

const OF_Q: [&str; 6] = ["q_first", "q_row", "q_column", "q_0", "q_1", "q_2"];
const OF_R: [&str; 6] = ["r_first", "r_row", "r_column", "r_0", "r_1", "r_2"];

#[track_caller]
pub(crate) fn qr<const E: usize, const F: usize>(
    queue: &VerbQueue<'_>,
    a: &Matrices<f32>,
    q: &DeviceArray<f32, E>,
    r: &DeviceArray<f32, F>,
) -> Result<()> {
    let of_a = small(queue, a, MOST_ROWS)?;
    let [rows, columns] = of_a.matrix;
    let steps = rows.min(columns);
    let q = Matrices::from(q);
    let r = Matrices::from(r);
    let of_q = matrices_of(queue, ("q", &q), of_a.stack, [rows, steps], ORTHONORMAL)?;
    let of_r = matrices_of(queue, ("r", &r), of_a.stack, [steps, columns], TRIANGULAR)?;
    if of_r.stack != of_q.stack {
        let expected = [of_q.stack, &[steps, columns]].concat();
        return Err(queue.wrong_shape_of("r", r.array().label(), r.shape().into(), expected, TRIANGULAR));
    }
    let arrays = [(of_a, a.first()), (of_q, q.first()), (of_r, r.first())];
    let stack = MatrixStack::of(queue, of_q.stack, arrays)?;
    let mut args = stack.parameters([OF_A, OF_Q, OF_R]);
    args.extend([size("rows", rows), size("columns", columns), size("steps", steps)]);
    args.extend([read("a", a.array()), write("q", q.array()), write("r", r.array())]);
    let groups = MatrixGroups::of(queue, rows, columns);
    // Without steps, there are no results.
    let tasks = if steps == 0 { 0 } else { stack.matrices() };
    MatrixWork { stem: "qr", groups, overrides: &[], tasks, elements: rows * columns }.enqueue(queue, &args)
}
