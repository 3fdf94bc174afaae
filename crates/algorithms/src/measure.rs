//! Measurements of the variants of the verbs' kernels, for the tuning of a context.
//!
//! Each variant runs on a queue and on arrays of its own. The default comes first. Then the others compile at the same
//! time, and run one after the other: a few rounds of calls, of which the shortest counts. A variant that loses the first
//! rounds is given up, and one that comes close to the highest rates of the adapter ends the search. No variant is
//! compiled after the end of the time, because a compilation cannot be stopped.

use crate::histogram::{Bins, histogram};
use crate::matmul::{Matmul, matmul};
use crate::random::Philox;
use crate::reduce::Nan;
use crate::reducible::Operation;
use crate::scan::Scan;
use crate::sort::Sort;
use crate::stopwatch::{TimeLimit, given_time, is_given};
use crate::typed_kernel::value;
use crate::variants::{KernelVariant, Tunable};
use crate::verb_queue::VerbQueue;
use crate::{Uniform, Words, elementwise, inner_product, random, rearrange, reduce, scan, sort, trusted};
use fencepost_core::{
    ArraySize, Ceilings, CommandQueue, Context, DeviceArray, ErrorDetail, ErrorKind, Grid, IntoArg, Matrices,
    Pending, Prefix, Result, ShaderSource, TunedCase, TunedChoice, Tuning, TuningTable, verb_tuning,
};
use fencepost_kernels::report;
use std::fmt;
use std::time::Duration;
use web_time::Instant;

/// Longest time of the measurements of a choice, unless the program sets another one.
const LIMIT: Duration = Duration::from_secs(2);
/// Maximum number of rounds of calls of a variant.
const ROUNDS: usize = 5;
/// Seconds of a round, as far as [`MOST_CALLS`] allows it.
const ROUND: f64 = 1e-3;
/// Maximum number of calls in a round.
const MOST_CALLS: f64 = 32.0;
/// A variant is given up if it takes this many times as long as the fastest one so far.
const GIVEN_UP: f64 = 1.5;
/// Share of the highest rates of the adapter at which a variant ends the search.
const ENOUGH: f64 = 0.9;
/// A variant replaces the default if it takes at most this share of the default's time.
const GAIN: f64 = 0.95;
/// Number of bins of the measured histogram.
const BIN_COUNT: usize = 64;
/// Multiplications and additions of an invocation in a round of `multiply_add.wgsl`.
const OPERATIONS: f64 = 128.0;
/// Invocation and round counts of `multiply_add.wgsl`, until a launch takes long enough.
const CHAINS: [(usize, u32); 4] = [(1 << 10, 1), (1 << 14, 16), (1 << 18, 64), (1 << 18, 1024)];
/// Element counts of a copy, until it takes long enough.
const COPIED: [usize; 3] = [1 << 12, 1 << 16, 1 << 20];

/// The options of [`tune`](Tune::tune).
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// let options = TuneOptions::default().kernels([Tunable::Sort, Tunable::SortSmall]);
/// assert_eq!(options.limit.as_secs(), 2);
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct TuneOptions {
    /// Kernels whose variants are measured. The default is all.
    pub kernels: Vec<Tunable>,
    /// Longest time of the measurements of one choice. The default is 2 seconds. A compilation or a call that runs at the
    /// end of the time is not stopped.
    pub limit: Duration,
}

impl Default for TuneOptions {
    fn default() -> Self {
        Self { kernels: Tunable::ALL.into(), limit: LIMIT }
    }
}

impl TuneOptions {
    /// Sets the kernels whose variants are measured.
    #[must_use]
    pub fn kernels(mut self, kernels: impl IntoIterator<Item = Tunable>) -> Self {
        self.kernels = kernels.into_iter().collect();
        self
    }

    /// Sets the longest time of the measurements of one choice.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }
}

/// The measurement of the verbs' variants on a [`Context`].
pub trait Tune: sealed::Tuned {
    /// Measures the variants of the verbs' kernels, and returns the table with the fastest ones. From then on, the verbs
    /// of the context take them (rule A26). With a [`kernel_folder`](fencepost_core::ContextOptions::kernel_folder),
    /// they are stored for later contexts that tune on first use, together with the choices that are stored there.
    ///
    /// Nothing is measured before the result is awaited. Each variant runs on a queue of its own, after everything that
    /// was enqueued on the context before. Other work that runs meanwhile makes the times longer. A variant that the
    /// driver refuses is left out; if the default fails, or if the time does not suffice, the kernels keep their
    /// default, and the log has the reason.
    ///
    /// # Cost
    /// Up to [`limit`](TuneOptions::limit) for each of up to two sizes of arrays of each group of kernels. The largest
    /// arrays have 2^20 elements, two for each variant.
    ///
    /// # Errors
    /// The result is [`ErrorDetail::DeviceLost`] if the device is lost. Other errors only end the measurement of a
    /// choice.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let table = ctx.tune(TuneOptions::default().kernels([Tunable::Transpose])).wait()?;
    /// for choice in table.choices() {
    ///     println!("{} of {} elements: {:?}", choice.kernels, choice.size, choice.values);
    /// }
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    fn tune(&self, options: TuneOptions) -> Pending<TuningTable>;
}

