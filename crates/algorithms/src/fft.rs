//! Fourier transforms along the axes of arrays, as launches of the passes of a plan.

use crate::axis::View;
use crate::elementwise::{flat, same_shape, words};
use crate::fft_plan::{FftPlan, RealFftPlan, SharedPlan, Transform};
use crate::fft_table::{FftPass, LONGEST_COLUMN, SWAP_ELEMENTS, SWAP_RESULTS, TILE};
use crate::grid::folded;
use crate::refusals::check;
use crate::trusted;
use crate::tuning::{WIDE, by_adapter, has_twins, limit, tuned};
use crate::typed_kernel::value;
use crate::verb_queue::VerbQueue;
use fencepost_core::{
    BufferArg, ComplexNumber, DeviceArray, DynArg, DynKernel, Grid, NamedArg, Result, ShaderSource,
};

/// Array of complex numbers, with one dimension.
pub(crate) type ComplexArray = DeviceArray<[f32; 2]>;

/// Elements at one end of a transform.
#[derive(Clone)]
enum Numbers {
    Complex(ComplexArray),
    Real(DeviceArray<f32>),
}

impl Numbers {
    fn buffer(&self) -> &dyn BufferArg {
        match self {
            Self::Complex(array) => array,
            Self::Real(array) => array,
        }
    }
}

/// One end of a transform: its elements, or its results.
#[derive(Clone)]
pub(crate) struct End {
    numbers: Numbers,
    /// Number of numbers along the axis.
    len: usize,
    /// Number of numbers that a transform reads or writes; the others count as 0, or are not written.
    bound: usize,
    /// `true` if the array has only the first half of symmetric elements.
    mirrored: bool,
    /// `true` if two real numbers are one element.
    pairs: bool,
}

impl End {
    pub(crate) fn complex(array: &ComplexArray, len: usize) -> Self {
        Self { numbers: Numbers::Complex(array.clone()), len, bound: len, mirrored: false, pairs: false }
    }

    /// Returns the spectra of `n` real numbers, of which the array has the first half.
    pub(crate) fn mirrored(array: &ComplexArray, n: usize) -> Self {
        Self { bound: n, mirrored: true, ..Self::complex(array, n / 2 + 1) }
    }

    /// Returns real numbers, of which a transform takes `bound`.
    pub(crate) fn real(array: &DeviceArray<f32>, len: usize, bound: usize) -> Self {
        Self { numbers: Numbers::Real(array.clone()), len, bound, mirrored: false, pairs: false }
    }
}

/// Frames of signals of real numbers. Each frame is one batch of a transform.
#[derive(Clone, Copy)]
pub(crate) struct Frames {
    /// Number of frames of a signal.
    pub(crate) count: usize,
    /// Distance of the first elements of two frames.
    pub(crate) hop: usize,
    /// Elements of the first frame that come before the signal.
    pub(crate) pad: usize,
    /// Results at the beginning of a frame that are not written.
    pub(crate) skip: usize,
    /// Place of the window in the table, counted from 1; 0 without a window.
    pub(crate) window: usize,
}

impl Frames {
    /// One frame, which is the whole signal.
    pub(crate) const ONE: Self = Self { count: 1, hop: 0, pad: 0, skip: 0, window: 0 };
}

/// The transforms along an axis.
#[derive(Clone, Copy)]
pub(crate) struct AlongAxis<'a> {
    pub(crate) transform: &'a Transform,
    /// Number of transforms for each column.
    pub(crate) batches: usize,
    /// Number of columns: the distance of neighbours along the axis.
    pub(crate) columns: usize,
    pub(crate) inverse: bool,
    pub(crate) factor: f64,
    pub(crate) frames: Frames,
}

/// Number of neighbouring columns that a workgroup transforms together, if they are long: so many elements are in a
/// cache line.
const LONG_TOGETHER: usize = 8;
/// Index of the memory of long lines in the scratch memory of [`FftLaunches`].
const FOR_TILES: usize = 2;

/// A launch whose arguments are known.
struct FftLaunch {
    kernel: DynKernel,
    grid: Grid<'static>,
    values: Vec<NamedArg<'static>>,
    /// Array that is read; `None` if the kernel works in place.
    x: Option<Numbers>,
    out: Numbers,
    /// Memory for the tiles of long lines.
    tiles: Option<ComplexArray>,
}

/// The launches of a verb. All of them are made, and their scratch memory is taken, before the first one is enqueued.
pub(crate) struct FftLaunches<'a> {
    queue: &'a VerbQueue<'a>,
    table: ComplexArray,
    /// Scratch memory between two passes, which is either of the first two arrays, and that of long lines.
    scratch: [Option<ComplexArray>; 3],
    list: Vec<FftLaunch>,
}

