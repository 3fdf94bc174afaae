//! A13: a mistake in the kernels of sorts is detected.

use super::mutated::{Mistake, all_caught, mistake};
use super::mutated_scan::staged;
use crate::common::{Case, Subject, case};
use fencepost::algorithms::Reducible;
use fencepost::args;
use fencepost::prelude::*;
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![case("a13_each_mistake_in_the_kernels_of_sorts_is_caught", caught)]
}

const COUNT: &str = "radix_count";
const SCATTER: &str = "radix_scatter";
const SMALL: &str = "sort_small";
pub(super) const MISTAKES: &[Mistake] = &[
    mistake(COUNT, "group.x * params.share", "0u"),
    mistake(COUNT, "min(params.n, first + params.share)", "params.n"),
    mistake(COUNT, "min(params.n, first + params.share)", "first + params.share"),
    mistake(COUNT, "i < end", "i <= end"),
    mistake(COUNT, "i += WORKGROUP", "i += WORKGROUP + 1u"),
    mistake(COUNT, "    workgroupBarrier();", ""),
    mistake(COUNT, "lane < DIGITS", "lane < DIGITS - 1u"),
    mistake(COUNT, "copy = 0u", "copy = 1u"),
    mistake(COUNT, "lane * params.groups + group.x", "lane + group.x * DIGITS"),
    mistake(COUNT, ">> params.bit", ">> (params.bit + 1u)"),
    mistake(COUNT, "& params.mask", "& 7u"),
    mistake(SCATTER, "group.x * params.share", "0u"),
    mistake(SCATTER, "min(params.n, first + params.share)", "params.n"),
    mistake(SCATTER, "min(params.n, first + params.share)", "first + params.share"),
    mistake(SCATTER, "tile += WORKGROUP * PER", "tile += PER"),
    mistake(SCATTER, "min(end, tile + WORKGROUP * PER)", "end"),
    mistake(SCATTER, "min(end, tile + WORKGROUP * PER)", "tile + WORKGROUP * PER"),
    mistake(SCATTER, "starts[lane * params.groups + group.x]", "starts[lane * params.groups]"),
    mistake(SCATTER, "if lane < DIGITS { next", "if lane < DIGITS - 1u { next"),
    mistake(SCATTER, ">> params.bit", ">> (params.bit + 1u)"),
    mistake(SCATTER, "& params.mask", "& 7u"),
    mistake(SCATTER, "offsets[digit] + take_rank", "offsets[0] + take_rank"),
    mistake(SCATTER, "out_keys[place] = key;", "out_keys[place + 1u] = key;"),
    mistake(SCATTER, "if params.payload == 1u { out_values[place] = values[i]; }", ""),
    mistake(SCATTER, "out_values[place] = i;", "out_values[place] = i + 1u;"),
    mistake(SCATTER, "offsets[lane] = next - before", "offsets[lane] = next"),
    mistake(SCATTER, "if lane + 1u < DIGITS { through", "if false { through"),
    mistake(SCATTER, "behind += through - before;", ""),
    mistake(SCATTER, "    workgroupBarrier();\n    return behind;", "    return behind;"),
    // The variant that stages elements in workgroup memory.
    mistake(SCATTER, "tile_keys[i - first] = keys[i]; }\n    workgroupBarrier();", LOADED),
    mistake(SCATTER, "tile_keys[i - first] = keys[i];", "tile_keys[i - first] = keys[first];"),
    mistake(SCATTER, "tile_first = first;", ""),
    mistake(SCATTER, "sorted_keys[rank] = key;", "sorted_keys[rank] = rank;"),
    mistake(SCATTER, "sorted_from[rank] = i;", "sorted_from[rank] = rank;"),
    mistake(
        SCATTER,
        "    workgroupBarrier();\n    for (var k = lane; k < end - first",
        "    for (var k = lane; k < end - first",
    ),
    mistake(SCATTER, "k < end - first", "k + 1u < end - first"),
    mistake(SCATTER, "offsets[digit_of(key)] + k", "offsets[0] + k"),
    mistake(SMALL, "params.passes - number) % 2u == 1u", "params.passes - number) % 2u == 0u"),
    mistake(SMALL, "pass_number == 0u && params.in_place == 0u", "pass_number == 0u"),
    mistake(SMALL, "pass_number == 0u && params.in_place == 0u", "params.in_place == 0u"),
    mistake(SMALL, "return scratch_keys[i];", "return out_keys[i];"),
    mistake(SMALL, "return scratch_values[i];", "return out_values[i];"),
    mistake(SMALL, "if params.payload == 2u && pass_number == 0u { return i; }", ""),
    mistake(SMALL, "if bit >= params.high { return 0u; }", ""),
    mistake(SMALL, "min(BITS, params.high - bit)", "BITS"),
    mistake(SMALL, "params.low + pass_number", "pass_number"),
    mistake(SMALL, "if params.payload == 0u { return; }", ""),
    mistake(SMALL, "{ out_keys[place] = key_at(i); }", "{ out_keys[i] = key_at(i); }"),
    mistake(SMALL, "        storageBarrier();\n", ""),
    // The other mistakes are in the snippet that both kernels use.
    mistake(SCATTER, "{ counters[row * WORKGROUP + lane] = 0u; }", "{ }"),
    mistake(SCATTER, "digit % ROWS * WORKGROUP + lane", "digit % ROWS * WORKGROUP / 2u + lane"),
    mistake(SCATTER, "digit / ROWS * HALF", "0u"),
    mistake(SCATTER, "min(end, first + lane *", "(first + lane *"),
    mistake(SCATTER, "(end - first + WORKGROUP - 1u) / WORKGROUP", "(end - first) / WORKGROUP"),
    mistake(SCATTER, "counters[counter_of(digit, lane)] += 1u << half_of(digit);", ""),
    mistake(SCATTER, "    workgroupBarrier();\n    let first = lane", "    let first = lane"),
    mistake(SCATTER, "    workgroupBarrier();\n    if lane < WORKGROUP", "    if lane < WORKGROUP"),
    mistake(SCATTER, "    workgroupBarrier();\n    var running", "    var running"),
    mistake(SCATTER, "running += count;\n    }\n    workgroupBarrier();", "running += count;\n    }"),
    mistake(SCATTER, "parts[lane * BLOCK + k] = sum;", ""),
    mistake(SCATTER, "sum += part;", "sum = part;"),
    mistake(SCATTER, "blocks[lane] = sum;", "blocks[lane] = 0u;"),
    mistake(SCATTER, "if block == lane / BLOCK { running += all; }", ""),
    mistake(SCATTER, "all += blocks[block];", "all = blocks[block];"),
    mistake(SCATTER, "running += all << HALF;", ""),
    mistake(SCATTER, "running += count;", ""),
    mistake(SCATTER, "    counters[at] += 1u << half_of(digit);", ""),
];

