//! A02: a mistake in a built-in kernel is detected by the comparison with the host or by the CPU's checks.

use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use fencepost::{AdapterChoice, CheckOptions, ShaderSource};
use fencepost_oracles::{self as host, Nan};
use std::collections::BTreeSet;

pub fn cases() -> Vec<Case> {
    vec![case("a02_each_mistake_in_the_kernels_of_reductions_is_caught", caught)]
}

/// A mistake in a built-in shader: the first occurrence of `find` becomes `with`.
pub(super) struct Mistake {
    pub(super) shader: &'static str,
    pub(super) find: &'static str,
    pub(super) with: &'static str,
}

pub(super) const fn mistake(shader: &'static str, find: &'static str, with: &'static str) -> Mistake {
    Mistake { shader, find, with }
}

pub(super) const MISTAKES: &[Mistake] = &[
    mistake("reduce", "workgroupBarrier();", ""),
    mistake("reduce", "i + 3u * WORKGROUP < end", "i + 2u * WORKGROUP < end"),
    mistake("reduce", "i + 3u * WORKGROUP < end", "i + 3u * WORKGROUP <= end"),
    mistake("reduce", "i += 4u * WORKGROUP", "i += 3u * WORKGROUP"),
    mistake("reduce", "element(i + 2u * WORKGROUP)", "element(i + WORKGROUP)"),
    mistake("reduce", "return x[i];", "return x[i + 1u];"),
    mistake("reduce", "block += PER * WORKGROUP", "block += WORKGROUP"),
    mistake("reduce", "block += PER * WORKGROUP", "block += 2u * PER * WORKGROUP"),
    mistake("reduce", "block + PER * WORKGROUP <= end", "block < end"),
    mistake(
        "reduce",
        "reduce_block(block + lane, end)",
        "reduce_block(block + lane, block + PER * WORKGROUP)",
    ),
    mistake("reduce", "step < first + PER * WORKGROUP", "step + 4u * WORKGROUP < first + PER * WORKGROUP"),
    mistake("reduce", "step += 4u * WORKGROUP", "step += 3u * WORKGROUP"),
    mistake("reduce", "element(at + WORKGROUP)", "element(at)"),
    mistake("reduce", "element(at + 3u * WORKGROUP)", "element(at + 4u * WORKGROUP)"),
    mistake("reduce", "combined(all, reduce_block", "max(all, reduce_block"),
    mistake("reduce", "; i < end; i += WORKGROUP", "; i <= end; i += WORKGROUP"),
    mistake("reduce", "; i < end; i += WORKGROUP", "; i + 1u < end; i += WORKGROUP"),
    mistake("reduce", "(group.x + 1u) * params.share", "group.x * params.share"),
    mistake("reduce", "min(params.n, (group.x + 1u) * params.share)", "params.n"),
    mistake("reduce", "min(params.n, (group.x + 1u) * params.share)", "(group.x + 1u) * params.share"),
    mistake("reduce", "var b = identity();", "var b = S(1);"),
    mistake("reduce", "combined(c, d)", "c"),
    mistake("reduce", "WORKGROUP / 2u; width > 0u", "WORKGROUP / 4u; width > 0u"),
    mistake("reduce", "width > 0u", "width > 1u"),
    mistake("reduce", "lane < width", "lane <= width"),
    mistake("reduce", "parts[lane + width]", "parts[lane + width - 1u]"),
    mistake("reduce", "if lane == 0u", "if lane == 1u"),
    mistake("reduce", "out[group.x] = finished", "out[0] = finished"),
    mistake("extreme", "workgroupBarrier();", ""),
    mistake("extreme", "select(LAST, FIRST, LARGEST == 1u)", "select(FIRST, LAST, LARGEST == 1u)"),
    mistake(
        "extreme",
        "select(neutral(), ~neutral(), KEEP_NAN == 1u)",
        "select(~neutral(), neutral(), KEEP_NAN == 1u)",
    ),
    mistake("extreme", "> INFINITY", ">= INFINITY"),
    mistake("extreme", "bits ^ select(SIGN, LAST, (bits & SIGN) != 0u)", "bits ^ SIGN"),
    mistake(
        "extreme",
        "key ^ select(LAST, SIGN, (key & SIGN) != 0u)",
        "key ^ select(SIGN, LAST, (key & SIGN) != 0u)",
    ),
    mistake("extreme", "return max(a, b)", "return min(a, b)"),
    mistake("extreme", "; i < end; i += WORKGROUP", "; i <= end; i += WORKGROUP"),
    mistake("extreme", "; i < end; i += WORKGROUP", "; i < end; i += 2u * WORKGROUP"),
    mistake("extreme", "(group.x + 1u) * params.share", "(group.x + 2u) * params.share"),
    mistake("extreme", "lane < width", "lane < width - 1u"),
    mistake("extreme", "parts[lane + width]", "parts[width]"),
    mistake("extreme", "out[group.x] = bits_of(parts[0])", "out[group.x] = parts[0]"),
];

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, is_right);
}

