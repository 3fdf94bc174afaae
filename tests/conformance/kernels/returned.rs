//! K05: a kernel returns a value, and a wait for the value waits only for that launch.

use crate::common::early_results::{self, Look, N, RUNS, Short, VALUE, Way};
use crate::common::{Case, NO_BLOCKING, NO_UNWINDING, ONE_THREAD, Subject, case};
use fencepost::prelude::*;
use fencepost::profile::Activity;
use fencepost::{HostBuffer, Policy};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("k05_a_call_returns_the_value_of_its_launch", values),
        case("k05_a_value_may_be_a_vector_of_floats", vectors),
        case("k05_the_value_is_0_before_the_launch_and_with_an_empty_grid", zeros),
        case("k05_each_call_has_its_own_value", own_values),
        case("k05_calls_of_several_threads_on_one_queue_have_their_own_values", threads)
            .not_in_a_page(ONE_THREAD),
        case("k05_a_call_comes_after_the_work_that_the_policy_orders_before_it", ordered),
        case("k05_a_call_is_a_fill_a_launch_and_a_read_in_the_profile", profiled),
        case("k05_a_refused_call_enqueues_nothing", refused).host_side(),
        case("k05_a_value_is_there_while_a_later_kernel_of_its_queue_runs", early).on_devices(RUNS),
        case("k05_a_value_is_there_before_a_later_launch_of_its_queue_ends", held)
            .not_in_a_page(NO_BLOCKING)
            .cpu_only(HOST),
        case("k05_a_value_is_there_before_a_later_launch_on_the_cpu_ends", held)
            .not_in_a_page(NO_BLOCKING)
            .native_only(HOST),
        case("k05_the_error_of_the_launch_is_the_error_of_the_value", failed)
            .not_in_a_page(NO_UNWINDING)
            .cpu_only(HOST),
        case("k05_the_error_of_the_launch_on_the_cpu_is_the_error_of_the_value", failed)
            .not_in_a_page(NO_UNWINDING)
            .native_only(HOST),
    ]
}

const HOST: &str = "a function of the host holds the kernel, or fails in it";

/// Sum of the elements of `x`.
#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> total: atomic<u32>;
        @compute @workgroup_size(64)
        fn add_up(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < arrayLength(&x) { atomicAdd(&total, x[id.x]); }
        }",
    returns(total: u32)
)]
struct AddUp<'a> {
    x: &'a DeviceArray<u32>,
}

/// The first four numbers of `x` times `factor`.
#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        struct Params { factor: f32 }
        @group(0) @binding(0) var<uniform> params: Params;
        @group(0) @binding(1) var<storage, read_write> scaled: array<vec4<f32>>;
        @group(0) @binding(2) var<storage, read> x: array<f32>;
        @compute @workgroup_size(1)
        fn scale_four() { scaled[0] = params.factor * vec4(x[0], x[1], x[2], x[3]); }",
    returns(scaled: [f32; 4])
)]
struct ScaleFour<'a> {
    factor: f32,
    x: &'a DeviceArray<f32>,
}

/// Returns the sum of an array on a queue.
fn sum(queue: &CommandQueue, kernel: &Kernel<AddUp<'static>>, x: &DeviceArray<u32>) -> Pending<u32> {
    queue.call(kernel, Grid::threads([x.len()]), AddUp { x }).unwrap()
}

fn values(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel::<AddUp>().unwrap();
    for n in [1_u32, 64, 1000] {
        let x = ctx.array(&(0..n).collect::<Vec<_>>()).unwrap();
        let total: u32 = queue.call(&kernel, Grid::threads([n]), AddUp { x: &x }).unwrap().wait().unwrap();
        assert_eq!(total, n * (n - 1) / 2, "{n} elements");
        assert_eq!(crate::common::block_on(sum(&queue, &kernel, &x)).unwrap(), total);
    }
}

fn vectors(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel::<ScaleFour>().unwrap();
    let x = ctx.array(&[1.0, -2.0, 0.5, 4.0]).unwrap();
    let scaled = queue.call(&kernel, Grid::groups([1]), ScaleFour { factor: 2.0, x: &x }).unwrap();
    assert_eq!(scaled.wait().unwrap(), [2.0, -4.0, 1.0, 8.0]);
}

fn zeros(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel::<AddUp>().unwrap();
    let x = ctx.array(&[3_u32; 100]).unwrap();
    // Dropped arrays leave memory with nonzero bytes in the pool.
    let used: Vec<_> = (0..4).map(|_| queue.full([1], u32::MAX).unwrap()).collect();
    drop(used);
    for _ in 0..5 {
        assert_eq!(sum(&queue, &kernel, &x).wait().unwrap(), 300);
        let nothing = queue.call(&kernel, Grid::threads([0]), AddUp { x: &x }).unwrap();
        assert_eq!(nothing.wait().unwrap(), 0, "an empty grid after a sum");
    }
    let none = ctx.zeros::<u32, 1>([0]).unwrap();
    let sum = queue.call(&kernel, Grid::groups([1]), AddUp { x: &none }).unwrap();
    assert_eq!(sum.wait().unwrap(), 0, "an array without elements is bound as one 0");
}

fn own_values(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel::<AddUp>().unwrap();
    let mut x = ctx.zeros::<u32, 1>([10]).unwrap();
    let sums: Vec<_> = (0..20_u32)
        .map(|round| {
            queue.fill(&mut x, round).unwrap();
            sum(&queue, &kernel, &x)
        })
        .collect();
    queue.fill(&mut x, u32::MAX).unwrap();
    for (round, sum) in (0..20_u32).zip(sums).rev() {
        assert_eq!(sum.wait().unwrap(), 10 * round, "the wait for the last value comes first");
    }
}

