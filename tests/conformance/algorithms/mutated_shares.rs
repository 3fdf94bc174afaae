//! A03, A04: a mistake in the kernels of searches, counts and inner products is detected.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use fencepost::{DynKernel, ShaderSource};
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![case("a03_each_mistake_in_the_kernels_of_searches_counts_and_products_is_caught", caught)]
}

pub(super) const MISTAKES: &[Mistake] = &[
    mistake("arg_extreme", "workgroupBarrier();", ""),
    mistake("arg_extreme", "if bits == SIGN { return SIGN; }", ""),
    mistake("arg_extreme", "return bits ^ SIGN;", "return bits;"),
    mistake("arg_extreme", "select(SIGN, LAST, (bits & SIGN) != 0u)", "SIGN"),
    mistake("arg_extreme", "TYPE == 2u && (bits & ~SIGN) > INFINITY", "false"),
    mistake("arg_extreme", "(bits & ~SIGN) > INFINITY", "(bits & ~SIGN) >= INFINITY"),
    mistake("arg_extreme", "select(0u, LAST, LARGEST == 1u)", "0u"),
    mistake("arg_extreme", "place < other_place", "place > other_place"),
    mistake("arg_extreme", "if GATHER == 1u { place = min(places[i], arrayLength(&x) - 1u); }", ""),
    mistake("arg_extreme", "i < end; i", "i <= end; i"),
    mistake("arg_extreme", "(group.x + 1u) * params.share", "(group.x + 2u) * params.share"),
    mistake("arg_extreme", "lane < width &&", "lane <= width &&"),
    mistake("arg_extreme", "width > 0u", "width > 1u"),
    mistake("arg_extreme", "best[lane] = best[lane + width]", "best[lane] = best[width]"),
    mistake("nonzero", "workgroupBarrier();", ""),
    mistake("nonzero", "return a | b;", "return a & b;"),
    mistake("nonzero", "return a & b;", "return a + b;"),
    mistake("nonzero", "select(0u, 1u, OPERATION == 2u)", "0u"),
    mistake("nonzero", "(x[i] & BITS) != 0u", "x[i] != 0u"),
    mistake("nonzero", "select(0u, 1u, (x[i] & BITS) != 0u)", "x[i] & BITS"),
    mistake("nonzero", "i < end; i", "i + 1u < end; i"),
    mistake("nonzero", "min(params.n, (group.x + 1u) * params.share)", "(group.x + 1u) * params.share"),
    mistake("nonzero", "lane < width", "lane + 1u < width"),
    mistake("nonzero", "out[group.x] = parts[0]", "out[0] = parts[0]"),
    mistake("inner_product", "workgroupBarrier();", ""),
    mistake("inner_product", "T(sqrt(f32(total)))", "total"),
    mistake("inner_product", "i + 3u * WORKGROUP < end", "i + 2u * WORKGROUP < end"),
    mistake("inner_product", "i += 4u * WORKGROUP", "i += 3u * WORKGROUP"),
    mistake("inner_product", "element(i + WORKGROUP)", "element(i)"),
    mistake("inner_product", "element(i + 3u * WORKGROUP)", "element(i + 2u * WORKGROUP)"),
    mistake("inner_product", "return x[i] * y[i]", "return x[i] * x[i]"),
    mistake("inner_product", "return x[i] * y[i]", "return x[i] * y[i + 1u]"),
    mistake("inner_product", "combined(c, d)", "c"),
    mistake("inner_product", "return a + b;", "return a - b;"),
    mistake("inner_product", "return S(0);", "return S(1);"),
    mistake("inner_product", "i < end; i += WORKGROUP", "i <= end; i += WORKGROUP"),
    mistake("inner_product", "lane < width", "lane <= width"),
    mistake(
        "inner_product",
        "reduce_share(group.x * params.share",
        "reduce_share(group.x * params.share + 1u",
    ),
];

/// Number of invocations of a workgroup: fewer than usual, because the checks take time for each invocation.
const WORKGROUP: (&str, f64) = ("WORKGROUP", 64.0);
/// Number of elements of a share: not a multiple of the workgroup.
const SHARE: usize = 275;

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, shader, text| match shader {
        "arg_extreme" => finds(ctx, text),
        "nonzero" => counts(ctx, text),
        _ => multiplies(ctx, text),
    });
}

