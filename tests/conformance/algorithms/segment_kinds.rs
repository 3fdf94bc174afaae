//! A01, A11: means, norms, comparisons with zero and places in segments.

use super::segments::{MEANS, offsets};
use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_verb_of_segments_enqueues_nothing", refused),
        case("a01_verbs_of_segments_in_a_graph_equal_those_of_a_queue", in_a_graph),
        case("a11_comparisons_with_zero_and_places_in_segments_are_exact", exact),
        case("a11_places_and_comparisons_in_segments_know_nans_and_zeros_of_both_signs", special),
        case("a11_means_and_norms_of_segments_are_within_their_bounds", bounds),
        case("a11_empty_segments_have_the_results_of_no_elements", empty),
        case("a11_wrong_offsets_of_searches_write_no_element_outside_of_the_results", wrong_offsets),
    ]
}

type ToWords<T> = fn(&CommandQueue, &DeviceArray<T>, &DeviceArray<u32>, &mut DeviceArray<u32>) -> Result<()>;
type ToNumbers = fn(&CommandQueue, &DeviceArray<f32>, &DeviceArray<u32>, &mut DeviceArray<f32>) -> Result<()>;
/// A verb with exact results, and its host function.
type Exact<T> = (ToWords<T>, fn(&[T], &[u32]) -> Vec<u32>);

/// Lists the verbs with exact results.
fn exact_verbs<T: Reducible>() -> [Exact<T>; 7] {
    [
        (|q, x, offsets, out| q.count_nonzero(x.segments(offsets), out), host::count_nonzero_segments),
        (|q, x, offsets, out| q.any(x.segments(offsets), out), host::any_segments),
        (|q, x, offsets, out| q.all(x.segments(offsets), out), host::all_segments),
        (|q, x, offsets, out| q.argmin(x.segments(offsets), out), host::argmin_segments),
        (|q, x, offsets, out| q.argmax(x.segments(offsets), out), host::argmax_segments),
        (
            |q, x, offsets, out| q.argmin(x.segments(offsets).skip_nan(), out),
            |x, offsets| host::argmin_segments_with(x, offsets, Nan::Ignore),
        ),
        (
            |q, x, offsets, out| q.argmax(x.segments(offsets).skip_nan(), out),
            |x, offsets| host::argmax_segments_with(x, offsets, Nan::Ignore),
        ),
    ]
}

const MEAN: ToNumbers = |q, x, offsets, out| q.mean(x.segments(offsets), out);
const NORM: ToNumbers = |q, x, offsets, out| q.norm(x.segments(offsets), out);

/// Compares the results of some of the verbs with the host's.
fn check<T: Reducible>(queue: &CommandQueue, list: &[T], offsets: &[u32], verbs: &[usize]) {
    let x = queue.array(list).unwrap();
    let places = queue.array(offsets).unwrap();
    for &at in verbs {
        let (verb, of_host) = exact_verbs::<T>()[at];
        let found = guarded(queue, offsets.len() - 1, |out| verb(queue, &x, &places, out));
        assert!(found == of_host(list, offsets), "verb {at} of {} elements", list.len());
    }
}

fn exact(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(601);
    for (at, len) in few_lengths().into_iter().enumerate() {
        for &mean in some(&MEANS, at) {
            let offsets = offsets(&mut rng, len, mean);
            // Few distinct values, so that several elements are equal and some are zero; then extreme values.
            let mut words: Vec<u32> = (0..len).map(|_| [0, 1, 2, 0x8000_0000][rng.usize(..4)]).collect();
            words[rng.usize(..len)] = 0x7FFF_FFFF;
            let all = [0, 1, 2, 3, 4];
            let verbs = if large() { &all[..] } else { &all[..3 + at % 3] };
            match at % 3 {
                0 => check::<u32>(&queue, &words, &offsets, verbs),
                1 => check::<i32>(&queue, bytemuck::cast_slice(&words), &offsets, verbs),
                _ => check::<f32>(&queue, bytemuck::cast_slice(&words), &offsets, verbs),
            }
            check::<u32>(&queue, &words, &offsets, &[3 + at % 2]);
        }
    }
    // Only few elements are zero, or only few are not.
    for (most, one) in [(0_u32, 5_u32), (5, 0)] {
        let mut words = vec![most; 20_481];
        words[9000] = one;
        check::<u32>(&queue, &words, &[0, 7, 20_481, 20_481], &[0, 1, 2, 3, 4]);
    }
}

