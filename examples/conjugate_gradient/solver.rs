//! The kernels and the arrays of the solver. Every number of an iteration is computed on the device.

use fencepost::prelude::*;

use crate::TOLERANCE;
use crate::problem::RATE;

#[derive(KernelArgs)]
#[kernel(source = "../../examples/conjugate_gradient/solver.wgsl", entry = "multiply")]
struct Multiply<'a> {
    side: u32,
    rate: f32,
    p_in: &'a DeviceArray<f32>,
    q: &'a mut DeviceArray<f32>,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/conjugate_gradient/solver.wgsl", entry = "advance")]
struct Advance<'a> {
    p_in: &'a DeviceArray<f32>,
    q_in: &'a DeviceArray<f32>,
    square: &'a DeviceArray<f32>,
    product: &'a DeviceArray<f32>,
    x: &'a mut DeviceArray<f32>,
    r: &'a mut DeviceArray<f32>,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/conjugate_gradient/solver.wgsl", entry = "turn")]
struct Turn<'a> {
    r_in: &'a DeviceArray<f32>,
    square: &'a DeviceArray<f32>,
    next: &'a DeviceArray<f32>,
    p: &'a mut DeviceArray<f32>,
}

/// Expression for `go`, of r . r and the limit.
const GOES_ON: &str = "select(0u, 1u, x > y)";

/// The arrays by their names in the shader, and the kernels.
pub(crate) struct Solver {
    side: u32,
    b: DeviceArray<f32>,
    pub(crate) x: DeviceArray<f32>,
    r: DeviceArray<f32>,
    p: DeviceArray<f32>,
    q: DeviceArray<f32>,
    pub(crate) square: DeviceArray<f32>,
    product: DeviceArray<f32>,
    next: DeviceArray<f32>,
    /// The solver stops when r . r is not over this number.
    limit: DeviceArray<f32>,
    /// 1 while r . r is over the limit, then 0.
    pub(crate) go: DeviceArray<u32>,
    multiply: Kernel<Multiply<'static>>,
    advance: Kernel<Advance<'static>>,
    turn: Kernel<Turn<'static>>,
}

impl Solver {
    pub(crate) fn new(ctx: &Context, side: u32, b: &[f32]) -> Result<Self> {
        let n = [b.len()];
        Ok(Self {
            side,
            b: ctx.array(b)?,
            x: ctx.zeros(n)?,
            r: ctx.zeros(n)?,
            p: ctx.zeros(n)?,
            q: ctx.zeros(n)?,
            square: ctx.zeros([1])?,
            product: ctx.zeros([1])?,
            next: ctx.zeros([1])?,
            limit: ctx.zeros([1])?,
            go: ctx.zeros([1])?,
            multiply: ctx.kernel::<Multiply>()?,
            advance: ctx.kernel::<Advance>()?,
            turn: ctx.kernel::<Turn>()?,
        })
    }

    /// Enqueues the first guess, x = 0, and its residual.
    pub(crate) fn start(&mut self, queue: &CommandQueue) -> Result<()> {
        queue.fill(&mut self.x, 0.0)?;
        queue.copy(&self.b, &mut self.r)?;
        queue.copy(&self.b, &mut self.p)?;
        queue.dot(&self.b, &self.b, &mut self.square)?;
        queue.map(&self.square, &format!("{:e} * x", TOLERANCE * TOLERANCE), &mut self.limit)?;
        queue.zip(&self.square, &self.limit, GOES_ON, &mut self.go)
    }

    /// Enqueues one iteration, on an ordinary queue or in the body of a loop. Both call the same verbs.
    pub(crate) fn iteration(&mut self, queue: &CommandQueue) -> Result<()> {
        let Self { x, r, p, q, square, product, next, limit, go, .. } = self;
        let all = Grid::threads([x.len()]);
        queue.launch(&self.multiply, all, Multiply { side: self.side, rate: RATE, p_in: p, q })?;
        queue.dot(&*p, q, product)?;
        queue.launch(&self.advance, all, Advance { p_in: p, q_in: q, square, product, x, r })?;
        queue.dot(&*r, r, next)?;
        queue.launch(&self.turn, all, Turn { r_in: r, square, next, p })?;
        queue.copy(next, square)?;
        queue.zip(next, limit, GOES_ON, go)
    }
}
