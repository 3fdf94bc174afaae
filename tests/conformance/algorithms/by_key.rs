//! A01, A10: verbs that combine runs of equal keys.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_verb_by_key_enqueues_nothing", refused),
        case("a01_a_verb_by_key_in_a_graph_equals_that_of_a_queue", in_a_graph),
        case("a10_runs_of_integers_are_exact", integers),
        case("a10_runs_of_floats_are_within_their_bounds", floats),
        case("a10_the_smallest_and_largest_numbers_of_runs_are_exact_and_keep_nans", extremes),
        case("a10_no_elements_have_no_runs", none),
        case("a10_a_verb_by_key_writes_its_results_alone", guards),
    ]
}

const ALL: [Operation; 4] = [Operation::Sum, Operation::Product, Operation::Smallest, Operation::Largest];
/// Returns the scan of a case: exclusive with an initial value for products and largest elements, otherwise inclusive.
fn scan<T: Reducible>(operation: Operation) -> Scan<T> {
    match operation {
        Operation::Product | Operation::Largest => Scan::exclusive(operation).from(T::ONE),
        _ => Scan::inclusive(operation),
    }
}

/// Arrays of a scan, a reversed scan and the reduced runs; then the keys, the values and the lengths of the runs, and the
/// two numbers of runs.
type Results<T> = Outputs<T, 3, 5>;

fn results<T: Reducible>(queue: &CommandQueue, len: usize) -> Results<T> {
    Outputs::new(queue, [len; 3], [len, len, len, 1, 1])
}

/// Enqueues each verb.
fn enqueue<T: Reducible>(
    outputs: &mut Results<T>,
    queue: &CommandQueue,
    keys: &DeviceArray<u32>,
    x: &DeviceArray<T>,
    operation: Operation,
) -> Result<()> {
    let [forward, reversed, reduced] = &mut outputs.elements;
    let [kept, values, lengths, count, runs] = &mut outputs.words;
    queue.scan_by_key(keys, x, forward, scan(operation))?;
    queue.scan_by_key(keys, x, reversed, scan(operation).reversed())?;
    queue.reduce_by_key(keys, x, operation, kept, reduced, count)?;
    queue.run_lengths(keys, values, lengths, runs)
}

/// Returns the results of a queue.
fn found<T: Reducible>(
    queue: &CommandQueue,
    keys: &[u32],
    words: &[u32],
    operation: Operation,
) -> Vec<Vec<u32>> {
    let mut outputs = results::<T>(queue, keys.len());
    let keys = queue.array(keys).unwrap();
    let x = queue.array(bytemuck::cast_slice(words)).unwrap();
    enqueue(&mut outputs, queue, &keys, &x, operation).unwrap();
    outputs.read(queue)
}

/// Returns the results of the host. The elements after the results of the runs are unchanged.
fn expected<T: Reducible>(keys: &[u32], x: &[T], operation: Operation) -> Vec<Vec<u32>> {
    let len = keys.len();
    let [forward, reversed] =
        [scan(operation), scan(operation).reversed()].map(|scan| host::scan_by_key(keys, x, scan));
    let (kept, reduced) = host::reduce_by_key(keys, x, operation);
    let (values, lengths) = host::run_lengths(keys);
    let lengths: Vec<u32> = lengths.into_iter().map(|length| length as u32).collect();
    let [count, runs] = [kept.len(), values.len()].map(|count| vec![count as u32]);
    let elements = [forward, reversed, reduced].map(|list| padded(&list, len));
    let words = [kept, values, lengths].map(|list| padded(&list, len));
    elements.into_iter().chain(words).chain([count, runs]).collect()
}

/// Returns keys of runs whose mean length is given.
fn keys(rng: &mut fastrand::Rng, len: usize, run: usize) -> Vec<u32> {
    let mut key = 0;
    let mut next = || {
        if rng.usize(..run) == 0 {
            key = [0, 1, 0x8000_0001][rng.usize(..3)];
        }
        key
    };
    (0..len).map(|_| next()).collect()
}

fn integers(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(61);
    for (at, len) in few_lengths().into_iter().enumerate() {
        for &run in some(&[1, 3, 50, 6000, usize::MAX], at) {
            let keys = keys(&mut rng, len, run);
            // With odd factors, the product does not become 0.
            let words: Vec<u32> = (0..len).map(|_| rng.u32(..) | 1).collect();
            let operation = ALL[at % 4];
            if at % 2 == 0 {
                let found = found::<u32>(&queue, &keys, &words, operation);
                assert!(found == expected(&keys, &words, operation), "{operation:?}: {len}, runs of {run}");
            } else {
                let found = found::<i32>(&queue, &keys, &words, operation);
                let x: &[i32] = bytemuck::cast_slice(&words);
                assert!(found == expected(&keys, x, operation), "{operation:?}: {len}, runs of {run}");
            }
        }
    }
}

