//! The twins of the passes of Fourier transforms: `fft`, `fft_in_place`, `fft_real` and `fft_to_real`.
#![allow(unsafe_code, reason = "several threads access the elements of one buffer")]

use super::override_value;
use crate::error::Fault;
use crate::program::Program;
use crate::run::{Cells, GridRun};
use bytemuck::{Pod, Zeroable};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of elements of the tile of a workgroup, as in `fft_memory.wgsl`.
const TILE: u32 = 1024;
/// Number of fine roots of a table, as in `fft_tile.wgsl`.
const FINE: u32 = 1024;
/// Number of elements that are transformed together, if a line has fewer.
const TOGETHER: usize = 4096;
/// Minimum number of lines that are transformed together, if their elements are neighbours.
const LEAST_TOGETHER: usize = 8;
/// Number of elements that neighbouring lines load or store alternately, so that they stay in a near cache.
const BLOCK: usize = 64;
/// Maximum number of elements of all plans that a kernel keeps.
const MOST_PLANNED: usize = 1 << 24;
/// Maximum number of numbers in memory that a kernel keeps for later runs.
const MOST_KEPT: usize = 1 << 20;

/// A complex number.
type ComplexF32 = Complex<f32>;

/// Native code of a pass. It computes the roots of the stages itself, and so more exactly than the stages of the text.
pub(crate) struct FftTwin {
    source: PassSource,
    sink: PassSink,
    /// Transforms by their numbers of elements.
    plans: Mutex<HashMap<usize, Arc<dyn Fft<f32>>>>,
    /// Memory of earlier runs.
    kept: Mutex<Vec<LineMemory>>,
}

/// Kinds of elements that a pass reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PassSource {
    Complex,
    /// The first half of spectra of real numbers.
    Mirrored,
    Real,
    /// Two real numbers for each element.
    Pairs,
}

/// Kinds of results that a pass writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PassSink {
    Complex,
    /// The array that is read.
    InPlace,
    Real,
    /// Two real numbers for each result.
    Pairs,
}

/// The uniform block of the kernels, as in `fft_tile.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct PassParams {
    lines: u32,
    share: u32,
    size: u32,
    radices: u32,
    _stages: u32,
    steps: u32,
    before: u32,
    roots: u32,
    root_step: u32,
    inner: u32,
    x_size: u32,
    out_size: u32,
    have: u32,
    keep: u32,
    x_factors: u32,
    out_factors: u32,
    swaps: u32,
    scale: f32,
    frames: u32,
    hop: u32,
    pad: u32,
    skip: u32,
    window: u32,
}

/// Memory for the elements of some lines, and for their transform.
#[derive(Default)]
struct LineMemory {
    elements: Vec<ComplexF32>,
    scratch: Vec<ComplexF32>,
}

/// A run with the values of its parameters.
struct FftPassRun<'r> {
    source: PassSource,
    sink: PassSink,
    params: PassParams,
    x: SharedElements<'r>,
    table: SharedElements<'r>,
    out: SharedElements<'r>,
}

/// A line, as in `fft_tile.wgsl`.
struct FftLine {
    batch: u32,
    place: u32,
    column: u32,
    k: u32,
    signal: u32,
    start: u32,
}

/// Elements of a buffer. As in the kernels, an index past the end is that of the last element.
#[derive(Clone, Copy)]
struct SharedElements<'r> {
    cells: Cells<'r>,
}

impl FftTwin {
    pub(super) fn of(program: &Program) -> Option<Self> {
        let is = |name: &str| override_value(program, name).map(|value| value == 1);
        let of_spectra = || Some(if is("MIRRORED")? { PassSource::Mirrored } else { PassSource::Complex });
        let (source, sink) = match program.name() {
            "fft" => (of_spectra()?, PassSink::Complex),
            "fft_in_place" => (PassSource::Complex, PassSink::InPlace),
            "fft_real" => {
                (if is("PAIRS")? { PassSource::Pairs } else { PassSource::Real }, PassSink::Complex)
            }
            "fft_to_real" => (of_spectra()?, if is("PAIRS")? { PassSink::Pairs } else { PassSink::Real }),
            _ => return None,
        };
        Some(Self { source, sink, plans: Mutex::default(), kept: Mutex::default() })
    }

