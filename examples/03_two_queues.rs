//! 3. Two queues: what orders them, and what happens when nothing does.
//!
//! `cargo run --example 03_two_queues`; with `-- --trace FILE.html` the file shows what ran when.

#[path = "common/args.rs"]
mod args;

use anyhow::Result;
use fencepost::prelude::*;
use fencepost::{ContextOptions, Kind};

#[derive(KernelArgs)]
#[kernel(source = "iota.wgsl")] // out[i] = start + i * step
struct Iota<'a> {
    start: u32,
    step: u32,
    out: &'a mut DeviceArray<u32>,
}

/// One queue writes an array, the other adds to it without being told to wait.
fn write_then_read(ctx: &Context) -> Result<Vec<u32>> {
    let (writer, reader) = (ctx.queue("writer"), ctx.queue("reader"));
    let iota = ctx.kernel::<Iota>()?;
    let mut x = ctx.zeros([4])?;
    writer.launch(&iota, Grid::threads([4]), Iota { start: 10, step: 1, out: &mut x })?;
    Ok(reader.read(&x).wait()?)
}

fn main() -> Result<()> {
    let trace = args::trace();
    // `Ordered`, the default, adds the wait that is missing: right whatever you forget.
    let ordered = Context::new().wait()?;
    println!("running on {}", ordered.info());
    assert_eq!(write_then_read(&ordered)?, [10, 11, 12, 13]);
    println!("ordered: [10, 11, 12, 13]");

    // `Checked` refuses instead, on every run the same, and says which call to add.
    let checked = ContextOptions { policy: Policy::Checked, ..ContextOptions::default() };
    let ctx = Context::with_options(checked).wait()?;
    let trace = trace.map(|file| (ctx.profile(), file));
    let refused = write_then_read(&ctx).expect_err("nothing orders the reader after the writer");
    let error = refused.downcast_ref::<fencepost::Error>().expect("an error of fencepost's");
    assert!(matches!(error.kind(), Kind::Hazard { .. }));
    println!("checked: {error}");

    // With events all policies agree. A diamond: one queue, two that wait for it, and back to the first.
    let (a, b) = (ctx.queue("a"), ctx.queue("b"));
    let iota = ctx.kernel::<Iota>()?;
    let mut whole = ctx.zeros([128])?;
    a.launch(&iota, Grid::threads([128]), Iota { start: 0, step: 1, out: &mut whole })?;
    let filled = a.marker(); // everything enqueued on `a` so far, and nothing later
    b.wait_for(&filled)?; // the device waits, this thread does not

    // The two halves are different bytes: the queues need no order here.
    let half = whole.len() / 2; // 256 bytes, where every adapter lets an argument start
    let (mut low, mut high) = (whole.slice(0..half)?, whole.slice(half..128)?);
    a.launch(&iota, Grid::threads([half]), Iota { start: 100, step: 0, out: &mut low })?;
    b.launch(&iota, Grid::threads([half]), Iota { start: 200, step: 0, out: &mut high })?;

    a.wait_for_queue(&b)?; // marker and wait in one
    let result = a.read(&whole).wait()?;
    assert_eq!((&result[..half], &result[half..]), (&[100; 64][..], &[200; 64][..]));
    println!("diamond: {} and {}", result[0], result[127]);

    // The host can hold work back too, and no other queue is held up meanwhile.
    let gate = ctx.user_event("gate");
    b.wait_for(&gate.event())?;
    b.fill(&mut high, 7)?;
    b.flush()?;
    assert_eq!(a.read(&low).wait()?[0], 100); // `a` goes on
    gate.signal();
    assert_eq!(b.read(&high).wait()?[0], 7);
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("the gate opened");
    Ok(())
}
