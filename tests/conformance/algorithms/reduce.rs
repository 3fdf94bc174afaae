//! A01, A02: reductions of whole arrays.

use super::{lengths, treated};
use crate::common::{Case, Subject, case, dump};
use fencepost::algorithms::Reducible;
use fencepost::interface::{Number, SameBits};
use fencepost::prelude::*;
use fencepost::{ErrorDetail, Policy, Shape};
use fencepost_oracles::{self as host, Nan};
use std::fmt::Debug;

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
    verb: impl FnOnce(&CommandQueue, &DeviceArray<T>, &mut DeviceArray<T>) -> fencepost::Result<()>,
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

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.array(&[1.0_f32; 100]).unwrap();
    let mut out = queue.full([1], 5.0_f32).unwrap();
    let shape =
        |error: fencepost::Error| assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{error}");
    shape(queue.sum(&x, &mut queue.zeros([2]).unwrap()).unwrap_err());
    shape(queue.prod(&x, &mut queue.zeros([0]).unwrap()).unwrap_err());
    let none = queue.empty::<f32, 1>([0]).unwrap();
    shape(queue.min(&none, &mut out).unwrap_err());
    shape(queue.max(none.skip_nan(), &mut out).unwrap_err());
    let padded = queue.zeros::<f32, 1>(Shape::padded([5], [8])).unwrap();
    let error = queue.sum(&padded, &mut out).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Padding { .. }), "{error}");
    let error = queue.max(&x, &mut x.slice(0..1).unwrap()).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "{error}");
    let other = s.ctx().queue("other");
    let error = queue.sum(&other.array(&[1.0_f32]).unwrap(), &mut out).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{error}");
    // Only the second of two launches would be refused.
    let large = queue.zeros::<f32, 1>([20_000]).unwrap();
    let error = queue.sum(&large, &mut large.slice(0..1).unwrap()).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "{error}");
    let error = queue.sum(&large, &mut other.zeros([1]).unwrap()).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{error}");
    assert_eq!(queue.read(&out).wait().unwrap(), [5.0]);
    assert_eq!(queue.read(&x).wait().unwrap(), [1.0; 100]);
}

/// Only the second of two launches would be refused, because its queue is not ordered after the write of `out`.
fn hazard(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let one = ctx.queue("one");
    let two = ctx.queue("two");
    let x = one.zeros::<f32, 1>([20_000]).unwrap();
    let mut out = one.full([1], 5.0_f32).unwrap();
    two.wait_for(&one).unwrap();
    one.fill(&mut out, 6.0).unwrap();
    let before = dump::enqueued(&ctx, "two");
    let error = two.sum(&x, &mut out).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Hazard { .. }), "{error}");
    assert_eq!(dump::enqueued(&ctx, "two"), before);
    two.wait_for(&one).unwrap();
    two.sum(&x, &mut out).unwrap();
    assert_ne!(dump::enqueued(&ctx, "two"), before);
    assert_eq!(two.read(&out).wait().unwrap(), [0.0]);
}

/// Enqueues reductions on a queue and on a fork of it. The sum of the fork becomes part of the array.
fn on_two_forks(queue: &CommandQueue, x: &DeviceArray<u32>, out: &DeviceArray<u32>) -> fencepost::Result<()> {
    let part = |at: usize| out.slice(64 * at..64 * at + 1);
    let fork = queue.fork("fork");
    fork.sum(x, &mut part(0)?)?;
    fork.min(x, &mut part(1)?)?;
    queue.prod(x, &mut part(2)?)?;
    queue.max(x, &mut part(3)?)?;
    queue.wait_for(&fork)?;
    queue.sum(&out.slice(0..256)?, &mut part(4)?)
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [100, 20_000] {
        let mut x = queue.zeros::<u32, 1>([len]).unwrap();
        let [out, eager] = [(); 2].map(|()| queue.zeros::<u32, 1>([320]).unwrap());
        let (graph, ()) = queue.capture(|c| on_two_forks(c, &x, &out)).unwrap();
        for round in 0..3_u32 {
            let list: Vec<u32> =
                (0..len as u32).map(|i| (i ^ round).wrapping_mul(2_654_435_761) | 1).collect();
            queue.upload(&list, &mut x).unwrap();
            queue.replay(&graph).unwrap();
            on_two_forks(&queue, &x, &eager).unwrap();
            let found = queue.read(&out).wait().unwrap();
            assert_eq!(found, queue.read(&eager).wait().unwrap(), "{len} elements, round {round}");
            assert_eq!((found[0], found[128]), (host::sum(&list), host::prod(&list)));
            assert_eq!(Some(found[64]), host::min(&list, Nan::Propagate));
        }
    }
    let x = queue.zeros::<f32, 1>([4]).unwrap();
    let error = queue.capture(|c| c.value_of(|out| c.sum(&x, out)).wait().map(drop)).map(drop).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Captured { .. }), "{error}");
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
        let list: Vec<i32> = (0..len).map(|i| i * 7 - 40).collect();
        let all = queue.array(&[vec![9; 64], list.clone(), vec![9; 64]].concat()).unwrap();
        let x = all.slice(64..64 + list.len()).unwrap();
        let out = queue.full([192], 5_i32).unwrap();
        queue.sum(&x, &mut out.slice(64..65).unwrap()).unwrap();
        queue.max(&x, &mut out.slice(128..129).unwrap()).unwrap();
        let mut expected = [5; 192];
        (expected[64], expected[128]) = (host::sum(&list), host::max(&list, Nan::Propagate).unwrap());
        assert_eq!(queue.read(&out).wait().unwrap(), expected);
        assert_eq!(queue.read(&x).wait().unwrap(), list, "the input stays");
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
