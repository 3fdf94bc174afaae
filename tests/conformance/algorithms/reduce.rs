//! A01, A02, A03, A04: reductions of whole arrays. Each verb with one result is refused, captured and guarded here.

use super::*;
use fencepost::interface::{Number, SameBits};

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_reduction_enqueues_nothing", refused),
        case("a01_a_reduction_with_a_hazard_enqueues_nothing", hazard),
        case("a01_reductions_in_a_graph_on_two_forks_equal_those_of_a_queue", in_a_graph),
        case("a01_a_reduction_comes_in_the_order_of_its_queue", in_order),
        case("a02_sums_and_products_of_integers_wrap_and_are_exact", integers),
        case("a02_sums_and_products_of_floats_are_within_their_bounds", floats),
        case("a02_the_smallest_and_the_largest_element_are_exact", extremes),
        case("a02_a_nan_is_the_result_or_is_left_out", nans),
        case("a02_a_reduction_writes_one_element", guards),
        case("a02_two_runs_of_a_reduction_give_the_same_bits", twice),
    ]
}

/// Returns a reduction's result.
fn result<T: Reducible + Debug>(
    queue: &CommandQueue,
    x: &DeviceArray<T>,
    verb: impl FnOnce(&CommandQueue, &DeviceArray<T>, &mut DeviceArray<T>) -> Result<()>,
) -> T {
    let mut out = queue.empty([1]).expect("memory");
    verb(queue, x, &mut out).expect("a reduction");
    queue.read(&out).wait().expect("a result")[0]
}

fn integers(s: &Subject) {
    fn of<T: Reducible + Debug + PartialEq>(
        queue: &CommandQueue,
        mut lists: impl FnMut(usize) -> Vec<Vec<T>>,
    ) {
        for len in lengths() {
            for list in lists(len) {
                let x = queue.array(&list).unwrap();
                assert_eq!(result(queue, &x, |q, x, out| q.sum(x, out)), host::sum(&list), "{len} elements");
                assert_eq!(
                    result(queue, &x, |q, x, out| q.prod(x, out)),
                    host::prod(&list),
                    "{len} elements"
                );
            }
        }
        let none = queue.empty::<T, 1>([0]).unwrap();
        assert_eq!(result(queue, &none, |q, x, out| q.sum(x, out)), T::identity_of_sum());
        assert_eq!(result(queue, &none, |q, x, out| q.prod(x, out)), T::ONE);
    }
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(1);
    let mut random = rng.fork();
    of::<u32>(&queue, move |len| {
        // With odd factors, the product does not become 0.
        vec![(0..len).map(|_| rng.u32(..)).collect(), (0..len).map(|_| rng.u32(..) | 1).collect()]
    });
    of::<i32>(&queue, move |len| vec![(0..len).map(|_| random.i32(..) | 1).collect(), vec![i32::MIN; len]]);
}

/// Resets the result to the sum of no elements.
trait IdentityOfSum: Number {
    fn identity_of_sum() -> Self {
        bytemuck::Zeroable::zeroed()
    }
}

impl<T: Number> IdentityOfSum for T {}

