//! M08: the statistics and the limits of the pool.

use crate::common::{Calls, Case, ONE_THREAD, Subject, case};
use fencepost::memory::{MemoryLimit, PoolStats};
use fencepost::{Context, Download, ErrorDetail, HostArray, Upload};

pub fn cases() -> Vec<Case> {
    vec![
        case("m08_statistics_count_arrays_blocks_and_bytes", statistics),
        case("m08_the_high_water_mark_stays_until_it_is_reset", high_water),
        case("m08_pinned_bytes_are_counted_apart", pinned),
        case("m08_staging_memory_is_counted_while_an_upload_waits", staged_upload),
        case("m08_staging_memory_is_counted_until_a_read_is_taken", staged_read),
        case("m08_an_array_over_the_limit_is_an_error_with_all_numbers", over_the_limit),
        case("m08_free_memory_is_released_before_the_limit_is_an_error", free_goes_first),
        case("m08_a_limit_below_the_memory_in_use_ends_no_array", below),
        case("m08_threads_together_stay_within_the_limit", threads).not_in_a_page(ONE_THREAD),
        case("m08_free_memory_above_the_release_threshold_is_released", threshold),
        case("m08_arrays_of_many_sizes_one_at_a_time_leave_a_bounded_pool", many_sizes),
        case("m08_memory_of_held_work_is_released_once_the_work_is_done", threshold_in_use),
        case("m08_a_trim_releases_free_memory_and_nothing_else", trim),
    ]
}

/// Number of elements of an array of one mebibyte, which fills a block exactly.
const N: usize = 1 << 18;
const MIB: u64 = 1 << 20;

fn zeros(ctx: &Context) -> fencepost::DeviceArray<u32> {
    ctx.zeros([N]).unwrap()
}

fn statistics(s: &Subject) {
    let ctx = s.ctx();
    let before = ctx.pool().stats();
    let arrays: Vec<_> = (0..3).map(|_| zeros(&ctx)).collect();
    let slice = arrays[0].slice(0..10).unwrap();
    let now = ctx.pool().stats();
    assert_eq!((now.used - before.used, now.arrays, now.blocks), (3 * MIB, 3, 3));
    drop(arrays);
    let now = ctx.pool().stats();
    assert_eq!((now.used, now.free, now.arrays, now.blocks), (MIB, 2 * MIB, 1, 3));
    drop(slice);
    let now = ctx.pool().stats();
    assert_eq!((now.used, now.free, now.arrays, now.blocks), (0, 3 * MIB, 0, 3));
    let again = zeros(&ctx);
    let now = ctx.pool().stats();
    assert_eq!((now.used, now.free, now.arrays, now.blocks), (MIB, 2 * MIB, 1, 3));
    drop(again);
}

fn high_water(s: &Subject) {
    let ctx = s.ctx();
    let mut seen = 0;
    for count in [1, 4, 2] {
        drop((0..count).map(|_| zeros(&ctx)).collect::<Vec<_>>());
        let PoolStats { used, high_water, .. } = ctx.pool().stats();
        assert!(high_water >= used && high_water >= seen, "the high-water mark never falls");
        seen = high_water;
    }
    assert_eq!(seen, 4 * MIB);
    let _kept = zeros(&ctx);
    ctx.pool().reset_high_water();
    assert_eq!(ctx.pool().stats().high_water, MIB);
    drop([zeros(&ctx), zeros(&ctx)]);
    assert_eq!(ctx.pool().stats().high_water, 3 * MIB);
}

fn pinned(s: &Subject) {
    let ctx = s.ctx();
    let up: HostArray<u32, Upload> = ctx.pinned([N]).unwrap();
    let down: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
    let PoolStats { used, pinned, arrays, .. } = ctx.pool().stats();
    assert_eq!(used, 0);
    // On a context without mapped pinned memory the arrays are ordinary memory, which the pool does not count.
    assert!((pinned, arrays) == (2 * MIB, 2) || (pinned, arrays) == (0, 0));
    drop((up, down));
    let now = ctx.pool().stats();
    assert_eq!((now.pinned, now.free), (0, pinned));
}

/// Size of an array that is too large to share a block of staging memory.
const LARGE: u64 = 8 * MIB;

