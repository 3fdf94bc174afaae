use fencepost::algorithms::{Algorithms as _, Rolling, Sort, SumThreshold};
use fencepost::{CommandQueue, DeviceArray, args};
use fencepost_oracles::{self as host, Nan};
use rayon::prelude::*;

use super::{COLUMNS, Size, elements, offsets, words_below};
use crate::cpu::case::Case;
use crate::cpu::values::Check;

/// Panic of a reference without elements.
const NONE: &str = "bug: there are no elements";
/// Number of elements of a window along an axis.
const WIDTH: usize = 13;
/// Number of rows and columns of a window of a picture.
const SIDE: usize = 5;
/// Number of baselines of the flagger, and the threshold in standard deviations.
const BASELINES: usize = 64;
const SIGMAS: f64 = 11.0;

pub(super) fn sort_of_rows(size: Size) -> Case {
    let x = words_below(size.many() / 4, u32::MAX, 61);
    let sorted = |row: &[u32]| host::sort(row, Sort::ascending()).expect(NONE);
    let expected = x.chunks(COLUMNS).flat_map(sorted).collect();
    Case::verb(
        [x],
        expected,
        elements(size.many() / 4),
        |queue, [x], out| {
            let shape = [x.len() / COLUMNS, COLUMNS];
            queue.sort(x.reshape(shape)?.axis(1), &mut out.reshape(shape)?, Sort::ascending())
        },
        |[x], out| {
            out.copy_from_slice(x);
            out.par_chunks_mut(COLUMNS).for_each(<[u32]>::sort_unstable);
        },
    )
}

pub(super) fn median_of_rows(size: Size) -> Case {
    let x = words_below(size.many() / 4, u32::MAX, 61);
    let expected = x.chunks(COLUMNS).map(|row| host::median(row, Nan::Propagate).expect(NONE)).collect();
    Case::verb(
        [x],
        expected,
        elements(size.many() / 4),
        |queue, [x], out| {
            let rows = out.len();
            queue.median(x.reshape([rows, COLUMNS])?.axis(1), &mut out.reshape([rows, 1])?)
        },
        |[x], out| {
            x.par_chunks(COLUMNS).zip(out).for_each(|(row, out)| *out = median(&mut row.to_vec()));
        },
    )
}

pub(super) fn median_of_columns(size: Size) -> Case {
    let x = words_below(size.many() / 4, u32::MAX, 62);
    let n = x.len() / COLUMNS;
    let column = move |x: &[u32], at: usize| (0..n).map(|i| x[i * COLUMNS + at]).collect::<Vec<u32>>();
    let expected =
        (0..COLUMNS).map(|at| host::median(&column(&x, at), Nan::Propagate).expect(NONE)).collect();
    Case::verb(
        [x],
        expected,
        elements(size.many() / 4),
        move |queue, [x], out| {
            queue.median(x.reshape([n, COLUMNS])?.axis(0), &mut out.reshape([1, COLUMNS])?)
        },
        move |[x], out| {
            out.par_iter_mut().enumerate().for_each(|(at, out)| *out = median(&mut column(x, at)));
        },
    )
}

pub(super) fn median_of_segments(size: Size) -> Case {
    let x = words_below(size.many() / 4, u32::MAX, 34);
    let offsets = offsets(size.many() / 4);
    let segment = |ends: &[u32]| host::median(&x[ends[0] as usize..ends[1] as usize], Nan::Propagate);
    let expected = offsets.windows(2).map(|ends| segment(ends).expect(NONE)).collect();
    Case::verb(
        [x, offsets],
        expected,
        elements(size.many() / 4),
        |queue, [x, offsets], out| queue.median(x.segments(offsets), out),
        |[x, offsets], out| {
            let medians = out.par_iter_mut().zip(offsets.par_windows(2));
            medians
                .for_each(|(out, ends)| *out = median(&mut x[ends[0] as usize..ends[1] as usize].to_vec()));
        },
    )
}

/// Returns the median, and moves the elements.
fn median(x: &mut [u32]) -> u32 {
    let middle = (x.len() - 1) / 2;
    let odd = x.len() % 2 == 1;
    let (_, &mut low, larger) = x.select_nth_unstable(middle);
    if odd { low } else { low.midpoint(*larger.iter().min().expect(NONE)) }
}

pub(super) fn rolling_median(size: Size) -> Case {
    let x = words_below(size.many() / 16, u32::MAX, 63);
    let widths = [WIDTH, 1];
    of_windows(x, widths)
}

pub(super) fn median_filter(size: Size) -> Case {
    let x = words_below(size.many() / 16, 256, 64);
    of_windows(x, [SIDE, SIDE])
}

