//! A14: a mistake in the kernels that find elements by their rank is detected.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::args;
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![case("a14_each_mistake_in_the_kernels_of_ranks_is_caught", caught)]
}

const COUNT: &str = "rank_count";
const DIGIT: &str = "rank_digit";
const TAKE: &str = "take_ranked";
pub(super) const MISTAKES: &[Mistake] = &[
    mistake(COUNT, "(key ^ decided)", "key"),
    mistake(COUNT, ">> BITS == 0u", "== 0u"),
    mistake(COUNT, "order_key(x[i])", "x[i]"),
    mistake(COUNT, "(key >> params.shift) % DIGITS", "key % DIGITS"),
    mistake(COUNT, "group.x * params.share", "0u"),
    mistake(COUNT, "min(params.n, first + params.share)", "first + params.share"),
    mistake(COUNT, "min(params.n, first + params.share)", "params.n"),
    mistake(COUNT, "i < end", "i <= end"),
    mistake(COUNT, "i += WORKGROUP", "i += WORKGROUP + 1u"),
    mistake(COUNT, "    workgroupBarrier();", ""),
    mistake(COUNT, "digit < DIGITS", "digit < DIGITS - 1u"),
    mistake(COUNT, "digit += WORKGROUP", "digit += 2u * WORKGROUP"),
    mistake(COUNT, "atomicAdd(&table[digit], count)", "atomicStore(&table[digit], count)"),
    mistake(DIGIT, "params.shift == FIRST", "params.shift != FIRST"),
    mistake(DIGIT, "table[digit] <= rank", "table[digit] < rank"),
    mistake(DIGIT, "digit < DIGITS - 1u", "digit < DIGITS - 2u"),
    mistake(DIGIT, "rank -= table[digit];", ""),
    mistake(DIGIT, "digit << params.shift", "digit"),
    mistake(DIGIT, "table[DIGITS] | (", "(table[DIGITS] & 0u) | ("),
    mistake(DIGIT, "table[DIGITS + 1u] = rank;", ""),
    mistake(DIGIT, "table[DIGITS] = key;", "table[DIGITS + 1u] = key;"),
    mistake(DIGIT, "table[d] = 0u;", ""),
    mistake(DIGIT, "d < DIGITS", "d <= DIGITS"),
    mistake(DIGIT, "element_of(key)", "key"),
    mistake(DIGIT, "select(element, key ^ params.flip_set", "select(element, element"),
    mistake(DIGIT, "if params.shift == 0u {", "if params.shift == 8u {"),
    mistake(TAKE, "key < table[KEY]", "key <= table[KEY]"),
    mistake(TAKE, "key == table[KEY]", "key >= table[KEY]"),
    mistake(TAKE, "table[KEY + 1u] + 1u", "table[KEY + 1u]"),
    mistake(TAKE, "after.x == before.x && (", "("),
    mistake(TAKE, "before.y >= equal", "before.y > equal"),
    mistake(TAKE, "(after.y == before.y || before.y >= equal)", "before.y >= equal"),
    mistake(TAKE, "min(before.y, equal)", "before.y"),
    mistake(TAKE, "before.x + min", "min"),
    mistake(TAKE, "values[place] = x[i];", "values[place] = i;"),
    mistake(TAKE, "places[place] = i;", "places[place] = place;"),
    mistake(TAKE, "S(partials[2u * g], partials[2u * g + 1u])", "S(partials[2u * g + 1u], partials[2u * g])"),
    mistake(TAKE, "states[2u * g + 1u] = state.y;", ""),
    // A barrier of the snippet.
    mistake(TAKE, "    workgroupBarrier();\n    return parts[0];", "    return parts[0];"),
];

/// Number of all elements, and of those in a share: there are two and a half shares.
const ELEMENTS: usize = 500;
const SHARE: usize = 200;
const DIGITS: usize = 256;
/// Value of an element before a launch.
const BEFORE: u32 = 77;
/// Bits that the keys of floats invert.
const FLIPS: [u32; 2] = [1 << 31, u32::MAX];

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, shader, text| match shader {
        COUNT => [24, 16, 0].into_iter().all(|shift| counts(ctx, text, shift)),
        DIGIT => [24, 8, 0]
            .into_iter()
            .all(|shift| [0, 90, 1019].iter().all(|&rank| decides(ctx, text, shift, rank))),
        _ => takes(ctx, text),
    });
}

/// Returns numbers; many have equal high digits, and some are equal. The highest digit of the last one's key is 255.
fn numbers() -> Vec<u32> {
    let number = |i: u32| [0x3F80_0000, 0xBF80_0000, 0x3F81_0000][i as usize % 3] + (i / 6 % 40) * 0x71;
    (1..ELEMENTS as u32).map(number).chain([u32::MAX >> 1]).collect()
}

fn key(bits: u32) -> u32 {
    bits ^ FLIPS[usize::from(bits >> 31 == 1)]
}

