//! A05: a mistake in the kernels of reductions along an axis is detected.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use fencepost::{DynKernel, ShaderSource};
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![case("a05_each_mistake_in_the_kernels_of_reductions_along_an_axis_is_caught", caught)]
}

pub(super) const MISTAKES: &[Mistake] = &[
    mistake("reduce_rows", "(OPERATION == 3u) == (KEYS == 1u)", "OPERATION == 3u"),
    mistake("reduce_rows", "(OPERATION == 3u) == (KEYS == 1u)", "KEYS == 1u"),
    mistake("reduce_rows", "if KEYS != 0u", "if KEYS == 1u"),
    mistake("reduce_columns", "(OPERATION == 3u) == (KEYS == 1u)", "OPERATION == 3u"),
    mistake("reduce_columns", "(OPERATION == 3u) == (KEYS == 1u)", "KEYS == 1u"),
    mistake("reduce_columns", "if KEYS != 0u", "if KEYS == 1u"),
    mistake("reduce_rows", "workgroupBarrier();", ""),
    mistake("reduce_rows", "return a * b;", "return a + b;"),
    mistake("reduce_rows", "return max(a, b);", "return min(a, b);"),
    mistake("reduce_rows", "OPERATION == 3u)", "OPERATION == 2u)"),
    mistake("reduce_rows", "group.y * groups.x + group.x", "group.x"),
    mistake("reduce_rows", "g / params.in_row * params.n", "g * params.n"),
    mistake("reduce_rows", "g % params.in_row * params.share", "g * params.share"),
    mistake("reduce_rows", "min(params.n, start + params.share)", "start + params.share"),
    mistake("reduce_rows", "min(params.n, start + params.share)", "params.n"),
    mistake("reduce_rows", "reduce_share(row + start", "reduce_share(row"),
    mistake("reduce_rows", "i + 3u * WORKGROUP < end", "i + 2u * WORKGROUP < end"),
    mistake("reduce_rows", "element(i + WORKGROUP)", "element(i)"),
    mistake("reduce_rows", "; i < end; i", "; i <= end; i"),
    mistake("reduce_rows", "combined(c, d)", "d"),
    mistake("reduce_rows", "lane < width", "lane + 1u < width"),
    mistake("reduce_rows", "lane == 0u && g < params.shares", "lane == 0u"),
    mistake("reduce_rows", "number_bits(bitcast<u32>(parts[0]))", "bitcast<u32>(parts[0])"),
    mistake("reduce_rows", "finished(parts[0], params.divisor)", "finished(parts[1], params.divisor)"),
    mistake("reduce_rows", "finished(parts[0], params.divisor)", "parts[0]"),
    mistake("reduce_rows", "return total / divisor;", "return total;"),
    mistake("reduce_rows", "return x[i] * y[i]", "return x[i] * x[i]"),
    mistake("reduce_rows", "if PRODUCTS == 1u", "if PRODUCTS == 2u"),
    mistake("reduce_rows", "sqrt(f32(total))", "f32(total)"),
    mistake("reduce_rows", "(bitcast<u32>(x[i]) & BITS) != 0u", "bitcast<u32>(x[i]) != 0u"),
    mistake("reduce_rows", "(bitcast<u32>(x[i]) & BITS) != 0u", "(bitcast<u32>(x[i + 1u]) & BITS) != 0u"),
    mistake("reduce_rows", "select(S(0), S(1)", "select(S(1), S(0)"),
    mistake("reduce_columns", "return a + b;", "return a - b;"),
    mistake("reduce_columns", "return min(a, b);", "return max(a, b);"),
    mistake("reduce_columns", "OPERATION == 3u)", "OPERATION == 2u)"),
    mistake("reduce_columns", "if t >= params.count { return; }", ""),
    mistake("reduce_columns", "column % params.in_column * params.share", "0u"),
    mistake("reduce_columns", "column / params.in_column * params.n", "column * params.n"),
    mistake("reduce_columns", "+ t % params.inner", ""),
    mistake(
        "reduce_columns",
        "min(params.n, start + params.share) * params.inner",
        "params.n * params.inner",
    ),
    mistake("reduce_columns", "i + 3u * step < end", "i + 2u * step < end"),
    mistake("reduce_columns", "i += 4u * step", "i += 3u * step"),
    mistake("reduce_columns", "element(i + 2u * step)", "element(i + step)"),
    mistake("reduce_columns", "return x[i];", "return x[i + 1u];"),
    mistake("reduce_columns", "; i < end; i += step", "; i <= end; i += step"),
    mistake("reduce_columns", "combined(a, b), combined(c, d)", "combined(a, b), c"),
    mistake("reduce_columns", "out[t] = bitcast<T>(number_bits(bitcast<u32>(result)));", "out[t] = result;"),
    mistake("reduce_columns", "finished(result, params.divisor)", "result"),
    mistake("reduce_columns", "finished(result, params.divisor)", "finished(result, T(params.n))"),
    mistake("reduce_columns", "return x[i] * y[i]", "return y[i] * y[i]"),
    mistake("reduce_columns", "if FINISH == 2u", "if FINISH == 3u"),
    mistake("reduce_columns", "if BITS != 0u", "if BITS == 1u"),
    mistake("reduce_columns", "(bitcast<u32>(x[i]) & BITS) != 0u", "bitcast<u32>(x[i]) != 0u"),
    mistake("reduce_columns", "select(T(0), T(1)", "select(T(1), T(0)"),
];

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, shader, text| {
        let (rows, shape) = if shader == "reduce_rows" { (true, [3, 130, 1]) } else { (false, [2, 34, 7]) };
        // The bits of numbers, with a NaN, infinities and zeros of both signs.
        let len: usize = shape.iter().product();
        let list: Vec<u32> = (1..=len as u32).map(|i| i.wrapping_mul(0x9E37_79B1) | 1).collect();
        let numbers = (0..len).map(|i| match i {
            5 => 0x7FC0_0000,
            150 => 0x7F80_0000,
            151 => 0xFF80_0000,
            _ => list[i] & 0xBFFF_FFFE,
        });
        let numbers: Vec<u32> = numbers.collect();
        (0..4).all(|operation| is_right(ctx, text, rows, shape, operation, &list))
            && (2..6).all(|operation| keeps_keys(ctx, text, rows, shape, operation, &numbers))
            && counts_and_finishes(ctx, text, rows, shape, &list)
            && multiplies(ctx, text, rows, shape, &list)
    });
}

