//! K02: one call that launches several entry points of a module in order, each with its own grid.

use crate::common::{Case, ONE_THREAD, Subject, case};
use fencepost::error::KernelError;
use fencepost::graph::GraphValue;
use fencepost::interface::NamedArg;
use fencepost::prelude::*;
use fencepost::profile::Activity;
use fencepost::{DynKernel, Policy};

pub fn cases() -> Vec<Case> {
    vec![
        case("k02_each_entry_point_sees_all_writes_of_the_previous_ones", phases),
        case("k02_launches_of_kernels_from_a_text_run_in_order", from_text),
        case("k02_an_entry_point_with_an_empty_grid_does_not_run", empty_grids),
        case("k02_no_command_of_another_thread_comes_between_the_entry_points", threads)
            .not_in_a_page(ONE_THREAD),
        case("k02_a_refused_entry_point_enqueues_none", refused).host_side(),
        case("k02_an_argument_that_no_entry_point_declares_is_an_error", unknown).host_side(),
        case("k02_each_entry_point_is_in_the_profile", profiled),
        case("k02_a_hazard_names_the_entry_point", hazard).host_side(),
        case("k02_a_capture_has_a_node_for_each_entry_point", captured),
        case("k02_a_captured_launch_from_a_text_takes_named_values", named),
        case("k02_several_entry_points_leave_a_value_in_an_array", value_in_an_array),
        case("k02_a_kernel_with_several_entry_points_is_compiled_later_and_with_overrides", later),
    ]
}

const N: usize = 1000;

/// Running sums of the squares of `x`, in reverse order.
#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        override WORKGROUP: u32 = 64;
        struct Params { factor: u32 }
        @group(0) @binding(0) var<uniform> params: Params;
        @group(0) @binding(1) var<storage, read> x: array<u32>;
        @group(0) @binding(2) var<storage, read_write> squares: array<u32>;
        @group(0) @binding(3) var<storage, read_write> sums: array<u32>;
        @group(0) @binding(4) var<storage, read_write> turned: array<u32>;
        @compute @workgroup_size(WORKGROUP)
        fn square(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < arrayLength(&x) { squares[id.x] = params.factor * x[id.x] * x[id.x]; }
        }
        @compute @workgroup_size(1)
        fn run() {
            var sum = 0u;
            for (var i = 0u; i < arrayLength(&sums); i++) {
                sum += squares[i];
                sums[i] = sum;
            }
        }
        @compute @workgroup_size(WORKGROUP)
        fn turn(@builtin(global_invocation_id) id: vec3<u32>) {
            let n = arrayLength(&sums);
            if id.x < n { turned[id.x] = sums[n - 1u - id.x]; }
        }",
    entries("square", "run", "turn")
)]
struct Squares<'a> {
    factor: u32,
    x: &'a DeviceArray<u32>,
    squares: &'a mut DeviceArray<u32>,
    sums: &'a mut DeviceArray<u32>,
    turned: &'a mut DeviceArray<u32>,
}

/// The kernel and its arrays.
struct Bench {
    ctx: Context,
    queue: CommandQueue,
    kernel: Kernel<Squares<'static>>,
    x: DeviceArray<u32>,
    squares: DeviceArray<u32>,
    sums: DeviceArray<u32>,
    turned: DeviceArray<u32>,
}

impl Bench {
    fn new(ctx: Context) -> Self {
        let queue = ctx.queue("q");
        let kernel = ctx.kernel::<Squares>().unwrap();
        let x = queue.array(&(0..N as u32).collect::<Vec<_>>()).unwrap();
        let [squares, sums, turned] = [(); 3].map(|()| queue.zeros::<u32, 1>([N]).unwrap());
        Self { ctx, queue, kernel, x, squares, sums, turned }
    }

