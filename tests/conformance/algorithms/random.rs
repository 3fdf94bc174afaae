//! A01, A16: verbs that fill arrays with random numbers.

use super::*;
use fencepost::algorithms::Distribution;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_fill_with_random_numbers_enqueues_nothing", refused),
        case("a01_random_numbers_in_a_graph_equal_those_of_a_queue", in_a_graph),
        case("a16_words_whole_numbers_choices_and_unit_floats_are_those_of_the_host", exact),
        case("a16_other_random_floats_are_within_the_bounds_of_their_distributions", within),
        case("a16_parts_of_a_sequence_are_those_of_the_whole", parts),
        case("a16_a_random_permutation_is_that_of_the_host", shuffled),
        case("a16_a_fill_with_random_numbers_writes_its_array_alone", guards),
    ]
}

/// Lists numbers of elements and positions around multiples of blocks and workgroups, and around the limits of words.
fn places() -> Vec<(usize, u64)> {
    let mut places = vec![(0, 0), (1, 0), (2, 1), (3, 2), (4, 3), (5, 7), (255, 1), (256, 0), (257, 6)];
    places.extend([(1025, 4 * 0xFFFF_FFFF - 500), (600, 2 * 0xFFFF_FFFF - 301), (100, u64::MAX - 50)]);
    if large() {
        places.push((1 << 20, 3));
    }
    places
}

/// Returns a number of elements that needs more workgroups than one dimension of a grid allows. The host needs seconds
/// for so many.
fn folded() -> Vec<(usize, u64)> {
    if large() { vec![(4 * 64 * 65_535 + 5, 0)] } else { Vec::new() }
}

/// Returns the numbers of the device and the numbers of the host.
fn both<T: Reducible>(
    queue: &CommandQueue,
    (len, position): (usize, u64),
    distribution: impl Distribution<T>,
) -> (Vec<T>, Vec<T>) {
    let generator = Philox::seed(0x0123_4567_89AB_CDEF).stream(0xFEDC_BA98_7654_3210).position(position);
    let mut out = queue.empty::<T, 1>([len]).unwrap();
    let mut expected = vec![T::zeroed(); len];
    queue.fill_random(&mut out, generator, distribution).unwrap();
    host::fill_random(&mut expected, generator, distribution).unwrap();
    (queue.read(&out).wait().unwrap(), expected)
}

fn exact(s: &Subject) {
    fn equal<T: Reducible + Debug>(
        queue: &CommandQueue,
        places: Vec<(usize, u64)>,
        distribution: impl Distribution<T>,
    ) {
        for place in places {
            let (found, expected) = both(queue, place, distribution);
            assert_eq!(found, expected, "{place:?}");
        }
    }
    fn same<T: Reducible + Debug>(queue: &CommandQueue, distribution: impl Distribution<T>) {
        equal(queue, places(), distribution);
    }
    let queue = s.ctx().queue("q");
    equal::<u32>(&queue, folded(), Words);
    equal(&queue, folded(), Uniform { low: 0.0, high: 1.0 });
    same::<u32>(&queue, Words);
    same::<i32>(&queue, Words);
    for (low, high) in [(0, 1), (0, 6), (7, 0x8000_0007), (0, u32::MAX)] {
        same(&queue, Whole { low, high });
    }
    same(&queue, Whole { low: i32::MIN, high: i32::MAX });
    same(&queue, Whole { low: -5, high: 6 });
    for probability in [0.0, 0.3, 1.0] {
        same::<u32>(&queue, Choice { probability });
    }
    same::<i32>(&queue, Choice { probability: 0.5 });
    same(&queue, Uniform { low: 0.0, high: 1.0 });
}

