//! A01, A10: verbs that combine runs of equal keys.

use super::few_lengths;
use crate::common::full::large;
use crate::common::{Case, Subject, case};
use fencepost::Shape;
use fencepost::algorithms::Reducible;
use fencepost::prelude::*;
use fencepost_oracles as host;

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
/// Initial value of result arrays.
const BEFORE: u32 = 0x5A5A_5A5A;

/// Returns the scan of a case: exclusive with an initial value for products and largest elements, otherwise inclusive.
fn scan<T: Reducible>(operation: Operation) -> Scan<T> {
    match operation {
        Operation::Product | Operation::Largest => Scan::exclusive(operation).from(T::ONE),
        _ => Scan::inclusive(operation),
    }
}

/// Arrays of results.
struct Outputs<T: Reducible> {
    scanned: [DeviceArray<T>; 2],
    kept: [DeviceArray<u32>; 2],
    reduced: DeviceArray<T>,
    lengths: DeviceArray<u32>,
    counts: [DeviceArray<u32>; 2],
}

/// Results of the verbs as words: all elements of the result arrays, and the counts.
#[derive(PartialEq, Debug)]
struct Results {
    /// Results of a scan, and of the reversed scan.
    scanned: [Vec<u32>; 2],
    kept: [Vec<u32>; 2],
    reduced: Vec<u32>,
    lengths: Vec<u32>,
    counts: [usize; 2],
}

impl<T: Reducible> Outputs<T> {
    fn new(queue: &CommandQueue, len: usize) -> Self {
        let words = || queue.full([len], BEFORE).unwrap();
        let count = || queue.full([1], BEFORE).unwrap();
        let elements = || queue.array(bytemuck::cast_slice(&vec![BEFORE; len])).unwrap();
        Self {
            scanned: [elements(), elements()],
            kept: [words(), words()],
            reduced: elements(),
            lengths: words(),
            counts: [count(), count()],
        }
    }

    /// Enqueues each verb.
    fn enqueue(
        &mut self,
        queue: &CommandQueue,
        keys: &DeviceArray<u32>,
        x: &DeviceArray<T>,
        operation: Operation,
    ) -> fencepost::Result<()> {
        let ([kept, values], [count, runs]) = (&mut self.kept, &mut self.counts);
        let [forward, reversed] = &mut self.scanned;
        queue.scan_by_key(keys, x, forward, scan(operation))?;
        queue.scan_by_key(keys, x, reversed, scan(operation).reversed())?;
        queue.reduce_by_key(keys, x, operation, kept, &mut self.reduced, count)?;
        queue.run_lengths(keys, values, &mut self.lengths, runs)
    }

    fn read(&self, queue: &CommandQueue) -> Results {
        let words = |list: &DeviceArray<u32>| queue.read(list).wait().unwrap();
        Results {
            scanned: [0, 1].map(|at| words(&self.scanned[at].cast_bits())),
            kept: [0, 1].map(|at| words(&self.kept[at])),
            reduced: words(&self.reduced.cast_bits()),
            lengths: words(&self.lengths),
            counts: [0, 1].map(|at| words(&self.counts[at])[0] as usize),
        }
    }
}

/// Returns the results of a queue.
fn found<T: Reducible>(queue: &CommandQueue, keys: &[u32], words: &[u32], operation: Operation) -> Results {
    let mut outputs = Outputs::<T>::new(queue, keys.len());
    let keys = queue.array(keys).unwrap();
    let x = queue.array(bytemuck::cast_slice(words)).unwrap();
    outputs.enqueue(queue, &keys, &x, operation).unwrap();
    outputs.read(queue)
}

