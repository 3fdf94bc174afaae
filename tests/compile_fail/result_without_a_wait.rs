//! A program uses a pending result without a wait.

use fencepost::prelude::*;

fn main() -> Result<()> {
    let ctx = Context::new().wait().unwrap();
    let queue = ctx.queue("main");
    let x = ctx.zeros::<f32, 1>([4])?;
    let _: Vec<f32> = queue.read(&x)?;
    Ok(())
}