/// End of the loop that loads a tile, without the barrier after it.
const LOADED: &str = "tile_keys[i - first] = keys[i]; }";

/// Number of elements: more than one share.
const ELEMENTS: usize = 180;
/// Number of elements of a share: more than one tile.
const SHARE: usize = 107;
const GROUPS: usize = ELEMENTS.div_ceil(SHARE);
/// Number of elements that one workgroup sorts.
const FEW: usize = 93;
/// A digit of the keys.
const DIGIT: std::ops::Range<u32> = 26..30;
/// A range of bits of two digits and a half.
const SOME: std::ops::Range<u32> = 20..30;

fn caught(s: &Subject) {
    let words: Vec<u32> = (0..=ELEMENTS as u32).map(|i| (i + 1).wrapping_mul(0x9E37_79B1)).collect();
    all_caught(s, MISTAKES, |ctx, shader, text| {
        (0..6).all(|which| match which % 3 {
            0 => is_right::<u32>(ctx, shader, text, &words, which),
            1 => is_right::<i32>(ctx, shader, text, bytemuck::cast_slice(&words), which),
            _ => is_right::<f32>(ctx, shader, text, bytemuck::cast_slice(&words), which),
        })
    });
}

/// Returns `true` if the results are right; `which` selects the order.
fn is_right<T: Reducible>(ctx: &Context, shader: &str, text: &str, list: &[T], which: usize) -> bool {
    let descending = which % 2 == 1;
    let sort = if descending { Sort::descending() } else { Sort::ascending() };
    let flips = [[0, 0], [1 << 31, 1 << 31], [1 << 31, u32::MAX]][which % 3];
    let flips = if descending { flips.map(|bits: u32| !bits) } else { flips };
    match shader {
        COUNT => counts(ctx, text, list, flips) == shares(list, sort).concat(),
        SCATTER => [text, &staged(text)].into_iter().all(|text| {
            (0..3).all(|payload| {
                let found = scattered(ctx, text, list, sort, flips, payload);
                found == expected(list, ELEMENTS, sort.bits(DIGIT), payload, |_| STAYS)
            })
        }),
        _ => [false, true].into_iter().all(|in_place| {
            let stays = if in_place { value } else { |_| STAYS };
            (0..3).all(|payload| {
                let found = sorted(ctx, text, list, flips, payload, in_place);
                found == expected(list, FEW, sort.bits(SOME), payload, stays)
            })
        }),
    }
}

