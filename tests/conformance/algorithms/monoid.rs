//! A01, A19: scans and reductions with an operation from user code that is not commutative.

use super::*;
use fencepost::algorithms::Combinable;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_operation_of_the_program_enqueues_nothing", refused),
        case("a19_scans_by_an_operation_of_the_program_keep_the_order_of_the_elements", scans),
        case("a19_reductions_by_an_operation_of_the_program_keep_the_order_of_the_elements", reductions),
        case("a19_runs_and_segments_by_an_operation_of_the_program_keep_the_order", groups),
        case("a19_an_operation_of_the_program_combines_vectors", vectors),
        case("a19_no_elements_have_the_identity_of_an_operation_of_the_program", none),
    ]
}

/// Composition of two functions `x -> m x + c` modulo 2^16; the first one is applied first. A word has m in its low
/// half and c in its high half.
const COMPOSE: &str = "((a * b) & 0xffffu) |
    (((b & 0xffffu) * (a >> 16u) + (b >> 16u)) << 16u)";
/// The function `x -> x`.
const SAME: u32 = 1;

fn composed(a: u32, b: u32) -> u32 {
    let product = a.wrapping_mul(b) & 0xFFFF;
    product | ((b & 0xFFFF).wrapping_mul(a >> 16).wrapping_add(b >> 16)) << 16
}

fn compose() -> Monoid<'static, u32> {
    Monoid::new(COMPOSE, SAME)
}

/// Returns functions with odd factors, so that products are not 0.
fn functions(rng: &mut fastrand::Rng, len: usize) -> Vec<u32> {
    (0..len).map(|_| rng.u32(..) | 1).collect()
}

/// Returns the scan of a list by a host function, and all elements combined.
fn scanned<T: Copy>(
    list: &[T],
    initial: T,
    exclusive: bool,
    reversed: bool,
    combine: impl Fn(T, T) -> T,
) -> (Vec<T>, T) {
    let mut running = initial;
    let mut next = |&x: &T| {
        let before = running;
        running = combine(running, x);
        if exclusive { before } else { running }
    };
    let mut results: Vec<T> = if reversed {
        list.iter().rev().map(&mut next).collect()
    } else {
        list.iter().map(&mut next).collect()
    };
    if reversed {
        results.reverse();
    }
    (results, running)
}

/// Compares the results of a scan to another array, its total, and a scan in place with the host's.
fn check_scans<T: Combinable + PartialEq + Debug>(
    queue: &CommandQueue,
    list: &[T],
    operation: Monoid<'_, T>,
    [identity, initial]: [T; 2],
    combine: impl Fn(T, T) -> T + Copy,
) {
    let x = queue.array(list).unwrap();
    let mut out = queue.empty([list.len()]).unwrap();
    let mut total = queue.empty([1]).unwrap();
    for (exclusive, reversed) in [(false, false), (true, false), (false, true), (true, true)] {
        let scan =
            if exclusive { Scan::exclusive(operation).from(initial) } else { Scan::inclusive(operation) };
        let scan = if reversed { scan.reversed() } else { scan };
        let (expected, all) =
            scanned(list, if exclusive { initial } else { identity }, exclusive, reversed, combine);
        let text = format!("{} elements, exclusive: {exclusive}, reversed: {reversed}", list.len());
        queue.scan_and_total(&x, &mut out, &mut total, scan).unwrap();
        assert!(queue.read(&out).wait().unwrap() == expected, "{text}");
        assert_eq!(queue.read(&total).wait().unwrap(), [all], "the total of {text}");
        queue.copy(&x, &mut out).unwrap();
        queue.scan_in_place(&mut out, scan).unwrap();
        assert!(queue.read(&out).wait().unwrap() == expected, "{text}, in place");
    }
}

fn scans(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(191);
    for len in few_lengths() {
        let list = functions(&mut rng, len);
        check_scans(&queue, &list, compose(), [SAME, 0x0007_0003], composed);
    }
    for (len, part) in [(300, 100), (20_481, 17_000), (20_481, 0)] {
        let list = functions(&mut rng, len);
        let x = queue.array(&list).unwrap();
        let count = queue.array(&[part as u32]).unwrap();
        for reversed in [false, true] {
            let scan = Scan::inclusive(compose());
            let scan = if reversed { scan.reversed() } else { scan };
            let mut out = queue.full([len], 5).unwrap();
            let mut total = queue.zeros([1]).unwrap();
            queue.scan_and_total(x.first(&count), &mut out, &mut total, scan).unwrap();
            let (mut expected, all) = scanned(&list[..part], SAME, false, reversed, composed);
            expected.resize(len, 5);
            assert!(queue.read(&out).wait().unwrap() == expected, "{part} of {len}, reversed: {reversed}");
            assert_eq!(queue.read(&total).wait().unwrap(), [all], "{part} of {len}, reversed: {reversed}");
        }
    }
}

