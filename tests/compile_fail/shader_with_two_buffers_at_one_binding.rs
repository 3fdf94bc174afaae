//! A shader declares two buffers with the same binding.

use fencepost::prelude::*;

#[derive(KernelArgs)]
#[kernel(wgsl = "
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@group(0) @binding(0) var<storage, read> z: array<f32>;
@compute @workgroup_size(64)
fn twice(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x] = z[id.x]; }
")]
struct Twice<'a> {
    y: &'a mut DeviceArray<f32>,
}

fn main() {}
