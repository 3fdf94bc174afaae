//! The examples of the book as documentation tests, and what their names stand for.
//!
//! `build.rs` makes a module of each page. The tests run on the CPU recorder and need no device.
#![forbid(unsafe_code)]

mod functions;

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

use fencepost::prelude::*;
use fencepost::{CpuOptions, Kernel, Result};

/// The arguments of the built-in kernel `saxpy`: `y[i] = a * x[i] + y[i]`.
#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
pub struct Saxpy<'a> {
    /// The factor.
    pub a: f32,
    /// What is read.
    pub x: &'a DeviceArray<f32>,
    /// What is added to.
    pub y: &'a mut DeviceArray<f32>,
}

/// What the names of the examples stand for, as the first lines of the rules say.
pub struct Names {
    /// A context with the default policy.
    pub ctx: Context,
    /// A queue.
    pub a: CommandQueue,
    /// Another queue.
    pub b: CommandQueue,
    /// Four zeros.
    pub x: DeviceArray<f32>,
    /// Four more.
    pub y: DeviceArray<f32>,
    /// The built-in `saxpy`.
    pub kernel: Kernel<Saxpy<'static>>,
}

impl Names {
    /// All of them, on the CPU recorder.
    ///
    /// # Errors
    /// As the calls that make them.
    pub fn new() -> Result<Self> {
        let ctx = Context::on_cpu(CpuOptions::default());
        if let Some(saxpy) = fencepost::reference("saxpy") {
            ctx.host_kernel("saxpy", saxpy)?; // for kernels from its text
        }
        functions::give(&ctx)?;
        let (a, b) = (ctx.queue("a"), ctx.queue("b"));
        let (x, y, kernel) = (ctx.zeros([4])?, ctx.zeros([4])?, ctx.kernel::<Saxpy>()?);
        Ok(Self { ctx, a, b, x, y, kernel })
    }
}
