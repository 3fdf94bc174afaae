//! 15. Computes a step of heat conduction by conjugate gradients. The device ends the loop, and the host verifies it.
//!
//! Run `cargo run --release --example 15_conjugate_gradient -- --side 256`. `--trace FILE.html` shows when each command
//! ran.

#[path = "conjugate_gradient/problem.rs"]
mod problem;
#[path = "conjugate_gradient/solver.rs"]
mod solver;
#[path = "common/trace.rs"]
mod trace;

use anyhow::{Result, ensure};
use clap::Parser;
use fencepost::prelude::*;
use solver::Solver;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Computes the temperatures of a square after a step of heat conduction, with a loop on the device.
#[derive(Parser)]
struct Options {
    /// The number of unknowns along a side of the square
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(8..=2000))]
    side: u32,
    /// Write what every queue did, and when, to a `.html` timeline or a `.json` trace for Perfetto
    #[arg(long, value_name = "FILE", value_parser = trace::file)]
    trace: Option<PathBuf>,
}

const TOLERANCE: f32 = 1e-4; // |r| / |b| at the end
const MOST: u32 = 1000; // iterations

/// The result of a loop. `square` is r . r, by which the device decides.
struct Solution {
    iterations: u32,
    square: f32,
    x: Vec<f32>,
    time: Duration,
}

fn main() -> Result<()> {
    let Options { side, trace } = Options::parse();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let queue = ctx.queue("solver");
    let b = problem::discs(side);
    let mut solver = Solver::new(&ctx, side, &b)?;

    let host = loop_of_the_host(&queue, &mut solver)?;
    let device = loop_of_the_device(&queue, &mut solver)?;
    for (name, Solution { iterations, square, time, .. }) in [("host", &host), ("device", &device)] {
        println!("loop of the {name}: {iterations} iterations, r . r = {square:e}, {time:?}");
    }

    let is_equal = device.iterations == host.iterations && device.square.to_bits() == host.square.to_bits();
    ensure!(is_equal, "the loops differ in their iterations or in r . r");
    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    ensure!(bits(&device.x) == bits(&host.x), "the solutions of the two loops differ");
    // The device updates r in each iteration, so its error grows with the condition of the matrix.
    let allowed = 2.0 * TOLERANCE + (1.0 + 8.0 * problem::RATE) * f32::EPSILON;
    let residual = problem::residual(side, &b, &device.x);
    ensure!(residual <= allowed.into(), "|b - A x| / |b| is {residual}, and at most {allowed} is allowed");
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!(
        "both loops end after {} iterations with the same bits, and |b - A x| is verified on the CPU",
        host.iterations
    );
    Ok(())
}

/// Solves with one replay. The device decides before each iteration; the program waits for nothing until the end.
fn loop_of_the_device(queue: &CommandQueue, solver: &mut Solver) -> Result<Solution> {
    let (graph, (iterations, square, x)) = queue.capture(|c| {
        solver.start(c)?;
        let go = solver.go.clone(); // the body writes the array through its own handle
        let iterations = c.while_(&go, Bound::Chunked(MOST), |body| solver.iteration(body))?;
        Ok((iterations, c.read_as("square", &solver.square)?, c.read_as("x", &solver.x)?))
    })?;
    let begin = Instant::now();
    let run = queue.replay(&graph)?;
    let square = run.read(&square)?;
    let x = run.read(&x)?;
    let x = x.wait()?;
    let time = begin.elapsed();
    ensure!(!run.reached_bound(&iterations)?.wait()?, "{MOST} iterations are too few");
    let square = square.wait()?[0];
    Ok(Solution { iterations: run.iterations(&iterations)?.wait()?, square, x, time })
}

/// Solves with a call for each command and a read of 4 bytes before each iteration.
fn loop_of_the_host(queue: &CommandQueue, solver: &mut Solver) -> Result<Solution> {
    let begin = Instant::now();
    solver.start(queue)?;
    let mut iterations = 0;
    while queue.get(&solver.go, [0]).wait()? != 0 {
        solver.iteration(queue)?;
        iterations += 1;
    }
    let square = queue.read(&solver.square);
    let x = queue.read(&solver.x);
    let x = x.wait()?;
    let time = begin.elapsed();
    Ok(Solution { iterations, square: square.wait()?[0], x, time })
}
