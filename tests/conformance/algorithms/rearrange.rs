//! A01, A15: verbs that move elements to other places.

use super::*;
use fencepost::interface::SameBits;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_move_enqueues_nothing", refused),
        case("a01_moves_in_a_graph_equal_those_of_a_queue", in_a_graph),
        case("a15_a_gather_copies_the_bits_at_its_places", gathered),
        case("a15_a_scatter_writes_the_places_inside_of_its_array", scattered),
        case("a15_scattered_sums_have_each_element_once", added),
        case("a15_permuted_axes_are_those_of_the_host", permuted),
        case("a15_a_move_writes_its_array_alone", guards),
    ]
}

/// Lists numbers of elements around multiples of the workgroup size. In the full suite, one of them needs a grid of two
/// dimensions.
fn lengths() -> Vec<usize> {
    let mut lengths = vec![0, 1, 63, 64, 65, 257, 10_007];
    if large() {
        lengths.push(64 * 65_535 + 1);
    }
    lengths
}

/// Returns random bits. The first ones are NaNs, zeros and infinities.
fn words(len: usize, rng: &mut fastrand::Rng) -> Vec<u32> {
    let special = [0x7F80_0001, 0xFFC0_1234, 0x8000_0000, 1, 0x7F80_0000];
    (0..len).map(|i| special.get(i).copied().unwrap_or_else(|| rng.u32(..))).collect()
}

/// Returns indices, some of which are not below `count`.
fn places(len: usize, count: usize, rng: &mut fastrand::Rng) -> Vec<u32> {
    let outside = [u32::MAX, count as u32, count as u32 + 1, 0x8000_0000];
    (0..len)
        .map(|i| if i % 7 == 3 { outside[rng.usize(..4)] } else { rng.u32(..count.max(1) as u32) })
        .collect()
}

fn gathered(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(61);
    for len in lengths() {
        for count in [0, 1, 300] {
            let x = words(count, &mut rng);
            let places = places(len, count, &mut rng);
            let x_array = queue.array(&x).unwrap();
            let places_array = queue.array(&places).unwrap();
            for outside in [Outside::Zero, Outside::Last] {
                let mut out = queue.full([len], 9.0_f32).unwrap();
                queue.gather(&x_array.cast_bits(), &places_array, outside, &mut out).unwrap();
                let found = queue.read(&out.cast_bits::<u32>()).wait().unwrap();
                assert_eq!(found, host::gather(&x, &places, outside), "{len} places in {count} elements");
            }
        }
    }
    let x = queue.array(&(0..24).collect::<Vec<i32>>()).unwrap().reshape([2, 3, 4]).unwrap();
    let places = queue.array(&[23_u32, 0, 7, 30]).unwrap().reshape([2, 2]).unwrap();
    let mut out = queue.zeros::<i32, 2>([2, 2]).unwrap();
    queue.gather(&x, &places, Outside::Last, &mut out).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [23, 0, 7, 23]);
}

fn scattered(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(62);
    for len in lengths() {
        let x = words(len, &mut rng);
        // Each index inside the array occurs once.
        let mut places: Vec<u32> =
            (0..len as u32).map(|i| if i % 5 == 2 { u32::MAX - i } else { i }).collect();
        rng.shuffle(&mut places);
        let mut out = queue.full([len], 7_u32).unwrap().cast_bits::<f32>();
        let x_array = queue.array(&x).unwrap();
        let places_array = queue.array(&places).unwrap();
        queue.scatter(&x_array.cast_bits(), &places_array, &mut out).unwrap();
        let mut expected = vec![7; len];
        host::scatter(&x, &places, &mut expected);
        assert_eq!(queue.read(&out.cast_bits::<u32>()).wait().unwrap(), expected, "{len} elements");
    }
    // Of several elements with the same index, exactly one is written.
    let x: Vec<u32> = (0..10_000).map(|i| i * 0x1_0001).collect();
    let mut out = queue.full([3], 7_u32).unwrap();
    let places = queue.array(&vec![1_u32; x.len()]).unwrap();
    queue.scatter(&queue.array(&x).unwrap(), &places, &mut out).unwrap();
    let found = queue.read(&out).wait().unwrap();
    assert!([found[0], found[2]] == [7, 7] && x.contains(&found[1]), "{found:?}");
}

