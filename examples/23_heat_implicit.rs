//! 23. Computes heat in a plate by implicit steps in alternating directions: tridiagonal systems, then a transpose.
//!
//! Run `cargo run --release --example 23_heat_implicit -- --picture heat.png`. `--trace FILE.html` shows when each
//! command ran.

#[path = "common/outputs.rs"]
mod outputs;
#[path = "heat_implicit/plate.rs"]
mod plate;

use anyhow::{Result, ensure};
use clap::{Parser, value_parser};
use fencepost::prelude::*;
use outputs::Outputs;
use plate::{Plate, TIME};
use std::time::Instant;

/// Computes heat in a plate, with time steps that are too long for an explicit method.
#[derive(Parser)]
struct Options {
    /// The number of unknowns along a side of the plate
    #[arg(long, default_value_t = 511, value_parser = value_parser!(u32).range(31..=2047))]
    side: u32,
    /// The number of time steps, which all together last 0.05
    #[arg(long, default_value_t = 64, value_parser = value_parser!(u32).range(4..=1000))]
    steps: u32,
    #[command(flatten)]
    outputs: Outputs,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/heat_implicit/half_step.wgsl")]
struct HalfStep<'a> {
    u: &'a DeviceArray<f32, 2>,
    factors: &'a DeviceArray<f32>,
    next: &'a mut DeviceArray<f32, 2>,
}

fn main() -> Result<()> {
    let Options { side, steps, outputs: Outputs { picture, trace } } = Options::parse();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let queue = ctx.queue("heat");
    let half_step = ctx.kernel::<HalfStep>()?;

    let side = side as usize;
    let plate = Plate { side, steps };
    let first: Vec<f32> = plate.temperatures(0.0).into_iter().map(|u| u as f32).collect();
    let mut u = queue.array(&first)?.reshape([side, side])?;
    let factors = queue.array(&plate.factors())?;

    // A step. After each half, the rows become columns, so the next half is implicit along the other direction.
    let columns = Grid::threads([side]);
    let (graph, ()) = queue.capture(|c| {
        let mut next = c.empty(&u)?;
        for _ in 0..2 {
            c.launch(&half_step, columns, HalfStep { u: &u, factors: &factors, next: &mut next })?;
            c.transpose(&next, &mut u)?;
        }
        Ok(())
    })?;

    // All steps are enqueued before the first result is ready.
    let begin = Instant::now();
    let mut looks = Vec::new();
    for step in 1..=steps {
        queue.replay(&graph)?;
        if step.is_power_of_two() {
            looks.push((step, queue.value_of(|out| queue.max(&u, out))));
        }
    }
    let last = queue.read(&u);
    for (step, highest) in looks {
        println!("step {step}: the highest temperature is {:.4}", highest.wait()?);
    }
    let last = last.wait()?;
    println!("{steps} steps in {:?}", begin.elapsed());
    println!("a step is {:.0} times as long as an explicit method allows", 4.0 * plate.ratio());

    let bound = plate.bound();
    let mut largest = 0.0_f64;
    for (cell, (&found, exact)) in last.iter().zip(plate.temperatures(TIME)).enumerate() {
        let error = (f64::from(found) - exact).abs();
        ensure!(
            error <= bound,
            "cell {cell} has {found}, not {exact}: an error of at most {bound:e} is allowed"
        );
        largest = largest.max(error);
    }
    println!("the largest error is {largest:.1e}, and at most {bound:.1e} is allowed");
    plate::draw(side, [&first, &last]).save(&picture)?;
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("{steps} steps of {side} by {side} cells, verified on the CPU, drawn in {}", picture.display());
    Ok(())
}
