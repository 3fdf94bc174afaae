//! A25: sums, means, norms and inner products that are the same everywhere, and floats that are added at places. The host
//! computes the exact results, so that all devices have the same bits.

use super::segments::offsets;
use super::*;
use crate::common::raw;
use fencepost::algorithms::Terms;

pub fn cases() -> Vec<Case> {
    vec![
        case("a25_sums_and_means_of_any_floats_are_the_exact_ones_rounded_once", whole),
        case("a25_inner_products_and_norms_of_any_floats_are_the_exact_ones_rounded_once", products),
        case("a25_the_order_of_the_elements_changes_no_bit", order),
        case("a25_results_have_the_same_bits_as_on_other_devices", known),
        case("a25_what_is_left_after_large_terms_cancel_is_kept", cancelled),
        case("a25_means_and_roots_are_rounded_once", rounded),
        case("a25_terms_that_are_not_finite_decide_the_result_alone", special),
        case("a25_terms_of_distant_exponents_are_added_exactly", distant),
        case("a25_as_many_of_the_largest_terms_as_there_may_be_are_added", filled),
        case("a25_results_along_each_axis_are_those_of_each_row", along),
        case("a25_results_of_segments_are_those_of_each_segment", segments),
        case("a25_results_of_first_elements_are_those_of_these_elements", first),
        case("a25_results_without_terms_are_those_of_the_usual_verbs", empty),
        case("a25_integers_are_the_same_everywhere_as_they_are", integers),
        case("a25_floats_added_at_places_are_exact_sums_rounded_once", added),
        case("a25_an_element_to_which_nothing_is_added_keeps_its_bits", kept),
        case("a25_results_are_written_alone", guards),
        case("a25_replays_have_the_bits_of_calls", in_a_graph),
        case("a25_refused_calls_enqueue_nothing", refused),
        case("a25_results_that_a_device_cannot_bind_are_refused_with_the_most", too_many)
            .gpu_only("the case limits a wgpu device"),
    ]
}

pub(super) const EVERYWHERE: Determinism = Determinism::Everywhere;
pub(super) const SMALLEST: f32 = f32::from_bits(1);
/// The least number whose next one is larger by 2.
const EVEN: f32 = 16_777_216.0;
/// Terms that cancel, or whose sum is near the middle between two numbers, and their sum.
pub(super) const CANCELLED: &[(&[f32], f32)] = &[
    (&[], 0.0),
    (&[-0.0, -0.0], 0.0),
    (&[1e30, 1.0, -1e30], 1.0),
    (&[f32::MAX, f32::MAX, SMALLEST, -f32::MAX, -f32::MAX], SMALLEST),
    (&[SMALLEST, -SMALLEST], 0.0),
    (&[-SMALLEST, -SMALLEST], f32::from_bits(0x8000_0002)),
    (&[f32::MIN_POSITIVE, -SMALLEST], f32::from_bits(0x7F_FFFF)),
    (&[f32::from_bits(0x7F_FFFF), SMALLEST], f32::MIN_POSITIVE),
    (&[-1.0, -1.0, 1.0], -1.0),
    (&[EVEN, 1.0], EVEN),
    (&[EVEN, 1.0, SMALLEST], EVEN + 2.0),
    (&[EVEN, 1.0, -SMALLEST], EVEN),
    (&[EVEN + 2.0, 1.0], EVEN + 4.0),
    (&[-EVEN, -1.0, -SMALLEST], -EVEN - 2.0),
    (&[EVEN - 1.0, 0.5], EVEN),
    (&[f32::MAX, f32::MAX], f32::INFINITY),
    (&[-f32::MAX, -f32::MAX], f32::NEG_INFINITY),
    (&[f32::MAX, f32::MAX, -f32::MAX], f32::MAX),
];

/// Returns the bits of the result of a verb that writes one.
#[track_caller]
fn one(queue: &CommandQueue, verb: impl FnOnce(&mut DeviceArray<f32>) -> Result<()>) -> u32 {
    bits(queue, 1, verb)[0]
}

/// Returns the bits of the results of a verb.
#[track_caller]
fn bits(
    queue: &CommandQueue,
    results: usize,
    verb: impl FnOnce(&mut DeviceArray<f32>) -> Result<()>,
) -> Vec<u32> {
    let mut out = queue.full([results], 9.0).unwrap();
    verb(&mut out).unwrap();
    queue.read(&out.cast_bits::<u32>()).wait().unwrap()
}

fn to_bits(list: impl IntoIterator<Item = f32>) -> Vec<u32> {
    list.into_iter().map(f32::to_bits).collect()
}

/// Returns a finite number with random bits.
fn finite(rng: &mut fastrand::Rng) -> f32 {
    let number = f32::from_bits(rng.u32(..));
    if number.is_finite() { number } else { 1.5 }
}

/// Returns a number with a sign, random digits and this exponent.
pub(super) fn with_exponent(rng: &mut fastrand::Rng, exponent: u32) -> f32 {
    f32::from_bits(rng.u32(..) & 0x807F_FFFF | exponent << 23)
}

/// Number of kinds of lists.
pub(super) const KINDS: usize = 7;

