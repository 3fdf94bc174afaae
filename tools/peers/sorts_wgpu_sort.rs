use std::num::NonZeroU32;
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
