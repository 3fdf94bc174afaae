// merge: out = the elements of x and y in ascending order
//
// Shape      x: n elements, y: m elements, both in ascending order; out: n + m elements; all as bits
// Dispatch   one invocation per 8 elements of out; invocations past the last one do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact, in the order of order_keys
//#use linear
//#use order_keys
override WORKGROUP: u32 = 64;
struct Params { n: u32, m: u32, flip_clear: u32, flip_set: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> y: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

// Number of elements of an invocation.
const PER: u32 = 8;

fn x_first(i: u32, j: u32) -> bool { return order_key(x[i]) <= order_key(y[j]); }

// Returns how many of the first elements of the result are from x.
fn split(first: u32) -> u32 {
    var least = first - min(first, params.m);
    var most = min(first, params.n);
    while least < most {
        let middle = (least + most) / 2u;
        if x_first(middle, first - 1u - middle) { least = middle + 1u; } else { most = middle; }
    }
    return least;
}

@compute @workgroup_size(WORKGROUP)
fn merge(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let first = linear_id(gid, groups, WORKGROUP) * PER;
    let all = params.n + params.m;
    if first >= all { return; }
    var i = split(first);
    var j = first - i;
    for (var at = first; at < min(first + PER, all); at++) {
        var from_x = i < params.n;
        if from_x && j < params.m { from_x = x_first(i, j); }
        if from_x { out[at] = x[i]; i++; } else { out[at] = y[j]; j++; }
    }
}
