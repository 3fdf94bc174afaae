//! 2. Moves bytes with uploads, reads, pinned memory, copies, fills and maps.
//!
//! Run `cargo run --example 02_transfers`. With `-- --trace FILE.html` the file shows when each command ran.

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

    // An upload copies ordinary memory during the call, so the Vec may be dropped at once.
    let mut x: DeviceArray<u32> = ctx.zeros([8])?;
    queue.upload(&vec![1, 2, 3, 4], &mut x.slice(0..4)?)?;

    // A read returns the bytes at its position in the queue. Later commands do not change them.
    let before = queue.read(&x);
    queue.fill(&mut x.slice(4..8)?, 9)?;
    let after = queue.read(&x);
    println!("before {:?}, after {:?}", before.wait()?, after.wait()?);
    assert_eq!(queue.read(&x).wait()?, [1, 2, 3, 4, 9, 9, 9, 9]);

    // Copies accept parts of arrays, which may overlap.
    queue.copy(&x.slice(0..4)?, &mut x.slice(2..6)?)?;
    let mut out = [0; 8];
    queue.read_into(&x, &mut out)?; // blocks, and writes into your own memory
    println!("moved  {out:?}");
    assert_eq!(out, [1, 2, 1, 2, 3, 4, 9, 9]);

    // The device reads pinned memory itself while the program continues. `host_mut` waits until the device has
    // finished with the memory; `try_host_mut` returns `Busy` instead.
    let mut block: HostArray<u32, Upload> = ctx.pinned([8])?;
    let mut result: HostArray<u32, Download> = ctx.pinned([8])?;
    for turn in 0..3 {
        block.host_mut()?.fill(turn);
        queue.upload(&block, &mut x)?;
    }
    queue.download(&x, &mut result)?;
    let last = result.host()?.to_vec(); // waits for the download
    println!("pinned {last:?}");
    assert_eq!(last, [2; 8]);

    // A map gives access to the array itself. Until the guard is dropped, enqueuing the array is an error.
    let mut map = x.map_write().wait()?;
    map[7] = 70;
    println!("mapped: {}", queue.fill(&mut x, 0).expect_err("the array is mapped"));
    drop(map);
    assert_eq!(x.map_read().wait()?[6..], [2, 70]);

    // Shapes are part of the type: two dimensions, in C order. A slice selects rows.
    let rows = x.reshape([4, 2])?;
    assert_eq!(queue.read(&rows.slice(3..4)?).wait()?, [2, 70]);
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("the last row is [2, 70]");
    Ok(())
}
