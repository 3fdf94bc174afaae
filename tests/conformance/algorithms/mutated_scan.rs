//! A08: a mistake in the kernels of scans is detected.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::algorithms::Reducible;
use fencepost::prelude::*;
use fencepost::{DynKernel, ShaderSource};
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![case("a08_each_mistake_in_the_kernels_of_scans_is_caught", caught)]
}

pub(super) const MISTAKES: &[Mistake] = &[
    mistake("scan", "(OPERATION == 3u) == (KEYS == 1u)", "OPERATION == 3u"),
    mistake("scan", "(OPERATION == 3u) == (KEYS == 1u)", "KEYS == 1u"),
    mistake("scan", "if KEYS != 0u", "if KEYS == 1u"),
    mistake("scan", "of_bits(carries[group.x])", "carries[group.x]"),
    mistake("scan", "of_bits(carries[group.x])", "of_bits(carries[0])"),
    mistake("scan", "total[0] = to_bits(all);", ""),
    mistake("scan", "of_bits(x[place(i)])", "of_bits(x[place(i) + 1u])"),
    mistake("scan", "{ out[place(i)] = ", "{ out[place(i) + 1u] = "),
    mistake("scan", "scan_share(group.x, lane,", "scan_share(0u, lane,"),
    mistake("scan", "scan_share(group.x, lane,", "scan_share(group.x, lane / 2u,"),
    mistake("scan_in_place", "of_bits(carries[group.x])", "carries[group.x]"),
    mistake("scan_in_place", "of_bits(carries[group.x])", "of_bits(carries[0])"),
    mistake("scan_in_place", "total[0] = to_bits(all);", ""),
    mistake("scan_in_place", "of_bits(x[place(i)])", "of_bits(x[place(i) + 1u])"),
    mistake("scan_in_place", "{ x[place(i)] = ", "{ x[place(i) + 1u] = "),
    mistake("scan_in_place", "scan_share(group.x, lane,", "scan_share(0u, lane,"),
    mistake("scan_in_place", "        workgroupBarrier();\n        var part", "        var part"),
    mistake("scan_in_place", "min(end, start + PER)", "start + PER"),
    mistake("scan_in_place", "params.share) - 1u;", "params.share) - 2u;"),
    mistake("scan_in_place", "if REVERSED == 1u &&", "if REVERSED == 0u &&"),
    mistake("scan", "params.share) - 1u;", "params.share) - 2u;"),
    mistake("scan", "mirror - i", "mirror - i - 1u"),
    mistake("scan", "mirror = group.x * params.share", "mirror = 0u"),
    mistake("scan", "min(params.n, (group.x + 1u) * params.share)", "(group.x + 1u) * params.share"),
    mistake("scan", "if REVERSED == 0u { total", "{ total"),
    mistake("scan", "if REVERSED == 1u && group.x == 0u", "if REVERSED == 1u && group.x == 1u"),
    mistake("scan", "if REVERSED == 1u &&", "if REVERSED == 0u &&"),
    // The other mistakes are in the snippet that both kernels use.
    mistake("scan", "return a * b;", "return a + b;"),
    mistake("scan", "return max(a, b);", "return min(a, b);"),
    mistake("scan", "OPERATION == 3u)", "OPERATION == 2u)"),
    mistake("scan", "return bitcast<T>(number_bits(bitcast<u32>(value)));", "return value;"),
    mistake("scan", "first + lane * PER", "first + lane"),
    mistake("scan", "min(end, start + PER)", "start + PER"),
    mistake("scan", "min(end, start + PER)", "min(end, start + PER - 1u)"),
    mistake("scan", "var total = identity();", "var total = S(1);"),
    mistake("scan", "total = combined(total, load(i));", "total = load(i);"),
    mistake("scan", "    workgroupBarrier();\n    parts[lane] = total;", "    parts[lane] = total;"),
    mistake("scan", "        workgroupBarrier();\n        var part", "        var part"),
    mistake(
        "scan",
        "        workgroupBarrier();\n        parts[lane] = part;",
        "        parts[lane] = part;",
    ),
    mistake(
        "scan",
        "        parts[lane] = part;\n    }\n    workgroupBarrier();",
        "        parts[lane] = part;\n    }",
    ),
    mistake("scan", "distance < WORKGROUP", "distance < WORKGROUP / 2u"),
    mistake("scan", "distance *= 2u", "distance *= 4u"),
    mistake("scan", "lane >= distance", "lane > distance"),
    mistake("scan", "combined(parts[lane - distance], part)", "part"),
    mistake("scan", "combined(before, parts[lane - 1u])", "parts[lane - 1u]"),
    mistake("scan", "combined(before, parts[lane - 1u])", "combined(before, parts[lane])"),
    mistake("scan", "combined(running, load(i))", "load(i)"),
    mistake("scan", "store(i, running, next)", "store(i, next, next)"),
    mistake("scan", "select(after, before, EXCLUSIVE == 1u)", "select(before, after, EXCLUSIVE == 1u)"),
    mistake("scan", "        running = next;", ""),
    mistake("scan", "combined(running, parts[WORKGROUP - 1u])", "parts[WORKGROUP - 1u]"),
    mistake("scan", "combined(running, parts[WORKGROUP - 1u])", "combined(running, parts[0])"),
    mistake("scan", "g * params.share", "0u"),
    mistake("scan", "min(params.n, first + params.share)", "first + params.share"),
    mistake("scan", "min(params.n, first + params.share)", "params.n"),
    mistake("scan", "combined(before, of_bits(carries[group.x]))", "of_bits(carries[group.x])"),
    mistake("scan", "tile += WORKGROUP * PER", "tile += WORKGROUP"),
    mistake("scan", "end == params.n", "g == 0u"),
    // The variant that stages elements in workgroup memory.
    mistake("scan", "tile_states[place_of(k)] = load(first + k)", "tile_states[place_of(k)] = load(first)"),
    mistake("scan", "    workgroupBarrier();\n    let start = min(count", "    let start = min(count"),
    mistake("scan", "total = combined(total, tile_states[place_of(k)])", "total = tile_states[place_of(k)]"),
    mistake("scan", "        tile_states[place_of(k)] = running;", ""),
    mistake("scan", "running = combined(running, own);", "running = own;"),
    mistake(
        "scan",
        "    workgroupBarrier();\n    for (var k = lane; k < count; k += WORKGROUP) {\n",
        STORING,
    ),
    mistake("scan", "combined(state, load(first + k))", "state"),
    mistake("scan", "min(end - first, WORKGROUP * STAGED)", "WORKGROUP * STAGED"),
    mistake("scan", "min(count, start + STAGED)", "start + STAGED"),
    mistake("scan", "tile += WORKGROUP * STAGED", "tile += WORKGROUP"),
    mistake("scan", "return k + k / ROW;", "return k - k / ROW;"),
];

