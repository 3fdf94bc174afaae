//! 18. Draws the speeds of particles of a gas, and shows their histogram next to Maxwell's curve.
//!
//! Run `cargo run --example 18_particles`. With `-- --trace FILE.html` the file shows when each command ran.

#[path = "common/args.rs"]
mod args;

use anyhow::{Result, ensure};
use fencepost::prelude::*;
use std::f64::consts::PI;

const PARTICLES: usize = 500_000;
const BINS: usize = 24;
const MOST: f32 = 4.8;
/// Width of the picture at the highest bin.
const COLUMNS: f64 = 60.0;

/// Enqueues the squares of normal numbers as the squared speeds along an axis, and adds them to `squares`.
fn add_axis(queue: &CommandQueue, axis: u64, squares: &mut DeviceArray<f32>) -> Result<()> {
    let mut speeds = queue.empty([PARTICLES])?;
    let mut sum = queue.empty([PARTICLES])?;
    queue.fill_random(&mut speeds, Philox::seed(18).stream(axis), Normal { mean: 0.0, deviation: 1.0 })?;
    queue.zip(&speeds, squares, "x * x + y", &mut sum)?;
    Ok(queue.copy(&sum, squares)?)
}

fn main() -> Result<()> {
    let trace = args::trace();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let queue = ctx.queue("main");

    let mut squares = queue.zeros([PARTICLES])?;
    for axis in 0..3 {
        add_axis(&queue, axis, &mut squares)?;
    }
    let mut speeds = queue.empty([PARTICLES])?;
    let mut counts = queue.empty([BINS])?;
    queue.map(&squares, "sqrt(x)", &mut speeds)?;
    queue.histogram(&speeds, Bins::even(0.0..MOST), &mut counts)?;
    let mean = queue.value_of(|out| queue.mean(&speeds, out));
    let fastest = queue.value_of(|out| queue.argmax(&speeds, out));
    let counts = queue.read(&counts).wait()?;
    let speeds = queue.read(&speeds).wait()?;
    let mean = f64::from(mean.wait()?);
    let fastest = fastest.wait()?;

    let width = f64::from(MOST) / BINS as f64;
    let expected = |bin: usize| {
        let speed = (bin as f64 + 0.5) * width;
        PARTICLES as f64 * width * (2.0 / PI).sqrt() * speed * speed * (-speed * speed / 2.0).exp()
    };
    let highest = (0..BINS).map(expected).fold(0.0, f64::max);
    for (bin, count) in counts.iter().enumerate() {
        let column = |count: f64| (count / highest * COLUMNS).round() as usize;
        let bar = "#".repeat(column((*count).into()));
        let curve = column(expected(bin));
        let mut line: Vec<char> = format!("{bar:70}").chars().collect();
        line[curve] = '|';
        println!("{:4.1}  {}", bin as f64 * width, line.iter().collect::<String>().trim_end());
    }

    let edges: Vec<f32> =
        (0..=BINS).map(|bin| (f64::from(MOST) * (bin as f64 / BINS as f64)) as f32).collect();
    let mut sorted = speeds.clone();
    sorted.sort_by(f32::total_cmp);
    let below: Vec<usize> = edges.iter().map(|edge| sorted.partition_point(|speed| speed < edge)).collect();
    let expected = below.windows(2).map(|ends| (ends[1] - ends[0]) as u32);
    ensure!(counts.iter().copied().eq(expected), "a count is wrong");
    let first = speeds.iter().position(|speed| Some(speed) == sorted.last());
    ensure!(first == Some(fastest as usize), "another particle is the fastest one");
    let curve = (8.0 / PI).sqrt();
    // The deviation of a speed is 0.67, so the mean's is 0.67 divided by the root of the number of particles.
    ensure!((mean - curve).abs() < 6.0 * 0.67 / (PARTICLES as f64).sqrt(), "the mean speed is {mean}");
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!(
        "the counts of {PARTICLES} particles are verified on the CPU; the mean speed is {mean:.3}, on the curve {curve:.3}"
    );
    Ok(())
}
