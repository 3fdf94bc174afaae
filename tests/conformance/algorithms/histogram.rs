//! A01, A12: histograms.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_histogram_enqueues_nothing", refused),
        case("a01_a_histogram_with_a_hazard_enqueues_nothing", hazard),
        case("a01_a_histogram_in_a_graph_equals_that_of_a_queue", in_a_graph),
        case("a12_counts_of_remainders_are_exact", remainders),
        case("a12_counts_between_edges_are_exact", between_edges),
        case("a12_the_last_bin_has_both_its_edges_and_a_nan_has_no_bin", borders),
        case("a12_a_histogram_overwrites_its_counts_alone", guards),
    ]
}

/// Lists numbers of elements around multiples of workgroup sizes and shares. The full suite has more of them.
fn lengths() -> Vec<usize> {
    if large() { super::lengths() } else { vec![1, 255, 256, 257, 4099, 16_385] }
}

/// Compares the counts of a list with the host's.
#[track_caller]
fn count<T: Reducible + Debug>(queue: &CommandQueue, list: &[T], bins: &Bins<'_, T>, number: usize) {
    let x = queue.array(list).unwrap();
    let mut counts = queue.full([number], 7).unwrap();
    queue.histogram(&x, bins.clone(), &mut counts).unwrap();
    let found = queue.read(&counts).wait().unwrap();
    assert!(Some(found) == host::histogram(list, bins.clone(), number), "{} in {number} bins", list.len());
}

fn remainders(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(51);
    for len in [vec![0], lengths()].concat() {
        let list: Vec<u32> = (0..len).map(|_| rng.u32(..)).collect();
        for bins in [1, 7, 256, 257] {
            count(&queue, &list, &Bins::modulo(), bins);
        }
        count(&queue, &vec![u32::MAX; len], &Bins::modulo(), 100);
    }
}

fn between_edges(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(52);
    for (at, len) in lengths().into_iter().enumerate() {
        let words: Vec<u32> = (0..len).map(|_| rng.u32(..)).collect();
        let number = [1, 300, 3, 3000][at % 4];
        let mut edges: Vec<u32> = (0..=number).map(|_| rng.u32(..)).collect();
        edges.sort_unstable();
        count(&queue, &words, &Bins::edges(&edges), number);
        let mut edges: Vec<i32> = edges.iter().map(|&edge| edge as i32).collect();
        edges.sort_unstable();
        count::<i32>(&queue, bytemuck::cast_slice(&words), &Bins::edges(&edges), number);
        let numbers: Vec<f32> = (0..len).map(|_| (rng.f32() - 0.3) * 10.0).collect();
        count(&queue, &numbers, &Bins::even(-2.5..6.1), number);
    }
}

