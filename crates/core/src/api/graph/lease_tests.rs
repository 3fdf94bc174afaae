//! Tests of the memory that graphs keep: a block returns to the pool once its array and all graphs that use it are
//! gone.

use crate::api::context::Context;
use crate::api::graph::Graph;
use crate::api::queue::CommandQueue;
use crate::arrays::device_array::DeviceArray;
use crate::error::CommandKind;
use crate::record::cpu::cpu_recorder::SimulatorOptions;

/// Size of each array of the tests in bytes.
const SIZE: u64 = 256;

/// Returns a context, and an array of it.
fn context() -> (Context, CommandQueue, DeviceArray<u32>) {
    let ctx = Context::simulated(SimulatorOptions::default().threads(false).memory(1 << 24));
    let queue = ctx.queue("main");
    let x = ctx.zeros([64]).expect("there is memory");
    (ctx, queue, x)
}

/// Captures a graph that fills an array.
fn fills(queue: &CommandQueue, x: &DeviceArray<u32>) -> Graph {
    let captured = queue.capture(|c| c.fill(&mut x.clone(), 7));
    captured.expect("it is captured").0
}

/// Returns the bytes in use, the free bytes, and the number of arrays.
fn pool(ctx: &Context) -> (u64, u64, u64) {
    let stats = ctx.pool().stats();
    (stats.used, stats.free, stats.arrays)
}

#[test]
fn the_pool_does_not_get_the_memory_of_a_dropped_array_that_a_graph_uses() {
    let (ctx, queue, x) = context();
    let graph = fills(&queue, &x);
    drop(x);
    let kept = pool(&ctx);
    // In the faulty case the pool already has the block, and dropping the graph would count it twice.
    std::mem::forget(graph);
    assert_eq!(kept, (SIZE, 0, 1));
}

#[test]
fn the_last_of_two_graphs_returns_the_memory_that_both_use() {
    let (ctx, queue, x) = context();
    let [first, second] = [fills(&queue, &x), fills(&queue, &x)];
    drop(x);
    drop(first);
    assert_eq!(pool(&ctx), (SIZE, 0, 1));
    let other = queue.full([64], 5_u32).expect("there is memory");
    queue.replay(&second).expect("it is enqueued");
    assert_eq!(queue.read(&other).wait().expect("it runs"), [5; 64]);
    drop((second, other));
    assert_eq!(pool(&ctx), (0, 2 * SIZE, 0));
}

#[test]
fn an_array_keeps_its_memory_after_the_drop_of_its_graphs() {
    let (ctx, queue, x) = context();
    drop([fills(&queue, &x), fills(&queue, &x)]);
    assert_eq!(pool(&ctx), (SIZE, 0, 1));
    drop(x);
    assert_eq!(pool(&ctx), (0, SIZE, 0));
}

#[test]
fn one_array_of_a_capture_takes_the_memory_of_a_dropped_one() {
    let (ctx, queue, x) = context();
    let captured = queue.capture(|c| {
        drop(c.zeros::<u32, 1>([64])?);
        let second = c.zeros::<u32, 1>([64])?;
        assert_eq!(pool(&ctx).0, 2 * SIZE, "the second array has the memory of the first one");
        let third = c.zeros::<u32, 1>([64])?;
        assert_eq!(pool(&ctx).0, 3 * SIZE, "the third array has memory of its own");
        drop((second, third));
        Ok(())
    });
    drop((captured.expect("it is captured"), x));
    assert_eq!(pool(&ctx), (0, 3 * SIZE, 0));
}

#[test]
fn an_array_of_a_capture_does_not_take_memory_that_a_queue_outside_uses() {
    let (ctx, queue, x) = context();
    let outside = ctx.queue("outside");
    let captured = queue.capture(|c| {
        let first = c.zeros::<u32, 1>([64])?;
        outside.fill(&mut first.clone(), 1)?;
        drop(first);
        let second = c.zeros::<u32, 1>([64])?;
        assert_eq!(pool(&ctx).0, 3 * SIZE);
        drop(second);
        Ok(())
    });
    drop((captured.expect("it is captured"), x));
}

#[test]
fn an_array_of_a_capture_does_not_take_memory_that_another_graph_uses() {
    let (ctx, queue, x) = context();
    let outside = ctx.queue("outside");
    let captured = queue.capture(|c| {
        let first = c.zeros::<u32, 1>([64])?;
        let other = fills(&outside, &first);
        drop(first);
        let second = c.zeros::<u32, 1>([64])?;
        assert_eq!(pool(&ctx).0, 3 * SIZE, "the other graph still uses the memory of the first array");
        drop((second, other));
        Ok(())
    });
    drop((captured.expect("it is captured"), x));
}

#[test]
fn an_array_of_a_capture_takes_the_memory_of_a_dropped_one_that_the_context_clears() {
    let (ctx, queue, x) = context();
    // The capture gets memory that an array with other elements had.
    drop(queue.full([64], 5_u32).expect("there is memory"));
    queue.finish().wait().expect("it runs");
    ctx.synchronize().wait().expect("it runs");
    let before = pool(&ctx);
    let captured = queue.capture(|c| {
        let first = c.empty::<u32, 1>([64])?;
        assert_eq!(pool(&ctx), (2 * SIZE, 0, 2), "it is the memory of the dropped array");
        drop(first);
        let second = c.empty::<u32, 1>([64])?;
        assert_eq!(pool(&ctx).0, 2 * SIZE, "the second array has the memory of the first one");
        Ok(second)
    });
    let (graph, second) = captured.expect("it is captured");
    assert_eq!(queue.read(&second).wait().expect("it runs"), [0; 64]);
    drop((graph, second));
    assert_eq!(pool(&ctx), before);
    drop(x);
}

#[test]
fn an_array_of_a_capture_is_cleared_in_the_memory_of_a_temporary_that_was_not() {
    let (ctx, queue, x) = context();
    drop(queue.full([64], 5_u32).expect("there is memory"));
    ctx.synchronize().wait().expect("it runs");
    let captured = queue.capture(|c| {
        drop(c.array_ops(CommandKind::Fill)?.scratch::<u32>("verb", 64)?);
        let array = c.empty::<u32, 1>([64])?;
        assert_eq!(pool(&ctx).0, 2 * SIZE, "it has the memory of the temporary");
        Ok(array)
    });
    let (graph, array) = captured.expect("it is captured");
    assert_eq!(queue.read(&array).wait().expect("it runs"), [0; 64]);
    drop((graph, array, x));
}

#[test]
fn m08_a_tracker_lists_the_memory_of_a_graph_until_the_graph_gives_it_back() {
    let (ctx, queue, x) = context();
    let tracker = ctx.pool().track();
    let live = || tracker.report().live.iter().map(|array| array.bytes).collect::<Vec<_>>();
    let captured = queue.capture(|c| {
        drop(c.zeros::<u32, 1>([64])?);
        assert_eq!(live(), [SIZE]);
        drop(c.zeros::<u32, 1>([60])?);
        assert_eq!(live(), [240], "the second array has the memory of the first one");
        c.fill(&mut x.clone(), 1)
    });
    let (graph, ()) = captured.expect("it is captured");
    assert_eq!(live(), [240]);
    drop(graph);
    assert!(live().is_empty());
    assert_eq!((tracker.report().count, tracker.finish().peak_bytes), (2, SIZE));
    drop(x);
}
