use crate::api::context::Context;
use crate::arrays::storage::Storage;
use crate::error::{CommandKind, ErrorDetail};
use crate::memory::allocations::WINDOW;
use crate::memory::block::{BlockId, Memory};
use crate::memory::cpu_memory::CpuMemory;
use crate::memory::pool::*;
use crate::record::cpu::cpu_recorder::SimulatorOptions;
use crate::scheduler::ordering::Admission;
use crate::work::step::{Pattern, Span, Work};
use fencepost_sync::Slot;
use std::panic::Location;

#[test]
fn a_size_is_rounded_by_an_eighth_at_most() {
    for bytes in [1, 255, 256, 257, 5000, 1 << 20, (1 << 20) + 1] {
        let size = rounded(bytes);
        assert!(size >= bytes && size <= (bytes + bytes / 4).max(256) + 256, "{bytes} -> {size}");
    }
}

fn made(pool: &mut BlockPool, heap: Heap, size: u64) -> Arc<Block> {
    pool.reserve(heap, size).expect("the limit allows it");
    let memory = Memory::Host(CpuMemory::zeroed(size));
    Arc::new(Block::new(BlockId::next(), heap, size, memory))
}

#[test]
fn m08_the_pool_allocates_up_to_its_limit_and_no_more() {
    let mut pool = BlockPool { limit: Some(1024), ..BlockPool::default() };
    let device = made(&mut pool, Heap::Device, 512);
    let pinned = made(&mut pool, Heap::Upload, 256);
    let refused = pool.reserve(Heap::Download, 512).expect_err("768 and 512 are more than 1024");
    assert_eq!((refused.used, refused.limit), (768, 1024));
    pool.give(device);
    let refused = pool.reserve(Heap::Device, 512).expect_err("free blocks count too");
    assert_eq!(refused.used, 256);
    made(&mut pool, Heap::Download, 256);
    pool.give(pinned);
    assert!(pool.reserve(Heap::Device, 1).is_err());
}

#[test]
fn m08_the_statistics_count_each_block() {
    let mut pool = BlockPool::default();
    let device = made(&mut pool, Heap::Device, 512);
    let pinned = made(&mut pool, Heap::Download, 256);
    let both =
        PoolStats { used: 512, high_water: 512, pinned: 256, arrays: 2, blocks: 2, ..PoolStats::default() };
    assert_eq!(pool.stats(), both);
    pool.give(device);
    pool.give(pinned);
    let free = PoolStats { free: 768, high_water: 512, blocks: 2, ..PoolStats::default() };
    assert_eq!(pool.stats(), free);
    assert!(pool.take(Heap::Upload, 256, |_| true).is_none(), "the free block is for downloads");
    assert!(pool.take(Heap::Device, 512, |_| true).is_some());
    assert_eq!(pool.stats(), PoolStats { used: 512, free: 256, arrays: 1, ..free });
    made(&mut pool, Heap::Device, 256);
    pool.unreserve(Heap::Device, 256);
    assert_eq!(pool.stats(), PoolStats { used: 512, free: 256, arrays: 1, high_water: 768, ..free });
    pool.reset_high_water();
    assert_eq!(pool.stats().high_water, 512);
}

#[test]
fn m07_a_block_is_taken_only_if_it_is_usable() {
    let mut pool = BlockPool::default();
    let blocks = [(); 3].map(|()| made(&mut pool, Heap::Device, 256));
    let wanted = blocks[1].id;
    blocks.into_iter().for_each(|block| pool.give(block));
    assert!(pool.take(Heap::Device, 256, |_| false).is_none());
    let taken = pool.take(Heap::Device, 256, |block| block.id == wanted).expect("it is free");
    assert_eq!(taken.id, wanted);
}

#[test]
fn m08_idle_blocks_are_taken_until_the_bytes_to_keep_are_left() {
    let mut pool = BlockPool::default();
    let blocks = [(); 4].map(|()| made(&mut pool, Heap::Device, 256));
    let running = blocks[0].clone();
    blocks.into_iter().for_each(|block| pool.give(block));
    assert_eq!(pool.take_idle(1024).len(), 0);
    let gone = pool.take_idle(512);
    assert_eq!((gone.len(), pool.stats().free, pool.stats().blocks), (2, 512, 2));
    let gone: Vec<_> = gone.into_iter().chain(pool.take_idle(0)).collect();
    assert!(gone.len() == 3 && gone.iter().all(|block| block.id != running.id));
    drop(running);
    assert_eq!(pool.take_idle(0).len(), 1);
    assert_eq!(pool.stats(), PoolStats { high_water: 1024, ..PoolStats::default() });
}