fn borders(s: &Subject) {
    let queue = s.ctx().queue("q");
    let words = [0, 0x8000_0000, 1, 0x8000_0001, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0xFFC0_0000];
    let numbers: Vec<f32> = words.map(f32::from_bits).into_iter().chain([1.0, 2.0, 2.5, -1.0, 3.0]).collect();
    let counts = |bins: Bins<'_, f32>, number: usize| {
        count(&queue, &numbers, &bins, number);
        host::histogram(&numbers, bins, number).unwrap()
    };
    assert_eq!(counts(Bins::even(0.0..2.0), 2), [3, 2], "from 0 to 1, and from 1 to 2");
    assert_eq!(counts(Bins::edges(&[-0.0, 1.0, 1.0, 3.0]), 3), [3, 0, 4], "an empty bin in the middle");
    assert_eq!(counts(Bins::edges(&[1.0, 3.0, 3.0]), 2), [3, 1], "an empty bin at the end");
    let infinite = [f32::NEG_INFINITY, 0.0, f32::INFINITY];
    assert_eq!(counts(Bins::edges(&infinite), 2), [3, 8], "all but NaNs");
    // Numbers on the edges of many bins, and just before them.
    let edges: Vec<f32> = (0..=10).map(|i| (f64::from(i) / 10.0) as f32).collect();
    let before = edges[1..].iter().map(|edge| edge.next_down());
    let x = queue.array(&edges.iter().copied().chain(before).collect::<Vec<_>>()).unwrap();
    let mut found = queue.zeros([10]).unwrap();
    queue.histogram(&x, Bins::even(0.0..1.0), &mut found).unwrap();
    assert_eq!(queue.read(&found).wait().unwrap(), [2, 2, 2, 2, 2, 2, 2, 2, 2, 3]);
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    let x = queue.full([100], 1.0_f32).unwrap();
    let mut counts = queue.full([4], 9_u32).unwrap();
    let mut value = |bins: Bins<'_, f32>| {
        let error = assert_refused!(queue.histogram(&x, bins, &mut counts), Value);
        error.to_string()
    };
    value(Bins::even(1.0..1.0));
    value(Bins::even(f32::NAN..1.0));
    value(Bins::even(0.0..f32::INFINITY));
    assert!(value(Bins::edges(&[0.0, 1.0, 0.5, 2.0, 3.0])).contains("1.0 before 0.5"));
    value(Bins::edges(&[0.0, 1.0, 1.5, 2.0, f32::NAN]));
    assert_refused!(queue.histogram(&x, Bins::edges(&[0.0, 1.0]), &mut counts), Shape);
    assert_refused!(queue.histogram(&x, Bins::edges(&[]), &mut queue.zeros([0]).unwrap()), Shape);
    let one_edge = queue.histogram(&x, Bins::edges(&[5.0]), &mut queue.zeros([1]).unwrap()).unwrap_err();
    assert!(
        one_edge.to_string().starts_with("verb `histogram`: the list of edges has shape [1], [2] is needed"),
        "{one_edge}"
    );
    // In a page, an eighth of the address space may fit in memory.
    let least = if usize::BITS > 32 { usize::MAX / 8 } else { usize::MAX / 4 };
    let many = [usize::MAX, usize::MAX - 1, least];
    assert!(many.iter().all(|&count| host::histogram(&[1_u32], Bins::modulo(), count).is_none()));
    assert!(many.iter().all(|&count| host::histogram(&[1_u32], Bins::edges(&[1, 2]), count).is_none()));
    assert!(many.iter().all(|&count| host::histogram(&[1.0_f32], Bins::even(0.0..1.0), count).is_none()));
    let words = x.cast_bits::<u32>();
    assert_refused!(queue.histogram(&words, Bins::modulo(), &mut queue.zeros([0]).unwrap()), Shape);
    assert_refused!(queue.histogram(&words, Bins::modulo(), &mut words.clone()), Aliased);
    assert_refused!(queue.histogram(&words, Bins::modulo(), &mut other.zeros([3]).unwrap()), ForeignContext);
    let padded = queue.zeros::<u32, 2>(Shape::padded([4, 5], [4, 8])).unwrap();
    assert_refused!(queue.histogram(&padded, Bins::modulo(), &mut counts), Padding);
    assert_eq!(queue.read(&counts).wait().unwrap(), [9; 4]);
    assert_eq!(queue.read(&x).wait().unwrap(), vec![1.0; 100]);
}

fn hazard(s: &Subject) {
    enqueue_nothing_with_a_hazard(s, 100, &[|queue, x, out| queue.histogram(x, Bins::modulo(), out)]);
}

/// Enqueues a histogram of remainders and a histogram between edges.
fn enqueue(queue: &CommandQueue, x: &DeviceArray<i32, 2>, out: &DeviceArray<u32>) -> Result<()> {
    queue.histogram(&x.cast_bits::<u32>(), Bins::modulo(), &mut out.slice(0..10)?)?;
    queue.histogram(x, Bins::edges(&[-1_000_000_000, 0, 5, 1_000_000_000]), &mut out.slice(64..67)?)
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for shape in [[7, 100], [3, 5600]] {
        let lists = (0..2).map(|round| scrambled(shape[0] * shape[1], round));
        check_replays(&queue, queue.zeros(shape).unwrap(), 128, enqueue, lists, |list, found| {
            let words: &[u32] = bytemuck::cast_slice(list);
            assert_eq!(found[..10], host::histogram(words, Bins::modulo(), 10).unwrap());
        });
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    let list: Vec<u32> = (0..16_500_u32).map(|i| i.wrapping_mul(i)).collect();
    let all = queue.array(&around(&list, 1)).unwrap();
    for bins in [100, 3000] {
        let counts = guarded(&queue, bins, |out| {
            queue.histogram(&inside(&all), Bins::modulo(), out)?;
            queue.histogram(&inside(&all), Bins::modulo(), out)
        });
        assert!(Some(counts) == host::histogram(&list, Bins::modulo(), bins), "{bins} bins");
        assert!(queue.read(&all).wait().unwrap() == around(&list, 1), "the input stays");
    }
}
