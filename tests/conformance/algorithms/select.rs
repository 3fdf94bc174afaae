//! A01, A09: selections.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_selection_enqueues_nothing", refused),
        case("a01_selections_runs_and_segments_with_a_hazard_enqueue_nothing", hazard),
        case("a01_a_selection_in_a_graph_equals_that_of_a_queue", in_a_graph),
        case("a09_selections_of_integers_keep_the_elements_in_their_order", integers),
        case("a09_selections_of_floats_copy_the_bits", floats),
        case("a09_a_selection_from_no_elements_has_the_count_0", none),
        case("a09_a_selection_writes_its_results_alone", guards),
    ]
}

/// Arrays of the selected elements, the partitioned ones and the heads of runs; then the places of the elements that are
/// not zero, and the counts of the verbs in the order of their calls.
type Results<T> = Outputs<T, 3, 5>;
/// Places of the results of `nonzero` among the arrays.
const PLACES: usize = 3;
const NONZERO: usize = 6;

fn results<T: Reducible>(queue: &CommandQueue, len: usize) -> Results<T> {
    Outputs::new(queue, [len; 3], [len, 1, 1, 1, 1])
}

/// Enqueues each verb.
fn enqueue<T: Reducible>(
    outputs: &mut Results<T>,
    queue: &CommandQueue,
    x: &DeviceArray<T>,
    mask: &DeviceArray<u32>,
) -> Result<()> {
    let [selected, partitioned, heads] = &mut outputs.elements;
    let [places, count, first, nonzero, runs] = &mut outputs.words;
    queue.select(x, mask, selected, count)?;
    queue.partition(x, mask, partitioned, first)?;
    queue.nonzero(x, places, nonzero)?;
    queue.unique(x, heads, runs)
}

/// Returns the results of the host. The elements after the kept ones are unchanged.
fn expected<T: Reducible>(list: &[T], mask: &[u32]) -> Vec<Vec<u32>> {
    let len = list.len();
    let selected = host::select(list, mask);
    let (partitioned, first) = host::partition(list, mask);
    let places: Vec<u32> = host::nonzero(list).into_iter().map(|place| place as u32).collect();
    let heads = host::unique(list);
    let counts = [selected.len(), first, places.len(), heads.len()].map(|count| vec![count as u32]);
    let lists =
        [padded(&selected, len), padded(&partitioned, len), padded(&heads, len), padded(&places, len)];
    [lists, counts].concat()
}

/// Returns the results of a queue.
fn found<T: Reducible>(queue: &CommandQueue, list: &[T], mask: &[u32]) -> Vec<Vec<u32>> {
    let mut outputs = results(queue, list.len());
    let x = queue.array(list).unwrap();
    let mask = queue.array(mask).unwrap();
    enqueue(&mut outputs, queue, &x, &mask).unwrap();
    outputs.read(queue)
}

/// Returns a mask that selects random elements, none, all, every other one, or a block in the middle.
fn mask(rng: &mut fastrand::Rng, len: usize, kind: usize) -> Vec<u32> {
    let one = |i: usize| match kind {
        0 => rng.u32(..) & 0x0100_0001,
        1 => 0,
        2 => 0x8000_0000,
        3 => i as u32 % 2,
        _ => u32::from(i >= len / 3 && i < len * 2 / 3),
    };
    (0..len).map(one).collect()
}

fn integers(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(51);
    for (at, len) in few_lengths().into_iter().enumerate() {
        let kinds = if large() || len == 257 { 0..5 } else { at % 5..at % 5 + 1 };
        for kind in kinds {
            let mask = mask(&mut rng, len, kind);
            // Runs of equal elements, some of them zeros, cross the borders of workgroups and shares.
            let run = [1, 3, 700, 5000, usize::MAX][kind];
            let mut element = 0;
            let one = |_| {
                if rng.usize(..run) == 0 {
                    element = [0, 1, 0x8000_0001][rng.usize(..3)];
                }
                element
            };
            let list: Vec<u32> = (0..len).map(one).collect();
            if at % 2 == 0 {
                assert!(found(&queue, &list, &mask) == expected(&list, &mask), "mask {kind} of {len}");
            } else {
                let list: &[i32] = bytemuck::cast_slice(&list);
                assert!(found(&queue, list, &mask) == expected(list, &mask), "mask {kind} of {len}");
            }
        }
    }
}

