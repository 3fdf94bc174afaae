//! A17: verbs that rank, move, combine by key, search or count in bins, on the first elements of arrays.

use super::part_lists::each;
use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case(
            "a17_ranks_among_first_elements_equal_those_of_the_host_and_missing_ones_are_not_written",
            ranks,
        ),
        case("a17_a_list_of_many_ranks_ends_with_the_first_elements", many_ranks),
        case("a17_the_largest_of_few_first_floats_are_sorted_and_the_others_not_written", few_floats),
        case("a17_moves_of_first_elements_equal_those_of_the_host", moves),
        case("a17_elementwise_verbs_on_first_elements_equal_those_of_the_host", elements),
        case("a17_verbs_by_key_on_first_elements_equal_those_of_the_host", by_key),
        case("a17_a_search_among_first_elements_finds_no_place_past_them", searches),
        case("a17_histograms_of_first_elements_equal_those_of_the_host", histograms),
        case("a17_groups_are_ranked_and_averaged_without_a_read_of_their_number", groups),
        case("a17_a_count_of_first_elements_that_is_refused_enqueues_nothing", refused),
    ]
}

fn ranks(s: &Subject) {
    each(s, |case| {
        let len = case.list.len();
        for k in [1, len.min(7), len.min(300)] {
            let [mut values, mut places] = [(); 2].map(|()| case.queue.full([k], BEFORE).unwrap());
            case.queue.top_k(case.part(), &mut values, &mut places).unwrap();
            let expected = host::top_k(case.first(), k.min(case.elements)).unwrap();
            let message = format!("the {k} largest of {} elements", case.elements);
            assert!(case.read(&values) == padded(&expected.0, k), "{message}");
            assert!(case.read(&places) == padded(&expected.1, k), "the places of {message}");
        }
        for k in [0, 7, len - 1].into_iter().filter(|&k| k < len) {
            let mut out = case.one();
            case.queue.kth(case.part(), k, &mut out).unwrap();
            let expected = host::kth(case.first(), k).unwrap_or(BEFORE);
            assert_eq!(case.read(&out), [expected], "place {k} of {} elements", case.elements);
        }
    });
}

/// The selected elements are too many for one workgroup, so the launches of a long sort put them in order.
fn many_ranks(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(29);
    let list: Vec<u32> = (0..20_481).map(|_| rng.u32(0..500)).collect();
    let x = queue.array(&list).unwrap();
    let k = list.len();
    for count in [0, 255, 4097] {
        let on_device = queue.array(&[count as u32]).unwrap();
        let [mut values, mut places] = [(); 2].map(|()| queue.full([k], BEFORE).unwrap());
        queue.top_k(x.first(&on_device), &mut values, &mut places).unwrap();
        let expected = host::top_k(&list[..count], count).unwrap();
        assert!(queue.read(&values).wait().unwrap() == padded(&expected.0, k), "{count} elements");
        assert!(queue.read(&places).wait().unwrap() == padded(&expected.1, k), "places of {count} elements");
    }
}

fn few_floats(s: &Subject) {
    let queue = s.ctx().queue("q");
    let list = [-0.0_f32, f32::NAN, -7.5, 3.0, 0.0, f32::INFINITY, 9.0];
    let x = queue.array(&list).unwrap();
    for count in 0..=list.len() + 1 {
        let on_device = queue.array(&[count as u32]).unwrap();
        let part = &list[..count.min(list.len())];
        let [values, mut places] = [(); 2].map(|()| queue.full([5], BEFORE).unwrap());
        queue.top_k(x.first(&on_device), &mut values.cast_bits(), &mut places).unwrap();
        let expected = host::top_k(part, part.len().min(5)).unwrap();
        assert_eq!(queue.read(&values).wait().unwrap(), padded(&expected.0, 5), "{count} elements");
        assert_eq!(queue.read(&places).wait().unwrap(), padded(&expected.1, 5), "{count} elements");
        let third = queue.full([1], BEFORE).unwrap();
        queue.kth(x.first(&on_device), 2, &mut third.cast_bits()).unwrap();
        let expected = host::kth(part, 2).map_or(BEFORE, f32::to_bits);
        assert_eq!(queue.read(&third).wait().unwrap(), [expected], "{count} elements");
    }
}