/// Divisor of divided results.
const DIVISOR: u32 = 3;

const OPERATIONS: [Operation; 6] = [
    Operation::Sum,
    Operation::Product,
    Operation::Smallest,
    Operation::Largest,
    Operation::SmallestNumber,
    Operation::LargestNumber,
];
/// Value of the override `OPERATION` for each operation.
const NUMBERS: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 2.0, 3.0];

fn kernel(ctx: &Context, text: &str, rows: bool, operation: usize, keys: bool) -> DynKernel {
    let stem = if rows { "reduce_rows" } else { "reduce_columns" };
    let source = ShaderSource::text(format!("{stem}.wgsl"), text.to_owned());
    let source = source.with_type("T", u32::DTYPE).unwrap();
    let overrides = [
        ("OPERATION", NUMBERS[operation]),
        ("KEYS", if keys { 1.0 + f64::from(u8::from(operation > 3)) } else { 0.0 }),
        ("WORKGROUP", 16.0),
    ];
    ctx.kernel_from_with(&source, stem, &overrides).unwrap()
}

/// Compares counts of elements that have one of the highest bits, these counts divided by 3, and their square roots.
fn counts_and_finishes(ctx: &Context, text: &str, rows: bool, shape: [usize; 3], list: &[u32]) -> bool {
    let stem = if rows { "reduce_rows" } else { "reduce_columns" };
    let source = ShaderSource::text(format!("{stem}.wgsl"), text.to_owned());
    let source = source.with_type("T", u32::DTYPE).unwrap();
    let bits = 0xE000_0000_u32;
    let of = |finish: u32| {
        let overrides = [("BITS", f64::from(bits)), ("FINISH", f64::from(finish)), ("WORKGROUP", 16.0)];
        let kernel = ctx.kernel_from_with(&source, stem, &overrides).unwrap();
        shares(ctx, &kernel, rows, shape, 0, list)
    };
    let count = |part: &[u32]| part.iter().filter(|&&word| word & bits != 0).count() as u32;
    of(0) == expected(rows, shape, list, count)
        && of(1) == expected(rows, shape, list, |part| count(part) / DIVISOR)
        && of(2) == expected(rows, shape, list, |part| (count(part) as f32).sqrt() as u32)
}

