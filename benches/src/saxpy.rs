//! The kernel of the launch rows, as a user of the library declares it.

use fencepost::{DeviceArray, KernelArgs};

/// `y` = `a` times `x` + `y`: the same statement as in the shader that the others compile.
#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
pub struct Saxpy<'a> {
    /// The factor.
    pub a: f32,
    /// What is multiplied.
    pub x: &'a DeviceArray<f32>,
    /// What is added to.
    pub y: &'a mut DeviceArray<f32>,
}