#[test]
fn m08_a_surplus_is_more_than_the_threshold() {
    let mut pool = BlockPool::default();
    let block = made(&mut pool, Heap::Device, 256);
    pool.give(block);
    assert!(!pool.has_surplus() && !pool.over_threshold(), "without a threshold the pool keeps a minimum");
    for (threshold, surplus) in [(256, false), (255, true), (0, true)] {
        pool.threshold = Some(threshold);
        assert_eq!((pool.has_surplus(), pool.over_threshold()), (surplus, surplus), "threshold {threshold}");
    }
}

#[test]
fn m10_a_rounded_size_is_at_most_the_largest_block() {
    assert_eq!(size_for(1000, 4096), 1024);
    assert_eq!(size_for(1000, 1008), 1008);
    assert_eq!(size_for(1008, 1008), 1008);
    assert_eq!(size_for(1, 4096), 256);
}

/// Makes a context without threads on a CPU device with `memory` bytes of memory.
fn context(memory: u64) -> Context {
    Context::simulated(SimulatorOptions { threads: false, memory, ..SimulatorOptions::default() })
}

fn by(slot: Slot) -> Admission {
    Admission { slot, what: CommandKind::Fill, at: Location::caller() }
}

fn allocate(ctx: &Context, bytes: u64, label: &str, slot: Slot) -> Result<Arc<Storage>> {
    Storage::allocate(&ctx.owner, Heap::Device, bytes, &label.into(), by(slot))
}

#[test]
fn m10_the_largest_array_is_allocated_and_a_larger_one_is_refused() {
    let ctx = context(1 << 34);
    let limit = ctx.owner.device().caps().max_block;
    assert!(allocate(&ctx, limit, "largest", Slot::CONTEXT).is_ok());
    let refused = allocate(&ctx, limit + 1, "larger", Slot::CONTEXT).err().expect("it is too large");
    assert!(
        matches!(refused.detail(), ErrorDetail::TooLarge { bytes, .. } if *bytes == limit + 1),
        "{refused}"
    );
}

#[test]
fn m10_a_failed_allocation_does_not_change_the_statistics() {
    let ctx = context(1024);
    assert!(allocate(&ctx, 4096, "large", Slot::CONTEXT).is_err());
    assert_eq!(ctx.pool().stats(), PoolStats { high_water: 4096, ..PoolStats::default() });
    ctx.pool().reset_high_water();
    assert_eq!(ctx.pool().stats(), PoolStats::default());
}

#[test]
fn m07_reused_memory_has_a_new_label_and_keeps_its_uses() {
    let ctx = context(1 << 20);
    let [one, two] = ["one", "two"].map(|label| ctx.queue(label));
    let own = one.slot().expect("it is there");
    let other = two.slot().expect("it is there");
    let first = allocate(&ctx, 256, "first", own).expect("there is room");
    let block = first.block().clone();
    let engine = ctx.owner.engine();
    let dst = Span { block: block.clone(), offset: 0, size: 256 };
    engine.enqueue(by(own), Work::Fill { dst, pattern: Pattern::ZERO }).expect("nothing has failed");
    drop(first);
    let elsewhere = allocate(&ctx, 256, "elsewhere", other).expect("there is room");
    assert_ne!(elsewhere.block().id, block.id, "the fill is not complete");
    let second = allocate(&ctx, 256, "second", own).expect("there is room");
    assert_eq!(second.block().id, block.id);
    let order = block.order();
    assert_eq!((&*order.label, order.uses.all().count()), ("second", 1));
}

#[test]
fn m07_the_context_reuses_only_unused_memory_and_clears_its_uses() {
    let ctx = context(1 << 20);
    let queue = ctx.queue("queue");
    let slot = queue.slot().expect("it is there");
    let first = allocate(&ctx, 256, "first", slot).expect("there is room");
    let id = first.block().id;
    let dst = Span { block: first.block().clone(), offset: 0, size: 256 };
    let fill = Work::Fill { dst, pattern: Pattern::ZERO };
    ctx.owner.engine().enqueue(by(slot), fill).expect("nothing has failed");
    drop(first);
    let elsewhere = allocate(&ctx, 256, "elsewhere", Slot::CONTEXT).expect("there is room");
    assert_ne!(elsewhere.block().id, id, "the fill is not complete");
    queue.finish().wait().expect("nothing has failed");
    let second = allocate(&ctx, 256, "second", Slot::CONTEXT).expect("there is room");
    assert_eq!(second.block().id, id);
    assert!(second.block().order().uses.is_empty());
}

/// Returns the sizes of free blocks, the largest first.
fn free(pool: &BlockPool) -> Vec<u64> {
    let mut sizes: Vec<u64> = pool.free.values().flatten().map(|free| free.block.size).collect();
    sizes.sort_unstable_by_key(|&size| std::cmp::Reverse(size));
    sizes
}