/// Returns a list of one kind: numbers of about one size, of all sizes, subnormal ones, most of them 0, of sizes that grow or
/// shrink along the list, and of two sizes.
pub(super) fn list_of(kind: usize, len: usize, rng: &mut fastrand::Rng) -> Vec<f32> {
    let exponent = |i: usize| 1 + (i * 253 / len.max(1)) as u32;
    let number = |i: usize| match kind {
        0 => rng.f32() - 0.4,
        1 => finite(rng),
        2 => f32::from_bits(rng.u32(..0x0100_0000) | rng.u32(..) & 0x8000_0000),
        3 => {
            if rng.u8(..4) == 0 {
                rng.f32() * 1e3 - 500.0
            } else {
                -0.0
            }
        }
        4 => with_exponent(rng, exponent(i)),
        5 => with_exponent(rng, exponent(len - 1 - i)),
        _ => (rng.f32() - 0.5) * [1e30, 1e-30][rng.usize(..2)],
    };
    (0..len).map(number).collect()
}

/// Lists lengths around the numbers of elements that the kernels take at a time.
fn some_lengths() -> Vec<usize> {
    let few = [1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 80, 255, 256, 257, 1040];
    let many = if large() { lengths() } else { vec![4096, 16_384, 16_385, 20_480, 20_481] };
    [&few[..], &many].concat()
}

/// Returns the kinds of lists for a length: all kinds for few elements, and otherwise a few, which change with `at`.
fn kinds(len: usize, at: usize) -> Vec<usize> {
    if len <= 300 || large() { (0..KINDS).collect() } else { vec![at % KINDS, (at + 3) % KINDS] }
}

fn whole(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(251);
    for (at, len) in some_lengths().into_iter().enumerate() {
        for kind in kinds(len, at) {
            let list = list_of(kind, len, &mut rng);
            let x = queue.array(&list).unwrap();
            let found = one(&queue, |out| queue.sum(x.determinism(EVERYWHERE), out));
            assert_eq!(found, host::exact_sum(&list).to_bits(), "sum of {len} of kind {kind}");
            let found = one(&queue, |out| queue.mean(x.determinism(EVERYWHERE), out));
            let expected = host::exact_mean(&list).unwrap();
            assert_eq!(found, expected.to_bits(), "mean of {len} of kind {kind}");
        }
    }
}

fn products(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(252);
    for (at, len) in some_lengths().into_iter().enumerate() {
        for kind in kinds(len, at) {
            let list = list_of(kind, len, &mut rng);
            let factors = list_of((kind + at) % KINDS, len, &mut rng);
            let x = queue.array(&list).unwrap();
            let y = queue.array(&factors).unwrap();
            let found = one(&queue, |out| queue.dot(x.determinism(EVERYWHERE), &y, out));
            let expected = host::exact_dot(&list, &factors);
            assert_eq!(found, expected.to_bits(), "inner product of {len} of kind {kind}");
            let found = one(&queue, |out| queue.norm(x.determinism(EVERYWHERE), out));
            assert_eq!(found, host::exact_norm(&list).to_bits(), "norm of {len} of kind {kind}");
        }
    }
}

/// Returns the bits of the four results of a list.
fn all_four(queue: &CommandQueue, list: &[f32]) -> [u32; 4] {
    let x = queue.array(list).unwrap();
    [
        one(queue, |out| queue.sum(x.determinism(EVERYWHERE), out)),
        one(queue, |out| queue.mean(x.determinism(EVERYWHERE), out)),
        one(queue, |out| queue.norm(x.determinism(EVERYWHERE), out)),
        one(queue, |out| queue.dot(x.determinism(EVERYWHERE), &x, out)),
    ]
}

fn order(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(253);
    for len in [50, 1000, 20_481] {
        let size = |rng: &mut fastrand::Rng| 10_f32.powi(rng.i32(-10..10));
        let mut list: Vec<f32> = (0..len).map(|_| (rng.f32() - 0.5) * size(&mut rng)).collect();
        let mut found = Vec::new();
        for _ in 0..3 {
            rng.shuffle(&mut list);
            found.push(all_four(&queue, &list));
        }
        assert!(found[0] == found[1] && found[1] == found[2], "{len} elements: {found:?}");
        if len < 20_000 {
            continue;
        }
        // Sums of `f32` one after the other depend on the order.
        let added = |list: &[f32]| list.iter().sum::<f32>();
        let shuffled = added(&list);
        list.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        assert_ne!(shuffled, added(&list), "the numbers are too simple");
    }
}