fn special(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(602);
    let words = [0, 0x8000_0000, 0, 0x8000_0000, 1, 0x8000_0001, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000];
    for (len, mean) in [(300, 5), (17_000, 40), (17_000, 6000)] {
        let offsets = offsets(&mut rng, len, mean);
        for most in [2, 8, 9] {
            let list: Vec<u32> = (0..len).map(|_| words[rng.usize(..most)]).collect();
            let verbs = if large() || len < 1000 { &[0, 1, 2, 3, 4, 5, 6][..] } else { &[2, 3, 4, 5] };
            check::<f32>(&queue, bytemuck::cast_slice(&list), &offsets, verbs);
            // As integers, the bits of -0 are not zero, and those of a NaN are ordinary.
            check::<i32>(&queue, bytemuck::cast_slice(&list), &offsets, &[0, 3]);
        }
    }
    let list = [1.0, f32::NAN, -0.0, 0.0, f32::NAN, -f32::NAN];
    let x = queue.array(&list).unwrap();
    let offsets = queue.array(&[0_u32, 2, 4, 6]).unwrap();
    let words = |verb: ToWords<f32>| guarded(&queue, 3, |out| verb(&queue, &x, &offsets, out));
    assert_eq!(words(|q, x, offsets, out| q.argmin(x.segments(offsets), out)), [1, 0, 0]);
    let ignoring: ToWords<f32> = |q, x, offsets, out| q.argmin(x.segments(offsets).skip_nan(), out);
    assert_eq!(words(ignoring), [0, 0, 0]);
    assert_eq!(words(|q, x, offsets, out| q.count_nonzero(x.segments(offsets), out)), [2, 0, 2]);
    let means = guarded(&queue, 3, |out| MEAN(&queue, &x, &offsets, out));
    assert!(means[0].is_nan() && means[1] == 0.0 && means[2].is_nan(), "{means:?}");
}

fn bounds(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(603);
    let u = 2_f64.powi(-24);
    let all = [(1, 1), (257, 20), (20_481, 3000), (16_384, 3), (16_385, 50), (34_567, usize::MAX)];
    for &(len, mean) in if large() { &all[..] } else { &all[..3] } {
        let offsets = offsets(&mut rng, len, mean);
        let list: Vec<f32> = (0..len).map(|_| (rng.f32() - 0.5) * [1.0, 1e6][rng.usize(..2)]).collect();
        let x = queue.array(&list).unwrap();
        let places = queue.array(&offsets).unwrap();
        let results =
            |verb: ToNumbers| guarded(&queue, offsets.len() - 1, |out| verb(&queue, &x, &places, out));
        let steps = len as f64 / 2_f64.powi(15);
        for ((ends, mean), norm) in offsets.windows(2).zip(results(MEAN)).zip(results(NORM)) {
            let segment = list[ends[0] as usize..ends[1] as usize].iter().map(|&x| f64::from(x));
            let mean = f64::from(mean);
            let norm = f64::from(norm);
            let elements = segment.len() as f64;
            let sum: f64 = segment.clone().sum();
            let sizes: f64 = segment.clone().map(f64::abs).sum();
            if elements == 0.0 {
                assert!(mean.is_nan() && norm == 0.0, "{ends:?} of {len}: {mean}, {norm}");
                continue;
            }
            let bound = (140.0 + steps) * u * sizes / elements + 5.0 * u * mean.abs();
            let error = (mean - sum / elements).abs();
            assert!(error <= bound, "{ends:?} of {len}: an error of {error}, more than {bound}");
            let exact = segment.map(|x| x * x).sum::<f64>().sqrt();
            let error = (norm - exact).abs();
            assert!(error <= (80.0 + steps / 2.0) * u * exact, "{ends:?} of {len}: {norm}, not {exact}");
        }
    }
    // Results for integers are exact; for -0, infinities and numbers whose squares overflow, they equal the host's.
    let list = [3.0, -4.0, -0.0, f32::INFINITY, 1.0, 3e38, 3e38];
    let offsets = [0, 2, 3, 5, 7];
    let x = queue.array(&list).unwrap();
    let places = queue.array(&offsets).unwrap();
    let means = guarded(&queue, 4, |out| MEAN(&queue, &x, &places, out));
    assert_eq!(means, host::mean_segments(&list, &offsets));
    let norms = guarded(&queue, 4, |out| NORM(&queue, &x, &places, out));
    assert_eq!(norms, host::norm_segments(&list, &offsets));
}

