//! 17. Prints from a kernel, and checks its numbers with an assertion.
//!
//! Run `cargo run --example 17_print`. With `-- --trace FILE.html` the file shows when each command ran.

#[path = "common/args.rs"]
mod args;

use anyhow::Result;
use fencepost::prelude::*;

// Replaces each number by its square root, with Newton's method. WGSL has no `print` and no `assert`; Fencepost
// translates both to WGSL. Each `{}` of the text stands for a value.
#[derive(KernelArgs)]
#[kernel(wgsl = "
    @group(0) @binding(0) var<storage, read_write> x: array<f32>;

    @compute @workgroup_size(64)
    fn roots(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x >= arrayLength(&x) { return; }
        let square = x[id.x];
        assert(square >= 0.0, \"x[{}] is {}\", id.x, square);
        var root = max(square, 1.0);
        var steps = 0;
        while abs(root * root - square) > 1e-4 * square && steps < 30 {
            root = 0.5 * (root + square / root);
            steps++;
        }
        if steps > 5 { print(\"{} takes {} steps\", square, steps); }
        x[id.x] = root;
    }
")]
struct Roots<'a> {
    x: &'a mut DeviceArray<f32>,
}

fn main() -> Result<()> {
    let trace = args::trace();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let queue = ctx.queue("main");
    let roots = ctx.kernel::<Roots>()?;

    // The lines come in the order of the invocations, and before the wait returns.
    let mut x = queue.array(&[4.0, 100.0, 9.0, 1e6, 2.0, 1e4])?;
    queue.launch(&roots, Grid::threads([x.len()]), Roots { x: &mut x })?;
    println!("the roots are {:.1?}", queue.read(&x).wait()?);

    // A failed assertion ends the queue, until the program takes the error.
    let mut x = queue.array(&[4.0, 1.0, -1.0, 9.0])?;
    queue.launch(&roots, Grid::threads([x.len()]), Roots { x: &mut x })?;
    let failed = queue.finish().wait().expect_err("a number is negative");
    queue.take_error();
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("a failed assertion: {failed}");
    Ok(())
}
