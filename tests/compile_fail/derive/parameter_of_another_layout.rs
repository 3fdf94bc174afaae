use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

#[derive(KernelArgs)]
#[kernel(crate = fencepost_kernels, wgsl = "
struct Params { turn: mat3x3<f32> }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(64) fn step() { out[0] = params.turn[0][0]; }
")]
struct Step<'a> {
    turn: [[f32; 3]; 3],
    out: &'a mut DeviceArray<f32>,
}

fn main() {}
