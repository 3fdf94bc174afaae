// collatz: steps[i] = the number of steps, at most 1000, from i + 1 to 1; the arithmetic wraps
//
// Dispatch   one invocation for each number
// Workgroup  [64, 1, 1]
@group(0) @binding(0) var<storage, read_write> steps: array<u32>;

@compute @workgroup_size(64)
fn collatz(@builtin(global_invocation_id) id: vec3<u32>) {
    var value = id.x + 1u;
    var n = 0u;
    while value != 1u && n < 1000u {
        if value % 2u == 0u { value /= 2u; } else { value = 3u * value + 1u; }
        n++;
    }
    steps[id.x] = n;
}
