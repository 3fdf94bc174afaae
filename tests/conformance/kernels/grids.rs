//! K07: grids by threads and by groups, in one to three dimensions, and from the device.

use super::shaders::TALLY;
use crate::common::{Case, Subject, case};
use fencepost::{CommandQueue, Context, DynKernel, Grid, Kind, args};

pub fn cases() -> Vec<Case> {
    vec![
        case("k07_threads_round_up_to_whole_workgroups", threads),
        case("k07_groups_are_exact", groups),
        case("k07_a_grid_from_the_device_is_read_when_the_launch_runs", indirect),
        case("k07_over_the_limit_is_an_error_and_nothing_runs", over_the_limit),
        case("k07_zero_is_no_work", zero),
    ]
}

/// A queue and the kernel that counts, with workgroups of this size.
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

    /// Invocations, the extent of their ids, and workgroups of a launch.
    fn count(&self, grid: Grid) -> [u32; 5] {
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
        "the numbers of its place in the queue"
    );
    let part = sizes.slice(1..4).unwrap();
    assert_eq!(bench.count(Grid::indirect(&part, 0)), [32, 8, 2, 2, 8]);
}

fn over_the_limit(s: &Subject) {
    let bench = Bench::new(s, [1, 1, 1]);
    let mut tally = bench.ctx.zeros::<u32, 1>([5]).unwrap();
    let most = match bench.queue.launch_dyn(&bench.kernel, Grid::groups([usize::MAX]), args![&mut tally]) {
        Err(error) => match error.kind() {
            Kind::GridTooLarge { limit, groups } if groups[0] == u64::MAX => *limit as usize,
            _ => panic!("{error}"),
        },
        Ok(()) => panic!("no device has so many groups"),
    };
    for grid in [[most + 1, 1, 1], [1, most + 1, 1], [1, 1, most + 1], [1 << 32, 1, 1], [(1 << 32) + 1, 1, 1]]
    {
        for grid in [Grid::groups(grid), Grid::threads(grid)] {
            let error = bench.queue.launch_dyn(&bench.kernel, grid.clone(), args![&mut tally]).unwrap_err();
            assert!(matches!(error.kind(), Kind::GridTooLarge { .. }), "{grid:?}: {error}");
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
