// waves: out[i] = the sum of the sines of each frequency times the time of element i
//
// Dispatch   one invocation for each element
// Workgroup  [64, 1, 1]
@group(0) @binding(0) var<storage, read> times: array<f32>;
@group(0) @binding(1) var<storage, read> frequencies: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn waves(@builtin(global_invocation_id) id: vec3<u32>) {
    let time = times[id.x];
    var sum = 0.0;
    for (var at = 0u; at < arrayLength(&frequencies); at++) {
        sum += sin(frequencies[at] * time);
    }
    out[id.x] = sum;
}