fn within(s: &Subject) {
    fn each(
        queue: &CommandQueue,
        places: Vec<(usize, u64)>,
        distribution: impl Distribution<f32>,
        bound: impl Fn(f64) -> f64,
    ) {
        for place in places {
            let (found, expected) = both(queue, place, distribution);
            for (found, expected) in found.into_iter().zip(expected) {
                let found = f64::from(found);
                let expected = f64::from(expected);
                let bound = bound(expected);
                assert!((found - expected).abs() <= bound, "{found}, expected {expected} +- {bound}");
            }
        }
    }
    fn close(queue: &CommandQueue, distribution: impl Distribution<f32>, bound: impl Fn(f64) -> f64) {
        each(queue, [places(), vec![(20_000, 11)]].concat(), distribution, bound);
    }
    let queue = s.ctx().queue("q");
    let power = |exponent: i32| 2_f64.powi(exponent);
    each(&queue, folded(), Normal { mean: 0.0, deviation: 1.0 }, |_| power(-18));
    for [low, high] in [[-1.0_f32, 1.0], [100.0, 100.5], [-3e38, 0.0], [2.0, 2.0]] {
        let size = f64::from(low.abs()) + f64::from(high - low);
        close(&queue, Uniform { low, high }, |_| 3.0 * power(-24) * size);
    }
    for [mean, deviation] in [[0.0_f32, 1.0], [1e6, 3.0], [-2.0, 1e-6], [5.0, 0.0]] {
        let bound = f64::from(deviation) * power(-18) + f64::from(mean.abs()) * power(-23);
        close(&queue, Normal { mean, deviation }, |_| bound);
    }
    for rate in [1.0_f32, 1e-6, 3e7] {
        close(&queue, Exponential { rate }, |x| x * power(-20) + power(-22) / f64::from(rate));
    }
}

