//! Tests of the algorithms: each verb equals its host function, within the bound of its documentation.

mod axis;
mod axis_kinds;
mod axis_search;
mod bodies;
mod by_key;
mod channels;
mod elementwise;
mod everywhere;
mod everywhere_matmul;
mod exact_sums;
mod filters;
mod fourier;
mod guards;
mod histogram;
mod inner_product;
mod interference;
mod launches;
mod linear_algebra;
mod linear_algebra_edges;
mod map;
mod map_inputs;
mod matmul;
mod memory;
mod monoid;
#[cfg(feature = "validation")]
mod mutant_calls;
#[cfg(feature = "validation")]
mod mutants;
#[cfg(feature = "validation")]
mod mutants_detected;
mod numbers;
mod over;
mod part_lists;
mod part_verbs;
mod parts;
mod products;
mod quantiles;
mod random;
mod rearrange;
mod reduce;
mod rolling;
mod scan;
mod scan_segments;
mod search;
mod segment_kinds;
mod segments;
mod select;
mod signals;
mod sort;
mod sort_segments;
mod sorted;
mod sparse;
mod strided;
mod telescope;
#[cfg(not(target_arch = "wasm32"))]
mod trusted;
#[cfg(target_arch = "wasm32")]
no_page!(trusted, "algorithms/trusted.rs", NO_DRIVER);
mod tuning;
#[cfg(feature = "validation")]
mod tuning_search;
mod verb_names;
mod verb_table;
mod verbs;
mod warm_up;
mod weighted;
mod wide;

use crate::common::full::large;
use crate::common::{Case, Subject, case, dump, host_side};
use fencepost::algorithms::{Candidates, Over};
#[cfg(feature = "validation")]
use fencepost::algorithms::{Forced, with_forced};
use fencepost::prelude::*;
use fencepost_oracles::{self as host, Nan};
use std::fmt::Debug;

pub fn cases() -> Vec<Case> {
    let on_cpu = [
        guards::cases(),
        #[cfg(feature = "validation")]
        mutants_detected::cases(),
    ];
    let on_cpu = host_side(on_cpu.concat());
    let on_cpu = on_cpu.into_iter().map(|case| case.native_only("the case opens its own context on the CPU"));
    let on_cpu = on_cpu.collect();
    [
        reduce::cases(),
        search::cases(),
        inner_product::cases(),
        interference::cases(),
        axis::cases(),
        axis_kinds::cases(),
        axis_search::cases(),
        bodies::cases(),
        channels::cases(),
        elementwise::cases(),
        everywhere::cases(),
        everywhere_matmul::cases(),
        exact_sums::cases(),
        filters::cases(),
        fourier::cases(),
        map::cases(),
        map_inputs::cases(),
        matmul::cases(),
        memory::cases(),
        monoid::cases(),
        verb_names::cases(),
        verbs::cases(),
        launches::cases(),
        linear_algebra::cases(),
        linear_algebra_edges::cases(),
        numbers::cases(),
        over::cases(),
        part_lists::cases(),
        part_verbs::cases(),
        parts::cases(),
        products::cases(),
        quantiles::cases(),
        random::cases(),
        rearrange::cases(),
        rolling::cases(),
        scan::cases(),
        scan_segments::cases(),
        select::cases(),
        signals::cases(),
        by_key::cases(),
        segments::cases(),
        segment_kinds::cases(),
        histogram::cases(),
        sort::cases(),
        sort_segments::cases(),
        sorted::cases(),
        sparse::cases(),
        strided::cases(),
        telescope::cases(),
        trusted::cases(),
        tuning::cases(),
        #[cfg(feature = "validation")]
        tuning_search::cases(),
        warm_up::cases(),
        weighted::cases(),
        wide::cases(),
        on_cpu,
    ]
    .concat()
}

/// Runs a case. On the CPU recorder, which interprets the kernels of few elements, verbs divide few elements into several
/// shares meanwhile, so that they take the scratch memory that they take for many elements elsewhere.
#[cfg(feature = "validation")]
pub fn with_shares(s: &Subject, run: impl FnOnce()) {
    if s.is_cpu() { with_forced(Forced { card: false, small: true }, run) } else { run() }
}

/// Runs a case. Without the feature, nothing forces the verbs to divide few elements.
#[cfg(not(feature = "validation"))]
pub fn with_shares(_: &Subject, run: impl FnOnce()) {
    run();
}

/// Calls `run` with the kernels of the place. On the CPU, which compiles quickly, also with those of other devices, and
/// with shares of few elements.
#[cfg(feature = "validation")]
fn with_forms(s: &Subject, mut run: impl FnMut()) {
    run();
    let is_quick = s.is_cpu() || s.place().is_native();
    for (card, small) in [(false, true), (true, true), (true, false)] {
        if is_quick || large() {
            with_forced(Forced { card, small }, &mut run);
        }
    }
}

/// Calls `run`. Without the feature, nothing forces other kernels.
#[cfg(not(feature = "validation"))]
fn with_forms(_: &Subject, mut run: impl FnMut()) {
    run();
}