/// Returns the results of the shares of a list.
fn of_shares<const N: usize>(
    ctx: &Context,
    kernel: &DynKernel,
    len: usize,
    inputs: [(&'static str, &DeviceArray<u32>); N],
) -> Vec<u32> {
    let queue = ctx.queue("q");
    let shares = len.div_ceil(SHARE);
    let mut out = queue.zeros::<u32, 1>([shares]).unwrap();
    let mut args = args![n = len as u32, share = SHARE as u32].to_vec();
    args.extend(
        inputs.iter().map(|(name, x)| (Some((*name).into()), fencepost::interface::DynArg::Read(*x))),
    );
    args.extend(args![out = &mut out]);
    queue.launch_dyn(kernel, Grid::groups([shares]), args).unwrap();
    queue.read(&out).wait().unwrap()
}

/// Number of elements of a list of two shares.
const LEN: usize = SHARE + 65;

fn finds(ctx: &Context, text: &str) -> bool {
    let bits = |i: usize| match i % 5 {
        0 => 0x8000_0000,
        1 => 0,
        _ => (i as u32 / 7 + 1).wrapping_mul(0x9E37_79B1),
    };
    let finite = |bits: u32| if bits & 0x7F80_0000 == 0x7F80_0000 { bits ^ 0x4000_0000 } else { bits };
    let lists = [
        (0..LEN).map(|i| if i == 8 { 0x7F80_0000 } else { finite(bits(i)) }).collect::<Vec<u32>>(),
        (0..LEN).map(|i| if i % 100 == 99 { 0x7FC0_0000 } else { finite(bits(i)) }).collect(),
        (0..LEN).map(|i| if i % 3 == 0 { 0x8000_0000 } else { 0 }).collect(),
    ];
    // Each type; for one of them also with given indices.
    lists
        .iter()
        .all(|list| [0, 1, 2, 3, 4, 5, 8, 11].into_iter().all(|which| finds_in(ctx, text, list, which)))
}

/// Compares the indices found in a list. `which` selects the type, minimum or maximum, and the order of the given
/// indices.
fn finds_in(ctx: &Context, text: &str, list: &[u32], which: usize) -> bool {
    let kind = which % 3;
    let largest = which / 3 % 2;
    let gather = which / 6;
    let overrides =
        [("TYPE", kind as f64), ("LARGEST", largest as f64), ("GATHER", gather as f64), WORKGROUP];
    let kernel = ctx.kernel_from_with(text, "arg_extreme", &overrides).unwrap();
    // The given indices are descending.
    let places: Vec<u32> = (0..list.len() as u32).rev().collect();
    let [x, at] = [list, &places].map(|list| ctx.array(list).unwrap());
    let found = of_shares(ctx, &kernel, list.len(), [("x", &x), ("places", &at)]);
    let ordered: Vec<u32> = if gather == 1 { list.iter().rev().copied().collect() } else { list.to_vec() };
    ordered.chunks(SHARE).zip(found).enumerate().all(|(share, (part, found))| {
        // With descending indices, the lowest index of a share belongs to its last element.
        let part: Vec<u32> = if gather == 1 { part.iter().rev().copied().collect() } else { part.to_vec() };
        let first = if gather == 1 { list.len() - share * SHARE - part.len() } else { share * SHARE };
        let place = match (kind, largest) {
            (0, 0) => host::argmin(&part),
            (0, _) => host::argmax(&part),
            (1, 0) => host::argmin::<i32>(bytemuck::cast_slice(&part)),
            (1, _) => host::argmax::<i32>(bytemuck::cast_slice(&part)),
            (_, 0) => host::argmin::<f32>(bytemuck::cast_slice(&part)),
            _ => host::argmax::<f32>(bytemuck::cast_slice(&part)),
        };
        found as usize == first + place.unwrap()
    })
}

fn counts(ctx: &Context, text: &str) -> bool {
    let lists = [
        (0..LEN).map(|i| if i % 3 == 0 { 0 } else { i as u32 }).collect::<Vec<u32>>(),
        vec![2; LEN],
        (0..LEN).map(|i| if i + 1 == LEN { 0 } else { 3 }).collect(),
        (0..LEN).map(|i| if i == 200 { 1 } else { 0x8000_0000 }).collect(),
    ];
    lists.iter().all(|list| (0..6).all(|which| counts_in(ctx, text, list, which)))
}

/// Compares the counts in a list: `which` selects the operation, and integers or floats.
fn counts_in(ctx: &Context, text: &str, list: &[u32], which: u32) -> bool {
    let operation = which % 3;
    let bits = if which / 3 == 1 { u32::MAX >> 1 } else { u32::MAX };
    let overrides = [("OPERATION", f64::from(operation)), ("BITS", f64::from(bits)), WORKGROUP];
    let kernel = ctx.kernel_from_with(text, "nonzero", &overrides).unwrap();
    let found = of_shares(ctx, &kernel, list.len(), [("x", &ctx.array(list).unwrap())]);
    list.chunks(SHARE).zip(found).all(|(part, found)| {
        let part: Vec<u32> = part.iter().map(|x| x & bits).collect();
        let expected = match operation {
            0 => host::count_nonzero(&part) as u32,
            1 => u32::from(host::any(&part)),
            _ => u32::from(host::all(&part)),
        };
        found == expected
    })
}

fn multiplies(ctx: &Context, text: &str) -> bool {
    let kernel = |root: f64| {
        let source = ShaderSource::text("inner_product.wgsl", text.to_owned());
        let source = source.with_type("T", u32::DTYPE).unwrap();
        ctx.kernel_from_with(&source, "inner_product", &[("ROOT", root), WORKGROUP]).unwrap()
    };
    [1, 257, 750].into_iter().all(|len: u32| {
        let x: Vec<u32> = (1..=len).map(|i| i.wrapping_mul(0x9E37_79B1)).collect();
        let y: Vec<u32> = x.iter().map(|x| x ^ 0x5555).collect();
        let arrays = [&x, &y].map(|list| ctx.array(list).unwrap());
        let inputs = [("x", &arrays[0]), ("y", &arrays[1])];
        let found = of_shares(ctx, &kernel(0.0), len as usize, inputs);
        let parts = x.chunks(SHARE).zip(y.chunks(SHARE));
        parts.zip(found).all(|((x, y), found)| found == host::dot(x, y))
    }) && {
        let x = ctx.array(&[3_u32, 4]).unwrap();
        of_shares(ctx, &kernel(1.0), 2, [("x", &x), ("y", &x)]) == [5]
    }
}
