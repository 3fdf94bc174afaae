use std::time::{Duration, Instant};

use cubecl::prelude::*;

const LAUNCHES: u32 = 1000;
const ROUNDS: usize = 61;

#[cube(launch)]
fn next(x: &[f32], y: &mut [f32]) {
    if ABSOLUTE_POS < y.len() {
        y[ABSOLUTE_POS] = x[ABSOLUTE_POS] + 1.0;
    }
}

fn main() {
    let client = cubecl::Device::default().client();
    let array = || client.create_from_slice(bytemuck::cast_slice(&[0.0_f32; 64]));
    let arrays = [array(), array()];
    let launches = || {
        for at in 0..LAUNCHES as usize {
            // SAFETY: both have 64 elements.
            let [x, y] =
                [at, at + 1].map(|at| unsafe { BufferArg::from_raw_parts(arrays[at % 2].clone(), 64) });
            next::launch(&client, CubeCount::Static(1, 1, 1), CubeDim::new_1d(64), x, y);
        }
    };
    let read = || bytemuck::cast_slice::<u8, f32>(&client.read_one_unchecked(arrays[0].clone())).to_vec();
    launches();
    read();
    client.graph_prepare().expect("a prepared graph");
    launches();
    read();
    client.start_capture().expect("a capture");
    launches();
    let graph = client.stop_capture().expect("a graph");
    let before = read()[0];
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let mut timed = |first: usize, work: &dyn Fn()| {
            let start = Instant::now();
            work();
            times[first].push(start.elapsed());
            read();
            times[first + 1].push(start.elapsed());
        };
        timed(0, &launches);
        // SAFETY: the arrays of the graph are alive.
        timed(2, &|| unsafe { graph.replay() }.expect("a replay"));
    }
    // The capture may or may not have executed its launches.
    let rounds = (read()[0] - before) / LAUNCHES as f32;
    assert_eq!(rounds, 2.0 * ROUNDS as f32);
    println!("{}", times.map(|mut times| median(&mut times)).join(" "));
}