/// Returns the value of an element before the sort.
fn value(i: usize) -> u32 {
    i as u32 * 3 + 1
}

/// Returns the sorted elements and values of the host, each followed by an unwritten word. Values that do not move come
/// from `stays`.
fn expected<T: Reducible>(
    list: &[T],
    n: usize,
    sort: Sort,
    payload: u32,
    stays: fn(usize) -> u32,
) -> (Vec<u32>, Vec<u32>) {
    let words: &[u32] = bytemuck::cast_slice(list);
    let order = host::argsort(&list[..n], sort).unwrap();
    let keys = order.iter().map(|&place| words[place as usize]).chain([STAYS]).collect();
    let values = order.iter().enumerate().map(|(i, &place)| match payload {
        0 => stays(i),
        1 => value(place as usize),
        _ => place,
    });
    (keys, values.chain([STAYS]).collect())
}

/// Word in elements that are not written.
const STAYS: u32 = 77;

/// Returns the number of elements of each digit in each share, digit after digit.
fn shares<T: Reducible>(list: &[T], sort: Sort) -> Vec<Vec<u32>> {
    let digit = |element: T| digit_of(element, sort);
    let count = |d: u32, share: &[T]| share.iter().filter(|&&element| digit(element) == d).count() as u32;
    (0..16).map(|d| list[..ELEMENTS].chunks(SHARE).map(|share| count(d, share)).collect()).collect()
}

/// Returns the digit of an element: the number of lower keys that differ only in the digit.
fn digit_of<T: Reducible>(element: T, sort: Sort) -> u32 {
    let all: Vec<u32> = (0..16).map(|digit| digit << DIGIT.start).collect();
    // For numbers with the same sign, all types have the same order in these bits.
    let word = bytemuck::bytes_of(&element).try_into().map(u32::from_ne_bytes).unwrap();
    let sign = word & 1 << 31;
    let with_digits: Vec<u32> = all.iter().map(|digit| sign | digit | word & 0x03FF_FFFF).collect();
    let order = host::argsort::<T>(bytemuck::cast_slice(&with_digits), sort.bits(DIGIT)).unwrap();
    order.iter().position(|&place| place == word >> DIGIT.start & 15).unwrap() as u32
}