/// Waits until no memory is staged, and returns the statistics. A batch releases its memory shortly after the caller
/// learns of its end. Some drivers return memory only when polled after that, which a thread of the context does.
fn nothing_staged(ctx: &Context) -> PoolStats {
    while ctx.pool().stats().staging > 0 {
        crate::common::thread::yield_now();
    }
    ctx.pool().stats()
}

fn staged_upload(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let arrays: Vec<_> = (0..2).map(|_| ctx.zeros::<u32, 1>([8 * N]).unwrap()).collect();
    queue.finish().wait().unwrap();
    let before = nothing_staged(&ctx);
    let gate = queue.hold();
    for (at, array) in arrays.iter().enumerate() {
        queue.fill(&mut array.clone(), 1).unwrap();
        queue.upload(&vec![2; 8 * N], &mut array.clone()).unwrap();
        let now = ctx.pool().stats();
        assert!(now.staging >= (at as u64 + 1) * LARGE, "{now:?}");
        assert_eq!((now.used, now.high_water, now.blocks), (before.used, before.high_water, before.blocks));
        assert_eq!(now.total(), now.used + now.free + now.pinned + now.staging + now.staging_free);
    }
    gate.signal();
    queue.finish().wait().unwrap();
    let after = nothing_staged(&ctx);
    assert_eq!(after.used, before.used);
    let given = ctx.pool().trim();
    assert_eq!(given, after.staging_free);
    assert!(!s.place().has_wgpu() || given >= LARGE, "{given}");
    assert_eq!(ctx.pool().stats().staging_free, 0);
    queue.upload(&vec![3; 8 * N], &mut arrays[0].clone()).unwrap();
    assert_eq!(queue.read(&arrays[0]).wait().unwrap(), [3; 8 * N]);
}

fn staged_read(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut x = ctx.full([8 * N], 3_u32).unwrap();
    let read = queue.read(&x);
    queue.fill(&mut x, 4).unwrap(); // the read needs staging memory, as the fill overwrites its bytes
    queue.finish().wait().unwrap();
    assert!(ctx.pool().stats().staging >= LARGE, "{:?}", ctx.pool().stats());
    assert!(read.wait().unwrap() == [3; 8 * N]);
    nothing_staged(&ctx);
}

fn over_the_limit(s: &Subject) {
    let ctx = s.ctx();
    ctx.pool().set_limit(Some(4 * MIB));
    let queue = ctx.queue("q");
    let arrays: Vec<_> = (0..4_u32).map(|i| queue.full([N], i).unwrap()).collect();
    for error in [ctx.zeros::<u32, 1>([N]).unwrap_err(), queue.array(&vec![0_u32; N]).unwrap_err()] {
        let ErrorDetail::OutOfMemory { object, bytes, limit: Some(MemoryLimit::Pool(limit)) } =
            error.detail()
        else {
            panic!("{error}")
        };
        assert!(object.contains("u32 [262144]"), "{object}");
        assert_eq!((*bytes, limit.used, limit.limit), (MIB, 4 * MIB, 4 * MIB));
    }
    assert!(queue.take_error().is_none(), "nothing was enqueued");
    for (i, array) in arrays.iter().enumerate() {
        assert_eq!(queue.read(array).wait().unwrap(), vec![i as u32; N]);
    }
    drop(arrays);
    assert!(ctx.zeros::<u32, 1>([3 * N]).is_ok());
    ctx.pool().set_limit(None);
    let all: Vec<_> = (0..8).map(|_| zeros(&ctx)).collect();
    drop(all);
}

fn free_goes_first(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    ctx.pool().set_limit(Some(4 * MIB));
    // Arrays of each size are made in turn; free blocks of other sizes are released for them.
    for round in 0..3 {
        for mib in 1..=4 {
            let x = queue.full([mib * N], 7_u32).unwrap();
            assert_eq!(queue.read(&x.slice(0..1).unwrap()).wait().unwrap(), [7], "round {round}");
            queue.finish().wait().unwrap();
            drop(x);
            settle(&ctx);
            let PoolStats { used, free, .. } = ctx.pool().stats();
            assert!(used + free <= 4 * MIB);
        }
    }
}

