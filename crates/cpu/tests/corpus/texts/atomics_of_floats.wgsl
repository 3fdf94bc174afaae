// expect: runs
@group(0) @binding(0) var<storage, read_write> out: array<atomic<f32>>;

@compute @workgroup_size(4)
fn sums(@builtin(local_invocation_index) i: u32) {
    // Sums of these numbers are exact in every order.
    let number = f32(i) * 0.25;
    atomicAdd(&out[i / 2u], number);
    atomicAdd(&out[2], atomicLoad(&out[9]) + 1.5);
}
