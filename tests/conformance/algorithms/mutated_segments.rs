//! A11: a mistake in the kernel of segments is detected.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::interface::NamedArg;
use fencepost::prelude::*;
use fencepost::{DynKernel, ShaderSource};
use fencepost_oracles as host;

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
    mistake("reduce_segments", "return of_bits(x[i])", "return x[i]"),
    mistake("reduce_segments", "select(T(0), T(1)", "select(T(1), T(0)"),
    mistake("reduce_segments", "& BITS", "& 1u"),
    mistake("reduce_segments", "return x[i] * y[i]", "return x[i] * x[i]"),
    mistake("reduce_segments", "offsets[place + 1u]", "offsets[place]"),
    mistake("reduce_segments", "min(params.n, offsets[place + 1u])", "offsets[place + 1u]"),
    mistake("reduce_segments", "if FINISH == 1u { divisor", "if FINISH == 2u { divisor"),
    mistake("reduce_segments", "total / divisor", "total"),
    mistake("reduce_segments", "sqrt(f32(total))", "f32(total)"),
    mistake("reduce_segments", "i < min(end, block + BLOCK)", "i < block + BLOCK"),
    mistake("reduce_segments", "block += BLOCK", "block += BLOCK + 1u"),
    mistake("reduce_segments", "all = operation(all, part)", "all = part"),
    mistake("reduce_segments", "if place < params.segments", "if place <= params.segments"),
    mistake("reduce_segments", "finished(to_bits(value), divisor)", "finished(value, divisor)"),
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
    mistake("reduce_segments", "segment_stage(group.x, lane)", "segment_stage(0u, lane)"),
    // Barriers of a snippet.
    mistake("reduce_segments", "    workgroupBarrier();\n    return parts[0];", "    return parts[0];"),
    mistake(
        "reduce_segments",
        "    workgroupBarrier();\n    parts[lane] = total;",
        "    parts[lane] = total;",
    ),
    mistake("arg_segments", "    workgroupBarrier();\n    return parts[0];", "    return parts[0];"),
    mistake("arg_segments", "i < end; i++", "i + 1u < end; i++"),
    mistake("arg_segments", "i < end; i++", "i <= end; i++"),
    mistake("arg_segments", "least = own;", ""),
    mistake("arg_segments", "return at;", "return first;"),
    mistake("arg_segments", "key(x[min(place, params.n - 1u)])", "key(x[0])"),
    mistake("arg_segments", "min(place, params.n - 1u)", "min(place, 100u)"),
    mistake("arg_segments", "a == LAST || b == LAST", "a == LAST"),
    mistake("arg_segments", "a == LAST || b == LAST", "b == LAST"),
    mistake("arg_segments", "key_at(b), b, key_at(a), a", "key_at(a), a, key_at(b), b"),
    mistake("arg_segments", "at - offsets[place]", "at"),
    mistake("arg_segments", "if place < params.segments", "if place <= params.segments"),
    mistake("arg_segments", "fold_partials(g, lane)", "fold_partials(0u, lane)"),
    mistake("arg_segments", "rest = value;", ""),
    mistake("arg_segments", "select(0u, LAST, LARGEST == 1u)", "0u"),
    mistake("arg_segments", "segment_stage(group.x, lane)", "segment_stage(0u, lane)"),
];

/// Number of elements of a share: not a multiple of the workgroup.
const SHARE: usize = 30;
/// Number of elements: more shares than invocations, and a shorter last share.
const ELEMENTS: usize = 10 * SHARE + 13;
/// The factor of an element is the element XOR this mask.
const FACTOR: u32 = 0x5555;
/// Initial value of the results.
const BEFORE: u32 = 0x5A5A_5A5A;

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, shader, text| {
        let mut x: Vec<u32> =
            (1..=ELEMENTS as u32).map(|i| i.wrapping_mul(0x9E37_79B1) & 0xBFFF_FFFF).collect();
        if shader == "arg_segments" {
            // The last element wins the search, because it is a NaN or the largest integer.
            x[ELEMENTS - 1] = u32::MAX;
        }
        // Short, long and empty segments, with and without elements before and after them.
        let lists: [&[u32]; 3] = [
            &[6, 7, 7, 9, 9, 9, 100, 200, 201, 290, 300],
            &[0, 0, 70, 71, 72, 90, ELEMENTS as u32, ELEMENTS as u32],
            &[0, 1, 2, 3, 4, 5, 64, 310, u32::MAX],
        ];
        lists.into_iter().all(|offsets| {
            [SHARE, ELEMENTS].into_iter().all(|share| {
                let found = |form: Form| {
                    let kernels = [1.0, 0.0, 2.0].map(|stage| form.kernel(ctx, shader, text, stage));
                    results(ctx, shader, &kernels, share, offsets, &x, form.identity())
                };
                let is_right = |form: &Form| found(*form) == padded(offsets, &form.expected(&x, offsets));
                let forms = if shader == "arg_segments" { &PLACES[..] } else { &REDUCTIONS };
                forms.iter().all(is_right)
            })
        })
    });
}

