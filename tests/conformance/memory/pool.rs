//! M07, M08: dropped arrays, the reuse of their memory, and the statistics of the pool.

use crate::common::partners::every_pair;
use crate::common::{Calls, Case, ONE_THREAD, Subject, case};
use fencepost::{CommandQueue, Context, Download, HostArray, Pending, Policy, Upload, UserEvent};

pub fn cases() -> Vec<Case> {
    vec![
        case("m07_dropping_an_array_neither_waits_nor_frees_under_running_work", never_waits),
        case("m07_memory_is_used_again_in_the_order_of_its_queue", same_queue),
        case("m07_another_queue_uses_memory_again_only_after_its_last_use", another_queue),
        case("m07_a_queue_uses_memory_again_once_all_uses_are_complete", after_complete_uses),
        case("m07_the_context_uses_memory_again_only_after_its_last_use", the_context),
        case("m07_memory_of_an_array_of_the_context_is_used_again_by_any_queue", made_by_the_context),
        case("m07_zeros_never_show_stale_bytes", zeros),
        case("m07_zeros_are_zero_in_memory_that_the_driver_hands_out_again", given_back),
        case("m08_a_free_block_of_another_size_is_not_used", other_size),
        case("m08_a_queue_may_be_dropped_before_its_arrays", queue_goes_first),
        case("m08_memory_freed_by_one_thread_is_used_by_another", other_thread).not_in_a_page(ONE_THREAD),
        case("m08_a_trim_without_free_memory_releases_nothing", nothing_to_trim),
        case("m08_pinned_memory_is_used_again_by_size_and_direction", pinned_again),
        case("m08_memory_goes_back_to_the_context_that_made_it", right_context).not_in_a_page(ONE_THREAD),
    ]
}

const N: usize = 5000;

fn free(ctx: &Context) -> u64 {
    ctx.pool().stats().free
}

/// A queue that waits for an event, and a read of an already dropped array of ones.
struct Held {
    queue: CommandQueue,
    gate: UserEvent,
    read: Pending<Vec<u32>>,
}

impl Held {
    fn new(ctx: &Context) -> Self {
        let queue = ctx.queue("q");
        let gate = queue.hold();
        let first = queue.full([N], 1_u32).unwrap();
        let read = queue.read(&first);
        Self { queue, gate, read }
    }
}

fn never_waits(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut results = Vec::new();
    let gate = queue.hold();
    for round in 0..10_u32 {
        s.spin(&ctx, &queue, 1);
        let x = queue.full([N], round).unwrap();
        let mut y = queue.empty([N]).unwrap();
        queue.copy(&x, &mut y).unwrap();
        drop(x);
        results.push(queue.read(&y));
        drop(y);
    }
    gate.signal();
    for (round, result) in results.into_iter().enumerate() {
        assert_eq!(result.wait().unwrap(), [round as u32; N]);
    }
}

fn same_queue(s: &Subject) {
    let ctx = s.ctx();
    let _other = ctx.queue("other");
    let Held { queue, gate, read } = Held::new(&ctx);
    let kept = free(&ctx);
    assert!(kept >= 4 * N as u64);
    let second = queue.full([N], 2_u32).unwrap();
    assert_eq!(free(&ctx), 0, "the second array has the memory of the first, which is still in use");
    gate.signal();
    assert_eq!(queue.read(&second).wait().unwrap(), [2; N]);
    assert_eq!(read.wait().unwrap(), [1; N]);
    assert!(ctx.pool().stats().high_water >= kept && ctx.pool().stats().used >= kept);
}

fn another_queue(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked, Policy::Unchecked] {
        let ctx = s.ctx_with(policy);
        let other = ctx.queue("other");
        let Held { queue, gate, read } = Held::new(&ctx);
        let kept = free(&ctx);
        let second = other.full([N], 2_u32).unwrap();
        assert_eq!(free(&ctx), kept, "the other queue may run before the read, so it gets other memory");
        assert_eq!(other.read(&second).wait().unwrap(), [2; N]);
        other.wait_for(&queue).unwrap();
        let third = other.full([N], 3_u32).unwrap();
        assert_eq!(free(&ctx), 0, "the other queue comes after the read, so it gets the free memory");
        gate.signal();
        assert_eq!(read.wait().unwrap(), [1; N]);
        assert_eq!(other.read(&third).wait().unwrap(), [3; N], "{policy:?}");
    }
}