fn floats(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(62);
    let all = [(257, 20), (20_481, 3000), (20_481, 1), (34_567, usize::MAX)];
    for &(len, run) in if large() { &all[..] } else { &all[..2] } {
        let keys = keys(&mut rng, len, run);
        let list: Vec<f32> = (0..len).map(|_| (rng.f32() - 0.5) * [1.0, 1e6][rng.usize(..2)]).collect();
        let results = found::<f32>(&queue, &keys, bytemuck::cast_slice(&list), Operation::Sum);
        let found: &[f32] = bytemuck::cast_slice(&results[0]);
        let depth = 140.0 + len as f64 / 2_f64.powi(15);
        let mut exact = 0.0;
        let mut sizes = 0.0;
        let mut runs = 0;
        for (i, element) in list.iter().enumerate() {
            if i == 0 || keys[i] != keys[i - 1] {
                (exact, sizes) = (0.0, 0.0);
            }
            exact += f64::from(*element);
            sizes += f64::from(element.abs());
            let bound = depth * 2_f64.powi(-24) * sizes;
            let error = (f64::from(found[i]) - exact).abs();
            assert!(error <= bound, "element {i} of {len}: an error of {error}, more than {bound}");
            if i + 1 == len || keys[i] != keys[i + 1] {
                let of_run = f64::from(f32::from_bits(results[2][runs]));
                assert!(
                    (of_run - exact).abs() <= bound,
                    "run {runs} of {len} elements: {of_run}, not {exact}"
                );
                runs += 1;
            }
        }
        assert_eq!(results[6..], [[runs as u32]; 2]);
        let found: &[f32] = bytemuck::cast_slice(&results[1]);
        for i in (0..len).rev() {
            if i + 1 == len || keys[i] != keys[i + 1] {
                (exact, sizes) = (0.0, 0.0);
            }
            exact += f64::from(list[i]);
            sizes += f64::from(list[i].abs());
            let bound = depth * 2_f64.powi(-24) * sizes;
            let error = (f64::from(found[i]) - exact).abs();
            assert!(error <= bound, "element {i} of {len}, reversed: an error of {error}, more than {bound}");
        }
    }
}

fn extremes(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(63);
    let special = [0, 0x8000_0000, 1, 0x7F80_0000, 0xFF80_0000, 0x3F80_0000, 0xBF80_0000, 0x7FC0_0000];
    let smallest = Operation::Smallest;
    let largest = Operation::Largest;
    let all = [(300, largest), (17_000, smallest), (300, smallest), (17_000, largest)];
    for &(len, operation) in if large() { &all[..] } else { &all[..2] } {
        let keys = keys(&mut rng, len, 40);
        let word = |_| if rng.u32(..9) == 0 { special[rng.usize(..8)] } else { rng.u32(1 << 28..3 << 28) };
        let words: Vec<u32> = (0..len).map(word).collect();
        let found = found::<f32>(&queue, &keys, &words, operation);
        let expected = expected::<f32>(&keys, bytemuck::cast_slice(&words), operation);
        let nan = |word: u32| f32::from_bits(word).is_nan();
        let same = |a: &[u32], b: &[u32]| a.iter().zip(b).all(|(&a, &b)| a == b || (nan(a) && nan(b)));
        for (at, what) in ["so far", "reversed", "of the runs"].into_iter().enumerate() {
            assert!(same(&found[at], &expected[at]), "{operation:?} {what} of {len}");
        }
    }
}