fn empty(s: &Subject) {
    let queue = s.ctx().queue("q");
    let none = queue.empty::<f32, 1>([0]).unwrap();
    for (list, offsets) in
        [(&[][..], &[0_u32, 0, 0][..]), (&[4.0, 2.0, 5.0], &[3, 3, 3]), (&[4.0], &[1, 9, 9])]
    {
        let x = if list.is_empty() { none.clone() } else { queue.array(list).unwrap() };
        let places = queue.array(offsets).unwrap();
        let words = |at: usize| {
            let (verb, of_host) = exact_verbs::<f32>()[at];
            assert_eq!(of_host(list, offsets), vec![[0, 0, 1, u32::MAX, u32::MAX][at]; 2], "verb {at}");
            guarded(&queue, 2, |out| verb(&queue, &x, &places, out))
        };
        assert_eq!([0, 1, 2, 3, 4].map(words), [0, 0, 1, u32::MAX, u32::MAX].map(|word| vec![word; 2]));
        let means = guarded(&queue, 2, |out| MEAN(&queue, &x, &places, out));
        assert!(means.iter().all(|mean| mean.is_nan()), "{means:?}");
        assert_eq!(guarded(&queue, 2, |out| NORM(&queue, &x, &places, out)), [0.0; 2]);
    }
    let x = queue.array(&[4.0_f32, 2.0]).unwrap();
    let offsets = queue.array(&[1_u32]).unwrap();
    assert_eq!(guarded(&queue, 0, |out| MEAN(&queue, &x, &offsets, out)), [0.0; 0]);
}

