//! 13. Runs eight threads with one shared context and kernel, and a queue and an array for each thread.
//!
//! Run `cargo run --example 13_threads`. With `-- --trace FILE.html` the file shows when each command ran.

#[path = "common/args.rs"]
mod args;

use anyhow::{Result, ensure};
use fencepost::prelude::*;
use std::thread;

// Number of steps from each number to 1. A step halves an even number and replaces an odd n by 3n + 1.
#[derive(KernelArgs)]
#[kernel(wgsl = "
    struct Params { first: u32 }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read_write> steps: array<u32>;

    @compute @workgroup_size(64)
    fn collatz(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x >= arrayLength(&steps) { return; }
        var n = params.first + id.x;
        var count = 0u;
        while n > 1u {
            n = select(n / 2u, 3u * n + 1u, n % 2u == 1u);
            count++;
        }
        steps[id.x] = count;
    }
")]
struct Collatz<'a> {
    first: u32,
    steps: &'a mut DeviceArray<u32>,
}

const THREADS: usize = 8;
const NUMBERS: usize = 1 << 17; // from 159,487 on, some sequences need more than 32 bits
const BLOCK: usize = 2048;

fn main() -> Result<()> {
    let trace = args::trace();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let collatz = ctx.kernel::<Collatz>()?;

    let mut steps = vec![0; NUMBERS];
    thread::scope(|scope| {
        let parts = steps.chunks_mut(NUMBERS / THREADS).enumerate();
        let threads = parts.map(|(at, part)| {
            let ctx = &ctx;
            let collatz = &collatz;
            scope.spawn(move || count(ctx, collatz, at, part))
        });
        let threads: Vec<_> = threads.collect(); // starts all threads before it waits for the first
        threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;

    for (number, &found) in (0..).zip(&steps) {
        let expected = steps_of(number);
        ensure!(found == expected, "{number} takes {expected} steps, and the device counted {found}");
    }
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    let (number, most) =
        steps.iter().enumerate().max_by_key(|(_, steps)| **steps).expect("there are numbers");
    println!(
        "{THREADS} threads, verified on the CPU; of the first {NUMBERS} numbers {number} takes the most steps: {most}"
    );
    Ok(())
}

/// Fills one thread's part of the counts, on its own queue.
fn count(ctx: &Context, collatz: &Kernel<Collatz<'static>>, at: usize, part: &mut [u32]) -> Result<()> {
    let queue = ctx.queue(&format!("thread {at}"));
    let mut steps = ctx.zeros([BLOCK])?;
    let mut reads = Vec::new();
    for first in (at * part.len()..).step_by(BLOCK).take(part.len() / BLOCK) {
        queue.launch(collatz, Grid::threads([BLOCK]), Collatz { first: first as u32, steps: &mut steps })?;
        reads.push(queue.read(&steps)); // returns the bytes at this position in the queue, although the array is reused
    }
    for (block, read) in part.chunks_mut(BLOCK).zip(reads) {
        block.copy_from_slice(&read.wait()?);
    }
    Ok(())
}

fn steps_of(number: u32) -> u32 {
    let next = |n: &u32| (*n > 1).then(|| if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 });
    std::iter::successors(Some(number), next).count() as u32 - 1
}
