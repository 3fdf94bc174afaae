//! A01, A11: scans of segments.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_scan_of_segments_enqueues_nothing", refused),
        case("a11_scans_of_segments_are_those_of_the_host", values),
        case("a11_scans_of_segments_with_wrong_offsets_write_their_results_alone", wrong_offsets),
    ]
}

/// Returns the results of a queue, and checks that the elements around them are unchanged.
fn found<T: Reducible + Debug>(queue: &CommandQueue, x: &[T], offsets: &[u32], scan: Scan<T>) -> Vec<T> {
    let array = queue.array(x).unwrap();
    let offsets = queue.array(offsets).unwrap();
    guarded(queue, x.len(), |out| queue.scan(array.segments(&offsets), out, scan))
}

/// Returns offsets; some are equal. Some elements may be before the first offset or after the last.
fn offsets(rng: &mut fastrand::Rng, len: usize, count: usize) -> Vec<u32> {
    let mut offsets: Vec<u32> = (0..count).map(|_| rng.u32(..=len as u32)).collect();
    for at in 1..count {
        if rng.u8(..3) == 0 {
            offsets[at] = offsets[at - 1];
        }
    }
    offsets.sort_unstable();
    offsets
}

fn values(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(195);
    for (at, len) in few_lengths().into_iter().enumerate() {
        let list: Vec<u32> = (0..len).map(|_| rng.u32(..) | 1).collect();
        let numbers: Vec<f32> = list.iter().map(|&word| (word >> 8) as f32 - 8e6).collect();
        for count in [[0, len / 3], [1, len + 5], [2, len / 700], [7, len.min(40)]][at % 4] {
            let offsets = offsets(&mut rng, len, count);
            for scan in [Scan::inclusive(Operation::Sum), Scan::exclusive(Operation::Product).from(3)] {
                for scan in [scan, scan.reversed()] {
                    let expected = host::scan_segments(&list, &offsets, scan);
                    assert!(found(&queue, &list, &offsets, scan) == expected, "{scan:?}: {len}, {count}");
                }
            }
            let scan = Scan::exclusive(Operation::Smallest).reversed();
            let expected = host::scan_segments(&numbers, &offsets, scan);
            assert!(found(&queue, &numbers, &offsets, scan) == expected, "{scan:?}: {len}, {count}");
        }
    }
    let scan = Scan::inclusive(Operation::Sum);
    assert!(found::<u32>(&queue, &[], &[0, 0], scan).is_empty());
}

fn wrong_offsets(s: &Subject) {
    let queue = s.ctx().queue("q");
    let scan = Scan::inclusive(Operation::Sum);
    for len in [300, 16_400] {
        let list: Vec<u32> = (0..len).collect();
        // An offset past the last element begins no segment.
        let after = [5, 100, len, len + 1, len + 31, u32::MAX];
        let expected = host::scan_segments(&list, &after, scan);
        assert_eq!(found(&queue, &list, &after, scan), expected);
        // The results of decreasing offsets are not specified, and `found` checks the elements around them.
        for decreasing in [[u32::MAX, 200, 100, 0], [200, 100, u32::MAX, 7], [0, 250, 100, 299]] {
            found(&queue, &list, &decreasing, scan.reversed());
        }
    }
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let other = s.ctx().queue("other");
    let scan = Scan::inclusive(Operation::Sum);
    for len in [100, 20_000] {
        let x = queue.full([len], 1_u32).unwrap();
        let offsets = queue.array(&[0_u32, 50, 100]).unwrap();
        let mut out = queue.full([len], 7_u32).unwrap();
        assert_refused!(queue.scan(x.segments(&offsets), &mut queue.zeros([3]).unwrap(), scan), Shape);
        assert_refused!(queue.scan(x.segments(&offsets), &mut x.clone(), scan), Aliased);
        let error = queue.scan(x.segments(&out.slice(0..3).unwrap()), &mut out, scan).unwrap_err();
        assert!(error.to_string().contains("`offsets`"), "{error}");
        let foreign = other.zeros::<u32, 1>([len]).unwrap();
        assert_refused!(queue.scan(foreign.segments(&offsets), &mut out, scan), ForeignContext);
        assert_eq!(queue.read(&x).wait().unwrap(), vec![1; len]);
        assert_eq!(queue.read(&offsets).wait().unwrap(), [0, 50, 100]);
        assert_eq!(queue.read(&out).wait().unwrap(), vec![7; len]);
    }
    check_of_failed(s, |ctx, queue| {
        queue.scan(ctx.zeros::<u32, 1>([0])?.segments(&ctx.zeros([1])?), &mut ctx.zeros([0])?, scan)
    });
}