fn known(s: &Subject) {
    // These results do not come from the host functions, which could have the mistake of a device.
    let queue = s.ctx().queue("q");
    let list: Vec<f32> = (0..1 << 14).map(|i| (i - 5000) as f32 * 0.25).collect();
    let sum: i64 = (0..1_i64 << 14).map(|i| i - 5000).sum();
    let squares: i64 = (0..1_i64 << 14).map(|i| (i - 5000) * (i - 5000)).sum();
    let expected = [
        (sum as f64 / 4.0) as f32,
        (sum as f64 / 65_536.0) as f32,
        ((squares as f64).sqrt() / 4.0) as f32,
        (squares as f64 / 16.0) as f32,
    ];
    assert_eq!(all_four(&queue, &list), expected.map(f32::to_bits));
    // Fractions of Python gave these bits.
    let word = |i: u32| i.wrapping_mul(0x9E37_79B9).wrapping_add(0x7F4A_7C15);
    let number = |word: u32| f32::from_bits(word & 0x807F_FFFF | (90 + (word >> 8) % 50) << 23);
    let list: Vec<f32> = (0..1000).map(|i| number(word(i))).collect();
    let reversed: Vec<f32> = list.iter().rev().copied().collect();
    let [sum, mean, norm, _] = all_four(&queue, &list);
    assert_eq!([sum, mean, norm], [0xC716_3D22, 0xC219_D833, 0x46F5_6854]);
    let x = queue.array(&list).unwrap();
    let y = queue.array(&reversed).unwrap();
    assert_eq!(one(&queue, |out| queue.dot(x.determinism(EVERYWHERE), &y, out)), 0x4AF8_2F69);
}

#[track_caller]
fn check_sum(queue: &CommandQueue, list: &[f32], expected: f32) {
    // The terms are alone, and among zeros in a row of several groups.
    let rows = [0, 300].map(|zeros| [list, &vec![0.0; zeros]].concat());
    for row in rows.iter().filter(|row| !row.is_empty()) {
        let x = queue.array(row).unwrap();
        let found = one(queue, |out| queue.sum(x.determinism(EVERYWHERE), out));
        assert_eq!(found, expected.to_bits(), "{} for {list:?}", f32::from_bits(found));
        assert_eq!(host::exact_sum(row).to_bits(), expected.to_bits(), "{list:?} on the host");
    }
}

fn cancelled(s: &Subject) {
    let queue = s.ctx().queue("q");
    let largest: [(&[f32], f32); 2] =
        [(&[f32::MAX, 2_f32.powi(103)], f32::INFINITY), (&[f32::MAX, 2_f32.powi(102)], f32::MAX)];
    for (list, expected) in CANCELLED.iter().chain(&largest) {
        check_sum(&queue, list, *expected);
    }
    // Products cancel too, and their sum may be a number although no product is one.
    let x = queue.array(&[1e30_f32, 3.0, 1e30, 1e-40]).unwrap();
    let y = queue.array(&[1e30_f32, 0.5, -1e30, 1e-40]).unwrap();
    assert_eq!(one(&queue, |out| queue.dot(x.determinism(EVERYWHERE), &y, out)), 1.5_f32.to_bits());
    let x = queue.array(&[-1e-30_f32]).unwrap();
    let y = queue.array(&[1e-30_f32]).unwrap();
    let found = one(&queue, |out| queue.dot(x.determinism(EVERYWHERE), &y, out));
    assert_eq!(found, (-0.0_f32).to_bits(), "a negative product that is rounded to 0 keeps its sign");
}

fn rounded(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mean = |list: &[f32]| {
        let x = queue.array(list).unwrap();
        f32::from_bits(one(&queue, |out| queue.mean(x.determinism(EVERYWHERE), out)))
    };
    assert_eq!(mean(&[f32::MAX; 3]), f32::MAX);
    assert_eq!(mean(&[1.0, 1.0, 2.0]), 4.0 / 3.0);
    assert_eq!(mean(&[-1.0, -1.0, -2.0]), -4.0 / 3.0);
    assert_eq!(mean(&[SMALLEST, 0.0]), 0.0);
    assert_eq!(mean(&[SMALLEST, SMALLEST, 0.0]), SMALLEST);
    assert_eq!(mean(&[f32::from_bits(3), 0.0]), f32::from_bits(2));
    let norm = |list: &[f32]| {
        let x = queue.array(list).unwrap();
        f32::from_bits(one(&queue, |out| queue.norm(x.determinism(EVERYWHERE), out)))
    };
    // The squares of these are infinite or 0 as `f32`.
    assert_eq!(norm(&[3e30, -4e30]), 5e30);
    assert_eq!(norm(&[3.0 * SMALLEST, 4.0 * SMALLEST]), 5.0 * SMALLEST);
    assert_eq!(norm(&[SMALLEST; 2]), SMALLEST);
    assert_eq!(norm(&[SMALLEST; 3]), f32::from_bits(2));
    assert_eq!(norm(&[f32::MAX]), f32::MAX);
    assert_eq!(norm(&[f32::MAX; 2]), f32::INFINITY);
    assert_eq!(norm(&[-0.0, 0.0]).to_bits(), 0);
    // 16,777,217 is the root, and in the middle between two floats.
    assert_eq!(norm(&[16_777_216.0, 4096.0, 4096.0, 1.0]), 16_777_216.0);
    assert_eq!(norm(&[16_777_216.0, 4096.0, 4096.0, 1.0, SMALLEST]), 16_777_218.0);
    assert_eq!(norm(&[1.0, 1.0]), std::f32::consts::SQRT_2);
}

