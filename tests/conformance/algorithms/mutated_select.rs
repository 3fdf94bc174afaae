//! A09: a mistake in the kernel of selections is detected.

use super::mutated::{Mistake, all_caught, mistake};
use super::mutated_scan::staged;
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![case("a09_each_mistake_in_the_kernel_of_selections_is_caught", caught)]
}

pub(super) const MISTAKES: &[Mistake] = &[
    mistake("compact", "i == 0u || x[i] != x[i - 1u]", "i > 0u && x[i] != x[i - 1u]"),
    mistake("compact", "x[i] != x[i - 1u]", "mask[i] != mask[i - 1u]"),
    mistake("compact", "(mask[i] & BITS) != 0u", "mask[i] != 0u"),
    mistake("compact", "return a + b;", "return max(a, b);"),
    mistake("compact", "return partials[g];", "return partials[0];"),
    mistake("compact", "if !kept && OTHERS == 0u { return; }", ""),
    mistake("compact", "if !kept && OTHERS == 0u", "if !kept"),
    mistake("compact", "if PLACES == 0u { element = x[i]; }", "element = x[i];"),
    mistake("compact", "if PLACES == 0u { element = x[i]; }", ""),
    mistake("compact", "others + i - before", "i - before"),
    mistake("compact", "others + i - before", "others + i"),
    mistake("compact", "{ counts[0] = all; }", "{ }"),
    mistake("compact", "counts[g] = state", "counts[0] = state"),
    mistake("compact", "(params.n + params.share - 1u) / params.share", "params.n / params.share"),
    mistake("compact", "others = fold_share(0u, lane)", "others = 0u"),
    mistake("compact", "run_stage(group.x, lane)", "run_stage(0u, lane)"),
    // The other mistakes are in snippets; those in `scan_share` are in the list of scans.
    mistake("compact", "before = fold_partials(g, lane)", "before = identity()"),
    mistake("compact", "before = fold_partials(g, lane)", "before = fold_partials(g + 1u, lane)"),
    mistake("compact", "if lane == 0u { keep_partial", "if lane == 0u && g > 0u { keep_partial"),
    mistake("compact", "let state = fold_share(g, lane)", "let state = fold_share(0u, lane)"),
    mistake("compact", "scan_share(g, lane, before)", "scan_share(0u, lane, before)"),
    mistake("compact", "scan_share(g, lane, before)", "scan_share(g, lane, identity())"),
    mistake("compact", "    workgroupBarrier();\n    parts[lane] = own;", "    parts[lane] = own;"),
    mistake("compact", "        workgroupBarrier();\n        if lane %", "        if lane %"),
    mistake("compact", "    workgroupBarrier();\n    return parts[0];", "    return parts[0];"),
    mistake("compact", "lane % (2u * distance) == 0u", "lane % distance == 0u"),
    mistake("compact", "combined(parts[lane], parts[lane + distance])", "parts[lane + distance]"),
    mistake("compact", "min(end, first + (lane + 1u) * each)", "first + (lane + 1u) * each"),
    mistake("compact", "min(count, (lane + 1u) * each)", "(lane + 1u) * each"),
    mistake("compact", "- first + WORKGROUP - 1u) / WORKGROUP", "- first) / WORKGROUP"),
    mistake("compact", "(count + WORKGROUP - 1u) / WORKGROUP", "count / WORKGROUP"),
    mistake("compact", "combined(part, load(i))", "load(i)"),
    mistake("compact", "combined(all, part)", "part"),
    mistake("compact", "block += BLOCK", "block += BLOCK + 1u"),
    mistake("compact", "min(last, block + BLOCK)", "last"),
    mistake("compact", "min(last, block + BLOCK)", "block + BLOCK"),
    mistake("compact", "combined(all, partial(g))", "partial(g)"),
    mistake("compact", "state = fold_blocks(first, end, lane)", "state = fold_blocks(first, params.n, lane)"),
    // The variant that stages elements in workgroup memory.
    mistake("compact", "state = fold_tiles(first, end, lane)", "state = fold_tiles(first, params.n, lane)"),
    mistake("compact", "min(end - tile, WORKGROUP * STAGED)", "WORKGROUP * STAGED"),
    mistake("compact", "all = combined(all, fold_lanes", "all = combined(identity(), fold_lanes"),
    mistake("compact", "staged_total(tile, count, lane)", "staged_total(first, count, lane)"),
];

