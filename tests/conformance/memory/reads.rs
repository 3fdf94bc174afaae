//! M02: uploads and reads, whole and in part, and the place of a read in its queue.

use crate::common::{Calls, Case, Subject, case};
use fencepost::{CommandQueue, Context, DeviceArray, Download, HostArray, Pending};

pub fn cases() -> Vec<Case> {
    vec![
        case("m02_a_blocking_read_fills_the_callers_slice", into_a_slice),
        case("m02_an_upload_copies_ordinary_memory_at_the_call", uploads_copy),
        case("m02_the_storage_of_a_read_is_used_again", storage),
        case("m02_parts_are_uploaded_and_read_by_slices", parts),
        case("m02_a_read_returns_the_bytes_from_before_any_later_write", before_any_writer),
        case("m02_reads_between_writes_return_their_own_bytes_in_any_order_of_waits", interleaved),
        case("m02_a_read_of_one_half_is_not_changed_by_a_write_to_the_other", halves),
        case("m02_dropping_a_read_changes_nothing", dropped),
        case("m02_a_held_read_returns_the_bytes_of_its_place_in_the_queue", held),
        case("m02_sixteen_bit_arrays_of_odd_length_are_read_whole", odd_lengths),
    ]
}

fn counted(n: u32) -> Vec<u32> {
    (0..n).collect()
}

fn into_a_slice(s: &Subject) {
    let queue = s.ctx().queue("q");
    for n in [1_u32, 3, 64, 1000, 100_000] {
        let x = queue.array(&counted(n)).unwrap();
        let mut out = vec![0; n as usize];
        queue.read_into(&x, &mut out).unwrap();
        assert_eq!(out, counted(n));
    }
}

fn uploads_copy(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut x = queue.zeros([1000]).unwrap();
    let gate = queue.hold();
    queue.fill(&mut x, 1).unwrap();
    let mut host = counted(1000);
    queue.upload(&host, &mut x).unwrap();
    host.fill(77);
    gate.signal();
    assert_eq!(queue.read(&x).wait().unwrap(), counted(1000));
}

fn storage(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut x = queue.zeros([500]).unwrap();
    let mut pinned: HostArray<u32, Download> = ctx.pinned([500]).unwrap();
    let mut slice = vec![0; 500];
    for value in 1..4_u32 {
        queue.fill(&mut x, value).unwrap();
        queue.download(&x, &mut pinned).unwrap();
        let downloaded = queue.marker();
        queue.read_into(&x, &mut slice).unwrap();
        queue.fill(&mut x, 77).unwrap();
        crate::common::block_on(downloaded.done()).unwrap();
        assert_eq!(pinned.try_host().unwrap().to_vec(), [value; 500], "the download is complete");
        assert_eq!(slice, [value; 500]);
    }
    let x = queue.array(&counted(500)).unwrap();
    let mut storage = Vec::with_capacity(4096);
    for _ in 0..3 {
        let place: *const u32 = storage.as_ptr();
        storage = crate::common::block_on(queue.read_into(&x, storage)).unwrap();
        assert_eq!(storage, counted(500));
        assert_eq!(storage.as_ptr(), place, "the storage is used again");
    }
    let longer = queue.array(&counted(10_000)).unwrap();
    assert_eq!(queue.read_into(&longer, storage).wait().unwrap(), counted(10_000));
}

fn parts(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.zeros::<u32, 1>([100]).unwrap();
    queue.upload(&[1, 2, 3], &mut x.slice(10..13).unwrap()).unwrap();
    queue.upload(&[4], &mut x.slice(99..100).unwrap()).unwrap();
    queue.fill(&mut x.slice(0..2).unwrap(), 5).unwrap();
    let mut expected = vec![0; 100];
    expected[..2].fill(5);
    expected[10..13].copy_from_slice(&[1, 2, 3]);
    expected[99] = 4;
    assert_eq!(queue.read(&x).wait().unwrap(), expected);
    for range in [0..1, 9..14, 98..100, 50..50] {
        let part = x.slice(range.clone()).unwrap();
        assert_eq!(queue.read(&part).wait().unwrap(), expected[range]);
    }
    let rows = queue.array(&counted(12)).unwrap().reshape([4, 3]).unwrap();
    assert_eq!(queue.read(&rows.slice(1..3).unwrap()).wait().unwrap(), [3, 4, 5, 6, 7, 8]);
}