fn reductions(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(192);
    for len in few_lengths() {
        let list = functions(&mut rng, len);
        let mut out = queue.zeros([1]).unwrap();
        queue.reduce(&queue.array(&list).unwrap(), compose(), &mut out).unwrap();
        assert_eq!(queue.read(&out).wait().unwrap(), [list.iter().copied().fold(SAME, composed)], "{len}");
    }
    let some = [[3, 5, 4], [2, 70, 1], [1, 17_000, 1], [2, 1100, 3], [5, 1, 7]];
    let more = [[3, 20_481, 1], [1, 300_000, 2], [70_000, 65, 1], [1000, 100, 60]];
    for [outer, n, inner] in some.into_iter().chain(more.into_iter().filter(|_| large())) {
        let list = functions(&mut rng, outer * n * inner);
        let x = queue.array(&list).unwrap().reshape([outer, n, inner]).unwrap();
        let all = queue.full([outer * inner + 128], 9).unwrap();
        let mut out = all.slice(64..64 + outer * inner).unwrap().reshape([outer, 1, inner]).unwrap();
        queue.reduce(x.axis(1), compose(), &mut out).unwrap();
        let along = |at: usize| (0..n).map(move |k| (at / inner * n + k) * inner + at % inner);
        let expected = (0..outer * inner).map(|at| along(at).map(|i| list[i]).fold(SAME, composed));
        let expected: Vec<u32> = [9; 64].into_iter().chain(expected).chain([9; 64]).collect();
        assert!(queue.read(&all).wait().unwrap() == expected, "{outer} x {n} x {inner}");
    }
}

fn groups(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(193);
    for len in few_lengths() {
        let list = functions(&mut rng, len);
        let x = queue.array(&list).unwrap();
        let mut keys: Vec<u32> =
            (0..len).map(|_| rng.u32(..1 + len as u32 / [3, 50, 9000][len % 3])).collect();
        keys.sort_unstable();
        let runs: Vec<&[u32]> = {
            let mut rest = &list[..];
            let lengths = keys.chunk_by(|a, b| a == b).map(<[u32]>::len);
            lengths.map(|n| rest.split_off(..n).unwrap()).collect()
        };
        let mut ends = vec![0];
        runs.iter().for_each(|run| ends.push(ends[ends.len() - 1] + run.len() as u32));
        let keys = queue.array(&keys).unwrap();
        let offsets = queue.array(&ends).unwrap();
        let combined: Vec<u32> = runs.iter().map(|run| run.iter().copied().fold(SAME, composed)).collect();

        let mut kept = queue.zeros([len]).unwrap();
        let mut out = queue.zeros([len]).unwrap();
        let mut count = queue.zeros([1]).unwrap();
        queue.reduce_by_key(&keys, &x, compose(), &mut kept, &mut out, &mut count).unwrap();
        assert_eq!(queue.read(&count).wait().unwrap(), [runs.len() as u32], "{len}");
        assert!(queue.read(&out).wait().unwrap()[..runs.len()] == combined, "{len}");
        let mut sums = queue.zeros([runs.len()]).unwrap();
        queue.reduce(x.segments(&offsets), compose(), &mut sums).unwrap();
        assert!(queue.read(&sums).wait().unwrap() == combined, "{len}");

        for (exclusive, reversed) in [(false, false), (true, true)] {
            let scan = if exclusive { Scan::exclusive(compose()) } else { Scan::inclusive(compose()) };
            let scan = if reversed { scan.reversed() } else { scan }.from(0x0003_0005);
            let expected: Vec<u32> = runs
                .iter()
                .flat_map(|run| scanned(run, 0x0003_0005, exclusive, reversed, composed).0)
                .collect();
            queue.scan_by_key(&keys, &x, &mut out, scan).unwrap();
            assert!(queue.read(&out).wait().unwrap() == expected, "{len} by key, reversed: {reversed}");
            queue.scan(x.segments(&offsets), &mut out, scan).unwrap();
            assert!(queue.read(&out).wait().unwrap() == expected, "{len} in segments, reversed: {reversed}");
        }
    }
}

