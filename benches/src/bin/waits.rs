//! Measures whether a wait takes longer when many threads wait at once.
//!
//! Run `cargo run --release -p fencepost-benches --bin waits -- [largest number of threads]`, on the adapter of
//! `FENCEPOST_ADAPTER`. Each thread has a queue of its own: it launches 30 kernels, copies the result on a fork of the
//! queue and reads it. The numbers of threads take turns in one run, and the figures are medians.

use std::time::{Duration, Instant};

use anyhow::Result;
use fencepost::Kernel;
use fencepost::prelude::*;
use fencepost_launches::saxpy::Saxpy;

/// Largest number of threads, if no argument gives it.
const THREADS: usize = 32;
/// Measurements of each number of threads.
const ROUNDS: usize = 9;
/// Waits of each thread in a round.
const WAITS: usize = 50;
/// Number of launches before a wait.
const LAUNCHES: usize = 30;
const N: usize = 64;

fn main() -> Result<()> {
    let most = std::env::args().nth(1).map_or(Ok(THREADS), |text| text.parse())?;
    let ctx = Context::new().wait()?;
    let kernel = ctx.kernel::<Saxpy>()?;
    let numbers: Vec<usize> = (0..).map(|power| 1 << power).take_while(|&threads| threads <= most).collect();
    let mut times = vec![Vec::new(); numbers.len()];
    for _ in 0..ROUNDS {
        for (&threads, times) in numbers.iter().zip(&mut times) {
            times.push(round(&ctx, &kernel, threads)?);
        }
    }
    println!("{}: {LAUNCHES} launches, a copy and a read for each wait", ctx.info());
    println!("threads  us a wait      x");
    let mut of_one = None;
    for (threads, times) in numbers.iter().zip(&mut times) {
        times.sort();
        // The threads share the device, so a wait's time is its share of the round.
        let time = times[ROUNDS / 2].as_secs_f64() * 1e6 / (threads * WAITS) as f64;
        println!("{threads:7} {time:10.2} {:6.2}", time / *of_one.get_or_insert(time));
    }
    Ok(())
}

/// Returns the time of the waits of a number of threads, all at once.
fn round(ctx: &Context, kernel: &Kernel<Saxpy<'static>>, threads: usize) -> Result<Duration> {
    let start = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| waits(ctx, kernel))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("the thread of waits must not panic"))
    })?;
    Ok(start.elapsed())
}

/// Does the waits of one thread.
fn waits(ctx: &Context, kernel: &Kernel<Saxpy<'static>>) -> Result<()> {
    let queue = ctx.queue("waits");
    let x: DeviceArray<f32> = ctx.zeros([N])?;
    let mut y: DeviceArray<f32> = ctx.zeros([N])?;
    let mut copy: DeviceArray<f32> = ctx.zeros([N])?;
    for _ in 0..WAITS {
        for _ in 0..LAUNCHES {
            queue.launch(kernel, Grid::threads([N]), Saxpy { a: 2.0, x: &x, y: &mut y })?;
        }
        let side = queue.fork("side");
        side.copy(&y, &mut copy)?;
        queue.wait_for(&side)?;
        queue.read(&copy).wait()?;
    }
    Ok(())
}