/// A command that writes `value` to a whole array.
type Writer = fn(&Context, &CommandQueue, &mut DeviceArray<u32>, u32);
const WRITERS: [(&str, Writer); 4] = [
    ("fill", |_, queue, x, value| queue.fill(x, value).unwrap()),
    ("upload", |_, queue, x, value| queue.upload(&vec![value; x.len()], x).unwrap()),
    ("copy", |ctx, queue, x, value| {
        let source = ctx.full(x.shape(), value).unwrap();
        queue.copy(&source, x).unwrap();
    }),
    ("map", |_, _, x, value| x.map_write().wait().unwrap().fill(value)),
];

/// Tries every order of read, write, flush and wait, on one queue and on two.
fn before_any_writer(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let other = ctx.queue("other");
    let mut x = queue.full([300], 0).unwrap();
    let mut before = 0;
    for (name, write) in WRITERS {
        for order in 0..12 {
            let flush = order % 2 == 1;
            let finish = order / 2 % 3;
            let second = order / 6 == 1;
            let value = before + 1;
            let read = queue.read(&x);
            let writer = if second { &other } else { &queue };
            if finish == 1 {
                queue.finish().wait().unwrap();
            }
            write(&ctx, writer, &mut x, value);
            if flush {
                writer.flush().unwrap();
            }
            if finish == 2 {
                writer.finish().wait().unwrap();
            }
            assert_eq!(read.wait().unwrap(), [before; 300], "{name}, order {order}");
            assert_eq!(queue.read(&x).wait().unwrap(), [value; 300], "{name}, order {order}");
            before = value;
        }
    }
}

fn interleaved(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut x = queue.zeros([256]).unwrap();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut reads: Vec<Option<Pending<Vec<u32>>>> = Vec::new();
        for value in 0..3 {
            queue.fill(&mut x, value).unwrap();
            reads.push(Some(queue.read(&x)));
            if value == order[0] {
                queue.flush().unwrap();
            }
        }
        for at in order {
            let read = reads[at as usize].take().expect("every order takes each read once");
            assert_eq!(read.wait().unwrap(), [at; 256], "{order:?}");
        }
    }
}

fn halves(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.array(&counted(128)).unwrap();
    let mut low = x.slice(0..64).unwrap();
    let high = x.slice(64..128).unwrap();
    let read_low = queue.read(&low);
    let read_high = queue.read(&high);
    let read_all = queue.read(&x);
    queue.fill(&mut low, 1000).unwrap();
    queue.finish().wait().unwrap();
    assert_eq!(read_all.wait().unwrap(), counted(128));
    assert_eq!(read_high.wait().unwrap(), &counted(128)[64..]);
    assert_eq!(read_low.wait().unwrap(), counted(64));
    assert_eq!(queue.read(&low).wait().unwrap(), [1000; 64]);
}

fn dropped(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut x = queue.array(&counted(64)).unwrap();
    drop(queue.read(&x));
    queue.fill(&mut x, 3).unwrap();
    drop(queue.read(&x));
    let gate = queue.hold();
    drop(queue.read(&x));
    queue.fill(&mut x, 4).unwrap();
    let last = queue.read(&x);
    gate.signal();
    assert_eq!(last.wait().unwrap(), [4; 64]);
}

/// Holds back reads until the host has mapped the array, so that they are planned while it is mapped.
fn held(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.array(&counted(64)).unwrap();
    queue.finish().wait().unwrap();
    let gate = queue.hold();
    let first = queue.read(&x);
    let second = queue.read(&x);
    let map = x.map_read().wait().unwrap();
    gate.signal();
    let found = first.wait().unwrap();
    assert_eq!(found, counted(64), "the first read completes while the array is mapped for reading");
    assert_eq!(*map, counted(64));
    drop(map);
    x.map_write().wait().unwrap().fill(9);
    let found = second.wait().unwrap();
    assert_eq!(found, counted(64), "the second read returns the bytes from before the write of the host");
    assert_eq!(queue.read(&x).wait().unwrap(), [9; 64]);
}

fn odd_lengths(s: &Subject) {
    use half::f16;
    let queue = s.ctx().queue("q");
    for n in [1, 3, 5, 33] {
        let host: Vec<f16> = (0..n).map(|i| f16::from_f32(i as f32)).collect();
        let mut x = queue.array(&host).unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), host);
        let y = queue.empty([n]).and_then(|mut y| queue.copy(&x, &mut y).map(|()| y)).unwrap();
        queue.fill(&mut x, f16::ONE).unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), vec![f16::ONE; n]);
        assert_eq!(*y.map_read().wait().unwrap(), host);
    }
}
