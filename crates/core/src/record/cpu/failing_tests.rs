//! Tests of launches that the CPU cannot finish: each fails its queue, and the device continues.

use super::cpu_recorder::SimulatorOptions;
use crate::api::context::Context;
use crate::api::grid::Grid;
use crate::api::kernel::DynKernel;
use crate::api::options::ContextOptions;
use crate::api::queue::CommandQueue;
use crate::arrays::device_array::DeviceArray;
use crate::error::{Error, ErrorDetail};
use crate::work::kernel_launch::Pipeline;
use crate::work::step::HostCode;
use fencepost_kernels::{HostBuffer, args};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

const LIMIT: Duration = Duration::from_millis(400);

/// Kernels that run until another thread stores 1 in the first word, which never happens.
const ENDLESS: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<atomic<u32>>;
    var<workgroup> done: u32;
    @compute @workgroup_size(1) fn one() { while atomicLoad(&x[0]) != 1u { } }
    @compute @workgroup_size(64) fn vectors(@builtin(local_invocation_index) i: u32) {
        var n = i;
        while n != 64u { n = n & 31u; }
        atomicAdd(&x[1], n);
    }
    @compute @workgroup_size(64) fn lanes(@builtin(local_invocation_index) i: u32) {
        var n = i;
        while n < 60u { n = n & 31u; }
        atomicAdd(&x[1], n);
    }
    fn inner() { while atomicLoad(&x[0]) != 1u { } }
    @compute @workgroup_size(2) fn called() { inner(); inner(); }
    @compute @workgroup_size(8) fn between() {
        workgroupBarrier();
        while atomicLoad(&x[0]) != 1u { }
        workgroupBarrier();
        atomicAdd(&x[1], 1u);
    }
    @compute @workgroup_size(8) fn around(@builtin(local_invocation_index) i: u32) {
        while workgroupUniformLoad(&done) == 0u {
            if i == 9u { done = 1u; }
            workgroupBarrier();
        }
        atomicAdd(&x[1], 1u);
    }
    @compute @workgroup_size(3) fn interpreted() {
        let all = subgroupAdd(1u);
        while atomicLoad(&x[0]) != all + 1u { }
    }";

/// A kernel that sets each word to 7.
const SEVENS: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(1) fn sevens(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = 7u; }";

fn context(launch_limit: Duration, check: bool) -> Context {
    Context::on_threads(
        &ContextOptions { launch_limit, check: check.then(Default::default), ..ContextOptions::default() },
        true,
    )
    .expect("a thread")
}

fn seeded(seed: u64) -> Context {
    Context::simulated(SimulatorOptions::default().seed(seed).lanes(2).launch_limit(LIMIT))
}

fn unthreaded() -> Context {
    Context::simulated(SimulatorOptions { threads: false, ..SimulatorOptions::default() })
}

fn launch(queue: &CommandQueue, kernel: &DynKernel, groups: usize, x: &mut DeviceArray<u32>) {
    queue.launch_dyn(kernel, Grid::groups([groups]), args![x = x]).expect("a launch");
}

fn too_long(error: &Error) -> Option<(&str, Duration)> {
    match error.detail() {
        ErrorDetail::LaunchTooLong { kernel, limit, .. } => Some((kernel, *limit)),
        ErrorDetail::GraphNode { error, .. } => too_long(error),
        _ => None,
    }
}

/// Checks that the queue of an endless kernel fails, and that the device then executes other work of the queue.
fn check_endless(ctx: &Context, entry: &str, groups: usize) {
    let queue = ctx.queue("main");
    let other = ctx.queue("other");
    let endless = ctx.kernel_from(ENDLESS, entry).expect("it compiles");
    let sevens = ctx.kernel_from(SEVENS, "sevens").expect("it compiles");
    let [mut x, mut y, mut z] = [(); 3].map(|()| ctx.zeros::<u32, 1>([4]).expect("memory"));
    launch(&queue, &endless, groups, &mut x);
    launch(&queue, &sevens, 4, &mut y);
    launch(&other, &sevens, 4, &mut z);

    let error = queue.finish().wait().expect_err(entry);
    assert_eq!(too_long(&error), Some((entry, LIMIT)), "{error}");
    let text = error.to_string();
    assert!(text.contains(entry) && text.contains("400ms") && text.contains("launch_limit"), "{text}");
    assert!(queue.launch_dyn(&sevens, Grid::groups([4]), args![x = &mut y]).is_err(), "the error is sticky");
    assert_eq!(other.read(&z).wait().expect("the other queue goes on"), [7; 4], "{entry}");
    let read = other.read(&y).wait().expect("the other queue goes on");
    assert_eq!(read, [0; 4], "{entry}: a later command of the failed queue is not executed");

    assert!(queue.take_error().is_some_and(|taken| taken.to_string() == text));
    launch(&queue, &sevens, 4, &mut y);
    assert_eq!(queue.read(&y).wait().expect("the error was taken"), [7; 4], "{entry}");
    assert_eq!(queue.read(&x).wait().expect("the array is usable")[1], 0, "{entry} was stopped in its loop");
}