    fn launch(&self, queue: &CommandQueue, factor: u32, grids: [Grid<'_>; 3]) -> Result<()> {
        let args = Squares {
            factor,
            x: &self.x,
            squares: &mut self.squares.clone(),
            sums: &mut self.sums.clone(),
            turned: &mut self.turned.clone(),
        };
        queue.launch_all(&self.kernel, grids, args)
    }

    fn turned(&self) -> Vec<u32> {
        self.queue.read(&self.turned).wait().unwrap()
    }
}

/// Returns the grids for all elements.
fn grids() -> [Grid<'static>; 3] {
    [Grid::threads([N]), Grid::groups([1]), Grid::threads([N])]
}

fn expected(factor: u32) -> Vec<u32> {
    let squares = (0..N as u32).map(|x| factor.wrapping_mul(x).wrapping_mul(x));
    let sums = squares.scan(0_u32, |sum, square| {
        *sum = sum.wrapping_add(square);
        Some(*sum)
    });
    let mut sums: Vec<_> = sums.collect();
    sums.reverse();
    sums
}

fn phases(s: &Subject) {
    let bench = Bench::new(s.ctx());
    for factor in 1..10 {
        bench.launch(&bench.queue, factor, grids()).unwrap();
        if factor % 3 == 1 {
            assert_eq!(bench.turned(), expected(factor), "factor {factor}");
        }
    }
    assert_eq!(bench.turned(), expected(9), "after calls without a read between");
}

/// Returns the entry points as untyped kernels.
fn kernels(bench: &Bench) -> [DynKernel; 3] {
    let source = Squares::source().unwrap();
    ["square", "run", "turn"].map(|entry| bench.ctx.kernel_from_with(&source, entry, &[]).unwrap())
}

fn from_text(s: &Subject) {
    let mut b = Bench::new(s.ctx());
    let [square, run, turn] = kernels(&b);
    let [first, second, third] = grids();
    let args = args![factor = 3_u32, squares = &mut b.squares, x = &b.x];
    b.queue.launch_dyn(&square, first, args).unwrap();
    b.queue.launch_dyn(&run, second, args![sums = &mut b.sums, squares = &mut b.squares]).unwrap();
    b.queue.launch_dyn(&turn, third, args![turned = &mut b.turned, sums = &mut b.sums]).unwrap();
    assert_eq!(b.turned(), expected(3));
    b.queue.launch_dyn(&square, first, args![4_u32, &b.x, &mut b.squares]).unwrap(); // a list without names
    assert_eq!(b.queue.get(&b.squares, [3]).wait().unwrap(), 36);
}

fn empty_grids(s: &Subject) {
    let bench = Bench::new(s.ctx());
    bench.launch(&bench.queue, 1, grids()).unwrap();
    let [_, run, turn] = grids();
    bench.launch(&bench.queue, 5, [Grid::threads([0]), run, turn]).unwrap();
    assert_eq!(bench.turned(), expected(1), "the squares are the old ones");
    bench.launch(&bench.queue, 5, [Grid::groups([0]); 3]).unwrap();
    assert_eq!(bench.turned(), expected(1));
}

/// A kernel that appends its number to those of the earlier launches.
#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        struct Params { number: u32 }
        @group(0) @binding(0) var<uniform> params: Params;
        @group(0) @binding(1) var<storage, read_write> log: array<u32>;
        fn note(phase: u32) {
            log[0] += 1u;
            log[log[0]] = 10u * params.number + phase;
        }
        @compute @workgroup_size(1) fn note_0() { note(0u); }
        @compute @workgroup_size(1) fn note_1() { note(1u); }
        @compute @workgroup_size(1) fn note_2() { note(2u); }",
    entries("note_0", "note_1", "note_2")
)]
struct Notes<'a> {
    number: u32,
    log: &'a mut DeviceArray<u32>,
}

fn threads(s: &Subject) {
    const THREADS: u32 = 4;
    const CALLS: usize = 25;
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel::<Notes>().unwrap();
    let log = queue.zeros::<u32, 1>([1 + 3 * CALLS * THREADS as usize]).unwrap();
    crate::common::thread::scope(|scope| {
        for number in 0..THREADS {
            let queue = &queue;
            let kernel = &kernel;
            let log = &log;
            scope.spawn(move || {
                for _ in 0..CALLS {
                    let args = Notes { number, log: &mut log.clone() };
                    queue.launch_all(kernel, [Grid::groups([1]); 3], args).unwrap();
                }
            });
        }
    });
    let noted = queue.read(&log).wait().unwrap();
    assert_eq!(noted[0] as usize, noted.len() - 1);
    for call in noted[1..].chunks(3) {
        assert_eq!(call, [0, 1, 2].map(|phase| call[0] + phase), "{noted:?}");
    }
}