fn counts<T: Reducible>(ctx: &Context, text: &str, list: &[T], [flip_clear, flip_set]: [u32; 2]) -> Vec<u32> {
    let kernel = ctx.kernel_from_with(text, COUNT, &[("WORKGROUP", 32.0)]).unwrap();
    let queue = ctx.queue("q");
    let keys = queue.array::<u32>(bytemuck::cast_slice(list)).unwrap();
    let mut counts = queue.zeros::<u32, 1>([16 * GROUPS]).unwrap();
    let [n, share, groups, bit] = [ELEMENTS as u32, SHARE as u32, GROUPS as u32, DIGIT.start];
    let args = args![
        n = n,
        share = share,
        groups = groups,
        bit = bit,
        mask = 15_u32,
        flip_clear = flip_clear,
        flip_set = flip_set,
        keys = &keys,
        counts = &mut counts
    ];
    queue.launch_dyn(&kernel, Grid::groups([GROUPS]), args).unwrap();
    queue.read(&counts).wait().unwrap()
}

fn scattered<T: Reducible>(
    ctx: &Context,
    text: &str,
    list: &[T],
    sort: Sort,
    [flip_clear, flip_set]: [u32; 2],
    payload: u32,
) -> (Vec<u32>, Vec<u32>) {
    let kernel = ctx.kernel_from_with(text, SCATTER, &[("WORKGROUP", 16.0), ("PER", 4.0)]).unwrap();
    let queue = ctx.queue("q");
    let keys = queue.array::<u32>(bytemuck::cast_slice(list)).unwrap();
    let values = queue.array(&(0..=ELEMENTS).map(value).collect::<Vec<_>>()).unwrap();
    let sum = Scan::exclusive(Operation::Sum);
    let starts = queue.array(&host::scan(&shares(list, sort).concat(), sum)).unwrap();
    let [mut out, mut of_out] = [(); 2].map(|()| queue.full([ELEMENTS + 1], STAYS).unwrap());
    let [n, share, groups, bit] = [ELEMENTS as u32, SHARE as u32, GROUPS as u32, DIGIT.start];
    let args = args![
        n = n,
        share = share,
        groups = groups,
        bit = bit,
        mask = 15_u32,
        flip_clear = flip_clear,
        flip_set = flip_set,
        payload = payload,
        keys = &keys,
        values = &values,
        starts = &starts,
        out_keys = &mut out,
        out_values = &mut of_out
    ];
    queue.launch_dyn(&kernel, Grid::groups([GROUPS]), args).unwrap();
    (queue.read(&out).wait().unwrap(), queue.read(&of_out).wait().unwrap())
}

/// Returns the elements and the values after a sort by `SOME`, which has three digits.
fn sorted<T: Reducible>(
    ctx: &Context,
    text: &str,
    list: &[T],
    [flip_clear, flip_set]: [u32; 2],
    payload: u32,
    in_place: bool,
) -> (Vec<u32>, Vec<u32>) {
    let kernel = ctx.kernel_from_with(text, SMALL, &[("WORKGROUP", 16.0)]).unwrap();
    let queue = ctx.queue("q");
    let words: &[u32] = bytemuck::cast_slice(list);
    let keys = words[..FEW].to_vec();
    let values = (0..FEW).map(value).collect();
    let unused = || vec![STAYS; FEW];
    let (from, to) = if in_place {
        ([unused(), unused()], [keys, values])
    } else {
        ([keys, values], [unused(), unused()])
    };
    let [keys, values] = from.map(|list| queue.array(&list).unwrap());
    let [mut out, mut of_out] = to.map(|list| queue.array(&[list, vec![STAYS]].concat()).unwrap());
    let [mut scratch, mut of_scratch] = [(); 2].map(|()| queue.full([FEW], STAYS).unwrap());
    let args = args![
        n = FEW as u32,
        low = SOME.start,
        high = SOME.end,
        flip_clear = flip_clear,
        flip_set = flip_set,
        payload = payload,
        passes = if in_place { 4_u32 } else { 3 },
        in_place = u32::from(in_place),
        keys = &keys,
        values = &values,
        out_keys = &mut out,
        out_values = &mut of_out,
        scratch_keys = &mut scratch,
        scratch_values = &mut of_scratch
    ];
    queue.launch_dyn(&kernel, Grid::groups([1]), args).unwrap();
    (queue.read(&out).wait().unwrap(), queue.read(&of_out).wait().unwrap())
}