#[test]
fn an_endless_kernel_fails_its_queue_in_each_form_of_code() {
    let ctx = context(LIMIT, false);
    for entry in ["one", "vectors", "lanes", "called", "between", "around", "interpreted"] {
        let kernel = ctx.kernel_from(ENDLESS, entry).expect("it compiles");
        let Pipeline::Host(HostCode::Program(program)) = &kernel.inner.pipeline else { panic!("{entry}") };
        assert_eq!(program.is_compiled(), entry != "interpreted", "{entry}");
        check_endless(&ctx, entry, 1000);
    }
}

#[test]
fn a_kernel_without_loops_whose_calls_double_fails_its_queue() {
    let doubling = |level: u32| format!("fn f{level}() {{ f{0}(); f{0}(); }}\n", level - 1);
    let calls: String = (1..40).map(doubling).collect();
    let text = format!(
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
         fn f0() {{ x[0] = x[0] * 3u + 1u; }}
         {calls}
         @compute @workgroup_size(1) fn doubles() {{ f39(); x[1] = 1u; }}"
    );
    let ctx = context(LIMIT, false);
    let queue = ctx.queue("main");
    let kernel = ctx.kernel_from(&text, "doubles").expect("it compiles");
    let Pipeline::Host(HostCode::Program(program)) = &kernel.inner.pipeline else { panic!("it is WGSL") };
    assert!(program.is_compiled());
    let mut x = ctx.zeros::<u32, 1>([4]).expect("memory");
    launch(&queue, &kernel, 1, &mut x);
    let error = queue.finish().wait().expect_err("the calls take years");
    assert_eq!(too_long(&error), Some(("doubles", LIMIT)), "{error}");
    assert!(queue.take_error().is_some());
    assert_eq!(
        queue.read(&x).wait().expect("the error was taken")[1],
        0,
        "the kernel was stopped in its calls"
    );
}

#[test]
fn an_endless_kernel_that_is_checked_fails_its_queue() {
    let ctx = context(LIMIT, true);
    for entry in ["one", "around", "interpreted"] {
        check_endless(&ctx, entry, 2);
    }
}

#[test]
fn an_endless_kernel_fails_its_queue_on_the_recorder_of_each_seed() {
    for seed in 0..3 {
        let ctx = seeded(seed);
        check_endless(&ctx, "lanes", 2);
    }
}

#[test]
fn two_endless_kernels_of_one_level_fail_both_queues() {
    let ctx = context(LIMIT, false);
    let kernel = ctx.kernel_from(ENDLESS, "one").expect("it compiles");
    let queues = ["a", "b"].map(|label| ctx.queue(label));
    let mut arrays = [(); 2].map(|()| ctx.zeros::<u32, 1>([2]).expect("memory"));
    ctx.synchronize().wait().expect("the zeros are written");
    for (queue, x) in queues.iter().zip(&mut arrays) {
        launch(queue, &kernel, 4, x);
    }
    for queue in &queues {
        assert!(queue.finish().wait().is_err_and(|error| too_long(&error).is_some()));
    }
    for (queue, x) in queues.iter().zip(&arrays) {
        assert!(queue.take_error().is_some());
        assert_eq!(queue.read(x).wait().expect("the device goes on"), [0; 2]);
    }
}

