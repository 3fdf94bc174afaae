//! 9. Builds functions of array libraries from small kernels: sum, running sum, histogram, product, transpose.
//!
//! Run `cargo run --example 09_arrays`. With `-- --trace FILE.html` the file shows when each command ran.

#[path = "common/args.rs"]
mod args;
#[path = "arrays/kernels.rs"]
mod kernels;

use anyhow::{Result, ensure};
use fencepost::prelude::*;
use kernels::{Carry, Count, Multiply, Scan, Sum, Transpose};

/// Returns the sum of an array of at least one number. Each launch reduces 256 numbers to one. The memory of an
/// intermediate array is freed when the work that uses it is done, not when its handle is dropped.
fn sum(ctx: &Context, x: &DeviceArray<u32>) -> Result<Pending<Vec<u32>>> {
    let kernel = ctx.kernel::<Sum>()?; // compiled at the first call, cached for later calls
    let mut x = x.handle();
    while x.len() > 1 {
        let mut sums = ctx.zeros([x.len().div_ceil(256)])?;
        ctx.current_queue().launch(&kernel, Grid::threads([x.len()]), Sum { x: &x, sums: &mut sums })?;
        x = sums;
    }
    Ok(ctx.current_queue().read(&x))
}

/// Replaces the elements of an array by its running sum.
fn scan(ctx: &Context, x: &mut DeviceArray<u32>) -> Result<()> {
    let (scan_blocks, carry) = (ctx.kernel::<Scan>()?, ctx.kernel::<Carry>()?);
    let mut sums = ctx.zeros([x.len().div_ceil(256)])?;
    let grid = Grid::threads([x.len()]);
    ctx.current_queue().launch(&scan_blocks, grid, Scan { x, sums: &mut sums })?;
    if sums.len() > 1 {
        scan(ctx, &mut sums)?;
        ctx.current_queue().launch(&carry, grid, Carry { sums: &sums, x })?;
    }
    Ok(())
}

fn histogram(ctx: &Context, x: &DeviceArray<u32>) -> Result<DeviceArray<u32>> {
    let mut counts = ctx.zeros([64])?;
    ctx.current_queue().launch(
        &ctx.kernel::<Count>()?,
        Grid::threads([x.len()]),
        Count { x, counts: &mut counts },
    )?;
    Ok(counts)
}

fn product(ctx: &Context, a: &DeviceArray<f32, 2>, b: &DeviceArray<f32, 2>) -> Result<DeviceArray<f32, 2>> {
    let ([rows, inner], [height, columns]) = (a.shape(), b.shape());
    ensure!(inner == height, "{rows} by {inner} numbers times {height} by {columns}");
    let mut c = ctx.zeros([rows, columns])?;
    let grid = Grid::threads([columns, rows]); // neighbours along the grid's first dimension are neighbours in memory
    let [m, k, n] = [rows, inner, columns].map(|size| size as u32);
    ctx.current_queue().launch(
        &ctx.kernel::<Multiply>()?,
        grid,
        Multiply { rows: m, inner: k, columns: n, a, b, c: &mut c },
    )?;
    Ok(c)
}

fn transpose(ctx: &Context, x: &DeviceArray<f32, 2>) -> Result<DeviceArray<f32, 2>> {
    let [rows, columns] = x.shape();
    let (mut y, size) = (ctx.zeros([columns, rows])?, [columns as u32, rows as u32]);
    ctx.current_queue().launch(
        &ctx.kernel::<Transpose>()?,
        Grid::threads(size),
        Transpose { size, x, y: &mut y },
    )?;
    Ok(y)
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

    // The calls enqueue in order on the context's default queue. The results can be waited for in any order.
    let x = ctx.array(&numbers)?;
    let total = sum(&ctx, &x)?;
    let counts = ctx.current_queue().read(&histogram(&ctx, &x)?);
    let c = product(&ctx, &a, &b)?;
    let (c, turned) = (ctx.current_queue().read(&c), ctx.current_queue().read(&transpose(&ctx, &c)?));
    let mut running = x;
    scan(&ctx, &mut running)?;
    let running = ctx.current_queue().read(&running).wait()?;

    let totals = numbers.iter().scan(0, |total, x| {
        *total += x;
        Some(*total)
    });
    ensure!(running.iter().copied().eq(totals), "the running sum is wrong");
    ensure!(total.wait()? == running[numbers.len() - 1..], "the sum is wrong");
    let count = |bin: u32| numbers.iter().filter(|x| **x % 64 == bin).count() as u32;
    ensure!(counts.wait()?.into_iter().eq((0..64).map(count)), "the histogram is wrong");
    let cell = |i: usize| (0..45).map(|k| left[i / 100 * 45 + k] * right[k * 100 + i % 100]).sum::<f32>();
    let expected: Vec<f32> = (0..7000).map(cell).collect();
    ensure!(c.wait()? == expected, "the product is wrong");
    let rows = (0..100).flat_map(|column| expected.iter().skip(column).step_by(100));
    ensure!(turned.wait()?.iter().eq(rows), "the transpose is wrong");
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!(
        "sum, running sum, histogram, product and transpose verified on the CPU; the sum is {}",
        running[numbers.len() - 1]
    );
    Ok(())
}