fn floats(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(2);
    for len in lengths() {
        let uniform: Vec<f32> = (0..len).map(|_| rng.f32()).collect();
        let cancelling = (0..len).map(|_| (rng.f32() - 0.5) * [1.0, 1e6][rng.usize(..2)]).collect();
        for list in [uniform, cancelling, vec![0.1; len]] {
            let x = queue.array(&list).unwrap();
            let found = f64::from(result(&queue, &x, |q, x, out| q.sum(x, out)));
            let exact: f64 = list.iter().map(|&x| f64::from(x)).sum();
            let magnitudes: f64 = list.iter().map(|&x| f64::from(x.abs())).sum();
            let bound = (52.0 + len as f64 / f64::from(1 << 20)) * 2_f64.powi(-24) * magnitudes;
            assert!((found - exact).abs() <= bound, "{len} elements: {found}, {exact} +- {bound}");
        }
        let factors: Vec<f32> = (0..len).map(|_| 1.0 + (rng.f32() - 0.5) * 1e-3).collect();
        let x = queue.array(&factors).unwrap();
        let found = f64::from(result(&queue, &x, |q, x, out| q.prod(x, out)));
        let exact: f64 = factors.iter().map(|&x| f64::from(x)).product();
        let bound = len as f64 * 2_f64.powi(-23) * exact;
        assert!((found - exact).abs() <= bound, "{len} factors: {found}, {exact} +- {bound}");
    }
    let x = queue.array(&[1.5_f32, 2.0, -4.0]).unwrap();
    assert_eq!(queue.value_of(|out| queue.sum(&x, out)).wait().unwrap(), -0.5);
    assert_eq!(
        queue.value_of(|out| queue.sum(&queue.empty::<f32, 2>([0, 3]).unwrap(), out)).wait().unwrap(),
        0.0
    );
    let cube = queue.array(&[1.0_f32; 60]).unwrap().reshape([3, 4, 5]).unwrap();
    assert_eq!(queue.value_of(|out| queue.sum(&cube, out)).wait().unwrap(), 60.0);
}

fn extremes(s: &Subject) {
    fn of<T>(queue: &CommandQueue, list: &[T])
    where
        T: Reducible + SameBits<u32> + Debug,
    {
        let x = queue.array(list).unwrap();
        let bits = |value: T| bytemuck::cast::<T, u32>(value);
        let least = result(queue, &x, |q, x, out| q.min(x, out));
        assert_eq!(bits(least), bits(host::min(list, Nan::Propagate).unwrap()), "{} elements", list.len());
        let most = result(queue, &x, |q, x, out| q.max(x, out));
        assert_eq!(bits(most), bits(host::max(list, Nan::Propagate).unwrap()), "{} elements", list.len());
    }
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(3);
    for len in lengths() {
        // The extreme element is at a random place, or first, or last.
        for at in [rng.usize(..len), if rng.bool() { 0 } else { len - 1 }] {
            let place = |mut list: Vec<u32>, value: u32| {
                list[at] = value;
                list
            };
            let middle: Vec<u32> = (0..len).map(|_| rng.u32(1 << 28..3 << 28)).collect();
            for value in [0, u32::MAX, 0x8000_0000, 0x7FFF_FFFF] {
                let list = place(middle.clone(), value);
                of::<u32>(&queue, &list);
                of::<i32>(&queue, bytemuck::cast_slice(&list));
            }
            // Infinities, the largest numbers, both zeros and numbers below the smallest normal one.
            for value in [0x7F80_0000, 0xFF80_0000, 0x7F7F_FFFF, 0x8000_0001, 1, 0, 0x8000_0000] {
                let small: Vec<u32> = (0..len).map(|_| [0, 0x8000_0000, 1][rng.usize(..3)]).collect();
                of::<f32>(&queue, bytemuck::cast_slice(&place(middle.clone(), value)));
                of::<f32>(&queue, bytemuck::cast_slice(&place(small, value)));
            }
        }
    }
}

fn nans(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [1, 2, 257, 20_000] {
        for nan in [0x7FC0_0000, 0xFFFF_FFFF, 0x7F80_0001_u32] {
            for at in [0, len / 2, len - 1] {
                let mut list: Vec<f32> = (0..len).map(|i| i as f32 - 5.0).collect();
                list[at] = f32::from_bits(nan);
                // Copying a NaN as a float may change its bits on the host, so words are uploaded.
                let words: Vec<u32> = list.iter().map(|x| x.to_bits()).collect();
                let x = queue.array(&words).unwrap().cast_bits::<f32>();
                for (rule, none) in [(Nan::Propagate, true), (Nan::Ignore, len == 1)] {
                    let least = result(&queue, &x, |q, x, out| q.min(treated(x, rule), out));
                    let most = result(&queue, &x, |q, x, out| q.max(treated(x, rule), out));
                    let expected = [host::min(&list, rule), host::max(&list, rule)].map(Option::unwrap);
                    let same = |found: f32, expected: f32| {
                        if none { found.is_nan() && expected.is_nan() } else { found == expected }
                    };
                    assert!(same(least, expected[0]) && same(most, expected[1]), "{rule:?} of {len} at {at}");
                }
            }
        }
    }
}

