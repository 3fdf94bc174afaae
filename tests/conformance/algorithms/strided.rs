//! A01, A15: strided copies.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_strided_copy_enqueues_nothing", refused),
        case("a01_a_strided_copy_with_a_hazard_enqueues_nothing", hazard),
        case("a01_a_strided_copy_in_a_graph_equals_that_of_the_host", in_a_graph),
        case("a15_a_strided_copy_moves_the_bits_of_its_places_alone", places),
        case("a15_a_strided_copy_takes_up_to_six_axes", axes),
    ]
}

fn strides<const R: usize>(first: usize, strides: [isize; R]) -> Strides<R> {
    Strides { first, strides }
}

/// Compares a copy between arrays of some lengths with the host's copy, with guards around the result.
#[track_caller]
fn compare<const R: usize>(
    s: &Subject,
    shape: [usize; R],
    [len, out_len]: [usize; 2],
    from: Strides<R>,
    to: Strides<R>,
) {
    let queue = s.ctx().queue("q");
    // Some of the words are bits of NaNs with a payload.
    let list: Vec<u32> = (0..len as u32).map(|i| 0x7F80_0001 ^ i.wrapping_mul(0x1E37_79B9)).collect();
    let mut expected = vec![BEFORE; out_len + 128];
    host::copy_strided(shape, &list, from, &mut expected[64..64 + out_len], to).unwrap();
    let x = queue.array(&list).unwrap();
    let out = queue.full([out_len + 128], BEFORE).unwrap();
    let mut inner = out.slice(64..64 + out_len).unwrap().cast_bits::<f32>();
    queue.copy_strided(shape, &x.cast_bits::<f32>(), from, &mut inner, to).unwrap();
    assert!(queue.read(&out).wait().unwrap() == expected, "{shape:?} from {from:?} to {to:?}");
    assert!(queue.read(&x).wait().unwrap() == list, "the input stays");
}

fn places(s: &Subject) {
    for n in [0, 1, 63, 64, 65, 5000] {
        compare(s, [n], [n + 3, 2 * n + 1], strides(2, [1]), strides(1, [2]));
        compare(s, [n], [n + 1, n], strides(n, [-1]), strides(0, [1]));
        compare(s, [n], [1, n + 1], strides(0, [0]), strides(n, [-1]));
    }
    compare(s, [20, 30], [600, 600], strides(0, [1, 20]), strides(0, [30, 1]));
    compare(s, [20, 30], [30, 700], strides(29, [0, -1]), strides(660, [-33, 1]));
    compare(s, [4, 0], [3, 3], strides(99, [7, 7]), strides(99, [0, 0]));
}

fn axes(s: &Subject) {
    let shape = [2, 3, 1, 2, 3, 2, 2];
    let from = strides(7, [1, 0, -9, 5, 2, 3, 8]);
    let to = strides(143, [-72, -24, 99, -12, -4, -2, -1]);
    compare(s, shape, [40, 144], from, to);
    compare(s, [7], [7, 7], strides(0, [1]), strides(0, [1]));
    compare(s, [], [1, 1], strides(0, []), strides(0, []));
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.full([100], 1_u32).unwrap();
    let mut out = queue.full([10, 10], 7_u32).unwrap();
    let line = |first, stride| strides(first, [stride]);
    let mut value = |shape: [usize; 1], from: Strides<1>, to: Strides<1>| {
        let error = assert_refused!(queue.copy_strided(shape, &x, from, &mut out, to), Value);
        assert_eq!(host::copy_strided(shape, &[1_u32; 100], from, &mut [7; 100], to), None);
        error.to_string()
    };
    assert!(value([10], line(91, 1), line(0, 1)).contains("91..=100 of 100 elements"));
    assert!(value([10], line(8, -1), line(0, 1)).contains("-1..=8 of 100 elements"));
    value([10], line(0, 1), line(0, 12));
    value([10], line(0, 1), line(5, -1));
    assert!(value([10], line(0, 1), line(5, 0)).contains("[0] for the shape [10]"));
    value([1], line(100, 1), line(0, 1));
    value([usize::MAX], line(0, isize::MAX), line(0, 1));
    let overlap = strides(0, [2, 1]);
    assert_refused!(queue.copy_strided([2, 3], &x, overlap, &mut out, overlap), Value);
    let seven = strides(0, [64, 32, 16, 8, 4, 2, 1]);
    let many = queue.zeros::<u32, 1>([128]).unwrap();
    let error =
        queue.copy_strided([2; 7], &many, seven, &mut queue.zeros([128]).unwrap(), seven).unwrap_err();
    assert!(error.to_string().contains("7 in the shape"), "{error}");
    let mut own = x.clone();
    assert_refused!(queue.copy_strided([3], &x, line(0, 1), &mut own, line(50, 1)), Aliased);
    let mut foreign = s.ctx().queue("other").zeros::<u32, 1>([9]).unwrap();
    assert_refused!(queue.copy_strided([3], &x, line(0, 1), &mut foreign, line(0, 1)), ForeignContext);
    assert_eq!(queue.read(&out).wait().unwrap(), [7; 100]);
    assert_eq!(queue.read(&x).wait().unwrap(), [1; 100]);
}

fn hazard(s: &Subject) {
    enqueue_nothing_with_a_hazard(
        s,
        100,
        &[|queue, x, out| queue.copy_strided([9], x, strides(9, [-1]), out, strides(0, [3]))],
    );
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut x = queue.zeros::<u32, 2>([30, 20]).unwrap();
    let mut out = queue.zeros::<u32, 1>([600]).unwrap();
    let from = strides(599, [-1, -30]);
    let to = strides(0, [20, 1]);
    let (graph, ()) = queue.capture(|c| c.copy_strided([30, 20], &x, from, &mut out, to)).unwrap();
    for round in 0..2 {
        let list: Vec<u32> = (0..600).map(|i| i ^ round).collect();
        queue.upload(&list, &mut x).unwrap();
        queue.replay(&graph).unwrap();
        let mut expected = vec![0; 600];
        host::copy_strided([30, 20], &list, from, &mut expected, to).unwrap();
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "round {round}");
    }
}
