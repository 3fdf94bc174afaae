//! Structs that the derive accepts.
#![allow(dead_code, reason = "the arguments are made, and no kernel is given them")]

use fencepost_derive::KernelArgs;

include!("../support/array.rs");

use fencepost_kernels::Element;

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", entry = "saxpy", crate = fencepost_kernels)]
struct Saxpy<'a> {
    a: f32,
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", T = [f32, u32, i32], crate = ::fencepost_kernels)]
struct Generic<'x, 'y, T: Element> {
    a: T,
    x: &'x DeviceArray<T>,
    y: &'y mut DeviceArray<T>,
}

type Alias = DeviceArray<u32>;

#[derive(KernelArgs)]
#[kernel(source = "mix.wgsl", crate = fencepost_kernels)]
struct Mix<'a> {
    a: u32,
    b: u32,
    x: &'a Alias,
    y: &'a mut Alias,
}

#[derive(KernelArgs)]
#[kernel(
    wgsl = "@group(0) @binding(0) var<storage, read_write> done: array<vec4<f32>>;
            @compute @workgroup_size(1) fn only() { done[0] = vec4f(1.0); }",
    crate = fencepost_kernels
)]
struct Inline<'a> {
    done: &'a mut DeviceArray<[f32; 4]>,
}

#[derive(KernelArgs)]
#[kernel(wgsl = "@compute @workgroup_size(1) fn nothing() {}", crate = fencepost_kernels)]
struct Nothing;

#[test]
fn the_derive_accepts_structs_of_every_form() {
    let x = DeviceArray(vec![1.0f32]);
    let mut y = DeviceArray(vec![2.0f32]);
    let _ = Saxpy { a: 1.0, x: &x, y: &mut y };
    let _ = Generic { a: 1.0, x: &x, y: &mut y };
    let x = DeviceArray(vec![1u32]);
    let mut y = DeviceArray(vec![2u32]);
    let _ = Mix { a: 1, b: 2, x: &x, y: &mut y };
    let _ = Inline { done: &mut DeviceArray(vec![[0.0; 4]]) };
    let _ = Nothing;
}
