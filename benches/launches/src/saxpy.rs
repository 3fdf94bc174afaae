//! Declares the kernel of the launch rows as a user of the library does.

use fencepost::{DeviceArray, KernelArgs};

/// Computes `y` = `a` times `x` + `y`, the same statement as in the shader of the other implementations.
#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
pub struct Saxpy<'a> {
    /// Holds the factor.
    pub a: f32,
    /// Holds the array that is multiplied.
    pub x: &'a DeviceArray<f32>,
    /// Holds the array that the product is added to.
    pub y: &'a mut DeviceArray<f32>,
}