fn wrong_offsets(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [300, 16_400] {
        let words: Vec<u32> = (0..len as u32).map(|i| i * 7 % 1000).collect();
        // An offset past the last element counts as the end.
        check::<u32>(&queue, &words, &[5, 100, len as u32 + 1, u32::MAX, u32::MAX], &[0, 3]);
        // The results of decreasing offsets are not specified, and `guarded` checks the elements around them.
        let x = queue.array(&words).unwrap();
        for decreasing in [[u32::MAX, 200, 100, 0], [200, 100, u32::MAX, 7], [0, 250, 100, 299]] {
            let places = queue.array(&decreasing).unwrap();
            for (verb, _) in exact_verbs::<u32>() {
                guarded(&queue, 3, |out| verb(&queue, &x, &places, out));
            }
            guarded(&queue, 3, |out| MEAN(&queue, &x.cast_bits(), &places, out));
        }
        assert_eq!(queue.read(&x).wait().unwrap(), words, "the input stays");
    }
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    for len in [100, 20_000] {
        let x = queue.full([len], 1.0_f32).unwrap();
        let offsets = queue.array(&[0_u32, 50, 100]).unwrap();
        let mut out = queue.full([2], 7_u32).unwrap();
        for (verb, _) in exact_verbs::<f32>() {
            let error = verb(&queue, &x, &offsets, &mut queue.zeros([3]).unwrap()).unwrap_err();
            assert!(error.to_string().contains("`, argument `out`: array"), "{error}");
            for aliased in [x.slice(64..66).unwrap().cast_bits(), offsets.slice(0..2).unwrap()] {
                assert_refused!(verb(&queue, &x, &offsets, &mut aliased.clone()), Aliased);
            }
            assert_refused!(verb(&queue, &other.zeros([len]).unwrap(), &offsets, &mut out), ForeignContext);
        }
        for verb in [MEAN, NORM] {
            assert_refused!(verb(&queue, &x, &offsets, &mut queue.zeros([1]).unwrap()), Shape);
            assert_refused!(verb(&queue, &x, &offsets, &mut x.slice(64..66).unwrap()), Aliased);
        }
        assert_eq!(queue.read(&x).wait().unwrap(), vec![1.0; len]);
        assert_eq!(queue.read(&offsets).wait().unwrap(), [0, 50, 100]);
        assert_eq!(queue.read(&out).wait().unwrap(), [7; 2]);
    }
    // A search without segments is refused like any other.
    let offsets = queue.zeros([1]).unwrap();
    let mut foreign = other.zeros([0]).unwrap();
    let x = queue.full([3], 1_u32).unwrap();
    assert_refused!(queue.argmin(x.segments(&offsets), &mut foreign), ForeignContext);
    check_of_failed(s, |ctx, queue| {
        queue.mean(ctx.full([3], 1.0_f32)?.segments(&ctx.zeros([1])?), &mut ctx.zeros([0])?)
    });
    let padded = queue.zeros::<f32, 2>(Shape::padded([4, 5], [4, 8])).unwrap();
    let offsets = queue.zeros([2]).unwrap();
    let padded = padded.segments(&offsets);
    assert_refused!(queue.argmax(padded, &mut queue.zeros([1]).unwrap()), Padding);
    assert_refused!(queue.any(padded, &mut queue.zeros([1]).unwrap()), Padding);
    assert_refused!(queue.norm(padded, &mut queue.zeros([1]).unwrap()), Padding);
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(604);
    for shape in [[7, 100], [2, 8200]] {
        let len: usize = shape.iter().product();
        let mut x = queue.zeros::<f32, 1>([len]).unwrap();
        let mut places = queue.zeros([101]).unwrap();
        let [mut counts, mut least] = [(); 2].map(|()| queue.zeros::<u32, 1>([100]).unwrap());
        let [mut norms, mut most, mut squares] = [(); 3].map(|()| queue.zeros::<f32, 1>([100]).unwrap());
        let view = x.reshape(shape).unwrap();
        let (graph, ()) = queue
            .capture(|c| {
                c.count_nonzero(view.segments(&places), &mut counts)?;
                c.argmin(view.segments(&places), &mut least)?;
                c.norm(view.segments(&places), &mut norms)?;
                c.reduce(view.segments(&places), Operation::Largest, &mut most)?;
                c.dot(view.segments(&places), &view, &mut squares)
            })
            .unwrap();
        for round in 0..2 {
            let list: Vec<f32> = (0..len).map(|i| (i * 37 % 11) as f32 - round as f32).collect();
            let mut offsets: Vec<u32> = (0..101).map(|_| rng.u32(..=len as u32)).collect();
            offsets.sort_unstable();
            queue.upload(&list, &mut x).unwrap();
            queue.upload(&offsets, &mut places).unwrap();
            queue.replay(&graph).unwrap();
            let found_counts = queue.read(&counts).wait().unwrap();
            assert_eq!(found_counts, host::count_nonzero_segments(&list, &offsets), "{shape:?}, {round}");
            let found_least = queue.read(&least).wait().unwrap();
            assert_eq!(found_least, host::argmin_segments(&list, &offsets), "{shape:?}, {round}");
            let found_most = queue.read(&most).wait().unwrap();
            let expected = host::reduce_segments(&list, &offsets, Operation::Largest);
            assert_eq!(found_most, expected, "{shape:?}, {round}");
            // Sums of whole numbers are exact in any order.
            let found_squares = queue.read(&squares).wait().unwrap();
            assert_eq!(found_squares, host::dot_segments(&list, &list, &offsets), "{shape:?}, {round}");
            let eager = guarded(&queue, 100, |out| NORM(&queue, &x, &places, out));
            assert_eq!(queue.read(&norms).wait().unwrap(), eager, "{shape:?}, {round}");
        }
    }
}
