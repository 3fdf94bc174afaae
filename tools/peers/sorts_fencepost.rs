use std::time::Instant;

use fencepost::algorithms::{Algorithms, Sort};
use fencepost::prelude::*;

fn main() -> Result<()> {
    let ctx = Context::new().wait()?;
    let queue = ctx.queue("main");
    let (given, places) = pairs();
    let mut keys = ctx.array(&given)?;
    let mut values = ctx.array(&places)?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        queue.upload(&given, &mut keys)?;
        queue.upload(&places, &mut values)?;
        queue.finish().wait()?;
        let start = Instant::now();
        queue.sort_pairs_in_place(&mut keys, &mut values, Sort::ascending())?;
        queue.finish().wait()?;
        times.push(start.elapsed());
    }
    assert!(sorted(&queue.read(&keys).wait()?, &queue.read(&values).wait()?));
    println!("{}", median(times));
    Ok(())
}