/// Start of the loop that stores the results, without the barrier before it.
const STORING: &str = "    for (var k = lane; k < count; k += WORKGROUP) {\n";

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, shader, text| {
        let list: Vec<u32> = (1..=ELEMENTS as u32 + 1).map(|i| i.wrapping_mul(0x9E37_79B1) | 1).collect();
        // The bits of numbers, with infinities of both signs and a NaN.
        let numbers = list.iter().enumerate().map(|(i, bits)| match i {
            250 => 0x7F80_0000,
            900 => 0xFF80_0000,
            1300 => 0x7FC0_0000,
            _ => bits & 0xBFFF_FFFE,
        });
        let numbers: Vec<u32> = numbers.collect();
        let staged = staged(text);
        let each =
            [text, &staged].into_iter().flat_map(|text| (0..6).map(move |operation| (text, operation)));
        each.into_iter().all(|(text, operation)| {
            [[false; 2], [true, false], [false, true], [true; 2]].into_iter().all(|form| {
                let kernel = |keys| kernel(ctx, shader, text, operation, keys, form);
                (operation > 3 || is_right(ctx, &kernel(false), shader, operation, form, &list))
                    && (operation < 2 || keeps_keys(ctx, &kernel(true), shader, operation, form, &numbers))
            })
        })
    });
}

/// Returns a shader that stages elements in workgroup memory for any workgroup size.
pub(super) fn staged(text: &str) -> String {
    let staged = text.replace("const STAGED_FROM: u32 = 64;", "const STAGED_FROM: u32 = 1;");
    assert_ne!(text, staged, "the shader names the size of the workgroups");
    staged
}

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
/// Number of elements: two and a half shares.
const ELEMENTS: usize = 1500;
/// Number of elements of a share: two tiles and a part of one.
const SHARE: usize = 600;
/// Combined elements before (or after) each share, usable as numbers and as words.
const CARRIES: [f32; 3] = [3.0e-5, 2.0e-5, 4.0e-5];