fn moves(s: &Subject) {
    each(s, |case| {
        let queue = &case.queue;
        let len = case.list.len() as u32;
        // Each place occurs once, and some are outside of the array.
        let places: Vec<u32> = (0..len).map(|i| if i % 5 == 2 { len + i } else { len - 1 - i }).collect();
        let on_device = queue.array(&places).unwrap();
        let first = &places[..case.elements];
        for outside in [Outside::Zero, Outside::Last] {
            let mut out = case.out();
            queue.gather(&case.x, on_device.first(&case.count), outside, &mut out).unwrap();
            case.equals("the gathered elements", &out, &host::gather(&case.list, first, outside));
        }
        let none = queue.zeros::<u32, 1>([0]).unwrap();
        let mut zeros = case.out();
        queue.gather(&none, on_device.first(&case.count), Outside::Last, &mut zeros).unwrap();
        case.equals("the elements of an empty array", &zeros, &vec![0; case.elements]);
        let mut out = case.out();
        let mut expected = vec![BEFORE; case.list.len()];
        queue.scatter(case.part(), &on_device, &mut out).unwrap();
        host::scatter(case.first(), first, &mut expected);
        case.equals("the scattered elements", &out, &expected);
        queue.scatter_add(case.part(), &on_device, &mut out).unwrap();
        host::scatter_add(case.first(), first, &mut expected);
        case.equals("the added elements", &out, &expected);
    });
}

fn elements(s: &Subject) {
    each(s, |case| {
        let queue = &case.queue;
        let other: Vec<u32> = (0..case.list.len() as u32).map(|i| i * i % 7).collect();
        let y = queue.array(&other).unwrap();
        let first = &other[..case.elements];
        let mut out = case.out();
        queue.zip(case.part(), &y, "2u * x + y + i", &mut out).unwrap();
        case.equals("the zipped elements", &out, &host::zip(case.first(), first, |x, y, i| 2 * x + y + i));
        let mut out = case.out();
        queue.cast(case.part(), &mut out.cast_bits::<f32>()).unwrap();
        let numbers: Vec<u32> = case.first().iter().map(|&x| (x as f32).to_bits()).collect();
        case.equals("the numbers", &out, &numbers);
        queue.clamp(case.part(), 5, 40, &mut out).unwrap();
        let clamped: Vec<u32> = case.first().iter().map(|&x| host::clamp(x, 5, 40)).collect();
        case.equals("the clamped elements", &out, &clamped);
        let mut out = case.out();
        queue.where_(&y, case.part(), &y, &mut out).unwrap();
        case.equals("the chosen elements", &out, &host::where_(first, case.first(), first));
    });
}

fn by_key(s: &Subject) {
    each(s, |case| {
        let queue = &case.queue;
        // Runs of one element, and longer runs that the last first element may divide.
        let key = |i: u32| if i % 50 < 10 { i } else { i / 50 };
        let keys: Vec<u32> = (0..case.list.len() as u32).map(key).collect();
        let on_device = queue.array(&keys).unwrap();
        let part = on_device.first(&case.count);
        let first = &keys[..case.elements];
        let sums = Scan::inclusive(Operation::Sum);
        for scan in [sums, sums.reversed(), Scan::exclusive(Operation::Largest).from(3).reversed()] {
            let mut out = case.out();
            queue.scan_by_key(part, &case.x, &mut out, scan).unwrap();
            let name = format!("{scan:?}");
            case.equals(&name, &out, &host::scan_by_key(first, case.first(), scan));
        }
        let [mut kept, mut out] = [case.out(), case.out()];
        let mut count = case.one();
        queue.reduce_by_key(part, &case.x, Operation::Sum, &mut kept, &mut out, &mut count).unwrap();
        let (keys, sums) = host::reduce_by_key(first, case.first(), Operation::Sum);
        case.equals("the keys", &kept, &keys);
        case.equals("the sums", &out, &sums);
        assert_eq!(case.read(&count), [keys.len() as u32], "{} elements", case.elements);
    });
}

fn searches(s: &Subject) {
    each(s, |case| {
        let queue = &case.queue;
        let sorted: Vec<u32> = (0..case.list.len() as u32).map(|i| i / 2).collect();
        let x = queue.array(&sorted).unwrap();
        let queries = [0, 1, 127, 2000, 10_000, u32::MAX];
        let on_device = queue.array(&queries).unwrap();
        for side in [Side::Left, Side::Right] {
            let mut places = queue.full([queries.len()], BEFORE).unwrap();
            queue.searchsorted(x.first(&case.count), &on_device, side, &mut places).unwrap();
            let expected = host::searchsorted(&sorted[..case.elements], &queries, side);
            assert_eq!(case.read(&places), expected, "{side:?} of {} elements", case.elements);
        }
    });
}