fn special(s: &Subject) {
    let queue = s.ctx().queue("q");
    let infinite = f32::INFINITY;
    let cases: &[(&[f32], f32)] = &[
        (&[1.0, infinite, -2.0], infinite),
        (&[-infinite, 1.0, -infinite], -infinite),
        (&[infinite, 5.0, -infinite], f32::NAN),
        (&[1.0, f32::NAN], f32::NAN),
        (&[-f32::NAN, infinite], f32::NAN),
        (&[f32::from_bits(0xFF80_0001)], f32::NAN),
        (&[f32::MAX, f32::MAX, -infinite], -infinite),
    ];
    for (list, expected) in cases {
        check_sum(&queue, list, *expected);
        // In a row of another size, other terms and other groups are beside them.
        let row: Vec<f32> = (0..20_000).map(|i| list.get(i / 6500).copied().unwrap_or(0.5)).collect();
        let x = queue.array(&row).unwrap();
        let found = one(&queue, |out| queue.sum(x.determinism(EVERYWHERE), out));
        assert_eq!(found, host::exact_sum(&row).to_bits(), "{list:?} among others");
        let found = one(&queue, |out| queue.norm(x.determinism(EVERYWHERE), out));
        assert_eq!(found, host::exact_norm(&row).to_bits(), "norm of {list:?}");
    }
    let pairs: &[(f32, f32, f32)] = &[
        (infinite, 2.0, infinite),
        (infinite, -2.0, -infinite),
        (-infinite, -SMALLEST, infinite),
        (infinite, 0.0, f32::NAN),
        (-0.0, infinite, f32::NAN),
        (f32::NAN, 0.0, f32::NAN),
        (f32::MAX, f32::MAX, infinite),
    ];
    for &(a, b, expected) in pairs {
        for len in [1, 100] {
            let mut list = vec![0.25; len];
            let mut factors = vec![4.0; len];
            list[len / 2] = a;
            factors[len / 2] = b;
            let x = queue.array(&list).unwrap();
            let y = queue.array(&factors).unwrap();
            let found = one(&queue, |out| queue.dot(x.determinism(EVERYWHERE), &y, out));
            assert_eq!(found, expected.to_bits(), "{a} * {b} among {len}");
        }
    }
}

fn distant(s: &Subject) {
    // The kernels add terms of near exponents in another way than distant ones. The first elements choose what is near.
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(254);
    let of_all = if large() { 1 } else { 7 };
    for base in (0..=254_u32).step_by(of_all).chain([1, 253, 254]) {
        let len = 336;
        let near = |rng: &mut fastrand::Rng, most: i32| {
            let exponent = base as i32 + rng.i32(-most..=most);
            with_exponent(rng, exponent.clamp(0, 254) as u32)
        };
        let mut list: Vec<f32> = (0..len).map(|_| near(&mut rng, 50)).collect();
        let factors: Vec<f32> = (0..len).map(|_| near(&mut rng, 14)).collect();
        list[..64].iter_mut().for_each(|x| *x = with_exponent(&mut rng, base));
        if (41..253).contains(&base) {
            // The smallest exponent and the most digits that are near, with either sign.
            let small = f32::from_bits((base - 40) << 23 | 1);
            list[3] = -small;
            list[21] = small;
        }
        // Some are exact powers of two, at the ends of what is near.
        for (i, x) in list[64..].iter_mut().enumerate().filter(|(i, _)| i % 5 == 0) {
            let exponent = (base as i32 + i as i32 / 5 - 48).clamp(1, 254) as u32;
            *x = f32::from_bits(exponent << 23);
        }
        let x = queue.array(&list).unwrap();
        let y = queue.array(&factors).unwrap();
        let found = one(&queue, |out| queue.sum(x.determinism(EVERYWHERE), out));
        assert_eq!(found, host::exact_sum(&list).to_bits(), "sum from the exponent {base} on");
        let found = one(&queue, |out| queue.dot(x.determinism(EVERYWHERE), &y, out));
        assert_eq!(found, host::exact_dot(&list, &factors).to_bits(), "products from {base} on");
        let found = one(&queue, |out| queue.norm(y.determinism(EVERYWHERE), out));
        assert_eq!(found, host::exact_norm(&factors).to_bits(), "norm from {base} on");
    }
}

fn filled(s: &Subject) {
    // The first terms choose a window, and the others are the largest ones inside it: as many as an invocation adds
    // before it empties the window, and more. A window for sums reaches farther than one for products.
    let queue = s.ctx().queue("q");
    for (exponent, below) in [(60, 1), (60, 2), (127, 1), (127, 2), (250, 1), (250, 2)] {
        let most = f32::from_bits(exponent << 23 | 0x7F_FFFF);
        let before = f32::from_bits((exponent - below) << 23);
        for (len, first) in [(300, 4), (1024, 4), (16_384, 64), (40_000, 64)] {
            let list: Vec<f32> = (0..len).map(|i| if i < first { before } else { most }).collect();
            let what = format!("{first} times {before}, up to {len} elements {most}");
            let x = queue.array(&list).unwrap();
            let found = one(&queue, |out| queue.sum(x.determinism(EVERYWHERE), out));
            assert_eq!(found, host::exact_sum(&list).to_bits(), "{what}");
            let found = one(&queue, |out| queue.norm(x.determinism(EVERYWHERE), out));
            assert_eq!(found, host::exact_norm(&list).to_bits(), "norm of {what}");
            let two: Vec<f32> = list.iter().flat_map(|x| [*x, -*x]).collect();
            let x = queue.array(&two).unwrap().reshape([1, len, 2]).unwrap();
            let result = |out: &mut DeviceArray<f32>| out.reshape([1, 1, 2]).unwrap();
            let terms = || x.axis(1).determinism(EVERYWHERE);
            let found = bits(&queue, 2, |out| queue.sum(terms(), &mut result(out)));
            let sum = host::exact_sum(&list);
            assert_eq!(found, to_bits([sum, -sum]), "columns of {what}");
            let found = bits(&queue, 2, |out| queue.norm(terms(), &mut result(out)));
            assert_eq!(found, to_bits([host::exact_norm(&list); 2]), "norms of columns of {what}");
        }
    }
}

