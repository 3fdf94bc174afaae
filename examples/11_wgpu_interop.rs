//! 11. Orders the program's own wgpu device, buffers, render pass and command buffers with a queue.
//!
//! Run `cargo run --example 11_wgpu_interop`. With `-- --trace FILE.html` the file shows when each command ran.

#[path = "common/args.rs"]
mod args;
#[path = "wgpu_interop/renderer.rs"]
mod renderer;

use anyhow::{Result, ensure};
use fencepost::AdoptOptions;
use fencepost::prelude::*;
use wgpu::BufferUsages as Usages;

// The kernel writes the vertices of a render pipeline.
#[derive(KernelArgs)]
#[kernel(source = "../../examples/wgpu_interop/bars.wgsl")]
struct Bars<'a> {
    full: f32,
    heights: &'a DeviceArray<f32>,
    corners: &'a mut DeviceArray<[f32; 2]>,
}

const WIDTH: u32 = 256; // a row of 256 pixels of 4 bytes is a multiple of 256 bytes, as copies in wgpu require
const HEIGHT: u32 = 64;
const BARS: u32 = 16;
const CORNERS: u32 = 6 * BARS;

fn main() -> Result<()> {
    let trace = args::trace();
    // The program opens its own device. The adapter is the one that a context would open, so that FENCEPOST_ADAPTER
    // selects it. If that is the CPU, which computes without wgpu, the first adapter with a driver draws instead.
    let opened = Context::new().wait()?;
    let own = opened.wgpu().is_some().then(|| opened.info().clone());
    let with_driver = || fencepost::adapters().into_iter().find(|adapter| adapter.backend != "native code");
    let Some(info) = own.or_else(with_driver) else {
        println!("no driver of this machine draws");
        return Ok(());
    };
    drop(opened);
    let (device, queue) = pollster::block_on(renderer::device(&info.name, info.backend))?;
    let pipeline = renderer::pipeline(&device);
    let size = wgpu::Extent3d { width: WIDTH, height: HEIGHT, depth_or_array_layers: 1 };
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: Some("chart"),
        size,
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: renderer::FORMAT,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let buffer = |label, size: u32, usage| {
        let usage = usage | Usages::STORAGE | Usages::COPY_SRC | Usages::COPY_DST; // the usages that an array needs
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: size.into(),
            usage,
            mapped_at_creation: false,
        })
    };
    let vertices = buffer("vertices", CORNERS * 8, Usages::VERTEX);
    let readback = buffer("readback", WIDTH * HEIGHT * 4, Usages::empty());

    // From here on, the program and the context both use the device. All submissions to one wgpu queue run in order.
    let ctx = Context::adopt(device.clone(), queue, AdoptOptions::default())?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let charts = ctx.queue("charts");
    let bars = ctx.kernel::<Bars>()?;
    let mut corners = ctx.array_on::<[f32; 2], 1>(&vertices, [CORNERS as usize])?; // no copy
    let mut pixels = ctx.array_on::<[u8; 4], 2>(&readback, [HEIGHT as usize, WIDTH as usize])?;

    // A kernel writes the vertices, and a render pass reads them. The access list declares the arrays that the commands
    // use, for the queue and the policy.
    let heights: Vec<f32> = (0..BARS).map(|bar| (bar * bar % HEIGHT) as f32).collect();
    let heights = charts.array(&heights)?;
    let grid = Grid::threads([CORNERS]);
    charts.launch(&bars, grid, Bars { full: HEIGHT as f32, heights: &heights, corners: &mut corners })?;
    charts.encode(|encoder, access| {
        renderer::draw(encoder, &pipeline, access.read(&corners)?, &texture);
        Ok(())
    })?;

    // A finished command buffer of the program also takes its place in the order of the queue.
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let layout =
        wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(4 * WIDTH), rows_per_image: None };
    let target = wgpu::TexelCopyBufferInfo { buffer: &readback, layout };
    encoder.copy_texture_to_buffer(texture.as_image_copy(), target, size);
    charts.submit_foreign([encoder.finish()], |access| access.write(&mut pixels).map(drop))?;

    let found = charts.read(&pixels).wait()?;
    for (row, y) in found.chunks(WIDTH as usize).zip((0..HEIGHT).rev()) {
        for (pixel, bar) in row.iter().zip((0..BARS).flat_map(|bar| vec![bar; (WIDTH / BARS) as usize])) {
            let expected = if y < bar * bar % HEIGHT { [255, 0, 0, 255] } else { [0, 0, 0, 255] };
            ensure!(*pixel == expected, "at height {y}, bar {bar} is {pixel:?}, not {expected:?}");
        }
    }
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("{BARS} bars, computed here and drawn by wgpu, are verified on the CPU");
    Ok(())
}
