//! A01, A17: verbs on parts of arrays, whose number of elements is on the device.

use crate::common::full::large;
use crate::common::{Case, Subject, case, dump};
use fencepost::algorithms::{Prefix, Reducible};
use fencepost::prelude::*;
use fencepost::{AdapterChoice, CheckOptions, ErrorDetail, Result};
use fencepost_oracles::{self as host, Nan};
use std::fmt::Debug;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_verb_on_a_part_enqueues_nothing", refused),
        case("a01_a_verb_with_a_hazard_takes_no_memory_of_another_queue", hazard),
        case("a17_verbs_on_parts_of_integers_equal_those_of_the_host_on_the_first_elements", integers),
        case("a17_verbs_on_parts_of_floats_equal_those_of_the_host_on_the_first_elements", floats),
        case("a17_a_nan_after_the_part_changes_no_result", nans),
        case("a17_a_part_of_an_array_without_elements_has_the_result_of_no_elements", without_elements),
        case("a17_each_replay_reads_the_count_of_its_own_time", in_a_graph),
        case("a17_a_part_reads_the_count_that_an_earlier_verb_wrote", chained),
        case("a17_a_check_finds_nothing_in_the_kernels_of_parts", checked)
            .native_only("the case opens its own context on the CPU"),
    ]
}

/// Initial value of result arrays.
const BEFORE: u32 = 0x5A5A_5A5A;

/// Results of all verbs as words.
#[derive(PartialEq, Debug)]
struct Results {
    /// The sum, the product, the smallest and the largest element.
    reduced: [u32; 4],
    /// The number of nonzero elements, and 1 or 0 for "any" and "all" of them.
    nonzero: [u32; 3],
    /// An inclusive, an exclusive and a reversed scan, the sorted elements and the mapped ones.
    lists: [Vec<u32>; 5],
    selected: (Vec<u32>, u32),
    unique: (Vec<u32>, u32),
    /// The runs with their lengths, and their number.
    runs: (Vec<u32>, Vec<u32>, u32),
}

/// An expression that both the device and the host compute exactly.
const EXPRESSION: &str = "select(x, -x, i % 2u == 1u)";

/// Arrays of the results.
struct Outputs<T: Reducible> {
    reduced: [DeviceArray<T>; 4],
    nonzero: [DeviceArray<u32>; 3],
    lists: [DeviceArray<T>; 5],
    kept: [DeviceArray<T>; 3],
    lengths: DeviceArray<u32>,
    counts: [DeviceArray<u32>; 3],
}

impl<T: Reducible> Outputs<T> {
    fn new(queue: &CommandQueue, len: usize) -> Self {
        let list = || queue.array(bytemuck::cast_slice::<u32, T>(&vec![BEFORE; len])).unwrap();
        let one = || queue.array(bytemuck::cast_slice::<u32, T>(&[BEFORE])).unwrap();
        let word = || queue.full([1], BEFORE).unwrap();
        Self {
            reduced: [(); 4].map(|()| one()),
            nonzero: [(); 3].map(|()| word()),
            lists: [(); 5].map(|()| list()),
            kept: [(); 3].map(|()| list()),
            lengths: queue.full([len], BEFORE).unwrap(),
            counts: [(); 3].map(|()| word()),
        }
    }

    /// Enqueues each verb.
    fn enqueue(
        &mut self,
        queue: &CommandQueue,
        x: Prefix<'_, T>,
        mask: &DeviceArray<u32>,
        map: &str,
    ) -> Result<()> {
        let [sum, product, least, most] = &mut self.reduced;
        queue.sum(x, sum)?;
        queue.prod(x, product)?;
        queue.min(x, least)?;
        queue.max(x, most)?;
        let [count, any, all] = &mut self.nonzero;
        queue.count_nonzero(x, count)?;
        queue.any(x, any)?;
        queue.all(x, all)?;
        let [inclusive, exclusive, reversed, sorted, mapped] = &mut self.lists;
        queue.scan(x, inclusive, Scan::inclusive(Operation::Sum))?;
        queue.scan(x, exclusive, Scan::exclusive(Operation::Smallest))?;
        queue.scan(x, reversed, Scan::inclusive(Operation::Largest).reversed())?;
        queue.sort(x, sorted, Sort::descending())?;
        queue.map(x, map, mapped)?;
        let ([selected, unique, runs], [masked, heads, lengths]) = (&mut self.kept, &mut self.counts);
        queue.select(x, mask, selected, masked)?;
        queue.unique(x, unique, heads)?;
        queue.run_lengths(x, runs, &mut self.lengths, lengths)
    }

