//! 6. Simulates two galaxies: a loop of time steps, energies that are read while it runs, and a picture of the end.
//!
//! Run `cargo run --release --example 06_nbody -- --picture galaxies.png`. `--trace FILE.html` shows when each
//! command ran.

#[path = "nbody/check.rs"]
mod check;
#[path = "nbody/galaxies.rs"]
mod galaxies;
#[path = "common/outputs.rs"]
mod outputs;

use anyhow::Result;
use bytemuck::{Pod, Zeroable};
use clap::Parser;
use fencepost::prelude::*;
use outputs::Outputs;

// The compiler compares `Body` with the shader's `Body`: WGSL aligns a vec3 to a multiple of 16 bytes.
#[derive(Clone, Copy, Pod, Zeroable, Element)]
#[repr(C)]
struct Body {
    position: [f32; 3],
    mass: f32,
    velocity: [f32; 3],
    _padding: [u8; 4],
}

// The path starts at the package of the example. Both shaders have `//#use "body.wgsl"`, a file in the same folder.
#[derive(KernelArgs)]
#[kernel(source = "../../examples/nbody/step.wgsl")]
struct Step<'a> {
    dt: f32,
    old: &'a DeviceArray<Body>,
    next: &'a mut DeviceArray<Body>,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/nbody/energy.wgsl")]
struct Energy<'a> {
    bodies: &'a DeviceArray<Body>,
    energies: &'a mut DeviceArray<f32>,
}

const BODIES: usize = 1024;
const STEPS: usize = 250;
const EVERY: usize = 50; // steps between two reads of the energies
const DT: f32 = 0.015;
const SOFTENING: f64 = 0.15;

fn main() -> Result<()> {
    let Outputs { picture, trace } = Outputs::parse();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let queue = ctx.queue("simulation");
    let step = ctx.kernel_with::<Step>(&[("SOFTENING", SOFTENING)])?;
    let energy = ctx.kernel_with::<Energy>(&[("SOFTENING", SOFTENING)])?;

    let mut old = queue.array(&galaxies::bodies())?;
    let mut next = ctx.zeros(&old)?;
    let mut energies = ctx.zeros([BODIES])?;
    let grid = Grid::threads([BODIES]);

    // The whole loop is enqueued before the first result is ready. A read returns the bytes at its position
    // in the queue.
    let mut looks = Vec::new();
    for steps in 1..=STEPS {
        queue.launch(&step, grid, Step { dt: DT, old: &old, next: &mut next })?;
        if steps % EVERY == 0 {
            queue.launch(&energy, grid, Energy { bodies: &next, energies: &mut energies })?;
            looks.push((steps, queue.read(&old), queue.read(&next), queue.read(&energies)));
        }
        std::mem::swap(&mut old, &mut next);
    }
    let end = queue.marker();
    queue.flush()?;

    let mut last = Vec::new();
    for (steps, before, after, energies) in looks {
        let energies = energies.wait()?;
        let rest = if end.is_complete()? { "all is done" } else { "the rest is running" };
        println!("step {steps}: energy {:.5}; {rest}", energies.iter().sum::<f32>());
        last = after.wait()?;
        check::check(&before.wait()?, &last, &energies)?;
    }
    galaxies::draw(&last).save(&picture)?;
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!(
        "{STEPS} steps of {BODIES} bodies, every {EVERY}th verified on the CPU, drawn in {}",
        picture.display()
    );
    Ok(())
}
