//! K06: `print` and `assert` in kernels.

use crate::common::{Case, NO_BLOCKING, NO_UNWINDING, Needs, ONE_THREAD, Subject, case};
use bytemuck::{Pod, Zeroable};
use fencepost::print::{PrintTo, Printed};
use fencepost::{
    CheckOptions, CommandQueue, Context, DeviceArray, DynKernel, Element, Error, ErrorDetail, Event, Grid,
    KernelArgs, Policy, PrintOptions, RecorderChoice, Result, args,
};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("k06_lines_have_the_order_of_launches_and_then_of_invocations", order),
        case("k06_values_of_every_type_are_exact", values),
        case("k06_names_of_the_shader_change_no_message", names),
        case("k06_the_lines_are_there_when_any_wait_for_the_launch_returns", waits).not_in_a_page(ONE_THREAD),
        case("k06_lines_of_two_queues_are_not_mixed", two_queues),
        case("k06_lines_over_the_capacity_are_counted_exactly", capacity),
        case("k06_a_failed_assertion_is_a_sticky_error_with_its_line_launch_and_invocation", assertion),
        case("k06_the_first_failure_by_invocation_is_named_and_all_are_counted", first_failure),
        case("k06_an_error_that_was_taken_does_not_come_back_with_an_earlier_launch", taken),
        case("k06_a_grid_from_the_device_prints", indirect),
        case("k06_each_replay_of_a_graph_prints_and_asserts", replays),
        case("k06_a_capture_refuses_messages_where_it_cannot_read_them", refused_captures),
        case("k06_entry_points_of_one_call_print_and_a_call_with_a_value_does", several),
        case("k06_a_kernel_without_messages_has_no_other_binding_and_no_other_command", no_cost),
        case("k06_a_function_for_lines_that_panics_or_waits_gets_an_error", functions)
            .not_in_a_page(NO_UNWINDING),
        case(
            "k06_a_function_for_lines_that_does_not_return_delays_only_waits_for_its_lines",
            blocked_function,
        )
        .not_in_a_page(NO_BLOCKING),
        case("k06_a_wait_ends_if_the_function_for_lines_waits_for_its_thread", awaited_thread)
            .not_in_a_page(ONE_THREAD),
        case("k06_every_recorder_prints", recorders),
        Case { needs: NATIVE, ..case("k06_the_checks_of_kernels_find_no_mistake_in_messages", checked) },
    ]
}

const NATIVE: Needs = Needs::Native("the CPU as a device checks kernels");