    fn read(&self, queue: &CommandQueue) -> Results {
        let words = |list: &DeviceArray<T>| queue.read(&list.cast_bits::<u32>()).wait().unwrap();
        let list = |list: &DeviceArray<u32>| queue.read(list).wait().unwrap();
        let [selected, unique, runs] = &self.kept;
        let [masked, heads, lengths] = &self.counts;
        Results {
            reduced: [0, 1, 2, 3].map(|at| words(&self.reduced[at])[0]),
            nonzero: [0, 1, 2].map(|at| list(&self.nonzero[at])[0]),
            lists: [0, 1, 2, 3, 4].map(|at| words(&self.lists[at])),
            selected: (words(selected), list(masked)[0]),
            unique: (words(unique), list(heads)[0]),
            runs: (words(runs), list(&self.lengths), list(lengths)[0]),
        }
    }
}

/// Returns the results of the host. The elements after the results are unchanged.
fn expected<T: Reducible>(whole: &[T], count: usize, mask: &[u32], map: impl Fn(T, u32) -> T) -> Results {
    let list = &whole[..count.min(whole.len())];
    let word = |element: T| bytemuck::cast::<T, u32>(element);
    let padded = |list: &[T]| {
        let words = list.iter().map(|&element| word(element));
        words.chain(std::iter::repeat(BEFORE)).take(whole.len()).collect::<Vec<u32>>()
    };
    let scan = |scan| padded(&host::scan(list, scan));
    let least = host::scan(&[T::ONE], Scan::exclusive(Operation::Smallest))[0];
    let most = host::scan(&[T::ONE], Scan::exclusive(Operation::Largest))[0];
    let selected = host::select(list, mask);
    let unique = host::unique(list);
    let (runs, lengths) = host::run_lengths(list);
    let mut all_lengths: Vec<u32> = lengths.iter().map(|&length| length as u32).collect();
    all_lengths.resize(whole.len(), BEFORE);
    Results {
        reduced: [
            word(host::sum(list)),
            word(host::prod(list)),
            word(host::min(list, Nan::Propagate).unwrap_or(least)),
            word(host::max(list, Nan::Propagate).unwrap_or(most)),
        ],
        nonzero: [host::count_nonzero(list) as u32, u32::from(host::any(list)), u32::from(host::all(list))],
        lists: [
            scan(Scan::inclusive(Operation::Sum)),
            scan(Scan::exclusive(Operation::Smallest)),
            scan(Scan::inclusive(Operation::Largest).reversed()),
            padded(&host::sort(list, Sort::descending()).unwrap()),
            padded(&host::map(list, map)),
        ],
        selected: (padded(&selected), selected.len() as u32),
        unique: (padded(&unique), unique.len() as u32),
        runs: (padded(&runs), all_lengths, runs.len() as u32),
    }
}

/// Lists counts from zero to more than there are elements, around multiples of workgroup sizes and shares.
pub(super) fn counts(len: usize) -> Vec<usize> {
    let mut counts = if large() {
        vec![0, 1, 255, 4095, 4096, 4097, 8192, len / 2, len.saturating_sub(1), len]
    } else {
        vec![0, 255, 4096, 4097]
    };
    counts.retain(|&count| count <= len);
    counts.push(if len > 1000 { u32::MAX as usize } else { len + 1 });
    counts
}

fn compare<T: Reducible + Debug>(
    queue: &CommandQueue,
    list: &[T],
    text: &str,
    map: impl Fn(T, u32) -> T + Copy,
) {
    let mask: Vec<u32> = (0..list.len() as u32).map(|i| i * i % 3).collect();
    let x = queue.array(list).unwrap();
    let mask_array = queue.array(&mask).unwrap();
    for count in counts(list.len()) {
        let on_device = queue.array(&[count as u32]).unwrap();
        let mut outputs = Outputs::new(queue, list.len());
        outputs.enqueue(queue, x.first(&on_device), &mask_array, text).unwrap();
        let found = outputs.read(queue);
        let expected = expected(list, count, &mask, map);
        assert!(found == expected, "{count} of {} elements", list.len());
    }
}

