//! A06: a mistake in the kernels of elementwise verbs is detected.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::ShaderSource;
use fencepost::prelude::*;
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![case("a06_each_mistake_in_the_kernels_of_elementwise_verbs_is_caught", caught)]
}

pub(super) const MISTAKES: &[Mistake] = &[
    mistake("convert", "if i >= params.n { return; }", ""),
    mistake("convert", "if magnitude == 0u { return 0u; }", ""),
    mistake("convert", "lost > 0x80u ||", ""),
    mistake("convert", "(kept & 1u) == 1u", "true"),
    mistake("convert", "(kept & 1u) == 1u", "false"),
    mistake("convert", "158u - zeros", "157u - zeros"),
    mistake("convert", "if size > INFINITY { return 0u; }", ""),
    mistake("convert", "if exponent < 127u { return 0u; }", ""),
    mistake("convert", "if exponent > 158u { return most; }", ""),
    mistake("convert", "if exponent < 150u", "if exponent < 149u"),
    mistake("convert", "min(digits << (exponent - 150u), most)", "digits << (exponent - 150u)"),
    mistake("convert", "~integer_of(bits, SIGN) + 1u", "integer_of(bits, SIGN)"),
    mistake("convert", "integer_of(bits, ~SIGN)", "integer_of(bits, SIGN)"),
    mistake("convert", "if negative { return 0u; }", ""),
    mistake("convert", "TO == 2u && negative", "TO == 2u && !negative"),
    mistake("convert", "if FROM != 2u && TO == 2u { return float_of(bits); }", ""),
    mistake("convert", "converted(x[i])", "converted(x[i + 1u])"),
    mistake("limit", "if i >= params.n { return; }", ""),
    mistake("limit", "if TYPE == 1u { return bits ^ SIGN; }", ""),
    mistake("limit", "if bits == SIGN { return SIGN; }", ""),
    mistake("limit", "select(SIGN, 0xFFFFFFFFu, (bits & SIGN) != 0u)", "SIGN"),
    mistake("limit", "!is_nan(a) && ", ""),
    mistake("limit", "!is_nan(b) && ", ""),
    mistake("limit", "> INFINITY", ">= INFINITY"),
    mistake("limit", "if is_less(params.high, bits) { return params.high; }", ""),
    mistake("limit", "if is_less(bits, params.low) { return params.low; }", ""),
    mistake("limit", "limited(x[i])", "limited(x[i + 1u])"),
    mistake("choose", "if i >= params.n { return; }", ""),
    mistake("choose", "mask[i] != 0u", "mask[i] == 1u"),
    mistake("choose", "out[i] = y[i]", "out[i] = x[i]"),
    mistake("choose", "out[i] = x[i];", "out[i] = x[i + 1u];"),
    mistake("iota", "i >= arrayLength(&out)", "i > arrayLength(&out)"),
    mistake("iota", "out[i] = params", "out[i + 1u] = params"),
    mistake("iota", "T(i) * params.step", "T(i)"),
    mistake(
        "saxpy",
        "i >= min(arrayLength(&x), arrayLength(&y))",
        "i > min(arrayLength(&x), arrayLength(&y))",
    ),
    mistake("saxpy", "min(arrayLength(&x), arrayLength(&y))", "arrayLength(&y)"),
    mistake("saxpy", "params.a * x[i]", "params.a * x[i + 1u]"),
    mistake("saxpy", "params.a * x[i]", "x[i]"),
    mistake("saxpy", "+ y[i];", ";"),
];

/// Number of elements: not a multiple of the workgroup.
const LEN: usize = 100;

fn caught(s: &Subject) {
    let numbers = [
        0.0,
        -0.0,
        0.75,
        -0.75,
        1.0,
        -1.5,
        8_388_607.5,
        12_345_678.0,
        -33_554_436.0,
        2_147_483_648.0,
        -3e9,
        3e9,
        5e9,
        1e20,
        -1e20,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        1e-40,
    ];
    let mut words: Vec<u32> = numbers.map(f32::to_bits).to_vec();
    words.extend([
        1,
        2,
        0x0100_0001,
        0x0100_0003,
        0x7FFF_FFFF,
        0x7FFF_FFC0,
        0xFFFF_FF81,
        0xFFFF_FFFF,
        0x8000_0000,
    ]);
    words.extend((words.len() as u32..LEN as u32).map(|i| i.wrapping_mul(0x9E37_79B1)));
    all_caught(s, MISTAKES, |ctx, shader, text| match shader {
        "convert" => (0..9).all(|which| converts(ctx, text, &words, which)),
        "limit" => (0..3).all(|kind| limits(ctx, text, &words, kind)),
        "iota" => counts(ctx, text),
        "saxpy" => adds(ctx, text, &words),
        _ => chooses(ctx, text, &words),
    });
}

/// Launches a kernel with more invocations than elements; one guard element follows them.
fn launched<'a>(
    ctx: &Context,
    text: &str,
    entry: &str,
    overrides: &[(&str, f64)],
    args: impl FnOnce(&'a mut DeviceArray<u32>) -> Vec<fencepost::interface::NamedArg<'a>>,
    out: &'a mut DeviceArray<u32>,
) -> Vec<u32> {
    let kernel = ctx.kernel_from_with(text, entry, overrides).unwrap();
    let queue = ctx.queue("q");
    let result = out.clone();
    queue.launch_dyn(&kernel, Grid::threads([LEN + 28]), args(out)).unwrap();
    queue.read(&result).wait().unwrap()
}

