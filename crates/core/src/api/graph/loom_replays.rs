//! Loom models that check replays, edits and drops of graphs under every interleaving of threads.

use crate::api::context::Context;
use crate::api::graph::Graph;
use crate::api::queue::CommandQueue;
use crate::arrays::device_array::DeviceArray;
use crate::device::adapter::AdapterInfo;
use crate::error::Result;
use crate::memory::uses::Policy;
use crate::record::cpu::cpu_recorder as cpu;
use crate::record::cpu::cpu_recorder::SimulatorOptions;
use crate::runtime::owner::Owner;
use crate::scheduler::engine::Engine;
use crate::scheduler::loom_models::explore;
use crate::scheduler::loom_models::model_device::World;
use loom::thread;
use std::sync::Arc;

/// Makes a context without threads on two lanes of a model device, with a queue on each lane. The policy orders
/// nothing, so only the graph orders its replays.
fn context() -> (Context, Arc<World>, [CommandQueue; 2]) {
    let world = World::new(2, false);
    let (device, _) = cpu::open(&SimulatorOptions::default());
    let engine = Engine::new(device.clone(), world.lanes(), Policy::Unchecked, false);
    let ctx = Context::of(Owner::new(engine, Some(device), None, AdapterInfo::cpu_recorder()));
    let queues = ["one", "two"].map(|label| ctx.queue(label));
    (ctx, world, queues)
}

/// Completes submissions as a device does, until `count` commands are complete.
fn device(world: &Arc<World>, count: usize) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || world.work_through(count))
}

/// Checks that two submissions were made on two lanes, and that the second one comes after the first one.
fn assert_in_turn(world: &World) {
    let submissions = world.submissions();
    let [first, second] = &submissions[..] else { panic!("{} submissions", submissions.len()) };
    assert_ne!(first.at.lane, second.at.lane);
    assert!(!second.overlaps, "the replays execute at once");
}

#[test]
fn replays_of_two_threads_take_turns_on_the_memory_of_the_graph() {
    explore(|| {
        let (ctx, world, [one, two]) = context();
        let (graph, ()) = one.capture(|c| c.zeros::<u32, 1>([4]).map(drop)).expect("nothing is refused");
        let device = device(&world, 2);
        let same = graph.clone();
        let other = thread::spawn(move || two.replay(&same).and_then(|run| run.wait()));
        one.replay(&graph).and_then(|run| run.wait()).expect("nothing fails");
        other.join().expect("the thread ends").expect("nothing fails");
        device.join().expect("the device ends");
        assert_in_turn(&world);
        drop((graph, one));
        assert_eq!(ctx.pool().stats().used, 0);
    });
}

#[test]
fn the_memory_of_a_dropped_graph_is_in_use_until_its_replay_is_complete() {
    explore(|| {
        let (ctx, world, [one, _two]) = context();
        let (graph, ()) = one.capture(|c| c.zeros::<u32, 1>([4]).map(drop)).expect("nothing is refused");
        let size = ctx.pool().stats().used;
        let run = one.replay(&graph).expect("nothing fails");
        one.flush().expect("nothing fails");
        let device = device(&world, 1);
        let seen = (ctx.clone(), world.clone());
        let dropping = thread::spawn(move || {
            drop(graph);
            let (ctx, world) = seen;
            let free = ctx.pool().stats().free;
            assert!(free == 0 || world.has_completed(1), "the memory is free while the replay executes");
        });
        run.wait().expect("nothing fails");
        drop(run);
        dropping.join().expect("the thread ends");
        device.join().expect("the device ends");
        let pool = ctx.pool().stats();
        assert_eq!((pool.used, pool.free, pool.arrays), (0, size, 0));
    });
}

/// Captures a graph with memory of its own and the input `x`.
fn with_input(queue: &CommandQueue, x: &DeviceArray<u32>) -> Result<Graph> {
    let captured = queue.capture(|c| {
        let x = c.input("x", x)?;
        let mut own = c.zeros::<u32, 1>([4])?;
        c.copy(&x, &mut own)
    });
    captured.map(|(graph, ())| graph)
}

#[test]
fn an_edit_and_a_drop_leave_the_replays_of_another_thread_unchanged() {
    explore(|| {
        let (ctx, world, [one, two]) = context();
        let x = ctx.empty::<u32, 1>([4]).expect("the memory is there");
        let before = ctx.pool().stats().used;
        let graph = with_input(&one, &x).expect("nothing is refused");
        let device = device(&world, 2);
        let mut edited = graph.clone();
        let other = ctx.clone();
        let editor = thread::spawn(move || -> Result<()> {
            let array = other.empty::<u32, 1>([4])?;
            edited.edit()?.input("x", &array)?.apply()?;
            drop(array);
            let run = two.replay(&edited)?;
            drop(edited);
            // The replay keeps the array and the memory of the graph.
            assert_eq!(other.pool().stats().free, 0);
            run.wait()
        });
        let run = one.replay(&graph).expect("nothing fails");
        drop(graph);
        run.wait().expect("nothing fails");
        editor.join().expect("the thread ends").expect("nothing fails");
        device.join().expect("the device ends");
        assert_in_turn(&world);
        drop((run, one));
        let pool = ctx.pool().stats();
        assert_eq!((pool.used, pool.arrays), (before, 1));
    });
}

#[test]
fn the_last_graph_on_a_dropped_array_returns_its_memory() {
    explore(|| {
        let (ctx, _world, [one, _two]) = context();
        let x = ctx.empty::<u32, 1>([4]).expect("the memory is there");
        let size = ctx.pool().stats().used;
        let graphs = [(); 2].map(|()| {
            let captured = one.capture(|c| c.fill(&mut x.clone(), 7));
            captured.expect("nothing is refused").0
        });
        let drops = graphs.map(|graph| {
            let ctx = ctx.clone();
            thread::spawn(move || {
                assert_eq!(ctx.pool().stats().free, 0, "the graph keeps the memory");
                drop(graph);
            })
        });
        drop(x);
        drops.into_iter().for_each(|dropping| dropping.join().expect("the thread ends"));
        drop(one);
        let pool = ctx.pool().stats();
        assert_eq!((pool.used, pool.free, pool.arrays), (0, size, 0));
    });
}
