//! A01, A06: verbs that compute each element from the elements at the same place.

use super::*;
use fencepost::interface::SameBits;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_elementwise_verb_enqueues_nothing", refused),
        case("a01_elementwise_verbs_in_a_graph_equal_those_of_a_queue", in_a_graph),
        case("a06_a_cast_gives_the_bits_of_the_operator_as", casts),
        case("a06_iota_and_axpy_are_exact_for_integers_and_within_their_bounds_for_floats", multiplied),
        case("a06_clamp_keeps_nans_and_zeros_and_limits_all_else", clamped),
        case("a06_where_copies_the_bits_that_the_mask_selects", chosen),
        case("a06_an_elementwise_verb_writes_its_array_alone", guards),
    ]
}

/// Lists numbers of elements around multiples of the workgroup size. In the full suite, one of them needs a grid of two
/// dimensions.
fn lengths() -> Vec<usize> {
    let mut lengths = vec![0, 1, 63, 64, 65, 255, 256, 257, 10_007];
    if large() {
        lengths.push(64 * 65_535 + 1);
    }
    lengths
}

/// Returns bits of all kinds of numbers: zeros, limits of the integer types, infinities, NaNs, and random ones.
fn words(len: usize, rng: &mut fastrand::Rng) -> Vec<u32> {
    let borders =
        [i32::MAX as f32, i32::MIN as f32, u32::MAX as f32, 16_777_216.0, 0.99, 1.0, 1.5, 2.5, 1e20];
    let mut special: Vec<u32> = borders.iter().flat_map(|x| [x.to_bits(), (-x).to_bits()]).collect();
    special.extend([
        0x4EFF_FFFF,
        0x4F7F_FFFF,
        0xCF00_0001,
        0x7F80_0000,
        0xFF80_0000,
        0x7FC0_0000,
        0xFFFF_FFFF,
    ]);
    special.extend([0, 0x8000_0000, 1, 0x0100_0001, 0x0100_0003, 0x01FF_FFFF, 0x7FFF_FFFF, 0x7FFF_FFBF]);
    special.extend([
        0x7FFF_FFC0,
        0xFFFF_FF7F,
        0xFFFF_FF80,
        0xFFFF_FF81,
        0x0200_0002,
        0x0200_0006,
        0x7F80_0001,
    ]);
    let of = |i: usize, rng: &mut fastrand::Rng| special.get(i).copied().unwrap_or_else(|| rng.u32(..));
    (0..len).map(|i| of(i, rng)).collect()
}

fn casts(s: &Subject) {
    fn of<T: Reducible + Debug, U: Reducible + Debug + SameBits<u32>>(queue: &CommandQueue, list: &[T]) {
        let x = queue.array(list).unwrap();
        let mut out = queue.empty::<U, 1>([list.len()]).unwrap();
        queue.cast(&x, &mut out).unwrap();
        let found = queue.read(&out.cast_bits::<u32>()).wait().unwrap();
        for (&x, found) in list.iter().zip(found) {
            let expected: u32 = bytemuck::cast(host::cast::<T, U>(x));
            assert_eq!(found, expected, "{x:?} as {}", std::any::type_name::<U>());
        }
    }
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(41);
    for len in lengths() {
        let words = words(len, &mut rng);
        of::<u32, f32>(&queue, &words);
        of::<i32, f32>(&queue, bytemuck::cast_slice(&words));
        of::<u32, i32>(&queue, &words);
        of::<i32, u32>(&queue, bytemuck::cast_slice(&words));
        of::<f32, i32>(&queue, bytemuck::cast_slice(&words));
        of::<f32, u32>(&queue, bytemuck::cast_slice(&words));
        // Numbers in the range of the integers.
        let near: Vec<f32> = (0..len).map(|_| (rng.f32() - 0.5) * 2_f32.powi(rng.i32(0..34))).collect();
        of::<f32, i32>(&queue, &near);
        of::<f32, u32>(&queue, &near);
    }
}