fn vectors(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(194);
    let lens = if large() { vec![1, 300, 4097, 16_384, 20_481, 1 << 17] } else { vec![300, 17_000] };
    for len in lens {
        // The range of a list: the smallest and the largest number, which are exact.
        let pairs: Vec<[f32; 2]> =
            (0..len).map(|_| rng.f32() - 0.5).map(|x| [x * 1e6, x * 1e6 + x.abs()]).collect();
        let extent = Monoid::new("vec2(min(a.x, b.x), max(a.y, b.y))", [f32::INFINITY, f32::NEG_INFINITY]);
        let joined = |a: [f32; 2], b: [f32; 2]| [a[0].min(b[0]), a[1].max(b[1])];
        check_scans(&queue, &pairs, extent, [[f32::INFINITY, f32::NEG_INFINITY], [0.0, 1.0]], joined);
        // Products of matrices modulo 2^32, with odd diagonals.
        let matrices: Vec<[u32; 4]> =
            (0..len).map(|_| [rng.u32(..) | 1, rng.u32(..), rng.u32(..) & !1, rng.u32(..) | 1]).collect();
        let product = "vec4(a.x * b.x + a.y * b.z, a.x * b.y + a.y * b.w,
                            a.z * b.x + a.w * b.z, a.z * b.y + a.w * b.w)";
        let one = [1, 0, 0, 1];
        let times = |a: [u32; 4], b: [u32; 4]| {
            let dot =
                |p: [u32; 2], q: [u32; 2]| p[0].wrapping_mul(q[0]).wrapping_add(p[1].wrapping_mul(q[1]));
            [
                dot([a[0], a[1]], [b[0], b[2]]),
                dot([a[0], a[1]], [b[1], b[3]]),
                dot([a[2], a[3]], [b[0], b[2]]),
                dot([a[2], a[3]], [b[1], b[3]]),
            ]
        };
        check_scans(&queue, &matrices, Monoid::new(product, one), [one, [3, 1, 2, 1]], times);
        let mut all = queue.zeros([1]).unwrap();
        queue.reduce(&queue.array(&matrices).unwrap(), Monoid::new(product, one), &mut all).unwrap();
        assert_eq!(queue.read(&all).wait().unwrap(), [matrices.iter().copied().fold(one, times)], "{len}");
        let columns = matrices.len() / 2;
        let x = queue.array(&matrices[..2 * columns]).unwrap().reshape([2, columns]).unwrap();
        let mut both = queue.zeros([1, columns]).unwrap();
        queue.reduce(x.axis(0), Monoid::new(product, one), &mut both).unwrap();
        let expected: Vec<[u32; 4]> =
            (0..columns).map(|at| times(matrices[at], matrices[columns + at])).collect();
        assert!(queue.read(&both).wait().unwrap() == expected, "{len}");
    }
}

fn none(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.empty::<[i32; 2], 1>([0]).unwrap();
    let mut out = queue.empty([1]).unwrap();
    let sum = Monoid::new("a + b", [0, 7]);
    queue.reduce(&x, sum, &mut out).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [[0, 7]]);
    let mut results = queue.empty([0]).unwrap();
    queue.scan_and_total(&x, &mut results, &mut out, Scan::inclusive(sum).from([3, 4])).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [[3, 4]]);
    let empty = queue.empty::<[i32; 2], 2>([0, 3]).unwrap();
    let mut columns = queue.empty([1, 3]).unwrap();
    queue.reduce(empty.axis(0), sum, &mut columns).unwrap();
    assert_eq!(queue.read(&columns).wait().unwrap(), [[0, 7]; 3]);
    check_of_failed(s, |ctx, queue| {
        queue.reduce(&ctx.zeros::<u32, 1>([0])?, compose(), &mut ctx.zeros([1])?)
    });
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.full([20_000], 1_u32).unwrap();
    let offsets = queue.array(&[0_u32, 9]).unwrap();
    let mut out = queue.full([20_000], 7_u32).unwrap();
    let mut one = queue.full([1], 7_u32).unwrap();
    for (expression, message) in [
        ("", "expression:1:1: the expression is empty: write one of WGSL, such as `a + b`"),
        ("a + c", "expression:1:5: no definition in scope for identifier: `c`"),
        ("a + params.n", "expression:1:5: no definition in scope for identifier: `params`"),
        ("combined(a, b)", "expression:1:1: no definition in scope for identifier: `combined`"),
        ("a +\n  1.5 * b", "expression:2:"),
        (
            "f32(a)",
            "expression:1:1: an element of the array, and the identity of the monoid, is `u32`, and `f32(a)` is `f32`: convert \
             the value to that type\n",
        ),
        ("a; b", "expression:1:2: `;` is not part of an expression"),
        ("subgroupAdd(a)", "expression:1:1: `subgroupAdd` takes values of other elements"),
    ] {
        let operation = Monoid::new(expression, 0);
        let scan = Scan::inclusive(operation);
        let mut keys = (queue.full([20_000], 7_u32).unwrap(), queue.full([20_000], 7_u32).unwrap());
        for error in [
            queue.reduce(&x, operation, &mut one),
            queue.reduce(x.axis(0), operation, &mut one),
            queue.scan(&x, &mut out, scan),
            queue.scan_in_place(&mut out, scan),
            queue.scan_by_key(&x, &x, &mut out, scan),
            queue.scan(x.segments(&offsets), &mut out, scan),
            queue.reduce(x.segments(&offsets), operation, &mut one),
            queue.reduce_by_key(&x, &x, operation, &mut keys.0, &mut keys.1, &mut one),
        ] {
            let error = assert_refused!(error, Kernel);
            assert!(error.to_string().starts_with(message), "{expression}: {error}");
        }
        for array in [&out, &keys.0, &keys.1] {
            assert_eq!(queue.read(array).wait().unwrap(), [7; 20_000], "{expression}");
        }
        assert_eq!(queue.read(&one).wait().unwrap(), [7], "{expression}");
    }
    let error = assert_refused!(queue.reduce(&x, compose(), &mut x.slice(64..65).unwrap()), Aliased);
    assert!(error.to_string().contains("`reduce`"), "{error}");
    // A built-in operation gives the result of the verb of the same name.
    queue.reduce(&x, Operation::Sum, &mut one).unwrap();
    assert_eq!(queue.read(&one).wait().unwrap(), [host::sum(&vec![1_u32; 20_000])]);
}
