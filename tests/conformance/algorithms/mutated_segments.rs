//! A11: a mistake in the kernel of segments is caught.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::algorithms::{Operation, host};
use fencepost::prelude::*;
use fencepost::{DynKernel, ShaderSource};

pub fn cases() -> Vec<Case> {
    vec![case("a11_each_mistake_in_the_kernel_of_segments_is_caught", caught)]
}

pub(super) const MISTAKES: &[Mistake] = &[
    mistake("reduce_segments", "offsets[high] <= i", "offsets[high] < i"),
    mistake("reduce_segments", "while low < high", "while low + 1u < high"),
    mistake("reduce_segments", "offsets[middle] <= i", "offsets[middle] < i"),
    mistake("reduce_segments", "if low > 0u {", "if low > 1u {"),
    mistake("reduce_segments", "offsets[low - 1u]", "offsets[low]"),
    mistake("reduce_segments", "low <= params.segments", "low < params.segments"),
    mistake("reduce_segments", "min(params.n, offsets[low])", "offsets[low]"),
    mistake("reduce_segments", "of_bits(x[i])", "x[i]"),
    mistake("reduce_segments", "i < min(end, block + BLOCK)", "i < block + BLOCK"),
    mistake("reduce_segments", "block += BLOCK", "block += BLOCK + 1u"),
    mistake("reduce_segments", "all = operation(all, part)", "all = part"),
    mistake("reduce_segments", "if place < params.segments", "if place <= params.segments"),
    mistake("reduce_segments", "to_bits(value)", "value"),
    mistake("reduce_segments", "clamp(segment.first, first, end)", "segment.first"),
    mistake("reduce_segments", "clamp(segment.first, first, end)", "first"),
    mistake("reduce_segments", "(end - start + WORKGROUP - 1u) / WORKGROUP", "(end - start) / WORKGROUP"),
    mistake("reduce_segments", "start + lane * each", "start"),
    mistake("reduce_segments", "segment.first >= first", "segment.first > first"),
    mistake("reduce_segments", "select(0u, 1u, segment.first >= first)", "1u"),
    mistake("reduce_segments", "(params.share + WORKGROUP - 1u) / WORKGROUP", "params.share / WORKGROUP"),
    mistake("reduce_segments", "first + lane * each", "first"),
    mistake("reduce_segments", "clamp(segment.end, i + 1u, last)", "clamp(segment.end, i + 1u, end)"),
    mistake("reduce_segments", "i == segment.first", "i >= segment.first"),
    mistake("reduce_segments", "known = segment.place + 2u", "known = segment.place + 3u"),
    mistake("reduce_segments", "rest = value;", ""),
    mistake("reduce_segments", "before_lane(lane, before).value", "before.value"),
    mistake("reduce_segments", "scan_lanes(lane, state);", ""),
    mistake("reduce_segments", "fold_partials(g, lane)", "fold_partials(0u, lane)"),
    mistake("reduce_segments", "let g = group.x;", "let g = 0u;"),
    // Barriers of a snippet.
    mistake("reduce_segments", "    workgroupBarrier();\n    return parts[0];", "    return parts[0];"),
    mistake(
        "reduce_segments",
        "    workgroupBarrier();\n    parts[lane] = total;",
        "    parts[lane] = total;",
    ),
];

/// Counts the elements of a share: not a multiple of the workgroup.
const SHARE: usize = 30;
/// Counts the elements: more shares than invocations, of which the last one is shorter.
const ELEMENTS: usize = 10 * SHARE + 13;
/// Stands in the results before the launches.
const BEFORE: u32 = 0x5A5A_5A5A;

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, _, text| {
        let x: Vec<u32> = (1..=ELEMENTS as u32).map(|i| i.wrapping_mul(0x9E37_79B1) & 0xBFFF_FFFF).collect();
        // Short, long and empty segments, with and without elements before and behind them.
        let lists: [&[u32]; 3] = [
            &[6, 7, 7, 9, 9, 9, 100, 200, 201, 290, 300],
            &[0, 0, 70, 71, 72, 90, ELEMENTS as u32, ELEMENTS as u32],
            &[0, 1, 2, 3, 4, 5, 64, 310, u32::MAX],
        ];
        lists.into_iter().all(|offsets| {
            [SHARE, ELEMENTS].into_iter().all(|share| {
                let kernels = [1.0, 0.0, 2.0];
                let found = |keys| {
                    let kernels = kernels.map(|stage| kernel(ctx, text, stage, keys));
                    results(ctx, &kernels, share, offsets, &x, keys)
                };
                let numbers: &[f32] = bytemuck::cast_slice(&x);
                let smallest = host::reduce_segments(numbers, offsets, Operation::Smallest);
                found(false) == padded(offsets, &host::reduce_segments(&x, offsets, Operation::Sum))
                    && found(true) == padded(offsets, bytemuck::cast_slice(&smallest))
            })
        })
    });
}

/// Returns the results of the host, in which empty segments keep their elements, and an element behind them.
fn padded(offsets: &[u32], results: &[u32]) -> Vec<u32> {
    let segments = offsets.windows(2).zip(results);
    let kept = segments.map(|(ends, result)| if ends[0] == ends[1] { BEFORE } else { *result });
    kept.chain([BEFORE]).collect()
}

fn kernel(ctx: &Context, text: &str, stage: f64, keys: bool) -> DynKernel {
    let source = ShaderSource::text("reduce_segments.wgsl", text.to_owned());
    let source = source.with_type("T", u32::DTYPE).unwrap();
    let keys = f64::from(keys);
    // A workgroup has fewer invocations than usual, because the checks take time for each of them.
    let overrides = [("STAGE", stage), ("OPERATION", 2.0 * keys), ("KEYS", keys), ("WORKGROUP", 8.0)];
    ctx.kernel_from_source(&source, "reduce_segments", &overrides).unwrap()
}

/// Returns the results of the segments, and the element behind them.
fn results(
    ctx: &Context,
    [fold, write, whole]: &[DynKernel; 3],
    share: usize,
    offsets: &[u32],
    x: &[u32],
    keys: bool,
) -> Vec<u32> {
    let queue = ctx.queue("q");
    let (x, offsets) = (queue.array(x).unwrap(), queue.array(offsets).unwrap());
    let shares = ELEMENTS.div_ceil(share);
    let mut out = queue.full([offsets.len()], BEFORE).unwrap();
    let (mut states, mut last) = (queue.full([2 * shares], BEFORE).unwrap(), queue.zeros([1]).unwrap());
    let mut launch = |kernel: &DynKernel, partials: &DeviceArray<u32>, states: &mut DeviceArray<u32>| {
        let args = args![
            n = ELEMENTS as u32,
            share = share as u32,
            identity = if keys { u32::MAX } else { 0 },
            segments = offsets.len() as u32 - 1,
            offsets = &offsets,
            x = &x,
            partials = partials,
            out = &mut out,
            states = states
        ];
        queue.launch_dyn(kernel, Grid::groups([shares]), args).unwrap();
    };
    if shares == 1 {
        launch(whole, &offsets, &mut last);
    } else {
        launch(fold, &offsets, &mut states);
        launch(write, &states, &mut last);
    }
    queue.read(&out).wait().unwrap()
}
