//! A01, A03, A05: reductions along one axis. Each verb along an axis is refused, captured and guarded here.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_reduction_along_an_axis_enqueues_nothing", refused),
        case("a01_reductions_along_an_axis_in_a_graph_equal_those_of_the_host", in_a_graph),
        case("a05_reductions_along_each_axis_of_integers_are_exact", integers),
        case("a05_sums_along_each_axis_of_floats_are_within_their_bounds", floats),
        case("a05_the_smallest_and_largest_numbers_along_an_axis_are_exact_and_keep_nans", extremes),
        case("a05_an_axis_without_elements_gives_the_result_of_none", none),
        case("a05_a_reduction_along_an_axis_writes_its_results_alone", guards),
    ]
}

const ALL: [Operation; 4] = [Operation::Sum, Operation::Product, Operation::Smallest, Operation::Largest];

/// Lists shapes with axis lengths around the limits of invocations, workgroups and shares. The full suite has more of
/// them.
pub(super) fn shapes() -> Vec<[usize; 3]> {
    let mut shapes = vec![
        [1, 1, 1],
        [3, 64, 1],
        [2, 3, 65],
        [5, 4, 255],
        [2, 256, 2],
        [257, 3, 4],
        [1, 1024, 3],
        [1, 1025, 3],
        [1, 1, 16_384],
        [1, 1, 16_385],
    ];
    if large() {
        shapes.extend([
            [2, 1, 16_384],
            [1, 2, 16_385],
            [1, 1, 40_000],
            [3, 5, 4097],
            [20_000, 2, 1],
            [65_537, 1, 65],
            [1, 100_000, 2],
        ]);
    }
    shapes
}

/// Returns the expected result along an axis.
fn result<T: Reducible, const D: usize>(
    queue: &CommandQueue,
    x: &DeviceArray<T, D>,
    operation: Operation,
    axis: usize,
) -> Vec<T> {
    let mut out = queue.empty(reduced(x.shape(), axis)).unwrap();
    queue.reduce(x.axis(axis), operation, &mut out).unwrap();
    queue.read(&out).wait().unwrap()
}

fn integers(s: &Subject) {
    fn of<T: Reducible + Debug>(queue: &CommandQueue, list: &[T], shape: [usize; 3]) {
        let x = queue.array(list).unwrap().reshape(shape).unwrap();
        let operations = if large() || list.len() < 2000 { &ALL } else { &ALL[..1] };
        for axis in 0..3 {
            for &operation in operations {
                let expected = host::reduce(list, shape, operation, axis).unwrap();
                assert_eq!(
                    result(queue, &x, operation, axis),
                    expected,
                    "{operation:?} along {axis} of {shape:?}"
                );
            }
        }
    }
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(31);
    for (at, shape) in shapes().into_iter().enumerate() {
        // With odd factors, the product does not become 0.
        let list: Vec<u32> = (0..shape.iter().product()).map(|_| rng.u32(..) | 1).collect();
        match at % 2 {
            0 => of::<u32>(&queue, &list, shape),
            _ => of::<i32>(&queue, bytemuck::cast_slice(&list), shape),
        }
    }
    let list: Vec<u32> = (0..120).collect();
    let x = queue.array(&list).unwrap().reshape([2, 3, 4, 5]).unwrap();
    let expected = host::reduce(&list, [2, 3, 4, 5], Operation::Sum, 2).unwrap();
    assert_eq!(result(&queue, &x, Operation::Sum, 2), expected);
    let x = queue.array(&list).unwrap();
    assert_eq!(result(&queue, &x, Operation::Sum, 0), [119 * 60]);
}

fn floats(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(32);
    for shape in shapes() {
        let len = shape.iter().product();
        let list: Vec<f32> = (0..len).map(|_| (rng.f32() - 0.5) * [1.0, 1e6][rng.usize(..2)]).collect();
        let x = queue.array(&list).unwrap().reshape(shape).unwrap();
        for axis in 0..3 {
            let found = result(&queue, &x, Operation::Sum, axis);
            let n = shape[axis];
            let inner = shape[axis + 1..].iter().product::<usize>();
            let depth = if axis == 2 { 52.0 + n as f64 / 2_f64.powi(20) } else { 330.0 + n as f64 / 4096.0 };
            for (at, found) in found.into_iter().enumerate() {
                let column = (0..n).map(|i| f64::from(list[(at / inner * n + i) * inner + at % inner]));
                let (exact, sizes) = column.fold((0.0, 0.0), |(sum, all), x| (sum + x, all + x.abs()));
                let bound = depth * 2_f64.powi(-24) * sizes;
                let found = f64::from(found);
                assert!(
                    (found - exact).abs() <= bound,
                    "{shape:?} along {axis}: {found}, {exact} +- {bound}"
                );
            }
        }
    }
    let x = queue.array(&[1.5_f32, 2.0, -0.5, 4.0]).unwrap().reshape([2, 2]).unwrap();
    assert_eq!(result(&queue, &x, Operation::Product, 0), [-0.75, 8.0]);
    assert_eq!(result(&queue, &x, Operation::Product, 1), [3.0, -2.0]);
}