impl Tune for Context {
    fn tune(&self, options: TuneOptions) -> Pending<TuningTable> {
        let ctx = self.clone();
        verb_tuning::pending(async move {
            for kernels in options.kernels {
                for &size in kernels.sizes() {
                    let case = (kernels.name(), size);
                    let generation = verb_tuning::generation(&ctx);
                    let meter = Meter::new(ctx.clone(), options.limit, false, generation);
                    let measured = meter.choice(kernels, size).await;
                    if let Err(error) = &measured
                        && error.kind() == ErrorKind::DeviceLost
                    {
                        return Err(error.clone());
                    }
                    if let Some((number, choice)) = reported(case, measured) {
                        verb_tuning::keep(&ctx, generation, case, number, choice);
                    }
                }
            }
            Ok(ctx.tuning_table())
        })
    }
}

mod sealed {
    /// Implemented only by contexts.
    pub trait Tuned {}

    impl Tuned for fencepost_core::Context {}
}

/// Measures the choice of a case during the first call of a verb. Returns `None`, and reports the reason, if there is no
/// result.
pub(crate) fn on_first_use(
    queue: &CommandQueue,
    kernels: Tunable,
    case: TunedCase,
    generation: u64,
) -> Option<TunedChoice> {
    let meter = Meter::new(queue.context(), LIMIT, true, generation);
    let (_, size) = case;
    let measured = verb_tuning::pending(async move { meter.choice(kernels, size).await }).wait();
    reported(case, measured).map(|(_, choice)| choice)
}

/// Returns the result of a measurement. Reports the reason if there is none.
fn reported<T>((kernels, size): TunedCase, measured: Result<Option<T>>) -> Option<T> {
    let reason = match measured {
        Ok(Some(choice)) => return Some(choice),
        Ok(None) => "a measurement takes longer than the limit".to_owned(),
        Err(error) => error.to_string(),
    };
    report!(Info, "the kernels `{kernels}` keep their default for {size} elements: {reason}");
    None
}

/// Returns the number of elements of the measured arrays; of products of matrices, the number of results.
fn elements(kernels: Tunable, size: ArraySize) -> usize {
    match (size, kernels) {
        (ArraySize::Few, Tunable::Sort) => 1 << 13,
        (ArraySize::Few, Tunable::Matmul) => 1 << 16,
        (ArraySize::Few, _) => 1 << 12,
        (ArraySize::Many, Tunable::Sort) => 1 << 18,
        (ArraySize::Many, _) => 1 << 20,
    }
}

/// Returns the bytes that a measured call must at least read and write, and the number of its operations.
fn needs(kernels: Tunable, n: usize) -> [f64; 2] {
    let sides = sides_of_products(n).map(|side| side as f64);
    let n = n as f64;
    match kernels {
        Tunable::Matmul => {
            let [side, inner] = sides;
            [4.0 * side * (side + 2.0 * inner), 2.0 * side * side * inner]
        }
        Tunable::Reduce => [8.0 * n, 2.0 * n],
        Tunable::ReduceVectors => [4.0 * n, n],
        Tunable::Scan => [8.0 * n, n],
        Tunable::Histogram => [4.0 * n, 0.0],
        // Each of the eight digits is read twice, and the elements are written once.
        Tunable::Sort | Tunable::SortSmall => [96.0 * n, 0.0],
        Tunable::Transpose => [8.0 * n, 0.0],
    }
}

/// Returns the number of rows and of columns of measured products, which have `n` results, and that of inner indices.
fn sides_of_products(n: usize) -> [usize; 2] {
    let side = 1 << (n.ilog2() / 2);
    [side, side / 4]
}

/// Returns how many times as long a call on `n` elements takes as one on `few`, at the same rates.
fn growth(kernels: Tunable, [few, n]: [usize; 2]) -> f64 {
    let [[bytes, operations], [more_bytes, more_operations]] = [few, n].map(|n| needs(kernels, n));
    let of_operations = if operations > 0.0 { more_operations / operations } else { 0.0 };
    (more_bytes / bytes).max(of_operations)
}

