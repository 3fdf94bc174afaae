//! 2. Moving bytes: uploads, reads, pinned memory, copies, fills and maps.
//!
//! `cargo run --example 02_transfers`; with `-- --trace FILE.html` the file shows what ran when.

#[path = "common/args.rs"]
mod args;

use anyhow::Result;
use fencepost::prelude::*;

fn main() -> Result<()> {
    let trace = args::trace();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let queue = ctx.queue("transfers");

    // Ordinary memory is copied at the call, so the Vec may go at once.
    let mut x: DeviceArray<u32> = ctx.zeros([8])?;
    queue.upload(&vec![1, 2, 3, 4], &mut x.slice(0..4)?)?;

    // A read has the bytes of its place in the queue, whatever is enqueued after it.
    let before = queue.read(&x);
    queue.fill(&mut x.slice(4..8)?, 9)?;
    let after = queue.read(&x);
    println!("before {:?}, after {:?}", before.wait()?, after.wait()?);
    assert_eq!(queue.read(&x).wait()?, [1, 2, 3, 4, 9, 9, 9, 9]);

    // Copies take parts, which may overlap.
    queue.copy(&x.slice(0..4)?, &mut x.slice(2..6)?)?;
    let mut out = [0; 8];
    queue.read_into(&x, &mut out)?; // blocks, into memory of your own
    println!("moved  {out:?}");
    assert_eq!(out, [1, 2, 1, 2, 3, 4, 9, 9]);

    // The device reads pinned memory itself while the program goes on. `write` waits until it is free again,
    // `try_write` says `Busy` instead.
    let mut block: HostArray<u32, Upload> = ctx.pinned([8])?;
    let mut result: HostArray<u32, Download> = ctx.pinned([8])?;
    for turn in 0..3 {
        block.write(|host| host.fill(turn))?;
        queue.upload(&block, &mut x)?;
    }
    queue.download(&x, &mut result)?;
    let last = result.read(|host| host.to_vec())?; // waits for the download
    println!("pinned {last:?}");
    assert_eq!(last, [2; 8]);

    // A map shows the array itself. Until the guard is dropped, enqueuing the array is an error.
    let mut map = x.map_write().wait()?;
    map[7] = 70;
    println!("mapped: {}", queue.fill(&mut x, 0).expect_err("the array is mapped"));
    drop(map);
    assert_eq!(x.map_read().wait()?[6..], [2, 70]);

    // Shapes are part of the type: two dimensions, C order; a slice takes rows.
    let rows = x.reshape([4, 2])?;
    assert_eq!(queue.read(&rows.slice(3..4)?).wait()?, [2, 70]);
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("the last row is [2, 70]");
    Ok(())
}
