//! M04: copies of regions between arrays, from the host and to the host, compared with plain loops.

use super::numpy::{self, Picked};
use crate::common::{Case, Subject, case};
use fastrand::Rng;
use fencepost::{CommandQueue, Context, DeviceArray, Download, Element, HostArray, Upload, region};
use std::fmt::Debug;

pub fn cases() -> Vec<Case> {
    vec![
        case("m04_random_regions_of_words_match_plain_loops", |s| random(s, |i| i)),
        case("m04_random_regions_of_halves_match_plain_loops", |s| random(s, half)),
        case("m04_random_regions_of_bytes_match_plain_loops", |s| random(s, |i| i as u8)),
        case("m04_random_regions_of_three_bytes_match_plain_loops", |s| {
            random(s, |i| [i as u8, (i >> 8) as u8, 7])
        }),
        case("m04_random_regions_of_vectors_match_plain_loops", |s| random(s, |i| [i as f32, 0.5, 1.5, 2.5])),
        case("m04_a_region_may_overlap_its_target", overlapping),
        case("m04_rows_of_any_number_and_length_are_copied", rows),
        case("m04_regions_of_more_axes_than_the_kernel_takes_are_copied", many_axes),
        case("m04_copying_a_half_leaves_the_other_half_of_its_word", halves),
        case("m04_transfers_of_regions_without_elements_do_nothing", nothing),
        case("m04_a_read_of_a_region_returns_the_bytes_of_its_place_in_the_queue", place_of_a_read),
    ]
}

/// Returns an `f16` that is different for each number below 60,000.
fn half(i: u32) -> half::f16 {
    half::f16::from_bits(i as u16)
}

/// Number of random programs, enough to make each form of item common.
const ROUNDS: u64 = 60;

/// Returns an array of this shape, which a queue has filled with `elements`.
fn array<T: Element, const D: usize>(
    queue: &CommandQueue,
    shape: &[usize],
    elements: &[T],
) -> DeviceArray<T, D> {
    let shape: [usize; D] = shape.try_into().expect("as many axes");
    queue.array(elements).expect("memory").reshape(shape).expect("as many elements")
}

fn random<T: Element + PartialEq + Debug>(s: &Subject, element: fn(u32) -> T) {
    let (ctx, queue) = s.with_queue("q");
    for seed in 0..ROUNDS {
        let mut rng = Rng::with_seed(seed);
        match 1 + seed % 4 {
            1 => round::<T, 1>(&ctx, &queue, &mut rng, element),
            2 => round::<T, 2>(&ctx, &queue, &mut rng, element),
            3 => round::<T, 3>(&ctx, &queue, &mut rng, element),
            _ => round::<T, 4>(&ctx, &queue, &mut rng, element),
        }
    }
}

/// Transfers one random region with every verb.
fn round<T: Element + PartialEq + Debug, const D: usize>(
    ctx: &Context,
    queue: &CommandQueue,
    rng: &mut Rng,
    element: fn(u32) -> T,
) {
    let from = numpy::any(rng, D);
    let Some(to) = numpy::of_shape(rng, &from.picked_shape(), 4) else { return };
    let what = format!("{from:?} to {to:?}");
    let all: Vec<T> = (1..).map(element).take(from.shape.iter().product()).collect();
    let picked: Vec<T> = from.elements().into_iter().map(|at| all[at]).collect();
    let x = array::<T, D>(queue, &from.shape, &all);

    assert_eq!(queue.read_region(&x, from.region()).wait().unwrap(), picked, "read, {what}");
    let mut host: HostArray<T, Download> = ctx.pinned([picked.len()]).unwrap();
    queue.download_region(&x, from.region(), &mut host).unwrap();
    assert_eq!(host.host().unwrap().to_vec(), picked, "download, {what}");

    let before = vec![element(50_000); to.shape.iter().product()];
    let mut expected = before.clone();
    to.elements().into_iter().zip(&picked).for_each(|(at, element)| expected[at] = *element);
    let mut y = array::<T, 4>(queue, &to.shape, &before);
    queue.copy_region(&x, from.region(), &mut y, to.region()).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), expected, "copy, {what}");

    let mut pinned: HostArray<T, Upload> = ctx.pinned([picked.len()]).unwrap();
    pinned.host_mut().unwrap().copy_from_slice(&picked);
    for busy in [true, false] {
        let mut y = array::<T, 4>(queue, &to.shape, &before);
        if busy {
            queue.fill(&mut y, element(50_000)).unwrap(); // a fill in flight keeps the host from writing in place
        }
        queue.upload_region(&picked, &mut y, to.region()).unwrap();
        assert_eq!(queue.read(&y).wait().unwrap(), expected, "upload, {what}");
    }
    let mut y = array::<T, 4>(queue, &to.shape, &before);
    queue.upload_region(&pinned, &mut y, to.region()).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), expected, "pinned upload, {what}");
}