/// Returns the elements along an axis, for each index of the other axes.
fn rows_along(list: &[f32], [outer, n, inner]: [usize; 3]) -> Vec<Vec<f32>> {
    let at = |o: usize, i: usize, c: usize| list[(o * n + i) * inner + c];
    let row = |row: usize| (0..n).map(|i| at(row / inner, i, row % inner)).collect();
    (0..outer * inner).map(row).collect()
}

fn along(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(255);
    let shapes = [
        ([5, 3, 1], 1),
        ([3, 64, 1], 2),
        ([3, 65, 1], 3),
        ([7, 80, 1], 4),
        ([2, 1040, 1], 5),
        ([2, 16_385, 1], 6),
        ([2, 16_400, 1], 0),
        ([2, 4, 9], 1),
        ([1, 300, 70], 2),
        ([2, 1025, 3], 4),
        ([1, 2100, 2], 6),
    ];
    for (shape, kind) in shapes {
        let [outer, n, inner] = shape;
        let list = list_of(kind, outer * n * inner, &mut rng);
        let factors = list_of(0, list.len(), &mut rng);
        let x = queue.array(&list).unwrap().reshape(shape).unwrap();
        let y = queue.array(&factors).unwrap().reshape(shape).unwrap();
        let rows = rows_along(&list, shape);
        let of_factors = rows_along(&factors, shape);
        let count = outer * inner;
        let terms = || x.axis(1).determinism(EVERYWHERE);
        let result = |out: &mut DeviceArray<f32>| out.reshape([outer, 1, inner]).unwrap();
        let found = bits(&queue, count, |out| queue.sum(terms(), &mut result(out)));
        assert_eq!(found, to_bits(rows.iter().map(|row| host::exact_sum(row))), "sums of {shape:?}");
        let found = bits(&queue, count, |out| queue.mean(terms(), &mut result(out)));
        let expected = rows.iter().map(|row| host::exact_mean(row).unwrap());
        assert_eq!(found, to_bits(expected), "means of {shape:?}");
        let found = bits(&queue, count, |out| queue.norm(terms(), &mut result(out)));
        assert_eq!(found, to_bits(rows.iter().map(|row| host::exact_norm(row))), "norms of {shape:?}");
        let found = bits(&queue, count, |out| queue.dot(terms(), &y, &mut result(out)));
        let expected = rows.iter().zip(&of_factors).map(|(row, factors)| host::exact_dot(row, factors));
        assert_eq!(found, to_bits(expected), "inner products of {shape:?}");
    }
    if large() {
        long_columns(&queue);
    }
}

/// Checks sums of long columns, in which each small term changes the sign of a partial sum, and so each word of it.
fn long_columns(queue: &CommandQueue) {
    let n = 1 << 23;
    let few = [1.0, -SMALLEST, SMALLEST, -SMALLEST, -1.0, SMALLEST, -SMALLEST, SMALLEST];
    let term = |row: usize| if row % 8192 == 8191 { 1.0 } else { few[row % 8] };
    let list: Vec<f32> = (0..2 * n).map(|i| [1.0, -2.0][i % 2] * term(i / 2)).collect();
    let x = queue.array(&list).unwrap().reshape([n, 2]).unwrap();
    let found =
        bits(queue, 2, |out| queue.sum(x.axis(0).determinism(EVERYWHERE), &mut out.reshape([1, 2]).unwrap()));
    // A share that is cut off loses its last term, which is as large as all others together.
    assert_eq!(found, to_bits([1024.0, -2048.0]));
}

fn segments(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(256);
    let all = [
        (1, 1),
        (20, 3),
        (257, 20),
        (1000, usize::MAX),
        (16_385, 50),
        (20_481, 3000),
        // One workgroup adds all these segments of about one element.
        (16_384, 1),
        (34_567, 1),
    ];
    for (kind, &(len, mean)) in (if large() { &all[..] } else { &all[..7] }).iter().enumerate() {
        let offsets = offsets(&mut rng, len, mean);
        let list = list_of(kind, len, &mut rng);
        let factors = list_of(0, len, &mut rng);
        let x = queue.array(&list).unwrap();
        let y = queue.array(&factors).unwrap();
        let places = queue.array(&offsets).unwrap();
        let count = offsets.len() - 1;
        let ranges: Vec<_> = offsets.windows(2).map(|ends| ends[0] as usize..ends[1] as usize).collect();
        let expected = |of: &dyn Fn(&[f32], &[f32]) -> f32| {
            to_bits(ranges.iter().map(|range| of(&list[range.clone()], &factors[range.clone()])))
        };
        let terms = || x.segments(&places).determinism(EVERYWHERE);
        let found = bits(&queue, count, |out| queue.sum(terms(), out));
        assert_eq!(found, expected(&|x, _| host::exact_sum(x)), "sums of {len}");
        let found = bits(&queue, count, |out| queue.mean(terms(), out));
        assert_eq!(found, expected(&|x, _| host::exact_mean(x).unwrap_or(f32::NAN)), "means of {len}");
        let found = bits(&queue, count, |out| queue.norm(terms(), out));
        assert_eq!(found, expected(&|x, _| host::exact_norm(x)), "norms of {len}");
        let found = bits(&queue, count, |out| queue.dot(terms(), &y, out));
        assert_eq!(found, expected(&|x, y| host::exact_dot(x, y)), "inner products of {len}");
    }
    // An offset beyond the end counts as the end, and elements outside of all segments are left out.
    let x = queue.array(&[f32::NAN, 2.0, 3.0, 5.0]).unwrap();
    let offsets = queue.array(&[1_u32, 2, 2, 9]).unwrap();
    let found = bits(&queue, 3, |out| queue.mean(x.segments(&offsets).determinism(EVERYWHERE), out));
    assert_eq!(found, to_bits([2.0, f32::NAN, 4.0]));
}

