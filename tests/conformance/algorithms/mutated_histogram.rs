//! A12: a mistake in the kernel of histograms is detected.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::args;
use fencepost::prelude::*;
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![case("a12_each_mistake_in_the_kernel_of_histograms_is_caught", caught)]
}

const KERNEL: &str = "bin_counts";
pub(super) const MISTAKES: &[Mistake] = &[
    mistake(KERNEL, "key < edges[0] ||", ""),
    mistake(KERNEL, "|| key > edges[params.bins]", ""),
    mistake(KERNEL, "key > edges[params.bins]", "key >= edges[params.bins]"),
    mistake(KERNEL, "above = params.bins;", "above = params.bins - 1u;"),
    mistake(KERNEL, "above - bin > 1u", "above - bin > 2u"),
    mistake(KERNEL, "edges[middle] <= key", "edges[middle] < key"),
    mistake(KERNEL, "bits % params.bins", "bits % (params.bins + 1u)"),
    mistake(KERNEL, "params.between == 1u", "params.between == 0u"),
    mistake(KERNEL, "params.between == 2u", "params.between == 0u"),
    mistake(KERNEL, "bits & (params.bins - 1u)", "bits & params.bins"),
    mistake(KERNEL, "bin >= params.bins", "bin > params.bins"),
    mistake(KERNEL, "atomicAdd(&counts[bin], 1u)", "atomicAdd(&counts[bin], 2u)"),
    mistake(KERNEL, "atomicAdd(&own[bin * params.copies + copy], 1u);", ""),
    mistake(KERNEL, "lane % max(1u, params.copies)", "lane"),
    mistake(KERNEL, "group.x * params.share", "0u"),
    mistake(KERNEL, "min(params.n, first + params.share)", "first + params.share"),
    mistake(KERNEL, "min(params.n, first + params.share)", "params.n"),
    mistake(KERNEL, "i < end", "i <= end"),
    mistake(KERNEL, "i += WORKGROUP", "i += WORKGROUP + 1u"),
    mistake(KERNEL, "    workgroupBarrier();", ""),
    mistake(KERNEL, "bin = lane; bin < params.bins", "bin = lane; bin < params.bins - 1u"),
    mistake(KERNEL, "bin += WORKGROUP", "bin += 2u * WORKGROUP"),
    mistake(KERNEL, "c = 0u", "c = 1u"),
    mistake(KERNEL, "own[bin * params.copies + c]", "own[bin + c]"),
    mistake(KERNEL, "atomicAdd(&counts[bin], sum)", "atomicStore(&counts[bin], sum)"),
    // The other mistakes are in the snippet.
    mistake(KERNEL, "select(params.flip_clear, params.flip_set", "select(params.flip_set, params.flip_clear"),
    mistake(KERNEL, "bits & 0x80000000u", "bits & 0x40000000u"),
];

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, _, text| {
        (0..3).all(|element| [false, true].into_iter().all(|private| is_right(ctx, text, element, private)))
    });
}

/// Number of all elements, and of those in a share: there are two and a half shares.
const ELEMENTS: usize = 500;
const SHARE: usize = 200;
const BINS: usize = 37;
/// Number of bins whose remainders are the low bits of an element.
const POWER: u32 = 32;

/// Returns `true` if the counts of remainders, or of elements between edges, are right for a type.
fn is_right(ctx: &Context, text: &str, element: usize, private: bool) -> bool {
    // The largest edges of the types are elements too.
    let last = [3_700_000_000, 1_900_000_000, (19.0_f32 * 1e37).to_bits()];
    let special =
        [0, 0x8000_0000, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0xFFC0_0001].into_iter().chain(last);
    let mixed = (0..ELEMENTS as u32 + 1).map(|i| (i + 1).wrapping_mul(0x9E37_79B1));
    let words: Vec<u32> = special.cycle().take(60).chain(mixed).take(ELEMENTS + 1).collect();
    let list = &words[..ELEMENTS];
    let edge = |i: usize| (i as f32 - 18.0) * 1e37;
    let (numbers, integers): (Vec<f32>, Vec<i32>) =
        (0..=BINS).map(|i| (edge(i), (i as i32 - 18) * 100_000_000)).unzip();
    let edges: Vec<u32> = (0..=BINS as u32).map(|i| i * 100_000_000).collect();
    // The edges and their keys are both in the order of unsigned integers.
    let keys: Vec<u32> = match element {
        0 => edges.clone(),
        1 => integers.iter().map(|&edge| edge as u32 ^ 1 << 31).collect(),
        _ => numbers.iter().map(|&edge| key(if edge == 0.0 { -0.0 } else { edge })).collect(),
    };
    let between = match element {
        0 => host::histogram(list, Bins::edges(&edges), BINS),
        1 => host::histogram(bytemuck::cast_slice(list), Bins::edges(&integers), BINS),
        _ => host::histogram(bytemuck::cast_slice(list), Bins::edges(&numbers), BINS),
    };
    let flips = [[0, 0], [1 << 31, 1 << 31], [1 << 31, u32::MAX]][element];
    // Without its own counters, a workgroup counts in device memory.
    let copies = if private { 4 } else { 0 };
    let count = |bins, between| counts(ctx, text, [&words, &keys], flips, [bins, between, copies]);
    let remainders =
        |bins, form| Some(count(bins, form)) == host::histogram(list, Bins::modulo(), bins as usize);
    Some(count(BINS as u32, 1)) == between && remainders(BINS as u32, 0) && remainders(POWER, 2)
}

fn key(number: f32) -> u32 {
    let bits = number.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// Returns the counts of a kernel.
fn counts(
    ctx: &Context,
    text: &str,
    [words, keys]: [&[u32]; 2],
    [flip_clear, flip_set]: [u32; 2],
    [bins, between, copies]: [u32; 3],
) -> Vec<u32> {
    let kernel = ctx.kernel_from_with(text, KERNEL, &[("WORKGROUP", 16.0)]).unwrap();
    let queue = ctx.queue("q");
    let x = queue.array(words).unwrap();
    let edges = queue.array(keys).unwrap();
    let mut counts = queue.zeros::<u32, 1>([bins as usize]).unwrap();
    let [n, share] = [ELEMENTS as u32, SHARE as u32];
    let args = args![
        n = n,
        share = share,
        bins = bins,
        flip_clear = flip_clear,
        flip_set = flip_set,
        between = between,
        copies = copies,
        x = &x,
        edges = &edges,
        counts = &mut counts
    ];
    queue.launch_dyn(&kernel, Grid::groups([ELEMENTS.div_ceil(SHARE)]), args).unwrap();
    queue.read(&counts).wait().unwrap()
}
