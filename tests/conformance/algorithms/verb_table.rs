//! Lists each verb with a call of it.
//!
//! `cargo xtask lint` compares the names with the methods of the traits, so a new verb without an entry fails.

use fencepost::algorithms::prelude::*;
use fencepost::{CommandQueue, Context, DeviceArray, Element, Result, args, regrouped};
use std::time::Duration;

/// Arrays of a call: those that a verb reads, and those that it writes.
pub(crate) struct Arrays {
    pub(super) x: DeviceArray<u32>,
    pub(super) y: DeviceArray<u32>,
    pub(super) numbers: DeviceArray<f32>,
    /// Elements in ascending order.
    pub(super) sorted: DeviceArray<u32>,
    /// Offsets in ascending order.
    pub(super) offsets: DeviceArray<u32>,
    /// Number of elements of a part.
    pub(super) count: DeviceArray<u32>,
    pub(super) out: DeviceArray<u32>,
    pub(super) other: DeviceArray<u32>,
    /// An array of twice as many elements.
    pub(super) both: DeviceArray<u32>,
    pub(super) few: DeviceArray<u32>,
    pub(super) few_others: DeviceArray<u32>,
    pub(super) one: DeviceArray<u32>,
}

const EVERYWHERE: Determinism = Determinism::Everywhere;
/// Number of rows and segments of an array, and number of elements of the short arrays.
pub(super) const FEW: usize = 16;
/// Time limit of a case with all verbs. Some take half a minute of a processor, and other processes run beside them.
pub(crate) const LIMIT: Duration = Duration::from_secs(180);
/// Elements on each side of a guarded array.
const GUARD: usize = 64;
/// Guard elements around inputs: as words and as floats, each result changes with one of them.
pub(crate) const EXTREMES: [u32; 4] = [0, u32::MAX, 0x7F80_0000, 0xFF80_0000];
/// Guard element around results.
const BESIDE: u32 = 0x5A5A_5A5A;
/// Element of a result that no verb wrote. No verb of the table computes it.
pub(crate) const UNWRITTEN: u32 = 0xA5A5_A5A5;

/// Elements of the arrays that a verb reads.
pub(crate) struct Inputs {
    x: Vec<u32>,
    y: Vec<u32>,
    numbers: Vec<f32>,
    sorted: Vec<u32>,
    offsets: Vec<u32>,
    count: u32,
}

impl Inputs {
    pub(crate) fn new(rows: usize, n: usize, round: u32) -> Self {
        let mut rng = fastrand::Rng::with_seed(u64::from(round));
        let mut words = |most: u32| (0..n).map(|_| rng.u32(0..most)).collect::<Vec<u32>>();
        let mut x = words(3);
        // With odd factors, no product is 0.
        let y: Vec<u32> = words(u32::MAX).into_iter().map(|word| word | 1).collect();
        let mut sorted = words(1000);
        sorted.sort();
        // `any` and `all` have their other results with zeros only, and without zeros.
        match round {
            4 => x.fill(0),
            5 => x.fill(1),
            _ => {}
        }
        let numbers = y.iter().map(|&word| word as f32 / 1e9 - 2.0).collect();
        let n = n as u32;
        let offset = |at: u32| n * at / rows as u32 + (at % 3).min(n - n * at / rows as u32);
        let mut offsets: Vec<u32> = (0..=rows as u32).map(offset).collect();
        if rows > 2 {
            // Some elements are in no segment, and one segment is empty.
            offsets[0] = offsets[1] / 2;
            offsets[2] = offsets[1];
            offsets[rows] -= (offsets[rows] - offsets[rows - 1]) / 2;
        }
        Self { x, y, numbers, sorted, offsets, count: n * (round + 1) / 7 }
    }
}

impl Arrays {
    pub(crate) fn new(ctx: &Context, n: usize) -> Self {
        Self::with_rows(ctx, FEW, n)
    }

    /// Returns arrays whose views have `rows` rows or columns.
    pub(crate) fn with_rows(ctx: &Context, rows: usize, n: usize) -> Self {
        Self::of(rows, n, |len| ctx.zeros::<u32, 1>([len]).unwrap())
    }

    /// Makes the arrays that a verb reads, and then those that it writes.
    fn of(rows: usize, n: usize, mut array: impl FnMut(usize) -> DeviceArray<u32>) -> Self {
        Self {
            x: array(n),
            y: array(n),
            numbers: array(n).cast_bits(),
            sorted: array(n),
            offsets: array(rows + 1),
            count: array(1),
            out: array(n),
            other: array(n),
            both: array(2 * n),
            few: array(rows),
            few_others: array(rows),
            one: array(1),
        }
    }

    /// Returns arrays that have different lengths, and do not fit each other.
    pub(crate) fn misfitting(ctx: &Context, n: usize) -> Self {
        let array = |len: usize| ctx.zeros::<u32, 1>([len]).unwrap();
        let longer = |by: usize| array(n + by * FEW);
        Self {
            x: longer(0),
            y: longer(1),
            numbers: longer(5).cast_bits(),
            sorted: longer(2),
            offsets: array(FEW + 2),
            count: array(2),
            out: longer(3),
            other: longer(4),
            both: array(n),
            few: array(FEW),
            few_others: array(FEW + 1),
            one: array(2),
        }
    }

    /// Returns arrays that share their memory.
    pub(crate) fn overlapping(ctx: &Context, n: usize) -> Self {
        let both = ctx.zeros::<u32, 1>([2 * n]).unwrap();
        Self::of(FEW, n, |len| both.slice(0..len).unwrap())
    }

    /// Returns arrays for verbs on `elements` first elements. Nothing has written the other elements of the inputs.
    pub(crate) fn of_first(queue: &CommandQueue, n: usize, elements: usize) -> Self {
        fn upload<T: Element>(queue: &CommandQueue, list: &[T], array: &DeviceArray<T>) {
            queue.upload(list, &mut array.slice(0..list.len()).unwrap()).unwrap();
        }
        let mut arrays = Self::of(FEW, n, |len| queue.empty::<u32, 1>([len]).unwrap());
        let inputs = Inputs::new(FEW, n, 0);
        upload(queue, &inputs.x[..elements], &arrays.x);
        upload(queue, &inputs.y[..elements], &arrays.y);
        upload(queue, &inputs.numbers[..elements], &arrays.numbers);
        upload(queue, &inputs.sorted[..elements], &arrays.sorted);
        queue.upload(&[elements as u32], &mut arrays.count).unwrap();
        arrays.refill(queue);
        arrays
    }

