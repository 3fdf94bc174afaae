//! Equations with small matrices, and their determinants.

use crate::broadcast::repeats_to;
use crate::factors::{EACH, Triangle};
use crate::matrix_stack::{
    MOST_ROWS, MatrixStack, OF_A, OF_B, OF_OUT, RightSides, list_of, matrices_of, read, size, square, write,
};
use crate::matrix_tasks::{MatrixGroups, MatrixWork};
use crate::products::{MatrixAxes, MatrixPlaces, check_range};
use crate::trusted;
use crate::tuning::WIDE;
use crate::typed_kernel::value;
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Grid, Matrices, NamedArg, Result, ShaderSource};

/// The triangle of [`solve_triangular`](crate::Algorithms::solve_triangular), and its other options.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let a = ctx.array(&[2.0_f32, 4.0, 6.0, 10.0])?.reshape([2, 2])?;
/// let mut factors = ctx.zeros([2, 2])?;
/// let (mut order, mut info) = (ctx.zeros([2])?, ctx.zeros([1])?);
/// queue.lu(&a, &mut factors, &mut order, &mut info)?;
/// let (b, mut y, mut x) = (ctx.array(&[10.0_f32, 26.0])?, ctx.zeros([2])?, ctx.zeros([2])?);
/// queue.solve_triangular(&factors, &b, &mut y, &mut info, Triangular::lower().unit().order(&order))?;
/// queue.solve_triangular(&factors, &y, &mut x, &mut info, Triangular::upper())?;
/// let x = queue.read(&x).wait()?;
/// assert!((x[0] - 1.0).abs() < 1e-5 && (x[1] - 2.0).abs() < 1e-5);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct Triangular {
    /// Triangle of the matrix. The other elements are not read.
    pub triangle: Triangle,
    /// If `true`, the elements on the diagonal are 1. They are not read.
    pub unit: bool,
    /// Order of the rows of the right side: row `i` of the equations has row `order[i]` of `b`.
    pub order: Option<Matrices<u32>>,
}

impl Triangular {
    /// Selects the lower triangle.
    pub fn lower() -> Self {
        Self::default()
    }

    /// Selects the upper triangle.
    pub fn upper() -> Self {
        Self { triangle: Triangle::Upper, ..Self::default() }
    }

    /// Takes 1 for each element on the diagonal.
    #[must_use]
    pub fn unit(mut self) -> Self {
        self.unit = true;
        self
    }

    /// Takes the rows of `b` in another order: row `i` of the equations has row `order[i]` of `b`. A number that is not
    /// below the number of rows counts as the last row.
    ///
    /// # Shape
    /// `order` is `[.., n]` for matrices of n rows. The axes before the last one repeat to the stack of the results.
    #[must_use]
    pub fn order(mut self, order: impl Into<Matrices<u32>>) -> Self {
        self.order = Some(order.into());
        self
    }
}

const INVERSES: &str = "the inverses have the shape of `a`";
const ORDERS: &str = "the order has one element for each row of each matrix";

#[track_caller]
pub(crate) fn solve<const E: usize, const F: usize>(
    queue: &VerbQueue<'_>,
    a: &Matrices<f32>,
    b: &Matrices<f32>,
    out: &DeviceArray<f32, E>,
    info: &DeviceArray<u32, F>,
) -> Result<()> {
    let of_a = square(queue, a, MOST_ROWS)?;
    let out = Matrices::from(out);
    let sides = RightSides::of(queue, &of_a, b, &out)?;
    let info = list_of(queue, ("info", info), sides.stack.to_vec(), EACH)?;
    let arrays = [(of_a, a.first()), (sides.b, b.first()), (sides.out, out.first())];
    let stack = MatrixStack::of(queue, sides.stack, arrays)?;
    let arrays =
        [read("a", a.array()), read("b", b.array()), write("out", out.array()), write("info", &info)];
    eliminate(queue, [of_a.matrix[0], sides.columns], &stack, &[], arrays)
}

