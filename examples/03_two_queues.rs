//! 3. Uses two queues: shows the calls that order them, and the effect of a missing order.
//!
//! Run `cargo run --example 03_two_queues`. With `-- --trace FILE.html` the file shows when each command ran.

#[path = "common/args.rs"]
mod args;

use anyhow::Result;
use fencepost::prelude::*;
use fencepost::{ContextOptions, ErrorDetail};

#[derive(KernelArgs)]
#[kernel(source = "iota.wgsl")] // out[i] = start + i * step
struct Iota<'a> {
    start: u32,
    step: u32,
    out: &'a mut DeviceArray<u32>,
}

/// Writes an array on one queue and reads it on another, without a wait between them.
fn write_then_read(ctx: &Context) -> Result<Vec<u32>> {
    let writer = ctx.queue("writer");
    let reader = ctx.queue("reader");
    let iota = ctx.kernel::<Iota>()?;
    let mut x = ctx.zeros([4])?;
    writer.launch(&iota, Grid::threads([4]), Iota { start: 10, step: 1, out: &mut x })?;
    Ok(reader.read(&x).wait()?)
}

fn main() -> Result<()> {
    let trace = args::trace();
    // `Ordered`, the default, adds the missing wait, so the result is always correct.
    let ordered = Context::new().wait()?;
    println!("running on {}", ordered.info());
    assert_eq!(write_then_read(&ordered)?, [10, 11, 12, 13]);
    println!("ordered: [10, 11, 12, 13]");

    // `Checked` rejects the call instead, on every run, and names the call to add.
    let checked = ContextOptions::default().policy(Policy::Checked);
    let ctx = Context::with_options(checked).wait()?;
    let trace = trace.map(|file| (ctx.profile(), file));
    let refused = write_then_read(&ctx).expect_err("nothing orders the reader after the writer");
    let error = refused.downcast_ref::<fencepost::Error>().expect("an error of fencepost's");
    assert!(matches!(error.detail(), ErrorDetail::Hazard { .. }));
    println!("checked: {error}");

    // With events all policies give the same result. A diamond: one queue, two queues that wait for it, and
    // back to the first.
    let a = ctx.queue("a");
    let b = ctx.queue("b");
    let iota = ctx.kernel::<Iota>()?;
    let mut whole = ctx.zeros([128])?;
    a.launch(&iota, Grid::threads([128]), Iota { start: 0, step: 1, out: &mut whole })?;
    let filled = a.marker(); // covers everything enqueued on `a` so far, and nothing later
    b.wait_for(&filled)?; // the device waits, this thread does not

    // The two halves are different bytes, so the queues need no order here.
    let half = whole.len() / 2; // 256 bytes, an offset at which every adapter accepts an argument
    let mut low = whole.slice(0..half)?;
    let mut high = whole.slice(half..128)?;
    a.launch(&iota, Grid::threads([half]), Iota { start: 100, step: 0, out: &mut low })?;
    b.launch(&iota, Grid::threads([half]), Iota { start: 200, step: 0, out: &mut high })?;

    a.wait_for(&b)?; // marker and wait in one call
    let result = a.read(&whole).wait()?;
    assert_eq!((&result[..half], &result[half..]), (&[100; 64][..], &[200; 64][..]));
    println!("diamond: {} and {}", result[0], result[127]);

    // The host can hold work of one queue. Other queues are not blocked.
    let gate = ctx.user_event("gate");
    b.wait_for(&gate)?;
    b.fill(&mut high, 7)?;
    b.flush()?;
    assert_eq!(a.read(&low).wait()?[0], 100); // `a` continues
    gate.signal();
    assert_eq!(b.read(&high).wait()?[0], 7);
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("the gate opened");
    Ok(())
}