fn converts(ctx: &Context, text: &str, words: &[u32], which: u32) -> bool {
    let from = which / 3;
    let to = which % 3;
    let x = ctx.array(&[words, &[7; 28]].concat()).unwrap();
    let mut out = ctx.zeros([128]).unwrap();
    let overrides = [("FROM", f64::from(from)), ("TO", f64::from(to))];
    let args = |out| args![n = LEN as u32, x = &x, out = out].to_vec();
    let found = launched(ctx, text, "convert", &overrides, args, &mut out);
    let convert = |word: u32| {
        let float = f32::from_bits(word);
        let signed = word as i32;
        match (from, to) {
            (2, 0) => host::cast(float),
            (2, 1) => host::cast::<f32, i32>(float) as u32,
            (1, 2) => host::cast::<i32, f32>(signed).to_bits(),
            (0, 2) => host::cast::<u32, f32>(word).to_bits(),
            _ => word,
        }
    };
    let expected = words.iter().map(|&word| convert(word)).chain([0; 28]);
    found == expected.collect::<Vec<_>>()
}

fn limits(ctx: &Context, text: &str, words: &[u32], kind: u32) -> bool {
    let pairs = match kind {
        0 => [[7, 0x9000_0000]; 4],
        1 => [[-7_i32 as u32, 0x7FFF]; 4],
        _ => [[-1.5, 1e9], [0.0, f32::INFINITY], [f32::NAN, -0.0], [-0.0, f32::NAN]]
            .map(|pair| pair.map(f32::to_bits)),
    };
    pairs.into_iter().all(|[low, high]| {
        let x = ctx.array(&[words, &[7; 28]].concat()).unwrap();
        let mut out = ctx.zeros([128]).unwrap();
        let args = |out| args![n = LEN as u32, low = low, high = high, x = &x, out = out].to_vec();
        let found = launched(ctx, text, "limit", &[("TYPE", f64::from(kind))], args, &mut out);
        let limit = |word: u32| match kind {
            0 => host::clamp(word, low, high),
            1 => host::clamp(word as i32, low as i32, high as i32) as u32,
            _ => host::clamp(f32::from_bits(word), f32::from_bits(low), f32::from_bits(high)).to_bits(),
        };
        let expected = words.iter().map(|&word| limit(word)).chain([0; 28]);
        found == expected.collect::<Vec<_>>()
    })
}

fn chooses(ctx: &Context, text: &str, words: &[u32]) -> bool {
    let x = ctx.array(&[words, &[7; 28]].concat()).unwrap();
    let y = ctx.full([128], 9_u32).unwrap();
    let mut out = ctx.zeros([128]).unwrap();
    let mask: Vec<u32> = (0..128).map(|i| i % 3).collect();
    let mask_array = ctx.array(&mask).unwrap();
    let args = |out| args![n = LEN as u32, mask = &mask_array, x = &x, y = &y, out = out].to_vec();
    let found = launched(ctx, text, "choose", &[], args, &mut out);
    let expected = (0..LEN).map(|i| if mask[i] == 0 { 9 } else { words[i] }).chain([0; 28]);
    found == expected.collect::<Vec<_>>()
}

/// Fills the first elements of an array.
fn counts(ctx: &Context, text: &str) -> bool {
    let array = ctx.zeros::<u32, 1>([128]).unwrap();
    let mut out = array.slice(0..LEN).unwrap();
    let kernel = ctx.kernel_from_with(text, "iota", &[]).unwrap();
    let queue = ctx.queue("q");
    let args = args![start = 7_u32, step = 5_u32, out = &mut out];
    queue.launch_dyn(&kernel, Grid::threads([128]), args).unwrap();
    let expected = (0..LEN as u32).map(|i| 7 + 5 * i).chain([0; 28]);
    queue.read(&array).wait().unwrap() == expected.collect::<Vec<_>>()
}

/// Adds arrays of different lengths; either one may be shorter.
fn adds(ctx: &Context, text: &str, words: &[u32]) -> bool {
    let source = ShaderSource::text("saxpy.wgsl", text.to_owned()).with_type("T", u32::DTYPE).unwrap();
    let kernel = ctx.kernel_from_with(&source, "saxpy", &[]).unwrap();
    [(LEN, 90), (90, LEN)].into_iter().all(|(of_x, of_y)| {
        let x = ctx.array(&words[..of_x]).unwrap();
        let mut y = ctx.array(&words[LEN - of_y..]).unwrap();
        let queue = ctx.queue("q");
        let result = y.clone();
        queue.launch_dyn(&kernel, Grid::threads([128]), args![a = 3_u32, x = &x, y = &mut y]).unwrap();
        let mut expected = words[LEN - of_y..].to_vec();
        expected.iter_mut().zip(&words[..90]).for_each(|(y, x)| *y = x.wrapping_mul(3).wrapping_add(*y));
        queue.read(&result).wait().unwrap() == expected
    })
}
