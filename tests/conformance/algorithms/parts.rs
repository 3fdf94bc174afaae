//! A01, A17: verbs on parts of arrays, whose number of elements is on the device.

use super::verb_table::{Arrays, table};
use super::*;
use fencepost::algorithms::Prefix;

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

/// An expression that both the device and the host compute exactly.
const EXPRESSION: &str = "select(x, -x, i % 2u == 1u)";

/// Arrays of the results: four reductions, five lists and three selections; then the counts of the elements that are not
/// zero, of the selections, and the lengths of the runs.
type Results<T> = Outputs<T, 12, 7>;

fn results<T: Reducible>(queue: &CommandQueue, len: usize) -> Results<T> {
    let elements = std::array::from_fn(|at| if at < 4 { 1 } else { len });
    Outputs::new(queue, elements, [1, 1, 1, 1, 1, 1, len])
}

/// Enqueues each verb.
fn enqueue<T: Reducible>(
    outputs: &mut Results<T>,
    queue: &CommandQueue,
    x: Prefix<'_, T>,
    mask: &DeviceArray<u32>,
    map: &str,
) -> Result<()> {
    let [sum, product, least, most, inclusive, exclusive, reversed, sorted, mapped, selected, unique, runs] =
        &mut outputs.elements;
    let [count, any, all, masked, heads, number, lengths] = &mut outputs.words;
    queue.sum(x, sum)?;
    queue.prod(x, product)?;
    queue.min(x, least)?;
    queue.max(x, most)?;
    queue.count_nonzero(x, count)?;
    queue.any(x, any)?;
    queue.all(x, all)?;
    queue.scan(x, inclusive, Scan::inclusive(Operation::Sum))?;
    queue.scan(x, exclusive, Scan::exclusive(Operation::Smallest))?;
    queue.scan(x, reversed, Scan::inclusive(Operation::Largest).reversed())?;
    queue.sort(x, sorted, Sort::descending())?;
    queue.map(x, map, mapped)?;
    queue.select(x, mask, selected, masked)?;
    queue.unique(x, unique, heads)?;
    queue.run_lengths(x, runs, lengths, number)
}