    pub(super) fn run(&self, run: &GridRun<'_>) -> Result<u64, Fault> {
        let Some(pass) = FftPassRun::of(self, run) else { return Ok(run.range.start) };
        let plan = self.plan(pass.params.size as usize);
        let mut memory = self.take_memory();
        let ran = run.range.clone().try_for_each(|group| pass.compute(group, &*plan, &mut memory, run));
        self.keep_memory(memory);
        ran.map(|()| run.range.end)
    }

    /// Returns the transform of a number of elements. Other threads that need one wait, because each plan is made once.
    fn plan(&self, size: usize) -> Arc<dyn Fft<f32>> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans.get(&size) {
            return plan.clone();
        }
        if plans.keys().sum::<usize>() + size > MOST_PLANNED {
            plans.clear();
        }
        let plan = FftPlanner::<f32>::new().plan_fft_forward(size);
        plans.insert(size, plan.clone());
        plan
    }

    fn take_memory(&self) -> LineMemory {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn keep_memory(&self, memory: LineMemory) {
        let len = |memory: &LineMemory| memory.elements.len() + memory.scratch.len();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.iter().map(len).sum::<usize>() + len(&memory) <= MOST_KEPT {
            kept.push(memory);
        }
    }
}

impl<'r> FftPassRun<'r> {
    /// Returns `None` for parameters that no pass has, and for buffers that are not those of the kernel.
    fn of(twin: &FftTwin, run: &GridRun<'r>) -> Option<Self> {
        let &FftTwin { source, sink, .. } = twin;
        let params: PassParams = bytemuck::pod_read_unaligned(run.params.get(..size_of::<PassParams>())?);
        let is_in_place = sink == PassSink::InPlace;
        // A kernel for long lines has an array for the tiles, which native code does not need.
        let ([x, table, out], tiles) = match *run.buffers {
            [table, x] if is_in_place => ([x, table, x], None),
            [table, x, tiles] if is_in_place => ([x, table, x], Some(tiles)),
            [x, table, out] if !is_in_place => ([x, table, out], None),
            [x, table, out, tiles] if !is_in_place => ([x, table, out], Some(tiles)),
            _ => return None,
        };
        let [complex, real] = [size_of::<[f32; 2]>(), size_of::<f32>()];
        let least_of_x = if matches!(source, PassSource::Real | PassSource::Pairs) { real } else { complex };
        let least_of_out = if matches!(sink, PassSink::Real | PassSink::Pairs) { real } else { complex };
        if x.len() < least_of_x || table.len() < complex || out.len() < least_of_out {
            return None;
        }
        let PassParams { lines, share, size, steps, before, inner, frames, .. } = params;
        if [share, size, steps, before, inner, frames].contains(&0) {
            return None;
        }
        let tile = u64::from(share) * u64::from(size);
        let fits = tiles.map_or(tile <= u64::from(TILE), |tiles| {
            let all = u128::from(tile) * 2 * u128::from(lines.div_ceil(share).max(1));
            all <= (tiles.len() / size_of::<[f32; 2]>()) as u128
        });
        let is_pass = fits
            && product_of_radices(params.radices) == u64::from(size)
            // The elements of a line are its results then.
            && (!is_in_place || (steps == 1 && before == 1));
        let [x, table, out] = [x, table, out].map(|cells| SharedElements { cells });
        is_pass.then_some(Self { source, sink, params, x, table, out })
    }

    /// Executes a workgroup.
    fn compute(
        &self,
        group: u64,
        plan: &dyn Fft<f32>,
        memory: &mut LineMemory,
        run: &GridRun<'_>,
    ) -> Result<(), Fault> {
        let PassParams { lines, share, size, steps, inner, .. } = self.params;
        let size = size as usize;
        let first = (group as u32).wrapping_mul(share);
        let end = first + share.min(lines.max(first) - first);
        let least = if steps > 1 || inner > 1 { LEAST_TOGETHER } else { 1 };
        // The lines that are transformed together depend on the workgroup alone, and so do the bits of the results.
        let together = (TOGETHER / size).max(least);
        memory
            .scratch
            .resize(plan.get_inplace_scratch_len().max(memory.scratch.len()), ComplexF32::default());
        for first in (first..end).step_by(together) {
            if run.stop.load(Relaxed) {
                return Err(Fault::Stopped);
            }
            let count = (end - first).min(together as u32);
            let lines: Vec<FftLine> = (first..first + count).map(|line| self.line(line)).collect();
            let len = size * lines.len();
            if memory.elements.len() < len {
                memory.elements.resize(len, ComplexF32::default());
            }
            let elements = &mut memory.elements[..len];
            self.load(&lines, elements);
            for some in elements.chunks_mut(size.max(TOGETHER / size * size)) {
                if run.stop.load(Relaxed) {
                    return Err(Fault::Stopped);
                }
                plan.process_with_scratch(some, &mut memory.scratch);
            }
            self.store(&lines, elements);
        }
        Ok(())
    }

