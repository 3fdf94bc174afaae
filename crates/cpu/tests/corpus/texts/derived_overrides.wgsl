// expect: compiled
// Overrides set the size of a workgroup and an array, a private variable, and each other; one of them has no value here.
@id(4) override gain: f32;
override width = 4u;
override half = width / 2u;
override is_even: bool = half % 2u == 0u;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;

var<private> scaled: f32 = gain * 10.0;
var<workgroup> tile: array<f32, width * 2u>;

@compute @workgroup_size(width, half)
fn scales(@builtin(local_invocation_index) i: u32) {
    tile[i] = scaled * f32(i);
    workgroupBarrier();
    out[i] = select(tile[7], tile[width * half - 1u - i], is_even) + f32(half);
}