/// Returns `true` if the counts of a digit are right.
fn counts(ctx: &Context, text: &str, shift: u32) -> bool {
    let list = numbers();
    let decided = key(0x3F80_0000);
    let mut table: Vec<u32> = (0..DIGITS as u32).chain([decided, 9]).collect();
    let queue = ctx.queue("q");
    // The kernel reads nothing past the last element.
    let x = queue.array(&[&list[..], &[decided]].concat()).unwrap();
    let mut found = queue.array(&table).unwrap();
    let kernel = ctx.kernel_from_with(text, COUNT, &[("WORKGROUP", 16.0)]).unwrap();
    let [n, share] = [ELEMENTS, SHARE].map(|n| n as u32);
    let args = args![
        n = n,
        share = share,
        shift = shift,
        flip_clear = FLIPS[0],
        flip_set = FLIPS[1],
        x = &x,
        table = &mut found
    ];
    queue.launch_dyn(&kernel, Grid::groups([ELEMENTS.div_ceil(SHARE)]), args).unwrap();
    for key in list.into_iter().map(key).filter(|key| ((key ^ decided) >> shift) >> 8 == 0) {
        table[(key >> shift) as usize % DIGITS] += 1;
    }
    queue.read(&found).wait().unwrap() == table
}

/// Returns `true` if the digit of a rank is right. Every fourth digit does not occur.
fn decides(ctx: &Context, text: &str, shift: u32, rank: u32) -> bool {
    let counts: Vec<u32> =
        (0..DIGITS as u32).map(|digit| if digit % 4 == 1 { 0 } else { 3 + digit % 3 }).collect();
    let (decided, later) = if shift == 24 { (0, 5) } else { (0x4500_0000, rank) };
    let table: Vec<u32> = counts.iter().copied().chain([decided, later]).collect();
    let mut rest = rank;
    let mut digit = 0;
    while digit < DIGITS - 1 && counts[digit] <= rest {
        rest -= counts[digit];
        digit += 1;
    }
    let found_key = decided | (digit as u32) << shift;
    let mut expected = vec![0; DIGITS];
    expected.extend([found_key, rest]);
    let queue = ctx.queue("q");
    let mut table = queue.array(&table).unwrap();
    let mut found = queue.array(&[BEFORE]).unwrap();
    let kernel = ctx.kernel_from(text, DIGIT).unwrap();
    let args = args![
        rank = if shift == 24 { rank } else { 1 },
        shift = shift,
        flip_clear = FLIPS[0],
        flip_set = FLIPS[1],
        table = &mut table,
        found = &mut found
    ];
    queue.launch_dyn(&kernel, Grid::groups([1]), args).unwrap();
    let element = queue.read(&found).wait().unwrap()[0];
    let is_element = if shift == 0 { key(element) == found_key } else { element == BEFORE };
    is_element && queue.read(&table).wait().unwrap() == expected
}

/// Returns `true` if the elements up to a rank are right, for several shares and for one.
fn takes(ctx: &Context, text: &str) -> bool {
    let list = numbers();
    let queue = ctx.queue("q");
    let mut keys: Vec<u32> = list.iter().copied().map(key).collect();
    keys.sort();
    let x = queue.array(&list).unwrap();
    [0, 1, 170, 333].into_iter().all(|rank| {
        let equal = keys[..rank].iter().filter(|key| **key == keys[rank]).count() as u32;
        let table: Vec<u32> = vec![BEFORE; DIGITS].into_iter().chain([keys[rank], equal]).collect();
        let table = queue.array(&table).unwrap();
        let mut expected = Vec::new();
        let mut equals = 0;
        for (place, &bits) in list.iter().enumerate() {
            let same = key(bits) == keys[rank];
            if key(bits) < keys[rank] || same && equals <= equal {
                expected.push((bits, place as u32));
            }
            equals += u32::from(same);
        }
        expected.push((BEFORE, BEFORE));
        let run = |stage: f64, share: usize, partials: &DeviceArray<u32>, states: &mut DeviceArray<u32>| {
            let mut out = [(); 2].map(|()| queue.full([rank + 2], BEFORE).unwrap());
            let kernel = ctx.kernel_from_with(text, TAKE, &[("STAGE", stage), ("WORKGROUP", 8.0)]).unwrap();
            let [values, places] = &mut out;
            let args = args![
                n = ELEMENTS as u32,
                share = share as u32,
                flip_clear = FLIPS[0],
                flip_set = FLIPS[1],
                x = &x,
                table = &table,
                partials = partials,
                values = values,
                places = places,
                states = states
            ];
            queue.launch_dyn(&kernel, Grid::groups([ELEMENTS.div_ceil(share)]), args).unwrap();
            let [values, places] = out.map(|array| queue.read(&array).wait().unwrap());
            values.into_iter().zip(places).collect::<Vec<_>>()
        };
        let mut states = queue.zeros([6]).unwrap();
        let mut last = queue.zeros([2]).unwrap();
        run(1.0, SHARE, &table, &mut states);
        run(0.0, SHARE, &states, &mut last) == expected && run(2.0, ELEMENTS, &table, &mut last) == expected
    })
}