/// Returns the results of the host. The elements after the results of the runs are unchanged.
fn expected<T: Reducible>(keys: &[u32], x: &[T], operation: Operation) -> Results {
    let padded = |mut words: Vec<u32>| {
        words.resize(keys.len(), BEFORE);
        words
    };
    let words = |list: Vec<T>| bytemuck::cast_slice(&list).to_vec();
    let (kept, reduced) = host::reduce_by_key(keys, x, operation);
    let (values, lengths) = host::run_lengths(keys);
    let counts = [kept.len(), values.len()];
    Results {
        scanned: [scan(operation), scan(operation).reversed()]
            .map(|scan| words(host::scan_by_key(keys, x, scan))),
        kept: [kept, values].map(padded),
        reduced: padded(words(reduced)),
        lengths: padded(lengths.into_iter().map(|length| length as u32).collect()),
        counts,
    }
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
        let runs = [1, 3, 50, 6000, usize::MAX];
        let runs = if large() { &runs[..] } else { &runs[at % 5..][..1] };
        for &run in runs {
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
        let found: &[f32] = bytemuck::cast_slice(&results.scanned[0]);
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
                let of_run = f64::from(f32::from_bits(results.reduced[runs]));
                assert!(
                    (of_run - exact).abs() <= bound,
                    "run {runs} of {len} elements: {of_run}, not {exact}"
                );
                runs += 1;
            }
        }
        assert_eq!(results.counts, [runs; 2]);
        let found: &[f32] = bytemuck::cast_slice(&results.scanned[1]);
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
        assert!(same(&found.scanned[0], &expected.scanned[0]), "{operation:?} so far of {len}");
        assert!(same(&found.scanned[1], &expected.scanned[1]), "{operation:?} reversed of {len}");
        assert!(same(&found.reduced, &expected.reduced), "{operation:?} of the runs of {len}");
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
        let shape = |error: fencepost::Error| {
            assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{error}");
        };
        shape(queue.scan_by_key(&long, &x, &mut out, sum).unwrap_err());
        shape(queue.scan_by_key(&keys, &x, &mut long, sum).unwrap_err());
        shape(queue.reduce_by_key(&keys, &x, add, &mut long, &mut out, &mut count).unwrap_err());
        shape(queue.reduce_by_key(&keys, &x, add, &mut kept, &mut long, &mut count).unwrap_err());
        shape(queue.reduce_by_key(&long, &x, add, &mut kept, &mut out, &mut count).unwrap_err());
        shape(queue.run_lengths(&x, &mut kept, &mut out, &mut queue.zeros([2]).unwrap()).unwrap_err());
        let aliased = |error: fencepost::Error| {
            assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "{error}");
        };
        aliased(queue.scan_by_key(&keys, &x, &mut x.clone(), sum).unwrap_err());
        aliased(queue.scan_by_key(&keys, &x, &mut keys.clone(), sum).unwrap_err());
        aliased(queue.reduce_by_key(&keys, &x, add, &mut out.clone(), &mut out, &mut count).unwrap_err());
        aliased(queue.run_lengths(&x, &mut kept, &mut out, &mut x.slice(0..1).unwrap()).unwrap_err());
        aliased(
            queue.run_lengths(&x, &mut kept.clone(), &mut out, &mut kept.slice(0..1).unwrap()).unwrap_err(),
        );
        let foreign = other.zeros::<u32, 1>([len]).unwrap();
        let error = queue.reduce_by_key(&foreign, &x, add, &mut kept, &mut out, &mut count).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{error}");
        for (array, before) in [(&kept, 7), (&out, 7), (&x, 1), (&keys, 1)] {
            assert_eq!(queue.read(array).wait().unwrap(), vec![before; len]);
        }
        assert_eq!(queue.read(&count).wait().unwrap(), [7]);
    }
    let mut padded = queue.zeros::<u32, 2>(Shape::padded([4, 5], [4, 8])).unwrap();
    let x = queue.zeros([4, 5]).unwrap();
    let error = queue.scan_by_key(&x, &x, &mut padded, sum).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Padding { .. }), "{error}");
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [700, 16_400] {
        let mut keys = queue.zeros([len]).unwrap();
        let mut x = queue.zeros::<i32, 1>([len]).unwrap();
        let mut outputs = Outputs::new(&queue, len);
        let (graph, ()) = queue.capture(|c| outputs.enqueue(c, &keys, &x, Operation::Sum)).unwrap();
        for round in 0..2_u32 {
            // The number of runs increases from replay to replay, so each result is overwritten.
            let next: Vec<u32> = (0..len as u32).map(|i| i / (9 - 2 * round) % 3).collect();
            let list: Vec<i32> =
                (0..len as i32).map(|i| (i ^ round as i32).wrapping_mul(-1_640_531_527)).collect();
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
        let around = |list: &[u32]| [&[9; 64], list, &[9; 64]].concat();
        let all = queue.array(&around(&list)).unwrap();
        let view = all.slice(64..64 + len).unwrap().reshape(shape).unwrap();
        let of_runs = queue.array(&keys).unwrap().reshape(shape).unwrap();
        let nines = || queue.full([128 + len], 9_u32).unwrap();
        let kept = nines().cast_bits::<i32>();
        let out = nines();
        let counts = nines();
        let middle = |array: &DeviceArray<u32>| array.slice(64..64 + len).unwrap();
        let scan = Scan::exclusive(Operation::Sum);
        queue.scan_by_key(&of_runs, &view, &mut middle(&out).reshape(shape).unwrap(), scan).unwrap();
        let mut expected = host::scan_by_key(&keys, &list, scan);
        assert!(queue.read(&out).wait().unwrap() == around(&expected), "{shape:?} scanned");
        let scan = scan.reversed();
        queue.scan_by_key(&of_runs, &view, &mut middle(&out).reshape(shape).unwrap(), scan).unwrap();
        expected = host::scan_by_key(&keys, &list, scan);
        assert!(queue.read(&out).wait().unwrap() == around(&expected), "{shape:?} scanned in reverse");
        let mut keys_out = kept.slice(64..64 + len).unwrap();
        let mut count = counts.slice(64..65).unwrap();
        let largest = Operation::Largest;
        queue.reduce_by_key(&of_runs, &view, largest, &mut keys_out, &mut middle(&out), &mut count).unwrap();
        let (runs, reduced) = host::reduce_by_key(&keys, &list, largest);
        expected[..runs.len()].copy_from_slice(&reduced);
        assert!(queue.read(&out).wait().unwrap() == around(&expected), "{shape:?} reduced");
        let mut kept_words: Vec<u32> = runs.iter().map(|&key| key as u32).collect();
        kept_words.resize(len, 9);
        let found = queue.read(&kept.cast_bits::<u32>()).wait().unwrap();
        assert!(found == around(&kept_words), "the keys of {shape:?}");
        let written = [vec![9; 64], vec![runs.len() as u32], vec![9; 63 + len]].concat();
        assert_eq!(queue.read(&counts).wait().unwrap(), written);
        assert!(queue.read(&all).wait().unwrap() == around(&list), "the input stays");
    }
}