/// Subject of a measurement.
#[derive(Clone, Copy)]
enum Measured {
    Variant(Tunable, KernelVariant),
    /// A kernel that reads and writes each element once.
    Copy,
    /// Chains of multiplications and additions, with this number of rounds.
    Chains(u32),
}

impl Measured {
    /// Returns `true` if the elements must be numbers as `f32`.
    fn needs_floats(self) -> bool {
        matches!(self, Self::Variant(Tunable::Matmul | Tunable::Reduce | Tunable::ReduceVectors, _))
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variant(kernels, variant) => write!(f, "{kernels} {:?}", variant.values()),
            Self::Copy => f.pad("copy"),
            Self::Chains(_) => f.pad("multiply_add"),
        }
    }
}

/// A subject of a measurement, on a queue of its own: a kernel that the driver refuses fails only this queue.
struct Trial {
    queue: CommandQueue,
    measured: Measured,
    x: DeviceArray<u32>,
    y: DeviceArray<u32>,
    /// Array for few results.
    few: DeviceArray<u32>,
}

impl Trial {
    /// Enqueues random elements and a first call, for which the kernels are compiled.
    fn new(ctx: &Context, measured: Measured, n: usize) -> Result<Self> {
        let queue = ctx.queue("tuning");
        let x = queue.empty([n])?;
        let y = queue.empty([n])?;
        let few = queue.empty([BIN_COUNT])?;
        let trial = Self { queue, measured, x, y, few };
        trial.fill(&trial.x)?;
        trial.fill(&trial.y)?;
        trial.call()?;
        trial.queue.flush()?;
        Ok(trial)
    }

    /// Enqueues random elements.
    fn fill(&self, array: &DeviceArray<u32>) -> Result<()> {
        let queue = VerbQueue::new(&self.queue, "tune")?;
        let generator = Philox::seed(7);
        if self.measured.needs_floats() {
            return random::fill(
                &queue,
                &array.cast_bits::<f32>(),
                generator,
                Uniform { low: 0.0, high: 1.0 },
            );
        }
        random::fill(&queue, array, generator, Words)
    }

    /// Enqueues a call.
    fn call(&self) -> Result<()> {
        match self.measured {
            Measured::Variant(kernels, variant) => {
                self.call_verb(&VerbQueue::trying(&self.queue, kernels, variant)?, kernels)
            }
            Measured::Copy => {
                let queue = VerbQueue::new(&self.queue, "tune")?;
                elementwise::clamp(&queue, (&self.x).into(), 0, u32::MAX, &mut self.y.clone())
            }
            Measured::Chains(rounds) => {
                let queue = VerbQueue::new(&self.queue, "tune")?;
                let source = ShaderSource::text("multiply_add.wgsl", include_str!("multiply_add.wgsl"));
                let kernel = trusted::program_kernel(&queue, &source, "multiply_add", &[])?;
                let mut out = self.y.cast_bits::<f32>();
                let args = [value("rounds", rounds), (Some("out".into()), (&mut out).into_arg())];
                queue.launch_dyn(&kernel, Grid::threads([self.y.len()]), args)
            }
        }
    }

    fn call_verb(&self, queue: &VerbQueue<'_>, kernels: Tunable) -> Result<()> {
        let floats = |array: &DeviceArray<u32>| array.cast_bits::<f32>();
        match kernels {
            Tunable::Reduce => {
                let mut out = floats(&self.few.slice(0..1)?);
                inner_product::dot(queue, &floats(&self.x), &floats(&self.y), &mut out)
            }
            Tunable::ReduceVectors => {
                let mut out = floats(&self.few.slice(0..1)?);
                reduce::reduce(queue, Operation::Sum, Nan::Propagate, &floats(&self.x), None, &mut out)
            }
            Tunable::Scan => scan::scan(queue, (&self.x).into(), &self.y, Scan::inclusive(Operation::Sum)),
            Tunable::Histogram => {
                let x: Prefix<'_, u32, 1> = (&self.x).into();
                histogram(queue, x, Bins::modulo(), &mut self.few.clone())
            }
            Tunable::Sort | Tunable::SortSmall => {
                sort::sort(queue, (&self.x).into(), &self.y, Sort::ascending())
            }
            Tunable::Matmul => {
                let [side, inner] = sides_of_products(self.y.len());
                let factor = |at: usize| floats(&self.x).slice(at * side * inner..(at + 1) * side * inner);
                let a = factor(0)?.reshape([side, inner])?;
                let b = factor(1)?.reshape([inner, side])?;
                let out = floats(&self.y).reshape([side, side])?;
                matmul(queue, [Matrices::from(&a), Matrices::from(&b)], &out, Matmul::default())
            }
            Tunable::Transpose => {
                let rows = 1 << (self.x.len().ilog2() / 2);
                let columns = self.x.len() / rows;
                let x = self.x.reshape([rows, columns])?;
                rearrange::permute(queue, &x, [1, 0], &self.y.reshape([columns, rows])?)
            }
        }
    }
}