/// Makes a queue fail, and checks that a verb without results returns the error of the queue.
fn check_of_failed(s: &Subject, verb: impl Fn(&Context, &CommandQueue) -> Result<()>) {
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
type Verb = fn(&CommandQueue, &DeviceArray<u32>, &mut DeviceArray<u32>) -> Result<()>;

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

/// Returns the shape of the results along an axis.
fn reduced<const D: usize>(mut shape: [usize; D], axis: usize) -> [usize; D] {
    shape[axis] = 1;
    shape
}

/// Returns numbers with all bits in use, different ones in each round.
fn scrambled(len: usize, round: i32) -> Vec<i32> {
    (0..len as i32).map(|i| (i ^ round).wrapping_mul(-1_640_531_527)).collect()
}

/// Returns the list with 64 guard elements before and after it.
fn around<T: Copy>(list: &[T], guard: T) -> Vec<T> {
    [&[guard; 64][..], list, &[guard; 64]].concat()
}

/// Returns the part of an array between its guard elements.
fn inside<T: Element>(array: &DeviceArray<T>) -> DeviceArray<T> {
    array.slice(64..array.len() - 64).unwrap()
}

/// Calls a verb that writes `len` results between guard elements. Returns the results, and checks that the guard elements
/// are unchanged.
#[track_caller]
fn guarded<T: Reducible + Debug>(
    queue: &CommandQueue,
    len: usize,
    verb: impl FnOnce(&mut DeviceArray<T>) -> Result<()>,
) -> Vec<T> {
    let all = queue.full([len + 128], T::ONE).unwrap();
    verb(&mut inside(&all)).unwrap();
    let mut list = queue.read(&all).wait().unwrap();
    let after = list.split_off(64 + len);
    let results = list.split_off(64);
    assert_eq!((list, after), (vec![T::ONE; 64], vec![T::ONE; 64]), "{len} results");
    results
}

/// Returns all of them in the full suite, and otherwise one, which changes with `at`.
fn some<T>(all: &[T], at: usize) -> &[T] {
    if large() { all } else { &all[at % all.len()..][..1] }
}

/// Captures a call, replays it for each of the lists, and compares the results with those of the call on the queue.
/// `check` compares them with the host's.
fn check_replays<T: Element, U: Element + PartialEq, const D: usize>(
    queue: &CommandQueue,
    mut x: DeviceArray<T, D>,
    results: usize,
    enqueue: impl Fn(&CommandQueue, &DeviceArray<T, D>, &DeviceArray<U>) -> Result<()>,
    lists: impl IntoIterator<Item = Vec<T>>,
    check: impl Fn(&[T], &[U]),
) {
    let [out, eager] = [(); 2].map(|()| queue.zeros::<U, 1>([results]).unwrap());
    let (graph, ()) = queue.capture(|c| enqueue(c, &x, &out)).unwrap();
    for (round, list) in lists.into_iter().enumerate() {
        queue.upload(&list, &mut x).unwrap();
        queue.replay(&graph).unwrap();
        enqueue(queue, &x, &eager).unwrap();
        let found = queue.read(&out).wait().unwrap();
        assert!(found == queue.read(&eager).wait().unwrap(), "{} elements, round {round}", list.len());
        check(&list, &found);
    }
}

/// Calls a verb several times, every second time beside calls on another queue, and checks that its `len` results have the
/// same bits.
#[track_caller]
fn check_same_bits(
    ctx: &Context,
    queue: &CommandQueue,
    len: usize,
    verb: impl Fn(&CommandQueue, &mut DeviceArray<f32>) -> Result<()>,
) {
    let other = ctx.queue("other");
    let [mut out, mut spare] = [(); 2].map(|()| queue.zeros([len]).unwrap());
    other.wait_for(queue).unwrap();
    let mut expected: Option<Vec<u32>> = None;
    for round in 0..4 {
        if round % 2 == 1 {
            (0..3).for_each(|_| verb(&other, &mut spare).unwrap());
            other.flush().unwrap();
        }
        queue.fill(&mut out, f32::NAN).unwrap();
        verb(queue, &mut out).unwrap();
        let found: Vec<u32> = queue.read(&out).wait().unwrap().into_iter().map(f32::to_bits).collect();
        assert_eq!(found, *expected.get_or_insert_with(|| found.clone()), "round {round}");
    }
    other.finish().wait().unwrap();
}

/// Length of an axis whose product with another length is larger than any number of elements.
const MANY: usize = usize::MAX / 2;

/// Initial value of the words of result arrays.
const BEFORE: u32 = 0x5A5A_5A5A;

/// Arrays of results: `E` with elements, and `W` with words.
struct Outputs<T: Reducible, const E: usize, const W: usize> {
    elements: [DeviceArray<T>; E],
    words: [DeviceArray<u32>; W],
}

impl<T: Reducible, const E: usize, const W: usize> Outputs<T, E, W> {
    /// Returns arrays of these lengths.
    fn new(queue: &CommandQueue, elements: [usize; E], words: [usize; W]) -> Self {
        let array = |len: usize| queue.array(bytemuck::cast_slice::<u32, T>(&vec![BEFORE; len])).unwrap();
        let words = words.map(|len| queue.full([len], BEFORE).unwrap());
        Self { elements: elements.map(array), words }
    }

    /// Returns the words of each array.
    fn read(&self, queue: &CommandQueue) -> Vec<Vec<u32>> {
        let elements = self.elements.iter().map(|array| array.cast_bits::<u32>());
        elements.chain(self.words.iter().cloned()).map(|array| queue.read(&array).wait().unwrap()).collect()
    }
}

/// Returns the words of a list, and [`BEFORE`] up to a length.
fn padded<T: Reducible>(list: &[T], len: usize) -> Vec<u32> {
    let mut words = bytemuck::cast_slice::<T, u32>(list).to_vec();
    words.resize(len, BEFORE);
    words
}