/// Number of invocations of a workgroup: fewer than usual, because the checks take time for each invocation.
const WORKGROUP: u32 = 8;
/// Number of elements of a share: more than a block of each invocation, and not a multiple of the workgroup.
const SHARE: usize = 142;
/// Number of elements: more shares than invocations, and a shorter last share.
const ELEMENTS: usize = 10 * SHARE + 13;

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, _, text| {
        let list: Vec<u32> = (0..=ELEMENTS as u32).map(|i| (i / 3) % 7 * 0x2000_0001).collect();
        let mask: Vec<u32> =
            (0..=ELEMENTS as u32).map(|i| [0, 0x8000_0000, 6][(i * i % 11 % 3) as usize]).collect();
        [text, &staged(text)].into_iter().all(|text| {
            VERBS.iter().all(|verb| {
                is_right(ctx, text, verb, SHARE, &list, &mask)
                    && is_right(ctx, text, verb, ELEMENTS, &list, &mask)
            })
        })
    });
}

/// Host function from a list and a mask to the elements and their count.
type OfHost = fn(&[u32], &[u32]) -> (Vec<u32>, usize);

/// Overrides of a verb, and its host function.
struct Verb {
    overrides: [(&'static str, f64); 4],
    of_host: OfHost,
}

const fn overrides(heads: f64, bits: f64, places: f64, others: f64) -> [(&'static str, f64); 4] {
    [("HEADS", heads), ("BITS", bits), ("PLACES", places), ("OTHERS", others)]
}

const VERBS: [Verb; 4] = [
    Verb {
        overrides: overrides(0.0, 4_294_967_295.0, 0.0, 0.0),
        of_host: |x, mask| counted(host::select(x, mask)),
    },
    Verb { overrides: overrides(0.0, 4_294_967_295.0, 0.0, 1.0), of_host: host::partition },
    Verb { overrides: overrides(1.0, 4_294_967_295.0, 0.0, 0.0), of_host: |x, _| counted(host::unique(x)) },
    Verb {
        overrides: overrides(0.0, 2_147_483_647.0, 1.0, 0.0),
        of_host: |_, mask| {
            let places = host::nonzero(&mask.iter().map(|mask| mask << 1).collect::<Vec<u32>>());
            counted(places.into_iter().map(|place| place as u32).collect())
        },
    },
];

fn counted(elements: Vec<u32>) -> (Vec<u32>, usize) {
    let count = elements.len();
    (elements, count)
}

/// Compares the results of a verb with the host's, for an array of one share or of several.
fn is_right(ctx: &Context, text: &str, verb: &Verb, share: usize, list: &[u32], mask: &[u32]) -> bool {
    const BEFORE: u32 = 0x5A5A_5A5A;
    let queue = ctx.queue("q");
    let x = queue.array(list).unwrap();
    let mask_array = queue.array(mask).unwrap();
    let mut out = queue.full([ELEMENTS + 1], BEFORE).unwrap();
    let mut count = queue.full([1], BEFORE).unwrap();
    let shares = ELEMENTS.div_ceil(share);
    let mut counts = queue.full([shares], BEFORE).unwrap();
    let mut launch = |stage: f64, partials: &DeviceArray<u32>, counts: &mut DeviceArray<u32>| {
        let overrides =
            [&verb.overrides[..], &[("STAGE", stage), ("WORKGROUP", f64::from(WORKGROUP))]].concat();
        let kernel = ctx.kernel_from_with(text, "compact", &overrides).unwrap();
        let args = args![
            n = ELEMENTS as u32,
            share = share as u32,
            x = &x,
            mask = &mask_array,
            partials = partials,
            out = &mut out,
            counts = counts
        ];
        queue.launch_dyn(&kernel, Grid::groups([shares]), args).unwrap();
    };
    if shares == 1 {
        launch(2.0, &mask_array, &mut count);
    } else {
        launch(1.0, &mask_array, &mut counts);
        launch(0.0, &counts, &mut count);
    }
    let (mut expected, kept) = (verb.of_host)(&list[..ELEMENTS], &mask[..ELEMENTS]);
    expected.resize(ELEMENTS + 1, BEFORE);
    queue.read(&out).wait().unwrap() == expected && queue.read(&count).wait().unwrap() == [kept as u32]
}
