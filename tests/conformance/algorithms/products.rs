//! A01, A05, A11: norms and inner products along an axis and in segments.

use super::axis::shapes;
use super::segments::{MEANS, offsets};
use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_norm_or_product_enqueues_nothing", refused),
        case("a05_products_along_each_axis_of_integers_are_exact", integers),
        case("a05_norms_and_products_along_each_axis_of_floats_are_within_their_bounds", floats),
        case("a11_products_of_segments_of_integers_are_exact", segments),
        case("a11_products_of_segments_of_floats_are_within_their_bounds", floats_of_segments),
    ]
}

fn integers(s: &Subject) {
    fn of<T: Reducible + Debug>(queue: &CommandQueue, lists: [&[T]; 2], shape: [usize; 3]) {
        let [x, y] = lists.map(|list| queue.array(list).unwrap().reshape(shape).unwrap());
        for axis in 0..3 {
            let mut out = queue.full(reduced(shape, axis), T::ONE).unwrap();
            queue.dot(x.axis(axis), &y, &mut out).unwrap();
            let expected = host::dot_axis(lists[0], lists[1], shape, axis);
            assert_eq!(Some(queue.read(&out).wait().unwrap()), expected, "along {axis} of {shape:?}");
        }
    }
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(701);
    for (at, shape) in shapes().into_iter().enumerate() {
        let [x, y] = [(); 2].map(|()| (0..shape.iter().product()).map(|_| rng.u32(..)).collect::<Vec<u32>>());
        match at % 2 {
            0 => of::<u32>(&queue, [&x, &y], shape),
            _ => of::<i32>(&queue, [bytemuck::cast_slice(&x), bytemuck::cast_slice(&y)], shape),
        }
    }
    assert_eq!(host::dot_axis(&[1, 2], &[1], [1, 2], 0), None);
    // The sum and the norm of no elements are 0.
    let none = queue.empty::<f32, 2>([3, 0]).unwrap();
    let [mut products, mut norms] = [(); 2].map(|()| queue.full([3, 1], 5.0).unwrap());
    queue.dot(none.axis(1), &none, &mut products).unwrap();
    queue.norm(none.axis(1), &mut norms).unwrap();
    assert_eq!([products, norms].map(|out| queue.read(&out).wait().unwrap()), [[0.0; 3]; 2]);
    assert_eq!(host::norm_axis(&[], [3, 0], 1), Some(vec![0.0; 3]));
}

/// Returns two lists of numbers of different sizes.
fn numbers(rng: &mut fastrand::Rng, len: usize) -> [Vec<f32>; 2] {
    [(); 2].map(|()| (0..len).map(|_| (rng.f32() - 0.5) * [1.0, 1e3][rng.usize(..2)]).collect())
}

/// Returns the sum of the products, and the sum of their magnitudes.
fn sums(pairs: impl Iterator<Item = (f32, f32)>) -> (f64, f64) {
    let products = pairs.map(|(x, y)| f64::from(x) * f64::from(y));
    products.fold((0.0, 0.0), |(sum, sizes), product| (sum + product, sizes + product.abs()))
}

const U: f64 = 1.0 / 16_777_216.0;

fn floats(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(702);
    for shape in shapes() {
        let [list, other] = numbers(&mut rng, shape.iter().product());
        let [x, y] = [&list, &other].map(|list| queue.array(list).unwrap().reshape(shape).unwrap());
        for axis in 0..3 {
            let [mut products, mut norms] = [(); 2].map(|()| queue.zeros(reduced(shape, axis)).unwrap());
            queue.dot(x.axis(axis), &y, &mut products).unwrap();
            queue.norm(x.axis(axis), &mut norms).unwrap();
            let [products, norms] = [products, norms].map(|out| queue.read(&out).wait().unwrap());
            let n = shape[axis];
            let inner = shape[axis + 1..].iter().product::<usize>();
            let steps = n as f64 / 4096.0;
            let (of_product, of_norm) = match axis {
                2 => (53.0 + steps / 256.0, 36.0 + steps / 512.0),
                _ => (331.0 + steps, 175.0 + steps / 2.0),
            };
            for (at, (product, norm)) in products.into_iter().zip(norms).enumerate() {
                let place = |i: usize| (at / inner * n + i) * inner + at % inner;
                let (exact, sizes) = sums((0..n).map(|i| (list[place(i)], other[place(i)])));
                let error = (f64::from(product) - exact).abs();
                assert!(error <= of_product * U * sizes, "{shape:?} along {axis}: {product}, not {exact}");
                let exact = sums((0..n).map(|i| (list[place(i)], list[place(i)]))).0.sqrt();
                let error = (f64::from(norm) - exact).abs();
                assert!(error <= of_norm * U * exact, "{shape:?} along {axis}: {norm}, not {exact}");
            }
        }
    }
    // A NaN affects only its own row, squares may overflow, and the norm of -0 is 0.
    let list = [3.0, -4.0, f32::NAN, 1.0, 3e38, 3e38, -0.0, 0.0];
    let x = queue.array(&list).unwrap().reshape([4, 2]).unwrap();
    let mut norms = queue.zeros([4, 1]).unwrap();
    queue.norm(x.axis(1), &mut norms).unwrap();
    let found = queue.read(&norms).wait().unwrap();
    assert!(found[0] == 5.0 && found[1].is_nan() && found[2..] == [f32::INFINITY, 0.0], "{found:?}");
}