fn refused(s: &Subject) {
    let b = Bench::new(s.ctx());
    b.ctx.synchronize().wait().unwrap();
    let profiler = b.ctx.profile();
    let [square, run, turn] = grids();
    let launched = b.launch(&b.queue, 1, [square, Grid::groups([1 << 30]), turn]);
    assert_refused!(launched, GridTooLarge { kernel, .. } if kernel == "run");
    let launched = b.launch(&b.queue, 1, [square, run, Grid::threads([-1])]);
    assert_refused!(launched, GridNegative { kernel, .. } if kernel == "turn");
    let args = Squares {
        factor: 1,
        x: &b.x,
        squares: &mut b.squares.clone(),
        sums: &mut b.sums.clone(),
        turned: &mut b.sums.clone(),
    };
    let launched = b.queue.launch_all(&b.kernel, grids(), args);
    assert_refused!(launched, Aliased { subject, .. } if subject == "kernel `turn`");
    let map = b.turned.map_write().wait().unwrap();
    assert_refused!(b.launch(&b.queue, 1, grids()), Mapped);
    drop(map);
    let profile = profiler.finish().wait().unwrap();
    let enqueued: Vec<_> = profile.rows.iter().filter(|row| row.activity == Activity::Launch).collect();
    assert!(enqueued.is_empty(), "{enqueued:?}");
}

fn unknown(s: &Subject) {
    let mut b = Bench::new(s.ctx());
    let [square, run, _] = kernels(&b);
    let launch = |kernel: &DynKernel, args: &[NamedArg<'_>]| {
        b.queue.launch_dyn(kernel, Grid::threads([N]), args).unwrap_err()
    };
    let extra = |error: &Error| match error.detail() {
        ErrorDetail::Kernel(KernelError::ExtraArgument { kernel, arg, known, .. }) => {
            (kernel.clone(), arg.clone(), known.0.clone())
        }
        _ => panic!("{error}"),
    };
    let error =
        launch(&square, &args![factor = 3_u32, x = &b.x, squares = &mut b.squares, sums = &mut b.sums]);
    let known = ["factor", "x", "squares"].map(String::from);
    assert_eq!(extra(&error), ("square".into(), "sums".into(), known.into()));
    let error = launch(&run, &args![factor = 3_u32, squares = &mut b.squares, sums = &mut b.sums]);
    let known = ["squares", "sums"].map(String::from);
    assert_eq!(extra(&error), ("run".into(), "factor".into(), known.into()));
    let error = launch(&square, &args![x = &b.x, squares = &mut b.squares]);
    assert!(matches!(error.detail(), ErrorDetail::Kernel(KernelError::MissingArgument { .. })), "{error}");
    let error = launch(&run, &args![3_u32, &b.x, &mut b.squares]);
    assert!(matches!(error.detail(), ErrorDetail::Kernel(_)), "{error}");
}

fn profiled(s: &Subject) {
    let bench = Bench::new(s.ctx());
    bench.ctx.synchronize().wait().unwrap();
    let profiler = bench.ctx.profile();
    bench.launch(&bench.queue, 1, grids()).unwrap();
    let line = line!() - 1;
    let profile = profiler.finish().wait().unwrap();
    let rows: Vec<_> = profile.rows.iter().map(|row| (row.activity, &*row.name)).collect();
    assert_eq!(rows, ["square", "run", "turn"].map(|name| (Activity::Launch, name)));
    let is_inside =
        |row: &fencepost::profile::Row| row.location.file() == file!() && row.location.line() < line;
    assert!(profile.rows.iter().all(is_inside), "{:?}", profile.rows);
}

fn hazard(s: &Subject) {
    let bench = Bench::new(s.ctx_with(Policy::Checked));
    let other = bench.ctx.queue("other");
    other.fill(&mut bench.sums.clone(), 0).unwrap();
    let error = bench.launch(&bench.queue, 1, grids()).unwrap_err();
    let ErrorDetail::Hazard { later, .. } = error.detail() else { panic!("{error}") };
    assert!(later.command.contains("`run`"), "{error}");
    bench.queue.wait_for(&other).unwrap();
    bench.launch(&bench.queue, 2, grids()).unwrap();
    let error = other.fill(&mut bench.squares.clone(), 0).unwrap_err();
    let ErrorDetail::Hazard { earlier, .. } = error.detail() else { panic!("{error}") };
    assert!(earlier.command.contains("`square`") || earlier.command.contains("`run`"), "{error}");
    assert_eq!(bench.turned(), expected(2));
}