    fn line(&self, line: u32) -> FftLine {
        let PassParams { steps, before, inner, frames, hop, .. } = self.params;
        let rest = line / inner;
        let batch = rest / steps;
        let place = rest % steps;
        let start = (batch % frames).wrapping_mul(hop);
        FftLine { batch, place, column: line % inner, k: place % before, signal: batch / frames, start }
    }

    /// Loads the elements of lines, and computes the steps before the transform.
    fn load(&self, lines: &[FftLine], elements: &mut [ComplexF32]) {
        let PassParams { size, steps, before, root_step, x_factors, swaps, .. } = self.params;
        for block in blocks(size as usize) {
            for (line, elements) in lines.iter().zip(elements.chunks_exact_mut(size as usize)) {
                let of_block = &mut elements[block.clone()];
                self.load_block(line, block.start as u32, of_block);
            }
        }
        if swaps & 1 != 0 {
            elements.iter_mut().for_each(|value| *value = swapped(*value));
        }
        for (line, elements) in lines.iter().zip(elements.chunks_exact_mut(size as usize)) {
            if x_factors != 0 {
                let first = x_factors.wrapping_sub(1).wrapping_add(line.place);
                for (r, value) in (0_u32..).zip(elements.iter_mut()) {
                    *value *= self.table.complex(first.wrapping_add(r.wrapping_mul(steps)));
                }
            }
            if before > 1 {
                let step = line.k.wrapping_mul(root_step);
                for (r, value) in (0_u32..).zip(elements.iter_mut()) {
                    *value *= self.root(r.wrapping_mul(step));
                }
            }
        }
    }

    /// Loads the elements of a line from element `r` on.
    fn load_block(&self, line: &FftLine, r: u32, elements: &mut [ComplexF32]) {
        let PassParams { steps, inner, x_size, have, .. } = self.params;
        let have = if self.sink == PassSink::InPlace { u32::MAX } else { have };
        let first = line.batch.wrapping_mul(x_size);
        let at = |e: u32| first.wrapping_add(e).wrapping_mul(inner).wrapping_add(line.column);
        let start = line.place.wrapping_add(r.wrapping_mul(steps));
        let indexed = elements.iter_mut().enumerate();
        let indexed = indexed.map(|(r, value)| (start.wrapping_add((r as u32).wrapping_mul(steps)), value));
        match self.source {
            PassSource::Complex => indexed.for_each(|(e, value)| {
                *value = if e < have { self.x.complex(at(e)) } else { ComplexF32::default() };
            }),
            PassSource::Mirrored => indexed.for_each(|(e, value)| {
                *value = if e < have { self.mirrored(have, e, at) } else { ComplexF32::default() };
            }),
            PassSource::Real => {
                indexed.for_each(|(e, value)| *value = ComplexF32::new(self.real(line, e), 0.0))
            }
            PassSource::Pairs => indexed.for_each(|(e, value)| {
                let first = e.wrapping_mul(2);
                *value = ComplexF32::new(self.real(line, first), self.real(line, first.wrapping_add(1)));
            }),
        }
    }

    /// Returns an element of a spectrum of real numbers, as `fft_spectra.wgsl` does.
    fn mirrored(&self, have: u32, e: u32, at: impl Fn(u32) -> u32) -> ComplexF32 {
        let opposite = have - e;
        let mut value = self.x.complex(at(e.min(opposite)));
        if e > opposite {
            value.im = -value.im;
        }
        if e == 0 || e == opposite {
            value.im = 0.0;
        }
        value
    }

