//! A05: a mistake in a kernel of reductions with loads of several elements is detected.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use fencepost::{DynKernel, ShaderSource};
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![case("a05_each_mistake_in_a_kernel_of_reductions_with_loads_of_several_elements_is_caught", caught)]
}

pub(super) const MISTAKES: &[Mistake] = &[
    mistake("reduce_vectors", "(OPERATION == 3u) == (KEYS == 1u)", "OPERATION == 3u"),
    mistake("reduce_vectors", "(OPERATION == 3u) == (KEYS == 1u)", "KEYS == 1u"),
    mistake("reduce_vectors", "if KEYS != 0u", "if KEYS == 1u"),
    mistake("reduce_vectors", "return a + b;", "return a - b;"),
    mistake("reduce_vectors", "return a * b;", "return a + b;"),
    mistake("reduce_vectors", "return min(a, b);", "return max(a, b);"),
    mistake("reduce_vectors", "OPERATION == 3u)", "OPERATION == 2u)"),
    mistake("reduce_vectors", "key(bits.w)", "key(bits.z)"),
    mistake("reduce_vectors", "key(bits.w)", "bits.w"),
    mistake("reduce_vectors", "block += PER * WORKGROUP", "block += 2u * PER * WORKGROUP"),
    mistake("reduce_vectors", "block += PER * WORKGROUP", "block += WORKGROUP"),
    mistake("reduce_vectors", "min(end, block + PER * WORKGROUP)", "end"),
    mistake("reduce_vectors", "min(end, block + PER * WORKGROUP)", "block + PER * WORKGROUP"),
    mistake("reduce_vectors", "; i += WORKGROUP", "; i += 2u * WORKGROUP"),
    mistake("reduce_vectors", "part = combined(part, group_result(i))", "part = group_result(i)"),
    mistake("reduce_vectors", "all = combined(all, part)", "all = part"),
    mistake("reduce_vectors", "width > 0u", "width > 1u"),
    mistake("reduce_vectors", "lane < width", "lane + 1u < width"),
    mistake("reduce_vectors", "parts[lane + width]", "parts[width]"),
    mistake("reduce_vectors", "four.zwxy", "four.yxwz"),
    mistake("reduce_vectors", "halves.yxwz", "halves.zwxy"),
    mistake("reduce_vectors", "combined(halves, halves.yxwz).x", "halves.x"),
    mistake("reduce_vectors", "number_bits(bitcast<u32>(result))", "bitcast<u32>(result)"),
    mistake("reduce_vectors", "group.y * groups.x + group.x", "group.x"),
    mistake("reduce_vectors", "g / params.in_row * params.n", "g * params.n"),
    mistake("reduce_vectors", "g % params.in_row * params.share", "g * params.share"),
    mistake("reduce_vectors", "min(params.n, start + params.share)", "start + params.share"),
    mistake("reduce_vectors", "min(params.n, start + params.share)", "params.n"),
    mistake("reduce_vectors", "reduce_groups(row + start", "reduce_groups(row"),
    mistake("reduce_vectors", "lane == 0u && g < params.shares", "lane == 0u"),
    mistake("reduce_vectors", "out[g] = reduced", "out[0] = reduced"),
    mistake("reduce_vectors", "of_bits(bitcast<vec4<u32>>(bits))", "bitcast<Four>(bits)"),
    mistake("reduce_vectors", "let group = x[i];", "let group = x[i + 1u];"),
    mistake("reduce_vectors", "column(group[0])", "column(group[1])"),
    mistake("reduce_vectors", "column(group[1])", "column(group[0])"),
    mistake("reduce_vectors", "column(group[2])", "column(group[3])"),
    mistake("reduce_vectors", "column(group[3])", "column(group[2])"),
    mistake("reduce_vectors", "workgroupBarrier();", ""),
];

/// Number of rows, of groups in a row, and of groups in a share. A share is longer than a block of a workgroup.
const ROWS: usize = 3;
const N: usize = 70;
const SHARE: usize = 66;
/// Number of elements of a load.
type Vectors = [[f32; 4]; 4];

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

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, all_right::<Vectors>);
}