/// The verbs with one result for a whole array. The exact ones come first; floats are given by their bits.
const VERBS: [Verb; 12] = [
    |q, x, out| q.sum(x, out),
    |q, x, out| q.prod(x, out),
    |q, x, out| q.min(x, out),
    |q, x, out| q.max(x, out),
    |q, x, out| q.argmin(x, out),
    |q, x, out| q.argmax(x, out),
    |q, x, out| q.count_nonzero(x, out),
    |q, x, out| q.any(x, out),
    |q, x, out| q.all(x, out),
    |q, x, out| q.dot(x, x, out),
    |q, x, out| q.norm(&x.cast_bits::<f32>(), &mut out.cast_bits()),
    |q, x, out| q.mean(&x.cast_bits::<f32>(), &mut out.cast_bits()),
];
/// Number of verbs with exact results.
const EXACT: usize = 10;

/// Returns the results of the exact verbs.
fn exact_results(list: &[u32]) -> [u32; EXACT] {
    [
        host::sum(list),
        host::prod(list),
        host::min(list, Nan::Propagate).unwrap(),
        host::max(list, Nan::Propagate).unwrap(),
        host::argmin(list).unwrap() as u32,
        host::argmax(list).unwrap() as u32,
        host::count_nonzero(list) as u32,
        host::any(list).into(),
        host::all(list).into(),
        host::dot(list, list),
    ]
}

/// Returns the part of the results for one verb.
fn part(out: &DeviceArray<u32>, verb: usize) -> Result<DeviceArray<u32>> {
    out.slice(64 * verb..64 * verb + 1)
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    let padded = queue.zeros(Shape::padded([5], [8])).unwrap();
    let mut out = queue.full([1], 5_u32).unwrap();
    for len in [100, 20_000] {
        // Only the second of two launches would be refused.
        let x = queue.full([len], 1_u32).unwrap();
        for verb in VERBS {
            assert_refused!(verb(&queue, &x, &mut queue.zeros([0]).unwrap()), Shape);
            assert_refused!(verb(&queue, &x, &mut queue.zeros([2]).unwrap()), Shape);
            assert_refused!(verb(&queue, &padded, &mut out), Padding);
            assert_refused!(verb(&queue, &x, &mut x.slice(0..1).unwrap()), Aliased);
            assert_refused!(verb(&queue, &x, &mut other.zeros([1]).unwrap()), ForeignContext);
            assert_refused!(verb(&queue, &other.zeros([len]).unwrap(), &mut out), ForeignContext);
        }
        assert_eq!(queue.read(&x).wait().unwrap(), vec![1; len]);
    }
    let mut out = out.cast_bits::<f32>();
    let none = queue.empty::<f32, 1>([0]).unwrap();
    assert_refused!(queue.min(&none, &mut out), Shape);
    assert_refused!(queue.max(none.skip_nan(), &mut out), Shape);
    assert_refused!(queue.argmin(&none, &mut out.cast_bits()), Shape);
    assert_refused!(queue.argmax(&none, &mut out.cast_bits()), Shape);
    assert_refused!(queue.mean(&none, &mut out), Shape);
    let x = queue.zeros::<f32, 2>([4, 25]).unwrap();
    assert_refused!(queue.dot(&x, &queue.zeros([4, 24]).unwrap(), &mut out), Shape);
    assert_refused!(queue.dot(&x, &x.reshape([25, 4]).unwrap(), &mut out), Shape);
    for len in [100, 20_000] {
        let [x, y] = [(); 2].map(|()| queue.zeros::<f32, 1>([len]).unwrap());
        assert_refused!(queue.dot(&x, &y, &mut y.slice(0..1).unwrap()), Aliased);
    }
    assert_eq!(queue.read(&out.cast_bits::<u32>()).wait().unwrap(), [5]);
}