fn histograms(s: &Subject) {
    each(s, |case| {
        let queue = &case.queue;
        let numbers: Vec<f32> = (0..case.list.len()).map(|i| (i % 9) as f32 * 0.1 - 0.2).collect();
        let halves: Vec<f32> = case.list.iter().map(|&x| (x % 3) as f32 * 0.5).collect();
        let elements = case.elements;
        let bins = Bins::modulo;
        let message = format!("{elements} elements");
        let [mut counts, mut sums] = [(); 2].map(|()| queue.full([7], BEFORE).unwrap());
        queue.histogram(case.part(), bins(), &mut counts).unwrap();
        queue.histogram_weighted(case.part(), &case.x, bins(), &mut sums).unwrap();
        assert_eq!(Some(case.read(&counts)), host::histogram(case.first(), bins(), 7), "{message}");
        let expected = host::histogram_weighted(case.first(), case.first(), bins(), 7);
        assert_eq!(Some(case.read(&sums)), expected, "{message}");
        let [mut exact, mut fixed] = [(); 2].map(|()| queue.full([7], -1.0_f32).unwrap());
        queue.histogram_weighted(case.part(), &queue.array(&numbers).unwrap(), bins(), &mut exact).unwrap();
        let expected = host::histogram_weighted(case.first(), &numbers[..elements], bins(), 7);
        assert_eq!(Some(queue.read(&exact).wait().unwrap()), expected, "{message}");
        queue.histogram_fixed(case.part(), &queue.array(&halves).unwrap(), 4, bins(), &mut fixed).unwrap();
        let expected = host::histogram_fixed(case.first(), &halves[..elements], 4, bins(), 7);
        assert_eq!(Some(queue.read(&fixed).wait().unwrap()), expected, "{message}");
    });
}

/// Arrays of rows, and of their groups.
struct Groups {
    keys: DeviceArray<u32>,
    amounts: DeviceArray<f32>,
    sorted: DeviceArray<u32>,
    moved: DeviceArray<f32>,
    groups: DeviceArray<u32>,
    sums: DeviceArray<f32>,
    sizes: DeviceArray<u32>,
    means: DeviceArray<f32>,
    count: DeviceArray<u32>,
    largest: DeviceArray<f32>,
    places: DeviceArray<u32>,
    of_largest: DeviceArray<u32>,
    mean: DeviceArray<f32>,
}

/// Number of groups with the largest sums.
const LARGEST: usize = 5;

impl Groups {
    fn new(queue: &CommandQueue, rows: usize) -> Self {
        let words = |len: usize| queue.full([len], BEFORE).unwrap();
        let floats = |len: usize| words(len).cast_bits::<f32>();
        Self {
            keys: words(rows),
            amounts: floats(rows),
            sorted: words(rows),
            moved: floats(rows),
            groups: words(rows),
            sums: floats(rows),
            sizes: words(rows),
            means: floats(rows),
            count: words(1),
            largest: floats(LARGEST),
            places: words(LARGEST),
            of_largest: words(LARGEST),
            mean: floats(1),
        }
    }

    /// Enqueues the sums, the sizes and the means of the groups, those with the largest sums, and the mean of the sums.
    fn enqueue(&mut self, queue: &CommandQueue) -> Result<()> {
        let Self { keys, amounts, sorted, moved, groups, sums, sizes, means, count, .. } = self;
        queue.sort_pairs(&*keys, amounts, sorted, moved, Sort::ascending())?;
        queue.run_lengths(&*sorted, groups, sizes, count)?;
        queue.reduce_by_key(&*sorted, moved, Operation::Sum, groups, sums, count)?;
        queue.zip(sums.first(count), sizes, "x / f32(y)", means)?;
        queue.top_k(sums.first(count), &mut self.largest, &mut self.places)?;
        queue.gather(groups, self.places.first(count), Outside::Zero, &mut self.of_largest)?;
        queue.mean(sums.first(count), &mut self.mean)
    }
}

