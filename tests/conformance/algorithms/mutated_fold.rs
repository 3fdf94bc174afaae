//! A19: a mistake in the kernels that keep the order of the elements, or that mark segments, is detected.

use super::mutated::{Mistake, all_caught, mistake};
use super::mutated_scan::staged;
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use fencepost::{DynKernel, ShaderSource};

pub fn cases() -> Vec<Case> {
    vec![case("a19_each_mistake_in_the_kernels_that_keep_the_order_is_caught", caught)]
}

pub(super) const MISTAKES: &[Mistake] = &[
    mistake("fold", "operation(a, b)", "operation(b, a)"),
    mistake("fold", "of_bits(x[i])", "of_bits(x[i + 1u])"),
    mistake("fold", "group.y * groups.x + group.x", "group.x"),
    mistake("fold", "g / params.in_row * params.n", "g / params.in_row"),
    mistake("fold", "g % params.in_row * params.share", "g * params.share"),
    mistake("fold", "min(row + params.n, start + params.share)", "start + params.share"),
    mistake("fold", "min(row + params.n, start + params.share)", "row + params.n"),
    mistake("fold", ", g < params.shares);", ", true);"),
    mistake("fold", "lane == 0u && g < params.shares", "lane == 0u"),
    mistake("fold", "{ out[g] = to_bits(all); }", "{ out[0] = to_bits(all); }"),
    mistake("fold", "block += BLOCK", "block += 2u * BLOCK"),
    mistake("fold", "min(last, block + BLOCK)", "block + BLOCK"),
    mistake("fold", "part = combined(part, load(i));", "part = combined(load(i), part);"),
    mistake("fold", "        all = combined(all, part);", "        all = combined(part, all);"),
    mistake("fold", "min(end, first + (lane + 1u) * each)", "first + (lane + 1u) * each"),
    mistake("fold", "tile += WORKGROUP * STAGED", "tile += WORKGROUP"),
    mistake("fold", "min(end - tile, WORKGROUP * STAGED)", "WORKGROUP * STAGED"),
    mistake("fold", "combined(all, fold_lanes(", "combined(identity(), fold_lanes("),
    mistake("fold", "lane % (2u * distance) == 0u", "lane % distance == 0u"),
    mistake(
        "fold",
        "parts[lane] = combined(parts[lane], parts[lane + distance])",
        "parts[lane] = parts[lane]",
    ),
    mistake("fold", "    workgroupBarrier();\n    let start = min(count", "    let start = min(count"),
    mistake("fold", "        workgroupBarrier();\n        if lane %", "        if lane %"),
    mistake("fold", "    workgroupBarrier();\n    return parts[0];", "    return parts[0];"),
    mistake("fold_columns", "operation(all, of_bits(x[i]))", "operation(of_bits(x[i]), all)"),
    mistake("fold_columns", "of_bits(x[i])", "of_bits(x[i + 1u])"),
    mistake("fold_columns", "t >= params.count", "t > params.count"),
    mistake("fold_columns", "column % params.in_column * params.share", "column * params.share"),
    mistake("fold_columns", "column / params.in_column * params.n * params.inner", "0u"),
    mistake("fold_columns", "+ t % params.inner", ""),
    mistake("fold_columns", "min(params.n, start + params.share)", "(start + params.share)"),
    mistake("fold_columns", "i += params.inner", "i += 1u"),
    mistake("segment_heads", "word >= arrayLength(&heads)", "word > arrayLength(&heads)"),
    mistake("segment_heads", "offsets[middle] < element", "offsets[middle] <= element"),
    mistake("segment_heads", "low = middle + 1u", "low = middle + 2u"),
    mistake("segment_heads", "let first = word * BITS", "let first = word"),
    mistake("segment_heads", "bit >= BITS", "bit > BITS"),
    mistake("segment_heads", "1u << bit", "1u << (bit / 2u)"),
    mistake("segment_heads", "first + bit + 1u, at + 1u", "first + bit + 2u, at + 1u"),
    mistake("segment_heads", "bits |=", "bits ="),
    mistake("segment_heads", "while at < params.count", "while at + 1u < params.count"),
    mistake("segment_heads", "offsets[at] - first", "offsets[at + 1u] - first"),
    mistake("segment_heads", "heads[word] = bits", "heads[word + 1u] = bits"),
];

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, shader, text| match shader {
        "fold" => [text, &staged(text)].into_iter().all(|text| is_fold(ctx, text)),
        "fold_columns" => is_fold_of_columns(ctx, text),
        _ => marks_heads(ctx, text),
    });
}

