//! The kernel of the product. The struct of the arguments holds the WGSL text, and the compiler compares the two.

use fencepost::prelude::*;

/// `c = a * b` for matrices, tile by tile.
#[derive(KernelArgs)]
#[kernel(wgsl = "
    struct Params { rows: u32, inner: u32, columns: u32 }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read> a: array<f32>;
    @group(0) @binding(2) var<storage, read> b: array<f32>;
    @group(0) @binding(3) var<storage, read_write> c: array<f32>;
    var<workgroup> left: array<array<f32, 16>, 16>;
    var<workgroup> right: array<array<f32, 16>, 16>;
    @compute @workgroup_size(16, 16)
    fn multiply(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_id) at: vec3<u32>) {
        var sum = 0.0;
        for (var tile = 0u; tile < params.inner; tile += 16u) {
            left[at.y][at.x] = 0.0;
            right[at.y][at.x] = 0.0;
            if id.y < params.rows && tile + at.x < params.inner {
                left[at.y][at.x] = a[id.y * params.inner + tile + at.x];
            }
            if tile + at.y < params.inner && id.x < params.columns {
                right[at.y][at.x] = b[(tile + at.y) * params.columns + id.x];
            }
            workgroupBarrier();
            for (var k = 0u; k < 16u; k++) { sum += left[at.y][k] * right[k][at.x]; }
            workgroupBarrier();
        }
        if id.y < params.rows && id.x < params.columns { c[id.y * params.columns + id.x] = sum; }
    }
")]
pub(crate) struct Multiply<'a> {
    pub(crate) rows: u32,
    pub(crate) inner: u32,
    pub(crate) columns: u32,
    pub(crate) a: &'a DeviceArray<f32, 2>,
    pub(crate) b: &'a DeviceArray<f32, 2>,
    pub(crate) c: &'a mut DeviceArray<f32, 2>,
}