fn floats(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(52);
    // Zeros, the least number, infinities, and quiet and signalling NaNs of both signs.
    let special = [0, 1 << 31, 1, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0001, 0xFFC1_2345, 0x7F80_0001];
    for len in [300, 17_000] {
        let words: Vec<u32> = (0..len).map(|_| special[rng.usize(..8)]).collect();
        let mask = mask(&mut rng, len, 0);
        let x = queue.array(&words).unwrap().cast_bits::<f32>();
        let mut outputs = results(&queue, len);
        enqueue(&mut outputs, &queue, &x, &queue.array(&mask).unwrap()).unwrap();
        let mut expected_words = expected(&words, &mask);
        // -0 counts as zero.
        let magnitudes: Vec<u32> = words.iter().map(|word| word << 1).collect();
        for (at, list) in expected(&magnitudes, &mask).into_iter().enumerate() {
            if [PLACES, NONZERO].contains(&at) {
                expected_words[at] = list;
            }
        }
        assert!(outputs.read(&queue) == expected_words, "{len} elements");
    }
}

fn none(s: &Subject) {
    let queue = s.ctx().queue("q");
    assert!(found::<u32>(&queue, &[], &[]) == expected::<u32>(&[], &[]));
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    for len in [100, 20_000] {
        let x = queue.full([len], 1_u32).unwrap();
        let mask = queue.full([len], 1_u32).unwrap();
        let mut out = queue.full([len], 7_u32).unwrap();
        let mut count = queue.full([1], 7_u32).unwrap();
        assert_refused!(queue.select(&x, &queue.zeros([len + 1]).unwrap(), &mut out, &mut count), Shape);
        assert_refused!(queue.partition(&x, &mask, &mut queue.zeros([len - 1]).unwrap(), &mut count), Shape);
        assert_refused!(queue.nonzero(&x, &mut queue.zeros([len + 1]).unwrap(), &mut count), Shape);
        assert_refused!(queue.unique(&x, &mut out, &mut queue.zeros([2]).unwrap()), Shape);
        assert_refused!(queue.select(&x, &mask, &mut x.clone(), &mut count), Aliased);
        assert_refused!(queue.partition(&x, &mask, &mut mask.clone(), &mut count), Aliased);
        assert_refused!(queue.unique(&x, &mut out.clone(), &mut out.slice(0..1).unwrap()), Aliased);
        assert_refused!(queue.nonzero(&x, &mut out, &mut x.slice(0..1).unwrap()), Aliased);
        let foreign = other.zeros::<u32, 1>([len]).unwrap();
        assert_refused!(queue.select(&foreign, &mask, &mut out, &mut count), ForeignContext);
        assert_eq!(queue.read(&out).wait().unwrap(), vec![7; len]);
        assert_eq!(queue.read(&count).wait().unwrap(), [7]);
        assert_eq!(queue.read(&x).wait().unwrap(), vec![1; len]);
        assert_eq!(queue.read(&mask).wait().unwrap(), vec![1; len]);
    }
    let padded = queue.zeros::<u32, 2>(Shape::padded([4, 5], [4, 8])).unwrap();
    let mut out = queue.zeros([20]).unwrap();
    let mut count = queue.zeros([1]).unwrap();
    assert_refused!(queue.unique(&padded, &mut out, &mut count), Padding);
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [700, 16_400] {
        let mut x = queue.zeros::<u32, 1>([len]).unwrap();
        let mut mask = queue.zeros([len]).unwrap();
        let mut outputs = results(&queue, len);
        let (graph, ()) = queue.capture(|c| enqueue(&mut outputs, c, &x, &mask)).unwrap();
        for round in 0..2_u32 {
            // The counts change from replay to replay.
            let list: Vec<u32> = (0..len as u32).map(|i| (i / (5 - round)) % (2 + round)).collect();
            let kept: Vec<u32> = (0..len as u32).map(|i| u32::from(i % (3 + round) == 0)).collect();
            queue.upload(&list, &mut x).unwrap();
            queue.upload(&kept, &mut mask).unwrap();
            for list in outputs.elements.iter_mut().chain(&mut outputs.words) {
                queue.fill(list, BEFORE).unwrap();
            }
            queue.replay(&graph).unwrap();
            let replayed = outputs.read(&queue);
            assert!(replayed == expected(&list, &kept), "{len} elements, round {round}");
            let eager = || found(&queue, &list, &kept);
            assert!(len > 700 || replayed == eager(), "{len} elements, round {round}");
        }
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    for shape in [[3, 100], [5, 3277]] {
        let len: usize = shape.iter().product();
        let list: Vec<i32> = (0..len as i32).map(|i| i / 2 - 40).collect();
        let kept: Vec<u32> = (0..len).map(|i| u32::from(i % 3 != 0)).collect();
        let all = queue.array(&around(&list, 9)).unwrap();
        let view = inside(&all).reshape(shape).unwrap();
        let mask = queue.array(&kept).unwrap().reshape(shape).unwrap();
        let out = queue.full([128 + len], 9_i32).unwrap();
        let counts = queue.full([192], 5_u32).unwrap();
        let mut count = counts.slice(64..65).unwrap();
        queue.partition(&view, &mask, &mut inside(&out), &mut count).unwrap();
        let (expected, first) = host::partition(&list, &kept);
        assert!(queue.read(&out).wait().unwrap() == around(&expected, 9), "{shape:?} partitioned");
        let written = [vec![5; 64], vec![first as u32], vec![5; 127]].concat();
        assert_eq!(queue.read(&counts).wait().unwrap(), written);
        queue.unique(&view, &mut inside(&out), &mut count).unwrap();
        let mut heads = host::unique(&list);
        heads.extend(&expected[heads.len()..]);
        assert!(queue.read(&out).wait().unwrap() == around(&heads, 9), "{shape:?} without equal neighbours");
        assert!(queue.read(&all).wait().unwrap() == around(&list, 9), "the input stays");
    }
}

/// The last element of the output array is the count; both halves before it are results.
fn hazard(s: &Subject) {
    let verbs: [Verb; 5] = [
        |queue, x, out| {
            let n = x.len() / 2;
            let x = x.slice(0..n)?;
            queue.select(&x, &x, &mut out.slice(0..n)?, &mut out.slice(2 * n..2 * n + 1)?)
        },
        |queue, x, out| {
            let n = x.len() / 2;
            queue.unique(&x.slice(0..n)?, &mut out.slice(0..n)?, &mut out.slice(2 * n..2 * n + 1)?)
        },
        |queue, x, out| {
            let n = x.len() / 2;
            let mut kept = out.slice(0..n)?;
            let mut lengths = out.slice(n..2 * n)?;
            queue.run_lengths(&x.slice(0..n)?, &mut kept, &mut lengths, &mut out.slice(2 * n..2 * n + 1)?)
        },
        |queue, x, out| queue.scan_by_key(x, x, out, Scan::inclusive(Operation::Sum)),
        |queue, x, out| {
            let n = x.len() - 1;
            queue.reduce(x.slice(0..n)?.segments(x), Operation::Sum, &mut out.slice(0..n)?)
        },
    ];
    enqueue_nothing_with_a_hazard(s, 40_961, &verbs);
    enqueue_nothing_with_a_hazard(s, 129, &verbs);
}
