//! A01, A09: selections.

use super::few_lengths;
use crate::common::full::large;
use crate::common::{Case, Subject, case};
use fencepost::Shape;
use fencepost::algorithms::Reducible;
use fencepost::prelude::*;
use fencepost_oracles as host;

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

/// Initial value of result arrays.
const BEFORE: u32 = 0x5A5A_5A5A;

/// Results of the verbs as words: all elements of the arrays, and the counts.
#[derive(PartialEq, Debug)]
struct Results {
    selected: (Vec<u32>, usize),
    partitioned: (Vec<u32>, usize),
    places: (Vec<u32>, usize),
    heads: (Vec<u32>, usize),
}

/// Arrays of results.
struct Outputs<T: Reducible> {
    lists: [DeviceArray<T>; 3],
    places: DeviceArray<u32>,
    counts: [DeviceArray<u32>; 4],
}

impl<T: Reducible> Outputs<T> {
    fn new(queue: &CommandQueue, len: usize) -> Self {
        let words = || queue.full([len], BEFORE).unwrap();
        let counts = [(); 4].map(|()| queue.full([1], BEFORE).unwrap());
        let lists = [(); 3].map(|()| queue.array(bytemuck::cast_slice(&vec![BEFORE; len])).unwrap());
        Self { lists, places: words(), counts }
    }

    /// Enqueues each verb.
    fn enqueue(
        &mut self,
        queue: &CommandQueue,
        x: &DeviceArray<T>,
        mask: &DeviceArray<u32>,
    ) -> fencepost::Result<()> {
        let [selected, partitioned, heads] = &mut self.lists;
        let [count, first, places, runs] = &mut self.counts;
        queue.select(x, mask, selected, count)?;
        queue.partition(x, mask, partitioned, first)?;
        queue.nonzero(x, &mut self.places, places)?;
        queue.unique(x, heads, runs)
    }

    fn read(&self, queue: &CommandQueue) -> Results {
        let words = |list: &DeviceArray<T>| queue.read(&list.cast_bits::<u32>()).wait().unwrap();
        let count = |at: usize| queue.read(&self.counts[at]).wait().unwrap()[0] as usize;
        Results {
            selected: (words(&self.lists[0]), count(0)),
            partitioned: (words(&self.lists[1]), count(1)),
            places: (queue.read(&self.places).wait().unwrap(), count(2)),
            heads: (words(&self.lists[2]), count(3)),
        }
    }
}

/// Returns the results of the host. The elements after the kept ones are unchanged.
fn expected<T: Reducible>(list: &[T], mask: &[u32]) -> Results {
    let padded = |mut words: Vec<u32>| {
        let count = words.len();
        words.resize(list.len(), BEFORE);
        (words, count)
    };
    let words = |list: &[T]| bytemuck::cast_slice(list).to_vec();
    let (partitioned, first) = host::partition(list, mask);
    Results {
        selected: padded(words(&host::select(list, mask))),
        partitioned: (words(&partitioned), first),
        places: padded(host::nonzero(list).into_iter().map(|place| place as u32).collect()),
        heads: padded(words(&host::unique(list))),
    }
}