/// Returns the products of segments, and checks that the elements around them are unchanged.
fn of_segments<T: Reducible + Debug>(queue: &CommandQueue, [x, y]: [&[T]; 2], offsets: &[u32]) -> Vec<T> {
    let [x, y] = [x, y].map(|list| queue.array(list).unwrap());
    let places = queue.array(offsets).unwrap();
    guarded(queue, offsets.len() - 1, |out| queue.dot(x.segments(&places), &y, out))
}

fn segments(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(703);
    for (at, len) in few_lengths().into_iter().enumerate() {
        for &mean in some(&MEANS, at) {
            let offsets = offsets(&mut rng, len, mean);
            let [x, y] = [(); 2].map(|()| (0..len).map(|_| rng.u32(..)).collect::<Vec<u32>>());
            let expected = host::dot_segments(&x, &y, &offsets);
            assert!(of_segments(&queue, [&x, &y], &offsets) == expected, "{len}, {mean}");
        }
    }
    let lists: [&[i32]; 2] = [&[3, -1, 4, 7], &[2, 2, -5, 100]];
    assert_eq!(of_segments(&queue, lists, &[0, 2, 2, 3, 3]), [4, 0, -20, 0]);
    let none: [&[f32]; 2] = [&[]; 2];
    assert_eq!(of_segments(&queue, none, &[0, 0, 0]), [0.0; 2]);
}

fn floats_of_segments(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(704);
    let all = [(257, 20), (20_481, 3000), (16_385, 3), (34_567, usize::MAX)];
    for &(len, mean) in if large() { &all[..] } else { &all[..2] } {
        let offsets = offsets(&mut rng, len, mean);
        let [x, y] = numbers(&mut rng, len);
        let products = of_segments(&queue, [&x, &y], &offsets);
        let depth = 141.0 + len as f64 / 2_f64.powi(15);
        for (ends, product) in offsets.windows(2).zip(products) {
            let (exact, sizes) = sums((ends[0] as usize..ends[1] as usize).map(|i| (x[i], y[i])));
            let error = (f64::from(product) - exact).abs();
            assert!(error <= depth * U * sizes, "{ends:?} of {len}: {product}, not {exact}");
        }
    }
}

/// Tests the second array. Refusals of the first one are tested with the other verbs along an axis.
fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    for shape in [[4, 5], [2, 20_000], [3000, 2]] {
        // Only the second of two launches would be refused.
        let [x, y] = [(); 2].map(|()| queue.full(shape, 1.0_f32).unwrap());
        let turned = x.reshape([shape[1], shape[0]]).unwrap();
        let foreign = other.zeros(shape).unwrap();
        let first = |of: &DeviceArray<f32, 2>, results: usize| {
            of.reshape([of.len()]).unwrap().slice(0..results).unwrap()
        };
        for axis in 0..2 {
            let mut out = queue.full(reduced(shape, axis), 7.0).unwrap();
            assert_refused!(queue.dot(x.axis(axis), &turned, &mut out), Shape);
            assert_refused!(queue.dot(x.axis(axis), &foreign, &mut out), ForeignContext);
            for array in [&x, &y] {
                let mut part = first(array, out.len()).reshape(out.shape()).unwrap();
                assert_refused!(queue.dot(x.axis(axis), &y, &mut part), Aliased);
            }
            assert!(queue.read(&out).wait().unwrap().iter().all(|&x| x == 7.0));
        }
        let offsets = queue.array(&[0_u32, 2]).unwrap();
        let mut out = queue.full([1], 7.0).unwrap();
        assert_refused!(queue.dot(x.segments(&offsets), &turned, &mut out), Shape);
        assert_refused!(queue.dot(x.segments(&offsets), &foreign, &mut out), ForeignContext);
        assert_refused!(queue.dot(x.segments(&offsets), &y, &mut first(&y, 1)), Aliased);
        assert_eq!(queue.read(&out).wait().unwrap(), [7.0]);
    }
    let x = queue.full([4, 5], 1.0_f32).unwrap();
    let padded = queue.zeros::<f32, 2>(Shape::padded([4, 5], [4, 8])).unwrap();
    assert_refused!(queue.dot(x.axis(1), &padded, &mut queue.zeros([4, 1]).unwrap()), Padding);
}