/// A kernel that prints two lines in each invocation: its position and the element, and the element doubled.
const PRINTS: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
fn second(i: u32) { print(\"twice {}\", 2 * x[i]); }
@compute @workgroup_size(4) fn prints(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&x) { return; }
    print(\"x[{}] = {}\", id.x, x[id.x]);
    second(id.x);
}";

/// A kernel that asserts that each element is below a limit, and adds 1 to it.
const ASSERTS: &str = "struct Params { limit: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(8) fn asserts(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&x) { return; }
    assert(x[id.x] < params.limit, \"{} at {}\", x[id.x], id.xy);
    x[id.x] += 1;
}";

/// Collected lines of a context.
#[derive(Clone, Default)]
pub(super) struct Collected(Arc<Mutex<Vec<String>>>);

impl Collected {
    /// Makes `ctx` print into this list.
    pub(super) fn of(ctx: &Context, capacity: u32) -> Self {
        let collected = Self::default();
        let lines = collected.0.clone();
        let add = move |printed: &Printed<'_>| {
            lines.lock().unwrap().extend(printed.to_string().lines().map(str::to_owned));
        };
        ctx.set_print(PrintOptions::default().to(PrintTo::Function(Arc::new(add))).capacity(capacity));
        collected
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Opens a context that prints into a list, with a queue.
fn printing(s: &Subject) -> (Context, Collected, CommandQueue) {
    let (ctx, queue) = s.with_queue("q");
    let lines = Collected::of(&ctx, 1 << 16);
    (ctx, lines, queue)
}

fn expected(elements: impl IntoIterator<Item = u32>) -> Vec<String> {
    let lines = elements
        .into_iter()
        .zip(0..)
        .flat_map(|(x, i)| [format!("x[{i}] = {x}"), format!("twice {}", 2 * x)]);
    lines.collect()
}

fn order(s: &Subject) {
    let (ctx, lines, queue) = printing(s);
    let kernel = ctx.kernel_from(PRINTS, "prints").unwrap();
    let mut all = Vec::new();
    for launch in 0..4 {
        let elements: Vec<u32> = (0..150).map(|i| 1000 * launch + i).collect();
        let mut x = ctx.array(&elements).unwrap();
        queue.launch_dyn(&kernel, Grid::threads([150]), args![x = &mut x]).unwrap();
        all.extend(expected(elements));
    }
    queue.finish().wait().unwrap();
    assert_eq!(lines.take(), all);
}

#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> total: atomic<u32>;
        @compute @workgroup_size(4) fn count_up(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x >= arrayLength(&x) { return; }
            atomicAdd(&total, x[id.x]);
            if x[id.x] > 2u { print(\"{} at {}\", x[id.x], id.x); }
        }",
    returns(total: u32)
)]
struct CountUp<'a> {
    x: &'a DeviceArray<u32>,
}

/// Two entry points that print, and between them one that asserts: [`PRINTS`] and [`ASSERTS`] in one text.
#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        struct Params { limit: u32 }
        @group(0) @binding(0) var<uniform> params: Params;
        @group(0) @binding(1) var<storage, read_write> x: array<u32>;
        fn show(i: u32) {
            if i >= arrayLength(&x) { return; }
            print(\"x[{}] = {}\", i, x[i]);
            print(\"twice {}\", 2 * x[i]);
        }
        @compute @workgroup_size(4) fn before(@builtin(global_invocation_id) id: vec3<u32>) { show(id.x); }
        @compute @workgroup_size(8) fn asserts(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x >= arrayLength(&x) { return; }
            assert(x[id.x] < params.limit, \"{} at {}\", x[id.x], id.xy);
            x[id.x] += 1;
        }
        @compute @workgroup_size(4) fn after(@builtin(global_invocation_id) id: vec3<u32>) { show(id.x); }",
    entries("before", "asserts", "after")
)]
struct PrintsAndAsserts<'a> {
    limit: u32,
    x: &'a mut DeviceArray<u32>,
}

fn several(s: &Subject) {
    let (ctx, lines, queue) = printing(s);
    let all = ctx.kernel::<PrintsAndAsserts>().unwrap();
    let mut x = ctx.array(&[5_u32, 6, 7]).unwrap();
    let grids = [Grid::threads([3]); 3];
    queue.launch_all(&all, grids, PrintsAndAsserts { limit: 100, x: &mut x }).unwrap();
    queue.finish().wait().unwrap();
    assert_eq!(lines.take(), [expected([5, 6, 7]), expected([6, 7, 8])].concat());
    let captured = queue.capture(|c| c.launch_all(&all, grids, PrintsAndAsserts { limit: 100, x: &mut x }));
    let text = captured.map(drop).unwrap_err().to_string();
    assert!(text.contains("entry point `before` prints or asserts"), "{text}");
    let kernel = ctx.kernel::<CountUp>().unwrap();
    let counted = ctx.array(&[1_u32, 3, 2, 9]).unwrap();
    let value = queue.call(&kernel, Grid::threads([4]), CountUp { x: &counted }).unwrap();
    assert_eq!(value.wait().unwrap(), 15);
    assert_eq!(lines.take(), ["3 at 1", "9 at 3"]);
    queue.launch_all(&all, grids, PrintsAndAsserts { limit: 7, x: &mut x }).unwrap();
    assert_refused!(queue.finish().wait(), AssertionFailed);
}

#[derive(Clone, Copy, Pod, Zeroable, Element)]
#[repr(C)]
struct Values {
    u: u32,
    i: i32,
    f: f32,
    pad: u32,
    v: [f32; 3],
    n: f32,
}

fn values(s: &Subject) {
    let text = "struct Values { u: u32, i: i32, f: f32, pad: u32, v: vec3<f32>, n: f32 }
        @group(0) @binding(0) var<storage, read> x: array<Values>;
        @compute @workgroup_size(1, 2, 2) fn k(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) own: vec3<u32>) {
            let a = x[0];
            if any(group + own > vec3(0u)) { print(\"{}\", group * vec3(1u, 2u, 2u) + own); return; }
            print(\"{} {} {} {}\", a.u, a.i, a.f, a.f > 1.0);
            print(\"{{{}}} {} {}\", a.v, a.n, vec2<bool>(a.u > 1u, a.i > 0));
            print(\"\\\"{}\\\" {}\", vec4<i32>(a.i, 1, 2, -3), array<u32, 2>(7u, 8u)[1]);
        }";
    let (ctx, lines, queue) = printing(s);
    let kernel = ctx.kernel_from(text, "k").unwrap();
    let element = Values { u: u32::MAX, i: i32::MIN, f: 0.1, pad: 0, v: [1.0, -2.5, 1e30], n: f32::INFINITY };
    let x = ctx.array(&[element]).unwrap();
    queue.launch_dyn(&kernel, Grid::groups([2, 1, 1]), args![x = &x]).unwrap();
    queue.finish().wait().unwrap();
    let mut expected = vec![
        "4294967295 -2147483648 0.1 false".to_owned(),
        "{(1.0, -2.5, 1e30)} inf (true, false)".into(),
        "\"(-2147483648, 1, 2, -3)\" 8".into(),
    ];
    let others = [(1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1), (1, 1, 1)];
    expected.extend(others.map(|(x, y, z)| format!("({x}, {y}, {z})")));
    assert_eq!(lines.take(), expected);
}

/// Launches a kernel that prints `element` and changes it.
#[track_caller]
fn print_one(ctx: &Context, queue: &CommandQueue, element: u32) -> DeviceArray<u32> {
    let text = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn one() { print(\"x = {}\", x[0]); x[0] += 1; }";
    let kernel = ctx.kernel_from(text, "one").unwrap();
    let mut x = ctx.array(&[element]).unwrap();
    queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).unwrap();
    x
}

fn names(s: &Subject) {
    let text = "override groups: u32 = 2;
        const id = 1u;
        fn select(a: u32, b: u32, c: bool) -> u32 { if c { return a; } return b; }
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(groups, id) fn k(@builtin(global_invocation_id) at: vec3<u32>) {
            x[at.x] = select(7u, 9u, at.x == 0u);
            print(\"{} {} /*\", true, vec2(true, false));
            let bitcast = at.x; let u32 = -1; let f32 = vec2(0.5, 2.0); let atomicAdd = false;
            print(\"{} {} {} {}\", bitcast, u32, f32, atomicAdd);
            assert(at.x < groups, \"{} of {}\", at.x, 4u >> id);
        }";
    let (ctx, lines, queue) = printing(s);
    let kernel = ctx.kernel_from(text, "k").unwrap();
    let mut x = ctx.zeros::<u32, 1>([2]).unwrap();
    queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x]).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [7, 9]);
    let own = |at: u32| ["true (true, false) /*".to_owned(), format!("{at} -1 (0.5, 2.0) false")];
    assert_eq!(lines.take(), [own(0), own(1)].concat());
}

fn waits(s: &Subject) {
    let (ctx, lines, queue) = printing(s);
    let other = ctx.queue("other");
    let there = |element: u32, wait: &str| assert_eq!(lines.take(), [format!("x = {element}")], "{wait}");
    print_one(&ctx, &queue, 1);
    queue.finish().wait().unwrap();
    there(1, "finish");
    print_one(&ctx, &queue, 2);
    queue.marker().wait().unwrap();
    there(2, "marker");
    let x = print_one(&ctx, &queue, 3);
    queue.read(&x).wait().unwrap();
    there(3, "read");
    let x = print_one(&ctx, &queue, 4);
    other.read(&x).wait().unwrap();
    there(4, "read of another queue");
    print_one(&ctx, &queue, 5);
    other.wait_for(&queue.marker()).unwrap();
    let event = other.marker();
    other.flush().unwrap();
    while !event.is_complete().unwrap() {
        crate::common::thread::yield_now();
    }
    there(5, "query of an event of another queue");
    let threads: Vec<_> = (0..3).map(|_| print_one(&ctx, &queue, 6)).collect();
    crate::common::thread::scope(|scope| {
        for x in &threads {
            let queue = &queue;
            let lines = &lines;
            scope.spawn(move || {
                queue.read(x).wait().unwrap();
                assert!(!lines.0.lock().unwrap().is_empty());
            });
        }
    });
    queue.finish().wait().unwrap();
    assert_eq!(lines.take(), ["x = 6"; 3]);
}

/// Name of a queue, and the expected lines of one launch on it.
type LinesOfQueue = (String, Vec<String>);

fn two_queues(s: &Subject) {
    let ctx = s.ctx_with(Policy::Unchecked);
    let lines: Arc<Mutex<Vec<LinesOfQueue>>> = Arc::default();
    let copy = lines.clone();
    let add = move |printed: &Printed<'_>| {
        let own = printed.lines.iter().map(|line| line.text.clone()).collect();
        copy.lock().unwrap().push((printed.queue.to_owned(), own));
    };
    ctx.set_print(PrintOptions::default().to(PrintTo::Function(Arc::new(add))));
    let queues = [ctx.queue("a"), ctx.queue("b")];
    let kernel = ctx.kernel_from(PRINTS, "prints").unwrap();
    let mut all = Vec::new();
    for launch in 0..6_u32 {
        let elements: Vec<u32> = (0..20).map(|i| 100 * launch + i).collect();
        let mut x = queues[launch as usize % 2].array(&elements).unwrap();
        queues[launch as usize % 2].launch_dyn(&kernel, Grid::threads([20]), args![x = &mut x]).unwrap();
        all.push((["a", "b"][launch as usize % 2].to_owned(), expected(elements)));
    }
    queues.iter().for_each(|queue| queue.finish().wait().unwrap());
    let found = std::mem::take(&mut *lines.lock().unwrap());
    assert_eq!(found.len(), all.len());
    for name in ["a", "b"] {
        let of =
            |all: &[LinesOfQueue]| all.iter().filter(|(queue, _)| queue == name).cloned().collect::<Vec<_>>();
        assert_eq!(of(&found), of(&all));
    }
}

fn capacity(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let text = "@compute @workgroup_size(64) fn k(@builtin(global_invocation_id) id: vec3<u32>) { print(\"{}\", id.x); }";
    let kernel = ctx.kernel_from(text, "k").unwrap();
    // A line with one number takes 20 bytes.
    for (capacity, fit) in [(20 * 100, 100), (20 * 100 + 19, 100), (20, 1), (19, 0), (0, 0), (20 * 640, 640)]
    {
        let lines = Collected::of(&ctx, capacity);
        queue.launch_dyn(&kernel, Grid::groups([10]), args![]).unwrap();
        queue.finish().wait().unwrap();
        let mut lines = lines.take();
        if fit < 640 {
            let last = lines.pop().unwrap();
            let left = 640 - fit;
            let begin = format!("... and {left} further lines of kernel `k`, launched at {}:", file!());
            assert!(last.starts_with(&begin), "{last}");
            assert!(last.ends_with("raise `PrintOptions::capacity`"), "{last}");
        }
        let numbers: Vec<u32> = lines.iter().map(|line| line.parse().unwrap()).collect();
        assert_eq!(numbers.len(), fit, "{capacity} bytes");
        assert!(numbers.is_sorted() && numbers.iter().all(|&number| number < 640));
    }
    let largest = ctx.info().max_binding;
    ctx.set_print(PrintOptions::default().capacity(u32::MAX));
    if largest < u64::from(u32::MAX - 3) {
        let error = queue.launch_dyn(&kernel, Grid::groups([1]), args![]).unwrap_err();
        let is_named = |found: u64, limit: u64| found > limit && limit == largest;
        assert!(
            matches!(error.detail(), ErrorDetail::MessagesTooLarge { found, limit, .. } if is_named(*found, *limit)),
            "{error}"
        );
        assert!(error.to_string().ends_with("lower `PrintOptions::capacity`"), "{error}");
    }
}

/// Launches the kernel with assertions over an array.
#[track_caller]
fn launch(queue: &CommandQueue, kernel: &DynKernel, limit: u32, x: &mut DeviceArray<u32>) -> Result<()> {
    queue.launch_dyn(kernel, Grid::threads([x.len()]), args![limit = limit, x = x])
}

fn assertion(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let other = ctx.queue("other");
    let kernel = ctx.kernel_from(ASSERTS, "asserts").unwrap();
    let mut x = ctx.array(&(0..20).collect::<Vec<u32>>()).unwrap();
    launch(&queue, &kernel, 100, &mut x).unwrap();
    queue.finish().wait().unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), (1..21).collect::<Vec<u32>>(), "no assertion fails");

    let line = line!() + 1;
    launch(&queue, &kernel, 13, &mut x).unwrap();
    let error = queue.finish().wait().unwrap_err();
    let ErrorDetail::AssertionFailed { kernel: name, launch: at, place, condition, text, invocation, count } =
        error.detail()
    else {
        panic!("{error}")
    };
    assert_eq!((at.file(), at.line()), (file!(), line));
    assert_eq!([&**name, &**place, &**condition], ["asserts", "asserts:6:5", "x[id.x] < params.limit"]);
    assert_eq!((&**text, *invocation, *count), ("13 at (12, 0)", [12, 0, 0], 8));
    let expected = format!(
        "kernel `asserts`, launched at {at}: the assertion `x[id.x] < params.limit` at asserts:6:5 failed in invocation \
         [12, 0, 0]: 13 at (12, 0); the launch has 8 failures"
    );
    assert_eq!(error.to_string(), expected);

    let again = |error: Error| assert_eq!(error.to_string(), expected);
    again(launch(&queue, &kernel, 100, &mut x).unwrap_err());
    again(queue.fill(&mut x, 0).unwrap_err());
    again(queue.read(&x).wait().unwrap_err());
    let mut y = ctx.array(&[1_u32, 2]).unwrap();
    launch(&other, &kernel, 100, &mut y).unwrap();
    assert_eq!(other.read(&y).wait().unwrap(), [2, 3], "another queue goes on");
    again(queue.take_error().unwrap());
    launch(&queue, &kernel, 100, &mut y).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [3, 4], "the queue works on");
}

fn first_failure(s: &Subject) {
    let text = "@compute @workgroup_size(4, W, 2) fn k(@builtin(global_invocation_id) id: vec3<u32>) {
            assert(id.x < 9 || id.y < 3 || id.z < 1, \"first {}\", id);
            assert(id.x < 9 || id.y < 3);
        }
        override W = 1;";
    let (ctx, queue) = s.with_queue("q");
    for width in [1.0, 4.0] {
        let kernel = ctx.kernel_from_with(text, "k", &[("W", width)]).unwrap();
        let rows = if width == 1.0 { 8 } else { 2 };
        queue.launch_dyn(&kernel, Grid::groups([3, rows, 1]), args![]).unwrap();
        let error = queue.finish().wait().unwrap_err();
        let ErrorDetail::AssertionFailed { place, text, invocation, count, .. } = error.detail() else {
            panic!("{error}")
        };
        // The first assertion fails in three of twelve columns and in five of eight rows, the second one in both
        // layers.
        assert_eq!((&**place, &**text, *invocation, *count), ("k:3:13", "", [9, 3, 0], 3 * 5 * 3), "{error}");
        queue.take_error().unwrap();
    }
    // Many more failures than records in the message buffer.
    let text = "@compute @workgroup_size(64) fn many(@builtin(global_invocation_id) id: vec3<u32>) {
        assert(id.x < 5000 || id.x == 1u, \"{} {} {}\", id.x, id, 7);
    }";
    let kernel = ctx.kernel_from(text, "many").unwrap();
    queue.launch_dyn(&kernel, Grid::groups([1000]), args![]).unwrap();
    let error = queue.finish().wait().unwrap_err();
    let ErrorDetail::AssertionFailed { text, invocation, count, .. } = error.detail() else {
        panic!("{error}")
    };
    assert_eq!((&**text, *invocation, *count), ("5000 (5000, 0, 0) 7", [5000, 0, 0], 59_000));
}

fn taken(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel_from(ASSERTS, "asserts").unwrap();
    let mut x = ctx.array(&[5_u32; 3]).unwrap();
    let first = line!() + 1;
    launch(&queue, &kernel, 5, &mut x).unwrap();
    let event = queue.marker();
    for _ in 0..5 {
        let _ = launch(&queue, &kernel, 5, &mut x);
    }
    let _ = queue.flush();
    assert_refused!(event.wait(), AssertionFailed { launch, .. } if launch.line() == first);
    while queue.finish().wait().is_err() {
        queue.take_error().unwrap();
    }
    let mut y = ctx.array(&[1_u32]).unwrap();
    launch(&queue, &kernel, 5, &mut y).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [2]);
    assert!(queue.take_error().is_none());
}

fn indirect(s: &Subject) {
    let (ctx, lines, queue) = printing(s);
    let kernel = ctx.kernel_from(PRINTS, "prints").unwrap();
    let mut x = ctx.array(&(0..100).collect::<Vec<u32>>()).unwrap();
    let groups = queue.array(&[3_u32, 1, 1, 0, 1, 1]).unwrap();
    queue.launch_dyn(&kernel, Grid::indirect(&groups, 0), args![x = &mut x]).unwrap();
    queue.launch_dyn(&kernel, Grid::indirect(&groups, 3), args![x = &mut x]).unwrap();
    queue.launch_dyn(&kernel, Grid::groups([0]), args![x = &mut x]).unwrap();
    queue.finish().wait().unwrap();
    assert_eq!(lines.take(), expected(0..12));
}

fn replays(s: &Subject) {
    let (ctx, lines, queue) = printing(s);
    let other = ctx.queue("other");
    let [prints, asserts] =
        [(PRINTS, "prints"), (ASSERTS, "asserts")].map(|(text, entry)| ctx.kernel_from(text, entry).unwrap());
    let mut x = ctx.array(&[0_u32, 10, 20]).unwrap();
    let (graph, ()) = queue
        .capture(|c| {
            c.launch_dyn(&prints, Grid::threads([3]), args![x = &mut x])?;
            c.launch_dyn(&asserts, Grid::threads([3]), args![limit = 24_u32, x = &mut x])?;
            c.launch_dyn(&prints, Grid::threads([3]), args![x = &mut x])
        })
        .unwrap();
    let steps =
        |from: u32| [0, 1].into_iter().flat_map(move |more| expected([0, 10, 20].map(|x| x + from + more)));
    for replay in 0..2 {
        [&other, &queue][replay as usize % 2].replay(&graph).unwrap();
    }
    queue.finish().wait().unwrap();
    assert_eq!(lines.take(), (0..2).flat_map(steps).collect::<Vec<_>>());
    queue.replay(&graph).unwrap();
    other.read(&x).wait().unwrap();
    assert_eq!(lines.take(), steps(2).collect::<Vec<_>>(), "read of another queue");
    queue.replay(&graph).unwrap().wait().unwrap();
    assert_eq!(lines.take(), steps(3).collect::<Vec<_>>());
    let error = other.replay(&graph).unwrap().wait().unwrap_err();
    let ErrorDetail::AssertionFailed { text, count: 1, .. } = error.detail() else { panic!("{error}") };
    assert_eq!(text, "24 at (2, 0)");
    other.take_error().unwrap();
    queue.finish().wait().unwrap();
}

fn refused_captures(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel_from(PRINTS, "prints").unwrap();
    let mut x = ctx.array(&[1_u32]).unwrap();
    let on = ctx.array(&[1_u32]).unwrap();
    let refused = queue.capture(|c| {
        c.if_(&on, |body| body.launch_dyn(&kernel, Grid::threads([1]), args![x = &mut x])).map(drop)
    });
    let once = "a kernel that prints or asserts runs once";
    assert_refused!(refused.map(drop), Captured { remedy, .. } if remedy.starts_with(once));
    let (graph, ()) =
        queue.capture(|c| c.launch_dyn(&kernel, Grid::threads([1]), args![x = &mut x])).unwrap();
    let other = s.ctx();
    let far = other.kernel_from(PRINTS, "prints").unwrap();
    let mut far_x = other.array(&[1_u32]).unwrap();
    let refused = queue.capture(|c| {
        let side = c.fork_on(&other, "side")?;
        side.launch_dyn(&far, Grid::threads([1]), args![x = &mut far_x])?;
        c.wait_for(&side)
    });
    let error = refused.map(drop).unwrap_err();
    assert!(error.to_string().contains("several contexts, and a kernel in it prints or asserts"), "{error}");
    let replayed = queue.capture(|c| c.replay(&graph).map(drop)).map(drop);
    assert_refused!(replayed, Captured { call, .. } if call.ends_with("prints or asserts"));
    let text = graph.to_bytes().map(drop).unwrap_err().to_string();
    assert!(text.contains("its kernel prints or asserts, and a file has no messages"), "{text}");
}

fn no_cost(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let plain = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn k() { x[0] = 1u; }";
    let kernel = ctx.kernel_from(plain, "k").unwrap();
    assert!(kernel.interface().messages.is_none() && kernel.interface().bindings.len() == 1);
    let mut x = ctx.array(&[1_u32]).unwrap();
    let (graph, ()) =
        queue.capture(|c| c.launch_dyn(&kernel, Grid::threads([1]), args![x = &mut x])).unwrap();
    assert_eq!(graph.nodes(), 1, "a launch without messages is one command");
    let kernel = ctx.kernel_from(PRINTS, "prints").unwrap();
    assert_eq!(kernel.interface().argument_names().collect::<Vec<_>>(), ["x"]);
    let (graph, ()) =
        queue.capture(|c| c.launch_dyn(&kernel, Grid::threads([1]), args![x = &mut x])).unwrap();
    assert_eq!(graph.nodes(), 2, "a launch with messages clears its buffer first");
}

fn functions(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    ctx.set_print(PrintOptions::default().to(PrintTo::Function(Arc::new(|_| panic!("no space")))));
    print_one(&ctx, &queue, 1);
    let end = queue.finish().wait();
    assert_refused!(end, CallbackPanicked { queue, panic } if queue == "q" && panic == "no space");
    queue.take_error().unwrap();

    let found: Arc<Mutex<Option<Error>>> = Arc::default();
    let waits = queue.clone();
    let copy = found.clone();
    let wait = move |_: &Printed<'_>| *copy.lock().unwrap() = waits.finish().wait().err();
    ctx.set_print(PrintOptions::default().to(PrintTo::Function(Arc::new(wait))));
    let x = print_one(&ctx, &queue, 1);
    assert_eq!(queue.read(&x).wait().unwrap(), [2]);
    // The print function holds a handle of the context.
    ctx.set_print(PrintOptions::default().to(PrintTo::Log));
    let error = found.lock().unwrap().take().expect("the wait returns an error");
    assert!(
        matches!(error.detail(), ErrorDetail::WaitInPrint { awaited } if awaited == "queue `q`"),
        "{error}"
    );
}

fn blocked_function(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let other = ctx.queue("other");
    let (called, calls) = channel();
    let (release, released) = channel::<()>();
    let gate = Mutex::new((called, released));
    let block = move |_: &Printed<'_>| {
        let gate = gate.lock().unwrap();
        gate.0.send(()).unwrap();
        gate.1.recv().unwrap();
    };
    ctx.set_print(PrintOptions::default().to(PrintTo::Function(Arc::new(block))));
    let x = print_one(&ctx, &queue, 1);
    let end = queue.marker();
    let mut finished = queue.finish();
    queue.flush().unwrap();
    calls.recv().unwrap();
    assert!(!end.is_complete().unwrap());
    assert!(finished.wait_timeout(Duration::from_millis(1)).unwrap().is_none());
    let y = other.array(&[7_u32]).unwrap();
    assert_eq!(other.read(&y).wait().unwrap(), [7], "the other queue goes on");
    let kernel = ctx.kernel::<Sum>().unwrap();
    let counted = other.array(&[1_u32, 3, 2]).unwrap();
    let value = other.call(&kernel, Grid::threads([3]), Sum { x: &counted }).unwrap();
    assert_eq!(value.wait().unwrap(), 6, "the value waits for its launch only");
    other.wait_for(&end).unwrap();
    let after = other.marker();
    other.flush().unwrap();
    assert!(!after.is_complete().unwrap(), "the marker comes after the lines");
    release.send(()).unwrap();
    after.wait().unwrap();
    finished.wait().unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), [2]);
}