    /// Returns number `r` of a frame, as `fft_real.wgsl` does.
    fn real(&self, line: &FftLine, r: u32) -> f32 {
        let PassParams { inner, x_size, have, pad, window, .. } = self.params;
        let place = line.start.wrapping_add(r).wrapping_sub(pad);
        if r >= have || place >= x_size {
            return 0.0;
        }
        let at = line.signal.wrapping_mul(x_size).wrapping_add(place);
        let value = self.x.real(at.wrapping_mul(inner).wrapping_add(line.column));
        if window == 0 {
            return value;
        }
        let factors = self.table.complex(window.wrapping_sub(1).wrapping_add(r / 2));
        value * if r % 2 == 1 { factors.im } else { factors.re }
    }

    /// Returns a root of unity, as `fft_tile.wgsl` does.
    fn root(&self, m: u32) -> ComplexF32 {
        let PassParams { roots, .. } = self.params;
        let fine = self.table.complex(roots.wrapping_add(m % FINE));
        fine * self.table.complex(roots.wrapping_add(FINE).wrapping_add(m / FINE))
    }

    /// Computes the steps after the transform, and stores the results of lines.
    fn store(&self, lines: &[FftLine], elements: &mut [ComplexF32]) {
        let PassParams { size, before, out_factors, swaps, scale, .. } = self.params;
        if swaps & 2 != 0 {
            elements.iter_mut().for_each(|value| *value = swapped(*value));
        }
        if out_factors != 0 {
            for (line, elements) in lines.iter().zip(elements.chunks_exact_mut(size as usize)) {
                let first = out_factors.wrapping_sub(1).wrapping_add(self.first_result(line));
                for (r, value) in (0_u32..).zip(elements.iter_mut()) {
                    *value *= self.table.complex(first.wrapping_add(r.wrapping_mul(before)));
                }
            }
        }
        if swaps & 4 != 0 {
            elements.iter_mut().for_each(|value| *value = swapped(*value));
        }
        if scale != 1.0 {
            elements.iter_mut().for_each(|value| *value *= scale);
        }
        for block in blocks(size as usize) {
            for (line, elements) in lines.iter().zip(elements.chunks_exact(size as usize)) {
                self.store_block(line, block.start as u32, &elements[block.clone()]);
            }
        }
    }

    /// Returns the number of the first result of a line in its transform.
    fn first_result(&self, line: &FftLine) -> u32 {
        (line.place - line.k).wrapping_mul(self.params.size).wrapping_add(line.k)
    }

    /// Stores the results of a line from result `r` on.
    fn store_block(&self, line: &FftLine, r: u32, results: &[ComplexF32]) {
        let PassParams { before, inner, x_size, out_size, keep, .. } = self.params;
        let is_in_place = self.sink == PassSink::InPlace;
        let [size, keep] = if is_in_place { [x_size, u32::MAX] } else { [out_size, keep] };
        let first = line.batch.wrapping_mul(size);
        let at = |e: u32| first.wrapping_add(e).wrapping_mul(inner).wrapping_add(line.column);
        let start = self.first_result(line).wrapping_add(r.wrapping_mul(before));
        let indexed = results.iter().enumerate();
        let indexed = indexed.map(|(r, value)| (start.wrapping_add((r as u32).wrapping_mul(before)), *value));
        match self.sink {
            PassSink::Complex | PassSink::InPlace => indexed.for_each(|(e, value)| {
                if e < keep {
                    self.out.set_complex(at(e), value);
                }
            }),
            PassSink::Real => indexed.for_each(|(e, value)| self.write(line, e, value.re)),
            PassSink::Pairs => indexed.for_each(|(e, value)| {
                let first = e.wrapping_mul(2);
                self.write(line, first, value.re);
                self.write(line, first.wrapping_add(1), value.im);
            }),
        }
    }

    /// Writes number `r` of a frame, as `fft_to_real.wgsl` does.
    fn write(&self, line: &FftLine, r: u32, value: f32) {
        let PassParams { inner, out_size, keep, skip, .. } = self.params;
        if r < skip || r >= keep {
            return;
        }
        let place = line.start.wrapping_add(r - skip);
        if place < out_size {
            let at = line.signal.wrapping_mul(out_size).wrapping_add(place);
            self.out.set_real(at.wrapping_mul(inner).wrapping_add(line.column), value);
        }
    }
}

