//! 1. The whole API in eight lines: a context, a queue, a kernel, two arrays, a launch, a read.
//!
//! `cargo run --example 01_saxpy`; with `-- --trace FILE.html` the file shows what ran when.

#[path = "common/args.rs"]
mod args;

use anyhow::Result;
use fencepost::prelude::*;

// The arguments of a kernel are a struct: references are buffers, plain values are parameters. Names, types and
// access were compared with saxpy.wgsl when this file was compiled; try `x: &'a mut ...` to see what happens.
// The shader is one of the built-in ones; a file `shaders/saxpy.wgsl` of your own package would come first.
#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
struct Saxpy<'a> {
    a: f32,                      // params.a
    x: &'a DeviceArray<f32>,     // var<storage, read> x
    y: &'a mut DeviceArray<f32>, // var<storage, read_write> y
}

fn main() -> Result<()> {
    let trace = args::trace();
    // The best adapter of this machine, or what FENCEPOST_ADAPTER names, by a part of its name or by its number.
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));

    let queue = ctx.queue("main");
    let saxpy = ctx.kernel::<Saxpy>()?; // compiled for this device, checked once more
    let x = queue.array(&[1.0, 2.0, 3.0, 4.0])?; // copied at the call
    let mut y = ctx.zeros([x.len()])?; // type and number of dimensions come from `Saxpy`

    // Enqueued, not run: nothing but a `wait` ever blocks. `threads` rounds up to whole workgroups.
    queue.launch(&saxpy, Grid::threads([y.len()]), Saxpy { a: 2.0, x: &x, y: &mut y })?;
    queue.launch(&saxpy, Grid::threads([y.len()]), Saxpy { a: 0.5, x: &x, y: &mut y })?;

    // A read is a late result: `.wait()` it, or `.await` it.
    let result = queue.read(&y).wait()?;
    println!("2x + 0.5x = {result:?}");
    assert_eq!(result, [2.5, 5.0, 7.5, 10.0]);

    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }

    // Mistakes are errors with the value and the limit, found by the call that made them.
    let mistake = queue.launch(&saxpy, Grid::groups([1 << 20]), Saxpy { a: 1.0, x: &x, y: &mut y });
    println!("a mistake: {}", mistake.expect_err("more workgroups than any device takes"));
    Ok(())
}