fn multiplied(s: &Subject) {
    fn of<T: Reducible + Debug>(queue: &CommandQueue, x: &[T], y: &[T], a: T) {
        let x_array = queue.array(x).unwrap();
        let mut out = queue.array(y).unwrap();
        queue.axpy(a, &x_array, &mut out).unwrap();
        let mut expected = y.to_vec();
        host::axpy(a, x, &mut expected);
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "{} elements", x.len());
    }
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(42);
    for len in lengths() {
        let [x, y] = [(); 2].map(|()| (0..len).map(|_| rng.u32(..)).collect::<Vec<u32>>());
        of(&queue, &x, &y, 0x9E37_79B1);
        let [x, y] = [&x, &y].map(|list| bytemuck::cast_slice::<u32, i32>(list));
        of(&queue, x, y, -77_777);
        let mut out = queue.empty::<i32, 1>([len]).unwrap();
        queue.iota(&mut out, i32::MAX - 3, -5).unwrap();
        assert_eq!(queue.read(&out).wait().unwrap(), host::iota(len, i32::MAX - 3, -5));
        close(&queue, len, &mut rng);
    }
    let mut grid = queue.empty::<u32, 3>([2, 3, 4]).unwrap();
    queue.iota(&mut grid, 5, 2).unwrap();
    assert_eq!(queue.read(&grid).wait().unwrap(), host::iota(24, 5_u32, 2));
}

/// Compares sums of floats with cancellation with the exact sums.
fn close(queue: &CommandQueue, len: usize, rng: &mut fastrand::Rng) {
    let within = |found: f32, a: f64, x: f64, y: f64| {
        let bound = 3.0 * 2_f64.powi(-24) * ((a * x).abs() + y.abs());
        assert!((f64::from(found) - (a * x + y)).abs() <= bound, "{a} * {x} + {y}: {found} +- {bound}");
    };
    let x: Vec<f32> = (0..len).map(|_| rng.f32() * 100.0 - 50.0).collect();
    let y: Vec<f32> = x.iter().map(|x| -1.25 * x + rng.f32() * 1e-5).collect();
    let array = queue.array(&x).unwrap();
    let mut out = queue.array(&y).unwrap();
    queue.axpy(1.25, &array, &mut out).unwrap();
    for ((&x, &y), found) in x.iter().zip(&y).zip(queue.read(&out).wait().unwrap()) {
        within(found, 1.25, f64::from(x), f64::from(y));
    }
    queue.iota(&mut out, -100.0, 0.1).unwrap();
    for (i, found) in queue.read(&out).wait().unwrap().into_iter().enumerate() {
        within(found, f64::from(0.1_f32), i as f64, -100.0);
    }
}

fn clamped(s: &Subject) {
    fn of<T: Reducible + SameBits<u32>>(queue: &CommandQueue, words: &[u32], [low, high]: [T; 2]) {
        let mut out = queue.empty::<T, 1>([words.len()]).unwrap();
        let x = queue.array(bytemuck::cast_slice::<u32, T>(words)).unwrap();
        queue.clamp(&x, low, high, &mut out).unwrap();
        let found = queue.read(&out.cast_bits::<u32>()).wait().unwrap();
        for (&word, found) in words.iter().zip(found) {
            let expected: u32 = bytemuck::cast(host::clamp(bytemuck::cast::<u32, T>(word), low, high));
            assert_eq!(found, expected, "{word:#x}");
        }
    }
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(43);
    for len in lengths() {
        let words = words(len, &mut rng);
        of(&queue, &words, [7_u32, 0x8000_0000]);
        of(&queue, &words, [-7_i32, 0x7FFF]);
        of(&queue, &words, [10_i32, -10]);
        for limits in [[-1.5_f32, 1e9], [0.0, f32::INFINITY], [f32::NAN, -0.0], [-0.0, f32::NAN], [2.0, 1.0]]
        {
            of(&queue, &words, limits);
        }
    }
}

