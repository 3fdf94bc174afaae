//! A03, A05: means along one axis, and comparisons of the elements along it with zero.

use super::axis::shapes;
use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a05_comparisons_with_zero_along_each_axis_are_exact", comparisons),
        case("a05_the_comparisons_along_an_axis_count_nans_and_no_zeros_of_either_sign", zeros),
        case("a05_means_along_each_axis_are_within_their_bounds", means),
        case("a05_an_axis_without_elements_has_comparisons_and_no_mean", none),
    ]
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
    let error = assert_refused!(queue.mean(x.axis(1), &mut queue.zeros([3, 1]).unwrap()), Shape);
    let said =
        "has shape [3, 0], [3, 1] is needed: pass at least one element, because an empty array has no mean";
    assert!(error.to_string().contains(said), "{error}");
    queue.mean(x.axis(0), &mut queue.zeros([1, 0]).unwrap()).unwrap();
    assert_eq!(host::mean_axis(&[], [3, 0], 1), None);
}
