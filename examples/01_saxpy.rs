//! 1. Launches a first kernel: a context, a queue, a kernel, two arrays, a launch, a read.
//!
//! Run `cargo run --example 01_saxpy`. With `-- --trace FILE.html` the file shows when each command ran.

#[path = "common/args.rs"]
mod args;

use anyhow::Result;
use fencepost::prelude::*;

// The arguments of a kernel are a struct: references are buffers, plain values are parameters. The compiler
// compares names, types and access with saxpy.wgsl; try `x: &'a mut ...` to see its error. The shader is a
// built-in one. A file `shaders/saxpy.wgsl` of your own package would take precedence.
#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
struct Saxpy<'a> {
    a: f32,                      // params.a
    x: &'a DeviceArray<f32>,     // var<storage, read> x
    y: &'a mut DeviceArray<f32>, // var<storage, read_write> y
}

fn main() -> Result<()> {
    let trace = args::trace();
    // Opens the best adapter of this machine. FENCEPOST_ADAPTER selects another by a part of its name or by its number.
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));

    let queue = ctx.queue("main");
    let saxpy = ctx.kernel::<Saxpy>()?; // compiles for this device and checks the arguments again
    let x = queue.array(&[1.0, 2.0, 3.0, 4.0])?; // copies the slice during the call
    let mut y = ctx.zeros([x.len()])?; // the type and the number of dimensions come from `Saxpy`

    // A launch enqueues and returns; only a `wait` blocks. `threads` rounds up to whole workgroups.
    queue.launch(&saxpy, Grid::threads([y.len()]), Saxpy { a: 2.0, x: &x, y: &mut y })?;
    queue.launch(&saxpy, Grid::threads([y.len()]), Saxpy { a: 0.5, x: &x, y: &mut y })?;

    // A read returns a pending result: call `.wait()` or `.await` on it.
    let result = queue.read(&y).wait()?;
    println!("2x + 0.5x = {result:?}");
    assert_eq!(result, [2.5, 5.0, 7.5, 10.0]);

    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }

    // A mistake is an error of the call that made it, with the value and the limit.
    let mistake = queue.launch(&saxpy, Grid::groups([1 << 20]), Saxpy { a: 1.0, x: &x, y: &mut y });
    println!("a mistake: {}", mistake.expect_err("more workgroups than any device takes"));
    Ok(())
}