/// Checks that each shader is right without a mistake, and wrong with each mistake.
pub(super) fn all_caught(s: &Subject, mistakes: &[Mistake], is_right: impl Fn(&Context, &str, &str) -> bool) {
    let check = Some(CheckOptions::default());
    let options = ContextOptions::default().adapter(AdapterChoice::Cpu).check(check);
    let ctx = Context::with_options(options).wait().unwrap();
    s.watch(&ctx);
    let right = |shader: &str, text: &str| {
        let right = is_right(&ctx, shader, text);
        ctx.diagnostics().take_findings().is_empty() && right
    };
    // A mistake may be in a snippet of the shader.
    let text = |shader: &str| ShaderSource::builtin(&format!("{shader}.wgsl")).unwrap().whole_text().unwrap();
    let shaders: BTreeSet<&str> = mistakes.iter().map(|mistake| mistake.shader).collect();
    for shader in shaders {
        assert!(right(shader, &text(shader)), "{shader} without a mistake");
    }
    for Mistake { shader, find, with } in mistakes {
        assert!(text(shader).contains(find), "{shader} has no `{find}`");
        let text = text(shader).replacen(find, with, 1);
        assert!(!right(shader, &text), "{shader} with `{with}` in place of `{find}`");
    }
}

/// Returns `true` if the results of a shader are right.
fn is_right(ctx: &Context, shader: &str, text: &str) -> bool {
    let lists = [1, 255, 257, 1024, 1025, 3000].into_iter().map(|len: u32| {
        // All bits occur, and zeros and large numbers are at the borders of shares.
        (0..len)
            .map(|i| if i % 256 == 255 { 0 } else { (i + 1).wrapping_mul(0x9E37_79B1) })
            .collect::<Vec<_>>()
    });
    lists.into_iter().all(|list| match shader {
        "reduce" => sums(ctx, text, &list) == list.chunks(SHARE).map(host::sum).collect::<Vec<_>>(),
        _ => [false, true].into_iter().all(|largest| are_extremes(ctx, text, &list, largest)),
    })
}

/// Number of elements of a share: more than a block, and not a multiple of the workgroup.
const SHARE: usize = 1100;

fn sums(ctx: &Context, text: &str, list: &[u32]) -> Vec<u32> {
    let source = ShaderSource::text("reduce.wgsl", text.to_owned()).with_type("T", u32::DTYPE).unwrap();
    let kernel = ctx.kernel_from_with(&source, "reduce", &[("WORKGROUP", 16.0)]).unwrap();
    let queue = ctx.queue("q");
    let shares = list.len().div_ceil(SHARE);
    let (x, mut out) = (queue.array(list).unwrap(), queue.zeros::<u32, 1>([shares]).unwrap());
    let n = list.len() as u32;
    let share = SHARE as u32;
    let identity = 0_u32;
    queue
        .launch_dyn(
            &kernel,
            Grid::groups([shares]),
            args![n = n, share = share, identity = identity, divisor = 1_u32, x = &x, out = &mut out],
        )
        .unwrap();
    queue.read(&out).wait().unwrap()
}

/// Returns `true` if the smallest or the largest numbers of all shares are right, with and without NaNs.
fn are_extremes(ctx: &Context, text: &str, list: &[u32], largest: bool) -> bool {
    let queue = ctx.queue("q");
    let shares = list.len().div_ceil(SHARE);
    [Nan::Propagate, Nan::Ignore].into_iter().all(|nan| {
        [0x7F80_0000_u32, 0x7FC0_0000, 0x3F80_0000].into_iter().all(|last| {
            // No other number is a NaN or infinite.
            let finite = list
                .iter()
                .map(|bits| if bits & 0x7F80_0000 == 0x7F80_0000 { bits ^ 0x4000_0000 } else { *bits });
            let mut numbers: Vec<u32> = finite.collect();
            *numbers.last_mut().unwrap() = last;
            let overrides = [
                ("LARGEST", f64::from(u8::from(largest))),
                ("KEEP_NAN", f64::from(u8::from(nan == Nan::Propagate))),
            ];
            let kernel = ctx.kernel_from_with(text, "extreme", &overrides).unwrap();
            let (x, mut out) = (queue.array(&numbers).unwrap(), queue.zeros::<u32, 1>([shares]).unwrap());
            let n = numbers.len() as u32;
            let share = SHARE as u32;
            queue
                .launch_dyn(
                    &kernel,
                    Grid::groups([shares]),
                    args![n = n, share = share, x = &x, out = &mut out],
                )
                .unwrap();
            let found = queue.read(&out).wait().unwrap();
            let of_host = if largest { host::max } else { host::min };
            numbers.chunks(SHARE).zip(found).all(|(share, found)| {
                let expected = of_host(bytemuck::cast_slice::<u32, f32>(share), nan).unwrap();
                if expected.is_nan() { f32::from_bits(found).is_nan() } else { found == expected.to_bits() }
            })
        })
    })
}