fn none(s: &Subject) {
    let queue = s.ctx().queue("q");
    let found = found::<u32>(&queue, &[], &[], Operation::Sum);
    assert!(found == expected::<u32>(&[], &[], Operation::Sum));
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    let sum = Scan::inclusive(Operation::Sum);
    let add = Operation::Sum;
    for len in [100, 20_000] {
        let keys = queue.full([len], 1_u32).unwrap();
        let x = queue.full([len], 1_u32).unwrap();
        let words = || queue.full([len], 7_u32).unwrap();
        let mut kept = words();
        let mut out = words();
        let mut count = queue.full([1], 7_u32).unwrap();
        let mut long = queue.zeros([len + 1]).unwrap();
        assert_refused!(queue.scan_by_key(&long, &x, &mut out, sum), Shape);
        assert_refused!(queue.scan_by_key(&keys, &x, &mut long, sum), Shape);
        assert_refused!(queue.reduce_by_key(&keys, &x, add, &mut long, &mut out, &mut count), Shape);
        assert_refused!(queue.reduce_by_key(&keys, &x, add, &mut kept, &mut long, &mut count), Shape);
        assert_refused!(queue.reduce_by_key(&long, &x, add, &mut kept, &mut out, &mut count), Shape);
        assert_refused!(queue.run_lengths(&x, &mut kept, &mut out, &mut queue.zeros([2]).unwrap()), Shape);
        assert_refused!(queue.scan_by_key(&keys, &x, &mut x.clone(), sum), Aliased);
        assert_refused!(queue.scan_by_key(&keys, &x, &mut keys.clone(), sum), Aliased);
        assert_refused!(queue.reduce_by_key(&keys, &x, add, &mut out.clone(), &mut out, &mut count), Aliased);
        assert_refused!(queue.run_lengths(&x, &mut kept, &mut out, &mut x.slice(0..1).unwrap()), Aliased);
        assert_refused!(
            queue.run_lengths(&x, &mut kept.clone(), &mut out, &mut kept.slice(0..1).unwrap()),
            Aliased
        );
        let foreign = other.zeros::<u32, 1>([len]).unwrap();
        let call = queue.reduce_by_key(&foreign, &x, add, &mut kept, &mut out, &mut count);
        assert_refused!(call, ForeignContext);
        for (array, before) in [(&kept, 7), (&out, 7), (&x, 1), (&keys, 1)] {
            assert_eq!(queue.read(array).wait().unwrap(), vec![before; len]);
        }
        assert_eq!(queue.read(&count).wait().unwrap(), [7]);
    }
    let mut padded = queue.zeros::<u32, 2>(Shape::padded([4, 5], [4, 8])).unwrap();
    let x = queue.zeros([4, 5]).unwrap();
    assert_refused!(queue.scan_by_key(&x, &x, &mut padded, sum), Padding);
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [700, 16_400] {
        let mut keys = queue.zeros([len]).unwrap();
        let mut x = queue.zeros::<i32, 1>([len]).unwrap();
        let mut outputs = results(&queue, len);
        let (graph, ()) = queue.capture(|c| enqueue(&mut outputs, c, &keys, &x, Operation::Sum)).unwrap();
        for round in 0..2_u32 {
            // The number of runs increases from replay to replay, so each result is overwritten.
            let next: Vec<u32> = (0..len as u32).map(|i| i / (9 - 2 * round) % 3).collect();
            let list = scrambled(len, round as i32);
            queue.upload(&next, &mut keys).unwrap();
            queue.upload(&list, &mut x).unwrap();
            queue.replay(&graph).unwrap();
            let replayed = outputs.read(&queue);
            assert!(replayed == expected(&next, &list, Operation::Sum), "{len} elements, round {round}");
            let eager = || found::<i32>(&queue, &next, bytemuck::cast_slice(&list), Operation::Sum);
            assert!(len > 700 || replayed == eager(), "{len} elements, round {round}");
        }
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    for shape in [[3, 100], [5, 3277]] {
        let len: usize = shape.iter().product();
        let keys: Vec<i32> = (0..len as i32).map(|i| i / 7).collect();
        let list: Vec<u32> = (0..len as u32).map(|i| i * i).collect();
        let all = queue.array(&around(&list, 9)).unwrap();
        let view = inside(&all).reshape(shape).unwrap();
        let of_runs = queue.array(&keys).unwrap().reshape(shape).unwrap();
        let nines = || queue.full([128 + len], 9_u32).unwrap();
        let kept = nines().cast_bits::<i32>();
        let out = nines();
        let counts = nines();
        let mut expected = Vec::new();
        let scan = Scan::exclusive(Operation::Sum);
        for scan in [scan, scan.reversed()] {
            queue.scan_by_key(&of_runs, &view, &mut inside(&out).reshape(shape).unwrap(), scan).unwrap();
            expected = host::scan_by_key(&keys, &list, scan);
            assert!(queue.read(&out).wait().unwrap() == around(&expected, 9), "{scan:?} of {shape:?}");
        }
        let mut keys_out = inside(&kept);
        let mut count = counts.slice(64..65).unwrap();
        let largest = Operation::Largest;
        queue.reduce_by_key(&of_runs, &view, largest, &mut keys_out, &mut inside(&out), &mut count).unwrap();
        let (runs, reduced) = host::reduce_by_key(&keys, &list, largest);
        expected[..runs.len()].copy_from_slice(&reduced);
        assert!(queue.read(&out).wait().unwrap() == around(&expected, 9), "{shape:?} reduced");
        let mut kept_words: Vec<u32> = runs.iter().map(|&key| key as u32).collect();
        kept_words.resize(len, 9);
        let found = queue.read(&kept.cast_bits::<u32>()).wait().unwrap();
        assert!(found == around(&kept_words, 9), "the keys of {shape:?}");
        let written = [vec![9; 64], vec![runs.len() as u32], vec![9; 63 + len]].concat();
        assert_eq!(queue.read(&counts).wait().unwrap(), written);
        assert!(queue.read(&all).wait().unwrap() == around(&list, 9), "the input stays");
    }
}