fn after_complete_uses(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked, Policy::Unchecked] {
        let (ctx, [maker, reader]) = s.with_queues_under(policy, ["maker", "reader"]);
        for round in 0..40_u32 {
            let x = maker.full([N], round).unwrap();
            maker.finish().wait().unwrap();
            reader.wait_for(&maker).unwrap();
            assert_eq!(reader.read(&x).wait().unwrap(), vec![round; N], "{policy:?}");
        }
        // The maker never waits for the reader. A block is in use until the completed batch has given it back.
        let blocks = ctx.pool().stats().blocks;
        assert!(blocks <= 4, "{blocks} blocks for arrays that exist one after the other, {policy:?}");
    }
}

fn the_context(s: &Subject) {
    let ctx = s.ctx();
    let Held { queue, gate, read } = Held::new(&ctx);
    let second = ctx.full([N], 2_u32).unwrap();
    let other = ctx.queue("other, made after the held work");
    gate.signal();
    assert_eq!(other.read(&second).wait().unwrap(), [2; N]);
    assert_eq!(read.wait().unwrap(), [1; N]);
    queue.finish().wait().unwrap();
}

fn made_by_the_context(s: &Subject) {
    let ctx = s.ctx();
    let queues = [ctx.queue("one"), ctx.queue("two")];
    drop(ctx.full([N], 1_u32).unwrap());
    assert!(free(&ctx) > 0);
    let next = queues[1].full([N], 2_u32).unwrap();
    assert_eq!(free(&ctx), 0, "the context's own commands come before every queue's");
    assert_eq!(queues[1].read(&next).wait().unwrap(), [2; N]);
}

fn zeros(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Unchecked] {
        let ctx = s.ctx_with(policy);
        let queues = [ctx.queue("one"), ctx.queue("two")];
        for round in 0..20_usize {
            let queue = &queues[round % 2];
            let n = N - round % 3;
            drop(queue.full([n], u32::MAX).unwrap());
            let own = queue.zeros::<u32, 1>([n]).unwrap();
            drop(ctx.full([n], u32::MAX).unwrap());
            let shared = ctx.zeros::<u32, 1>([n]).unwrap();
            let pinned = ctx.pinned::<u32, Download, 1>([n]).unwrap();
            assert_eq!(queue.read(&own).wait().unwrap(), vec![0; n], "round {round}");
            assert_eq!(queues[round / 2 % 2].read(&shared).wait().unwrap(), vec![0; n], "round {round}");
            drop(pinned);
        }
    }
}

/// Releases memory to the driver, which may return it again with its old bytes.
fn given_back(s: &Subject) {
    let shared = [true, false];
    for ctx in shared.map(|shared| s.switched(|switches| switches.shared_memory &= shared)) {
        let queue = ctx.queue("q");
        for round in 1..=4_u32 {
            let full: Vec<_> = (0..8).map(|_| queue.full([N], round).unwrap()).collect();
            queue.finish().wait().unwrap();
            drop(full);
            let mut given = ctx.pool().trim();
            while given < 8 * 4 * N as u64 {
                crate::common::thread::yield_now(); // a thread of the context is about to release the batch
                given += ctx.pool().trim();
            }
            let zeros: Vec<_> = (0..8).map(|_| queue.zeros::<u32, 1>([N]).unwrap()).collect();
            for (at, array) in zeros.iter().enumerate() {
                assert_eq!(queue.read(array).wait().unwrap(), [0_u32; N], "round {round}, array {at}");
            }
        }
    }
}

/// Number of words of an array of one MiB.
const WORDS: usize = 1 << 18;
const MIB: u64 = 1 << 20;