#[track_caller]
pub(crate) fn inverse<const E: usize, const F: usize>(
    queue: &VerbQueue<'_>,
    a: &Matrices<f32>,
    out: &DeviceArray<f32, E>,
    info: &DeviceArray<u32, F>,
) -> Result<()> {
    let of_a = square(queue, a, MOST_ROWS)?;
    let [n, _] = of_a.matrix;
    let out = Matrices::from(out);
    let of_out = matrices_of(queue, ("out", &out), of_a.stack, [n, n], INVERSES)?;
    let info = list_of(queue, ("info", info), of_out.stack.to_vec(), EACH)?;
    // The kernel does not read a right side, so it gets any array in its place.
    let arrays = [(of_a, a.first()), (of_a, a.first()), (of_out, out.first())];
    let stack = MatrixStack::of(queue, of_out.stack, arrays)?;
    let arrays =
        [read("a", a.array()), read("b", a.array()), write("out", out.array()), write("info", &info)];
    eliminate(queue, [n, n], &stack, &[("IDENTITY", 1.0)], arrays)
}

/// Enqueues the elimination of matrices with right sides.
#[track_caller]
fn eliminate(
    queue: &VerbQueue<'_>,
    [n, columns]: [usize; 2],
    stack: &MatrixStack<3>,
    overrides: &[(&'static str, f64)],
    arrays: [NamedArg<'_>; 4],
) -> Result<()> {
    let groups = MatrixGroups::of(queue, n, n);
    // A task has as many right sides as the matrix has columns, so that its loops have few more iterations. Other tasks
    // eliminate the same matrix again.
    let share = n.max(1).next_multiple_of(groups.width);
    let blocks = columns.div_ceil(share).max(1);
    let mut args: Vec<NamedArg<'_>> = stack.parameters([OF_A, OF_B, OF_OUT]);
    args.extend([size("n", n), size("columns", columns), size("share", share), size("blocks", blocks)]);
    args.push(value("nan", f32::NAN));
    args.extend(arrays);
    let tasks = stack.matrices() * blocks;
    MatrixWork { stem: "solve", groups, overrides, tasks, elements: n * n }.enqueue(queue, &args)
}

#[track_caller]
pub(crate) fn determinant<const E: usize>(
    queue: &VerbQueue<'_>,
    a: &Matrices<f32>,
    out: &DeviceArray<f32, E>,
) -> Result<()> {
    let of_a = square(queue, a, MOST_ROWS)?;
    let out = list_of(queue, ("out", out), of_a.stack.to_vec(), EACH)?;
    eliminate_alone(queue, "determinant", (of_a, a), [write("out", &out)])
}

#[track_caller]
pub(crate) fn log_determinant<const E: usize, const F: usize>(
    queue: &VerbQueue<'_>,
    a: &Matrices<f32>,
    signs: &DeviceArray<f32, E>,
    logs: &DeviceArray<f32, F>,
) -> Result<()> {
    let of_a = square(queue, a, MOST_ROWS)?;
    let signs = list_of(queue, ("signs", signs), of_a.stack.to_vec(), EACH)?;
    let logs = list_of(queue, ("logs", logs), of_a.stack.to_vec(), EACH)?;
    let results = [write("signs", &signs), write("logs", &logs), value("of_zero", f32::NEG_INFINITY)];
    eliminate_alone(queue, "log_determinant", (of_a, a), results)
}

/// Enqueues the elimination of matrices without right sides, with the other arguments of the kernel.
#[track_caller]
fn eliminate_alone<'a, const N: usize>(
    queue: &VerbQueue<'_>,
    stem: &'static str,
    (of_a, a): (MatrixAxes<'_>, &'a Matrices<f32>),
    others: [NamedArg<'a>; N],
) -> Result<()> {
    let [n, _] = of_a.matrix;
    let stack = MatrixStack::of(queue, of_a.stack, [(of_a, a.first())])?;
    let mut args: Vec<NamedArg<'a>> = stack.parameters([OF_A]);
    args.extend([size("n", n), read("a", a.array())]);
    args.extend(others);
    let groups = MatrixGroups::of(queue, n, n);
    let tasks = stack.matrices();
    MatrixWork { stem, groups, overrides: &[], tasks, elements: n * n }.enqueue(queue, &args)
}

#[track_caller]
pub(crate) fn solve_triangular<const E: usize, const F: usize>(
    queue: &VerbQueue<'_>,
    a: &Matrices<f32>,
    b: &Matrices<f32>,
    out: &DeviceArray<f32, E>,
    info: &DeviceArray<u32, F>,
    options: &Triangular,
) -> Result<()> {
    let of_a = square(queue, a, MOST_ROWS)?;
    let [n, _] = of_a.matrix;
    let out = Matrices::from(out);
    let sides = RightSides::of(queue, &of_a, b, &out)?;
    let info = list_of(queue, ("info", info), sides.stack.to_vec(), EACH)?;
    let of_order = match &options.order {
        Some(order) => (order_of(queue, order, sides.stack, n)?, order.first()),
        None => (MatrixAxes { stack: &[], stack_strides: &[], matrix: [n, 1], strides: [0, 0] }, 0),
    };
    let arrays = [(of_a, a.first()), (sides.b, b.first()), (sides.out, out.first()), of_order];
    let mut stack = MatrixStack::of(queue, sides.stack, arrays)?;
    let is_lower = options.triangle == Triangle::Lower;
    if is_lower {
        // From the last row and column on, a lower triangle is an upper one.
        let [of_a, _, of_out, _] = &mut stack.places;
        reverse(of_a, n, [true, true]);
        reverse(of_out, n, [true, false]);
    }
    // The kernel does not read an order that is not there, so it gets the words of `a` in its place.
    let unread = a.array().cast_bits::<u32>();
    let order = options.order.as_ref().map_or(&unread, Matrices::array);
    let is = |condition: bool| f64::from(u8::from(condition));
    let flags = [("LOWER", is_lower), ("UNIT", options.unit), ("ORDERED", options.order.is_some())];
    let overrides: Vec<(&str, f64)> =
        flags.into_iter().map(|(name, flag)| (name, is(flag))).chain(WIDE).collect();
    let source = ShaderSource::builtin("triangular.wgsl")?;
    let kernel = trusted::kernel_from_source(queue, &source, "triangular", &overrides, false)?;
    let matrices = stack.matrices();
    let mut args: Vec<NamedArg<'_>> = parameters(&stack);
    args.extend([size("matrices", matrices), size("n", n), size("columns", sides.columns)]);
    args.push(value("nan", f32::NAN));
    args.extend([read("a", a.array()), read("b", b.array()), read("order", order)]);
    args.extend([write("out", out.array()), write("info", &info)]);
    queue.launch_dyn(&kernel, Grid::threads([matrices * sides.columns.max(1)]), args)
}

/// Returns the parameters of the stack of a triangular solve. An order has no columns.
fn parameters(stack: &MatrixStack<4>) -> Vec<NamedArg<'static>> {
    const OF_ORDER: [&str; 6] = ["order_first", "order_row", "order_column", "order_0", "order_1", "order_2"];
    let mut list = stack.parameters([OF_A, OF_B, OF_OUT, OF_ORDER]);
    list.retain(|(name, _)| name.as_deref() != Some("order_column"));
    list
}

/// Returns the parts of an order of rows, which is one column for each matrix.
fn order_of<'a>(
    queue: &VerbQueue<'_>,
    order: &'a Matrices<u32>,
    stack: &[usize],
    n: usize,
) -> Result<MatrixAxes<'a>> {
    let shape = order.shape();
    if let ([of_stack @ .., len], [stack_strides @ .., stride]) = (shape, order.strides())
        && *len == n
        && repeats_to(of_stack, stack)
    {
        check_range(queue, "order", order)?;
        return Ok(MatrixAxes { stack: of_stack, stack_strides, matrix: [n, 1], strides: [*stride, 0] });
    }
    let expected = [stack, &[n]].concat();
    Err(queue.wrong_shape_of("order", order.array().label(), shape.into(), expected, ORDERS))
}

/// Begins at the last row, at the last column, or at both. Without rows, nothing changes. Without elements, a distance may
/// be any, and its products wrap.
fn reverse(places: &mut MatrixPlaces, n: usize, [rows, columns]: [bool; 2]) {
    let steps = n.saturating_sub(1) as isize;
    for (distance, is_reversed) in [(&mut places.row, rows), (&mut places.column, columns)] {
        if is_reversed {
            places.first = places.first.wrapping_add_signed(steps.wrapping_mul(*distance));
            *distance = distance.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reversed_matrix_begins_at_its_last_element() {
        let mut places = MatrixPlaces { first: 5, row: 10, column: -1, stack: [0; 3] };
        reverse(&mut places, 4, [true, true]);
        assert_eq!((places.first, places.row, places.column), (32, -10, 1));
        reverse(&mut places, 4, [true, false]);
        assert_eq!((places.first, places.row, places.column), (2, 10, 1));
        reverse(&mut places, 0, [true, true]);
        assert_eq!((places.first, places.row, places.column), (2, -10, -1));
    }
}