/// Trims until no memory is free. Memory of completed work is free only after the threads of the context have released
/// the work.
fn settle(ctx: &Context) {
    while ctx.pool().stats().free > 0 {
        ctx.pool().trim();
        crate::common::thread::yield_now();
    }
}

fn below(s: &Subject) {
    let ctx = s.ctx();
    let x = zeros(&ctx);
    let y = zeros(&ctx);
    ctx.pool().set_limit(Some(MIB));
    let queue = ctx.queue("q");
    queue.fill(&mut x.clone(), 3).unwrap();
    queue.copy(&x, &mut y.clone()).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [3; N]);
    assert!(ctx.zeros::<u32, 1>([1]).is_err());
}

fn threads(s: &Subject) {
    let ctx = s.ctx();
    ctx.pool().set_limit(Some(8 * MIB));
    let made = crate::common::thread::scope(|scope| {
        let maker = || (0..8).filter_map(|_| ctx.zeros::<u32, 1>([N]).ok()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(maker)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!((made.len(), ctx.pool().stats().used), (8, 8 * MIB));
    assert_eq!(ctx.pool().stats().high_water, 8 * MIB);
}

fn threshold(s: &Subject) {
    let ctx = s.ctx();
    let five = || drop((0..5).map(|_| zeros(&ctx)).collect::<Vec<_>>());
    five();
    assert_eq!(ctx.pool().stats().free, 5 * MIB, "without a threshold all free memory is kept");
    ctx.pool().set_release_threshold(Some(2 * MIB));
    assert_eq!((ctx.pool().stats().free, ctx.pool().stats().blocks), (2 * MIB, 2));
    five();
    assert_eq!((ctx.pool().stats().free, ctx.pool().stats().blocks), (2 * MIB, 2));
    ctx.pool().set_release_threshold(None);
    five();
    assert_eq!(ctx.pool().stats().free, 5 * MIB);
    ctx.pool().set_release_threshold(Some(0));
    assert_eq!((ctx.pool().stats().free, ctx.pool().stats().blocks), (0, 0));
}

fn many_sizes(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    for turn in 0..60 {
        let count = 1 + turn * 7 % 24;
        let x = queue.empty::<u32, 1>([count * N]).unwrap();
        queue.fill(&mut x.slice(0..16).unwrap(), 1).unwrap();
        queue.finish().wait().unwrap();
        drop(x);
        let stats = ctx.pool().stats();
        assert!(stats.free <= 2 * 24 * MIB, "{stats:?} after {count} mebibytes");
    }
    ctx.pool().set_release_threshold(Some(u64::MAX));
    (0..24).for_each(|count| drop(queue.empty::<u32, 1>([(1 + count) * N]).unwrap()));
    assert!(ctx.pool().stats().free > 4 * 24 * MIB, "with the threshold `u64::MAX` all free memory is kept");
}

fn threshold_in_use(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    ctx.pool().set_release_threshold(Some(0));
    let gate = queue.hold();
    let x = queue.full([N], 5_u32).unwrap();
    let y = queue.zeros([N]).unwrap();
    queue.copy(&x, &mut y.clone()).unwrap();
    drop(x);
    assert_eq!(ctx.pool().stats().free, MIB, "the held copy has not read the array yet");
    gate.signal();
    assert_eq!(queue.read(&y).wait().unwrap(), [5; N]);
    queue.finish().wait().unwrap();
    // The batch releases the memory shortly after the caller learns of its end.
    while ctx.pool().stats().free > 0 {
        queue.fill(&mut y.clone(), 1).unwrap();
        queue.finish().wait().unwrap();
    }
    assert_eq!(ctx.pool().stats().blocks, 1);
}

fn trim(s: &Subject) {
    let ctx = s.ctx();
    let kept = ctx.full([N], 1_u32).unwrap();
    drop([zeros(&ctx), zeros(&ctx)]);
    assert_eq!(ctx.pool().trim(), 2 * MIB);
    assert_eq!(ctx.pool().trim(), 0);
    assert_eq!((ctx.pool().stats().free, ctx.pool().stats().blocks), (0, 1));
    assert_eq!(ctx.queue("q").read(&kept).wait().unwrap(), [1; N]);
}