fn captured(s: &Subject) {
    let bench = Bench::new(s.ctx());
    let (graph, ()) = bench.queue.capture(|c| bench.launch(c, 7, grids())).unwrap();
    assert_eq!(graph.nodes(), 3);
    for _ in 0..3 {
        bench.queue.fill(&mut bench.turned.clone(), 0).unwrap();
        bench.queue.replay(&graph).unwrap();
        assert_eq!(bench.turned(), expected(7));
    }
    let [square, run, _] = grids();
    let refused = bench.queue.capture(|c| bench.launch(c, 7, [square, run, Grid::groups([1 << 30])]));
    assert!(matches!(refused.map(drop).unwrap_err().detail(), ErrorDetail::GridTooLarge { .. }));
    let unnamed = bench.queue.capture(|c| {
        bench.launch(c, 7, grids())?;
        c.label_node("which of them")
    });
    let error = unnamed.map(drop).unwrap_err();
    assert!(error.to_string().contains("a launch of several entry points"), "{error}");
}

fn named(s: &Subject) {
    let b = Bench::new(s.ctx());
    let [square, run, turn] = kernels(&b);
    let [first, second, third] = grids();
    let launch = |queue: &CommandQueue, factor: &GraphValue<u32>| {
        let [mut squares, mut sums, mut turned] = [&b.squares, &b.sums, &b.turned].map(DeviceArray::clone);
        queue.launch_dyn(&square, first, args![factor = factor, x = &b.x, squares = &mut squares])?;
        queue.launch_dyn(&run, second, args![squares = &mut squares, sums = &mut sums])?;
        queue.launch_dyn(&turn, third, args![sums = &mut sums, turned = &mut turned])
    };
    let (graph, value) = b
        .queue
        .capture(|c| {
            let factor = c.value("factor", 2_u32)?;
            launch(c, &factor)?;
            Ok(factor)
        })
        .unwrap();
    b.queue.replay(&graph).unwrap();
    assert_eq!(b.turned(), expected(2));
    b.queue.replay(&graph.with().value("factor", 5_u32).unwrap()).unwrap();
    assert_eq!(b.turned(), expected(5));
    let error = launch(&b.queue, &value).unwrap_err();
    assert!(error.to_string().contains("queue `q` captures none"), "{error}");
}

/// Squares of `x`, and their sum, which is added to `total`.
#[derive(KernelArgs)]
#[kernel(
    wgsl = "
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> total: array<u32>;
        @compute @workgroup_size(64) fn square_all(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < arrayLength(&x) { x[id.x] *= x[id.x]; }
        }
        @compute @workgroup_size(1) fn sum_all() {
            for (var i = 0u; i < arrayLength(&x); i++) { total[0] += x[i]; }
        }",
    entries("square_all", "sum_all")
)]
struct SumOfSquares<'a> {
    x: &'a mut DeviceArray<u32>,
    total: &'a mut DeviceArray<u32>,
}

fn value_in_an_array(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel::<SumOfSquares>().unwrap();
    let mut x = ctx.array(&[1, 2, 3]).unwrap();
    for expected in [14, 98] {
        let mut total = queue.zeros([1]).unwrap();
        let grids = [Grid::threads([3]), Grid::groups([1])];
        queue.launch_all(&kernel, grids, SumOfSquares { x: &mut x, total: &mut total }).unwrap();
        assert_eq!(queue.get(&total, [0]).wait().unwrap(), expected);
    }
}

fn later(s: &Subject) {
    let mut bench = Bench::new(s.ctx());
    let wide = [("WORKGROUP", 32.0)];
    bench.kernel = bench.ctx.kernel_later::<Squares>(&wide).wait().unwrap();
    assert_eq!(bench.kernel.workgroup(), [32, 1, 1]);
    bench.launch(&bench.queue, 4, grids()).unwrap();
    assert_eq!(bench.turned(), expected(4));
    let unknown = bench.ctx.kernel_with::<Squares>(&[("WIDTH", 32.0)]).map(drop);
    assert_refused!(unknown, Kernel(KernelError::UnknownOverride { .. }));
}