fn threads(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel::<AddUp>().unwrap();
    crate::common::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let queue = &queue;
            let kernel = &kernel;
            let x = ctx.array(&[thread + 1; 100]).unwrap();
            scope.spawn(move || {
                for _ in 0..10 {
                    assert_eq!(sum(queue, kernel, &x).wait().unwrap(), 100 * (thread + 1));
                }
            });
        }
    });
}

fn ordered(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked] {
        let ctx = s.ctx_with(policy);
        let writer = ctx.queue("writer");
        let caller = ctx.queue("caller");
        let kernel = ctx.kernel::<AddUp>().unwrap();
        let mut x = ctx.zeros::<u32, 1>([64]).unwrap();
        writer.fill(&mut x, 5).unwrap();
        if policy == Policy::Checked {
            let error = caller.call(&kernel, Grid::threads([64]), AddUp { x: &x }).map(drop).unwrap_err();
            let ErrorDetail::Hazard { later, .. } = error.detail() else { panic!("{error}") };
            assert!(later.command.contains("add_up") && later.location.file() == file!(), "{error}");
            caller.wait_for(&writer).unwrap();
        }
        assert_eq!(sum(&caller, &kernel, &x).wait().unwrap(), 320, "{policy:?}");
    }
}

fn profiled(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel::<AddUp>().unwrap();
    let x = ctx.array(&[1_u32; 64]).unwrap();
    ctx.synchronize().wait().unwrap();
    let profiler = ctx.profile();
    assert_eq!(sum(&queue, &kernel, &x).wait().unwrap(), 64);
    let profile = profiler.finish().wait().unwrap();
    let rows: Vec<_> = profile.rows.iter().map(|row| (row.activity, row.name.to_string())).collect();
    let bytes = || "4 bytes".to_string();
    let expected =
        [(Activity::Fill, bytes()), (Activity::Launch, "add_up".into()), (Activity::Read, bytes())];
    assert_eq!(rows, expected);
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel::<AddUp>().unwrap();
    let x = ctx.array(&[1_u32; 64]).unwrap();
    let foreign = s.ctx().array(&[1_u32; 64]).unwrap();
    ctx.synchronize().wait().unwrap();
    let profiler = ctx.profile();
    let call =
        |grid: Grid<'_>, x: &DeviceArray<u32>| queue.call(&kernel, grid, AddUp { x }).map(drop).unwrap_err();
    assert!(matches!(call(Grid::threads([64]), &foreign).detail(), ErrorDetail::ForeignContext { .. }));
    assert!(matches!(call(Grid::threads([-1]), &x).detail(), ErrorDetail::GridNegative { .. }));
    assert!(matches!(call(Grid::groups([1 << 30]), &x).detail(), ErrorDetail::GridTooLarge { .. }));
    let map = x.map_write().wait().unwrap();
    assert!(matches!(call(Grid::threads([64]), &x).detail(), ErrorDetail::Mapped { .. }));
    drop(map);
    let profile = profiler.finish().wait().unwrap();
    let enqueued: Vec<_> = profile.rows.iter().filter(|row| *row.queue == *queue.options().label).collect();
    assert!(enqueued.is_empty(), "{enqueued:?}");
}

fn early(s: &Subject) {
    let ways: [(&str, Way); 2] = [("the value of a kernel", value), ("a value fetched late", late_value)];
    early_results::on_its_queue(s, &ways);
}

fn value<'a>(at: &Short<'a>) -> Look<'a> {
    let sum = sum(at.queue, &at.ctx.kernel::<AddUp>().unwrap(), &at.x);
    Box::new(move || assert_eq!(sum.wait().unwrap(), N as u32 * VALUE))
}

/// The long kernel runs when the caller waits for the value.
fn late_value<'a>(at: &Short<'a>) -> Look<'a> {
    let look = value(at);
    Box::new(move || {
        crate::common::sleep(Duration::from_millis(30));
        look();
    })
}

/// A kernel of a later launch ends only after the caller has the value.
fn held(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel::<AddUp>().unwrap();
    let (release, released) = channel::<()>();
    let released = std::sync::Mutex::new(released);
    let waits = move |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [HostBuffer<'_>]| {
        released.lock().unwrap().recv().unwrap();
    };
    ctx.host_kernel("waits", Arc::new(waits)).unwrap();
    let text = "@group(0) @binding(0) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(1) fn waits() { y[0] = 1u; }";
    let waits = ctx.kernel_from(text, "waits").unwrap();
    let x = ctx.array(&[2_u32; 8]).unwrap();
    let mut y = ctx.zeros::<u32, 1>([1]).unwrap();
    let value = sum(&queue, &kernel, &x);
    queue.launch_dyn(&waits, Grid::groups([1]), args![y = &mut y]).unwrap();
    queue.flush().unwrap();
    assert_eq!(value.wait().unwrap(), 16);
    release.send(()).unwrap();
    queue.finish().wait().unwrap();
}

fn failed(s: &Subject) {
    let ctx = s.ctx();
    let fails = |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [HostBuffer<'_>]| {
        std::panic::resume_unwind(Box::new("on purpose"));
    };
    ctx.host_kernel("add_up", Arc::new(fails)).unwrap();
    let queue = ctx.queue("q");
    let kernel = ctx.kernel::<AddUp>().unwrap();
    let x = ctx.array(&[1_u32; 8]).unwrap();
    let value = queue.call(&kernel, Grid::threads([8]), AddUp { x: &x }).expect("it is enqueued");
    assert_refused!(value.wait(), LaunchFailed { kernel, .. } if kernel == "add_up");
    assert!(queue.call(&kernel, Grid::threads([8]), AddUp { x: &x }).is_err(), "the error stays");
    queue.take_error().expect("the error of the queue");
}
