//! Tests of the algorithms: each verb equals its host function, within the bound of its documentation.

mod axis;
mod axis_kinds;
mod axis_search;
mod by_key;
mod elementwise;
mod guards;
mod histogram;
mod inner_product;
mod launches;
mod map;
mod memory;
mod monoid;
mod mutated;
mod mutated_axis;
mod mutated_axis_search;
mod mutated_by_key;
mod mutated_elementwise;
mod mutated_fold;
mod mutated_histogram;
mod mutated_kinds;
mod mutated_parts;
mod mutated_random;
mod mutated_ranks;
mod mutated_rearrange;
mod mutated_scan;
mod mutated_segments;
mod mutated_select;
mod mutated_shares;
mod mutated_sort;
mod mutated_sorted;
mod mutated_weighted;
mod mutated_wide;
mod numbers;
mod over;
mod part_lists;
mod parts;
mod products;
mod random;
mod rearrange;
mod reduce;
mod scan;
mod scan_segments;
mod search;
mod segment_kinds;
mod segments;
mod select;
mod sort;
mod sort_segments;
mod sorted;
mod strided;
mod trusted;
mod verb_names;
mod verb_table;
mod verbs;
mod warm_up;
mod weighted;
mod wide;

use crate::common::full::large;
use crate::common::{Case, Subject, dump, host_side};
use fencepost::Element;
use fencepost::algorithms::{Candidates, Over};
use fencepost::prelude::*;
use fencepost::{ErrorDetail, Policy};
use fencepost_oracles::Nan;

pub fn cases() -> Vec<Case> {
    let mutated = [
        guards::cases(),
        mutated::cases(),
        mutated_shares::cases(),
        mutated_axis::cases(),
        mutated_axis_search::cases(),
        mutated_elementwise::cases(),
        mutated_fold::cases(),
        mutated_random::cases(),
        mutated_ranks::cases(),
        mutated_rearrange::cases(),
        mutated_scan::cases(),
        mutated_select::cases(),
        mutated_by_key::cases(),
        mutated_segments::cases(),
        mutated_histogram::cases(),
        mutated_kinds::cases(),
        mutated_parts::cases(),
        mutated_sort::cases(),
        mutated_sorted::cases(),
        mutated_weighted::cases(),
        mutated_wide::cases(),
    ];
    let mutated = host_side(mutated.concat());
    let mutated =
        mutated.into_iter().map(|case| case.native_only("the case opens its own context on the CPU"));
    let mutated = mutated.collect();
    [
        reduce::cases(),
        search::cases(),
        inner_product::cases(),
        axis::cases(),
        axis_kinds::cases(),
        axis_search::cases(),
        elementwise::cases(),
        map::cases(),
        memory::cases(),
        monoid::cases(),
        verb_names::cases(),
        verbs::cases(),
        launches::cases(),
        numbers::cases(),
        over::cases(),
        part_lists::cases(),
        parts::cases(),
        products::cases(),
        random::cases(),
        rearrange::cases(),
        scan::cases(),
        scan_segments::cases(),
        select::cases(),
        by_key::cases(),
        segments::cases(),
        segment_kinds::cases(),
        histogram::cases(),
        sort::cases(),
        sort_segments::cases(),
        sorted::cases(),
        strided::cases(),
        trusted::cases(),
        warm_up::cases(),
        weighted::cases(),
        wide::cases(),
        mutated,
    ]
    .concat()
}

/// Makes a queue fail, and checks that a verb without results returns the error of the queue.
fn check_of_failed(s: &Subject, verb: impl Fn(&Context, &CommandQueue) -> fencepost::Result<()>) {
    let (ctx, queue) = s.with_queue("failed");
    verb(&ctx, &queue).expect("no results are none of a queue that works");
    queue.wait_for(&ctx.user_event("abandoned").event()).unwrap();
    queue.finish().wait().unwrap_err();
    let error = verb(&ctx, &queue).expect_err("the queue has failed");
    assert!(matches!(error.detail(), ErrorDetail::Abandoned { .. }), "{error}");
    queue.take_error().expect("the error of the queue");
}

/// Lists fewer numbers of elements, for cases that call several verbs with each.
fn few_lengths() -> Vec<usize> {
    if large() { lengths() } else { vec![1, 255, 256, 257, 4097, 16_384, 16_385, 20_481] }
}

/// Lists numbers of elements around multiples of workgroup sizes and shares. The full suite has more of them.
fn lengths() -> Vec<usize> {
    let some = vec![1, 2, 3, 16, 255, 256, 257, 1025, 4096, 4097, 16_384, 16_385, 20_481, 34_567];
    if !large() {
        return some;
    }
    let borders = [512, 1024, 4096, 8192, 16_384, 20_480, 1 << 17];
    let around = borders.iter().flat_map(|&border| border - 2..border + 3);
    (4..=15).chain(some).chain(around).chain([53, 500, 11_001, (1 << 20) + 123, (1 << 22) + 4097]).collect()
}

/// A verb that reads the first array and writes the second one.
type Verb = fn(&CommandQueue, &DeviceArray<u32>, &mut DeviceArray<u32>) -> fencepost::Result<()>;

/// Checks that verbs with a hazard enqueue nothing. Both arrays have `len` elements.
fn enqueue_nothing_with_a_hazard(s: &Subject, len: usize, verbs: &[Verb]) {
    let ctx = s.ctx_with(Policy::Checked);
    let one = ctx.queue("one");
    let two = ctx.queue("two");
    let x = one.zeros([len]).unwrap();
    let mut out = one.full([len], 5).unwrap();
    two.wait_for(&one).unwrap();
    one.fill(&mut out, 6).unwrap();
    let before = dump::enqueued(&ctx, "two");
    for (at, verb) in verbs.iter().enumerate() {
        let error = verb(&two, &x, &mut out).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Hazard { .. }), "verb {at}: {error}");
        assert_eq!(dump::enqueued(&ctx, "two"), before, "verb {at}");
    }
    two.wait_for(&one).unwrap();
    for verb in verbs {
        verb(&two, &x, &mut out).unwrap();
    }
    assert_ne!(dump::enqueued(&ctx, "two"), before);
    two.finish().wait().unwrap();
}

/// Returns the elements with the treatment of NaNs.
fn treated<'a, T: Element, const D: usize>(x: impl Into<Over<'a, T, D>>, nan: Nan) -> Candidates<'a, T, D> {
    match nan {
        Nan::Ignore => x.into().skip_nan(),
        Nan::Propagate => x.into().into(),
    }
}
