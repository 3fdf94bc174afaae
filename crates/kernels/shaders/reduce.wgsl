// reduce: out[g] = the elements of share g of x, combined by an operation; share g begins at element g * share
//
// Shape      x: at least n elements; out: at least one element for each workgroup
// Dispatch   one workgroup per share, along x; the last share may be shorter, and a share past n is empty
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   one for each halving of the workgroup
// Tolerance  sums of f32: d u times the sum of the magnitudes, d = share / WORKGROUP / 4 + 5 + log2(WORKGROUP), u = 2^-24;
//            products of f32: relative, by twice the number of factors times u; integers exactly, wrapping; 2.5 ulp for
//            a quotient and 4.5 ulp for a root of f32
override WORKGROUP: u32 = 256;
override OPERATION: u32 = 0;                // 0: sum, 1: product, 2: smallest, 3: largest; the last two for integers
override FINISH: u32 = 0;                   // 0: the result itself, 1: divided by the divisor, 2: its square root
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { n: u32, share: u32, identity: T, divisor: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read_write> out: array<T>;

var<workgroup> parts: array<T, WORKGROUP>;

fn combined(a: T, b: T) -> T {
    if OPERATION == 0u { return a + b; }
    if OPERATION == 1u { return a * b; }
    if OPERATION == 2u { return min(a, b); }
    return max(a, b);
}

fn finished(total: T) -> T {
    if FINISH == 1u { return total / params.divisor; }
    if FINISH == 2u { return T(sqrt(f32(total))); }
    return total;
}

@compute @workgroup_size(WORKGROUP)
fn reduce(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let end = min(params.n, (group.x + 1u) * params.share);
    var a = params.identity;
    var b = params.identity;
    var c = params.identity;
    var d = params.identity;
    var i = group.x * params.share + lane;
    // Four values make four chains of operations, which the device executes side by side.
    for (; i + 3u * WORKGROUP < end; i += 4u * WORKGROUP) {
        a = combined(a, x[i]);
        b = combined(b, x[i + WORKGROUP]);
        c = combined(c, x[i + 2u * WORKGROUP]);
        d = combined(d, x[i + 3u * WORKGROUP]);
    }
    for (; i < end; i += WORKGROUP) { a = combined(a, x[i]); }
    parts[lane] = combined(combined(a, b), combined(c, d));
    for (var width = WORKGROUP / 2u; width > 0u; width /= 2u) {
        workgroupBarrier();
        if lane < width { parts[lane] = combined(parts[lane], parts[lane + width]); }
    }
    if lane == 0u { out[group.x] = finished(parts[0]); }
}
