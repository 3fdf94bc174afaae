//! Defines the kernels. The struct of the arguments holds the WGSL text, and the compiler compares the two.

use fencepost::prelude::*;

/// Adds each 256 numbers, by halves.
#[derive(KernelArgs)]
#[kernel(wgsl = "
    @group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> sums: array<u32>;
    var<workgroup> part: array<u32, 256>;
    @compute @workgroup_size(256)
    fn sum(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) i: u32) {
        if id.x < arrayLength(&x) { part[i] = x[id.x]; }
        for (var half = 128u; half > 0u; half /= 2u) {
            workgroupBarrier();
            if i < half { part[i] += part[i + half]; }
        }
        if i == 0u { sums[id.x / 256u] = part[0]; }
    }
")]
pub(crate) struct Sum<'a> {
    pub(crate) x: &'a DeviceArray<u32>,
    pub(crate) sums: &'a mut DeviceArray<u32>,
}

/// Computes the running sum inside of each 256 numbers, and their sum.
#[derive(KernelArgs)]
#[kernel(wgsl = "
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> sums: array<u32>;
    var<workgroup> part: array<u32, 256>;
    @compute @workgroup_size(256)
    fn scan(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) i: u32) {
        if id.x < arrayLength(&x) { part[i] = x[id.x]; }
        for (var reach = 1u; reach < 256u; reach *= 2u) {
            workgroupBarrier();
            let before = select(0u, part[max(i, reach) - reach], i >= reach);
            workgroupBarrier();
            part[i] += before;
        }
        if id.x < arrayLength(&x) { x[id.x] = part[i]; }
        if i == 255u { sums[id.x / 256u] = part[255]; }
    }
")]
pub(crate) struct Scan<'a> {
    pub(crate) x: &'a mut DeviceArray<u32>,
    pub(crate) sums: &'a mut DeviceArray<u32>,
}

/// Adds to each 256 numbers the running sum of the numbers before them.
#[derive(KernelArgs)]
#[kernel(wgsl = "
    @group(0) @binding(0) var<storage, read> sums: array<u32>;
    @group(0) @binding(1) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(256)
    fn carry(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x >= 256u && id.x < arrayLength(&x) { x[id.x] += sums[id.x / 256u - 1u]; }
    }
")]
pub(crate) struct Carry<'a> {
    pub(crate) sums: &'a DeviceArray<u32>,
    pub(crate) x: &'a mut DeviceArray<u32>,
}

/// Counts numbers by their last six bits: first in each workgroup, then over all workgroups.
#[derive(KernelArgs)]
#[kernel(wgsl = "
    @group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>>;
    var<workgroup> own: array<atomic<u32>, 64>;
    @compute @workgroup_size(64)
    fn count(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) i: u32) {
        if id.x < arrayLength(&x) { atomicAdd(&own[x[id.x] % 64u], 1u); }
        workgroupBarrier();
        atomicAdd(&counts[i], atomicLoad(&own[i]));
    }
")]
pub(crate) struct Count<'a> {
    pub(crate) x: &'a DeviceArray<u32>,
    pub(crate) counts: &'a mut DeviceArray<u32>,
}

/// Multiplies two matrices, tile by tile.
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

/// Transposes a matrix, tile by tile. Neighbouring invocations read and write neighbouring elements.
#[derive(KernelArgs)]
#[kernel(wgsl = "
    struct Params { size: vec2<u32> } // columns and rows of x
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read> x: array<f32>;
    @group(0) @binding(2) var<storage, read_write> y: array<f32>;
    var<workgroup> tile: array<array<f32, 17>, 16>;
    @compute @workgroup_size(16, 16)
    fn transpose(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) at: vec3<u32>) {
        let source = group.xy * 16u + at.xy;
        if all(source < params.size) { tile[at.y][at.x] = x[source.y * params.size.x + source.x]; }
        workgroupBarrier();
        let place = group.yx * 16u + at.xy;
        if all(place < params.size.yx) { y[place.y * params.size.y + place.x] = tile[at.x][at.y]; }
    }
")]
pub(crate) struct Transpose<'a> {
    pub(crate) size: [u32; 2],
    pub(crate) x: &'a DeviceArray<f32, 2>,
    pub(crate) y: &'a mut DeviceArray<f32, 2>,
}