/// Returns the results of a queue.
fn found<T: Reducible>(queue: &CommandQueue, list: &[T], mask: &[u32]) -> Results {
    let mut outputs = Outputs::new(queue, list.len());
    let x = queue.array(list).unwrap();
    let mask = queue.array(mask).unwrap();
    outputs.enqueue(queue, &x, &mask).unwrap();
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
        let expected_words = expected(&words, &mask);
        let x = queue.array(&words).unwrap().cast_bits::<f32>();
        let mut outputs = Outputs::new(&queue, len);
        outputs.enqueue(&queue, &x, &queue.array(&mask).unwrap()).unwrap();
        let found = outputs.read(&queue);
        assert!(found.selected == expected_words.selected, "{len} selected");
        assert!(found.partitioned == expected_words.partitioned, "{len} partitioned");
        assert!(found.heads == expected_words.heads, "{len} without neighbours of the same bits");
        // -0 counts as zero.
        let magnitudes: Vec<u32> = words.iter().map(|word| word << 1).collect();
        assert!(found.places == expected(&magnitudes, &mask).places, "{len} that are not zero");
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
        let shape = |error: fencepost::Error| {
            assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{error}");
        };
        shape(queue.select(&x, &queue.zeros([len + 1]).unwrap(), &mut out, &mut count).unwrap_err());
        shape(queue.partition(&x, &mask, &mut queue.zeros([len - 1]).unwrap(), &mut count).unwrap_err());
        shape(queue.nonzero(&x, &mut queue.zeros([len + 1]).unwrap(), &mut count).unwrap_err());
        shape(queue.unique(&x, &mut out, &mut queue.zeros([2]).unwrap()).unwrap_err());
        let aliased = |error: fencepost::Error| {
            assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "{error}");
        };
        aliased(queue.select(&x, &mask, &mut x.clone(), &mut count).unwrap_err());
        aliased(queue.partition(&x, &mask, &mut mask.clone(), &mut count).unwrap_err());
        aliased(queue.unique(&x, &mut out.clone(), &mut out.slice(0..1).unwrap()).unwrap_err());
        aliased(queue.nonzero(&x, &mut out, &mut x.slice(0..1).unwrap()).unwrap_err());
        let foreign = other.zeros::<u32, 1>([len]).unwrap();
        let error = queue.select(&foreign, &mask, &mut out, &mut count).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{error}");
        assert_eq!(queue.read(&out).wait().unwrap(), vec![7; len]);
        assert_eq!(queue.read(&count).wait().unwrap(), [7]);
        assert_eq!(queue.read(&x).wait().unwrap(), vec![1; len]);
        assert_eq!(queue.read(&mask).wait().unwrap(), vec![1; len]);
    }
    let padded = queue.zeros::<u32, 2>(Shape::padded([4, 5], [4, 8])).unwrap();
    let mut out = queue.zeros([20]).unwrap();
    let mut count = queue.zeros([1]).unwrap();
    let error = queue.unique(&padded, &mut out, &mut count).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Padding { .. }), "{error}");
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [700, 16_400] {
        let mut x = queue.zeros::<u32, 1>([len]).unwrap();
        let mut mask = queue.zeros([len]).unwrap();
        let mut outputs = Outputs::new(&queue, len);
        let (graph, ()) = queue.capture(|c| outputs.enqueue(c, &x, &mask)).unwrap();
        for round in 0..2_u32 {
            // The counts change from replay to replay.
            let list: Vec<u32> = (0..len as u32).map(|i| (i / (5 - round)) % (2 + round)).collect();
            let kept: Vec<u32> = (0..len as u32).map(|i| u32::from(i % (3 + round) == 0)).collect();
            queue.upload(&list, &mut x).unwrap();
            queue.upload(&kept, &mut mask).unwrap();
            for list in &mut outputs.lists {
                queue.fill(list, BEFORE).unwrap();
            }
            queue.fill(&mut outputs.places, BEFORE).unwrap();
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
        let around = |list: &[i32]| [&[9; 64], list, &[9; 64]].concat();
        let all = queue.array(&around(&list)).unwrap();
        let view = all.slice(64..64 + len).unwrap().reshape(shape).unwrap();
        let mask = queue.array(&kept).unwrap().reshape(shape).unwrap();
        let out = queue.full([128 + len], 9_i32).unwrap();
        let counts = queue.full([192], 5_u32).unwrap();
        let mut count = counts.slice(64..65).unwrap();
        queue.partition(&view, &mask, &mut out.slice(64..64 + len).unwrap(), &mut count).unwrap();
        let (expected, first) = host::partition(&list, &kept);
        assert!(queue.read(&out).wait().unwrap() == around(&expected), "{shape:?} partitioned");
        let written = [vec![5; 64], vec![first as u32], vec![5; 127]].concat();
        assert_eq!(queue.read(&counts).wait().unwrap(), written);
        queue.unique(&view, &mut out.slice(64..64 + len).unwrap(), &mut count).unwrap();
        let mut heads = host::unique(&list);
        heads.extend(&expected[heads.len()..]);
        assert!(queue.read(&out).wait().unwrap() == around(&heads), "{shape:?} without equal neighbours");
        assert!(queue.read(&all).wait().unwrap() == around(&list), "the input stays");
    }
}

/// The last element of the output array is the count; both halves before it are results.
fn hazard(s: &Subject) {
    let verbs: [super::Verb; 5] = [
        |queue, x, out| {
            let n = x.len() / 2;
            let x = x.slice(0..n)?;
            let mut kept = out.slice(0..n)?;
            let mut count = out.slice(2 * n..2 * n + 1)?;
            queue.select(&x, &x, &mut kept, &mut count)
        },
        |queue, x, out| {
            let n = x.len() / 2;
            let x = x.slice(0..n)?;
            let mut kept = out.slice(0..n)?;
            let mut count = out.slice(2 * n..2 * n + 1)?;
            queue.unique(&x, &mut kept, &mut count)
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
    super::enqueue_nothing_with_a_hazard(s, 40_961, &verbs);
    super::enqueue_nothing_with_a_hazard(s, 129, &verbs);
}
