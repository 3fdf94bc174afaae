// powers: out[i] = the sum over all rates of an exponential function, a logarithm and a power of element i
//
// Dispatch   one invocation for each element
// Workgroup  [64, 1, 1]
@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read> rates: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn powers(@builtin(global_invocation_id) id: vec3<u32>) {
    let value = values[id.x];
    var sum = 0.0;
    for (var at = 0u; at < arrayLength(&rates); at++) {
        let rate = rates[at];
        sum += exp(-rate * value) + log(value + rate) + pow(value, rate);
    }
    out[id.x] = sum;
}