fn added(s: &Subject) {
    fn of<T: Reducible + SameBits<u32> + std::fmt::Debug>(
        queue: &CommandQueue,
        words: &[u32],
        places: &[u32],
    ) {
        let x: &[T] = bytemuck::cast_slice(words);
        let mut out = queue.full([300], T::ONE).unwrap();
        queue.scatter_add(&queue.array(x).unwrap(), &queue.array(places).unwrap(), &mut out).unwrap();
        let mut expected = vec![T::ONE; 300];
        host::scatter_add(x, places, &mut expected);
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "{} elements", words.len());
    }
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(63);
    for len in lengths() {
        let x = words(len, &mut rng);
        let places = places(len, 300, &mut rng);
        of::<u32>(&queue, &x, &places);
        of::<i32>(&queue, &x, &places);
    }
    of::<u32>(&queue, &vec![3; 5000], &vec![299; 5000]);
}

fn permuted(s: &Subject) {
    fn of<const D: usize>(
        queue: &CommandQueue,
        shape: [usize; D],
        axes: [usize; D],
        rng: &mut fastrand::Rng,
    ) {
        let x = words(shape.iter().product(), rng);
        let array = queue.array(&x).unwrap().cast_bits::<f32>().reshape(shape).unwrap();
        let mut out = queue.full(axes.map(|axis| shape[axis]), 9.0_f32).unwrap();
        queue.permute(&array, axes, &mut out).unwrap();
        let found = queue.read(&out.cast_bits::<u32>()).wait().unwrap();
        let expected = host::permute(&x, shape, axes).unwrap();
        assert!(found == expected, "axes {axes:?} of {shape:?}: {found:?}\n{expected:?}");
    }
    let queue = s.ctx().queue("q");
    let rng = &mut fastrand::Rng::with_seed(64);
    transposed(&queue, [17, 33], rng);
    for (rows, columns) in [(0, 5), (1, 9), (15, 16), (16, 16), (17, 33), (100, 3), (2, 1000), (31, 257)] {
        of(&queue, [rows, columns], [1, 0], rng);
    }
    of(&queue, [7], [0], rng);
    for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        of(&queue, [5, 17, 18], axes, rng);
        of(&queue, [1, 19, 3], axes, rng);
    }
    of(&queue, [3, 4, 5, 6], [3, 1, 0, 2], rng);
    of(&queue, [3, 1, 5, 2, 4], [4, 2, 1, 3, 0], rng);
    of(&queue, [2, 3, 4, 3, 2, 5], [5, 3, 1, 4, 2, 0], rng);
    of(&queue, [2, 2, 2, 1, 2, 3, 2], [6, 5, 3, 4, 2, 1, 0], rng);
    if large() {
        of(&queue, [70_000, 3, 17], [0, 2, 1], rng);
        of(&queue, [2049, 2050], [1, 0], rng);
        for _ in 0..200 {
            let mut axes = [0, 1, 2, 3, 4, 5];
            let shape = [(); 6].map(|()| rng.usize(1..7));
            rng.shuffle(&mut axes);
            of(&queue, shape, axes, rng);
        }
    }
}