    /// Returns arrays between elements that no verb may read or write. Those around inputs are `guard`.
    pub(crate) fn guarded(queue: &CommandQueue, rows: usize, n: usize, guard: u32) -> Guarded {
        let mut wholes = Vec::new();
        let arrays = Self::of(rows, n, |len| {
            let whole = queue.full([len + 2 * GUARD], guard).unwrap();
            wholes.push(whole.clone());
            whole.slice(GUARD..GUARD + len).unwrap()
        });
        let results = wholes.split_off(wholes.len() - arrays.results().len());
        results.iter().for_each(|whole| queue.fill(&mut whole.clone(), BESIDE).unwrap());
        Guarded { arrays, inputs: wholes, results }
    }

    /// Uploads the inputs of a round, and fills the results with [`UNWRITTEN`].
    pub(crate) fn begin(&mut self, queue: &CommandQueue, round: u32) {
        self.begin_with(queue, &Inputs::new(self.few.len(), self.x.len(), round));
    }

    /// Uploads inputs, as [`begin`](Self::begin) does.
    pub(crate) fn begin_with(&mut self, queue: &CommandQueue, inputs: &Inputs) {
        queue.upload(&inputs.x, &mut self.x).unwrap();
        queue.upload(&inputs.y, &mut self.y).unwrap();
        queue.upload(&inputs.numbers, &mut self.numbers).unwrap();
        queue.upload(&inputs.sorted, &mut self.sorted).unwrap();
        queue.upload(&inputs.offsets, &mut self.offsets).unwrap();
        queue.upload(&[inputs.count], &mut self.count).unwrap();
        self.refill(queue);
    }

    /// Fills the results with [`UNWRITTEN`].
    pub(crate) fn refill(&self, queue: &CommandQueue) {
        for result in self.results() {
            queue.fill(&mut result.clone(), UNWRITTEN).unwrap();
        }
    }

    /// Returns the arrays that verbs write.
    pub(crate) fn results(&self) -> [&DeviceArray<u32>; 6] {
        [&self.out, &self.other, &self.both, &self.few, &self.few_others, &self.one]
    }

    pub(crate) fn read(&self, queue: &CommandQueue) -> [Vec<u32>; 6] {
        self.results().map(|result| queue.read(result).wait().unwrap())
    }

    fn rows(&self) -> usize {
        self.few.len()
    }

    /// Returns the number of rows of square matrices. There are twice as many elements, or more.
    fn side(&self) -> usize {
        (self.numbers.len() / 2).isqrt().min(12)
    }

    /// Returns the first elements of an array as a square matrix.
    fn square(&self, list: &DeviceArray<u32>) -> Result<DeviceArray<f32, 2>> {
        let side = self.side();
        list.slice(0..side * side)?.cast_bits().reshape([side, side])
    }

    /// Returns a matrix of numbers with twice as many rows as columns.
    fn tall(&self) -> Result<DeviceArray<f32, 2>> {
        let side = self.side();
        self.numbers.slice(0..2 * side * side)?.reshape([2 * side, side])
    }

    fn as_rows<T: Element>(&self, list: &DeviceArray<T>) -> Result<DeviceArray<T, 2>> {
        list.reshape([self.rows(), list.len() / self.rows()])
    }

    fn as_columns<T: Element>(&self, list: &DeviceArray<T>) -> Result<DeviceArray<T, 2>> {
        list.reshape([list.len() / self.rows(), self.rows()])
    }

    /// Returns the first frames of `bins` complex numbers of a list, at most `most` of them.
    fn as_spectra(list: &DeviceArray<u32>, bins: usize, most: usize) -> Result<DeviceArray<[f32; 2], 2>> {
        let frames = (list.len() / (2 * bins)).min(most);
        as_complex(list, frames * bins)?.reshape([frames, bins])
    }

    /// Returns weights of filters: 2 x 3, or one if there are fewer elements.
    fn weights(&self) -> Result<DeviceArray<u32, 2>> {
        let shape = if self.x.len() < 6 { [1, 1] } else { [2, 3] };
        self.x.slice(0..shape[0] * shape[1])?.reshape(shape)
    }

    /// Returns weights along the columns and along the rows: four and three, or one if there are fewer elements.
    fn lists_of_weights(&self) -> Result<[DeviceArray<u32>; 2]> {
        let most = self.x.len();
        Ok([self.x.slice(0..most.min(4))?, self.sorted.slice(0..most.min(3))?])
    }

    /// Returns weights of convolutions over channels: three, or one, for each of as many kernels as there are rows.
    fn channel_weights(&self) -> Result<DeviceArray<u32, 4>> {
        let taps = if self.x.len() < 3 * self.rows() { 1 } else { 3 };
        self.x.slice(0..self.rows() * taps)?.reshape([self.rows(), 1, 1, taps])
    }

    /// Returns an array as an image of one row, with as many channels as there are rows.
    fn as_channels(&self, list: &DeviceArray<u32>) -> Result<DeviceArray<u32, 4>> {
        list.reshape([1, self.rows(), 1, list.len() / self.rows()])
    }

    pub(super) fn float(&self) -> DeviceArray<f32> {
        self.one.cast_bits()
    }

    pub(super) fn floats(&self) -> DeviceArray<f32> {
        self.out.cast_bits()
    }
}

/// Arrays that are parts of longer ones.
pub(crate) struct Guarded {
    pub(crate) arrays: Arrays,
    inputs: Vec<DeviceArray<u32>>,
    results: Vec<DeviceArray<u32>>,
}