#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> total: atomic<u32>;
        @compute @workgroup_size(4) fn sum(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < arrayLength(&x) { atomicAdd(&total, x[id.x]); }
        }",
    returns(total: u32)
)]
struct Sum<'a> {
    x: &'a DeviceArray<u32>,
}

fn awaited_thread(s: &Subject) {
    for ctx in [s.ctx(), s.without_threads()] {
        wait_for_waiters_in_print(&ctx);
    }
}

/// Prints into a function that joins threads, which themselves wait for its lines.
fn wait_for_waiters_in_print(ctx: &Context) {
    let queue = ctx.queue("q");
    let found: Arc<Mutex<Vec<Error>>> = Arc::default();
    let waits = queue.clone();
    let copy = found.clone();
    let (send, events) = channel::<Event>();
    let events = Mutex::new(events);
    let join = move |_: &Printed<'_>| {
        let end = events.lock().unwrap().recv().unwrap();
        let blocks = waits.clone();
        let awaits = waits.clone();
        let waiters = [
            crate::common::thread::spawn(move || end.wait()),
            crate::common::thread::spawn(move || blocks.finish().wait()),
            crate::common::thread::spawn(move || crate::common::block_on(awaits.finish())),
        ];
        copy.lock().unwrap().extend(waiters.into_iter().filter_map(|waiter| waiter.join().unwrap().err()));
    };
    let to = PrintTo::Function(Arc::new(join));
    let limit = Duration::from_millis(1);
    ctx.set_print(PrintOptions::default().to(to).limit(limit));
    let line = line!() + 1;
    let x = print_one(ctx, &queue, 1);
    let end = queue.marker();
    // The callback comes after the lines, and the queue ends after the callback.
    queue.callback(|| ()).unwrap();
    send.send(end).unwrap();
    let is_overdue = |error: &Error| matches!(error.detail(), ErrorDetail::PrintOverdue { .. });
    while let Err(error) = queue.finish().wait() {
        assert!(is_overdue(&error), "{error}");
    }
    assert_eq!(queue.read(&x).wait().unwrap(), [2], "a later wait returns the result");
    // The print function holds a handle of the context.
    ctx.set_print(PrintOptions::default().to(PrintTo::Log));
    let found = std::mem::take(&mut *found.lock().unwrap());
    assert_eq!(found.len(), 3);
    for error in &found {
        let ErrorDetail::PrintOverdue { awaited, receiver, kernel, launch, limit: after, .. } =
            error.detail()
        else {
            panic!("{error}")
        };
        assert_eq!((&**awaited, &**kernel, launch.line(), *after), ("queue `q`", "one", line, limit));
        assert_eq!(*receiver, "the function for printed lines");
    }
}

