//! Covers the requirements of the suites of Warp, CuPy and cudarc for pools, pinned memory and several devices that no
//! test of a rule covers.

use crate::common::partners::every_pair;
use crate::common::{Case, Subject, case};
use fencepost::{Context, Download, HostArray, Upload};

pub fn cases() -> Vec<Case> {
    vec![
        case("m08_cupy_a_free_block_of_another_size_is_not_used", other_size),
        case("m08_cupy_a_queue_may_be_dropped_before_its_arrays", queue_goes_first),
        case("m08_cupy_memory_freed_by_one_thread_is_used_by_another", other_thread),
        case("m08_cupy_a_trim_without_free_memory_releases_nothing", nothing_to_trim),
        case("m08_cupy_pinned_memory_is_used_again_by_size_and_direction", pinned_again),
        case("m03_warp_pageable_and_pinned_transfers_give_the_same_bytes", pageable_and_pinned),
        case("m08_cudarc_memory_goes_back_to_the_context_that_made_it", right_context),
        case("d02_warp_arrays_stay_on_the_context_that_made_them", stay),
    ]
}

const N: usize = 1 << 18;
const MIB: u64 = 1 << 20;

fn other_size(s: &Subject) {
    let ctx = s.ctx();
    drop(ctx.zeros::<u32, 1>([N]).unwrap());
    let small = ctx.zeros::<u32, 1>([N / 4]).unwrap();
    assert_eq!((ctx.pool_stats().free, ctx.pool_stats().blocks), (MIB, 2));
    // An array of nearly the same size uses the free block.
    let near = ctx.zeros::<u32, 1>([N - 100]).unwrap();
    assert_eq!((ctx.pool_stats().free, ctx.pool_stats().blocks), (0, 2));
    drop((small, near));
}

fn queue_goes_first(s: &Subject) {
    let ctx = s.ctx();
    let arrays: Vec<_> = (0..4_u32).map(|i| ctx.queue("short-lived").full([N], i).unwrap()).collect();
    let queue = ctx.queue("q");
    for (i, array) in arrays.iter().enumerate() {
        assert_eq!(queue.read(array).wait().unwrap(), [i as u32; N]);
    }
    drop(arrays);
    assert_eq!(ctx.pool_stats().free, 4 * MIB);
    let again = queue.full([N], 9_u32).unwrap();
    assert_eq!((ctx.pool_stats().free, ctx.pool_stats().blocks), (3 * MIB, 4));
    assert_eq!(queue.read(&again).wait().unwrap(), [9; N]);
}

fn other_thread(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    for round in 0..5_u32 {
        let array = queue.full([N], round).unwrap();
        let read = queue.read(&array);
        std::thread::scope(|scope| {
            scope.spawn(move || drop(array)).join().unwrap();
            let next = scope.spawn(|| queue.full([N], 77_u32).unwrap()).join().unwrap();
            assert_eq!(ctx.pool_stats().blocks, 1, "the same queue uses the freed block at once");
            assert_eq!(queue.read(&next).wait().unwrap(), [77; N]);
        });
        assert_eq!(read.wait().unwrap(), [round; N]);
    }
}

fn nothing_to_trim(s: &Subject) {
    let ctx = s.ctx();
    assert_eq!(ctx.trim(), 0);
    let empty = ctx.zeros::<u32, 1>([0]).unwrap();
    assert_eq!(ctx.trim(), 0);
    assert!(ctx.queue("q").read(&empty).wait().unwrap().is_empty());
    drop((empty.handle(), empty));
    ctx.trim();
    assert_eq!(ctx.trim(), 0);
}

fn pinned_again(s: &Subject) {
    let ctx = s.ctx();
    let up = |n: usize| ctx.pinned::<u32, Upload, 1>([n]).unwrap();
    let mut first = up(N);
    first.write(|host| host.fill(u32::MAX)).unwrap();
    drop(first);
    let blocks = ctx.pool_stats().blocks;
    let again = up(N);
    assert_eq!(again.read(|host| host.to_vec()).unwrap(), [0; N], "the array has no stale byte");
    assert_eq!(ctx.pool_stats().blocks, blocks);
    let (down, other): (HostArray<u32, Download>, _) = (ctx.pinned([N]).unwrap(), up(N / 4));
    assert_eq!(
        ctx.pool_stats().blocks,
        3 * blocks,
        "another direction and another size need blocks of their own"
    );
    drop((again, down, other));
    assert_eq!(ctx.pool_stats().pinned, 0);
    ctx.trim();
    assert_eq!(ctx.pool_stats().blocks, 0);
    assert_eq!(up(0).len(), 0);
}

fn pageable_and_pinned(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let elements: Vec<u32> = (0..N as u32).map(|i| i ^ 0x5555).collect();
    let mut pinned: HostArray<u32, Upload> = ctx.pinned([N]).unwrap();
    pinned.write(|host| host.copy_from_slice(&elements)).unwrap();
    let (mut x, mut y) = (ctx.zeros([N]).unwrap(), ctx.zeros([N]).unwrap());
    queue.upload(&pinned, &mut x).unwrap();
    queue.upload(&elements[..], &mut y).unwrap();
    let mut back: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
    queue.download(&x, &mut back).unwrap();
    assert_eq!(back.read(|host| host.to_vec()).unwrap(), elements);
    assert_eq!(queue.read(&y).wait().unwrap(), elements);
}

fn right_context(s: &Subject) {
    every_pair(s, |names, one, two| {
        let (x, y) = (one.zeros::<u32, 1>([N]).unwrap(), two.zeros::<u32, 1>([N]).unwrap());
        std::thread::scope(|scope| drop(scope.spawn(move || drop((x, y)))));
        for ctx in [one, two] {
            assert_eq!((ctx.pool_stats().used, ctx.pool_stats().free), (0, MIB), "{names}");
        }
    });
}

fn stay(s: &Subject) {
    every_pair(s, |names, one, two| {
        let used = |ctx: &Context| ctx.pool_stats().used;
        let x = one.zeros::<u32, 1>([N]).unwrap();
        assert_eq!((used(one), used(two)), (MIB, 0), "{names}");
        let like = one.zeros_like(&x).unwrap();
        let mut there = two.empty::<u32, 1>([N]).unwrap();
        two.queue("q").copy(&like, &mut there).unwrap();
        assert_eq!((used(one), used(two)), (2 * MIB, MIB), "{names}");
    });
}