impl<'r> SharedElements<'r> {
    fn complex(self, at: u32) -> ComplexF32 {
        let [re, im]: [f32; 2] = bytemuck::cast(self.long(at).load(Relaxed));
        ComplexF32::new(re, im)
    }

    fn set_complex(self, at: u32, value: ComplexF32) {
        self.long(at).store(bytemuck::cast([value.re, value.im]), Relaxed);
    }

    fn real(self, at: u32) -> f32 {
        f32::from_bits(self.word(at).load(Relaxed))
    }

    fn set_real(self, at: u32, value: f32) {
        self.word(at).store(value.to_bits(), Relaxed);
    }

    fn word(self, at: u32) -> &'r AtomicU32 {
        let at = (at as usize).min(self.cells.len() / size_of::<u32>() - 1);
        let start = self.cells.start().cast::<u32>().wrapping_add(at);
        // SAFETY: the word is inside of the buffer, which has one, as `of` has checked, and the buffer begins at a multiple of 16. All
        // accesses of this thread to its bytes are atomic, and no reference to them exists.
        unsafe { AtomicU32::from_ptr(start) }
    }

    fn long(self, at: u32) -> &'r AtomicU64 {
        let at = (at as usize).min(self.cells.len() / size_of::<u64>() - 1);
        let start = self.cells.start().cast::<u64>().wrapping_add(at);
        // SAFETY: as above, for the two words of an element.
        unsafe { AtomicU64::from_ptr(start) }
    }
}

/// Returns the product of the radices of the stages, which are four bits each. It is 0 if the kernels have no stage for
/// a radix.
fn product_of_radices(radices: u32) -> u64 {
    let of_stages = (0..8).map(|at| (radices >> (4 * at)) & 15).take_while(|&radix| radix != 0);
    of_stages.map(|radix| if [2, 3, 4, 5, 7, 8].contains(&radix) { u64::from(radix) } else { 0 }).product()
}

/// Returns the number with its parts exchanged.
fn swapped(value: ComplexF32) -> ComplexF32 {
    ComplexF32::new(value.im, value.re)
}