impl Guarded {
    /// Returns the elements that no verb may write: the inputs with their guards, and the guards of the results.
    pub(crate) fn unwritten(&self, queue: &CommandQueue) -> Vec<Vec<u32>> {
        let whole = |array: &DeviceArray<u32>| queue.read(array).wait().unwrap();
        let guards = |array: &DeviceArray<u32>| {
            let mut elements = whole(array);
            elements.drain(GUARD..elements.len() - GUARD);
            elements
        };
        self.inputs.iter().map(whole).chain(self.results.iter().map(guards)).collect()
    }
}

/// Returns the first complex numbers of a list, at most `most` of them, as one row; as no row of one element if there are
/// none.
pub(super) fn as_complex(list: &DeviceArray<u32>, most: usize) -> Result<DeviceArray<[f32; 2], 2>> {
    let n = (list.len() / 2).min(most);
    let numbers = regrouped(&list.slice(0..2 * n)?).expect("whole numbers");
    numbers.reshape([n.min(1), n.max(1)])
}

/// Returns the first numbers of a list, at most `most` of them.
fn first(list: &DeviceArray<f32>, most: usize) -> Result<DeviceArray<f32>> {
    list.slice(0..list.len().min(most))
}

pub(crate) type Call = fn(&CommandQueue, &mut Arrays) -> Result<()>;

/// A call of a verb.
pub(crate) struct Verb {
    /// Name of the verb, and the parts of the array in the call.
    pub(crate) id: &'static str,
    /// Name of the verb in messages.
    pub(crate) name: &'static str,
    pub(crate) returns: bool,
    /// Commands that prepare the arrays for the verb.
    prepare: Option<Call>,
    /// Call of the verb alone.
    pub(crate) alone: Call,
}

impl Verb {
    /// Prepares the arrays and calls the verb.
    pub(crate) fn call(&self, queue: &CommandQueue, arrays: &mut Arrays) -> Result<()> {
        self.prepare.map_or(Ok(()), |prepare| prepare(queue, arrays))?;
        (self.alone)(queue, arrays)
    }

    fn after(self, prepare: Call) -> Self {
        Self { prepare: Some(prepare), ..self }
    }
}

fn verb(id: &'static str, alone: Call) -> Verb {
    let name = id.split(' ').next().unwrap();
    Verb { id, name, returns: false, prepare: None, alone }
}

fn returns(id: &'static str, alone: Call) -> Verb {
    let name = id.split(' ').next_back().unwrap();
    Verb { id, name, returns: true, prepare: None, alone }
}

/// Writes the products of the columns of a matrix, which are positive definite.
fn products(q: &CommandQueue, a: &mut Arrays) -> Result<()> {
    let x = a.tall()?;
    q.matmul(x.transposed(), &x, &mut a.square(&a.other)?, Matmul::default())
}