/// The measurements for one choice.
struct Meter {
    ctx: Context,
    /// Time after which no further measurement begins.
    time: TimeLimit,
    /// `true` if the waits block. Then they return at the end of the time at the latest.
    blocks: bool,
    /// The [`generation`](verb_tuning::generation) in which the measurements begin.
    generation: u64,
}

impl Meter {
    fn new(ctx: Context, limit: Duration, blocks: bool, generation: u64) -> Self {
        Self { ctx, time: TimeLimit::new(limit), blocks, generation }
    }

    /// Returns a new trial, or `None` if the time is over.
    fn trial(&self, measured: Measured, n: usize) -> Result<Option<Trial>> {
        if self.time.is_over() { Ok(None) } else { Trial::new(&self.ctx, measured, n).map(Some) }
    }

    /// Waits for a result. Returns `None` if a blocking wait has reached the end of the time.
    async fn result<T: Unpin>(&self, mut pending: Pending<T>) -> Result<Option<T>> {
        if !self.blocks || is_given() {
            return pending.await.map(Some);
        }
        pending.wait_timeout(self.time.left())
    }

    /// Measures the variants of some kernels for a size of arrays. Returns the number of the fastest one, or `None` if
    /// the time does not suffice.
    ///
    /// # Errors
    /// Returns the error of the default. Other variants may fail.
    async fn choice(&self, kernels: Tunable, size: ArraySize) -> Result<Option<(usize, TunedChoice)>> {
        let n = elements(kernels, size);
        let numbers = kernels.numbers(&self.ctx.queue("tuning"), size);
        if !self.has_time_for(kernels, numbers.len(), n).await? {
            return Ok(None);
        }
        let bound = self.bound(kernels, n).await?;
        let trial = |number: usize| self.trial(Measured::Variant(kernels, kernels.variants()[number]), n);
        let Some(default) = trial(0)? else { return Ok(None) };
        let Some(of_default) = self.seconds(&default, f64::INFINITY).await? else { return Ok(None) };
        let mut fastest = (0, of_default);
        let is_enough = |seconds: f64| seconds * ENOUGH <= bound || self.time.is_over();
        let others = numbers.iter().filter(|&&number| number != 0 && !is_enough(of_default));
        let trials: Vec<_> = others.map(|&number| (number, trial(number))).collect();
        for (number, trial) in trials {
            if is_enough(fastest.1) {
                break;
            }
            let measured = match trial {
                Ok(Some(trial)) => self.seconds(&trial, fastest.1).await,
                Ok(None) => break,
                Err(error) => Err(error),
            };
            match measured {
                Ok(Some(seconds)) if seconds < fastest.1 => fastest = (number, seconds),
                Ok(_) => {}
                Err(error) => report!(Debug, "a variant of the kernels `{kernels}` is left out: {error}"),
            }
        }
        let (number, seconds) = if fastest.1 <= GAIN * of_default { fastest } else { (0, of_default) };
        let values = kernels.variants()[number].values();
        let case = (kernels.name(), size);
        let choice = TunedChoice::new(case, kernels.hash()?, values, seconds, of_default);
        Ok(Some((number, choice)))
    }

    /// Returns `true` if a call of each variant probably fits into the time, as estimated from calls on few elements.
    async fn has_time_for(&self, kernels: Tunable, variants: usize, n: usize) -> Result<bool> {
        let few = elements(kernels, ArraySize::Few);
        if n <= few {
            return Ok(true);
        }
        let default = Measured::Variant(kernels, KernelVariant::DEFAULT);
        let Some(trial) = self.trial(default, few)? else { return Ok(false) };
        let seconds = self.seconds(&trial, f64::INFINITY).await?;
        let expected = seconds.map(|seconds| seconds * growth(kernels, [few, n]) * variants as f64);
        Ok(expected.is_some_and(|expected| expected <= self.time.whole().as_secs_f64()))
    }

