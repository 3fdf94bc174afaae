use std::time::Instant;

use fencepost::algorithms::{Algorithms, Operation};
use fencepost::prelude::*;

fn main() -> Result<()> {
    let ctx = Context::new().wait()?;
    let queue = ctx.queue("main");
    let x = ctx.array(&matrix())?.reshape([ROWS, COLUMNS])?;
    let mut sums = ctx.zeros::<f32, 2>([ROWS, 1])?;
    let mut run = || -> Result<Vec<f32>> {
        queue.reduce(x.axis(1), Operation::Sum, &mut sums)?;
        queue.read(&sums).wait()
    };
    check(&run()?);
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed());
    }
    println!("{}", median(times));
    Ok(())
}