/// The factor of an element is the element XOR this mask.
const FACTOR: u32 = 0x5555;

/// Compares sums of products.
fn multiplies(ctx: &Context, text: &str, rows: bool, shape: [usize; 3], list: &[u32]) -> bool {
    let stem = if rows { "reduce_rows" } else { "reduce_columns" };
    let source = ShaderSource::text(format!("{stem}.wgsl"), text.to_owned());
    let source = source.with_type("T", u32::DTYPE).unwrap();
    let overrides = [("PRODUCTS", 1.0), ("WORKGROUP", 16.0)];
    let kernel = ctx.kernel_from_with(&source, stem, &overrides).unwrap();
    let sum = |part: &[u32]| host::dot(part, &part.iter().map(|word| word ^ FACTOR).collect::<Vec<u32>>());
    shares(ctx, &kernel, rows, shape, 0, list) == expected(rows, shape, list, sum)
}

/// Returns the results for shares of 70 or 15 elements, and the element after the results.
fn shares(
    ctx: &Context,
    kernel: &DynKernel,
    rows: bool,
    shape: [usize; 3],
    identity: u32,
    list: &[u32],
) -> Vec<u32> {
    let [outer, n, inner] = shape.map(|n| n as u32);
    let share = if rows { 70 } else { 15 };
    let parts = n.div_ceil(share);
    let count = outer * parts * inner;
    let queue = ctx.queue("q");
    let factors: Vec<u32> = list.iter().map(|word| word ^ FACTOR).collect();
    let [x, y] = [list, &factors].map(|list| queue.array(list).unwrap());
    let mut out = queue.zeros::<u32, 1>([count as usize + 1]).unwrap();
    // The grid has one more row of workgroups than the results need.
    let launched = if rows {
        let args = args![
            n = n,
            share = share,
            in_row = parts,
            shares = count,
            identity = identity,
            divisor = DIVISOR,
            x = &x,
            y = &y,
            out = &mut out
        ];
        queue.launch_dyn(kernel, Grid::groups([2, count.div_ceil(2) + 1]), args)
    } else {
        let args = args![
            n = n,
            share = share,
            in_column = parts,
            inner = inner,
            count = count,
            identity = identity,
            divisor = DIVISOR,
            x = &x,
            y = &y,
            out = &mut out
        ];
        queue.launch_dyn(kernel, Grid::threads([count + 16]), args)
    };
    launched.unwrap();
    queue.read(&out).wait().unwrap()
}

/// Returns the shares of a list in the order of the results.
fn expected(rows: bool, shape: [usize; 3], list: &[u32], combine: impl Fn(&[u32]) -> u32) -> Vec<u32> {
    let ([outer, n, inner], share) = (shape, if rows { 70 } else { 15 });
    let mut results = Vec::new();
    for o in 0..outer {
        for start in (0..n).step_by(share) {
            for i in 0..inner {
                let part = (start..n.min(start + share)).map(|j| list[(o * n + j) * inner + i]);
                results.push(combine(&part.collect::<Vec<_>>()));
            }
        }
    }
    results.push(0);
    results
}

fn is_right(
    ctx: &Context,
    text: &str,
    rows: bool,
    shape: [usize; 3],
    operation: usize,
    list: &[u32],
) -> bool {
    let identity = [0, 1, u32::MAX, 0, u32::MAX, 0][operation];
    let found = shares(ctx, &kernel(ctx, text, rows, operation, false), rows, shape, identity, list);
    let combine = |part: &[u32]| host::reduce(part, [part.len()], OPERATIONS[operation], 0).unwrap()[0];
    found == expected(rows, shape, list, combine)
}

fn keeps_keys(
    ctx: &Context,
    text: &str,
    rows: bool,
    shape: [usize; 3],
    operation: usize,
    list: &[u32],
) -> bool {
    let identity = [0, 1, u32::MAX, 0, u32::MAX, 0][operation];
    let found = shares(ctx, &kernel(ctx, text, rows, operation, true), rows, shape, identity, list);
    let combine = |part: &[u32]| {
        let numbers: &[f32] = bytemuck::cast_slice(part);
        host::reduce(numbers, [part.len()], OPERATIONS[operation], 0).unwrap()[0].to_bits()
    };
    found == expected(rows, shape, list, combine)
}