/// Follows `alloc_split` and `free_different_size` of CuPy's memory pool.
fn other_size(s: &Subject) {
    let ctx = s.ctx();
    drop(ctx.zeros::<u32, 1>([WORDS]).unwrap());
    let small = ctx.zeros::<u32, 1>([WORDS / 4]).unwrap();
    assert_eq!((ctx.pool().stats().free, ctx.pool().stats().blocks), (MIB, 2));
    // An array of nearly the same size uses the free block.
    let near = ctx.zeros::<u32, 1>([WORDS - 100]).unwrap();
    assert_eq!((ctx.pool().stats().free, ctx.pool().stats().blocks), (0, 2));
    drop((small, near));
}

/// Follows CuPy's `TestMallocAsync`.
fn queue_goes_first(s: &Subject) {
    let ctx = s.ctx();
    let arrays: Vec<_> = (0..4_u32).map(|i| ctx.queue("short-lived").full([WORDS], i).unwrap()).collect();
    let queue = ctx.queue("q");
    for (i, array) in arrays.iter().enumerate() {
        assert_eq!(queue.read(array).wait().unwrap(), vec![i as u32; WORDS]);
    }
    drop(arrays);
    assert_eq!(ctx.pool().stats().free, 4 * MIB);
    let again = queue.full([WORDS], 9_u32).unwrap();
    assert_eq!((ctx.pool().stats().free, ctx.pool().stats().blocks), (3 * MIB, 4));
    assert_eq!(queue.read(&again).wait().unwrap(), vec![9; WORDS]);
}

/// Follows CuPy's `TestMallocAsync`.
fn other_thread(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    for round in 0..5_u32 {
        let array = queue.full([WORDS], round).unwrap();
        let read = queue.read(&array);
        crate::common::thread::scope(|scope| {
            scope.spawn(move || drop(array)).join().unwrap();
            let next = scope.spawn(|| queue.full([WORDS], 77_u32).unwrap()).join().unwrap();
            assert_eq!(ctx.pool().stats().blocks, 1, "the same queue uses the freed block at once");
            assert_eq!(queue.read(&next).wait().unwrap(), [77; WORDS]);
        });
        assert_eq!(read.wait().unwrap(), [round; WORDS]);
    }
}

/// Follows CuPy's `free_all_blocks_without_malloc`.
fn nothing_to_trim(s: &Subject) {
    let ctx = s.ctx();
    assert_eq!(ctx.pool().trim(), 0);
    let empty = ctx.zeros::<u32, 1>([0]).unwrap();
    assert_eq!(ctx.pool().trim(), 0);
    assert!(ctx.queue("q").read(&empty).wait().unwrap().is_empty());
    drop((empty.clone(), empty));
    ctx.pool().trim();
    assert_eq!(ctx.pool().trim(), 0);
}

/// Follows the tests of CuPy's pinned pool.
fn pinned_again(s: &Subject) {
    let ctx = s.ctx();
    let up = |n: usize| ctx.pinned::<u32, Upload, 1>([n]).unwrap();
    let mut first = up(WORDS);
    first.host_mut().unwrap().fill(u32::MAX);
    drop(first);
    let blocks = ctx.pool().stats().blocks;
    let again = up(WORDS);
    assert_eq!(again.host().unwrap().to_vec(), [0; WORDS], "the array has no stale byte");
    assert_eq!(ctx.pool().stats().blocks, blocks);
    let down: HostArray<u32, Download> = ctx.pinned([WORDS]).unwrap();
    let other = up(WORDS / 4);
    let now = ctx.pool().stats().blocks;
    assert_eq!(now, 3 * blocks, "another direction and another size need blocks of their own");
    drop((again, down, other));
    assert_eq!(ctx.pool().stats().pinned, 0);
    ctx.pool().trim();
    assert_eq!(ctx.pool().stats().blocks, 0);
    assert_eq!(up(0).len(), 0);
}

/// Follows cudarc's `test_slice_is_freed_with_correct_context` and `test_post_alloc_memory`.
fn right_context(s: &Subject) {
    every_pair(s, |names, one, two| {
        let x = one.zeros::<u32, 1>([WORDS]).unwrap();
        let y = two.zeros::<u32, 1>([WORDS]).unwrap();
        crate::common::thread::scope(|scope| drop(scope.spawn(move || drop((x, y)))));
        for ctx in [one, two] {
            assert_eq!((ctx.pool().stats().used, ctx.pool().stats().free), (0, MIB), "{names}");
        }
    });
}