fn integers(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(17);
    for len in if large() { vec![1, 16, 256, 257, 4097, 16_384, 16_385, 34_567] } else { vec![257, 20_481] } {
        let list: Vec<i32> = (0..len).map(|_| rng.i32(-2..3)).collect();
        compare(&queue, &list, EXPRESSION, |x, i| if i % 2 == 1 { -x } else { x });
    }
    let list: Vec<u32> = (0..if large() { 20_481 } else { 300 }).map(|_| rng.u32(..) | 1).collect();
    compare(&queue, &list, "x ^ i", |x, i| x ^ i);
}

fn floats(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(18);
    for len in if large() { vec![300, 20_481] } else { vec![300] } {
        // Each sum is an integer and exact in any order, and each product is 1 or -1.
        let list: Vec<f32> = (0..len).map(|_| if rng.bool() { 1.0 } else { -1.0 }).collect();
        compare(&queue, &list, EXPRESSION, |x, i| if i % 2 == 1 { -x } else { x });
    }
}

fn nans(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [300_usize, 20_481] {
        let mut list: Vec<f32> = (0..len).map(|i| i as f32).collect();
        list[len / 2..].fill(f32::NAN);
        let x = queue.array(&list).unwrap();
        for (count, is_nan) in [(len / 2, false), (len / 2 + 1, true), (1, false)] {
            let on_device = queue.array(&[count as u32]).unwrap();
            let mut least = queue.zeros([1]).unwrap();
            let mut most = queue.zeros([1]).unwrap();
            queue.min(x.first(&on_device), &mut least).unwrap();
            queue.max(x.first(&on_device), &mut most).unwrap();
            let found = [&least, &most].map(|one| queue.read(one).wait().unwrap()[0]);
            match is_nan {
                true => assert!(found.iter().all(|number| number.is_nan()), "{found:?}"),
                false => assert_eq!(found, [0.0, count as f32 - 1.0]),
            }
        }
    }
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [300, 4200] {
        let mut x = queue.zeros::<u32, 1>([len]).unwrap();
        let mask: Vec<u32> = (0..len as u32).map(|i| i % 3).collect();
        let mask_array = queue.array(&mask).unwrap();
        let mut count = queue.zeros([1]).unwrap();
        let mut outputs = Outputs::new(&queue, len);
        let (graph, ()) =
            queue.capture(|c| outputs.enqueue(c, x.first(&count), &mask_array, "x + i")).unwrap();
        // The part becomes longer with each replay: a shorter one would leave results of the previous replay.
        for round in 0..3_u32 {
            let list: Vec<u32> = (0..len as u32).map(|i| (i ^ round) * 3 % 50).collect();
            let elements = len as u32 * (round + 1) / 3;
            queue.upload(&list, &mut x).unwrap();
            queue.upload(&[elements], &mut count).unwrap();
            queue.replay(&graph).unwrap();
            let found = outputs.read(&queue);
            let expected = expected(&list, elements as usize, &mask, |x, i| x + i);
            assert_eq!((found.reduced, found.nonzero), (expected.reduced, expected.nonzero));
            assert!(found.lists == expected.lists, "{elements} of {len} elements");
            assert_eq!(found.runs.2, expected.runs.2);
        }
    }
}

fn chained(s: &Subject) {
    let queue = s.ctx().queue("q");
    let len = 20_481;
    let list: Vec<u32> = (0..len as u32).map(|i| i.wrapping_mul(0x9E37_79B9) >> 20).collect();
    let mask: Vec<u32> = list.iter().map(|x| x % 2).collect();
    let x = queue.array(&list).unwrap();
    let mask_array = queue.array(&mask).unwrap();
    let array = || queue.zeros::<u32, 1>([len]).unwrap();
    let mut odd = array();
    let mut sorted = array();
    let mut kept = array();
    let mut lengths = array();
    let [mut count, mut runs, mut most] = [(); 3].map(|()| queue.zeros::<u32, 1>([1]).unwrap());
    queue.select(&x, &mask_array, &mut odd, &mut count).unwrap();
    queue.sort(odd.first(&count), &mut sorted, Sort::ascending()).unwrap();
    queue.run_lengths(sorted.first(&count), &mut kept, &mut lengths, &mut runs).unwrap();
    queue.max(lengths.first(&runs), &mut most).unwrap();
    let sorted = host::sort(&host::select(&list, &mask), Sort::ascending()).unwrap();
    let expected = host::run_lengths(&sorted).1.into_iter().max().unwrap();
    assert_eq!(queue.read(&most).wait().unwrap(), [expected as u32]);
}

