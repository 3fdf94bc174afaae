//! A02: a mistake in the kernel of random numbers is detected by the comparison with the host or by the CPU's checks.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::algorithms::{Distribution, Reducible};
use fencepost::prelude::*;
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![case("a02_each_mistake_in_the_kernel_of_random_numbers_is_caught", caught)]
}

pub(super) const MISTAKES: &[Mistake] = &[
    mistake("random", "word >> 8u", "word >> 9u"),
    mistake("random", "params.b * high;", "params.b * low;"),
    mistake("random", "+ carry", ""),
    mistake("random", "word < params.a", "word <= params.a"),
    mistake("random", " || params.b == 1u", ""),
    mistake("random", "max(word, 1u)", "word"),
    mistake("random", "exponent += 1.0", "exponent += 2.0"),
    mistake("random", "float > 1.41421356", "float > 2.5"),
    mistake("random", "sum * x + 1.4249322787e-1", "sum * x - 1.4249322787e-1"),
    mistake("random", "0.5 * x * x", "0.25 * x * x"),
    mistake("random", "2.12194440e-4", "2.12194440e-3"),
    mistake("random", "word + 0x20000000u", "word"),
    mistake("random", "(quarter & 1u) == 1u", "(quarter & 1u) == 0u"),
    mistake("random", "(quarter & 2u) == 2u", "false"),
    mistake("random", "select(turned, -turned,", "select(-turned, turned,"),
    mistake("random", "vec2<f32>(-sine, cosine)", "vec2<f32>(sine, cosine)"),
    mistake("random", "sqrt(2.0 *", "sqrt(4.0 *"),
    mistake("random", "normal(words.z, words.w)", "normal(words.w, words.z)"),
    mistake("random", "in_range(words.z, words.w)", "in_range(words.x, words.w)"),
    mistake("random", "select(0u, 1u, low < i)", "0u"),
    mistake("random", "params.block_low + i", "params.block_low"),
    mistake("random", "params.stream_low, params.stream_high", "params.stream_high, params.stream_low"),
    mistake("random", "vec2<u32>(params.seed_low, params.seed_high)", "vec2<u32>(params.seed_low)"),
    mistake("random", "select(4u, 2u, KIND == 2u)", "4u"),
    mistake("random", "k < count", "k + 1u < count"),
    mistake("random", "at < params.n", "at <= params.n"),
    mistake("random", "k - params.skip", "k"),
    mistake("random", "numbers[k]", "numbers[0]"),
    mistake("random", "round < 10u", "round < 9u"),
    mistake("random", "0xD2511F53u * words.x", "0xD2511F53u * words.z"),
    mistake("random", "second ^ words.y", "first ^ words.y"),
    mistake("random", "(middle >> 16u)", "0u"),
    mistake("random", "+ (first & 0xFFFFu)", "+ first"),
];

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, _, text| {
        is_right::<u32>(ctx, text, 0, Words, [0, 0], 0.0)
            && is_right(ctx, text, 1, Uniform { low: 0.0, high: 1.0 }, [0, 1_f32.to_bits()], 0.0)
            && is_right(ctx, text, 2, Whole { low: 5_u32, high: 0x9000_0005 }, [5, 0x9000_0000], 0.0)
            && is_right::<u32>(ctx, text, 3, Choice { probability: 0.5 }, [1 << 31, 0], 0.0)
            && is_right::<u32>(ctx, text, 3, Choice { probability: 1.0 }, [u32::MAX, 1], 0.0)
            && is_right(ctx, text, 4, Normal { mean: 0.0, deviation: 1.0 }, [0, 1_f32.to_bits()], 4e-6)
            && is_right(ctx, text, 5, Exponential { rate: 1.0 }, [0, 1_f32.to_bits()], 4e-6)
            && edges(ctx, text)
    })
}

/// Compares 1,001 numbers from position 3 of a block on. The low word of the block number overflows, and the array ends
/// after the numbers.
fn is_right<T: Reducible>(
    ctx: &Context,
    text: &str,
    kind: u32,
    distribution: impl Distribution<T>,
    [a, b]: [u32; 2],
    bound: f64,
) -> bool {
    let count: u32 = if kind == 2 { 2 } else { 4 };
    let first = 0x7_FFFF_FFC0_u64;
    let skip = u64::from(count - 1);
    let generator = Philox::seed(7 << 32 | 9).stream(11 << 32 | 13).position(first * u64::from(count) + skip);
    let mut expected = vec![T::zeroed(); 1001];
    host::fill_random(&mut expected, generator, distribution).unwrap();
    let mut out = ctx.zeros::<u32, 1>([1001]).unwrap();
    let args = args![
        n = 1001_u32,
        skip = count - 1,
        block_low = 0xFFFF_FFC0_u32,
        block_high = 7_u32,
        stream_low = 13_u32,
        stream_high = 11_u32,
        seed_low = 9_u32,
        seed_high = 7_u32,
        a = a,
        b = b,
        out = &mut out
    ];
    let kernel = ctx.kernel_from_with(text, "random", &[("KIND", f64::from(kind))]).unwrap();
    let queue = ctx.queue("q");
    queue.launch_dyn(&kernel, Grid::threads([600]), args).unwrap();
    let found = queue.read(&out).wait().unwrap();
    let expected: &[u32] = bytemuck::cast_slice(&expected);
    let float = |word: u32| f64::from(f32::from_bits(word));
    let near = |found: u32, expected: u32| (float(found) - float(expected)).abs() <= bound;
    found.iter().zip(expected).all(|(&found, &expected)| found == expected || near(found, expected))
}

/// Checks the functions of the kernel at the limits of their arguments, which do not occur in a random sequence.
fn edges(ctx: &Context, text: &str) -> bool {
    let end = text.find("@compute").unwrap();
    let kernel = "@compute @workgroup_size(1) fn edges() {
        out[0] = bitcast<u32>(minus_log(0u));
        out[1] = bitcast<u32>(minus_log(0xFFFFFFFFu));
        out[2] = choice(params.a);
        out[3] = in_range(0xFFFFFFFFu, 0xFFFFFFFFu);
    }\n";
    let line_end = text[end..].find("fn random(").unwrap() + end;
    let body_end = text[line_end..].find("\n}\n").unwrap() + line_end + 3;
    let text = format!("{}{kernel}{}", &text[..end], &text[body_end..]);
    let kernel = ctx.kernel_from_with(&text, "edges", &[]).unwrap();
    let queue = ctx.queue("q");
    let found = |b: u32| {
        let (mut out, zero) = (ctx.zeros::<u32, 1>([4]).unwrap(), 0_u32);
        let args = args![
            n = zero,
            skip = zero,
            block_low = zero,
            block_high = zero,
            stream_low = zero,
            stream_high = zero,
            seed_low = zero,
            seed_high = zero,
            a = 100_u32,
            b = b,
            out = &mut out
        ];
        queue.launch_dyn(&kernel, Grid::groups([1]), args).unwrap();
        queue.read(&out).wait().unwrap()
    };
    let half = found(0x8000_0000);
    let one = found(1);
    let log = |word: u32| f64::from(f32::from_bits(word));
    (log(half[0]) - 32.0 * std::f64::consts::LN_2).abs() < 1e-5
        && (log(half[1]) - 2_f64.powi(-24)).abs() < 1e-9
        && [half[2], one[2]] == [0, 1]
        && half[3] == 100 + 0x7FFF_FFFF
}