/// Returns the host's results, in which empty segments keep their initial value, and the element after them.
fn padded(offsets: &[u32], results: &[u32]) -> Vec<u32> {
    let segments = offsets.windows(2).zip(results);
    let kept = segments.map(|(ends, result)| if ends[0] == ends[1] { BEFORE } else { *result });
    kept.chain([BEFORE]).collect()
}

/// Kind of the results.
#[derive(Clone, Copy)]
enum Form {
    Sums,
    SmallestNumbers,
    Counts,
    MeansOfCounts,
    Products,
    Norms,
    Smallest,
    Largest,
}

const REDUCTIONS: [Form; 6] =
    [Form::Sums, Form::SmallestNumbers, Form::Counts, Form::MeansOfCounts, Form::Products, Form::Norms];
const PLACES: [Form; 2] = [Form::Smallest, Form::Largest];
/// Bits; an element is counted if any of them is set.
const BITS: u32 = 0xF000_0000;

impl Form {
    fn overrides(self) -> Vec<(&'static str, f64)> {
        let bits = ("BITS", f64::from(BITS));
        match self {
            Self::Sums => vec![],
            Self::SmallestNumbers => vec![("OPERATION", 2.0), ("KEYS", 1.0)],
            Self::Counts => vec![bits],
            Self::MeansOfCounts => vec![bits, ("FINISH", 1.0)],
            Self::Products => vec![("PRODUCTS", 1.0)],
            Self::Norms => vec![bits, ("FINISH", 2.0)],
            Self::Smallest => vec![("TYPE", 2.0)],
            Self::Largest => vec![("LARGEST", 1.0)],
        }
    }

    fn kernel(self, ctx: &Context, shader: &str, text: &str, stage: f64) -> DynKernel {
        let source = ShaderSource::text(format!("{shader}.wgsl"), text.to_owned());
        let source = source.with_type("T", u32::DTYPE).unwrap();
        // A workgroup has fewer invocations than usual, because the checks take time for each invocation.
        let overrides = [&[("STAGE", stage), ("WORKGROUP", 8.0)], &self.overrides()[..]].concat();
        ctx.kernel_from_with(&source, shader, &overrides).unwrap()
    }

    fn identity(self) -> u32 {
        if matches!(self, Self::SmallestNumbers | Self::Smallest | Self::Largest) { u32::MAX } else { 0 }
    }

    /// Returns the results of the host.
    fn expected(self, x: &[u32], offsets: &[u32]) -> Vec<u32> {
        let numbers: &[f32] = bytemuck::cast_slice(x);
        let counted: Vec<u32> = x.iter().map(|word| word & BITS).collect();
        let counts = host::count_nonzero_segments(&counted, offsets);
        let lengths = host::count_nonzero_segments(&vec![1; x.len()], offsets);
        match self {
            Self::Sums => host::reduce_segments(x, offsets, Operation::Sum),
            Self::SmallestNumbers => {
                let smallest = host::reduce_segments(numbers, offsets, Operation::Smallest);
                bytemuck::cast_slice(&smallest).to_vec()
            }
            Self::Counts => counts,
            Self::MeansOfCounts => {
                counts.iter().zip(lengths).map(|(count, length)| count / length.max(1)).collect()
            }
            Self::Products => {
                let products: Vec<u32> = x.iter().map(|word| word.wrapping_mul(word ^ FACTOR)).collect();
                host::reduce_segments(&products, offsets, Operation::Sum)
            }
            Self::Norms => counts.iter().map(|&count| (count as f32).sqrt() as u32).collect(),
            Self::Smallest => host::argmin_segments(numbers, offsets),
            Self::Largest => host::argmax_segments(x, offsets),
        }
    }
}

/// Returns the results of the segments, and the element after them.
fn results(
    ctx: &Context,
    shader: &str,
    [fold, write, whole]: &[DynKernel; 3],
    share: usize,
    offsets: &[u32],
    x: &[u32],
    identity: u32,
) -> Vec<u32> {
    let queue = ctx.queue("q");
    let factors: Vec<u32> = x.iter().map(|word| word ^ FACTOR).collect();
    let x = queue.array(x).unwrap();
    let y = queue.array(&factors).unwrap();
    let offsets = queue.array(offsets).unwrap();
    let shares = ELEMENTS.div_ceil(share);
    let mut out = queue.full([offsets.len()], BEFORE).unwrap();
    let mut states = queue.full([2 * shares], BEFORE).unwrap();
    let mut last = queue.zeros([1]).unwrap();
    let mut launch = |kernel: &DynKernel, partials: &DeviceArray<u32>, states: &mut DeviceArray<u32>| {
        let mut args: Vec<NamedArg<'_>> = args![
            n = ELEMENTS as u32,
            share = share as u32,
            identity = identity,
            segments = offsets.len() as u32 - 1,
            offsets = &offsets,
            x = &x,
            partials = partials,
            out = &mut out,
            states = states
        ]
        .to_vec();
        if shader == "reduce_segments" {
            args.extend(args![y = &y]);
        }
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