/// Returns a row of medians of windows in a matrix.
fn of_windows(x: Vec<u32>, widths: [usize; 2]) -> Case {
    let shape = [x.len() / COLUMNS, COLUMNS];
    let work = elements(x.len());
    let of_host = |window: &[u32]| host::median(window, Nan::Propagate).expect(NONE);
    let expected = host::rolling(&x, shape, widths, |_| true, of_host);
    Case::verb(
        [x],
        expected,
        work,
        move |queue, [x], out| {
            queue.rolling(&x.reshape(shape)?, &mut out.reshape(shape)?, Rolling::median(widths))
        },
        move |[x], out| {
            let around = |at: usize, axis: usize| {
                at.saturating_sub(widths[axis] / 2)..shape[axis].min(at + widths[axis] / 2 + 1)
            };
            out.par_chunks_mut(COLUMNS).enumerate().for_each(|(row, out)| {
                let mut window = Vec::with_capacity(widths[0] * widths[1]);
                for (column, out) in out.iter_mut().enumerate() {
                    window.clear();
                    for row in around(row, 0) {
                        let columns = around(column, 1);
                        window.extend_from_slice(
                            &x[row * COLUMNS + columns.start..row * COLUMNS + columns.end],
                        );
                    }
                    *out = median(&mut window);
                }
            });
        },
    )
}

/// Flags interference in amplitudes, as the example `22_flagger` does: channels along the first axis, baselines along
/// the second one. The program of both sides is the same, so few sums are near their thresholds.
pub(super) fn flagger(size: Size) -> Case {
    let mut rng = fastrand::Rng::with_seed(65);
    let noise = |rng: &mut fastrand::Rng| (0..12).map(|_| rng.f32()).sum::<f32>() - 6.0;
    let peak = |at: usize| if at.is_multiple_of(3001) { 50.0 } else { 0.0 };
    let x: Vec<f32> = (0..size.many() / 8).map(|at| 40.0 + noise(&mut rng) + peak(at)).collect();
    let mut expected = vec![0.0; x.len()];
    flagged(&x, &mut expected);
    let case = Case::verb([x], expected, elements(size.many() / 8), flag, |[x], out| flagged(x, out));
    Case { check: Check::Mostly(1e-4), ..case }
}

/// Enqueues the flags of amplitudes, as numbers.
fn flag(
    queue: &CommandQueue,
    [x]: [&DeviceArray<f32>; 1],
    out: &mut DeviceArray<f32>,
) -> fencepost::Result<()> {
    let shape = [x.len() / BASELINES, BASELINES];
    let x = x.reshape(shape)?;
    let mut background = queue.empty::<f32, 2>(shape)?;
    let mut deviations = queue.empty::<f32, 2>(shape)?;
    let mut magnitudes = queue.empty::<u32, 2>(shape)?;
    let mut noise = queue.empty::<f32, 2>([1, BASELINES])?;
    let mut flags = queue.empty::<u32, 2>(shape)?;
    queue.rolling(&x, &mut background, Rolling::median([WIDTH, 1]))?;
    queue.map(args![x = &x, m = &background], "x - m", &mut deviations)?;
    let magnitude = "select(bitcast<u32>(abs(x)), 0x7fc00000u, x == 0.0)";
    queue.map(args![x = &deviations], magnitude, &mut magnitudes)?;
    queue.median(magnitudes.cast_bits::<f32>().axis(0).skip_nan(), &mut noise)?;
    queue.map_in_place(args![x = &mut noise], "1.4826 * x")?;
    queue.sum_threshold(&deviations, &noise, &mut flags, SumThreshold::along(0, SIGMAS))?;
    queue.cast(&flags, &mut out.reshape(shape)?)
}

/// Flags amplitudes in plain Rust, one baseline after the other on each processor.
fn flagged(x: &[f32], out: &mut [f32]) {
    let channels = x.len() / BASELINES;
    let baseline = |at: usize| {
        let amplitudes: Vec<f32> = (0..channels).map(|channel| x[channel * BASELINES + at]).collect();
        let mut window = Vec::with_capacity(WIDTH);
        let deviation = |channel: usize| {
            window.clear();
            let ends = channel.saturating_sub(WIDTH / 2)..channels.min(channel + WIDTH / 2 + 1);
            window.extend_from_slice(&amplitudes[ends]);
            amplitudes[channel] - middle(&mut window)
        };
        let deviations: Vec<f32> = (0..channels).map(deviation).collect();
        let magnitudes =
            deviations.iter().map(|deviation| deviation.abs()).filter(|&deviation| deviation > 0.0);
        let noise = 1.4826 * middle(&mut magnitudes.collect::<Vec<f32>>());
        let limits = [0, 1, 2, 3].map(|step| (SIGMAS * 1.2_f64.powi(-step)) as f32 * noise);
        host::sum_threshold(&deviations, &limits)
    };
    let flags: Vec<Vec<u32>> = (0..BASELINES).into_par_iter().map(baseline).collect();
    out.par_chunks_mut(BASELINES).enumerate().for_each(|(channel, out)| {
        out.iter_mut().zip(&flags).for_each(|(out, flags)| *out = flags[channel] as f32);
    });
}

/// Returns the median of at least one number, and moves the numbers.
fn middle(x: &mut [f32]) -> f32 {
    let at = (x.len() - 1) / 2;
    let odd = x.len() % 2 == 1;
    let (_, &mut low, larger) = x.select_nth_unstable_by(at, f32::total_cmp);
    if odd { low } else { 0.5 * (low + larger.iter().copied().fold(f32::INFINITY, f32::min)) }
}