/// Returns the ranges of elements that neighbouring lines access one after the other.
fn blocks(size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..size).step_by(BLOCK).map(move |start| start..size.min(start + BLOCK))
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Launch, bits, program};
    use super::*;
    use fencepost_kernels::ShaderSource;

    /// Half a unit in the last place of numbers from 1 to 2.
    const U: f64 = 1.0 / 16_777_216.0;

    /// A launch of a pass with random elements.
    struct Case {
        program: Arc<Program>,
        params: PassParams,
        buffers: Vec<Vec<f32>>,
        /// Index of the buffer with the results. The tiles of long lines come after it.
        results: usize,
    }

    impl Case {
        fn launch(&self) -> Launch<'_> {
            let groups = [self.params.lines.div_ceil(self.params.share), 1, 1];
            Launch { groups, params: bytemuck::bytes_of(&self.params), buffers: &self.buffers }
        }
    }

    /// Returns a root of unity: minus `k` of `n` steps around the circle.
    fn root(k: u32, n: u32) -> [f32; 2] {
        let (sin, cos) = (-std::f64::consts::TAU * f64::from(k) / f64::from(n)).sin_cos();
        [cos as f32, sin as f32]
    }

    /// Adds the roots of stages, and returns their place.
    fn add_stages(table: &mut Vec<[f32; 2]>, radices: &[u32]) -> u32 {
        let place = table.len() as u32;
        let mut before = 1;
        for &radix in radices {
            for r in 1..radix {
                table.extend((0..before).map(|k| root(k * r, radix * before)));
            }
            before *= radix;
        }
        place
    }

    /// Adds the fine and the coarse roots of `n`, and returns their place.
    fn add_roots(table: &mut Vec<[f32; 2]>, n: u32) -> u32 {
        let place = table.len() as u32;
        table.extend((0..FINE).map(|k| root(k, n)));
        table.extend((0..n.div_ceil(FINE)).map(|k| root(k * FINE, n)));
        place
    }

    fn numbers(rng: &mut fastrand::Rng, count: u32) -> Vec<f32> {
        (0..count).map(|_| rng.f32() * 2.0 - 1.0).collect()
    }

    /// Radices of lines, for a single pass or for one of two.
    const RADICES: [&[u32]; 9] = [&[], &[2], &[3], &[2, 3], &[4, 4], &[5, 7], &[8], &[3, 8], &[2, 2, 5]];

    /// Kernels with their overrides.
    const KERNELS: [(&str, &str); 7] = [
        ("fft", ""),
        ("fft", "MIRRORED"),
        ("fft_in_place", ""),
        ("fft_real", ""),
        ("fft_real", "PAIRS"),
        ("fft_to_real", ""),
        ("fft_to_real", "PAIRS"),
    ];

    /// Radices of a line that is longer than a tile in the memory of a workgroup.
    const LONG: &[u32] = &[4, 8, 8, 8];

    fn case(rng: &mut fastrand::Rng, at: usize) -> Case {
        let (stem, flag) = KERNELS[at % KERNELS.len()];
        let is_long = at.is_multiple_of(3);
        let is_longer = is_long && at < 30;
        let radices = if is_longer { LONG } else { RADICES[rng.usize(..RADICES.len())] };
        let size: u32 = radices.iter().product();
        let is_in_place = stem == "fft_in_place";
        // The first or the second of two passes, or the only one.
        let [steps, before] =
            if is_in_place || is_long { [1, 1] } else { [[1, 1], [6, 1], [6, 2], [3, 3]][rng.usize(..4)] };
        let n = steps * size;
        let batches = rng.u32(1..4);
        let inner = [1, 1, 5][rng.usize(..3)];
        let mut table = vec![[9.0; 2]; 3];
        let stages = add_stages(&mut table, radices);
        let roots = add_roots(&mut table, n);
        let factors = 1 + table.len() as u32;
        table.extend((0..n).map(|at| [0.5 + at as f32 / n as f32, -0.25]));
        let has_factors = rng.bool();
        let is_real = stem == "fft_real" || stem == "fft_to_real";
        let reals = if flag == "PAIRS" { 2 } else { 1 };
        let [frames, hop, pad, skip] =
            if is_real { [batches, 1 + n / 2, rng.u32(..3), rng.u32(..3)] } else { [1, 0, 0, 0] };
        // Frames end after the signal, and elements of a transform may be missing.
        let have = 1 + rng.u32(..reals * n);
        // No two frames write one number.
        let keep = if stem == "fft_to_real" { skip + 1 + rng.u32(..hop) } else { 1 + rng.u32(..n) };
        let signal = hop * (frames - 1) + reals * n / 2 + 1;
        let [mut x_size, mut out_size] = [n; 2];
        match stem {
            "fft_real" => x_size = signal,
            "fft_to_real" => out_size = signal,
            _ => {}
        }
        let packed = radices.iter().rev().fold(0, |packed, radix| (packed << 4) | radix);
        let lines = batches * steps * inner;
        let share = rng.u32(1..lines.min(8) + 1);
        let params = PassParams {
            lines,
            share,
            size,
            radices: packed,
            _stages: stages,
            steps,
            before,
            roots,
            root_step: n / (size * before),
            inner,
            x_size,
            out_size,
            have: if is_in_place { n } else { have },
            keep: if is_in_place { n } else { keep },
            x_factors: if has_factors { factors } else { 0 },
            out_factors: if rng.bool() { factors } else { 0 },
            swaps: rng.u32(..8),
            scale: [1.0, 0.5][rng.usize(..2)],
            frames,
            hop,
            pad,
            skip,
            window: if stem == "fft_real" && rng.bool() { factors } else { 0 },
        };
        let parts = |name: &str| if stem == name { 1 } else { 2 };
        let x = numbers(rng, parts("fft_real") * x_size * batches * inner);
        let out = numbers(rng, parts("fft_to_real") * out_size * batches * inner);
        let table: Vec<f32> = table.into_iter().flatten().collect();
        let mut buffers = if is_in_place { vec![table, x] } else { vec![x, table, out] };
        let results = buffers.len() - 1;
        let source = ShaderSource::builtin(&format!("{stem}.wgsl")).expect("the shader is built in");
        let source = if is_long {
            buffers.push(numbers(rng, 4 * lines.next_multiple_of(share) * size));
            source.with_snippet("fft_memory", "fft_long")
        } else {
            source
        };
        let overrides = [("WORKGROUP", 4.0), (flag, 1.0)];
        let overrides = if flag.is_empty() { &overrides[..1] } else { &overrides[..] };
        Case { program: program(&source, overrides), params, buffers, results }
    }

    fn cases() -> impl Iterator<Item = Case> {
        let mut rng = fastrand::Rng::with_seed(41);
        (0..210).map(move |at| case(&mut rng, at))
    }

    #[test]
    fn results_are_those_of_the_text_within_its_tolerance() {
        for case in cases() {
            let expected = case.launch().of_text(&case.program);
            let found = case.launch().of_twin(&case.program);
            let name = case.program.name();
            let is_kept = bits(&found[..case.results]) == bits(&expected[..case.results]);
            assert!(is_kept, "the elements of `{name}` stay");
            let [found, expected] = [&found[case.results], &expected[case.results]];
            let square = |x: f32| f64::from(x) * f64::from(x);
            let norm: f64 = expected.iter().map(|&x| square(x)).sum();
            let wrong: f64 = found.iter().zip(expected).map(|(a, b)| square(a - b)).sum();
            let bound = 3.0 * (2.0 + f64::from(case.params.size).log2()) * U;
            let error = (wrong / norm.max(1.0)).sqrt();
            assert!(error <= bound, "`{name}`, error {error:e}, bound {bound:e}: {:?}", case.params);
        }
    }

    #[test]
    fn a_result_has_the_same_bits_in_each_division_of_the_grid() {
        for case in cases() {
            let all = u64::from(case.params.lines.div_ceil(case.params.share));
            let whole = case.launch().of_twin(&case.program);
            let apart: Vec<_> = (0..all).map(|group| group..group + 1).collect();
            let found = case.launch().of_twin_in(&case.program, &apart);
            assert!(bits(&found) == bits(&whole), "`{}`: {:?}", case.program.name(), case.params);
        }
    }

    #[test]
    fn parameters_of_no_pass_are_left_to_the_text() {
        let mut case = cases().find(|case| case.params.size > 1).expect("a case has several elements");
        assert!(case.launch().left_by_twin(&case.program) > 0);
        assert_eq!(case.buffers.len(), case.results + 2, "the case has an array for tiles");
        let changes: [fn(&mut PassParams); 4] = [
            |params| params.size += 1,
            |params| params.lines *= 100,
            |params| params.inner = 0,
            |params| params.frames = 0,
        ];
        let whole = case.params;
        for change in changes {
            case.params = whole;
            change(&mut case.params);
            assert_eq!(case.launch().left_by_twin(&case.program), 0, "{:?}", case.params);
        }
    }

    #[test]
    fn a_tile_that_does_not_fit_into_its_memory_is_left_to_the_text() {
        let has_no_array = |case: &Case| case.buffers.len() == case.results + 1 && case.params.size > 1;
        let mut case = cases().find(has_no_array).expect("a case has its tiles in the memory of a workgroup");
        assert!(case.launch().left_by_twin(&case.program) > 0);
        case.params.share = TILE;
        assert_eq!(case.launch().left_by_twin(&case.program), 0);
    }

    #[test]
    fn a_stopped_run_computes_nothing() {
        let case = cases().next().expect("there are cases");
        case.launch().check_stop(&case.program);
    }

    #[test]
    fn a_kernel_keeps_few_plans_and_little_memory() {
        let case = cases().next().expect("there are cases");
        let twin = FftTwin::of(&case.program).expect("the kernel has a twin");
        for _ in 0..3 {
            twin.keep_memory(LineMemory {
                elements: Vec::new(),
                scratch: vec![ComplexF32::default(); MOST_KEPT / 2],
            });
        }
        assert_eq!(twin.kept.lock().expect("no thread panicked").len(), 2);
        let plan = twin.plan(2);
        assert!(Arc::ptr_eq(&plan, &twin.plan(2)), "a plan is made once");
        twin.plans.lock().expect("no thread panicked").insert(MOST_PLANNED, plan);
        twin.plan(3);
        assert_eq!(twin.plans.lock().expect("no thread panicked").len(), 1);
    }
}
