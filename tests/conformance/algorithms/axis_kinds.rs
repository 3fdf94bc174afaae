//! A01, A03, A05: means along one axis, and comparisons of the elements along it with zero.

use super::axis::shapes;
use super::check_of_failed;
use crate::common::full::large;
use crate::common::{Case, Subject, case};
use fencepost::Shape;
use fencepost::algorithms::Reducible;
use fencepost::algorithms::prelude::*;
use fencepost::prelude::*;
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_mean_or_comparison_along_an_axis_enqueues_nothing", refused),
        case("a01_means_and_comparisons_along_an_axis_in_a_graph_equal_those_of_a_queue", in_a_graph),
        case("a05_comparisons_with_zero_along_each_axis_are_exact", comparisons),
        case("a05_the_comparisons_along_an_axis_count_nans_and_no_zeros_of_either_sign", zeros),
        case("a05_means_along_each_axis_are_within_their_bounds", means),
        case("a05_an_axis_without_elements_has_comparisons_and_no_mean", none),
        case("a05_a_mean_or_comparison_along_an_axis_writes_its_results_alone", guards),
    ]
}

/// Returns the shape of the results along an axis.
fn reduced<const D: usize>(mut shape: [usize; D], axis: usize) -> [usize; D] {
    shape[axis] = 1;
    shape
}

/// Returns the counts, and the results of `any` and `all`.
fn compared<T: Reducible, const D: usize>(
    queue: &CommandQueue,
    x: &DeviceArray<T, D>,
    axis: usize,
) -> [Vec<u32>; 3] {
    let [mut counts, mut any, mut all] = [(); 3].map(|()| queue.full(reduced(x.shape(), axis), 9).unwrap());
    queue.count_nonzero(x.axis(axis), &mut counts).unwrap();
    queue.any(x.axis(axis), &mut any).unwrap();
    queue.all(x.axis(axis), &mut all).unwrap();
    [counts, any, all].map(|out| queue.read(&out).wait().unwrap())
}

fn of_host<T: Reducible, const D: usize>(list: &[T], shape: [usize; D], axis: usize) -> [Vec<u32>; 3] {
    [
        host::count_nonzero_axis(list, shape, axis),
        host::any_axis(list, shape, axis),
        host::all_axis(list, shape, axis),
    ]
    .map(Option::unwrap)
}

fn check<T: Reducible>(queue: &CommandQueue, list: &[T], shape: [usize; 3]) {
    let x = queue.array(list).unwrap().reshape(shape).unwrap();
    for axis in 0..3 {
        assert_eq!(compared(queue, &x, axis), of_host(list, shape, axis), "along {axis} of {shape:?}");
    }
}

fn comparisons(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(61);
    for (at, shape) in shapes().into_iter().enumerate() {
        let len = shape.iter().product();
        // Many elements are not zero, few are not zero, and one is zero: all results occur.
        let few: Vec<u32> = (0..len).map(|_| u32::from(rng.u32(..500) == 0) * rng.u32(..)).collect();
        let mut many: Vec<u32> = (0..len).map(|_| rng.u32(..) | 0x8000_0000).collect();
        many[rng.usize(..len)] = 0;
        match at % 3 {
            0 => check::<u32>(&queue, &few, shape),
            1 => check::<i32>(&queue, bytemuck::cast_slice(&few), shape),
            _ => check::<f32>(&queue, bytemuck::cast_slice(&few), shape),
        }
        if large() || len < 2000 {
            check::<u32>(&queue, &many, shape);
            check::<u32>(&queue, &vec![0; len], shape);
            check::<u32>(&queue, &vec![0x8000_0000; len], shape);
        }
    }
}

fn zeros(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(62);
    // Zeros of both signs, the smallest number of both signs, and NaNs.
    let words = [0, 0x8000_0000, 0, 0x8000_0000, 1, 0x8000_0001, 0x7FC0_0000, 0xFFFF_FFFF_u32];
    for shape in [[3, 70, 1], [4, 3, 5], [1, 1030, 2], [1, 1, 16_390]] {
        for most in [2, 5, 8] {
            let list: Vec<u32> = (0..shape.iter().product()).map(|_| words[rng.usize(..most)]).collect();
            check::<f32>(&queue, bytemuck::cast_slice(&list), shape);
            // As an integer, the bits of -0 are not zero.
            check::<i32>(&queue, bytemuck::cast_slice(&list), shape);
        }
    }
}

