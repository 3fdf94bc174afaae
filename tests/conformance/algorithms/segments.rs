//! A01, A11: reductions of segments.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_reduction_of_segments_enqueues_nothing", refused),
        case("a11_segments_of_integers_are_exact", integers),
        case("a11_segments_of_floats_are_within_their_bounds", floats),
        case("a11_empty_segments_and_segments_of_no_elements_have_the_neutral_element", empty),
        case("a11_wrong_offsets_write_no_element_outside_of_the_results", wrong_offsets),
    ]
}

/// Mean lengths of segments.
pub(super) const MEANS: [usize; 5] = [1, 4, 60, 6000, usize::MAX];
const ALL: [Operation; 4] = [Operation::Sum, Operation::Product, Operation::Smallest, Operation::Largest];

/// Returns the results of a queue, and checks that the elements around them are unchanged.
fn found<T: Reducible + Debug>(
    queue: &CommandQueue,
    x: &DeviceArray<T>,
    offsets: &[u32],
    operation: Operation,
) -> Vec<T> {
    let places = queue.array(offsets).unwrap();
    guarded(queue, offsets.len().saturating_sub(1), |out| queue.reduce(x.segments(&places), operation, out))
}

/// Returns offsets of segments with a mean length. Some segments are empty, and some elements belong to none.
pub(super) fn offsets(rng: &mut fastrand::Rng, len: usize, mean: usize) -> Vec<u32> {
    let mut offsets = vec![rng.usize(..2.min(len + 1)) as u32];
    while let Some(&last) = offsets.last()
        && (last as usize) < len
        && offsets.len() <= len
    {
        let length = if rng.u8(..4) == 0 { 0 } else { rng.usize(1..=mean.saturating_mul(2).min(len)) };
        offsets.push((last as usize + length).min(len) as u32);
    }
    offsets.push(offsets[offsets.len() - 1]);
    offsets
}

fn integers(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(71);
    for (at, len) in few_lengths().into_iter().enumerate() {
        for &mean in some(&MEANS, at) {
            let offsets = offsets(&mut rng, len, mean);
            // With odd factors, the product does not become 0.
            let words: Vec<u32> = (0..len).map(|_| rng.u32(..) | 1).collect();
            let x = queue.array(&words).unwrap();
            let operation = ALL[at % 4];
            if at % 2 == 0 {
                let expected = host::reduce_segments(&words, &offsets, operation);
                assert!(found(&queue, &x, &offsets, operation) == expected, "{operation:?}: {len}, {mean}");
            } else {
                let list: &[i32] = bytemuck::cast_slice(&words);
                let expected = host::reduce_segments(list, &offsets, operation);
                let found = found::<i32>(&queue, &x.cast_bits(), &offsets, operation);
                assert!(found == expected, "{operation:?}: {len}, {mean}");
            }
        }
    }
}

fn floats(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(72);
    let all = [(257, 20), (20_481, 3000), (20_481, 3), (34_567, usize::MAX)];
    for &(len, mean) in if large() { &all[..] } else { &all[..2] } {
        let offsets = offsets(&mut rng, len, mean);
        let mut list: Vec<f32> = (0..len).map(|_| (rng.f32() - 0.5) * [1.0, 1e6][rng.usize(..2)]).collect();
        let sums = found(&queue, &queue.array(&list).unwrap(), &offsets, Operation::Sum);
        let depth = 140.0 + len as f64 / 2_f64.powi(15);
        for (ends, sum) in offsets.windows(2).zip(sums) {
            let segment = list[ends[0] as usize..ends[1] as usize].iter().map(|&x| f64::from(x));
            let (exact, sizes) = segment.fold((0.0, 0.0), |(sum, sizes), x| (sum + x, sizes + x.abs()));
            let error = (f64::from(sum) - exact).abs();
            assert!(error <= depth * 2_f64.powi(-24) * sizes, "{ends:?} of {len}: an error of {error}");
        }
        list[len / 2] = f32::NAN;
        let x = queue.array(&list).unwrap();
        let extremes = [Operation::Smallest, Operation::Largest];
        for operation in if large() || len == 257 { &extremes[..] } else { &extremes[..1] } {
            let expected = host::reduce_segments(&list, &offsets, *operation);
            let found = found(&queue, &x, &offsets, *operation);
            let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            assert!(found.iter().zip(&expected).all(|(a, b)| same(*a, *b)), "{operation:?} of {len}");
        }
    }
}