#[test]
fn an_endless_kernel_of_a_graph_fails_the_replay_and_names_the_node() {
    for ctx in [context(LIMIT, false), seeded(5)] {
        let queue = ctx.queue("main");
        let endless = ctx.kernel_from(ENDLESS, "one").expect("it compiles");
        let sevens = ctx.kernel_from(SEVENS, "sevens").expect("it compiles");
        let [mut x, mut y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([4]).expect("memory"));
        let captured = queue.capture(|q| {
            q.launch_dyn(&sevens, Grid::groups([2]), args![x = &mut x])?;
            q.fill(&mut x, 2)?;
            q.launch_dyn(&endless, Grid::groups([1]), args![x = &mut x])?;
            q.copy(&x, &mut y)
        });
        let (graph, _) = captured.expect("a graph");
        queue.replay(&graph).expect("a replay");
        let error = queue.finish().wait().expect_err("a node never ends");
        assert!(matches!(error.detail(), ErrorDetail::GraphNode { .. }), "{error}");
        assert_eq!(too_long(&error), Some(("one", LIMIT)));
        assert!(queue.take_error().is_some());
        assert_eq!(
            queue.read(&y).wait().expect("the device goes on"),
            [0; 4],
            "the copy is after the launch"
        );
        assert_eq!(queue.read(&x).wait().expect("the device goes on"), [2; 4], "the nodes before it stay");

        queue.fill(&mut x, 1).expect("the queue goes on");
        let ends = queue.capture(|q| q.launch_dyn(&endless, Grid::groups([1]), args![x = &mut x]));
        queue.replay(&ends.expect("a graph").0).expect("a replay");
        queue.finish().wait().expect("the kernel ends, because the first word is 1");
    }
}

#[test]
fn a_read_after_an_endless_kernel_fails_and_one_before_it_succeeds() {
    let ctx = context(LIMIT, false);
    let queue = ctx.queue("main");
    let kernel = ctx.kernel_from(ENDLESS, "one").expect("it compiles");
    let mut x = queue.array(&[3_u32, 4]).expect("memory");
    let before = queue.read(&x);
    launch(&queue, &kernel, 1, &mut x);
    let after = queue.read(&x);
    let marker = queue.marker();
    assert_eq!(before.wait().expect("it is before the launch"), [3, 4]);
    assert!(after.wait().is_err_and(|error| too_long(&error).is_some()));
    assert!(marker.wait().is_err_and(|error| too_long(&error).is_some()));
}

#[test]
fn the_drop_of_a_context_ends_while_a_kernel_runs_for_ever() {
    for ctx in [context(LIMIT, false), seeded(1)] {
        let queue = ctx.queue("main");
        let kernel = ctx.kernel_from(ENDLESS, "one").expect("it compiles");
        let mut x = queue.zeros::<u32, 1>([1]).expect("memory");
        launch(&queue, &kernel, 1, &mut x);
        queue.flush().expect("no error");
        drop((queue, kernel, x));
        drop(ctx);
    }
}

#[test]
fn a_launch_without_a_limit_runs_on() {
    let ctx = context(Duration::MAX, false);
    let queue = ctx.queue("main");
    let kernel = ctx.kernel_from(ENDLESS, "one").expect("it compiles");
    let mut x = queue.array(&[1_u32]).expect("memory");
    launch(&queue, &kernel, 1, &mut x);
    queue.finish().wait().expect("the kernel ends, because the first word is 1");
}

#[test]
fn a_host_function_that_panics_fails_its_queue_and_not_the_device() {
    for ctx in [context(LIMIT, false), seeded(2)] {
        let run = |_: [u32; 3], _: [u32; 3], _: &[u8], buffers: &mut [HostBuffer<'_>]| {
            buffers[0].bytes_mut()[0] = 9;
            assert!(buffers.len() > 1, "a mistake of the program");
        };
        ctx.host_kernel("sevens", Arc::new(run)).expect("the CPU runs it");
        let queue = ctx.queue("main");
        let other = ctx.queue("other");
        let kernel = ctx.kernel_from(SEVENS, "sevens").expect("it compiles");
        let mut x = queue.zeros::<u32, 1>([1]).expect("memory");
        launch(&queue, &kernel, 1, &mut x);
        let error = queue.finish().wait().expect_err("the function panics");
        let ErrorDetail::LaunchFailed { kernel, problem, .. } = error.detail() else { panic!("{error}") };
        assert_eq!(kernel, "sevens");
        assert_eq!(problem, "the host function panicked: a mistake of the program");
        assert_eq!(other.read(&x).wait().expect("the other queue goes on"), [0], "no byte was written");
        assert!(queue.take_error().is_some());
        queue.fill(&mut x, 5).expect("the error was taken");
        assert_eq!(queue.read(&x).wait().expect("the device goes on"), [5]);
    }
}

#[test]
fn a_missed_barrier_fails_its_queue_and_names_the_place() {
    let text = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(4) fn missed(@builtin(local_invocation_index) i: u32) {
            if x[i] == 2u { return; }
            workgroupBarrier();
        }";
    let ctx = context(LIMIT, false);
    let kernel = ctx.kernel_from(text, "missed").expect("it compiles");
    let queue = ctx.queue("main");
    let mut x = queue.array(&[0_u32, 1, 2, 3]).expect("memory");
    launch(&queue, &kernel, 1, &mut x);
    let error = queue.finish().wait().expect_err("one invocation misses the barrier");
    let ErrorDetail::LaunchFailed { problem, .. } = error.detail() else { panic!("{error}") };
    assert!(problem.contains("only some invocations"), "{problem}");
}

