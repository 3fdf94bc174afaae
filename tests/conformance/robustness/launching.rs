//! R01: mistakes with launches.

use super::table::{Bench, Mistake, check, mistakes};
use crate::common::{Case, Subject, WRAPS, case};
use crate::kernels::shaders::NOTHING;
use fencepost::{DeviceArray, ErrorDetail, Grid, Policy, Result, args};
use std::sync::Arc;

pub fn cases() -> Vec<Case> {
    vec![
        case("r01_mistakes_with_launches_have_their_errors", |s| check(s, Policy::Ordered, LAUNCHES)),
        case("r01_launches_on_arrays_without_elements_are_accepted", without_elements),
        case("r01_an_unaligned_slice_is_refused_where_the_adapter_needs_alignment", unaligned),
    ]
}

/// Launches `saxpy` on 64 threads.
fn saxpy(b: &Bench, x: &DeviceArray<f32>, y: &DeviceArray<f32>) -> Result<()> {
    b.queue.launch_dyn(&b.saxpy, Grid::threads([64]), args![1.0_f32, x, &mut y.clone()])
}

/// Launches `looks`, whose two arguments are both declared writable.
fn looks(b: &Bench, x: &DeviceArray<u32>, y: &DeviceArray<u32>) -> Result<()> {
    b.queue.launch_dyn(&b.looks, Grid::threads([64]), args![&mut x.clone(), &mut y.clone()])
}

/// Launches `saxpy` over a grid.
fn over(b: &Bench, grid: Grid<'_>) -> Result<()> {
    b.queue.launch_dyn(&b.saxpy, grid, args![1.0_f32, &b.x, &mut b.y.clone()])
}

const LAUNCHES: &[Mistake] = mistakes![
    "one array read and written": |b| saxpy(b, &b.x, &b.x) => Aliased { .. },
    "one array written twice": |b| looks(b, &b.whole, &b.whole) => Aliased { .. },
    "a part of the written array": |b| saxpy(b, &b.x.slice(0..32)?, &b.x) => Aliased { .. },
    "arguments by name and by position": |b| {
        let mut arguments = args![a = 1.0_f32, x = &b.x];
        arguments[1].0 = None;
        b.queue.launch_dyn(&b.saxpy, Grid::threads([64]), arguments)
    } => Kernel(_),
    "an argument twice":
        |b| b.queue.launch_dyn(&b.saxpy, Grid::threads([1]), args![x = &b.x, x = &b.x]) => Kernel(_),
    "an argument of another name":
        |b| b.queue.launch_dyn(&b.saxpy, Grid::threads([1]), args![q = &b.x]) => Kernel(_),
    "no arguments": |b| b.queue.launch_dyn(&b.saxpy, Grid::threads([1]), args![]) => Kernel(_),
    "too many arguments":
        |b| b.queue.launch_dyn(&b.saxpy, Grid::threads([1]), args![1.0_f32, &b.x, &mut b.y.clone(), 3_u32])
        => Kernel(_),
    "an array of another type":
        |b| b.queue.launch_dyn(&b.saxpy, Grid::threads([1]), args![1.0_f32, &b.whole, &mut b.y.clone()])
        => Kernel(_),
    "an array to be read where one is written":
        |b| b.queue.launch_dyn(&b.saxpy, Grid::threads([1]), args![1.0_f32, &b.x, &b.y]) => Kernel(_),
    "a value where an array belongs":
        |b| b.queue.launch_dyn(&b.saxpy, Grid::threads([1]), args![1.0_f32, 2.0_f32, &mut b.y.clone()])
        => Kernel(_),
    "too many groups": |b| over(b, Grid::groups([1 << 20])) => GridTooLarge { .. },
    "groups that wrap": |b| over(b, Grid::groups([WRAPS + 1])) => GridTooLarge { .. },
    "too many threads": |b| over(b, Grid::threads([usize::MAX, 1, 1])) => GridTooLarge { .. },
    "too many in the third dimension": |b| over(b, Grid::threads([1, 1, 1 << 20])) => GridTooLarge { .. },
    "a grid past its array": |b| over(b, Grid::indirect(&b.whole, 62)) => Range { .. },
    "a grid far past its array": |b| over(b, Grid::indirect(&b.whole, usize::MAX)) => Range { .. },
    "a grid in an array that is too short":
        |b| over(b, Grid::indirect(&b.whole.slice(0..2)?, 0)) => Range { .. },
    "a binding that is too small": |b| binding_too_small(b) => BindingTooSmall { needed: 400, .. },
    "a mapped argument": |b| {
        let map = b.x.map_read().wait()?;
        let found = saxpy(b, &b.x, &b.y);
        drop(map);
        found
    } => Mapped { .. },
    "a mapped grid": |b| {
        let map = b.whole.map_read().wait()?;
        let found = over(b, Grid::indirect(&b.whole, 0));
        drop(map);
        found
    } => Mapped { .. },
];

fn binding_too_small(b: &Bench) -> Result<()> {
    let text = "@group(0) @binding(0) var<storage, read_write> x: array<u32, 100>;
                @compute @workgroup_size(1) fn fixed() { x[99] = 1u; }";
    if b.ctx.wgpu().is_none() {
        b.ctx.host_kernel("fixed", Arc::new(NOTHING))?;
    }
    let kernel = b.ctx.kernel_from(text, "fixed")?;
    b.queue.launch_dyn(&kernel, Grid::groups([1]), args![&mut b.whole.clone()])
}

fn without_elements(s: &Subject) {
    let b = Bench::new(s, Policy::Ordered);
    let none = || b.ctx.zeros::<f32, 1>([0]).unwrap();
    saxpy(&b, &none(), &none()).unwrap();
    saxpy(&b, &b.x, &none()).unwrap();
    saxpy(&b, &none(), &b.x).unwrap();
    saxpy(&b, &b.x.slice(64..64).unwrap(), &b.y).unwrap();
    saxpy(&b, &b.y, &b.x.slice(3..3).unwrap()).unwrap();
    saxpy(&b, &b.x.slice(3..3).unwrap(), &b.x.slice(0..0).unwrap()).unwrap();
    let written = none();
    saxpy(&b, &b.x, &written).unwrap();
    saxpy(&b, &written, &b.x).unwrap();
    let condition = b.ctx.array(&[1_u32]).unwrap();
    let in_a_body = b.queue.capture(|c| {
        c.if_(&condition, |body| {
            body.launch_dyn(&b.saxpy, Grid::threads([64]), args![1.0_f32, &written, &mut b.x.clone()])
        })
    });
    let (graph, ()) = in_a_body.unwrap();
    (0..2).for_each(|_| drop(b.queue.replay(&graph).unwrap()));
    over(&b, Grid::threads([0])).unwrap();
    assert_eq!(b.queue.read(&b.x).wait().unwrap(), [1.0; 64], "the launches leave `x` as it was");
}

fn unaligned(s: &Subject) {
    let b = Bench::new(s, Policy::Ordered);
    let needed = b.ctx.binding_alignment();
    let step = needed as usize / 4;
    let part = b.ctx.full([2 * step + 64], 1.0).unwrap();
    saxpy(&b, &part.slice(step..step + 64).unwrap(), &b.y).unwrap();
    if step > 1 {
        let error = saxpy(&b, &part.slice(step + 1..step + 65).unwrap(), &b.y).unwrap_err();
        let right = matches!(error.detail(), ErrorDetail::Alignment { offset, needed: n, .. } if *offset == needed + 4 && *n == needed);
        assert!(right, "{error}");
    }
    assert_eq!(b.queue.read(&b.y).wait().unwrap(), [1.0; 64]);
}
