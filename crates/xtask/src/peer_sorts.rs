//! The programs of `cargo xtask peers --sorts`: each sorts pairs of a key and a value, waits, and prints the median time in
//! microseconds, or `NaN` if its device gives no sorted keys.

use crate::peer_program::PeerProgram;

pub(crate) const PROGRAMS: [PeerProgram; 2] = [
    PeerProgram {
        name: "fencepost sorts",
        dependencies: r#"fencepost = { path = "{root}/crates/fencepost" }"#,
        main: &[FENCEPOST, PAIRS],
    },
    PeerProgram {
        name: "wgpu_sort",
        dependencies: r#"wgpu_sort = "0.1"
wgpu = "0.19"
bytemuck = "1"
pollster = "0.3""#,
        main: &[WGPU_SORT, PAIRS],
    },
];

pub(crate) const HEAD: &str = "µs for 1,048,576 sorted pairs";

const FENCEPOST: &str = r#"use std::time::Instant;

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
"#;

/// Program on `wgpu_sort`, with the subgroup size that the library's own function finds.
const WGPU_SORT: &str = r#"use std::num::NonZeroU32;
use std::time::Instant;

use wgpu_sort::{GPUSorter, utils::download_buffer, utils::guess_workgroup_size};

fn main() {
    pollster::block_on(measure());
}

async fn measure() {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::VULKAN,
        ..Default::default()
    });
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        ..Default::default()
    };
    let adapter = instance.request_adapter(&options).await.expect("an adapter");
    let (device, queue) = adapter.request_device(&Default::default(), None).await.expect("a device");
    let (given, places) = pairs();
    let length = NonZeroU32::new(given.len() as u32).expect("there are pairs");
    let Some(subgroup) = guess_workgroup_size(&device, &queue).await else {
        println!("NaN");
        return;
    };
    let sorter = GPUSorter::new(&device, subgroup);
    let buffers = sorter.create_sort_buffers(&device, length);
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        queue.write_buffer(buffers.keys(), 0, bytemuck::cast_slice(&given));
        queue.write_buffer(buffers.values(), 0, bytemuck::cast_slice(&places));
        queue.submit([]);
        device.poll(wgpu::Maintain::Wait);
        let start = Instant::now();
        let mut encoder = device.create_command_encoder(&Default::default());
        sorter.sort(&mut encoder, &queue, &buffers, None);
        queue.submit([encoder.finish()]);
        device.poll(wgpu::Maintain::Wait);
        times.push(start.elapsed());
    }
    let keys = download_buffer::<u32>(buffers.keys(), &device, &queue, 0..buffers.keys_valid_size()).await;
    let values = download_buffer::<u32>(buffers.values(), &device, &queue, ..).await;
    println!("{}", if sorted(&keys, &values) { median(times) } else { f64::NAN });
}
"#;

/// Common end of both programs: it makes the pairs, checks the sorted ones, and computes the median time.
const PAIRS: &str = r#"
const LENGTH: u32 = 1 << 20;
const ROUNDS: usize = 15;

fn pairs() -> (Vec<u32>, Vec<u32>) {
    ((0..LENGTH).map(|at| at.wrapping_mul(0x9e37_79b1)).collect(), (0..LENGTH).collect())
}

fn sorted(keys: &[u32], values: &[u32]) -> bool {
    let (given, _) = pairs();
    let of_key = |(key, value): (&u32, &u32)| given.get(*value as usize) == Some(key);
    keys.len() == given.len() && keys.is_sorted() && keys.iter().zip(values).all(of_key)
}

fn median(mut times: Vec<std::time::Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}
"#;