impl<'a> FftLaunches<'a> {
    pub(crate) fn new(queue: &'a VerbQueue<'a>, table: &ComplexArray) -> Self {
        Self { queue, table: table.clone(), scratch: [None, None, None], list: Vec::new() }
    }

    /// Adds the launches of transforms, in place if `to` is `None`. There must be at least one transform.
    #[track_caller]
    pub(crate) fn transform(&mut self, along: AlongAxis<'_>, from: &End, to: Option<&End>) -> Result<()> {
        let passes = self.passes_of(along);
        let last = passes.len() - 1;
        if last == 0 && to.is_none() {
            return self.pass(along, passes, 0, from, None);
        }
        let to = to.unwrap_or(from);
        let mut source = from.clone();
        for (at, pass) in passes.iter().enumerate() {
            if at == last {
                return self.pass(along, passes, at, &source, Some(to));
            }
            let array = self.scratch(at % 2, count_of([along.batches, pass.n, along.columns]))?;
            let sink = End::complex(&array, pass.n);
            self.pass(along, passes, at, &source, Some(&sink))?;
            source = sink;
        }
        Ok(())
    }

    /// Adds the launches of transforms of `n` real numbers each to spectra.
    #[track_caller]
    pub(crate) fn forward_real(
        &mut self,
        along: AlongAxis<'_>,
        n: usize,
        from: &End,
        spectra: &ComplexArray,
    ) -> Result<()> {
        let half = n / 2;
        let Some(roots) = along.transform.halves else {
            return self.transform(along, from, Some(&End::complex(spectra, half + 1)));
        };
        let pairs = scratch(self.queue, count_of([along.batches, half, along.columns]))?;
        let from = End { pairs: true, ..from.clone() };
        self.transform(AlongAxis { factor: 1.0, ..along }, &from, Some(&End::complex(&pairs, half)))?;
        self.halves(along, false, half, roots, &pairs, spectra)
    }

    /// Adds the launches of inverse transforms of spectra to `n` real numbers each.
    #[track_caller]
    pub(crate) fn inverse_real(
        &mut self,
        along: AlongAxis<'_>,
        n: usize,
        spectra: &ComplexArray,
        to: &End,
    ) -> Result<()> {
        let half = n / 2;
        let Some(roots) = along.transform.halves else {
            return self.transform(along, &End::mirrored(spectra, n), Some(to));
        };
        let pairs = scratch(self.queue, count_of([along.batches, half, along.columns]))?;
        self.halves(AlongAxis { factor: 1.0, ..along }, true, half, roots, spectra, &pairs)?;
        let to = End { pairs: true, ..to.clone() };
        // The sum over half as many elements is half as large.
        let along = AlongAxis { factor: 2.0 * along.factor, ..along };
        self.transform(along, &End::complex(&pairs, half), Some(&to))
    }

