//! 12. Replays a sequence of launches as a closure many times, and measures the time of one launch.
//!
//! Run `cargo run --release --example 12_replay`. With `-- --trace FILE.html` the file shows when each command ran.

#[path = "common/args.rs"]
mod args;

use anyhow::{Result, ensure};
use fencepost::prelude::*;
use std::time::Instant;

// One time step of the temperatures along a rod. The ends keep their temperatures.
#[derive(KernelArgs)]
#[kernel(wgsl = "
    struct Params { rate: f32 }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read> old: array<f32>;
    @group(0) @binding(2) var<storage, read_write> next: array<f32>;

    @compute @workgroup_size(64)
    fn diffuse(@builtin(global_invocation_id) id: vec3<u32>) {
        let i = id.x;
        if i >= arrayLength(&old) { return; }
        let last = arrayLength(&old) - 1u;
        let inner = i > 0u && i < last;
        let bend = old[max(i, 1u) - 1u] - 2.0 * old[i] + old[min(i + 1u, last)];
        next[i] = old[i] + select(0.0, params.rate * bend, inner);
    }
")]
struct Diffuse<'a> {
    rate: f32,
    old: &'a DeviceArray<f32>,
    next: &'a mut DeviceArray<f32>,
}

const POINTS: usize = 256;
const ROUNDS: u32 = 500;
const RATES: [f32; 4] = [0.1, 0.2, 0.3, 0.4]; // rates of the launches of one round

fn main() -> Result<()> {
    let trace = args::trace();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let queue = ctx.queue("rod");
    let diffuse = ctx.kernel::<Diffuse>()?;
    let start: Vec<f32> = (0..POINTS).map(|i| if i < POINTS / 2 { 1.0 } else { 0.0 }).collect();
    let mut a = queue.array(&start)?;
    let mut b = ctx.zeros(&a)?;

    // The closure borrows the kernel and the arrays, and makes the same launches each time. Its result is in `a`,
    // because the number of launches is even.
    let grid = Grid::threads([POINTS]);
    let mut round = |queue: &CommandQueue| -> Result<()> {
        for rates in RATES.chunks(2) {
            queue.launch(&diffuse, grid, Diffuse { rate: rates[0], old: &a, next: &mut b })?;
            queue.launch(&diffuse, grid, Diffuse { rate: rates[1], old: &b, next: &mut a })?;
        }
        Ok(())
    };
    round(&queue)?; // the first round fills the caches for later rounds
    queue.finish().wait()?;

    let begin = Instant::now();
    for _ in 1..ROUNDS {
        round(&queue)?;
    }
    let enqueued = begin.elapsed();
    queue.finish().wait()?;
    let launches = (ROUNDS - 1) * RATES.len() as u32;
    println!("{:?} a launch to enqueue, {:?} in all", enqueued / launches, begin.elapsed() / launches);

    check(start, &queue.read(&a).wait()?)?;
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("{} launches, and the temperatures are verified on the CPU", ROUNDS as usize * RATES.len());
    Ok(())
}

/// Fails unless the same steps in `f64` give the same temperatures.
fn check(start: Vec<f32>, found: &[f32]) -> Result<()> {
    let mut temperatures: Vec<f64> = start.into_iter().map(f64::from).collect();
    for rate in (0..ROUNDS).flat_map(|_| RATES).map(f64::from) {
        let old = temperatures.clone();
        for (new, around) in temperatures[1..].iter_mut().zip(old.windows(3)) {
            *new += rate * (around[0] - 2.0 * around[1] + around[2]);
        }
    }
    for (point, (found, expected)) in found.iter().zip(temperatures).enumerate() {
        ensure!((f64::from(*found) - expected).abs() < 1e-4, "point {point} has {found}, not {expected}");
    }
    Ok(())
}
