//! A shader uses a file that does not exist.

use fencepost::prelude::*;

#[derive(KernelArgs)]
#[kernel(wgsl = "
//#use \"tools.wgsl\"
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn twice(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x] = 2.0; }
")]
struct Twice<'a> {
    y: &'a mut DeviceArray<f32>,
}

fn main() {}
