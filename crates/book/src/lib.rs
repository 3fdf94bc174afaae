//! The examples of the book as documentation tests, with the definitions of their names.
//!
//! `build.rs` makes a module of each page. The tests run on the simulator and need no device.
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

use fencepost::prelude::*;
use fencepost::{Kernel, Result, SimulatorOptions};

/// Arguments of the built-in kernel `saxpy`: `y[i] = a * x[i] + y[i]`.
#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
pub struct Saxpy<'a> {
    /// Factor.
    pub a: f32,
    /// Array that the kernel reads.
    pub x: &'a DeviceArray<f32>,
    /// Array that the kernel adds to.
    pub y: &'a mut DeviceArray<f32>,
}

/// Objects that the examples name, as the first lines of the rules list them.
pub struct Names {
    /// Context with the default policy.
    pub ctx: Context,
    /// A queue.
    pub a: CommandQueue,
    /// Another queue.
    pub b: CommandQueue,
    /// Four zeros.
    pub x: DeviceArray<f32>,
    /// Four more zeros.
    pub y: DeviceArray<f32>,
    /// The built-in `saxpy`.
    pub kernel: Kernel<Saxpy<'static>>,
}

impl Names {
    /// Makes all of them, on the simulator.
    ///
    /// # Errors
    /// One of them cannot be made.
    pub fn new() -> Result<Self> {
        let ctx = Context::simulated(SimulatorOptions::default());
        let a = ctx.queue("a");
        let b = ctx.queue("b");
        let x = ctx.zeros([4])?;
        let y = ctx.zeros([4])?;
        let kernel = ctx.kernel::<Saxpy>()?;
        Ok(Self { ctx, a, b, x, y, kernel })
    }
}