fn means(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(63);
    for shape in shapes() {
        let len = shape.iter().product();
        let list: Vec<f32> = (0..len).map(|_| (rng.f32() - 0.5) * [1.0, 1e6][rng.usize(..2)]).collect();
        let x = queue.array(&list).unwrap().reshape(shape).unwrap();
        for axis in 0..3 {
            let mut out = queue.empty(reduced(shape, axis)).unwrap();
            queue.mean(x.axis(axis), &mut out).unwrap();
            let found = queue.read(&out).wait().unwrap();
            let n = shape[axis];
            let inner = shape[axis + 1..].iter().product::<usize>();
            let depth = match axis {
                2 => 52.0 + n as f64 / 2_f64.powi(20),
                _ => 330.0 + n as f64 / 4096.0,
            };
            for (at, found) in found.into_iter().enumerate() {
                let column = (0..n).map(|i| f64::from(list[(at / inner * n + i) * inner + at % inner]));
                let (sum, sizes) = column.fold((0.0, 0.0), |(sum, all), x| (sum + x, all + x.abs()));
                let found = f64::from(found);
                let exact = sum / n as f64;
                let u = 2_f64.powi(-24);
                let bound = depth * u * sizes / n as f64 + 5.0 * u * found.abs();
                assert!(
                    (found - exact).abs() <= bound,
                    "{shape:?} along {axis}: {found}, {exact} +- {bound}"
                );
            }
        }
    }
    let list = [1.0, 2.0, 3.0, 6.0, 7.0, f32::NAN];
    let x = queue.array(&list).unwrap().reshape([2, 3]).unwrap();
    let mut out = queue.empty([2, 1]).unwrap();
    queue.mean(x.axis(1), &mut out).unwrap();
    let found = queue.read(&out).wait().unwrap();
    assert!(found[0] == 2.0 && found[1].is_nan(), "{found:?}");
    assert_eq!(host::mean_axis(&list[..4], [2, 2], 0), Some(vec![2.0, 4.0]));
}

fn none(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.empty::<f32, 2>([3, 0]).unwrap();
    assert_eq!(compared(&queue, &x, 1), [vec![0; 3], vec![0; 3], vec![1; 3]]);
    assert_eq!(compared(&queue, &x, 0), [(); 3].map(|()| Vec::<u32>::new()));
    assert_eq!(of_host::<f32, 2>(&[], [3, 0], 1), [vec![0; 3], vec![0; 3], vec![1; 3]]);
    let error = queue.mean(x.axis(1), &mut queue.zeros([3, 1]).unwrap()).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{error}");
    let said =
        "has shape [3, 0], [3, 1] is needed: pass at least one element, because no elements have no mean";
    assert!(error.to_string().contains(said), "{error}");
    queue.mean(x.axis(0), &mut queue.zeros([1, 0]).unwrap()).unwrap();
    assert_eq!(host::mean_axis(&[], [3, 0], 1), None);
}

type Compare<const D: usize> =
    fn(&CommandQueue, &DeviceArray<u32, D>, usize, &mut DeviceArray<u32, D>) -> fencepost::Result<()>;

