//! 5. Double-buffers: one queue uploads block n+1 while another computes on block n. Only events order them.
//!
//! Run `cargo run --release --example 05_double_buffer`. With `-- --trace FILE.html` the file shows when each
//! command ran.

#[path = "common/args.rs"]
mod args;

use anyhow::Result;
use fencepost::prelude::*;
use fencepost::{ContextOptions, Event};

#[derive(KernelArgs)]
#[kernel(source = "mix.wgsl")] // y[i] = y[i] * a + x[i] + b, wrapping: the result depends on the order of the blocks
struct Mix<'a> {
    a: u32,
    b: u32,
    x: &'a DeviceArray<u32>,
    y: &'a mut DeviceArray<u32>,
}

const N: usize = 4096;
const BLOCKS: u32 = 200;

/// One of the two buffers, with the events that complete when each queue has finished with it.
struct Slot {
    staging: HostArray<u32, Upload>,
    x: DeviceArray<u32>,
    uploaded: Event,
    used: Event,
}

impl Slot {
    /// Makes a slot. An event that was never recorded is complete, so the first turn waits for nothing.
    fn new(ctx: &Context) -> Result<Self> {
        let staging = ctx.pinned([N])?;
        let x = ctx.zeros([N])?;
        Ok(Self { staging, x, uploaded: ctx.event(), used: ctx.event() })
    }
}

fn value(block: u32, i: usize) -> u32 {
    block.wrapping_mul(2_654_435_761) ^ i as u32
}

fn main() -> Result<()> {
    let trace = args::trace();
    // `Checked` proves that the events below are sufficient: a missing wait would be an error.
    let options = ContextOptions::default().policy(Policy::Checked);
    let ctx = Context::with_options(options).wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let mix = ctx.kernel::<Mix>()?;
    let mut y = ctx.zeros([N])?;
    let mut slots = [Slot::new(&ctx)?, Slot::new(&ctx)?];
    let copy = ctx.queue("copy");
    let compute = ctx.queue("compute");

    for block in 0..BLOCKS {
        let slot = &mut slots[block as usize % 2];
        // Blocks only while the upload of two blocks ago is pending.
        slot.staging.host_mut()?.iter_mut().enumerate().for_each(|(i, x)| *x = value(block, i));
        copy.wait_for(&slot.used)?; // the kernel of two blocks ago has read x
        copy.upload(&slot.staging, &mut slot.x)?;
        slot.uploaded.record(&copy)?;
        compute.wait_for(&slot.uploaded)?;
        compute.launch(&mix, Grid::threads([N]), Mix { a: 3, b: block, x: &slot.x, y: &mut y })?;
        slot.used.record(&compute)?;
    }

    let result = compute.read(&y).wait()?;
    let expected = |i| {
        let step = |y: u32, block| y.wrapping_mul(3).wrapping_add(value(block, i)).wrapping_add(block);
        (0..BLOCKS).fold(0, step)
    };
    assert!(
        result.iter().enumerate().all(|(i, y)| *y == expected(i)),
        "a block was lost or came out of order"
    );
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("{BLOCKS} blocks of {N} numbers, all in order; y[0] = {}", result[0]);
    Ok(())
}