fn kernel(
    ctx: &Context,
    shader: &str,
    text: &str,
    operation: usize,
    keys: bool,
    [exclusive, reversed]: [bool; 2],
) -> DynKernel {
    let source = ShaderSource::text(format!("{shader}.wgsl"), text.to_owned());
    let source = source.with_type("T", u32::DTYPE).unwrap();
    let overrides = [
        ("OPERATION", NUMBERS[operation]),
        ("KEYS", if keys { 1.0 + f64::from(u8::from(operation > 3)) } else { 0.0 }),
        ("EXCLUSIVE", f64::from(exclusive)),
        ("REVERSED", f64::from(reversed)),
        ("CARRIED", 1.0),
        ("WORKGROUP", 16.0),
    ];
    ctx.kernel_from_with(&source, shader, &overrides).unwrap()
}

/// Returns the results, the element after them, and the total.
fn results(
    ctx: &Context,
    kernel: &DynKernel,
    shader: &str,
    [identity, initial]: [u32; 2],
    list: &[u32],
) -> (Vec<u32>, u32) {
    let n = ELEMENTS as u32;
    let share = SHARE as u32;
    let queue = ctx.queue("q");
    let carries = queue.array(&CARRIES.map(f32::to_bits)).unwrap();
    let (mut x, mut total) = (queue.array(list).unwrap(), queue.zeros::<u32, 1>([1]).unwrap());
    let mut out = queue.array(list).unwrap();
    let grid = Grid::groups([ELEMENTS.div_ceil(SHARE)]);
    let launched = if shader == "scan" {
        let args = args![
            n = n,
            share = share,
            identity = identity,
            initial = initial,
            x = &x,
            carries = &carries,
            out = &mut out,
            total = &mut total
        ];
        queue.launch_dyn(kernel, grid, args)
    } else {
        let args = args![
            n = n,
            share = share,
            identity = identity,
            initial = initial,
            x = &mut x,
            carries = &carries,
            total = &mut total
        ];
        queue.launch_dyn(kernel, grid, args)
    };
    launched.unwrap();
    let out = if shader == "scan" { out } else { x };
    (queue.read(&out).wait().unwrap(), queue.read(&total).wait().unwrap()[0])
}

/// Returns the results of the host for all shares, and the total.
fn expected<T: Reducible>(
    operation: usize,
    [exclusive, reversed]: [bool; 2],
    initial: T,
    carries: [T; 3],
    list: &[T],
) -> (Vec<T>, T) {
    let operation = OPERATIONS[operation];
    let mut all = Vec::new();
    let mut total = initial;
    for (share, carry) in list[..ELEMENTS].chunks(SHARE).zip(carries) {
        let before = host::scan(&[initial, carry], Scan::inclusive(operation))[1];
        let inclusive = host::scan(share, Scan::inclusive(operation).from(before));
        // In a reversed scan, the first share computes the total.
        if !reversed || all.is_empty() {
            total = inclusive[share.len() - 1];
        }
        let scan = if exclusive { Scan::exclusive(operation) } else { Scan::inclusive(operation) };
        let scan = if reversed { scan.reversed() } else { scan };
        all.extend(host::scan(share, scan.from(before)));
    }
    (all, total)
}

/// Returns `true` if the results of integers are right, and the element after them is unchanged.
fn is_right(
    ctx: &Context,
    kernel: &DynKernel,
    shader: &str,
    operation: usize,
    form: [bool; 2],
    list: &[u32],
) -> bool {
    let identity = [0, 1, u32::MAX, 0, u32::MAX, 0][operation];
    let initial = [7, 3, 0xF000_0000, 5][operation];
    let (found, total) = results(ctx, kernel, shader, [identity, initial], list);
    let (mut all, of_all) = expected(operation, form, initial, CARRIES.map(f32::to_bits), list);
    all.push(list[ELEMENTS]);
    found == all && total == of_all
}

/// Returns `true` if the smallest or the largest numbers so far are right.
fn keeps_keys(
    ctx: &Context,
    kernel: &DynKernel,
    shader: &str,
    operation: usize,
    form: [bool; 2],
    numbers: &[u32],
) -> bool {
    let smallest = NUMBERS[operation] == 2.0;
    // The keys of the infinities.
    let (identity, key) = if smallest { (u32::MAX, 0xFF80_0000) } else { (0, 0x007F_FFFF) };
    let initial = if smallest { f32::INFINITY } else { f32::NEG_INFINITY };
    let (found, total) = results(ctx, kernel, shader, [identity, key], numbers);
    let list: &[f32] = bytemuck::cast_slice(numbers);
    let (all, of_all) = expected(operation, form, initial, CARRIES, list);
    found[..ELEMENTS].iter().zip(all).all(|(found, number)| *found == number.to_bits())
        && total == of_all.to_bits()
}