#[test]
fn m08_the_block_that_is_free_longest_is_taken_first() {
    let mut pool = BlockPool::default();
    let sizes = [768, 256, 512, 1024];
    let blocks = sizes.map(|size| made(&mut pool, Heap::Device, size));
    blocks.into_iter().for_each(|block| pool.give(block));
    let again = pool.take(Heap::Device, 256, |_| true).expect("it is free");
    pool.give(again);
    for (keep, left) in [(2000, &[1024, 512, 256][..]), (1535, &[1024, 256]), (1000, &[256]), (255, &[])] {
        pool.take_idle(keep);
        assert_eq!(free(&pool), left, "at most {keep} bytes");
    }
    assert!(pool.free.is_empty() && pool.stats().free == 0);
}

#[test]
fn m08_a_block_of_running_work_counts_as_used() {
    let mut pool = BlockPool::default();
    let blocks = [(); 5].map(|()| made(&mut pool, Heap::Device, MIN_KEPT));
    let running = blocks[..4].to_vec();
    blocks.into_iter().for_each(|block| pool.give(block));
    pool.recent_peak = RecentPeak::default();
    assert!(pool.has_surplus());
    // The pool keeps up to twice the four blocks in use.
    assert!(pool.take_surplus(0).is_empty() && !pool.has_surplus());
    drop(running);
    pool.recent_peak = RecentPeak::default();
    assert_eq!((pool.take_surplus(0).len(), free(&pool).len()), (4, 1));
}

/// Makes an array on an idle queue, drops it, and returns the id of its block.
fn use_one(ctx: &Context, slot: Slot, bytes: u64) -> BlockId {
    allocate(ctx, bytes, "array", slot).expect("there is room").block().id
}

#[test]
fn m08_arrays_of_many_sizes_in_turn_keep_twice_the_largest() {
    let ctx = context(1 << 34);
    let queue = ctx.queue("queue");
    let slot = queue.slot().expect("it is there");
    let largest = 40 << 20;
    for turn in 0..200 {
        let bytes = (1 + turn * 7 % 40) << 20;
        use_one(&ctx, slot, bytes);
        let stats = ctx.pool().stats();
        assert!(stats.free <= 2 * largest, "{stats:?} after {bytes} bytes");
    }
    assert!(ctx.pool().stats().free > largest, "blocks for reuse are kept");
}

#[test]
fn m08_a_loop_of_the_same_arrays_allocates_each_once() {
    const MIB: u64 = 1 << 20;
    // The arrays of an inner list are alive at the same time; the lists come one after the other.
    let loops: [&[&[u64]]; 5] = [
        &[&[100 * MIB]],
        &[&[100 * MIB, 100 * MIB]],
        &[&[100 * MIB], &[80 * MIB]],
        &[&[64 * MIB, 48 * MIB], &[20 * MIB, 80 * MIB]],
        &[&[MIB], &[2 * MIB], &[3 * MIB], &[4 * MIB], &[5 * MIB]],
    ];
    for lists in loops {
        let ctx = context(1 << 34);
        let queue = ctx.queue("queue");
        let slot = queue.slot().expect("it is there");
        let mut ids = std::collections::BTreeSet::new();
        for _ in 0..3 * WINDOW {
            for list in lists {
                let make = |&bytes: &u64| allocate(&ctx, bytes, "array", slot).expect("there is room");
                let arrays: Vec<_> = list.iter().map(make).collect();
                ids.extend(arrays.iter().map(|array| array.block().id));
            }
        }
        let arrays: usize = lists.iter().map(|list| list.len()).sum();
        assert_eq!(ids.len(), arrays, "{lists:?}");
    }
}

#[test]
fn m08_an_old_peak_is_released_when_a_batch_completes() {
    let ctx = context(1 << 34);
    let queue = ctx.queue("queue");
    let slot = queue.slot().expect("it is there");
    let mut x = queue.zeros::<u32, 1>([64]).expect("there is room");
    let large: Vec<_> = (0..4).map(|_| allocate(&ctx, 4 * MIN_KEPT, "large", slot)).collect();
    drop(large);
    let mut work = || {
        queue.fill(&mut x, 1).expect("nothing has failed");
        queue.finish().wait().expect("nothing has failed");
        ctx.pool().stats().free
    };
    assert_eq!(work(), 16 * MIN_KEPT);
    (0..2 * WINDOW).for_each(|_| _ = use_one(&ctx, slot, 256));
    assert_eq!(ctx.pool().stats().free, 16 * MIN_KEPT + 256, "the drop of an array releases no memory");
    assert!(work() <= MIN_KEPT);
}

#[test]
fn m08_a_failed_allocation_does_not_raise_the_kept_bytes() {
    let ctx = context(1 << 28);
    let queue = ctx.queue("queue");
    let slot = queue.slot().expect("it is there");
    assert!(allocate(&ctx, 1 << 30, "too large", slot).is_err());
    for turn in 0..40 {
        use_one(&ctx, slot, (1 + turn % 20) << 20);
    }
    assert!(ctx.pool().stats().free <= 40 << 20);
}
