//! The kernels of the recipes as functions for the simulator.

use fencepost::{Context, HostBuffer, Result};
use std::sync::Arc;

/// Registers the functions in a context, by the entry points that they stand for.
pub(crate) fn give(ctx: &Context) -> Result<()> {
    ctx.host_kernel("to_grey", Arc::new(to_grey))?;
    ctx.host_kernel("fall", Arc::new(fall))?;
    ctx.host_kernel("times_table", Arc::new(times_table))
}

fn to_grey(_: [u32; 3], _: [u32; 3], _: &[u8], buffers: &mut [HostBuffer<'_>]) {
    let [pixels, grey] = buffers else { panic!("bug: `to_grey` has two buffers") };
    for (pixel, grey) in pixels.bytes().chunks_exact(4).zip(grey.bytes_mut()) {
        let [red, green, blue] = [0, 1, 2].map(|channel| f32::from(pixel[channel]));
        *grey = (0.2126 * red + 0.7152 * green + 0.0722 * blue).round() as u8;
    }
}

fn fall(_: [u32; 3], _: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]) {
    let [balls] = buffers else { panic!("bug: `fall` has one buffer") };
    let seconds: f32 = bytemuck::pod_read_unaligned(&params[..4]);
    for ball in balls.bytes_mut().chunks_exact_mut(8) {
        let [height, speed]: [f32; 2] = bytemuck::pod_read_unaligned(ball);
        ball[..4].copy_from_slice(&(height + seconds * speed).to_ne_bytes());
    }
}

fn times_table(_: [u32; 3], _: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]) {
    let [table] = buffers else { panic!("bug: `times_table` has one buffer") };
    let [columns, _]: [u32; 2] = bytemuck::pod_read_unaligned(&params[..8]);
    for (at, number) in (0..).zip(table.bytes_mut().chunks_exact_mut(4)) {
        number.copy_from_slice(&(at % columns * (at / columns)).to_ne_bytes());
    }
}
