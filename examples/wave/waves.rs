//! The kernels and the arrays of the simulation.

use std::f32::consts::TAU;

use fencepost::prelude::*;

#[derive(KernelArgs)]
#[kernel(source = "../../examples/wave/wave.wgsl", entry = "step")]
struct Step<'a> {
    size: [u32; 2],
    mouse: [f32; 2],
    push: f32,
    current: &'a DeviceArray<f32, 2>,
    old: &'a mut DeviceArray<f32, 2>,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/wave/wave.wgsl", entry = "paint")]
struct Paint<'a> {
    current: &'a DeviceArray<f32, 2>,
    pixels: &'a mut DeviceArray<[u8; 4], 2>,
}

/// Steps of a frame, which are 5 periods of the source.
pub(crate) const STEPS: u32 = 200;

/// Constants of `wave.wgsl`.
pub(crate) const CONSTANTS: [(&str, f64); 4] =
    [("RATE", 0.25), ("KEPT", 0.995), ("RADIUS", 4.0), ("GAIN", 3.0)];

/// Returns the acceleration at the source in one step of a frame.
pub(crate) fn push(step: u32) -> f32 {
    0.1 * (TAU * step as f32 / 40.0).sin()
}

/// Heights of the last two steps. The next step replaces the older ones.
pub(crate) struct Waves {
    size: [u32; 2],
    old: DeviceArray<f32, 2>,
    pub(crate) current: DeviceArray<f32, 2>,
    step: Kernel<Step<'static>>,
    paint: Kernel<Paint<'static>>,
}

impl Waves {
    pub(crate) fn new(ctx: &Context, size: [u32; 2]) -> Result<Self> {
        let shape = [size[1] as usize, size[0] as usize]; // the shape of an array begins with its rows
        let old = ctx.zeros(shape)?;
        let current = ctx.zeros(shape)?;
        let step = ctx.kernel_with::<Step>(&CONSTANTS)?;
        let paint = ctx.kernel_with::<Paint>(&CONSTANTS)?;
        Ok(Self { size, old, current, step, paint })
    }

    /// Enqueues still water.
    pub(crate) fn still(&mut self, queue: &CommandQueue) -> Result<()> {
        queue.fill(&mut self.old, 0.0)?;
        queue.fill(&mut self.current, 0.0)
    }

    /// Enqueues one step, on an ordinary or a capturing queue.
    pub(crate) fn step(&mut self, queue: &CommandQueue, number: u32, mouse: [f32; 2]) -> Result<()> {
        let Self { size, old, current, step, .. } = self;
        let args = Step { size: *size, mouse, push: push(number), current, old };
        queue.launch(step, Grid::threads(*size), args)?;
        std::mem::swap(current, old); // the number of steps is even, so each frame starts with the same arrays
        Ok(())
    }

    /// Enqueues the colours of the present heights.
    pub(crate) fn paint(&self, queue: &CommandQueue, pixels: &mut DeviceArray<[u8; 4], 2>) -> Result<()> {
        let grid = Grid::threads([pixels.len()]);
        queue.launch(&self.paint, grid, Paint { current: &self.current, pixels })
    }
}