fn counted(n: usize) -> Vec<u32> {
    (0..n as u32).collect()
}

fn overlapping(s: &Subject) {
    let queue = s.ctx().queue("q");
    let shape = [12, 9];
    let pairs = [
        (region![0..11], region![1..12]),
        (region![1..12], region![0..11]),
        (region![.., 0..8], region![.., 1..9]),
        (region![.., 1..9], region![.., 0..8]),
        (region![0..11, 0..8], region![1..12, 1..9]),
        (region![2..12; 2, ..], region![0..5, ..]),
        (region![0..5, ..], region![2..12; 2, ..]),
        (region![.., 0..9; 2], region![.., 0..5]),
        (region![0..9, 3], region![5, ..]),
        (region![.., 0..9; 2], region![.., 0..9; 2]),
        (region![.., 0..8; 2], region![.., 1..9; 2]),
        (region![0..6], region![6..12]),
    ];
    for (from, to) in pairs {
        let x = array::<u32, 2>(&queue, &shape, &counted(108));
        let places = queue.read_region(&x, &to).wait().unwrap();
        let moved = queue.read_region(&x, &from).wait().unwrap();
        queue.copy_region(&x, &from, &mut x.clone(), &to).unwrap();
        let mut expected = counted(108);
        places.iter().zip(moved).for_each(|(&at, element)| expected[at as usize] = element);
        assert_eq!(queue.read(&x).wait().unwrap(), expected, "{from:?} to {to:?}");
    }
}

/// Copies different numbers of rows with different lengths: some with copy commands, some with the kernel.
fn rows(s: &Subject) {
    let queue = s.ctx().queue("q");
    let sizes =
        [(1, 5, 3), (2, 1, 1), (7, 4, 4), (16, 64, 1), (17, 63, 1), (17, 64, 1), (300, 1, 2), (40, 700, 5)];
    for (rows, len, gap) in sizes {
        let wide = len + gap;
        let all = counted(rows * (len + gap));
        let x = array::<u32, 2>(&queue, &[rows, wide], &all);
        let mut y = queue.full([rows, 2 * wide], 7).unwrap();
        queue.copy_region(&x, region![.., ..len], &mut y, region![.., gap..wide]).unwrap();
        let expected: Vec<u32> = (0..rows * 2 * wide)
            .map(|at| (at / (2 * wide), at % (2 * wide)))
            .map(|(row, at)| if (gap..wide).contains(&at) { all[row * wide + at - gap] } else { 7 })
            .collect();
        assert_eq!(queue.read(&y).wait().unwrap(), expected, "{rows} rows of {len}");
    }
}

