//! The fixed graph for tests of dumps. The text in `dumped.txt` contains line numbers of this file.

use crate::common::kernels::Mix;
use fencepost::Graph;
use fencepost::prelude::*;

pub const N: usize = 1024;

/// Captures the graph on a queue `main`: two queues, each kind of command, and a host callback.
pub fn fixed(ctx: &Context) -> Graph {
    let queue = ctx.queue("main");
    let mix = ctx.kernel::<Mix>().unwrap();
    let x = ctx.zeros::<u32, 1>([N]).unwrap().named("x");
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap().named("y");
    let grid = Grid::threads([N]);
    let captured = queue.capture(|c| {
        let mut own = c.array(&[7_u32; N])?.named("own");
        c.fill(&mut y, 3)?;
        let side = c.fork("side");
        side.launch(&mix, grid, Mix { a: 2, b: 3, x: &x, y: &mut own })?;
        c.copy(&x, &mut y)?;
        c.fill(&mut y.slice(0..16)?, 9)?;
        c.wait_for(&side)?;
        c.launch(&mix, grid, Mix { a: 4, b: 5, x: &own, y: &mut y })?;
        c.host(|| ())?;
        c.read_as("result", &y)
    });
    captured.unwrap().0
}