#[expect(clippy::too_many_lines, reason = "it is a table of verbs")]
pub(crate) fn table() -> Vec<Verb> {
    Vec::from([
        verb("sum", |q, a| q.sum(&a.x, &mut a.one)),
        verb("prod", |q, a| q.prod(&a.y, &mut a.one)),
        verb("min", |q, a| q.min(&a.y, &mut a.one)),
        verb("max", |q, a| q.max(&a.numbers, &mut a.float())),
        verb("min skip_nan", |q, a| q.min(a.numbers.skip_nan(), &mut a.float())),
        verb("max skip_nan", |q, a| q.max(a.y.skip_nan(), &mut a.one)),
        verb("argmin", |q, a| q.argmin(&a.numbers, &mut a.one)),
        verb("argmax", |q, a| q.argmax(&a.y, &mut a.one)),
        verb("argmin skip_nan", |q, a| q.argmin(a.numbers.skip_nan(), &mut a.one)),
        verb("argmax skip_nan", |q, a| q.argmax(a.y.skip_nan(), &mut a.one)),
        verb("count_nonzero", |q, a| q.count_nonzero(&a.x, &mut a.one)),
        verb("any", |q, a| q.any(&a.x, &mut a.one)),
        verb("all", |q, a| q.all(&a.x, &mut a.one)),
        verb("dot", |q, a| q.dot(&a.x, &a.y, &mut a.one)),
        verb("norm", |q, a| q.norm(&a.numbers, &mut a.float())),
        verb("mean", |q, a| q.mean(&a.numbers, &mut a.float())),
        verb("reduce axis", |q, a| {
            q.reduce(a.as_rows(&a.x)?.axis(1), Operation::Largest, &mut a.few.reshape([a.rows(), 1])?)
        }),
        verb("reduce", |q, a| q.reduce(&a.y, Monoid::new("a ^ b", 0), &mut a.one)),
        verb("mean axis", |q, a| {
            q.mean(a.as_columns(&a.numbers)?.axis(0), &mut a.few.cast_bits().reshape([1, a.rows()])?)
        }),
        verb("norm axis", |q, a| {
            q.norm(a.as_rows(&a.numbers)?.axis(1), &mut a.few.cast_bits().reshape([a.rows(), 1])?)
        }),
        verb("dot axis", |q, a| {
            q.dot(a.as_columns(&a.x)?.axis(0), &a.as_columns(&a.y)?, &mut a.few.reshape([1, a.rows()])?)
        }),
        verb("count_nonzero axis", |q, a| {
            q.count_nonzero(a.as_rows(&a.x)?.axis(1), &mut a.few.reshape([a.rows(), 1])?)
        }),
        verb("any axis", |q, a| q.any(a.as_rows(&a.numbers)?.axis(1), &mut a.few.reshape([a.rows(), 1])?)),
        verb("all axis", |q, a| q.all(a.as_columns(&a.x)?.axis(0), &mut a.few.reshape([1, a.rows()])?)),
        verb("argmin axis", |q, a| {
            q.argmin(a.as_columns(&a.numbers)?.axis(0), &mut a.few.reshape([1, a.rows()])?)
        }),
        verb("argmax axis", |q, a| q.argmax(a.as_rows(&a.y)?.axis(1), &mut a.few.reshape([a.rows(), 1])?)),
        verb("argmin axis skip_nan", |q, a| {
            q.argmin(a.as_rows(&a.numbers)?.axis(1).skip_nan(), &mut a.few.reshape([a.rows(), 1])?)
        }),
        verb("argmax axis skip_nan", |q, a| {
            q.argmax(a.as_columns(&a.numbers)?.axis(0).skip_nan(), &mut a.few.reshape([1, a.rows()])?)
        }),
        verb("iota", |q, a| q.iota(&mut a.out, 5, 3)),
        verb("axpy", |q, a| q.axpy(3, &a.x, &mut a.out)),
        verb("cast", |q, a| q.cast(&a.numbers, &mut a.out.cast_bits::<i32>())),
        verb("clamp", |q, a| q.clamp(&a.y, 1000, 1 << 31, &mut a.out)),
        verb("where_", |q, a| q.where_(&a.x, &a.y, &a.sorted, &mut a.out)),
        verb("map", |q, a| q.map(&a.y, "x ^ i", &mut a.out)),
        verb("zip", |q, a| q.zip(&a.x, &a.numbers, "f32(x) + y", &mut a.floats())),
        verb("map repeated", |q, a| {
            let row = a.offsets.slice(0..a.rows())?.reshape([a.rows(), 1])?;
            let x = a.as_rows(&a.y)?;
            let inputs = args![x = &x, row = &row, one = &a.count, by = 3_u32];
            q.map(inputs, "(x * by + one) ^ row", &mut a.as_rows(&a.out)?)
        }),
        verb("map_in_place", |q, a| {
            q.map_in_place(args![x = &mut a.out, y = &a.y, by = 5_u32], "x * by + y")
        })
        .after(|q, a| q.copy(&a.x, &mut a.out)),
        verb("scan", |q, a| q.scan(&a.y, &mut a.out, Scan::inclusive(Operation::Sum))),
        verb("scan_and_total", |q, a| {
            q.scan_and_total(&a.x, &mut a.out, &mut a.one, Scan::exclusive(Operation::Sum).from(7))
        }),
        verb("scan_in_place", |q, a| q.scan_in_place(&mut a.out, Scan::inclusive(Operation::Smallest)))
            .after(|q, a| q.copy(&a.y, &mut a.out)),
        verb("scan_by_key", |q, a| q.scan_by_key(&a.x, &a.y, &mut a.out, Scan::inclusive(Operation::Sum))),
        verb("scan segments", |q, a| {
            q.scan(a.y.segments(&a.offsets), &mut a.out, Scan::inclusive(Operation::Sum).reversed())
        }),
        verb("reduce_by_key", |q, a| {
            q.reduce_by_key(&a.x, &a.y, Operation::Largest, &mut a.out, &mut a.other, &mut a.one)
        }),
        verb("run_lengths", |q, a| q.run_lengths(&a.x, &mut a.out, &mut a.other, &mut a.one)),
        verb("reduce segments", |q, a| q.reduce(a.y.segments(&a.offsets), Operation::Sum, &mut a.few)),
        verb("mean segments", |q, a| q.mean(a.numbers.segments(&a.offsets), &mut a.few.cast_bits())),
        verb("count_nonzero segments", |q, a| q.count_nonzero(a.x.segments(&a.offsets), &mut a.few)),
        verb("any segments", |q, a| q.any(a.x.segments(&a.offsets), &mut a.few)),
        verb("all segments", |q, a| q.all(a.numbers.segments(&a.offsets), &mut a.few)),
        verb("norm segments", |q, a| q.norm(a.numbers.segments(&a.offsets), &mut a.few.cast_bits())),
        verb("dot segments", |q, a| q.dot(a.x.segments(&a.offsets), &a.y, &mut a.few)),
        verb("argmin segments", |q, a| q.argmin(a.numbers.segments(&a.offsets), &mut a.few)),
        verb("argmin segments skip_nan", |q, a| {
            q.argmin(a.numbers.segments(&a.offsets).skip_nan(), &mut a.few)
        }),
        verb("argmax segments skip_nan", |q, a| {
            q.argmax(a.numbers.segments(&a.offsets).skip_nan(), &mut a.few)
        }),
        verb("argmax segments", |q, a| q.argmax(a.y.segments(&a.offsets), &mut a.few)),
        verb("select", |q, a| q.select(&a.y, &a.x, &mut a.out, &mut a.one)),
        verb("partition", |q, a| q.partition(&a.y, &a.x, &mut a.out, &mut a.one)),
        verb("nonzero", |q, a| q.nonzero(&a.x, &mut a.out, &mut a.one)),
        verb("unique", |q, a| q.unique(&a.sorted, &mut a.out, &mut a.one)),
        verb("histogram", |q, a| q.histogram(&a.numbers, Bins::even(-2.0..2.0), &mut a.few)),
        verb("histogram_weighted", |q, a| {
            q.histogram_weighted(&a.numbers, &a.y, Bins::even(-2.0..2.0), &mut a.few)
        }),
        verb("histogram_weighted floats", |q, a| {
            q.histogram_weighted(&a.x, &a.numbers, Bins::modulo(), &mut a.few.cast_bits())
        }),
        verb("histogram_fixed", |q, a| {
            q.histogram_fixed(&a.x, &a.numbers, 16, Bins::modulo(), &mut a.few.cast_bits())
        }),
        verb("sort segments", |q, a| {
            q.sort(a.y.segments(&a.offsets), &mut a.out, Sort::ascending().bits(8..20))
        }),
        verb("sort", |q, a| q.sort(&a.y, &mut a.out, Sort::ascending().bits(8..20))),
        verb("sort_in_place", |q, a| q.sort_in_place(&mut a.out, Sort::descending().bits(24..32)))
            .after(|q, a| q.copy(&a.y, &mut a.out)),
        verb("sort_pairs", |q, a| {
            q.sort_pairs(&a.x, &a.y, &mut a.out, &mut a.other, Sort::ascending().bits(0..8))
        }),
        verb("sort_pairs_in_place", |q, a| {
            q.sort_pairs_in_place(&mut a.out, &mut a.other, Sort::ascending().bits(0..4))
        })
        .after(|q, a| {
            q.copy(&a.x, &mut a.out)?;
            q.copy(&a.y, &mut a.other)
        }),
        verb("argsort", |q, a| q.argsort(&a.x, &mut a.out, Sort::descending().bits(0..8))),
        verb("argsort segments", |q, a| {
            q.argsort(a.y.segments(&a.offsets), &mut a.out, Sort::ascending().bits(8..20))
        }),
        verb("argsort axis", |q, a| {
            let columns = a.as_columns(&a.y)?;
            q.argsort(columns.axis(0), &mut a.out.reshape(columns.shape())?, Sort::descending().bits(8..20))
        }),
        verb("searchsorted", |q, a| q.searchsorted(&a.sorted, &a.x, Side::Right, &mut a.out)),
        verb("merge", |q, a| q.merge(&a.sorted, &a.sorted, &mut a.both)),
        verb("top_k", |q, a| q.top_k(&a.y, &mut a.few, &mut a.few_others)),
        verb("top_k segments", |q, a| {
            let one_each = [a.rows(), 1];
            let mut places = a.few_others.reshape(one_each)?;
            q.top_k(a.y.segments(&a.offsets), &mut a.few.reshape(one_each)?, &mut places)
        }),
        verb("top_k axis", |q, a| {
            let one_each = [1, a.rows()];
            let mut places = a.few_others.reshape(one_each)?;
            q.top_k(a.as_columns(&a.y)?.axis(0), &mut a.few.reshape(one_each)?, &mut places)
        }),
        verb("kth", |q, a| q.kth(&a.numbers, a.numbers.len() / 3, &mut a.float())),
        verb("median", |q, a| q.median(&a.y, &mut a.one)),
        verb("median axis", |q, a| {
            q.median(a.as_rows(&a.numbers)?.axis(1), &mut a.few.cast_bits().reshape([a.rows(), 1])?)
        }),
        verb("quantile", |q, a| q.quantile(&a.numbers, 0.3, &mut a.float())),
        verb("quantile axis", |q, a| {
            q.quantile(a.as_columns(&a.y)?.axis(0), 0.3, &mut a.few.reshape([1, a.rows()])?)
        }),
        verb("quantile segments", |q, a| q.quantile(a.y.segments(&a.offsets), 0.9, &mut a.few)),
        verb("mad", |q, a| q.mad(&a.numbers, &mut a.float())),
        verb("mad axis", |q, a| {
            q.mad(a.as_rows(&a.numbers)?.axis(1), &mut a.few.cast_bits().reshape([a.rows(), 1])?)
        }),
        verb("rolling", |q, a| q.rolling(&a.numbers, &mut a.floats(), Rolling::median([5]))),
        verb("rolling without", |q, a| {
            let y = a.as_rows(&a.y)?;
            let flags = a.as_rows(&a.x)?;
            q.rolling(&y, &mut a.as_rows(&a.out)?, Rolling::max([3, 1]).without(&flags))
        }),
        verb("sum_threshold", |q, a| {
            q.sum_threshold(&a.numbers, &a.numbers.slice(0..1)?, &mut a.out, SumThreshold::along(0, 0.5))
        }),
        verb("flag_interference", |q, a| {
            let options = SumThresholdFlagger::default().average_freq(2).freq_chunks(3);
            let options = options.spike_width(2.0, 3.0).windows(&[1, 2], &[1, 2, 4]).outlier_nsigma(1.5);
            let known = a.as_rows(&a.x)?;
            q.flag_interference(&a.as_rows(&a.numbers)?, &known, &mut a.as_rows(&a.out)?, options)
        }),
        verb("gather", |q, a| q.gather(&a.y, &a.sorted, Outside::Last, &mut a.out)),
        verb("scatter", |q, a| q.scatter(&a.y, &a.other, &mut a.out))
            .after(|q, a| q.iota(&mut a.other, 3, 1)),
        verb("copy_strided", |q, a| {
            let rows = a.rows();
            let from = Strides { first: rows - 1, strides: [rows as isize, -1] };
            let to = Strides { first: 0, strides: [rows as isize, 1] };
            q.copy_strided([a.y.len() / a.rows(), a.rows()], &a.y, from, &mut a.out, to)
        }),
        verb("scatter_add", |q, a| q.scatter_add(&a.y, &a.x, &mut a.out)),
        verb("transpose", |q, a| {
            let rows = a.as_rows(&a.y)?;
            q.transpose(&rows, &mut a.out.reshape([a.y.len() / a.rows(), a.rows()])?)
        }),
        verb("permute", |q, a| {
            let columns = a.y.len() / a.rows();
            let middle = [5, 7].into_iter().find(|middle| columns % middle == 0).unwrap_or(1);
            let [first, last] = [a.rows(), columns / middle];
            let y = a.y.reshape([first, middle, last])?;
            q.permute(&y, [2, 1, 0], &mut a.out.reshape([last, middle, first])?)
        }),
        verb("matmul", |q, a| {
            let side = a.x.len().isqrt().min(40);
            let square = |list: &DeviceArray<u32>| list.slice(0..side * side)?.reshape([side, side]);
            q.matmul(&square(&a.x)?, square(&a.y)?.transposed(), &mut square(&a.out)?, Matmul::default())
        }),
        verb("matmul vector", |q, a| {
            let rows = a.as_rows(&a.y)?;
            let x = a.x.slice(0..rows.shape()[1])?;
            q.matmul(&rows, &x, &mut a.few, Matmul::default())
        }),
        verb("cholesky", |q, a| {
            let x = a.square(&a.other)?;
            q.cholesky(&x, &mut a.square(&a.out)?, &mut a.one, Triangle::Upper)
        })
        .after(products),
        verb("lu", |q, a| {
            let x = a.square(&a.other)?;
            let mut order = a.both.slice(0..a.side())?;
            q.lu(&x, &mut a.square(&a.out)?, &mut order, &mut a.one)
        })
        .after(products),
        verb("qr", |q, a| {
            let x = a.tall()?;
            let mut factor = a.floats().slice(0..x.len())?.reshape(x.shape())?;
            q.qr(&x, &mut factor, &mut a.square(&a.other)?)
        }),
        verb("solve", |q, a| {
            let b = a.numbers.slice(0..a.side())?;
            let mut out = a.floats().slice(0..a.side())?;
            q.solve(&a.square(&a.other)?, &b, &mut out, &mut a.one)
        })
        .after(products),
        verb("solve_triangular", |q, a| {
            let b = a.numbers.slice(0..a.side())?;
            let mut out = a.floats().slice(0..a.side())?;
            q.solve_triangular(&a.square(&a.other)?, &b, &mut out, &mut a.one, Triangular::lower())
        })
        .after(products),
        verb("inverse", |q, a| {
            let x = a.square(&a.other)?;
            q.inverse(&x, &mut a.square(&a.out)?, &mut a.one)
        })
        .after(products),
        verb("determinant", |q, a| q.determinant(&a.square(&a.other)?, &mut a.float())).after(products),
        verb("log_determinant", |q, a| {
            let mut logs = a.few.slice(0..1)?.cast_bits();
            q.log_determinant(&a.square(&a.other)?, &mut a.float(), &mut logs)
        })
        .after(products),
        verb("eigh", |q, a| {
            let x = a.square(&a.other)?;
            let mut values = a.both.slice(0..a.side())?.cast_bits();
            q.eigh(&x, &mut values, &mut a.square(&a.out)?, &mut a.one, Triangle::Lower)
        })
        .after(products),
        verb("eigvalsh", |q, a| {
            let mut values = a.floats().slice(0..a.side())?;
            q.eigvalsh(&a.square(&a.other)?, &mut values, &mut a.one, Triangle::Lower)
        })
        .after(products),
        verb("matmul_sparse", |q, a| {
            let matrix = Csr::new([a.rows(), a.y.len()], &a.offsets, &a.sorted, &a.x);
            q.matmul_sparse(matrix, &a.y, &mut a.few, MatmulSparse::default())
        }),
        verb("convolve_2d", |q, a| {
            let weights = a.weights()?;
            q.convolve_2d(&a.as_rows(&a.y)?, &weights, &mut a.as_rows(&a.out)?, Filter::default())
        }),
        verb("correlate_2d", |q, a| {
            let weights = a.weights()?;
            let edges = Filter::default().boundary(Boundary::Constant(9));
            q.correlate_2d(&a.as_columns(&a.y)?, &weights, &mut a.as_columns(&a.out)?, edges)
        }),
        verb("convolve_separable", |q, a| {
            let [down, across] = a.lists_of_weights()?;
            let edges = Filter::default().boundary(Boundary::Wrap);
            q.convolve_separable(&a.as_rows(&a.y)?, &down, &across, &mut a.as_rows(&a.out)?, edges)
        }),
        verb("correlate_separable", |q, a| {
            let [down, across] = a.lists_of_weights()?;
            let edges = Filter::default().boundary(Boundary::Nearest);
            q.correlate_separable(&a.as_rows(&a.y)?, &down, &across, &mut a.as_rows(&a.out)?, edges)
        }),
        verb("convolve_channels", |q, a| {
            let weights = a.channel_weights()?;
            let layer = ConvolveChannels::default().groups(a.rows()).padding([0, weights.shape()[3] / 2]);
            q.convolve_channels(&a.as_channels(&a.y)?, &weights, &mut a.as_channels(&a.out)?, layer)
        }),
        verb("fill_random", |q, a| {
            q.fill_random(&mut a.floats(), Philox::seed(4), Normal { mean: 1.0, deviation: 2.0 })
        }),
        verb("sum first", |q, a| q.sum(a.x.first(&a.count), &mut a.one)),
        verb("prod first", |q, a| q.prod(a.y.first(&a.count), &mut a.one)),
        verb("min first", |q, a| q.min(a.numbers.first(&a.count), &mut a.float())),
        verb("max first", |q, a| q.max(a.y.first(&a.count), &mut a.one)),
        verb("min first skip_nan", |q, a| q.min(a.numbers.first(&a.count).skip_nan(), &mut a.float())),
        verb("max first skip_nan", |q, a| q.max(a.y.first(&a.count).skip_nan(), &mut a.one)),
        verb("count_nonzero first", |q, a| q.count_nonzero(a.x.first(&a.count), &mut a.one)),
        verb("any first", |q, a| q.any(a.x.first(&a.count), &mut a.one)),
        verb("all first", |q, a| q.all(a.x.first(&a.count), &mut a.one)),
        verb("scan first", |q, a| q.scan(a.y.first(&a.count), &mut a.out, Scan::inclusive(Operation::Sum))),
        verb("sort first", |q, a| q.sort(a.y.first(&a.count), &mut a.out, Sort::ascending().bits(8..20))),
        verb("scan_and_total first", |q, a| {
            let sums = Scan::exclusive(Operation::Sum).from(7);
            q.scan_and_total(a.y.first(&a.count), &mut a.out, &mut a.one, sums)
        }),
        verb("sort_pairs first", |q, a| {
            let sort = Sort::ascending().bits(0..8);
            q.sort_pairs(a.x.first(&a.count), &a.y, &mut a.out, &mut a.other, sort)
        }),
        verb("argsort first", |q, a| {
            q.argsort(a.x.first(&a.count), &mut a.out, Sort::descending().bits(0..8))
        }),
        verb("partition first", |q, a| q.partition(a.y.first(&a.count), &a.x, &mut a.out, &mut a.one)),
        verb("nonzero first", |q, a| q.nonzero(a.x.first(&a.count), &mut a.out, &mut a.one)),
        verb("map first", |q, a| q.map(a.y.first(&a.count), "x ^ i", &mut a.out)),
        verb("select first", |q, a| q.select(a.y.first(&a.count), &a.x, &mut a.out, &mut a.one)),
        verb("unique first", |q, a| q.unique(a.sorted.first(&a.count), &mut a.out, &mut a.one)),
        verb("run_lengths first", |q, a| {
            q.run_lengths(a.x.first(&a.count), &mut a.out, &mut a.other, &mut a.one)
        }),
        verb("sum axis", |q, a| q.sum(a.as_rows(&a.y)?.axis(1), &mut a.few.reshape([a.rows(), 1])?)),
        verb("prod axis", |q, a| q.prod(a.as_columns(&a.y)?.axis(0), &mut a.few.reshape([1, a.rows()])?)),
        verb("min axis skip_nan", |q, a| {
            q.min(a.as_rows(&a.numbers)?.axis(1).skip_nan(), &mut a.few.cast_bits().reshape([a.rows(), 1])?)
        }),
        verb("max segments skip_nan", |q, a| {
            q.max(a.numbers.segments(&a.offsets).skip_nan(), &mut a.few.cast_bits())
        }),
        verb("reduce first", |q, a| q.reduce(a.y.first(&a.count), Monoid::new("a ^ b", 0), &mut a.one)),
        verb("mean first", |q, a| q.mean(a.numbers.first(&a.count), &mut a.float())),
        verb("norm first", |q, a| q.norm(a.numbers.first(&a.count), &mut a.float())),
        verb("dot first", |q, a| q.dot(a.x.first(&a.count), &a.y, &mut a.one)),
        verb("argmin first", |q, a| q.argmin(a.numbers.first(&a.count), &mut a.one)),
        verb("argmax first skip_nan", |q, a| q.argmax(a.numbers.first(&a.count).skip_nan(), &mut a.one)),
        verb("zip first", |q, a| q.zip(a.x.first(&a.count), &a.numbers, "f32(x) + y", &mut a.floats())),
        verb("cast first", |q, a| q.cast(a.numbers.first(&a.count), &mut a.out.cast_bits::<i32>())),
        verb("clamp first", |q, a| q.clamp(a.y.first(&a.count), 1000, 1 << 31, &mut a.out)),
        verb("where_ first", |q, a| q.where_(&a.x, a.y.first(&a.count), &a.sorted, &mut a.out)),
        verb("scan_by_key first", |q, a| {
            let sums = Scan::inclusive(Operation::Sum).reversed();
            q.scan_by_key(a.x.first(&a.count), &a.y, &mut a.out, sums)
        }),
        verb("reduce_by_key first", |q, a| {
            let keys = a.x.first(&a.count);
            q.reduce_by_key(keys, &a.y, Operation::Largest, &mut a.out, &mut a.other, &mut a.one)
        }),
        verb("searchsorted first", |q, a| {
            q.searchsorted(a.sorted.first(&a.count), &a.x, Side::Right, &mut a.out)
        }),
        verb("top_k first", |q, a| q.top_k(a.y.first(&a.count), &mut a.few, &mut a.few_others)),
        verb("kth first", |q, a| q.kth(a.numbers.first(&a.count), a.numbers.len() / 8, &mut a.float())),
        verb("median first", |q, a| q.median(a.numbers.first(&a.count).skip_nan(), &mut a.float())),
        verb("gather first", |q, a| q.gather(&a.y, a.sorted.first(&a.count), Outside::Last, &mut a.out)),
        verb("scatter first", |q, a| q.scatter(a.y.first(&a.count), &a.other, &mut a.out))
            .after(|q, a| q.iota(&mut a.other, 3, 1)),
        verb("scatter_add first", |q, a| q.scatter_add(a.y.first(&a.count), &a.x, &mut a.out)),
        verb("histogram first", |q, a| {
            q.histogram(a.numbers.first(&a.count), Bins::even(-2.0..2.0), &mut a.few)
        }),
        verb("histogram_weighted first", |q, a| {
            q.histogram_weighted(a.x.first(&a.count), &a.numbers, Bins::modulo(), &mut a.few.cast_bits())
        }),
        verb("histogram_fixed first", |q, a| {
            q.histogram_fixed(a.x.first(&a.count), &a.numbers, 16, Bins::modulo(), &mut a.few.cast_bits())
        }),
        verb("scan axis", |q, a| {
            let columns = a.as_columns(&a.y)?;
            let mut out = a.out.reshape(columns.shape())?;
            q.scan(columns.axis(0), &mut out, Scan::inclusive(Operation::Sum))
        }),
        verb("sort axis", |q, a| {
            let columns = a.as_columns(&a.y)?;
            q.sort(columns.axis(0), &mut a.out.reshape(columns.shape())?, Sort::ascending().bits(8..20))
        }),
        verb("sum everywhere", |q, a| q.sum(a.numbers.determinism(EVERYWHERE), &mut a.float())),
        verb("mean everywhere", |q, a| q.mean(a.numbers.determinism(EVERYWHERE), &mut a.float())),
        verb("norm everywhere", |q, a| q.norm(a.numbers.determinism(EVERYWHERE), &mut a.float())),
        verb("dot everywhere", |q, a| {
            q.dot(a.numbers.determinism(EVERYWHERE), &a.sorted.cast_bits(), &mut a.float())
        }),
        verb("sum axis everywhere", |q, a| {
            let rows = a.as_rows(&a.numbers)?;
            q.sum(rows.axis(1).determinism(EVERYWHERE), &mut a.few.cast_bits().reshape([a.rows(), 1])?)
        }),
        verb("norm axis everywhere", |q, a| {
            let columns = a.as_columns(&a.numbers)?;
            q.norm(columns.axis(0).determinism(EVERYWHERE), &mut a.few.cast_bits().reshape([1, a.rows()])?)
        }),
        verb("mean segments everywhere", |q, a| {
            q.mean(a.numbers.segments(&a.offsets).determinism(EVERYWHERE), &mut a.few.cast_bits())
        }),
        verb("sum first everywhere", |q, a| {
            q.sum(a.numbers.first(&a.count).determinism(EVERYWHERE), &mut a.float())
        }),
        verb("matmul everywhere", |q, a| {
            let x = a.tall()?;
            let everywhere = Matmul::default().determinism(EVERYWHERE);
            q.matmul(x.transposed(), &x, &mut a.square(&a.out)?, everywhere)
        }),
        verb("matmul of vectors everywhere", |q, a| {
            let everywhere = Matmul::default().determinism(EVERYWHERE);
            let mut out = a.float().slice(0..1)?.reshape([])?;
            q.matmul(&a.numbers, &a.sorted.cast_bits::<f32>(), &mut out, everywhere)
        }),
        verb("scatter_add floats", |q, a| q.scatter_add(&a.numbers, &a.x, &mut a.floats())),
        verb("random_permutation", |q, a| q.random_permutation(&mut a.out, Philox::seed(5))),
        // Few elements, because the CPU recorder interprets the kernels. 1,500 elements are two passes.
        verb("fft", |q, a| {
            let x = as_complex(&a.numbers.cast_bits(), 1500)?;
            let plan = FftPlan::new(&q.context(), [x.shape()[1]])?.norm(FftNorm::Ortho);
            q.fft(&plan, &x, &mut as_complex(&a.out, 1500)?)
        }),
        verb("ifft", |q, a| {
            let x = as_complex(&a.numbers.cast_bits(), 600)?;
            if x.is_empty() {
                return Ok(());
            }
            let plan = FftPlan::new(&q.context(), x.shape())?.norm(FftNorm::Ortho);
            q.ifft(&plan, &x, &mut as_complex(&a.out, 600)?)
        }),
        verb("fft_in_place", |q, a| {
            // 1,100 elements are a convolution.
            let mut x = as_complex(&a.out, 1100)?;
            let plan = FftPlan::new(&q.context(), [x.shape()[1]])?.norm(FftNorm::Ortho);
            q.fft_in_place(&plan, &mut x)
        })
        .after(|q, a| q.copy(&a.numbers.cast_bits(), &mut a.out)),
        verb("ifft_in_place", |q, a| {
            let mut x = as_complex(&a.out, 150)?;
            let plan = FftPlan::new(&q.context(), [x.shape()[1]])?.norm(FftNorm::Ortho);
            q.ifft_in_place(&plan, &mut x)
        })
        .after(|q, a| q.copy(&a.numbers.cast_bits(), &mut a.out)),
        verb("rfft", |q, a| {
            // 2,000 numbers are transformed as 1,000 pairs.
            let x = first(&a.numbers, 2000)?;
            let n = x.len();
            let plan = RealFftPlan::new(&q.context(), [n])?.norm(FftNorm::Ortho);
            q.rfft(&plan, &x.reshape([1, n])?, &mut as_complex(&a.both, n / 2 + 1)?)
        }),
        verb("irfft", |q, a| {
            let x = as_complex(&a.numbers.cast_bits(), 126)?;
            let [rows, bins] = x.shape();
            let n = 2 * bins - 1;
            let plan = RealFftPlan::new(&q.context(), [n])?.norm(FftNorm::Ortho);
            q.irfft(&plan, &x, &mut a.floats().slice(0..rows * n)?.reshape([rows, n])?)
        }),
        verb("fftshift", |q, a| q.fftshift(&a.y, &mut a.out)),
        verb("ifftshift", |q, a| q.ifftshift(a.as_rows(&a.y)?.axis(1), &mut a.as_rows(&a.out)?)),
        verb("convolve", |q, a| {
            let weights = first(&a.numbers, 5)?;
            q.convolve(&a.numbers, &weights, ConvolveMode::Same, &mut a.floats())
        }),
        verb("correlate", |q, a| {
            let x = first(&a.numbers, 400)?;
            let weights = first(&a.numbers, 80)?;
            let valid = x.len() + 1 - weights.len();
            q.correlate(&x, &weights, ConvolveMode::Valid, &mut a.floats().slice(0..valid)?)
        }),
        verb("stft", |q, a| {
            let x = first(&a.numbers, 200)?;
            let plan = StftPlan::new(&q.context(), &Window::Hann.periodic(16), 12)?;
            q.stft(&plan, &x, &mut Arrays::as_spectra(&a.both, 9, plan.frames(x.len()))?)
        }),
        verb("istft", |q, a| {
            let x = Arrays::as_spectra(&a.numbers.cast_bits(), 9, 20)?;
            let plan = StftPlan::new(&q.context(), &Window::Hamming.periodic(16), 8)?;
            let [frames, _] = x.shape();
            let samples = if frames == 0 { a.out.len().min(15) } else { 8 + 8 * frames };
            q.istft(&plan, &x, &mut a.floats().slice(0..samples)?)
        }),
        verb("welch", |q, a| {
            let plan = StftPlan::new(&q.context(), &Window::Hann.periodic(16), 8)?;
            let x = first(&a.numbers, 400)?;
            if x.len() < 16 {
                return Ok(());
            }
            q.welch(&plan, Welch::spectrum(), &x, &mut a.floats().slice(0..9)?)
        }),
        returns("warm_up", |q, a| q.warm_up(|q| q.sum(&a.x, &mut a.one))),
        returns("value_of sum", |q, a| q.value_of(|out| q.sum(&a.x, out)).wait().map(drop)),
        returns("value_of count_nonzero", |q, a| {
            q.value_of(|out| q.count_nonzero(&a.x, out)).wait().map(drop)
        }),
        returns("value_of any", |q, a| q.value_of(|out| q.any(&a.x, out)).wait().map(drop)),
        returns("value_of all", |q, a| q.value_of(|out| q.all(&a.x, out)).wait().map(drop)),
        returns("value_of argmin", |q, a| q.value_of(|out| q.argmin(&a.x, out)).wait().map(drop)),
        returns("value_of argmax", |q, a| q.value_of(|out| q.argmax(&a.x, out)).wait().map(drop)),
        returns("value_of dot", |q, a| q.value_of(|out| q.dot(&a.x, &a.y, out)).wait().map(drop)),
        returns("value_of norm", |q, a| q.value_of(|out| q.norm(&a.numbers, out)).wait().map(drop)),
        returns("value_of mean", |q, a| q.value_of(|out| q.mean(&a.numbers, out)).wait().map(drop)),
    ])
}