    /// Returns the passes of transforms: those for long lines if the device has native code for them, unless the lines of
    /// a workgroup have too many elements, or all lines have too many for the memory.
    fn passes_of<'t>(&self, along: AlongAxis<'t>) -> &'t [FftPass] {
        let AlongAxis { transform, batches, columns, .. } = along;
        let context = self.queue.context();
        let Some(long) = transform.long.as_deref().filter(|_| has_twins(&context)) else {
            return &transform.passes;
        };
        let lines = batches.saturating_mul(columns);
        let n = long[0].n;
        let is_short = columns == 1 || n <= LONGEST_COLUMN;
        let bytes = count_of([2 * size_of::<[f32; 2]>(), lines.next_multiple_of(LONG_TOGETHER), n]);
        let info = context.info();
        let fits = bytes as u64 <= info.max_array.min(info.max_binding);
        if is_short && fits { long } else { &transform.passes }
    }

    /// Returns one of the arrays of scratch memory.
    #[track_caller]
    fn scratch(&mut self, at: usize, len: usize) -> Result<ComplexArray> {
        if let Some(array) = self.scratch[at].as_ref().filter(|array| array.len() >= len) {
            return Ok(array.clone());
        }
        let array = scratch(self.queue, len)?;
        self.scratch[at] = Some(array.clone());
        Ok(array)
    }

    /// Adds the launch of a pass, in place if there is no sink.
    #[track_caller]
    fn pass(
        &mut self,
        along: AlongAxis<'_>,
        passes: &[FftPass],
        at: usize,
        source: &End,
        sink: Option<&End>,
    ) -> Result<()> {
        let AlongAxis { batches, columns, inverse, factor, frames, .. } = along;
        let pass: FftPass = passes[at];
        let is_last = at + 1 == passes.len();
        let out = sink.unwrap_or(source);
        let (kernel, has_real) = self.kernel(source, sink, pass.is_long)?;
        let frames = if has_real { frames } else { Frames::ONE };
        let mut swaps = pass.swaps;
        if inverse && at == 0 {
            swaps |= SWAP_ELEMENTS;
        }
        if inverse && is_last {
            swaps |= SWAP_RESULTS;
        }
        let lines = batches * columns * pass.steps();
        let most = limit(TILE, 24).max(pass.size) / pass.size;
        // A processor has few workgroups at once. On a card, more workgroups have less, but still neighbouring lines.
        let usual = by_adapter(self.queue, most, most.min(lines.div_ceil(1024).max(8)));
        let together = if columns == 1 { 1 } else { LONG_TOGETHER };
        let share = if pass.is_long { together } else { usual };
        let of_tiles = count_of([2, lines.next_multiple_of(share), pass.size]);
        let tiles = if pass.is_long { Some(self.scratch(FOR_TILES, of_tiles)?) } else { None };
        let counts = [
            ("lines", lines),
            ("share", share),
            ("size", pass.size),
            ("stages", pass.stages),
            ("steps", pass.steps()),
            ("before", pass.before),
            ("roots", pass.roots),
            ("root_step", pass.root_step()),
            ("inner", columns),
            ("x_size", source.len),
            ("out_size", out.len),
            ("have", source.bound),
            ("keep", out.bound),
            ("x_factors", pass.x_factors),
            ("out_factors", pass.out_factors),
            ("frames", frames.count),
            ("hop", frames.hop),
            ("pad", frames.pad),
            ("skip", frames.skip),
            ("window", frames.window),
        ];
        let mut values: Vec<NamedArg<'static>> =
            counts.into_iter().map(|(name, count)| value(name, count as u32)).collect();
        values.push(value("radices", pass.radices));
        values.push(value("swaps", swaps));
        values.push(value("scale", if is_last { factor as f32 } else { 1.0 }));
        let x = sink.map(|_| source.numbers.clone());
        let grid = Grid::groups(folded(lines.div_ceil(share)));
        self.list.push(FftLaunch { kernel, grid, values, x, out: out.numbers.clone(), tiles });
        Ok(())
    }

    /// Compiles the kernel of a pass, and returns `true` with it if one of its ends has real numbers.
    fn kernel(&self, source: &End, sink: Option<&End>, is_long: bool) -> Result<(DynKernel, bool)> {
        let mirrored = ("MIRRORED", f64::from(source.mirrored));
        let (stem, overrides, has_real) = match (&source.numbers, sink) {
            (_, None) => ("fft_in_place", vec![], false),
            (Numbers::Real(_), _) => ("fft_real", vec![("PAIRS", f64::from(source.pairs))], true),
            (_, Some(End { numbers: Numbers::Real(_), pairs, .. })) => {
                ("fft_to_real", vec![mirrored, ("PAIRS", f64::from(*pairs))], true)
            }
            _ => ("fft", vec![mirrored], false),
        };
        let overrides = tuned(self.queue, &overrides);
        let kernel = if is_long {
            let long = built_in(stem)?.with_snippet("fft_memory", "fft_long");
            trusted::kernel_from_source(self.queue, &long, stem, &overrides, false)?
        } else {
            compiled(self.queue, stem, &overrides)?
        };
        Ok((kernel, has_real))
    }

    /// Adds the launch that divides transforms of pairs into spectra, or joins spectra to such transforms.
    fn halves(
        &mut self,
        along: AlongAxis<'_>,
        join: bool,
        half: usize,
        roots: usize,
        x: &ComplexArray,
        out: &ComplexArray,
    ) -> Result<()> {
        let kernel = compiled(self.queue, "fft_halves", &[WIDE[0], ("JOIN", f64::from(join))])?;
        let size = if join { half } else { half + 1 };
        let n = along.batches * size * along.columns;
        let counts = [("n", n), ("half", half), ("inner", along.columns), ("roots", roots)];
        let mut values: Vec<NamedArg<'static>> =
            counts.into_iter().map(|(name, count)| value(name, count as u32)).collect();
        values.push(value("scale", (0.5 * along.factor) as f32));
        let x = Some(Numbers::Complex(x.clone()));
        let out = Numbers::Complex(out.clone());
        let grid = Grid::threads([n]);
        self.list.push(FftLaunch { kernel, grid, values, x, out, tiles: None });
        Ok(())
    }

    /// Enqueues the launches.
    #[track_caller]
    pub(crate) fn enqueue(self) -> Result<()> {
        for FftLaunch { kernel, grid, values, x, out, tiles } in &self.list {
            let mut args: Vec<NamedArg<'_>> = values.clone();
            args.push((Some("table".into()), DynArg::Read(&self.table)));
            if let Some(x) = x {
                args.push((Some("x".into()), DynArg::Read(x.buffer())));
            }
            let written = if x.is_some() { "out" } else { "x" };
            args.push((Some(written.into()), DynArg::ReadWrite(out.buffer())));
            if let Some(tiles) = tiles {
                args.push((Some("tiles".into()), DynArg::ReadWrite(tiles)));
            }
            self.queue.launch_dyn(kernel, *grid, args)?;
        }
        Ok(())
    }
}