/// Only the second of two launches would be refused.
fn hazard(s: &Subject) {
    enqueue_nothing_with_a_hazard(s, 20_000, &[|queue, x, out| queue.sum(x, &mut out.slice(0..1)?)]);
}

/// Enqueues the verbs in turn on a queue and on a fork of it. At the end, the results of the first ones are added.
fn on_two_forks(queue: &CommandQueue, x: &DeviceArray<u32>, out: &DeviceArray<u32>) -> Result<()> {
    let fork = queue.fork("fork");
    for (at, verb) in VERBS.iter().enumerate() {
        verb([&fork, queue][at % 2], x, &mut part(out, at)?)?;
    }
    queue.wait_for(&fork)?;
    queue.sum(&out.slice(0..256)?, &mut part(out, VERBS.len())?)
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [100, 20_000] {
        // The bits of numbers from 1 to 2. Only the last list has zeros, which make its product 0.
        let word = |i: u32, round: u32| match round {
            2 if i.is_multiple_of(7) => 0,
            _ => 0x3F80_0001 | (i ^ round).wrapping_mul(2_654_435_761) >> 9,
        };
        let lists = (0..3).map(|round| (0..len).map(|i| word(i, round)).collect());
        let x = queue.zeros([len as usize]).unwrap();
        check_replays(&queue, x, 64 * (VERBS.len() + 1), on_two_forks, lists, |list, found| {
            for (at, expected) in exact_results(list).into_iter().enumerate() {
                assert_eq!(found[64 * at], expected, "verb {at} of {len} elements");
            }
        });
    }
}

fn in_order(s: &Subject) {
    let ctx = s.ctx();
    let a = ctx.queue("a");
    let b = ctx.queue("b");
    let mut x = a.zeros::<u32, 1>([20_000]).unwrap();
    let mut sums = Vec::new();
    for round in 0..20_u32 {
        a.fill(&mut x, round).unwrap();
        b.wait_for(&a).unwrap();
        sums.push(b.value_of(|out| b.sum(&x, out)));
        a.wait_for(&b).unwrap();
    }
    for (round, sum) in (0..).zip(sums) {
        assert_eq!(
            sum.wait().unwrap(),
            20_000 * round,
            "the scratch memory is used again in the queue's order"
        );
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [1, 300, 4097, 16_385] {
        let list: Vec<u32> = (0..len).map(|i| (i * 7 + 3) % 50).collect();
        for guard in [0, 999] {
            let all = queue.array(&around(&list, guard)).unwrap();
            let x = inside(&all);
            let out = queue.full([64 * EXACT], 5_u32).unwrap();
            let mut expected = vec![5; 64 * EXACT];
            for (at, (verb, result)) in VERBS.iter().zip(exact_results(&list)).enumerate() {
                verb(&queue, &x, &mut part(&out, at).unwrap()).unwrap();
                expected[64 * at] = result;
            }
            assert_eq!(queue.read(&out).wait().unwrap(), expected, "{len} elements");
            assert_eq!(queue.read(&x).wait().unwrap(), list, "the input stays");
        }
    }
}

fn twice(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(4);
    let list: Vec<f32> = (0..50_000).map(|_| (rng.f32() - 0.5) * 2_f32.powi(rng.i32(-20..20))).collect();
    let x = queue.array(&list).unwrap();
    let sums: Vec<u32> =
        (0..5).map(|_| queue.value_of(|out| queue.sum(&x, out)).wait().unwrap().to_bits()).collect();
    assert!(sums.iter().all(|&sum| sum == sums[0]), "{sums:?}");
}