fn extremes(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(33);
    let special = [0, 0x8000_0000, 1, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0xFFFF_FFFF, 0x3F80_0000];
    for shape in [[3, 70, 1], [4, 3, 5], [1, 1030, 2], [1, 1, 16_390]] {
        let words: Vec<u32> = (0..shape.iter().product())
            .map(|_| if rng.u32(..40) == 0 { special[rng.usize(..8)] } else { rng.u32(1 << 28..3 << 28) })
            .collect();
        let x = queue.array(&words).unwrap().cast_bits::<f32>().reshape(shape).unwrap();
        for axis in 0..3 {
            for operation in [Operation::Smallest, Operation::Largest] {
                let list: &[f32] = bytemuck::cast_slice(&words);
                let expected = host::reduce(list, shape, operation, axis).unwrap();
                let found = result(&queue, &x, operation, axis);
                let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
                assert!(found.iter().zip(&expected).all(same), "{operation:?} along {axis} of {shape:?}");
            }
        }
    }
}

fn none(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.empty::<u32, 2>([3, 0]).unwrap();
    assert_eq!(result(&queue, &x, Operation::Sum, 1), [0, 0, 0]);
    assert_eq!(result(&queue, &x, Operation::Product, 1), [1, 1, 1]);
    assert_eq!(result(&queue, &x, Operation::Smallest, 0), [0_u32; 0]);
    let error = queue.reduce(x.axis(1), Operation::Largest, &mut queue.zeros([3, 1]).unwrap()).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{error}");
    let said = "has shape [3, 0], [3, 1] is needed: pass at least one element, because an empty array has no smallest";
    assert!(error.to_string().contains(said), "{error}");
}

type AlongAxis = fn(&CommandQueue, &DeviceArray<u32, 2>, usize, &mut DeviceArray<u32, 2>) -> Result<()>;
type OnHost = fn(&[u32], [usize; 2], usize) -> Option<Vec<u32>>;

/// The verbs along an axis, each with its host function. Floats are given by their bits.
const VERBS: [(AlongAxis, OnHost); 10] = [
    (
        |q, x, axis, out| q.sum(x.axis(axis), out),
        |x, shape, axis| host::reduce(x, shape, Operation::Sum, axis),
    ),
    (
        |q, x, axis, out| q.reduce(x.axis(axis), Operation::Largest, out),
        |x, shape, axis| host::reduce(x, shape, Operation::Largest, axis),
    ),
    (|q, x, axis, out| q.dot(x.axis(axis), x, out), |x, shape, axis| host::dot_axis(x, x, shape, axis)),
    (|q, x, axis, out| q.count_nonzero(x.axis(axis), out), host::count_nonzero_axis),
    (|q, x, axis, out| q.any(x.axis(axis), out), host::any_axis),
    (|q, x, axis, out| q.all(x.axis(axis), out), host::all_axis),
    (|q, x, axis, out| q.argmin(x.axis(axis), out), host::argmin_axis),
    (|q, x, axis, out| q.argmax(x.axis(axis), out), host::argmax_axis),
    (
        |q, x, axis, out| q.mean(x.cast_bits().axis(axis), &mut out.cast_bits()),
        |x, shape, axis| host::mean_axis(bytemuck::cast_slice(x), shape, axis).map(bits),
    ),
    (
        |q, x, axis, out| q.norm(x.cast_bits().axis(axis), &mut out.cast_bits()),
        |x, shape, axis| host::norm_axis(bytemuck::cast_slice(x), shape, axis).map(bits),
    ),
];
/// Number of verbs with exact results. They come first.
const EXACT: usize = 8;

fn bits(list: Vec<f32>) -> Vec<u32> {
    list.into_iter().map(f32::to_bits).collect()
}

/// Returns the bits of small whole numbers, whose sums are exact in any order.
fn whole_numbers(shape: [usize; 2], round: usize) -> Vec<u32> {
    (0..shape[0] * shape[1]).map(|i| (((i * 7 + round) % 11) as f32).to_bits()).collect()
}