/// Returns a number of elements: a product, or the largest number in place of a larger one. No array is that long, so
/// scratch memory of this length is refused.
pub(crate) fn count_of<const N: usize>(factors: [usize; N]) -> usize {
    factors.into_iter().fold(1, usize::saturating_mul)
}

/// Returns scratch memory, or an error if the launches would refuse its size.
#[track_caller]
pub(crate) fn scratch(queue: &VerbQueue<'_>, len: usize) -> Result<ComplexArray> {
    let array = queue.scratch(len)?;
    check(queue, &[], &[("scratch memory", &words(&array)?)])?;
    Ok(array)
}

/// Compiles a built-in kernel without an element type.
pub(crate) fn compiled(queue: &VerbQueue<'_>, stem: &str, overrides: &[(&str, f64)]) -> Result<DynKernel> {
    trusted::kernel_from_source(queue, &built_in(stem)?, stem, overrides, false)
}

fn built_in(stem: &str) -> Result<ShaderSource> {
    Ok(ShaderSource::builtin(&format!("{stem}.wgsl"))?)
}

/// Returns an array of complex numbers with one dimension.
pub(crate) fn complex<C: ComplexNumber, const D: usize>(x: &DeviceArray<C, D>) -> Result<ComplexArray> {
    flat(x)?.any().typed()
}

/// Enqueues the transforms of `x`.
#[track_caller]
pub(crate) fn fft<C: ComplexNumber, const D: usize>(
    queue: &VerbQueue<'_>,
    plan: &FftPlan,
    inverse: bool,
    x: &DeviceArray<C, D>,
    out: &DeviceArray<C, D>,
) -> Result<()> {
    let plan = &plan.inner;
    let axes = plan.axes_of(queue, "x", x, &plan.lengths)?;
    same_shape(queue, x, "out", out)?;
    let shape = x.shape();
    let x = complex(x)?;
    let out = complex(out)?;
    let reads = [("x", &words(&x)?), ("plan", &words(&plan.table)?)];
    check(queue, &reads, &[("out", &words(&out)?)])?;
    if x.is_empty() {
        return Ok(());
    }
    let mut launches = FftLaunches::new(queue, &plan.table);
    // The first transforms write `out`, and those along the other axes are in place.
    let all = along_axes(plan, inverse, shape, &axes);
    for (at, (along, n)) in all.into_iter().enumerate() {
        let result = End::complex(&out, n);
        if at == 0 {
            launches.transform(along, &End::complex(&x, n), Some(&result))?;
        } else {
            launches.transform(along, &result, None)?;
        }
    }
    launches.enqueue()
}

/// Enqueues the transforms of `x` in place.
#[track_caller]
pub(crate) fn fft_in_place<C: ComplexNumber, const D: usize>(
    queue: &VerbQueue<'_>,
    plan: &FftPlan,
    inverse: bool,
    x: &DeviceArray<C, D>,
) -> Result<()> {
    let plan = &plan.inner;
    let axes = plan.axes_of(queue, "x", x, &plan.lengths)?;
    let shape = x.shape();
    let x = complex(x)?;
    check(queue, &[("plan", &words(&plan.table)?)], &[("x", &words(&x)?)])?;
    if x.is_empty() {
        return Ok(());
    }
    let mut launches = FftLaunches::new(queue, &plan.table);
    for (along, n) in along_axes(plan, inverse, shape, &axes) {
        launches.transform(along, &End::complex(&x, n), None)?;
    }
    launches.enqueue()
}