    /// Returns the time of a call at the highest rates of the adapter, or 0 if they are not known.
    async fn bound(&self, kernels: Tunable, n: usize) -> Result<f64> {
        let known = verb_tuning::known_ceilings(&self.ctx, self.generation);
        let ceilings = match known {
            Some(known) => Some(known),
            None => self.ceilings().await?,
        };
        let Some(ceilings) = ceilings else { return Ok(0.0) };
        let [bytes, operations] = needs(kernels, n);
        Ok((bytes / ceilings.bytes_per_second).max(operations / ceilings.operations_per_second))
    }

    /// Measures the highest rates of the adapter. Returns `None` if the time does not suffice.
    async fn ceilings(&self) -> Result<Option<Ceilings>> {
        let mut bytes = None;
        for n in COPIED {
            let Some(trial) = self.trial(Measured::Copy, n)? else { break };
            let Some(seconds) = self.seconds(&trial, f64::INFINITY).await? else { break };
            bytes = Some(8.0 * n as f64 / seconds);
            if seconds >= ROUND {
                break;
            }
        }
        let mut operations = None;
        for (n, rounds) in CHAINS {
            let Some(trial) = self.trial(Measured::Chains(rounds), n)? else { break };
            let Some(seconds) = self.seconds(&trial, f64::INFINITY).await? else { break };
            operations = Some(OPERATIONS * f64::from(rounds) * n as f64 / seconds);
            if seconds >= ROUND {
                break;
            }
        }
        let (Some(bytes), Some(operations)) = (bytes, operations) else { return Ok(None) };
        let ceilings = Ceilings::new(bytes, operations);
        verb_tuning::keep_ceilings(&self.ctx, self.generation, ceilings);
        Ok(Some(ceilings))
    }

    /// Returns the shortest time of a call, as the mean of a round. Returns `None` if the time does not suffice for one.
    /// If the trial takes much longer than `best`, there are fewer rounds.
    async fn seconds(&self, trial: &Trial, best: f64) -> Result<Option<f64>> {
        if self.result(trial.queue.finish()).await?.is_none() {
            return Ok(None);
        }
        let mut shortest = f64::INFINITY;
        let mut calls = 1;
        for _ in 0..ROUNDS {
            let Some(seconds) = self.round(trial, calls).await? else { break };
            // A driver may give no time, which must not win.
            if seconds > 0.0 {
                shortest = shortest.min(seconds);
            }
            if shortest > GIVEN_UP * best || self.time.is_over() {
                break;
            }
            calls = (ROUND / shortest).clamp(1.0, MOST_CALLS) as usize;
        }
        Ok(Some(shortest).filter(|seconds| seconds.is_finite()))
    }

    /// Returns the mean time of some calls: on the device, or on the host if the device has no timestamps.
    async fn round(&self, trial: &Trial, calls: usize) -> Result<Option<f64>> {
        if let Some(seconds) = given_time(|| trial.measured.to_string(), trial.x.len(), calls) {
            trial.call()?;
            return Ok(self.result(trial.queue.finish()).await?.map(|()| seconds));
        }
        let tuning = Tuning::start(&trial.queue).ok();
        let start = Instant::now();
        for _ in 0..calls {
            trial.call()?;
        }
        let on_device = match tuning {
            Some(tuning) => self.result(tuning.stop()).await,
            None => Ok(None),
        };
        let seconds = match on_device {
            Ok(Some(seconds)) => seconds,
            Err(error) if !matches!(error.detail(), ErrorDetail::NotMeasured { .. }) => return Err(error),
            _ => {
                if self.result(trial.queue.finish()).await?.is_none() {
                    return Ok(None);
                }
                start.elapsed().as_secs_f64()
            }
        };
        Ok(Some(seconds / calls as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_of_four_times_the_side_takes_as_long_as_its_operations() {
        let of_matmul = [ArraySize::Few, ArraySize::Many].map(|size| elements(Tunable::Matmul, size));
        assert_eq!(of_matmul.map(sides_of_products), [[256, 64], [1024, 256]]);
        assert_eq!(needs(Tunable::Matmul, 1 << 16), [4.0 * 256.0 * 384.0, 2.0 * 256.0 * 256.0 * 64.0]);
        assert_eq!(growth(Tunable::Matmul, of_matmul), 64.0);
        for kernels in [Tunable::Reduce, Tunable::Scan, Tunable::Histogram, Tunable::Transpose] {
            assert_eq!(growth(kernels, [1 << 12, 1 << 20]), 256.0, "{kernels}");
        }
    }

    /// The factors are parts of one array.
    #[test]
    fn the_factors_of_a_measured_product_fit_into_an_array() {
        for &size in Tunable::Matmul.sizes() {
            let n = elements(Tunable::Matmul, size);
            let [side, inner] = sides_of_products(n);
            assert!(side * side == n && 2 * side * inner <= n, "{size}");
        }
    }
}