/// The verbs. The result of a mean is given by its bits.
const VERBS: [Compare<2>; 4] = [
    |queue, x, axis, out| queue.count_nonzero(x.axis(axis), out),
    |queue, x, axis, out| queue.any(x.axis(axis), out),
    |queue, x, axis, out| queue.all(x.axis(axis), out),
    |queue, x, axis, out| queue.mean(x.cast_bits().axis(axis), &mut out.cast_bits()),
];

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.full([4, 5], 1_u32).unwrap();
    let padded = queue.zeros::<u32, 2>(Shape::padded([4, 5], [4, 8])).unwrap();
    let mut out = queue.full([4, 1], 7_u32).unwrap();
    let other = s.ctx().queue("other");
    for verb in VERBS {
        let error = verb(&queue, &x, 2, &mut out).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Axis { axis: 2, rank: 2, .. }), "{error}");
        assert!(error.to_string().contains("`: axis 2 is outside array"), "{error}");
        let error = verb(&queue, &x, 0, &mut out).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{error}");
        assert!(error.to_string().contains("`, argument `out`: array"), "{error}");
        let error = verb(&queue, &padded, 1, &mut out).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Padding { .. }), "{error}");
        for shape in [[4, 5], [2, 20_000], [3000, 2]] {
            // Only the second of two launches would be refused.
            let x = queue.full(shape, 1_u32).unwrap();
            for axis in 0..2 {
                let reduced = reduced(shape, axis);
                let first = x.reshape([x.len()]).unwrap().slice(0..reduced.iter().product()).unwrap();
                let error = verb(&queue, &x, axis, &mut first.reshape(reduced).unwrap()).unwrap_err();
                assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "{error}");
                let error = verb(&queue, &x, axis, &mut other.zeros(reduced).unwrap()).unwrap_err();
                assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{error}");
            }
            assert_eq!(queue.read(&x).wait().unwrap(), vec![1; x.len()]);
        }
        let none = queue.zeros([0, 3]).unwrap();
        let mut foreign = other.zeros([0, 1]).unwrap();
        let error = verb(&queue, &none, 1, &mut foreign).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{error}");
        check_of_failed(s, |ctx, queue| {
            let none = ctx.zeros([0, 3])?;
            let mut out = ctx.zeros([0, 1])?;
            verb(queue, &none, 1, &mut out)
        });
    }
    assert_eq!(queue.read(&out).wait().unwrap(), [7; 4]);
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for shape in [[7, 100], [3, 16_400], [1100, 3]] {
        let len: usize = shape.iter().product();
        let mut x = queue.zeros::<f32, 1>([len]).unwrap();
        let view = x.reshape(shape).unwrap();
        let mut means = queue.zeros([shape[0], 1]).unwrap();
        let mut counts = queue.zeros([1, shape[1]]).unwrap();
        let (graph, ()) = queue
            .capture(|c| {
                c.mean(view.axis(1), &mut means)?;
                c.count_nonzero(view.axis(0), &mut counts)
            })
            .unwrap();
        for round in 0..2 {
            // Sums of integers are exact in any order.
            let list: Vec<f32> = (0..len).map(|i| ((i * 7 + round) % 5) as f32).collect();
            queue.upload(&list, &mut x).unwrap();
            queue.replay(&graph).unwrap();
            let found = (queue.read(&means).wait().unwrap(), queue.read(&counts).wait().unwrap());
            assert_eq!(Some(found.1), host::count_nonzero_axis(&list, shape, 0), "{shape:?}");
            let mut eager = queue.zeros([shape[0], 1]).unwrap();
            queue.mean(view.axis(1), &mut eager).unwrap();
            assert_eq!(found.0, queue.read(&eager).wait().unwrap(), "{shape:?}");
        }
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    for shape in [[3, 300], [300, 3], [2, 16_385]] {
        let len: usize = shape.iter().product();
        // Reading a guard element would increase a count by one, and change a mean by far.
        let list: Vec<u32> = (0..len).map(|i| [0, 0x3F80_0000][i % 2]).collect();
        let all =
            queue.array(&[vec![0x4F00_0000; 64], list.clone(), vec![0x4F00_0000; 64]].concat()).unwrap();
        let x = all.slice(64..64 + len).unwrap().reshape(shape).unwrap();
        for axis in 0..2 {
            let shape_of_results = reduced(shape, axis);
            let results: usize = shape_of_results.iter().product();
            let means = host::mean_axis(bytemuck::cast_slice(&list), shape, axis).unwrap();
            let [counts, any, all] = of_host(&list, shape, axis);
            let means = means.iter().map(|mean| mean.to_bits()).collect();
            for (at, (verb, expected)) in VERBS.iter().zip([counts, any, all, means]).enumerate() {
                let out = queue.full([128 + results], 5_u32).unwrap();
                let mut part = out.slice(64..64 + results).unwrap().reshape(shape_of_results).unwrap();
                verb(&queue, &x, axis, &mut part).unwrap();
                let found = queue.read(&out).wait().unwrap();
                let inside = &found[64..64 + results];
                let name = format!("verb {at}, {shape:?} along {axis}");
                // On a device, a quotient is within 2.5 ulp.
                let near = |(a, b): (&u32, &u32)| a.abs_diff(*b) <= if at == 3 { 3 } else { 0 };
                assert!(inside.iter().zip(&expected).all(near), "{name}: {inside:?}, {expected:?}");
                assert!(found[..64].iter().chain(&found[64 + results..]).all(|&word| word == 5), "{name}");
            }
        }
        assert_eq!(queue.read(&x).wait().unwrap(), list, "the input stays");
    }
}
