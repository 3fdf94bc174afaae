//! 9. Computes with the functions that users of array libraries know: sum, running sum, histogram, product, transpose.
//!
//! Run `cargo run --example 09_arrays`. With `-- --trace FILE.html` the file shows when each command ran.

#[path = "common/args.rs"]
mod args;

use anyhow::{Result, ensure};
use fencepost::prelude::*;

/// Results that the program waits for when it needs them.
struct Results {
    total: Pending<u32>,
    running: Pending<Vec<u32>>,
    counts: Pending<Vec<u32>>,
    product: Pending<Vec<f32>>,
    turned: Pending<Vec<f32>>,
}

/// Enqueues all work in order on one queue.
fn compute(
    queue: &CommandQueue,
    x: &DeviceArray<u32>,
    a: &DeviceArray<f32, 2>,
    b: &DeviceArray<f32, 2>,
) -> Result<Results> {
    let mut running = queue.empty([x.len()])?;
    let mut counts = queue.empty([64])?;
    queue.scan(x, &mut running, Scan::inclusive(Operation::Sum))?;
    queue.histogram(x, Bins::modulo(), &mut counts)?;
    let [rows, _] = a.shape();
    let [_, columns] = b.shape();
    let mut product = queue.empty([rows, columns])?;
    queue.matmul(a, b, &mut product, Matmul::default())?;
    let mut turned = queue.empty([columns, rows])?;
    queue.transpose(&product, &mut turned)?;
    Ok(Results {
        total: queue.value_of(|out| queue.sum(x, out)),
        running: queue.read(&running),
        counts: queue.read(&counts),
        product: queue.read(&product),
        turned: queue.read(&turned),
    })
}

fn main() -> Result<()> {
    let trace = args::trace();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let mut random = fastrand::Rng::with_seed(9);
    let numbers: Vec<u32> = (0..100_000).map(|_| random.u32(..1000)).collect();
    let mut matrix = |rows: usize, columns: usize| -> Result<_> {
        let elements: Vec<f32> = (0..rows * columns).map(|_| random.i8(-9..10).into()).collect();
        Ok((ctx.array(&elements)?.reshape([rows, columns])?, elements))
    };
    let ((a, left), (b, right)) = (matrix(70, 45)?, matrix(45, 100)?);

    let results = compute(&ctx.queue("main"), &ctx.array(&numbers)?, &a, &b)?;

    // The program can wait for the results in any order.
    let running = results.running.wait()?;
    let mut sum = 0;
    let sums = numbers.iter().map(|number| {
        sum += number;
        sum
    });
    ensure!(running.iter().copied().eq(sums), "the running sum is wrong");
    let total = results.total.wait()?;
    ensure!(total == numbers.iter().sum::<u32>(), "the sum is wrong");
    let count = |bin: u32| numbers.iter().filter(|x| **x % 64 == bin).count() as u32;
    ensure!(results.counts.wait()?.into_iter().eq((0..64).map(count)), "the histogram is wrong");
    let cell = |i: usize| (0..45).map(|k| left[i / 100 * 45 + k] * right[k * 100 + i % 100]).sum::<f32>();
    let expected: Vec<f32> = (0..7000).map(cell).collect();
    ensure!(results.product.wait()? == expected, "the product is wrong");
    let rows = (0..100).flat_map(|column| expected.iter().skip(column).step_by(100));
    ensure!(results.turned.wait()?.iter().eq(rows), "the transpose is wrong");
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("sum, running sum, histogram, product and transpose verified on the CPU; the sum is {total}");
    Ok(())
}
