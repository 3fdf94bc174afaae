//! The kernel of the launch rows, declared as a user of the library does.

use fencepost::{DeviceArray, KernelArgs};

/// `y = a * x + y`, the same statement as in the shader of the other implementations.
#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
pub struct Saxpy<'a> {
    /// Factor.
    pub a: f32,
    /// Array to multiply.
    pub x: &'a DeviceArray<f32>,
    /// Array to add the product to.
    pub y: &'a mut DeviceArray<f32>,
}