/// Returns the results of the host. The elements after the results are unchanged.
fn expected<T: Reducible>(
    whole: &[T],
    count: usize,
    mask: &[u32],
    map: impl Fn(T, u32) -> T,
) -> Vec<Vec<u32>> {
    let list = &whole[..count.min(whole.len())];
    let one = |element: T| padded(&[element], 1);
    let all = |list: Vec<T>| padded(&list, whole.len());
    let scan = |scan| all(host::scan(list, scan));
    let least = host::scan(&[T::ONE], Scan::exclusive(Operation::Smallest))[0];
    let most = host::scan(&[T::ONE], Scan::exclusive(Operation::Largest))[0];
    let selected = host::select(list, mask);
    let unique = host::unique(list);
    let (runs, lengths) = host::run_lengths(list);
    let lengths: Vec<u32> = lengths.into_iter().map(|length| length as u32).collect();
    let counts = [
        host::count_nonzero(list) as u32,
        host::any(list).into(),
        host::all(list).into(),
        selected.len() as u32,
        unique.len() as u32,
        runs.len() as u32,
    ];
    let elements = [
        one(host::sum(list)),
        one(host::prod(list)),
        one(host::min(list, Nan::Propagate).unwrap_or(least)),
        one(host::max(list, Nan::Propagate).unwrap_or(most)),
        scan(Scan::inclusive(Operation::Sum)),
        scan(Scan::exclusive(Operation::Smallest)),
        scan(Scan::inclusive(Operation::Largest).reversed()),
        all(host::sort(list, Sort::descending()).unwrap()),
        all(host::map(list, map)),
        all(selected),
        all(unique),
        all(runs),
    ];
    let words = counts.into_iter().map(|count| vec![count]).chain([padded(&lengths, whole.len())]);
    elements.into_iter().chain(words).collect()
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
        let mut outputs = results(queue, list.len());
        enqueue(&mut outputs, queue, x.first(&on_device), &mask_array, text).unwrap();
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
        let mut outputs = results(&queue, len);
        let (graph, ()) =
            queue.capture(|c| enqueue(&mut outputs, c, x.first(&count), &mask_array, "x + i")).unwrap();
        // The part becomes longer with each replay: a shorter one would leave results of the previous replay.
        for round in 0..3_u32 {
            let list: Vec<u32> = (0..len as u32).map(|i| (i ^ round) * 3 % 50).collect();
            let elements = len as u32 * (round + 1) / 3;
            queue.upload(&list, &mut x).unwrap();
            queue.upload(&[elements], &mut count).unwrap();
            queue.replay(&graph).unwrap();
            let found = outputs.read(&queue);
            let expected = expected(&list, elements as usize, &mask, |x, i| x + i);
            // Elements after the selected ones are those of earlier replays.
            assert!(found[..9] == expected[..9], "{elements} of {len} elements");
            assert_eq!(found[12..18], expected[12..18], "the counts of {elements} of {len} elements");
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
        assert_refused!(queue.sum(x.first(&count), &mut count.clone()), Aliased);
        let kept = queue.select(x.first(&count), &mask, &mut out, &mut count.clone());
        let text = kept.unwrap_err().to_string();
        let both = "verb `select`: arguments `count` and `count of the first elements` overlap in array";
        assert!(text.starts_with(both), "{text}");
        let none = x.slice(0..0).unwrap();
        let kept = queue.unique(none.first(&count), &mut none.clone(), &mut count.clone());
        let text = kept.unwrap_err().to_string();
        let both = "verb `unique`: arguments `count of the first elements` and `count` overlap in array";
        assert!(text.starts_with(both), "{text}");
        assert_refused!(queue.sum(none.first(&count), &mut count.clone()), Aliased);
        assert_refused!(queue.min(none.first(&foreign), &mut one), ForeignContext);
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

/// Input that a verb on first elements reads as a whole.
fn whole_input<'a>(id: &str, arrays: &'a Arrays) -> Option<&'a DeviceArray<u32>> {
    match id {
        "searchsorted first" => Some(&arrays.x),
        "gather first" => Some(&arrays.y),
        _ => None,
    }
}

fn checked(s: &Subject) {
    let check = Some(CheckOptions::default());
    let options = ContextOptions::default().adapter(AdapterChoice::Cpu).check(check);
    let ctx = Context::with_options(options).wait().unwrap();
    s.watch(&ctx);
    let queue = ctx.queue("q");
    let finds_nothing = |calls: &str| {
        queue.finish().wait().unwrap();
        let findings: Vec<String> =
            ctx.diagnostics().take_findings().iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "{calls}: {}", findings.join("\n"));
    };
    let list: Vec<u32> = (0..16_400).map(|i| i / 3).collect();
    let x = queue.array(&list).unwrap();
    let mask = queue.array(&vec![1_u32; list.len()]).unwrap();
    for count in [0, 4096, 9000] {
        let count = queue.array(&[count]).unwrap();
        enqueue(&mut results(&queue, list.len()), &queue, x.first(&count), &mask, "x + i").unwrap();
        finds_nothing("verbs on a part of a written array");
    }
    // A verb that reads an element after the first ones reads memory that nothing has written.
    for elements in [0, 4100] {
        for verb in table().iter().filter(|verb| verb.id.split(' ').any(|word| word == "first")) {
            let mut arrays = Arrays::of_first(&queue, list.len(), elements);
            if let Some(whole) = whole_input(verb.id, &arrays) {
                queue.fill(&mut whole.clone(), 1).unwrap();
            }
            verb.call(&queue, &mut arrays).unwrap();
            finds_nothing(verb.id);
        }
    }
}