fn many_axes(s: &Subject) {
    let queue = s.ctx().queue("q");
    let from = Picked { shape: vec![4, 5, 4, 5, 4, 3], items: vec![numpy::Item::Range(None, None, 2); 6] };
    let to = Picked {
        shape: vec![3, 4, 2, 6, 3, 4],
        items: from.picked_shape().into_iter().map(ending_at).collect(),
    };
    let all = counted(from.shape.iter().product());
    let x = array::<u32, 6>(&queue, &from.shape, &all);
    let mut y = array::<u32, 6>(&queue, &to.shape, &vec![7; to.shape.iter().product()]);
    queue.copy_region(&x, from.region(), &mut y, to.region()).unwrap();
    let mut expected = vec![7; to.shape.iter().product()];
    to.elements().into_iter().zip(from.elements()).for_each(|(to, from)| expected[to] = all[from]);
    assert_eq!(queue.read(&y).wait().unwrap(), expected);
}

fn ending_at(count: usize) -> numpy::Item {
    numpy::Item::Range(None, Some(count as isize), 1)
}

fn halves(s: &Subject) {
    let queue = s.ctx().queue("q");
    let all: Vec<half::f16> = (1..=35).map(half).collect();
    let x = array::<half::f16, 2>(&queue, &[5, 7], &all);
    // The rows have odd lengths, so many words contain halves from two rows, or a half outside the region.
    for (from, to) in [(region![.., 1..4], region![.., 2..5]), (region![.., 0..6], region![.., 1..7])] {
        let mut y = queue.full([5, 7], half(99)).unwrap();
        queue.copy_region(&x, &from, &mut y, &to).unwrap();
        let picked = queue.read_region(&x, &from).wait().unwrap();
        assert_eq!(queue.read_region(&y, &to).wait().unwrap(), picked, "{from:?} to {to:?}");
        let changed =
            queue.read(&y).wait().unwrap().into_iter().filter(|&element| element != half(99)).count();
        assert_eq!(changed, picked.len(), "{from:?} to {to:?}");
    }
    let mut y = queue.full([35], half(99)).unwrap();
    queue.copy_region(&x.reshape([35]).unwrap(), region![3..8], &mut y, region![6..11]).unwrap();
    let expected: Vec<_> =
        (0..35).map(|at| if (6..11).contains(&at) { all[at - 3] } else { half(99) }).collect();
    assert_eq!(queue.read(&y).wait().unwrap(), expected);
    // The source and the target share a word.
    queue
        .copy_region(&x.reshape([35]).unwrap(), region![3..8], &mut x.reshape([35]).unwrap(), region![8..13])
        .unwrap();
    let expected: Vec<_> =
        (0..35).map(|at| if (8..13).contains(&at) { all[at - 5] } else { all[at] }).collect();
    assert_eq!(queue.read(&x).wait().unwrap(), expected);
}

fn nothing(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let none = ctx.zeros::<u32, 2>([0, 5]).unwrap();
    let mut other = ctx.zeros::<u32, 2>([0, 3]).unwrap();
    queue.copy_region(&none, region![.., 1..4], &mut other, region![]).unwrap();
    queue.upload_region(&[], &mut other, region![..; 2]).unwrap();
    assert!(queue.read_region(&none, region![.., 3]).wait().unwrap().is_empty());
    let mut host: HostArray<u32, Download, 2> = ctx.pinned([0, 2]).unwrap();
    queue.download_region(&none, region![.., 3..], &mut host).unwrap();
    assert!(host.host().unwrap().is_empty());
}

fn place_of_a_read(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut x = array::<u32, 2>(&queue, &[20, 20], &counted(400));
    let column = queue.read_region(&x, region![.., 3]);
    let corner = queue.read_region(&x, region![0, 0..4]);
    queue.fill(&mut x, 1000).unwrap();
    assert_eq!(column.wait().unwrap(), (0..20).map(|row| 20 * row + 3).collect::<Vec<u32>>());
    assert_eq!(corner.wait().unwrap(), counted(4));
    assert_eq!(queue.read_region(&x, region![.., 3]).wait().unwrap(), [1000; 20]);
}