/// Enqueues the spectra of real numbers.
#[track_caller]
pub(crate) fn rfft<C: ComplexNumber, const D: usize>(
    queue: &VerbQueue<'_>,
    plan: &RealFftPlan,
    x: &DeviceArray<f32, D>,
    out: &DeviceArray<C, D>,
) -> Result<()> {
    let plan = &plan.inner;
    let axes = plan.axes_of(queue, "x", x, &plan.lengths)?;
    let last = *axes.last().expect("bug: a plan has an axis");
    let mut expected = x.shape();
    expected[last] = expected[last] / 2 + 1;
    if out.shape() != expected {
        let remedy = "along the last axis of the plan, a spectrum has n / 2 + 1 elements for n real numbers";
        return Err(queue.wrong_shape("out", out, expected, remedy));
    }
    let x = flat(x)?;
    let out = complex(out)?;
    let reads = [("x", &x.cast_bits()), ("plan", &words(&plan.table)?)];
    check(queue, &reads, &[("out", &words(&out)?)])?;
    if out.is_empty() {
        return Ok(());
    }
    let mut launches = FftLaunches::new(queue, &plan.table);
    let mut all = along_axes(plan, false, expected, &axes);
    let (along, n) = all.pop().expect("bug: a plan has an axis");
    // The factor belongs to the last transforms.
    let factor = plan.factor(false);
    let of_real = if all.is_empty() { factor } else { 1.0 };
    launches.forward_real(AlongAxis { factor: of_real, ..along }, n, &End::real(&x, n, n), &out)?;
    let count = all.len();
    for (at, (along, n)) in all.into_iter().enumerate() {
        let factor = if at + 1 == count { factor } else { 1.0 };
        launches.transform(AlongAxis { factor, ..along }, &End::complex(&out, n), None)?;
    }
    launches.enqueue()
}

/// Enqueues the inverse of [`rfft`].
#[track_caller]
pub(crate) fn irfft<C: ComplexNumber, const D: usize>(
    queue: &VerbQueue<'_>,
    plan: &RealFftPlan,
    x: &DeviceArray<C, D>,
    out: &DeviceArray<f32, D>,
) -> Result<()> {
    let plan = &plan.inner;
    let axes = plan.axes_of(queue, "x", x, &plan.lengths_of_spectra())?;
    let last = *axes.last().expect("bug: a plan has an axis");
    let shape = x.shape();
    let mut expected = shape;
    expected[last] = *plan.lengths.last().expect("bug: a plan has a length");
    if out.shape() != expected {
        let remedy = "along the last axis of the plan, the result has as many elements as the plan";
        return Err(queue.wrong_shape("out", out, expected, remedy));
    }
    let x = complex(x)?;
    let out = flat(out)?;
    let reads = [("x", &words(&x)?), ("plan", &words(&plan.table)?)];
    check(queue, &reads, &[("out", &out.cast_bits())])?;
    if out.is_empty() {
        return Ok(());
    }
    let mut launches = FftLaunches::new(queue, &plan.table);
    let mut all = along_axes(plan, true, shape, &axes);
    let (along, n) = all.pop().expect("bug: a plan has an axis");
    // The transforms along the other axes leave the elements of `x` as they are.
    let spectra = if all.is_empty() { x.clone() } else { scratch(queue, x.len())? };
    for (at, (along, n)) in all.into_iter().enumerate() {
        let along = AlongAxis { factor: 1.0, ..along };
        let result = End::complex(&spectra, n);
        if at == 0 {
            launches.transform(along, &End::complex(&x, n), Some(&result))?;
        } else {
            launches.transform(along, &result, None)?;
        }
    }
    let along = AlongAxis { factor: plan.factor(true), ..along };
    launches.inverse_real(along, n, &spectra, &End::real(&out, n, n))?;
    launches.enqueue()
}

/// Returns the transforms along each axis, with their lengths. The last ones have the factor of the results.
fn along_axes<'a, const D: usize>(
    plan: &'a SharedPlan,
    inverse: bool,
    shape: [usize; D],
    axes: &[usize],
) -> Vec<(AlongAxis<'a>, usize)> {
    let count = axes.len();
    let along = |(at, &axis): (usize, &usize)| {
        let View { outer, inner, .. } = View::of_shape(shape, axis);
        let factor = if at + 1 == count { plan.factor(inverse) } else { 1.0 };
        let transform = &plan.transforms[at];
        let along =
            AlongAxis { transform, batches: outer, columns: inner, inverse, factor, frames: Frames::ONE };
        (along, plan.lengths[at])
    };
    axes.iter().enumerate().map(along).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_that_is_too_large_is_the_largest_number() {
        assert_eq!((count_of([]), count_of([3, 4, 5]), count_of([usize::MAX, 0])), (1, 60, 0));
        let half = 1 << (usize::BITS / 2);
        assert_eq!((count_of([half, half]), count_of([half, half, 3])), (usize::MAX, usize::MAX));
    }
}