fn chosen(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(44);
    for len in lengths() {
        let [x, y] = [(); 2].map(|()| words(len, &mut rng));
        let mask: Vec<u32> = (0..len).map(|_| [0, 0, 1, 0x8000_0000, u32::MAX][rng.usize(..5)]).collect();
        let arrays = [&x, &y].map(|list| queue.array(list).unwrap().cast_bits::<f32>());
        let mut out = queue.empty::<f32, 1>([len]).unwrap();
        queue.where_(&queue.array(&mask).unwrap(), &arrays[0], &arrays[1], &mut out).unwrap();
        let found = queue.read(&out.cast_bits::<u32>()).wait().unwrap();
        assert_eq!(found, host::where_(&mask, &x, &y));
    }
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.full([10], 1_u32).unwrap();
    let mut y = queue.full([10], 2_u32).unwrap();
    let mut short = queue.full([9], 3_u32).unwrap();
    assert_refused!(queue.axpy(1, &x, &mut short), Shape);
    assert_refused!(queue.cast(&x, &mut short), Shape);
    assert_refused!(queue.clamp(&x, 1, 2, &mut short), Shape);
    assert_refused!(queue.where_(&x, &x, &x, &mut short), Shape);
    assert_refused!(queue.where_(&x, &short, &x, &mut y), Shape);
    assert_refused!(queue.where_(&short, &x, &x, &mut y), Shape);
    assert_refused!(queue.axpy(1, &x, &mut x.clone()), Aliased);
    assert_refused!(queue.clamp(&x, 1, 2, &mut x.clone()), Aliased);
    assert_refused!(queue.cast(&x, &mut x.clone()), Aliased);
    assert_refused!(queue.where_(&x, &y, &y, &mut x.clone()), Aliased);
    let mut padded = queue.zeros::<u32, 1>(Shape::padded([10], [12])).unwrap();
    assert_refused!(queue.iota(&mut padded, 0, 1), Padding);
    assert_refused!(queue.cast(&x, &mut padded), Padding);
    let mut foreign = s.ctx().queue("other").full([10], 4_u32).unwrap();
    assert_refused!(queue.iota(&mut foreign, 0, 1), ForeignContext);
    assert_refused!(queue.axpy(1, &x, &mut foreign), ForeignContext);
    assert_eq!(queue.read(&x).wait().unwrap(), [1; 10]);
    assert_eq!(queue.read(&y).wait().unwrap(), [2; 10]);
    assert_eq!(queue.read(&short).wait().unwrap(), [3; 9]);
}

/// Enqueues each verb. The results go to three parts of an array.
fn enqueue(queue: &CommandQueue, x: &DeviceArray<i32>, out: &DeviceArray<i32>) -> Result<()> {
    let part = |at: usize| out.slice(128 * at..128 * at + x.len());
    queue.iota(&mut part(0)?, -3, 2)?;
    queue.axpy(5, x, &mut part(0)?)?;
    queue.clamp(x, -20, 20, &mut part(1)?)?;
    queue.cast(&part(1)?, &mut part(2)?.cast_bits::<f32>())?;
    queue.where_(&x.cast_bits(), &part(0)?, &part(1)?, &mut part(3)?)
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.zeros([100]).unwrap();
    let lists = (1..4).map(|factor| (0..100).map(|i| (i % 7) * (i - 50) * factor).collect());
    check_replays(&queue, x, 512, enqueue, lists, |list: &[i32], found: &[i32]| {
        assert_eq!(found[49], -3 + 2 * 49 + 5 * list[49]);
    });
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.array(&(-50..50).collect::<Vec<i32>>()).unwrap();
    let out = queue.full([512], 9_i32).unwrap();
    enqueue(&queue, &x, &out).unwrap();
    let found = queue.read(&out).wait().unwrap();
    for (at, element) in found.iter().enumerate() {
        let guard = at % 128 >= 100;
        assert!(!guard || *element == 9, "element {at} is {element}");
    }
    assert_eq!(found[384 + 50], found[128 + 50], "the mask is 0");
    assert_eq!(found[384 + 51], found[51], "the mask is 1");
    assert_eq!(queue.read(&x).wait().unwrap(), (-50..50).collect::<Vec<i32>>(), "the input stays");
}