fn empty(s: &Subject) {
    let queue = s.ctx().queue("q");
    for operation in ALL {
        let none = queue.empty::<f32, 1>([0]).unwrap();
        let three = queue.array(&[4.0_f32, 2.0, 5.0]).unwrap();
        let neutral = host::reduce_segments::<f32>(&[], &[0, 0], operation)[0];
        assert_eq!(found(&queue, &none, &[0, 0, 0], operation), [neutral; 2], "{operation:?}");
        let list = [4.0, 2.0, 5.0];
        for offsets in [&[0, 0, 3, 3][..], &[3, 3, 3], &[1, 1, 2, 2], &[0], &[], &[0, 3]] {
            let expected = host::reduce_segments(&list, offsets, operation);
            assert_eq!(found(&queue, &three, offsets, operation), expected, "{operation:?} of {offsets:?}");
        }
    }
}

fn wrong_offsets(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [300, 16_400] {
        let words: Vec<u32> = (0..len as u32).collect();
        let x = queue.array(&words).unwrap();
        // An offset past the last element counts as the end.
        let after = [5, 100, len as u32 + 1, u32::MAX, u32::MAX];
        let expected = host::reduce_segments(&words, &after, Operation::Sum);
        assert_eq!(found(&queue, &x, &after, Operation::Sum), expected);
        // The results of decreasing offsets are not specified, and `found` checks the elements around them.
        for decreasing in [[u32::MAX, 200, 100, 0], [200, 100, u32::MAX, 7], [0, 250, 100, 299]] {
            found(&queue, &x, &decreasing, Operation::Largest);
        }
        assert_eq!(queue.read(&x).wait().unwrap(), words, "the input stays");
    }
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    let sum = Operation::Sum;
    for len in [100, 20_000] {
        let x = queue.full([len], 1_u32).unwrap();
        let offsets = queue.array(&[0_u32, 50, 100]).unwrap();
        let mut out = queue.full([2], 7_u32).unwrap();
        let mut long = queue.zeros([3]).unwrap().named("long");
        let error = queue.reduce(x.segments(&offsets), sum, &mut long).unwrap_err();
        let said = "verb `reduce`, argument `out`: array `long` has shape [3], [2] is needed: a segment lies \
                    between two `offsets`, so there is one result less than offsets";
        assert_eq!(error.to_string(), said);
        for aliased in [x.slice(64..66).unwrap(), offsets.slice(0..2).unwrap()] {
            assert_refused!(queue.reduce(x.segments(&offsets), sum, &mut aliased.clone()), Aliased);
        }
        let foreign = other.zeros::<u32, 1>([len]).unwrap();
        assert_refused!(queue.reduce(foreign.segments(&offsets), sum, &mut out), ForeignContext);
        assert_eq!(queue.read(&x).wait().unwrap(), vec![1; len]);
        assert_eq!(queue.read(&offsets).wait().unwrap(), [0, 50, 100]);
        assert_eq!(queue.read(&out).wait().unwrap(), [7; 2]);
    }
    // A reduction without segments is refused like any other.
    let offsets = queue.zeros([1]).unwrap();
    let mut foreign = other.zeros([0]).unwrap();
    let x = queue.full([3], 1_u32).unwrap();
    assert_refused!(queue.reduce(x.segments(&offsets), sum, &mut foreign), ForeignContext);
    check_of_failed(s, |ctx, queue| {
        queue.reduce(ctx.full([3], 1_u32)?.segments(&ctx.zeros([1])?), sum, &mut ctx.zeros([0])?)
    });
    let padded = queue.zeros::<u32, 2>(Shape::padded([4, 5], [4, 8])).unwrap();
    let offsets = queue.zeros([2]).unwrap();
    let mut out = queue.zeros([1]).unwrap();
    assert_refused!(queue.reduce(padded.segments(&offsets), sum, &mut out), Padding);
}