fn first(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(257);
    for (kind, len) in [1, 100, 16_385].into_iter().enumerate() {
        let mut list = list_of(kind, len, &mut rng);
        let factors = list_of(0, len, &mut rng);
        for count in [0, 1, 65, len / 2, len, u32::MAX as usize] {
            let elements = count.min(len);
            // Another element decides any result to which it is added.
            list[elements..].iter_mut().for_each(|x| *x = f32::NAN);
            let x = queue.array(&list).unwrap();
            let y = queue.array(&factors).unwrap();
            let on_device = queue.array(&[count as u32]).unwrap();
            let part = &list[..elements];
            let others = &factors[..elements];
            let terms = || x.first(&on_device).determinism(EVERYWHERE);
            let found = [
                one(&queue, |out| queue.sum(terms(), out)),
                one(&queue, |out| queue.mean(terms(), out)),
                one(&queue, |out| queue.norm(terms(), out)),
                one(&queue, |out| queue.dot(terms(), &y, out)),
            ];
            let expected = [
                host::exact_sum(part),
                host::exact_mean(part).unwrap_or(f32::NAN),
                host::exact_norm(part),
                host::exact_dot(part, others),
            ];
            assert_eq!(found, expected.map(f32::to_bits), "{count} of {len}");
            list = list_of(kind, len, &mut rng);
        }
    }
}

fn empty(s: &Subject) {
    let queue = s.ctx().queue("q");
    let none = queue.zeros::<f32, 1>([0]).unwrap();
    let terms = || none.determinism(EVERYWHERE);
    assert_eq!(one(&queue, |out| queue.sum(terms(), out)), 0);
    assert_eq!(one(&queue, |out| queue.norm(terms(), out)), 0);
    assert_eq!(one(&queue, |out| queue.dot(terms(), &none, out)), 0);
    let mut out = queue.full([1], 9.0).unwrap();
    assert_refused!(queue.mean(terms(), &mut out), Shape);
    let table = queue.zeros::<f32, 3>([2, 0, 3]).unwrap();
    let mut results = queue.full([2, 1, 3], 9.0).unwrap();
    queue.sum(table.axis(1).determinism(EVERYWHERE), &mut results).unwrap();
    assert_eq!(queue.read(&results).wait().unwrap(), [0.0; 6]);
    assert_refused!(queue.mean(table.axis(1).determinism(EVERYWHERE), &mut results), Shape);
    let mut nothing = queue.zeros([1, 0, 3]).unwrap();
    queue.mean(table.axis(0).determinism(EVERYWHERE), &mut nothing).unwrap();
    let offsets = queue.array(&[0_u32, 0, 4]).unwrap();
    let found = bits(&queue, 2, |out| queue.mean(none.segments(&offsets).determinism(EVERYWHERE), out));
    assert_eq!(found, [f32::NAN.to_bits(); 2]);
    let one_offset = offsets.slice(0..1).unwrap();
    let mut no_results = queue.zeros([0]).unwrap();
    queue.sum(none.segments(&one_offset).determinism(EVERYWHERE), &mut no_results).unwrap();
    let places = queue.zeros::<u32, 1>([0]).unwrap();
    queue.scatter_add(&none, &places, &mut out).unwrap();
    queue.scatter_add(&out.clone(), &queue.zeros([1]).unwrap(), &mut no_results).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [9.0]);
}

