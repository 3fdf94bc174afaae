// sums[g] = the sum of the elements of workgroup g
//
// sum_stride: the workgroups of the grid alternate along the array, a row of invocations at a time
// sum_block: each workgroup has a contiguous block of the array
//
// Dispatch   one workgroup for each sum; the elements are a multiple of the invocations of the grid
// Workgroup  [256, 1, 1]
// Barriers   one in each step of the tree
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> sums: array<f32>;

var<workgroup> partial: array<f32, 256>;

fn reduce(own: f32, local: u32, group: u32) {
    partial[local] = own;
    for (var half = 128u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if local < half { partial[local] += partial[local + half]; }
    }
    if local == 0u { sums[group] = partial[0]; }
}

@compute @workgroup_size(256)
fn sum_stride(
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let stride = groups.x * 256u;
    var own = 0.0;
    for (var i = group.x * 256u + local; i < arrayLength(&x); i += stride) { own += x[i]; }
    reduce(own, local, group.x);
}

@compute @workgroup_size(256)
fn sum_block(
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let block = arrayLength(&x) / groups.x;
    var own = 0.0;
    for (var i = local; i < block; i += 256u) { own += x[group.x * block + i]; }
    reduce(own, local, group.x);
}
