//! A03: argument searches, and comparisons of all elements with zero.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a03_the_place_is_the_first_of_equal_elements", places),
        case("a03_the_place_of_numbers_is_that_of_the_first_nan", nans),
        case("a03_counts_of_elements_that_are_not_zero_are_exact", counts),
    ]
}

/// Lists numbers of elements around multiples of workgroup sizes and shares. The full suite has more of them.
fn lengths() -> Vec<usize> {
    if large() { super::lengths() } else { vec![1, 3, 255, 256, 257, 1025, 4097, 16_384, 16_385] }
}

/// Compares the indices of the smallest and the largest element with the host's.
fn find<T: Reducible + Debug>(queue: &CommandQueue, list: &[T]) {
    let x = queue.array(list).unwrap();
    let found = [queue.value_of(|out| queue.argmin(&x, out)), queue.value_of(|out| queue.argmax(&x, out))]
        .map(|place| place.wait().unwrap() as usize);
    let expected = [host::argmin(list), host::argmax(list)].map(Option::unwrap);
    assert_eq!(found, expected, "{} elements", list.len());
}

fn places(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(11);
    for len in lengths() {
        // Few distinct values, so that several elements are equal; then an extreme value at a random place.
        let few: Vec<u32> = (0..len).map(|_| [1, 2, 0x7FFF_FFFF, 0x8000_0000][rng.usize(..4)]).collect();
        find::<u32>(&queue, &few);
        find::<i32>(&queue, bytemuck::cast_slice(&few));
        if large() || len < 1000 {
            find::<u32>(&queue, &vec![u32::MAX; len]);
            find::<i32>(&queue, &vec![i32::MAX; len]);
        }
        let mut bits: Vec<u32> = (0..len).map(|_| [0, 0x8000_0000, 1, 0x8000_0001][rng.usize(..4)]).collect();
        if large() || len < 1000 {
            find::<f32>(&queue, bytemuck::cast_slice(&bits));
        }
        bits[rng.usize(..len)] = 0x7F80_0000;
        bits[rng.usize(..len)] = 0xFF80_0000;
        find::<f32>(&queue, bytemuck::cast_slice(&bits));
    }
}

fn nans(s: &Subject) {
    let queue = s.ctx().queue("q");
    for (len, nans) in [(1, 3), (2, 3), (257, 3), (16_400, 1)] {
        for nan in [0x7FC0_0000, 0xFFFF_FFFF, 0x7F80_0001_u32].into_iter().take(nans) {
            for at in [0, len / 2, len - 1] {
                let mut words: Vec<u32> = (0..len).map(|i| (i as f32 - 5.0).to_bits()).collect();
                words[at] = nan;
                words[len - 1] = nan;
                let x = queue.array(&words).unwrap().cast_bits::<f32>();
                let places = [
                    queue.value_of(|out| queue.argmin(&x, out)),
                    queue.value_of(|out| queue.argmax(&x, out)),
                ]
                .map(|place| place.wait().unwrap());
                assert_eq!(places, [at as u32; 2], "{nan:#x} of {len} at {at}");
            }
        }
    }
}

fn counts(s: &Subject) {
    fn of<T: Reducible>(queue: &CommandQueue, list: &[T]) {
        let x = queue.array(list).unwrap();
        let found = [
            queue.value_of(|out| queue.count_nonzero(&x, out)),
            queue.value_of(|out| queue.any(&x, out)),
            queue.value_of(|out| queue.all(&x, out)),
        ];
        let expected =
            [host::count_nonzero(list) as u32, u32::from(host::any(list)), u32::from(host::all(list))];
        assert_eq!(found.map(|number| number.wait().unwrap()), expected, "{} elements", list.len());
    }
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(12);
    for len in lengths() {
        let at = [rng.usize(..len), if rng.bool() { 0 } else { len - 1 }];
        let filled = |most: u32, one: u32| {
            let mut list = vec![most; len];
            at.iter().for_each(|&at| list[at] = one);
            list
        };
        of::<u32>(&queue, &filled(0, 1));
        of::<i32>(&queue, bytemuck::cast_slice(&filled(0x8000_0000, 0)));
        of::<f32>(&queue, bytemuck::cast_slice(&filled(0x8000_0000, 0x7FC0_0000)));
        if large() || len < 1000 {
            of::<i32>(&queue, bytemuck::cast_slice(&filled(1, 0)));
            of::<f32>(&queue, bytemuck::cast_slice(&filled(0x8000_0000, 0)));
            of::<f32>(&queue, bytemuck::cast_slice(&filled(0x8000_0000, 1)));
        }
        of::<u32>(&queue, &(0..len).map(|_| rng.u32(..2) << rng.u32(..32)).collect::<Vec<_>>());
    }
    let none = queue.empty::<f32, 2>([0, 3]).unwrap();
    let found = [
        queue.value_of(|out| queue.count_nonzero(&none, out)),
        queue.value_of(|out| queue.any(&none, out)),
        queue.value_of(|out| queue.all(&none, out)),
    ];
    assert_eq!(found.map(|number| number.wait().unwrap()), [0, 0, 1]);
    let cube = queue.array(&[1.0_f32; 60]).unwrap().reshape([3, 4, 5]).unwrap();
    assert_eq!(queue.value_of(|out| queue.count_nonzero(&cube, out)).wait().unwrap(), 60);
}
