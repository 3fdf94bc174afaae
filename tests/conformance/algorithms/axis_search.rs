//! A03, A05: the places of the smallest and the largest elements along one axis.

use super::axis::shapes;
use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a05_the_places_along_each_axis_are_those_of_the_first_of_equal_elements", places),
        case("a05_the_place_of_numbers_along_an_axis_is_that_of_the_first_nan", nans),
        case("a05_an_axis_without_elements_has_no_places", none),
    ]
}

/// Returns the places of the smallest and of the largest elements.
fn found<T: Reducible, const D: usize>(
    queue: &CommandQueue,
    x: &DeviceArray<T, D>,
    axis: usize,
) -> [Vec<u32>; 2] {
    let [mut least, mut most] = [(); 2].map(|()| queue.full(reduced(x.shape(), axis), 9_u32).unwrap());
    queue.argmin(x.axis(axis), &mut least).unwrap();
    queue.argmax(x.axis(axis), &mut most).unwrap();
    [least, most].map(|out| queue.read(&out).wait().unwrap())
}

fn of_host<T: Reducible, const D: usize>(list: &[T], shape: [usize; D], axis: usize) -> [Vec<u32>; 2] {
    [host::argmin_axis(list, shape, axis), host::argmax_axis(list, shape, axis)].map(Option::unwrap)
}

fn check<T: Reducible>(queue: &CommandQueue, list: &[T], shape: [usize; 3]) {
    let x = queue.array(list).unwrap().reshape(shape).unwrap();
    for axis in 0..3 {
        assert_eq!(found(queue, &x, axis), of_host(list, shape, axis), "along {axis} of {shape:?}");
    }
}

fn places(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(71);
    for (at, shape) in shapes().into_iter().enumerate() {
        let len = shape.iter().product();
        // Few distinct values, so that several elements are equal; then extreme values at random places.
        let mut few: Vec<u32> = (0..len).map(|_| [1, 2, 0x7FFF_FFFF, 0x8000_0000][rng.usize(..4)]).collect();
        match at % 2 {
            0 => check::<u32>(&queue, &few, shape),
            _ => check::<i32>(&queue, bytemuck::cast_slice(&few), shape),
        }
        few[rng.usize(..len)] = 0;
        few[rng.usize(..len)] = u32::MAX;
        if large() || len < 2000 {
            check::<u32>(&queue, &few, shape);
            check::<i32>(&queue, &vec![i32::MIN; len], shape);
            check::<u32>(&queue, &vec![u32::MAX; len], shape);
        }
        // Zeros of both signs are equal, so the first one in a row or column is the result.
        let mut bits: Vec<u32> = (0..len).map(|_| [0, 0x8000_0000, 1, 0x8000_0001][rng.usize(..4)]).collect();
        bits[rng.usize(..len)] = 0x7F80_0000;
        bits[rng.usize(..len)] = 0xFF80_0000;
        check::<f32>(&queue, bytemuck::cast_slice(&bits), shape);
    }
    let list: Vec<u32> = (0..120).map(|i| i * 37 % 41).collect();
    let x = queue.array(&list).unwrap().reshape([2, 3, 4, 5]).unwrap();
    assert_eq!(found(&queue, &x, 2), of_host(&list, [2, 3, 4, 5], 2));
}

fn nans(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(72);
    let nans = [0x7FC0_0000, 0xFFFF_FFFF, 0x7F80_0001_u32];
    for shape in [[3, 70, 1], [4, 3, 5], [1, 1030, 2], [1, 1, 16_390], [2, 1, 130]] {
        for one_in in [2, 40, 2000] {
            let mut word = || {
                if rng.u32(..one_in) == 0 { nans[rng.usize(..3)] } else { rng.u32(1 << 28..3 << 28) }
            };
            let words: Vec<u32> = (0..shape.iter().product()).map(|_| word()).collect();
            check::<f32>(&queue, bytemuck::cast_slice(&words), shape);
            // The bits of a NaN are an ordinary integer.
            check::<i32>(&queue, bytemuck::cast_slice(&words), shape);
        }
    }
}

fn none(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.empty::<f32, 2>([3, 0]).unwrap();
    assert_eq!(found(&queue, &x, 0), [(); 2].map(|()| Vec::<u32>::new()));
    let error = assert_refused!(queue.argmax(x.axis(1), &mut queue.zeros([3, 1]).unwrap()), Shape);
    let said = "has shape [3, 0], [3, 1] is needed: pass at least one element, because an empty array has no smallest";
    assert!(error.to_string().contains(said), "{error}");
    assert_eq!(host::argmin_axis::<f32, 2>(&[], [3, 0], 1), None);
}