fn groups(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(28);
    let rows = if large() { 34_567 } else { 5000 };
    let mut arrays = Groups::new(&queue, rows);
    // A capture executes nothing, so the host cannot know the number of groups.
    let (graph, ()) = queue.capture(|c| arrays.enqueue(c)).unwrap();
    for most in [97, 3] {
        let keys: Vec<u32> = (0..rows).map(|_| rng.u32(0..most) * 1000).collect();
        // Sums of the amounts are exact in any order.
        let amounts: Vec<f32> = (0..rows).map(|_| f32::from(rng.i8(-8..20))).collect();
        queue.upload(&keys, &mut arrays.keys).unwrap();
        queue.upload(&amounts, &mut arrays.amounts).unwrap();
        for mut array in [arrays.means.cast_bits(), arrays.largest.cast_bits(), arrays.of_largest.clone()] {
            queue.fill(&mut array, BEFORE).unwrap();
        }
        queue.replay(&graph).unwrap();
        let (sorted, moved) = host::sort_pairs(&keys, &amounts, Sort::ascending()).unwrap();
        let (groups, sums) = host::reduce_by_key(&sorted, &moved, Operation::Sum);
        let (_, sizes) = host::run_lengths(&sorted);
        let k = groups.len().min(LARGEST);
        let (largest, places) = host::top_k(&sums, k).unwrap();
        let of_largest = host::gather(&groups, &places, Outside::Zero);
        let read = |array: &DeviceArray<f32>| queue.read(&array.cast_bits::<u32>()).wait().unwrap();
        assert_eq!(read(&arrays.largest), padded(&largest, LARGEST), "{most} groups");
        assert_eq!(queue.read(&arrays.of_largest).wait().unwrap(), padded(&of_largest, LARGEST));
        let means = read(&arrays.means);
        assert!(means[groups.len()..].iter().all(|&word| word == BEFORE), "{most} groups");
        for ((sum, size), mean) in sums.iter().zip(sizes).zip(means) {
            let expected = sum / size as f32;
            assert!((f32::from_bits(mean) - expected).abs() <= 1e-6 * expected.abs(), "{expected}");
        }
        let expected = sums.iter().sum::<f32>() / sums.len() as f32;
        let mean = queue.read(&arrays.mean).wait().unwrap()[0];
        assert!((mean - expected).abs() <= 1e-6 * expected.abs(), "{mean} instead of {expected}");
    }
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let x = queue.full([100], 1_u32).unwrap();
    let y = queue.full([100], 2_u32).unwrap();
    let out = queue.full([100], 3_u32).unwrap();
    let other = queue.full([100], 4_u32).unwrap();
    let one = queue.full([1], 5_u32).unwrap();
    let two = queue.array(&[7_u32, 8]).unwrap();
    let before = dump::enqueued(&ctx, "q");
    let sums = Scan::inclusive(Operation::Sum);
    // Each verb reads `x`, and writes `out` first.
    let calls = |count: &DeviceArray<u32>| {
        let part = x.first(count);
        let numbers = || out.cast_bits::<f32>();
        let words = || out.clone();
        [
            queue.top_k(part, &mut words(), &mut other.clone()),
            queue.gather(&y, part, Outside::Zero, &mut words()),
            queue.scatter(part, &y, &mut words()),
            queue.scatter_add(part, &y, &mut words()),
            queue.zip(part, &y, "x + y", &mut words()),
            queue.cast(part, &mut numbers()),
            queue.clamp(part, 0, 1, &mut words()),
            queue.where_(&y, part, &y, &mut words()),
            queue.scan_by_key(part, &y, &mut words(), sums),
            queue.reduce_by_key(part, &y, Operation::Sum, &mut words(), &mut other.clone(), &mut one.clone()),
            queue.searchsorted(part, &y, Side::Left, &mut words()),
            queue.histogram(part, Bins::modulo(), &mut words()),
            queue.histogram_weighted(part, &y, Bins::modulo(), &mut words()),
            queue.histogram_weighted(part, &y.cast_bits(), Bins::modulo(), &mut numbers()),
            queue.histogram_fixed(part, &y.cast_bits(), 8, Bins::modulo(), &mut numbers()),
        ]
        .map(Result::unwrap_err)
    };
    for (at, error) in calls(&two).into_iter().enumerate() {
        assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "verb {at}: {error}");
        let argument = "`, argument `count of the first elements`: array";
        assert!(error.to_string().contains(argument), "verb {at}: {error}");
    }
    // The number of first elements is one of the results.
    for (at, error) in calls(&out.slice(0..1).unwrap()).into_iter().enumerate() {
        assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "verb {at}: {error}");
        assert!(error.to_string().contains("`count of the first elements`"), "verb {at}: {error}");
    }
    let refused = queue.kth(x.first(&two), 3, &mut one.clone());
    assert_refused!(refused, Shape);
    assert_refused!(queue.kth(x.first(&one), 3, &mut one.clone()), Aliased);
    assert_eq!(dump::enqueued(&ctx, "q"), before, "a refused verb has enqueued work");
    for (array, word) in [(&out, 3), (&other, 4)] {
        assert_eq!(queue.read(array).wait().unwrap(), [word; 100]);
    }
}
