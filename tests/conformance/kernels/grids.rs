//! K07: grids by threads and by groups, in one to three dimensions, and from device memory.

use super::shaders::{NOTHING, TALLY, Text, set_word, word, words};
use crate::common::kernels::{Iota, Mix};
use crate::common::{Case, Subject, WRAPS, case};
use fencepost::{CommandQueue, Context, DynKernel, ErrorDetail, Grid, args};

pub fn cases() -> Vec<Case> {
    vec![
        case("k07_threads_round_up_to_whole_workgroups", threads),
        case("k07_groups_are_exact", groups),
        case("k07_a_grid_from_the_device_is_read_when_the_launch_runs", indirect),
        case("k07_a_grid_over_the_limit_is_an_error_and_nothing_runs", over_the_limit),
        case("k07_an_empty_grid_is_no_work", zero),
        case("k07_a_grid_takes_integers_of_any_type_and_a_negative_one_is_an_error", numbers),
        case("k07_built_in_kernels_take_more_elements_than_one_dimension_holds", folded),
        case("k07_a_long_dimension_needs_linear_id_and_the_error_names_it", numbered),
    ]
}

/// A queue and the kernel `tally`, compiled for one workgroup size.
struct Bench {
    ctx: Context,
    queue: CommandQueue,
    kernel: DynKernel,
}

impl Bench {
    fn new(s: &Subject, [x, y, z]: [u32; 3]) -> Self {
        let ctx = s.ctx();
        let size = [("X", f64::from(x)), ("Y", f64::from(y)), ("Z", f64::from(z))];
        Self { queue: ctx.queue("q"), kernel: TALLY.kernel_with(s, &ctx, &size), ctx }
    }

    /// Launches the kernel; returns the number of invocations, the ranges of their ids, and the number of workgroups.
    fn count(&self, grid: Grid<'_>) -> [u32; 5] {
        let mut tally = self.ctx.zeros::<u32, 1>([5]).unwrap();
        self.queue.launch_dyn(&self.kernel, grid, args![tally_of = &mut tally]).unwrap();
        self.queue.read(&tally).wait().unwrap().try_into().expect("five numbers")
    }
}

fn threads(s: &Subject) {
    let line = Bench::new(s, [4, 1, 1]);
    assert_eq!(line.count(Grid::threads([1])), [4, 4, 1, 1, 1]);
    assert_eq!(line.count(Grid::threads([8])), [8, 8, 1, 1, 2]);
    assert_eq!(line.count(Grid::threads([9])), [12, 12, 1, 1, 3]);
    assert_eq!(line.count(Grid::threads([9, 2, 3])), [72, 12, 2, 3, 18]);
    let block = Bench::new(s, [4, 3, 2]);
    assert_eq!(block.count(Grid::threads([5, 4])), [96, 8, 6, 2, 4]);
    assert_eq!(block.count(Grid::threads([1, 1, 5])), [72, 4, 3, 6, 3]);
}

fn groups(s: &Subject) {
    let line = Bench::new(s, [4, 1, 1]);
    assert_eq!(line.count(Grid::groups([3])), [12, 12, 1, 1, 3]);
    assert_eq!(line.count(Grid::groups([2, 3])), [24, 8, 3, 1, 6]);
    let block = Bench::new(s, [2, 2, 2]);
    assert_eq!(block.count(Grid::groups([2, 3, 4])), [192, 4, 6, 8, 24]);
    assert_eq!(block.count(Grid::groups([1, 1, 300])), [2400, 2, 2, 600, 300]);
}

fn indirect(s: &Subject) {
    let bench = Bench::new(s, [4, 1, 1]);
    let gate = bench.ctx.user_event("gate");
    let mut sizes = bench.ctx.array(&[9_u32, 2, 3, 1, 9]).unwrap();
    assert_eq!(bench.count(Grid::indirect(&sizes, 1)), [24, 8, 3, 1, 6]);
    let mut tally = bench.ctx.zeros::<u32, 1>([5]).unwrap();
    bench.queue.wait_for(&gate.event()).unwrap();
    bench.queue.fill(&mut sizes, 1).unwrap();
    let grid = Grid::indirect(&sizes, 2);
    bench.queue.launch_dyn(&bench.kernel, grid, args![tally_of = &mut tally]).unwrap();
    bench.queue.fill(&mut sizes, 2).unwrap();
    gate.signal();
    assert_eq!(
        bench.queue.read(&tally).wait().unwrap(),
        [4, 4, 1, 1, 1],
        "the launch reads the grid at its place in the queue"
    );
    let part = sizes.slice(1..4).unwrap();
    assert_eq!(bench.count(Grid::indirect(&part, 0)), [32, 8, 2, 2, 8]);
}

