//! The examples of the book as documentation tests, with the definitions of their names.
//!
//! `build.rs` makes a module of each page. The tests run on the CPU recorder and need no device.
#![forbid(unsafe_code)]

mod recipe_kernels;

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

use fencepost::prelude::*;
use fencepost::{CpuOptions, Kernel, Result};

/// Holds the arguments of the built-in kernel `saxpy`: `y[i] = a * x[i] + y[i]`.
#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
pub struct Saxpy<'a> {
    /// Holds the factor.
    pub a: f32,
    /// Holds the array that the kernel reads.
    pub x: &'a DeviceArray<f32>,
    /// Holds the array that the kernel adds to.
    pub y: &'a mut DeviceArray<f32>,
}

/// Holds the objects that the examples name, as the first lines of the rules list them.
pub struct Names {
    /// Holds a context with the default policy.
    pub ctx: Context,
    /// Holds a queue.
    pub a: CommandQueue,
    /// Holds another queue.
    pub b: CommandQueue,
    /// Holds four zeros.
    pub x: DeviceArray<f32>,
    /// Holds four more zeros.
    pub y: DeviceArray<f32>,
    /// Holds the built-in `saxpy`.
    pub kernel: Kernel<Saxpy<'static>>,
}

impl Names {
    /// Makes all of them, on the CPU recorder.
    ///
    /// # Errors
    /// Fails if a call that makes one of them fails.
    pub fn new() -> Result<Self> {
        let ctx = Context::on_cpu(CpuOptions::default());
        if let Some(saxpy) = fencepost::reference("saxpy") {
            ctx.host_kernel("saxpy", saxpy)?; // for kernels from its text
        }
        recipe_kernels::give(&ctx)?;
        let (a, b) = (ctx.queue("a"), ctx.queue("b"));
        let (x, y, kernel) = (ctx.zeros([4])?, ctx.zeros([4])?, ctx.kernel::<Saxpy>()?);
        Ok(Self { ctx, a, b, x, y, kernel })
    }
}