/// Compares the results of a verb with the host's. On a device, a quotient or a root is within a few ulp.
#[track_caller]
fn check_along(verb: usize, found: &[u32], list: &[u32], shape: [usize; 2], axis: usize) {
    let expected = VERBS[verb].1(list, shape, axis).unwrap();
    let most = if verb < EXACT { 0 } else { 8 };
    let is_near = |(a, b): (&u32, &u32)| a.abs_diff(*b) <= most;
    assert_eq!(found.len(), expected.len(), "verb {verb} along {axis} of {shape:?}");
    assert!(
        found.iter().zip(&expected).all(is_near),
        "verb {verb} along {axis} of {shape:?}: {found:?}, {expected:?}"
    );
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    let x = queue.full([4, 5], 1_u32).unwrap();
    let mut out = queue.full([4, 1], 7_u32).unwrap();
    let padded = queue.zeros(Shape::padded([4, 5], [4, 8])).unwrap();
    let none = queue.zeros([0, 3]).unwrap();
    for (verb, _) in VERBS {
        let error = assert_refused!(verb(&queue, &x, 2, &mut out), Axis { axis: 2, rank: 2, .. });
        assert!(error.to_string().contains("`: axis 2 is outside array"), "{error}");
        let error = assert_refused!(verb(&queue, &x, 0, &mut out), Shape);
        assert!(error.to_string().contains("`, argument `out`: array"), "{error}");
        assert_refused!(verb(&queue, &padded, 1, &mut out), Padding);
        // A verb without results is refused like any other.
        assert_refused!(verb(&queue, &none, 1, &mut other.zeros([0, 1]).unwrap()), ForeignContext);
        check_of_failed(s, |ctx, queue| verb(queue, &ctx.zeros([0, 3])?, 1, &mut ctx.zeros([0, 1])?));
        for shape in [[4, 5], [2, 20_000], [3000, 2]] {
            // Only the second of two launches would be refused.
            let x = queue.full(shape, 1_u32).unwrap();
            for axis in 0..2 {
                let reduced = reduced(shape, axis);
                let first = x.reshape([x.len()]).unwrap().slice(0..reduced.iter().product()).unwrap();
                assert_refused!(verb(&queue, &x, axis, &mut first.reshape(reduced).unwrap()), Aliased);
                assert_refused!(verb(&queue, &x, axis, &mut other.zeros(reduced).unwrap()), ForeignContext);
            }
            assert_eq!(queue.read(&x).wait().unwrap(), vec![1; x.len()]);
        }
    }
    let named = x.clone().named("x");
    let list = queue.full([5], 1_u32).unwrap().named("list");
    let error = queue.reduce(named.axis(2), Operation::Sum, &mut out).unwrap_err();
    let said = "verb `reduce`: axis 2 is outside array `x`, which has 2 axes: pass an axis from 0 to 1";
    assert_eq!(error.to_string(), said);
    let error = queue.reduce(list.axis(1), Operation::Sum, &mut queue.zeros([1]).unwrap()).unwrap_err();
    let said = "verb `reduce`: axis 1 is outside array `list`, which has 1 axis: pass axis 0";
    assert_eq!(error.to_string(), said);
    let mut named = out.clone().named("out");
    let error = queue.reduce(x.axis(0), Operation::Sum, &mut named).unwrap_err();
    let said = "verb `reduce`, argument `out`: array `out` has shape [4, 1], [1, 5] is needed: the result has one element \
                along the axis, and the shape of `x` else";
    assert_eq!(error.to_string(), said);
    assert_eq!(queue.read(&out).wait().unwrap(), [7; 4]);
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for (first, shape) in [[7, 100], [3, 16_400], [1100, 3]].into_iter().enumerate() {
        let axis = |verb: usize| (first + verb) % 2;
        let mut x = queue.zeros::<u32, 2>(shape).unwrap();
        let mut all: Vec<_> =
            (0..VERBS.len()).map(|verb| queue.zeros(reduced(shape, axis(verb))).unwrap()).collect();
        let (graph, ()) = queue
            .capture(|c| {
                for (at, ((verb, _), out)) in VERBS.iter().zip(&mut all).enumerate() {
                    verb(c, &x, axis(at), out)?;
                }
                Ok(())
            })
            .unwrap();
        for round in 0..2 {
            let list = whole_numbers(shape, round);
            queue.upload(&list, &mut x).unwrap();
            queue.replay(&graph).unwrap();
            for (verb, out) in all.iter().enumerate() {
                check_along(verb, &queue.read(out).wait().unwrap(), &list, shape, axis(verb));
            }
        }
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    for shape in [[3, 300], [300, 3], [2, 16_385]] {
        let list = whole_numbers(shape, 0);
        // Reading a guard element changes a sum, a count, a maximum and its place, and a mean by far.
        let all = queue.array(&around(&list, 0x4F00_0001)).unwrap();
        let x = inside(&all).reshape(shape).unwrap();
        for (at, (verb, _)) in VERBS.iter().enumerate() {
            for axis in 0..2 {
                let reduced = reduced(shape, axis);
                let results = reduced.iter().product();
                let found =
                    guarded(&queue, results, |out| verb(&queue, &x, axis, &mut out.reshape(reduced)?));
                check_along(at, &found, &list, shape, axis);
            }
        }
        assert_eq!(queue.read(&x).wait().unwrap(), list, "the input stays");
    }
}
