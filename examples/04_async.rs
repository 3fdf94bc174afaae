//! 4. Awaits pending results as futures on two executors: pollster's, and one written here in ten lines.
//!
//! Run `cargo run --example 04_async`. With `-- --trace FILE.html` the file shows when each command ran.

#[path = "common/args.rs"]
mod args;

use anyhow::Result;
use fencepost::prelude::*;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use std::thread::Thread;

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
struct Saxpy<'a> {
    a: f32,
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

/// Adds all blocks, halved. The copy of a block overlaps with the work of the host.
async fn overlapped(ctx: &Context, blocks: &[Vec<f32>]) -> Result<Vec<f32>> {
    let copy = ctx.queue("copy");
    let compute = ctx.queue("compute");
    let saxpy = ctx.kernel_with::<Saxpy>(&[("WORKGROUP", 256.0)])?;
    let n = blocks.first().map_or(0, Vec::len);
    let mut staging: HostArray<f32, Upload> = ctx.pinned([n])?;
    let mut x = ctx.zeros([n])?;
    let mut y = ctx.zeros([n])?;

    for block in blocks {
        staging.host_mut()?.copy_from_slice(block);
        copy.upload(&staging, &mut x)?;
        let uploaded = copy.marker();
        compute.wait_for(&uploaded)?; // the device waits, this thread does not
        compute.launch(&saxpy, Grid::threads([n]), Saxpy { a: 0.5, x: &x, y: &mut y })?;
        copy.wait_for(&compute.marker())?; // x is free for the next block
        uploaded.await?; // staging is free for the next block
    }
    Ok(compute.read(&y).await?)
}

/// Polls a future, and parks the thread until the waker unparks it.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn main() -> Result<()> {
    let trace = args::trace();
    let ctx = pollster::block_on(Context::new())?; // opening a device returns a future too
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let blocks: Vec<Vec<f32>> = (0..8).map(|block| vec![block as f32; 1000]).collect();
    let halved = (0..8).sum::<u32>() as f32 / 2.0;

    let sum = pollster::block_on(overlapped(&ctx, &blocks))?;
    assert_eq!(sum, vec![halved; 1000]);
    println!("pollster: {} everywhere", sum[0]);

    let sum = block_on(overlapped(&ctx, &blocks))?;
    assert_eq!(sum, vec![halved; 1000]);
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("by hand:  {} everywhere", sum[0]);
    Ok(())
}