fn integers(s: &Subject) {
    let queue = s.ctx().queue("q");
    let list: Vec<u32> = (0..20_481_u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
    let x = queue.array(&list).unwrap();
    let found = queue.value_of(|out| queue.sum(x.determinism(EVERYWHERE), out)).wait().unwrap();
    assert_eq!(found, host::sum(&list));
    let found = queue.value_of(|out| queue.dot(x.determinism(EVERYWHERE), &x, out)).wait().unwrap();
    assert_eq!(found, host::dot(&list, &list));
    // Without a choice, a sum of floats is the usual one.
    let list: Vec<f32> = (0..1000).map(|i| i as f32 * 0.1).collect();
    let x = queue.array(&list).unwrap();
    let usual = one(&queue, |out| queue.sum(&x, out));
    assert_eq!(one(&queue, |out| queue.sum(x.determinism(Determinism::default()), out)), usual);
    assert_eq!(one(&queue, |out| queue.sum(x.determinism(Determinism::RunToRun), out)), usual);
    assert_eq!(Terms::from(&x).same_bits(), Determinism::RunToRun);
}

fn added(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(258);
    for (at, len) in [1, 4, 257, 5000, 20_481].into_iter().enumerate() {
        for kind in kinds(len, at) {
            // 256 elements are the last ones that are added in the memory of a workgroup.
            for count in [1, 7, 256, 300] {
                let list = list_of(kind, len, &mut rng);
                let places: Vec<u32> = (0..len).map(|_| rng.u32(..count as u32 + 2)).collect();
                let mut expected = list_of(kind, count, &mut rng);
                let x = queue.array(&list).unwrap();
                let mut out = queue.array(&expected).unwrap();
                queue.scatter_add(&x, &queue.array(&places).unwrap(), &mut out).unwrap();
                host::scatter_add(&list, &places, &mut expected);
                let found = queue.read(&out.cast_bits::<u32>()).wait().unwrap();
                assert!(found == to_bits(expected), "{len} of kind {kind} at {count} places");
            }
        }
    }
    // Only the first elements are added.
    let x = queue.array(&[1e30_f32, 0.5, -1e30, f32::NAN]).unwrap();
    let places = queue.array(&[1_u32, 1, 1, 1]).unwrap();
    let count = queue.array(&[3_u32]).unwrap();
    let mut out = queue.full([2], 0.25_f32).unwrap();
    queue.scatter_add(x.first(&count), &places, &mut out).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [0.25, 0.75]);
}

