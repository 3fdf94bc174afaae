//! The rows of the table. Each file has the data of its rows, a sequential reference, and the work in plain Rust.

mod axes;
mod bins;
mod by_key;
mod choices;
mod counts;
mod distributions;
mod elementwise;
mod extremes;
mod limits;
mod moves;
mod orders;
mod places;
mod products;
mod random;
mod reductions;
mod scan_forms;
mod scans;
mod scatters;
mod segments;
mod selections;
mod shapes;
mod sorts;
mod values;

use anyhow::Result;
use fencepost::Context;

use crate::cpu::case::{Case, Program, Work};
use crate::cpu::device::Enqueue;
use crate::cpu::values::{Check, Values};

/// Constructor of a row of a size.
type Make = fn(size: Size) -> Case;

/// Options that decide the number of elements of a row.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    /// `true` in a quick run, which only shows that everything works.
    pub(crate) quick: bool,
    /// Number of elements of a row that moves bytes, or `None` for the usual number.
    pub(crate) elements: Option<usize>,
}

impl Size {
    /// Counts the elements of a row that moves bytes: 16 MiB, if the user chose no number.
    fn many(self) -> usize {
        self.elements.unwrap_or(if self.quick { 1 << 14 } else { 1 << 22 })
    }
}

/// Rows, in the order of the table.
pub(crate) const ALL: [(&str, Make); 71] = [
    ("copy kernel", limits::copy),
    ("read kernel", limits::read),
    ("fill", values::fill),
    ("iota", values::iota),
    ("cast", values::cast),
    ("clamp", choices::clamp),
    ("where", choices::choose),
    ("axpy", elementwise::axpy),
    ("map", elementwise::map),
    ("zip", choices::zip),
    ("sum", reductions::sum),
    ("sum, 1000 elements", reductions::short_sum),
    ("sum of a part", places::part),
    ("max of floats", extremes::largest),
    ("min without NaNs", extremes::smallest_number),
    ("argmax", reductions::argmax),
    ("argmin of floats", extremes::argmin),
    ("count nonzero", extremes::nonzero),
    ("dot", products::dot),
    ("norm", products::norm),
    ("mean", products::mean),
    ("sum of rows", reductions::rows),
    ("sum of columns", reductions::columns),
    ("mean of rows", axes::means),
    ("any of rows", axes::any),
    ("argmin of rows", axes::argmin),
    ("sum of segments", segments::sums),
    ("reduce by key", by_key::reduce),
    ("run lengths", by_key::lengths),
    ("scan", scans::scan),
    ("scan, plain kernels", scans::plain_kernels),
    ("scan, 1000 elements", scans::short_scan),
    ("scan, exclusive max", scan_forms::exclusive),
    ("scan, reversed", scan_forms::reversed),
    ("scan, monoid", scan_forms::monoid),
    ("scan in place", scan_forms::in_place),
    ("scan by key", by_key::scan),
    ("select", selections::select),
    ("partition", places::partition),
    ("nonzero", places::nonzero),
    ("unique", selections::unique),
    ("histogram", counts::histogram),
    ("histogram, one bin", counts::one_bin),
    ("histogram, plain", counts::plain_kernel),
    ("histogram, even bins", bins::even),
    ("histogram, edges", bins::edges),
    ("histogram, weights", bins::weights),
    ("histogram, fixed point", bins::fixed),
    ("sort", sorts::sort),
    ("sort, 4096 elements", sorts::short_sort),
    ("sort, descending", orders::descending),
    ("sort pairs", sorts::pairs),
    ("sort segments", segments::sorts),
    ("argsort", orders::places),
    ("top 100", sorts::top),
    ("k-th of all", orders::middle),
    ("merge", orders::merge),
    ("searchsorted", orders::search),
    ("transpose", moves::transpose),
    ("permute, rank 6", shapes::permute),
    ("strided copy", shapes::strided),
    ("gather", moves::gather),
    ("scatter", scatters::scatter),
    ("scatter add", scatters::scatter_add),
    ("random words", random::words),
    ("random uniform", distributions::uniform),
    ("random normal", random::normal),
    ("random exponential", distributions::exponential),
    ("random whole numbers", distributions::whole),
    ("random choice", distributions::choice),
    ("random permutation", distributions::permutation),
];

/// Preparation of the launches of a row in a context.
type Prepare = fn(&Context) -> Result<Enqueue>;
/// Work of a row in plain Rust.
type Plain = fn(inputs: &[Values], out: &mut Values);

/// Returns a row whose result is exact, with a launch in each sample.
fn exact(
    name: &'static str,
    inputs: Vec<Values>,
    expected: Values,
    work: Work,
    prepare: Prepare,
    plain: Plain,
) -> Case {
    let start = match &expected {
        Values::F32(list) => Values::F32(vec![0.0; list.len()]),
        Values::U32(list) => Values::U32(vec![0; list.len()]),
    };
    let program = Program::Launches(prepare);
    Case { name, program, inputs, start, expected, check: Check::Exact, launches: 1, work: Some(work), plain }
}

/// Returns random words below `end`.
fn words_below(count: usize, end: u32, seed: u64) -> Values {
    let mut random = fastrand::Rng::with_seed(seed);
    Values::U32((0..count).map(|_| random.u32(..end)).collect())
}

/// Counts bytes as work.
fn bytes(count: usize) -> Work {
    Work::of(count as f64, "B")
}

/// Counts elements as work.
fn elements(count: usize) -> Work {
    Work::of(count as f64, "element")
}