/// Returns a kernel whose operation composes functions `x -> m x + c` modulo 2^16, so that the order matters.
fn kernel(ctx: &Context, shader: &str, text: &str) -> DynKernel {
    let text = text.replacen(
        "fn operation(a: T, b: T) -> T {",
        "fn operation(a: T, b: T) -> T {
        if true { return ((a * b) & 0xffffu) | (((b & 0xffffu) * (a >> 16u) + (b >> 16u)) << 16u); }",
        1,
    );
    let source = ShaderSource::text(format!("{shader}.wgsl"), text).with_type("T", u32::DTYPE).unwrap();
    ctx.kernel_from_with(&source, shader, &[("WORKGROUP", 8.0)]).unwrap()
}

fn composed(all: u32, b: &u32) -> u32 {
    let product = all.wrapping_mul(*b) & 0xFFFF;
    product | ((b & 0xFFFF).wrapping_mul(all >> 16).wrapping_add(b >> 16)) << 16
}

fn functions(len: usize) -> Vec<u32> {
    (1..=len as u32).map(|i| i.wrapping_mul(0x9E37_79B1) | 1).collect()
}

const BEFORE: u32 = 0x5A5A_5A5A;

/// Returns `true` if the shares of rows are right, in a grid of two dimensions with workgroups past the last share.
fn is_fold(ctx: &Context, text: &str) -> bool {
    let rows = 3;
    let n = 700;
    let share = 300;
    let list = functions(rows * n);
    let queue = ctx.queue("q");
    let in_row = n.div_ceil(share);
    let shares = rows * in_row;
    let x = queue.array(&list).unwrap();
    let mut out = queue.full([shares + 2], BEFORE).unwrap();
    let args = args![
        n = n as u32,
        share = share as u32,
        in_row = in_row as u32,
        shares = shares as u32,
        identity = 1_u32,
        x = &x,
        out = &mut out
    ];
    queue.launch_dyn(&kernel(ctx, "fold", text), Grid::groups([5, 2]), args).unwrap();
    let expected = list.chunks(n).flat_map(|row| row.chunks(share).map(|part| part.iter().fold(1, composed)));
    queue.read(&out).wait().unwrap() == expected.chain([BEFORE; 2]).collect::<Vec<_>>()
}

fn is_fold_of_columns(ctx: &Context, text: &str) -> bool {
    let outer = 2;
    let n = 7;
    let inner = 5;
    let share = 3;
    let list = functions(outer * n * inner);
    let queue = ctx.queue("q");
    let in_column = n.div_ceil(share);
    let count = outer * in_column * inner;
    let x = queue.array(&list).unwrap();
    let mut out = queue.full([count + 2], BEFORE).unwrap();
    let args = args![
        n = n as u32,
        share = share as u32,
        in_column = in_column as u32,
        inner = inner as u32,
        count = count as u32,
        identity = 1_u32,
        x = &x,
        out = &mut out
    ];
    queue.launch_dyn(&kernel(ctx, "fold_columns", text), Grid::groups([6]), args).unwrap();
    let result = |t: usize| {
        let column = t / inner;
        let at = t % inner;
        let first = column % in_column * share;
        let places = (first..n.min(first + share)).map(|k| (column / in_column * n + k) * inner + at);
        places.map(|place| list[place]).fold(1, |all, x| composed(all, &x))
    };
    queue.read(&out).wait().unwrap() == (0..count).map(result).chain([BEFORE; 2]).collect::<Vec<_>>()
}

fn marks_heads(ctx: &Context, text: &str) -> bool {
    let source = ShaderSource::text("segment_heads.wgsl", text.to_owned());
    let kernel = ctx.kernel_from_with(&source, "segment_heads", &[("WORKGROUP", 8.0)]).unwrap();
    let lists: [&[u32]; 3] =
        [&[0, 1, 1, 1, 2, 31, 32, 33, 64, 95, 96, 130], &[70], &[5, 5, 5, 200, 200, 310]];
    let queue = ctx.queue("q");
    lists.into_iter().all(|list| {
        let words = 10;
        let offsets = queue.array(list).unwrap();
        let all = queue.full([words + 64], BEFORE).unwrap();
        let mut heads = all.slice(0..words).unwrap();
        let args = args![count = list.len() as u32, offsets = &offsets, heads = &mut heads];
        queue.launch_dyn(&kernel, Grid::groups([2]), args).unwrap();
        let mut expected = vec![0; words];
        for &offset in list {
            expected[offset as usize / 32] |= 1 << (offset % 32);
        }
        expected.resize(words + 64, BEFORE);
        queue.read(&all).wait().unwrap() == expected
    })
}