fn over_the_limit(s: &Subject) {
    let bench = Bench::new(s, [1, 1, 1]);
    let mut tally = bench.ctx.zeros::<u32, 1>([5]).unwrap();
    let most = match bench.queue.launch_dyn(&bench.kernel, Grid::groups([usize::MAX]), args![&mut tally]) {
        Err(error) => match error.detail() {
            ErrorDetail::GridTooLarge { limit, groups, .. } if groups[0] == usize::MAX as u64 => {
                *limit as usize
            }
            _ => panic!("{error}"),
        },
        Ok(()) => panic!("no device has so many groups"),
    };
    for grid in [[most + 1, 1, 1], [1, most + 1, 1], [1, 1, most + 1], [WRAPS, 1, 1], [WRAPS + 1, 1, 1]] {
        for grid in [Grid::groups(grid), Grid::threads(grid)] {
            let error = bench.queue.launch_dyn(&bench.kernel, grid, args![&mut tally]).unwrap_err();
            assert!(matches!(error.detail(), ErrorDetail::GridTooLarge { .. }), "{grid:?}: {error}");
        }
    }
    assert_eq!(bench.queue.read(&tally).wait().unwrap(), [0; 5]);
    assert_eq!(bench.count(Grid::groups([most])), [most as u32, most as u32, 1, 1, most as u32]);
}

fn zero(s: &Subject) {
    let bench = Bench::new(s, [4, 1, 1]);
    for grid in [[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, usize::MAX, 1]] {
        assert_eq!(bench.count(Grid::threads(grid)), [0; 5]);
        assert_eq!(bench.count(Grid::groups(grid)), [0; 5]);
    }
    let none = bench.ctx.zeros::<u32, 1>([3]).unwrap();
    assert_eq!(bench.count(Grid::indirect(&none, 0)), [0; 5]);
}

fn numbers(s: &Subject) {
    let bench = Bench::new(s, [4, 1, 1]);
    for grid in [
        Grid::threads([9_usize, 2]),
        Grid::threads([9_u32, 2]),
        Grid::threads([9_u64, 2]),
        Grid::threads([9, 2]),
    ] {
        assert_eq!(bench.count(grid), [24, 12, 2, 1, 6], "{grid:?}");
    }
    let mut tally = bench.ctx.zeros::<u32, 1>([5]).unwrap();
    let error = bench.queue.launch_dyn(&bench.kernel, Grid::threads([3, -5]), args![&mut tally]).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::GridNegative { size: [3, -5, 1], .. }), "{error}");
    assert_eq!(bench.queue.read(&tally).wait().unwrap(), [0; 5]);
}

/// Number of elements that needs two more workgroups of 64 than the 65,535 that fit in one dimension.
const LONG: usize = 65535 * 64 + 65;

fn folded(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let [mut x, mut y] = [LONG, LONG - 1].map(|n| ctx.zeros::<u32, 1>([n]).unwrap());
    let iota = ctx.kernel::<Iota<'_>>().unwrap();
    let mix = ctx.kernel::<Mix<'_>>().unwrap();
    queue.launch(&iota, Grid::threads([LONG]), Iota { start: 7, step: 3, out: &mut x }).unwrap();
    queue.launch(&mix, Grid::threads([LONG]), Mix { a: 5, b: 9, x: &x, y: &mut y }).unwrap();
    assert!(queue.read(&x).wait().unwrap().into_iter().eq((0..LONG as u32).map(|i| 7 + 3 * i)));
    let each_once = (0..LONG as u32 - 1).map(|i| Mix::of(5, 9, 7 + 3 * i, 0));
    assert!(queue.read(&y).wait().unwrap().into_iter().eq(each_once));
}

/// `out[i] += i + 1`, where `i` is the `linear_id` of the invocation; the second entry point does not use `linear_id`.
const NUMBERED: Text = Text {
    entry: "numbered",
    wgsl: "
//#use linear
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(64)
fn numbered(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(id, groups, 64u);
    if i < arrayLength(&out) { out[i] += i + 1u; }
}
@compute @workgroup_size(64)
fn plain(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&out) { out[id.x] += 1u; }
}",
    host: Some(|groups, _, _, buffers| {
        let out = &mut buffers[0];
        for i in 0..words(out).min(groups.iter().product::<u32>() as usize * 64) {
            set_word(out, i, word(out, i) + i as u32 + 1);
        }
    }),
};

fn numbered(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut out = ctx.zeros::<u32, 1>([LONG]).unwrap();
    let plain = Text { entry: "plain", host: Some(NOTHING), ..NUMBERED }.kernel(s, &ctx);
    let error = queue.launch_dyn(&plain, Grid::threads([LONG]), args![out = &mut out]).unwrap_err();
    assert!(error.to_string().contains("linear_id"), "{error}");
    let numbered = NUMBERED.kernel(s, &ctx);
    queue.launch_dyn(&numbered, Grid::threads([LONG]), args![out = &mut out]).unwrap();
    assert!(queue.read(&out).wait().unwrap().into_iter().eq(1..=LONG as u32), "each element is written once");
}
