//! A program calls an algorithm, and imports neither the prelude nor the trait.

use fencepost::{Context, DeviceArray};

fn main() -> fencepost::Result<()> {
    let ctx = Context::new().wait()?;
    let queue = ctx.queue("main");
    let x: DeviceArray<f32> = ctx.zeros([4])?;
    let mut out = ctx.zeros([1])?;
    queue.norm(&x, &mut out)?;
    Ok(())
}