fn parts(s: &Subject) {
    let queue = s.ctx().queue("q");
    let generator = Philox::seed(3).stream(1);
    let [mut whole, pieces] = [(); 2].map(|()| queue.zeros::<i32, 2>([20, 50]).unwrap());
    let dice = Whole { low: -100, high: 100 };
    queue.fill_random(&mut whole, generator, dice).unwrap();
    let flat = pieces.reshape([1000]).unwrap();
    for part in [0..64, 64..128, 128..320, 320..1000] {
        let at = part.start as u64;
        queue.fill_random(&mut flat.slice(part).unwrap(), generator.position(at), dice).unwrap();
    }
    let all = queue.read(&whole).wait().unwrap();
    assert_eq!(queue.read(&pieces).wait().unwrap(), all);
    queue.fill_random(&mut whole, generator.stream(2), dice).unwrap();
    assert_ne!(queue.read(&whole).wait().unwrap(), all, "another stream");
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut floats = queue.full([10], 1.5_f32).unwrap();
    let mut numbers = queue.full([10], 7_u32).unwrap();
    let generator = Philox::seed(1);
    let text =
        queue.fill_random(&mut floats, generator, Uniform { low: 1.0, high: 0.0 }).unwrap_err().to_string();
    let expected = "`high` of `Uniform` in `fill_random` is 0.0, and `low` is 1.0; a number of at least `low`, at a finite \
                    distance from it, is needed";
    assert_eq!(text, expected);
    for (uniform, expected) in [
        ((f32::NAN, 0.0), "`low` of `Uniform` in `fill_random` is NaN; a finite number is needed"),
        ((f32::NEG_INFINITY, 0.0), "`low` of `Uniform` in `fill_random` is -inf; a finite number is needed"),
        (
            (0.5, f32::NAN),
            "`high` of `Uniform` in `fill_random` is NaN, and `low` is 0.5; a number of at least `low`",
        ),
    ] {
        let (low, high) = uniform;
        let error = queue.fill_random(&mut floats, generator, Uniform { low, high }).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    let error =
        queue.fill_random(&mut floats, generator, Normal { mean: f32::NAN, deviation: 1.0 }).unwrap_err();
    assert_eq!(error.to_string(), "`mean` of `Normal` in `fill_random` is NaN; a finite number is needed");
    let text =
        queue.fill_random(&mut numbers, generator, Choice { probability: 1.5 }).unwrap_err().to_string();
    assert_eq!(text, "`probability` of `Choice` in `fill_random` is 1.5; a number from 0 to 1 is needed");
    let results = [
        queue.fill_random(&mut floats, generator, Uniform { low: f32::NAN, high: 0.0 }),
        queue.fill_random(&mut floats, generator, Uniform { low: f32::MIN, high: f32::MAX }),
        queue.fill_random(&mut floats, generator, Normal { mean: 0.0, deviation: -1.0 }),
        queue.fill_random(&mut floats, generator, Normal { mean: f32::INFINITY, deviation: 1.0 }),
        queue.fill_random(&mut floats, generator, Normal { mean: -3e38, deviation: 2e38 }),
        queue.fill_random(&mut floats, generator, Exponential { rate: 0.0 }),
        queue.fill_random(&mut floats, generator, Exponential { rate: 2e38 }),
        queue.fill_random(&mut floats, generator, Exponential { rate: f32::INFINITY }),
        queue.fill_random(&mut numbers, generator, Whole { low: 3, high: 3 }),
        queue.fill_random(&mut numbers, generator, Choice { probability: f64::NAN }),
    ];
    for result in results {
        let error = assert_refused!(result, Value);
        assert!(error.to_string().contains("` in `fill_random` is "), "{error}");
    }
    let mut foreign = s.ctx().queue("other").full([10], 4_u32).unwrap();
    assert_refused!(queue.fill_random(&mut foreign, generator, Words), ForeignContext);
    let mut padded = queue.zeros::<u32, 1>(Shape::padded([10], [12])).unwrap();
    assert_refused!(queue.fill_random(&mut padded, generator, Words), Padding);
    assert_eq!(queue.read(&floats).wait().unwrap(), [1.5; 10]);
    assert_eq!(queue.read(&numbers).wait().unwrap(), [7; 10]);
}

/// Enqueues each distribution. The results go to six parts of an array, with guard elements between them.
fn enqueue(queue: &CommandQueue, out: &DeviceArray<u32>) -> Result<()> {
    let part = |at: usize| out.slice(128 * at..128 * at + 99);
    let generator = Philox::seed(5).position(2);
    queue.fill_random(&mut part(0)?, generator, Words)?;
    queue.fill_random(&mut part(1)?, generator, Whole { low: 10, high: 20 })?;
    queue.fill_random(&mut part(2)?, generator, Choice { probability: 0.5 })?;
    queue.fill_random(&mut part(3)?.cast_bits(), generator, Uniform { low: 0.0, high: 1.0 })?;
    queue.fill_random(&mut part(4)?.cast_bits(), generator, Normal { mean: 9.0, deviation: 0.5 })?;
    queue.fill_random(&mut part(5)?.cast_bits(), generator, Exponential { rate: 0.1 })
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    let [mut out, eager] = [(); 2].map(|()| queue.zeros::<u32, 1>([768]).unwrap());
    let (graph, ()) = queue.capture(|c| enqueue(c, &out)).unwrap();
    enqueue(&queue, &eager).unwrap();
    let expected = queue.read(&eager).wait().unwrap();
    for round in 0..3 {
        queue.fill(&mut out, 0).unwrap();
        queue.replay(&graph).unwrap();
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "round {round}");
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    let out = queue.full([768], 9_u32).unwrap();
    enqueue(&queue, &out).unwrap();
    let found = queue.read(&out).wait().unwrap();
    for (at, element) in found.iter().enumerate() {
        assert!(at % 128 < 99 || *element == 9, "element {at} is {element}");
    }
    assert!(found[128..227].iter().all(|number| (10..20).contains(number)));
}

fn shuffled(s: &Subject) {
    let queue = s.ctx().queue("q");
    for (len, position) in [(0, 0), (1, 5), (2, 0), (52, 3), (4097, u64::MAX - 9)] {
        let generator = Philox::seed(11).stream(2).position(position);
        let mut out = queue.full([len], 9_u32).unwrap();
        queue.random_permutation(&mut out, generator).unwrap();
        let found = queue.read(&out).wait().unwrap();
        assert_eq!(found, host::random_permutation(len as u32, generator), "{len} numbers");
        let mut sorted = found;
        sorted.sort();
        assert!(sorted.into_iter().eq(0..len as u32), "{len} numbers");
    }
    let verbs: [Verb; 1] = [|queue, _, out| queue.random_permutation(out, Philox::seed(1))];
    enqueue_nothing_with_a_hazard(s, 100, &verbs);
}
