use std::time::{Duration, Instant};

use fencepost::prelude::*;

const LAUNCHES: u32 = 1000;
const ROUNDS: usize = 61;

#[derive(KernelArgs)]
#[kernel(wgsl = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn next(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) { y[id.x] = x[id.x] + 1.0; }
}")]
struct Next<'a> {
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

fn main() -> Result<()> {
    let ctx = Context::new().wait()?;
    let queue = ctx.queue("main");
    let next = ctx.kernel::<Next>()?;
    let arrays = [ctx.zeros::<f32, 1>([64])?, ctx.zeros::<f32, 1>([64])?];
    let launches = |queue: &CommandQueue| -> Result<()> {
        for at in 0..LAUNCHES as usize {
            let x = &arrays[at % 2];
            let y = &mut arrays[(at + 1) % 2].clone();
            queue.launch(&next, Grid::threads([64]), Next { x, y })?;
        }
        queue.flush()
    };
    let (graph, ()) = queue.capture(|c| {
        for at in 0..LAUNCHES as usize {
            let x = &arrays[at % 2];
            let y = &mut arrays[(at + 1) % 2].clone();
            c.launch(&next, Grid::threads([64]), Next { x, y })?;
        }
        Ok(())
    })?;
    let read = || queue.read(&arrays[0]).wait();
    launches(&queue)?;
    queue.replay(&graph)?;
    let before = read()?[0];
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let mut timed = |first: usize, work: &dyn Fn() -> Result<()>| -> Result<()> {
            let start = Instant::now();
            work()?;
            times[first].push(start.elapsed());
            read()?;
            times[first + 1].push(start.elapsed());
            Ok(())
        };
        timed(0, &|| launches(&queue))?;
        timed(2, &|| {
            queue.replay(&graph)?;
            queue.flush()
        })?;
    }
    assert_eq!(read()?[0] - before, (2 * ROUNDS as u32 * LAUNCHES) as f32);
    println!("{}", times.map(|mut times| median(&mut times)).join(" "));
    Ok(())
}
