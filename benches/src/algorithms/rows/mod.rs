//! The rows of the table. Each file has the data of its rows, a sequential reference, and the work in plain Rust.

mod channels;
mod elementwise;
mod everywhere;
mod histograms;
mod images;
mod linear_algebra;
mod moves;
mod products;
mod random;
mod reductions;
mod scans;
mod selections;
mod sorts;
mod sparse;
mod statistics;
mod transforms;

use fencepost::{CommandQueue, DeviceArray};

use crate::cpu::case::{Case, Work};

/// Elements of a task of plain Rust.
const TASK: usize = 1 << 16;
/// Columns of a matrix.
const COLUMNS: usize = 1024;

/// Constructor of a row of a size.
type Make = fn(size: Size) -> Case;
/// Call of a verb that reads one array and writes another.
type Verb<T, U, const D: usize = 1> =
    fn(&CommandQueue, &DeviceArray<T, D>, &mut DeviceArray<U, D>) -> fencepost::Result<()>;

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
pub(crate) const ALL: [(&str, Make); 112] = [
    ("copy kernel", elementwise::copy_kernel),
    ("read kernel", elementwise::read_kernel),
    ("fill", elementwise::fill),
    ("iota", elementwise::iota),
    ("cast", elementwise::cast),
    ("clamp", elementwise::clamp),
    ("where", elementwise::choose),
    ("axpy", elementwise::axpy),
    ("map", elementwise::map),
    ("zip", elementwise::zip),
    ("sum", reductions::sum),
    ("sum, 1000 elements", reductions::short_sum),
    ("sum of a part", reductions::part),
    ("max of floats", reductions::largest),
    ("min without NaNs", reductions::smallest_number),
    ("argmax", reductions::argmax),
    ("argmin of floats", reductions::argmin),
    ("count nonzero", reductions::nonzero),
    ("dot", reductions::dot),
    ("norm", reductions::norm),
    ("mean", reductions::mean),
    ("sum of rows", reductions::sum_of_rows),
    ("sum of columns", reductions::columns),
    ("mean of rows", reductions::mean_of_rows),
    ("any of rows", reductions::any_of_rows),
    ("argmin of rows", reductions::argmin_of_rows),
    ("sum of segments", reductions::segments),
    ("sum, everywhere", everywhere::sum),
    ("sum, everywhere, distant", everywhere::distant_sum),
    ("dot, everywhere", everywhere::dot),
    ("norm, everywhere", everywhere::norm),
    ("mean, everywhere", everywhere::mean),
    ("sum of rows, everywhere", everywhere::rows),
    ("sum of columns, everywhere", everywhere::columns),
    ("sum of segments, everywhere", everywhere::segments),
    ("reduce by key", selections::reduce_by_key),
    ("run lengths", selections::run_lengths),
    ("scan", scans::scan),
    ("scan, plain kernels", scans::plain_kernels),
    ("scan, 1000 elements", scans::short_scan),
    ("scan, exclusive max", scans::exclusive),
    ("scan, reversed", scans::reversed),
    ("scan, monoid", scans::monoid),
    ("scan in place", scans::in_place),
    ("scan by key", scans::by_key),
    ("select", selections::select),
    ("partition", selections::partition),
    ("nonzero", selections::nonzero),
    ("unique", selections::unique),
    ("histogram", histograms::histogram),
    ("histogram, one bin", histograms::one_bin),
    ("histogram, plain", histograms::plain_kernel),
    ("histogram, even bins", histograms::even),
    ("histogram, edges", histograms::edges),
    ("histogram, weights", histograms::weights),
    ("histogram, fixed point", histograms::fixed),
    ("histogram, floats", histograms::floats),
    ("sort", sorts::sort),
    ("sort, 4096 elements", sorts::short_sort),
    ("sort, descending", sorts::descending),
    ("sort pairs", sorts::pairs),
    ("sort segments", sorts::segments),
    ("argsort", sorts::places),
    ("top 100", sorts::top),
    ("k-th of all", sorts::middle),
    ("sort of rows", statistics::sort_of_rows),
    ("median of rows", statistics::median_of_rows),
    ("median of columns", statistics::median_of_columns),
    ("median of segments", statistics::median_of_segments),
    ("rolling median of 13", statistics::rolling_median),
    ("median filter, 5 x 5", statistics::median_filter),
    ("flagger", statistics::flagger),
    ("merge", sorts::merge),
    ("searchsorted", sorts::search),
    ("transpose", moves::transpose),
    ("permute, rank 6", moves::permute),
    ("strided copy", moves::strided),
    ("gather", moves::gather),
    ("scatter", moves::scatter),
    ("scatter add", moves::scatter_add),
    ("scatter add of floats", moves::scatter_add_floats),
    ("scatter add, plain atomics", moves::plain_scatter_add),
    ("matmul", products::square),
    ("matmul, stack", products::stack),
    ("matmul, long sums", products::long_sums),
    ("matmul, vector", products::vector),
    ("matmul, everywhere", products::everywhere),
    ("cholesky, 32 x 32", linear_algebra::cholesky),
    ("lu, 32 x 32", linear_algebra::lu),
    ("qr, 32 x 32", linear_algebra::qr),
    ("solve, 32 x 32", linear_algebra::solve),
    ("sparse, short rows", sparse::short_rows),
    ("sparse, long rows", sparse::long_rows),
    ("sparse, few rows", sparse::few_rows),
    ("sparse by a matrix", sparse::by_a_matrix),
    ("filter, 3 x 3", images::few_weights),
    ("filter, 9 + 9", images::separable),
    ("convolution, 3 x 3, 64 channels", channels::layer),
    ("random words", random::words),
    ("random uniform", random::uniform),
    ("random normal", random::normal),
    ("random exponential", random::exponential),
    ("random whole numbers", random::whole),
    ("random choice", random::choice),
    ("random permutation", random::permutation),
    ("fft, 1024 elements", transforms::rows),
    ("fft, 2^16 elements", transforms::middle_rows),
    ("fft, 2^20 elements", transforms::whole),
    ("fft, 13 * 2^9 elements", transforms::with_13),
    ("rfft, 2^16 elements", transforms::real),
    ("convolve, 33 weights", transforms::few_weights),
    ("convolve, 1000 weights", transforms::many_weights),
];

/// Returns random words below `end`.
fn words_below(count: usize, end: u32, seed: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| random.u32(..end)).collect()
}

/// Returns ascending words, whose runs have eight elements on average.
fn runs(count: usize) -> Vec<u32> {
    let mut run = 0;
    let word = |change: u32| {
        run += u32::from(change == 0);
        run
    };
    words_below(count, 8, 37).into_iter().map(word).collect()
}

/// Returns the ends of segments of different lengths, of 1024 elements on average, none of which is empty.
fn offsets(n: usize) -> Vec<u32> {
    let inside = (1..n / 1024).map(|at| at * 1024 + at * 37 % 512);
    [0].into_iter().chain(inside).chain([n]).map(|at| at as u32).collect()
}

/// Counts bytes as work.
fn bytes(count: usize) -> Work {
    Work::of(count as f64, "B")
}

/// Counts elements as work.
fn elements(count: usize) -> Work {
    Work::of(count as f64, "element")
}
