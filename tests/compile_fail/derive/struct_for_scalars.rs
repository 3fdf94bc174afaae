use fencepost_derive::KernelArgs;

include!("../../../crates/derive-tests/tests/support/array.rs");

#[derive(KernelArgs)]
#[kernel(crate = fencepost_kernels, wgsl = "
struct Particle { position: vec3<f32>, mass: f32 }
@group(0) @binding(0) var<storage, read_write> particles: array<Particle>;
@compute @workgroup_size(64) fn step() { particles[0].mass = 0.0; }
")]
struct Step<'a> {
    particles: &'a mut DeviceArray<f32>,
}

fn main() {}
