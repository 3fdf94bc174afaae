//! The kernels and the arrays of the solver. Every number of an iteration is computed on the device.

use bytemuck::{Pod, Zeroable};
use fencepost::prelude::*;

use crate::TOLERANCE;

/// Scalars of the method, which stay on the device.
#[derive(Clone, Copy, Pod, Zeroable, Element)]
#[repr(C)]
pub(crate) struct Scalars {
    pub(crate) square: f32,
    limit: f32,
    alpha: f32,
    beta: f32,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/conjugate_gradient/solver.wgsl", entry = "start")]
struct Start<'a> {
    b: &'a DeviceArray<f32>,
    x: &'a mut DeviceArray<f32>,
    r: &'a mut DeviceArray<f32>,
    p: &'a mut DeviceArray<f32>,
    sums: &'a mut DeviceArray<f32>,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/conjugate_gradient/solver.wgsl", entry = "limit")]
struct Limit<'a> {
    sums_in: &'a DeviceArray<f32>,
    scalars: &'a mut DeviceArray<Scalars>,
    go: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/conjugate_gradient/solver.wgsl", entry = "multiply")]
struct Multiply<'a> {
    side: u32,
    p_in: &'a DeviceArray<f32>,
    q: &'a mut DeviceArray<f32>,
    sums: &'a mut DeviceArray<f32>,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/conjugate_gradient/solver.wgsl", entry = "alpha")]
struct Alpha<'a> {
    sums_in: &'a DeviceArray<f32>,
    scalars: &'a mut DeviceArray<Scalars>,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/conjugate_gradient/solver.wgsl", entry = "advance")]
struct Advance<'a> {
    p_in: &'a DeviceArray<f32>,
    q_in: &'a DeviceArray<f32>,
    scalars_in: &'a DeviceArray<Scalars>,
    x: &'a mut DeviceArray<f32>,
    r: &'a mut DeviceArray<f32>,
    sums: &'a mut DeviceArray<f32>,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/conjugate_gradient/solver.wgsl", entry = "beta")]
struct Beta<'a> {
    sums_in: &'a DeviceArray<f32>,
    scalars: &'a mut DeviceArray<Scalars>,
    go: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/conjugate_gradient/solver.wgsl", entry = "turn")]
struct Turn<'a> {
    r_in: &'a DeviceArray<f32>,
    scalars_in: &'a DeviceArray<Scalars>,
    p: &'a mut DeviceArray<f32>,
}

/// Elements that one workgroup of `solver.wgsl` adds.
const GROUP: usize = 64;

/// The arrays by their names in the shader, and the kernels.
pub(crate) struct Solver {
    side: u32,
    b: DeviceArray<f32>,
    pub(crate) x: DeviceArray<f32>,
    r: DeviceArray<f32>,
    p: DeviceArray<f32>,
    q: DeviceArray<f32>,
    sums: DeviceArray<f32>,
    pub(crate) scalars: DeviceArray<Scalars>,
    /// 1 while the residual is over the limit, then 0.
    pub(crate) go: DeviceArray<u32>,
    start: Kernel<Start<'static>>,
    limit: Kernel<Limit<'static>>,
    multiply: Kernel<Multiply<'static>>,
    alpha: Kernel<Alpha<'static>>,
    advance: Kernel<Advance<'static>>,
    beta: Kernel<Beta<'static>>,
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
            sums: ctx.zeros([b.len().div_ceil(GROUP)])?,
            scalars: ctx.zeros([1])?,
            go: ctx.zeros([1])?,
            start: ctx.kernel::<Start>()?,
            limit: ctx.kernel_with::<Limit>(&[("TOLERANCE", f64::from(TOLERANCE))])?,
            multiply: ctx.kernel::<Multiply>()?,
            alpha: ctx.kernel::<Alpha>()?,
            advance: ctx.kernel::<Advance>()?,
            beta: ctx.kernel::<Beta>()?,
            turn: ctx.kernel::<Turn>()?,
        })
    }

    /// Enqueues the first guess, x = 0, and its residual.
    pub(crate) fn start(&mut self, queue: &CommandQueue) -> Result<()> {
        let Self { b, x, r, p, sums, scalars, go, .. } = self;
        queue.launch(&self.start, Grid::threads([b.len()]), Start { b, x, r, p, sums })?;
        queue.launch(&self.limit, Grid::groups([1]), Limit { sums_in: sums, scalars, go })
    }

    /// Enqueues one iteration, on an ordinary queue or in the body of a loop.
    pub(crate) fn iteration(&mut self, queue: &CommandQueue) -> Result<()> {
        let Self { side, x, r, p, q, sums, scalars, go, .. } = self;
        let all = Grid::threads([x.len()]);
        let one = Grid::groups([1]);
        queue.launch(&self.multiply, all, Multiply { side: *side, p_in: p, q, sums })?;
        queue.launch(&self.alpha, one, Alpha { sums_in: sums, scalars })?;
        let p_in = &*p;
        let q_in = &*q;
        let scalars_in = &*scalars;
        queue.launch(&self.advance, all, Advance { p_in, q_in, scalars_in, x, r, sums })?;
        queue.launch(&self.beta, one, Beta { sums_in: sums, scalars, go })?;
        queue.launch(&self.turn, all, Turn { r_in: r, scalars_in: scalars, p })
    }
}