/// Registers the function `run` as the kernel `sevens`, and launches it.
fn launch_function(ctx: &Context, run: impl Fn() + Send + Sync + 'static) {
    let run = move |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [HostBuffer<'_>]| run();
    ctx.host_kernel("sevens", Arc::new(run)).expect("the CPU runs it");
    let queue = ctx.queue("main");
    let kernel = ctx.kernel_from(SEVENS, "sevens").expect("it compiles");
    let mut x = queue.zeros::<u32, 1>([1]).expect("memory");
    launch(&queue, &kernel, 1, &mut x);
    queue.flush().expect("no error");
}

#[test]
fn a_wait_for_the_device_in_a_host_function_is_an_error() {
    let ctx = context(LIMIT, false);
    let (errors, of_function) = channel();
    let held = Mutex::new(Some((errors, ctx.clone())));
    launch_function(&ctx, move || {
        let Some((errors, inner)) = held.lock().expect("one call").take() else { return };
        let other = inner.queue("other");
        let y = other.zeros::<u32, 1>([1]).expect("memory");
        let waits = [
            other.read(&y).wait().map(drop),
            other.finish().wait_timeout(Duration::from_secs(60)).map(drop),
            pollster::block_on(other.finish()),
            inner.synchronize().wait(),
        ];
        errors.send(waits).expect("the test receives");
    });
    ctx.synchronize().wait().expect("the device goes on");
    for waited in of_function.recv().expect("the function has run") {
        let error = waited.expect_err("it can never end");
        assert!(matches!(error.detail(), ErrorDetail::WaitInKernel { .. }), "{error}");
    }
    let other = ctx.queue("another");
    let y = other.full::<u32, 1>([1], 3).expect("memory");
    assert_eq!(other.read(&y).wait().expect("the device goes on"), [3]);
}

#[test]
fn a_host_function_may_enqueue_and_flush_work_of_its_context() {
    let contexts = [context(LIMIT, false), unthreaded()].into_iter().chain((0..4).map(seeded));
    for ctx in contexts {
        let (arrays, of_function) = channel();
        let held = Mutex::new(Some((arrays, ctx.clone())));
        let (ends, ended) = channel();
        let outside = ctx.clone();
        // In case of a deadlock, the thread of the test must not block.
        std::thread::spawn(move || {
            launch_function(&outside, move || {
                let Some((arrays, inner)) = held.lock().expect("one call").take() else { return };
                let other = inner.queue("other");
                let mut y = other.zeros::<u32, 1>([8]).expect("memory");
                for value in 0..100 {
                    other.fill(&mut y, value).expect("no error");
                    other.flush().expect("no error");
                    assert!(
                        !other.marker().is_complete().expect("no error"),
                        "the device executes this function"
                    );
                }
                drop(other.full([8], 1_u32).expect("memory"));
                drop(other);
                arrays.send(y).expect("the test receives");
            });
            outside.synchronize().wait().expect("the device goes on");
            ends.send(()).expect("the test receives");
        });
        ended.recv_timeout(Duration::from_secs(60)).expect("the function returns");
        let y = of_function.recv().expect("the function has run");
        assert_eq!(ctx.queue("third").read(&y).wait().expect("the device goes on"), [99; 8]);
    }
}

#[test]
fn a_wait_for_the_device_through_the_function_of_another_device_is_an_error() {
    for [outer, inner] in [[context(LIMIT, false), unthreaded()], [unthreaded(), unthreaded()]] {
        let (errors, of_function) = channel();
        let held = Mutex::new(Some((outer.clone(), inner.clone(), errors)));
        let (ends, ended) = channel();
        std::thread::spawn(move || {
            launch_function(&outer, move || {
                let Some((outer, inner, errors)) = held.lock().expect("one call").take() else { return };
                let waits = Mutex::new(Some((outer, errors)));
                // The inner device has no threads, so it executes its function on the waiting thread.
                let run = move |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [HostBuffer<'_>]| {
                    let Some((outer, errors)) = waits.lock().expect("one call").take() else { return };
                    errors.send(outer.queue("third").finish().wait()).expect("the test receives");
                };
                inner.host_kernel("sevens", Arc::new(run)).expect("the CPU runs it");
                let queue = inner.queue("inner");
                let kernel = inner.kernel_from(SEVENS, "sevens").expect("it compiles");
                let mut x = queue.zeros::<u32, 1>([1]).expect("memory");
                launch(&queue, &kernel, 1, &mut x);
                queue.finish().wait().expect("the inner device goes on");
            });
            outer.synchronize().wait().expect("the outer device goes on");
            ends.send(()).expect("the test receives");
        });
        ended.recv_timeout(Duration::from_secs(60)).expect("the function returns");
        let error = of_function.recv().expect("the function has run").expect_err("it can never end");
        assert!(matches!(error.detail(), ErrorDetail::WaitInKernel { .. }), "{error}");
    }
}

/// Launches a host function on each of the contexts. Once all run, each waits for the next context. Returns the results
/// of the waits.
fn wait_in_a_ring(contexts: &[Context]) -> Vec<crate::error::Result<()>> {
    let all_run = Arc::new(Barrier::new(contexts.len()));
    let (results, of_functions) = channel();
    for (at, ctx) in contexts.iter().enumerate() {
        let next = contexts[(at + 1) % contexts.len()].clone();
        let held = Mutex::new(Some((next, all_run.clone(), results.clone())));
        launch_function(ctx, move || {
            let Some((next, all_run, results)) = held.lock().expect("one call").take() else { return };
            let after = next.queue("after");
            drop(after.zeros::<u32, 1>([1]).expect("memory"));
            all_run.wait();
            results.send(next.synchronize().wait()).expect("the test receives");
        });
    }
    let limit = Duration::from_secs(60);
    contexts.iter().map(|_| of_functions.recv_timeout(limit).expect("each wait ends")).collect()
}

#[test]
fn of_functions_that_wait_for_each_others_devices_one_has_an_error() {
    for count in [2, 3] {
        let contexts: Vec<Context> = (0..count).map(|_| context(LIMIT, false)).collect();
        let waited = wait_in_a_ring(&contexts);
        let errors: Vec<_> = waited.iter().filter_map(|waited| waited.as_ref().err()).collect();
        assert!(
            matches!(errors[..], [error] if matches!(error.detail(), ErrorDetail::WaitInKernel { .. })),
            "{waited:?}"
        );
        // The earlier waits are no longer recorded, so a function may wait again.
        let [first, second] = [&contexts[0], &contexts[1]].map(Context::clone);
        let waits = Mutex::new(Some(second));
        launch_function(&first, move || {
            let Some(second) = waits.lock().expect("one call").take() else { return };
            second.synchronize().wait().expect("the second device executes no function");
        });
        first.synchronize().wait().expect("the function returns");
    }
}

#[test]
fn a_wait_with_a_limit_in_a_host_function_ends_no_wait_of_another_one() {
    let [first, second] = [context(LIMIT, false), context(LIMIT, false)];
    let both_run = Arc::new(Barrier::new(2));
    let (results, of_functions) = channel();
    for (ctx, next, limit) in [(&first, &second, Some(Duration::from_millis(50))), (&second, &first, None)] {
        let held = Mutex::new(Some((next.clone(), both_run.clone(), results.clone())));
        launch_function(ctx, move || {
            let Some((next, both_run, results)) = held.lock().expect("one call").take() else { return };
            both_run.wait();
            let mut waits = next.synchronize();
            let waited = match limit {
                Some(limit) => waits.wait_timeout(limit).map(|done| done.is_some()),
                None => waits.wait().map(|()| true),
            };
            results.send((limit.is_some(), waited)).expect("the test receives");
        });
    }
    for _ in 0..2 {
        let (has_limit, waited) = of_functions.recv_timeout(Duration::from_secs(60)).expect("each wait ends");
        assert_eq!(waited.expect("each wait can end"), !has_limit);
    }
}

#[test]
fn a_host_function_may_drop_the_last_handle_of_its_context() {
    let ctx = context(LIMIT, false);
    let (go, told) = channel::<()>();
    let (returns, returned) = channel();
    let last = Mutex::new(Some((ctx.clone(), told)));
    let weak = Arc::downgrade(&ctx.owner.engine().device);
    launch_function(&ctx, move || {
        let Some((last, told)) = last.lock().expect("one call").take() else { return };
        told.recv().expect("the test goes on");
        drop(last);
        returns.send(()).expect("the test receives");
    });
    drop(ctx);
    go.send(()).expect("the function waits");
    returned.recv_timeout(Duration::from_secs(60)).expect("the drop returns");
    let begun = std::time::Instant::now();
    while weak.strong_count() > 0 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::yield_now();
    }
    assert_eq!(weak.strong_count(), 0, "the device is freed");
}