fn transposed(queue: &CommandQueue, [rows, columns]: [usize; 2], rng: &mut fastrand::Rng) {
    let x = words(rows * columns, rng);
    let array = queue.array(&x).unwrap().reshape([rows, columns]).unwrap();
    let mut out = queue.full([columns, rows], 9_u32).unwrap();
    queue.transpose(&array, &mut out).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), host::transpose(&x, [rows, columns]).unwrap());
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.full([2, 5], 1_u32).unwrap();
    let mut out = queue.full([2, 5], 2_u32).unwrap();
    let mut short = queue.full([3, 3], 3_u32).unwrap();
    let flat = x.reshape([10]).unwrap();
    let results = [
        queue.gather(&flat, &x, Outside::Zero, &mut short),
        queue.scatter(&flat, &short.reshape([9]).unwrap(), &mut out),
        queue.scatter_add(&x, &short, &mut out),
        queue.transpose(&x, &mut out),
        queue.permute(&x, [0, 1], &mut short),
    ];
    for result in results {
        let error = assert_refused!(result, Shape);
        assert!(error.to_string().starts_with("verb `"), "{error}");
    }
    for axes in [[0, 0], [1, 2], [usize::MAX, 0]] {
        let error = assert_refused!(queue.permute(&x, axes, &mut out), Value);
        let text = format!(
            "`axes` of `permute` is {axes:?}; an order that names each axis of the array once is needed"
        );
        assert_eq!(error.to_string(), text);
    }
    let many = queue.zeros::<u32, 7>([2; 7]).unwrap();
    let mut other = queue.zeros([2; 7]).unwrap();
    assert_refused!(queue.permute(&many, [6, 5, 4, 3, 2, 1, 0], &mut other), Value);
    let square = queue.full([3, 3], 4_u32).unwrap();
    assert_refused!(queue.gather(&square, &short, Outside::Zero, &mut square.clone()), Aliased);
    assert_refused!(queue.scatter(&square, &short, &mut square.clone()), Aliased);
    assert_refused!(queue.scatter_add(&short, &square, &mut square.clone()), Aliased);
    assert_refused!(queue.transpose(&square, &mut square.clone()), Aliased);
    // Orders that move no element are refused as the others are.
    let row = x.reshape([1, 10]).unwrap();
    let long = queue.zeros::<u32, 1>([192]).unwrap();
    let first = long.slice(0..128).unwrap();
    let second = long.slice(64..192).unwrap();
    let unmoved = [
        ("permute", queue.permute(&x, [0, 1], &mut x.clone())),
        ("transpose", queue.transpose(&row, &mut x.reshape([10, 1]).unwrap())),
        ("permute", queue.permute(&first, [0], &mut second.clone())),
        ("permute", queue.permute(&x, [1, 0], &mut x.reshape([5, 2]).unwrap())),
    ];
    for (verb, result) in unmoved {
        let error = result.unwrap_err();
        let said = format!("verb `{verb}`: arguments `x` and `out` overlap in array");
        assert!(error.to_string().starts_with(&said), "{error}");
    }
    let empty = queue.zeros::<u32, 1>([0]).unwrap();
    assert_refused!(queue.gather(&empty, &square, Outside::Zero, &mut square.clone()), Aliased);
    let mut foreign = s.ctx().queue("other").full([3, 3], 4_u32).unwrap();
    assert_refused!(queue.transpose(&square, &mut foreign), ForeignContext);
    assert_refused!(queue.scatter(&square, &short, &mut foreign), ForeignContext);
    assert_refused!(queue.permute(&square, [0, 1], &mut foreign), ForeignContext);
    assert_eq!(queue.read(&x).wait().unwrap(), [1; 10]);
    assert_eq!(queue.read(&out).wait().unwrap(), [2; 10]);
    assert_eq!(queue.read(&short).wait().unwrap(), [3; 9]);
    assert_eq!(queue.read(&square).wait().unwrap(), [4; 9]);
}

/// Enqueues each verb. The results go to parts of an array, with guard elements between them.
fn enqueue(queue: &CommandQueue, x: &DeviceArray<u32>, out: &DeviceArray<u32>) -> Result<()> {
    let part = |at: usize| out.slice(128 * at..128 * at + x.len());
    queue.gather(x, x, Outside::Zero, &mut part(0)?)?;
    queue.scatter(&part(0)?, x, &mut part(1)?)?;
    queue.scatter_add(x, x, &mut part(2)?)?;
    let rows = x.reshape([20, 5])?;
    queue.transpose(&rows, &mut part(3)?.reshape([5, 20])?)?;
    let axes = x.reshape([5, 4, 5])?;
    queue.permute(&axes, [2, 1, 0], &mut part(4)?.reshape([5, 4, 5])?)
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.zeros([100]).unwrap();
    // Each index occurs once.
    let lists = (0..3).map(|round| (0..100).map(|i| (i * 37 + round) % 110).collect());
    check_replays(&queue, x, 640, enqueue, lists, |list, found| {
        assert_eq!(found[..100], host::gather(list, list, Outside::Zero));
    });
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    let list: Vec<u32> = (0..100).map(|i| (i * 37) % 110 + 20 * (i % 2)).collect();
    let x = queue.array(&list).unwrap();
    let out = queue.full([640], 9_u32).unwrap();
    enqueue(&queue, &x, &out).unwrap();
    let found = queue.read(&out).wait().unwrap();
    for (at, element) in found.iter().enumerate() {
        assert!(at % 128 < 100 || *element == 9, "element {at} is {element}");
    }
    assert_eq!(queue.read(&x).wait().unwrap(), list, "the input stays");
}
