//! A01, A09: selections.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_selection_enqueues_nothing", refused),
        case("a09_selections_of_integers_keep_the_elements_in_their_order", integers),
        case("a09_selections_of_floats_copy_the_bits", floats),
        case("a09_a_selection_from_no_elements_has_the_count_0", none),
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
