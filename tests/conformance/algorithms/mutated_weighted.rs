//! A12: a mistake in the kernel of histograms with weights is detected.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::args;
use fencepost::prelude::*;
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![case("a12_each_mistake_in_the_kernel_of_weights_is_caught", caught)]
}

const KERNEL: &str = "bin_weights";
pub(super) const MISTAKES: &[Mistake] = &[
    mistake(KERNEL, "if FIXED == 0u { return bits; }", ""),
    mistake(KERNEL, "if magnitude > INFINITY { return 0u; }", ""),
    mistake(KERNEL, "if magnitude > INFINITY", "if magnitude >= INFINITY"),
    mistake(KERNEL, "magnitude >= params.limit", "magnitude > params.limit"),
    mistake(KERNEL, "select(~SIGN, SIGN, (bits & SIGN) != 0u)", "select(SIGN, ~SIGN, (bits & SIGN) != 0u)"),
    mistake(
        KERNEL,
        "i32(round(bitcast<f32>(bits) * params.scale))",
        "i32(bitcast<f32>(bits) * params.scale)",
    ),
    mistake(KERNEL, "bitcast<f32>(bits) * params.scale", "bitcast<f32>(bits)"),
    mistake(KERNEL, "bin >= params.bins", "bin > params.bins"),
    mistake(KERNEL, "atomicAdd(&sums[bin], whole(weights[i]))", "atomicAdd(&sums[bin], whole(weights[0]))"),
    mistake(KERNEL, "atomicAdd(&own[bin * params.copies + copy], whole(weights[i]));", ""),
    mistake(KERNEL, "lane % max(1u, params.copies)", "lane"),
    mistake(KERNEL, "group.x * params.share", "0u"),
    mistake(KERNEL, "min(params.n, first + params.share)", "first + params.share"),
    mistake(KERNEL, "min(params.n, first + params.share)", "params.n"),
    mistake(KERNEL, "i < end", "i <= end"),
    mistake(KERNEL, "    workgroupBarrier();", ""),
    mistake(KERNEL, "bin += WORKGROUP", "bin += 2u * WORKGROUP"),
    mistake(KERNEL, "c = 0u", "c = 1u"),
    mistake(KERNEL, "atomicAdd(&sums[bin], sum)", "atomicStore(&sums[bin], sum)"),
];

/// Number of all elements, and of those in a share: there are two and a half shares.
const ELEMENTS: usize = 500;
const SHARE: usize = 200;
const BINS: usize = 37;
/// Number of fraction bits of a fixed-point weight.
const FRACTION_BITS: u32 = 20;

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, _, text| {
        // Without its own sums, a workgroup adds in device memory.
        [0, 4]
            .into_iter()
            .all(|copies| [false, true].into_iter().all(|fixed| is_right(ctx, text, copies, fixed)))
    });
}

/// Returns `true` if the sums are right.
fn is_right(ctx: &Context, text: &str, copies: u32, fixed: bool) -> bool {
    let words: Vec<u32> = (0..=ELEMENTS as u32).map(|i| (i + 1).wrapping_mul(0x9E37_79B1) % 40).collect();
    let edges: Vec<u32> = (0..=BINS as u32).collect();
    let weights: Vec<u32> = (0..=ELEMENTS as u32).map(|i| weight(i, fixed)).collect();
    let list = &words[..ELEMENTS];
    let added = &weights[..ELEMENTS];
    let sums = sums(ctx, text, [&words, &weights, &edges], copies, fixed);
    if !fixed {
        return Some(sums) == host::histogram_weighted(list, added, Bins::edges(&edges), BINS);
    }
    let scale = 2_f32.powi(FRACTION_BITS as i32);
    let sums: Vec<f32> = sums.into_iter().map(|sum| sum as i32 as f32 / scale).collect();
    let numbers = bytemuck::cast_slice(added);
    Some(sums) == host::histogram_fixed(list, numbers, FRACTION_BITS, Bins::edges(&edges), BINS)
}

/// Returns a weight: any word, or a number, including NaNs, infinities and the limits of the range.
fn weight(i: u32, fixed: bool) -> u32 {
    let end = 2_f32.powi(31 - FRACTION_BITS as i32);
    match (fixed, i % 50) {
        (false, _) => (i + 5).wrapping_mul(0x85EB_CA6B),
        (_, 7) => f32::NAN.to_bits(),
        (_, 8) => 0xFFC0_0001,
        (_, 9) => f32::INFINITY.to_bits(),
        (_, 10) => f32::NEG_INFINITY.to_bits(),
        (_, 11) => end.to_bits(),
        (_, 12) => (-end).to_bits(),
        _ => ((i as f32 - 200.0) * 1.37e-5).to_bits(),
    }
}

/// Returns the sums of a kernel.
fn sums(
    ctx: &Context,
    text: &str,
    [words, weights, keys]: [&[u32]; 3],
    copies: u32,
    fixed: bool,
) -> Vec<u32> {
    let overrides = [("WORKGROUP", 16.0), ("FIXED", f64::from(u8::from(fixed)))];
    let kernel = ctx.kernel_from_with(text, KERNEL, &overrides).unwrap();
    let queue = ctx.queue("q");
    let array = |list: &[u32]| queue.array(list).unwrap();
    let x = array(words);
    let weights = array(weights);
    let edges = array(keys);
    let mut sums = queue.zeros::<u32, 1>([BINS]).unwrap();
    let args = args![
        n = ELEMENTS as u32,
        share = SHARE as u32,
        bins = BINS as u32,
        flip_clear = 0_u32,
        flip_set = 0_u32,
        between = 1_u32,
        copies = copies,
        scale = 2_f32.powi(FRACTION_BITS as i32),
        limit = 2_f32.powi(31 - FRACTION_BITS as i32).to_bits(),
        x = &x,
        weights = &weights,
        edges = &edges,
        sums = &mut sums
    ];
    queue.launch_dyn(&kernel, Grid::groups([ELEMENTS.div_ceil(SHARE)]), args).unwrap();
    queue.read(&sums).wait().unwrap()
}