fn kept(s: &Subject) {
    let queue = s.ctx().queue("q");
    let nan = f32::from_bits(0xFFC1_2345);
    for count in [6, 1000] {
        let mut list = vec![2.0; count];
        list[..6].copy_from_slice(&[-0.0, nan, SMALLEST, f32::INFINITY, -0.0, 3.0]);
        let mut out = queue.array(&list).unwrap();
        // Zeros, and numbers whose sum is 0, change nothing; a place outside of the array is ignored.
        let x = queue.array(&[0.0_f32, -0.0, 1e30, -1e30, -0.0, 1.0, f32::NAN]).unwrap();
        let places = queue.array(&[1_u32, 2, 4, 4, 0, 5, count as u32]).unwrap();
        queue.scatter_add(&x, &places, &mut out).unwrap();
        list[5] = 4.0;
        assert_eq!(queue.read(&out.cast_bits::<u32>()).wait().unwrap(), to_bits(list));
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(259);
    for len in [40, 336, 16_500] {
        let list = list_of(0, len, &mut rng);
        let all = queue.array(&around(&list, f32::INFINITY)).unwrap();
        let x = inside(&all);
        let found = guarded(&queue, 1, |out| queue.sum(x.determinism(EVERYWHERE), out));
        assert_eq!(found, [host::exact_sum(&list)]);
        let found = guarded(&queue, 1, |out| queue.norm(x.determinism(EVERYWHERE), out));
        assert_eq!(found, [host::exact_norm(&list)]);
        let rows = x.slice(0..len / 4 * 4).unwrap().reshape([4, len / 4]).unwrap();
        let found = guarded(&queue, 4, |out| {
            queue.mean(rows.axis(1).determinism(EVERYWHERE), &mut out.reshape([4, 1])?)
        });
        let expected = list.chunks_exact(len / 4).map(|row| host::exact_mean(row).unwrap());
        assert_eq!(found, expected.collect::<Vec<_>>());
        let offsets = queue.array(&[0_u32, 5, 5, len as u32]).unwrap();
        let found = guarded(&queue, 3, |out| queue.sum(x.segments(&offsets).determinism(EVERYWHERE), out));
        assert_eq!(found, [host::exact_sum(&list[..5]), 0.0, host::exact_sum(&list[5..])]);
        let places = queue.array(&(0..len as u32).map(|i| i % 12).collect::<Vec<_>>()).unwrap();
        let found = guarded(&queue, 10, |out| queue.scatter_add(&x, &places, out));
        let mut expected = vec![1.0; 10];
        host::scatter_add(&list, &(0..len as u32).map(|i| i % 12).collect::<Vec<_>>(), &mut expected);
        assert_eq!(found, expected);
        assert!(queue.read(&all).wait().unwrap() == around(&list, f32::INFINITY), "the input stays");
    }
}

/// Enqueues each verb. The results go to parts of an array.
fn enqueue(
    queue: &CommandQueue,
    x: &DeviceArray<f32>,
    [offsets, places]: [&DeviceArray<u32>; 2],
    out: &DeviceArray<f32>,
) -> Result<()> {
    let part = |at: usize, len: usize| out.slice(64 * at..64 * at + len);
    queue.sum(x.determinism(EVERYWHERE), &mut part(0, 1)?)?;
    queue.mean(x.determinism(EVERYWHERE), &mut part(1, 1)?)?;
    queue.norm(x.determinism(EVERYWHERE), &mut part(2, 1)?)?;
    queue.dot(x.determinism(EVERYWHERE), x, &mut part(3, 1)?)?;
    queue.sum(x.segments(offsets).determinism(EVERYWHERE), &mut part(4, 2)?)?;
    let columns = x.reshape([x.len() / 4, 4])?;
    queue.sum(columns.axis(0).determinism(EVERYWHERE), &mut part(5, 4)?.reshape([1, 4])?)?;
    queue.fill(&mut part(6, 4)?, 0.5)?;
    queue.scatter_add(x, places, &mut part(6, 4)?)
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [300, 20_480] {
        let x = queue.zeros([len]).unwrap();
        let offsets = queue.array(&[0_u32, 10, 400]).unwrap();
        let places = queue.full([len], 3_u32).unwrap();
        let verbs = |queue: &CommandQueue, x: &DeviceArray<f32>, out: &DeviceArray<f32>| {
            enqueue(queue, x, [&offsets, &places], out)
        };
        let mut rng = fastrand::Rng::with_seed(260);
        let lists: Vec<Vec<f32>> = (0..3).map(|round| list_of([0, 4, 6][round], len, &mut rng)).collect();
        check_replays(&queue, x, 512, verbs, lists, |list, found| {
            let expected = [host::exact_sum(list), host::exact_mean(list).unwrap(), host::exact_norm(list)];
            assert_eq!([found[0], found[64], found[128]], expected);
            assert_eq!(found[192], host::exact_dot(list, list));
            let mut added = [0.5; 4];
            host::scatter_add(list, &vec![3; list.len()], &mut added);
            assert_eq!(found[384..388], added);
        });
    }
}

fn refused(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    for len in [100, 20_000] {
        let x = queue.full([len], 1.0_f32).unwrap();
        let short = queue.full([len - 1], 1.0_f32).unwrap();
        let terms = || x.determinism(EVERYWHERE);
        let mut out = queue.full([1], 9.0).unwrap();
        let mut two = queue.full([2], 9.0).unwrap();
        let before = dump::enqueued(&ctx, "q");
        assert_refused!(queue.sum(terms(), &mut two), Shape);
        assert_refused!(queue.dot(terms(), &short, &mut out), Shape);
        assert_refused!(queue.norm(terms(), &mut x.slice(0..1).unwrap()), Aliased);
        assert_refused!(queue.mean(x.axis(1).determinism(EVERYWHERE), &mut out), Axis);
        let offsets = x.cast_bits::<u32>().slice(0..2).unwrap();
        assert_refused!(queue.sum(x.segments(&offsets).determinism(EVERYWHERE), &mut two), Shape);
        let own = &mut x.slice(0..1).unwrap();
        assert_refused!(queue.sum(x.segments(&offsets).determinism(EVERYWHERE), own), Aliased);
        let mut foreign = s.ctx().queue("other").full([1], 9.0).unwrap();
        assert_refused!(queue.sum(terms(), &mut foreign), ForeignContext);
        let error = assert_refused!(queue.scatter_add(&x, &x.cast_bits(), &mut x.clone()), Aliased);
        assert!(error.to_string().starts_with("verb `scatter_add`: arguments `x` and `out`"), "{error}");
        assert_eq!(dump::enqueued(&ctx, "q"), before, "{len} elements");
    }
}

fn too_many(s: &Subject) {
    let (device, wgpu_queue) = raw::open_with(s, |limits| limits.max_storage_buffer_binding_size = 1 << 16);
    // A browser gives no device less than the default of WebGPU.
    let binding = device.limits().max_storage_buffer_binding_size;
    let ctx = Context::adopt(device, wgpu_queue, AdoptOptions::default()).unwrap();
    let queue = ctx.queue("q");
    let x = queue.array(&[1.0_f32, 2.0]).unwrap();
    let most = (binding / 80) as usize;
    let offsets = queue.full([most + 2], 2_u32).unwrap();
    let mut out = queue.full([most + 1], 9.0_f32).unwrap();
    let before = dump::enqueued(&ctx, "q");
    let refused = queue.sum(x.segments(&offsets).determinism(EVERYWHERE), &mut out);
    let error = assert_refused!(refused, Value);
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    let said = format!(
        "verb `sum`, argument `offsets`: the number of segments is {}, and this device sums `f32` in at most {most}, with \
         80 bytes for each",
        most + 1
    );
    assert!(error.to_string().starts_with(&said), "{error}");
    let most = (binding / 44) as usize;
    let mut out = queue.full([most + 1], 9.0_f32).unwrap();
    let places = queue.array(&[0_u32, 1]).unwrap();
    let before = dump::enqueued(&ctx, "q");
    let error = assert_refused!(queue.scatter_add(&x, &places, &mut out), Value);
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    let said = format!(
        "verb `scatter_add`, argument `out`: the number of elements is {}, and this device sums `f32` in at most {most}",
        most + 1
    );
    assert!(error.to_string().starts_with(&said), "{error}");
    // The most are taken.
    let mut largest = out.slice(0..most).unwrap();
    let places = queue.array(&[most as u32 - 1, 0]).unwrap();
    queue.scatter_add(&x, &places, &mut largest).unwrap();
    let found = queue.read(&largest).wait().unwrap();
    assert_eq!([found[0], found[1], found[most - 1]], [11.0, 9.0, 10.0]);
}