fn recorders(s: &Subject) {
    for recorder in [RecorderChoice::Wgpu, RecorderChoice::Hal] {
        let ctx = s.options(|options| options.recorder = recorder);
        let lines = Collected::of(&ctx, 1 << 16);
        let queue = ctx.queue("q");
        print_one(&ctx, &queue, 3);
        queue.finish().wait().unwrap();
        assert_eq!(lines.take(), ["x = 3"], "{}", ctx.recorder());
    }
    let ctx = s.without_threads();
    let lines = Collected::of(&ctx, 1 << 16);
    let queue = ctx.queue("q");
    print_one(&ctx, &queue, 4);
    queue.finish().wait().unwrap();
    assert_eq!(lines.take(), ["x = 4"], "without threads");
}

fn checked(s: &Subject) {
    let ctx = s.options(|options| options.check = Some(CheckOptions::default()));
    let lines = Collected::of(&ctx, 1 << 16);
    let queue = ctx.queue("q");
    let [prints, asserts] =
        [(PRINTS, "prints"), (ASSERTS, "asserts")].map(|(text, entry)| ctx.kernel_from(text, entry).unwrap());
    let mut x = ctx.array(&(0..20).collect::<Vec<u32>>()).unwrap();
    queue.launch_dyn(&prints, Grid::threads([20]), args![x = &mut x]).unwrap();
    launch(&queue, &asserts, 15, &mut x).unwrap();
    assert_refused!(queue.finish().wait(), AssertionFailed { count: 5, .. });
    assert_eq!(lines.take(), expected(0..20));
    let findings = ctx.diagnostics().take_findings();
    assert!(findings.is_empty(), "{}", findings[0]);
}