fn without_elements(s: &Subject) {
    let queue = s.ctx().queue("q");
    let integers = queue.zeros::<i32, 1>([0]).unwrap();
    let floats = queue.zeros::<f32, 1>([0]).unwrap();
    // A count past the end of an array counts as the length of the array.
    for count in [0, 5] {
        let count = queue.full([1], count).unwrap();
        let mut integer = queue.full([1], 7_i32).unwrap();
        let mut float = queue.full([1], 7_f32).unwrap();
        queue.min(integers.first(&count), &mut integer).unwrap();
        assert_eq!(queue.read(&integer).wait().unwrap(), [i32::MAX]);
        queue.max(floats.first(&count), &mut float).unwrap();
        assert_eq!(queue.read(&float).wait().unwrap(), [f32::NEG_INFINITY]);
        queue.max(floats.first(&count).skip_nan(), &mut float).unwrap();
        assert!(queue.read(&float).wait().unwrap()[0].is_nan());
        queue.prod(integers.first(&count), &mut integer).unwrap();
        assert_eq!(queue.read(&integer).wait().unwrap(), [1]);
    }
}

/// Memory that another queue used last comes with a wait. A verb that is refused must not take any.
fn hazard(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let one = ctx.queue("one");
    let two = ctx.queue("two");
    let count = two.array(&[7_u32]).unwrap();
    let offsets = two.array(&[0_u32, 50, 100]).unwrap();
    let [word, list, other] = [1, 100, 100].map(|len| two.zeros::<u32, 1>([len]).unwrap());
    let float = two.zeros::<f32, 1>([1]).unwrap();
    let parts = two.zeros::<f32, 1>([2]).unwrap();
    let x = one.full([100], 1_u32).unwrap();
    let floats = one.full([100], 1.0_f32).unwrap();
    let sum = Scan::inclusive(Operation::Sum);
    let verbs: [(&str, &dyn Fn() -> Result<()>); 14] = [
        ("mean of first elements", &|| two.mean(floats.first(&count), &mut float.clone())),
        ("norm of first elements", &|| two.norm(floats.first(&count), &mut float.clone())),
        ("dot of first elements", &|| two.dot(floats.first(&count), &floats, &mut float.clone())),
        ("argmin of first elements", &|| two.argmin(x.first(&count), &mut word.clone())),
        ("sum of first elements", &|| two.sum(x.first(&count), &mut word.clone())),
        ("count of first elements", &|| two.count_nonzero(x.first(&count), &mut word.clone())),
        ("mean of segments", &|| two.mean(floats.segments(&offsets), &mut parts.clone())),
        ("scan of first elements", &|| two.scan(x.first(&count), &mut list.clone(), sum)),
        ("sort of first elements", &|| two.sort(x.first(&count), &mut list.clone(), Sort::ascending())),
        ("sort of segments", &|| two.sort(x.segments(&offsets), &mut list.clone(), Sort::ascending())),
        ("argsort", &|| two.argsort(&x, &mut other.clone(), Sort::ascending())),
        ("unique", &|| two.unique(x.first(&count), &mut list.clone(), &mut word.clone())),
        ("scan of rows", &|| {
            let rows = x.reshape([10, 10])?;
            two.scan(rows.axis(1), &mut list.reshape([10, 10])?, sum)
        }),
        ("sum", &|| two.sum(&x, &mut word.clone())),
    ];
    for (name, verb) in verbs {
        for len in [1, 2, 8, 100, 256] {
            drop(one.full([len], 0_u32).unwrap()); // free memory that `one` used last
        }
        let before = dump::enqueued(&ctx, "two");
        let error = verb().unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Hazard { .. }), "{name}: {error}");
        assert_eq!(dump::enqueued(&ctx, "two"), before, "{name}");
    }
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let other = s.ctx().queue("other");
    for len in [100, 20_000] {
        let x = queue.full([len], 1_u32).unwrap();
        let count = queue.array(&[7_u32]).unwrap();
        let two = queue.array(&[7_u32, 8]).unwrap();
        let foreign = other.array(&[7_u32]).unwrap();
        let mask = queue.full([len], 1_u32).unwrap();
        let [mut one, mut out] = [1, len].map(|len| queue.empty::<u32, 1>([len]).unwrap());
        let sum = Scan::inclusive(Operation::Sum);
        let before = dump::enqueued(&ctx, "q");
        let verbs = |count: &DeviceArray<u32>, one: &mut DeviceArray<u32>, out: &mut DeviceArray<u32>| {
            let part = x.first(count);
            [
                queue.sum(part, one),
                queue.max(part, one),
                queue.all(part, one),
                queue.scan(part, out, sum),
                queue.sort(part, out, Sort::ascending()),
                queue.map(part, "x", out),
                queue.unique(part, out, one),
            ]
            .map(Result::unwrap_err)
        };
        let mut own = x.clone();
        for error in verbs(&two, &mut x.slice(0..1).unwrap(), &mut own) {
            assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{error}");
            assert!(
                error.to_string().contains("`, argument `count of the first elements`: array"),
                "{error}"
            );
        }
        for error in verbs(&count, &mut x.slice(0..1).unwrap(), &mut own) {
            assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "{error}");
        }
        for error in verbs(&foreign, &mut one, &mut out) {
            assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{error}");
        }
        let overwritten = queue.sum(x.first(&count), &mut count.clone()).unwrap_err();
        assert!(matches!(overwritten.detail(), ErrorDetail::Aliased { .. }), "{overwritten}");
        let kept = queue.select(x.first(&count), &mask, &mut out, &mut count.clone());
        let text = kept.unwrap_err().to_string();
        let both = "verb `select`: arguments `count` and `count of the first elements` overlap in array";
        assert!(text.starts_with(both), "{text}");
        let none = x.slice(0..0).unwrap();
        let kept = queue.unique(none.first(&count), &mut none.clone(), &mut count.clone());
        let text = kept.unwrap_err().to_string();
        let both = "verb `unique`: arguments `count of the first elements` and `count` overlap in array";
        assert!(text.starts_with(both), "{text}");
        let overwritten = queue.sum(none.first(&count), &mut count.clone()).unwrap_err();
        assert!(matches!(overwritten.detail(), ErrorDetail::Aliased { .. }), "{overwritten}");
        let error = queue.min(none.first(&foreign), &mut one).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{error}");
        // Verbs on arrays without elements name the count too.
        let counts = [
            queue.count_nonzero(none.first(&count), &mut count.clone()),
            queue.run_lengths(none.first(&count), &mut none.clone(), &mut none.clone(), &mut count.clone()),
        ];
        for error in counts.map(Result::unwrap_err) {
            assert!(error.to_string().contains("`count of the first elements`"), "{error}");
        }
        assert_eq!(dump::enqueued(&ctx, "q"), before);
    }
}

fn checked(s: &Subject) {
    let check = Some(CheckOptions::default());
    let options = ContextOptions::default().adapter(AdapterChoice::Cpu).check(check);
    let ctx = Context::with_options(options).wait().unwrap();
    s.watch(&ctx);
    let queue = ctx.queue("q");
    let list: Vec<u32> = (0..16_400).map(|i| i / 3).collect();
    let x = queue.array(&list).unwrap();
    let mask = queue.array(&vec![1_u32; list.len()]).unwrap();
    for count in [0, 4096, 9000] {
        let count = queue.array(&[count]).unwrap();
        Outputs::new(&queue, list.len()).enqueue(&queue, x.first(&count), &mask, "x + i").unwrap();
        queue.finish().wait().unwrap();
        let findings: Vec<String> =
            ctx.diagnostics().take_findings().iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "{}", findings.join("\n"));
    }
}