/// Counts the elements of a group.
fn width<G>() -> usize {
    size_of::<G>() / size_of::<u32>()
}

/// Returns `true` if the kernel has right results for all operations.
fn all_right<G: Element>(ctx: &Context, stem: &str, text: &str) -> bool {
    let len = ROWS * N * width::<G>();
    let list: Vec<u32> = (1..=len as u32).map(|i| i.wrapping_mul(0x9E37_79B1) | 1).collect();
    // Some shares have a NaN or infinities.
    let number = |at: usize| match at {
        5 => 0x7FC0_0000,
        600 => 0x7F80_0000,
        601 => 0xFF80_0000,
        _ => list[at] & 0xBFFF_FFFE,
    };
    let numbers: Vec<u32> = (0..len).map(number).collect();
    let kernel = |operation, keys| kernel(ctx, (stem, text), operation, keys);
    (0..4).all(|operation| is_right::<G>(ctx, &kernel(operation, false), operation, &list))
        && (2..6).all(|operation| keeps_keys::<G>(ctx, &kernel(operation, true), operation, &numbers))
}

fn kernel(ctx: &Context, (stem, text): (&str, &str), operation: usize, keys: bool) -> DynKernel {
    let source =
        ShaderSource::text(format!("{stem}.wgsl"), text.to_owned()).with_type("T", u32::DTYPE).unwrap();
    let overrides = [
        ("OPERATION", NUMBERS[operation]),
        ("KEYS", if keys { 1.0 + f64::from(u8::from(operation > 3)) } else { 0.0 }),
        ("WORKGROUP", 4.0),
    ];
    ctx.kernel_from_with(&source, stem, &overrides).unwrap()
}

/// Returns the results of the shares, and the element after them.
fn shares<G: Element>(ctx: &Context, kernel: &DynKernel, operation: usize, list: &[u32]) -> Vec<u32> {
    let queue = ctx.queue("q");
    let x = queue.array(&bytemuck::pod_collect_to_vec::<u32, G>(list)).unwrap();
    let in_row = N.div_ceil(SHARE);
    let shares = ROWS * in_row;
    let mut out = queue.zeros::<u32, 1>([shares + 1]).unwrap();
    let [n, share, in_row, count] = [N, SHARE, in_row, shares].map(|n| n as u32);
    let identity = [0, 1, u32::MAX, 0, u32::MAX, 0][operation];
    let args = args![
        n = n,
        share = share,
        in_row = in_row,
        shares = count,
        identity = identity,
        x = &x,
        out = &mut out
    ];
    // The grid has one more row of workgroups than the results need.
    queue.launch_dyn(kernel, Grid::groups([2, count.div_ceil(2) + 1]), args).unwrap();
    queue.read(&out).wait().unwrap()
}

fn expected<G>(list: &[u32], combine: impl Fn(&[u32]) -> u32) -> Vec<u32> {
    let shares = list.chunks(N * width::<G>()).flat_map(|row| row.chunks(SHARE * width::<G>()));
    shares.map(combine).chain([0]).collect()
}

fn is_right<G: Element>(ctx: &Context, kernel: &DynKernel, operation: usize, list: &[u32]) -> bool {
    let combine = |part: &[u32]| host::reduce(part, [part.len()], OPERATIONS[operation], 0).unwrap()[0];
    shares::<G>(ctx, kernel, operation, list) == expected::<G>(list, combine)
}

fn keeps_keys<G: Element>(ctx: &Context, kernel: &DynKernel, operation: usize, list: &[u32]) -> bool {
    let combine = |part: &[u32]| {
        let numbers: &[f32] = bytemuck::cast_slice(part);
        host::reduce(numbers, [part.len()], OPERATIONS[operation], 0).unwrap()[0].to_bits()
    };
    shares::<G>(ctx, kernel, operation, list) == expected::<G>(list, combine)
}
