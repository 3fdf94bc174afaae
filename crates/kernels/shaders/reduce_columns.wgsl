// reduce_columns: out[t] = the elements of share t of the columns of x, combined by an operation
// If PRODUCTS, each element is first multiplied by the element of y.
//
// Shape      x, y: [outer, n, inner]; out: [outer, in_column, inner]; the launch writes count elements of it
// Dispatch   one invocation per element of out; invocations past count do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  sums of f32: d u times the sum of the magnitudes, d = share / 4 + 3, u = 2^-24; products of f32: relative, by
//            twice the number of factors times u; as finish; integers exactly, wrapping
//#use finish
//#use linear
//#use number_keys
override WORKGROUP: u32 = 64;
override OPERATION: u32 = 0;                // 0: sum, 1: product, 2: smallest, 3: largest; the last two for integers
override KEYS: u32 = 0;                     // not 0: bits of f32, whose min or max is computed; 2: NaNs are left out
override BITS: u32 = 0;                     // not 0: an element counts as 1 if any of these bits is set, else as 0
override PRODUCTS: u32 = 0;                 // 1: an element is x[i] * y[i]
override FINISH: u32 = 0;                   // 0: the result itself, 1: divided by the divisor, 2: its square root
alias T = f32;                              // f32 | i32 | u32: replaced on the host's request
struct Params { n: u32, share: u32, in_column: u32, inner: u32, count: u32, identity: T, divisor: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read> y: array<T>;
@group(0) @binding(3) var<storage, read_write> out: array<T>;

fn combined(a: T, b: T) -> T {
    if OPERATION == 0u { return a + b; }
    if OPERATION == 1u { return a * b; }
    if OPERATION == 2u { return min(a, b); }
    return max(a, b);
}

fn element(i: u32) -> T {
    if KEYS != 0u { return bitcast<T>(number_key(bitcast<u32>(x[i]), (OPERATION == 3u) == (KEYS == 1u))); }
    if BITS != 0u { return select(T(0), T(1), (bitcast<u32>(x[i]) & BITS) != 0u); }
    if PRODUCTS == 1u { return x[i] * y[i]; }
    return x[i];
}

@compute @workgroup_size(WORKGROUP)
fn reduce_columns(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let t = linear_id(gid, groups, WORKGROUP);
    if t >= params.count { return; }
    let column = t / params.inner;
    let start = column % params.in_column * params.share;
    let first = column / params.in_column * params.n * params.inner + t % params.inner;
    let end = first + min(params.n, start + params.share) * params.inner;
    let step = params.inner;
    var a = params.identity;
    var b = params.identity;
    var c = params.identity;
    var d = params.identity;
    var i = first + start * step;
    // Four separate values let the device execute four chains of operations in parallel.
    for (; i + 3u * step < end; i += 4u * step) {
        a = combined(a, element(i));
        b = combined(b, element(i + step));
        c = combined(c, element(i + 2u * step));
        d = combined(d, element(i + 3u * step));
    }
    for (; i < end; i += step) { a = combined(a, element(i)); }
    let result = combined(combined(a, b), combined(c, d));
    if KEYS != 0u {
        out[t] = bitcast<T>(number_bits(bitcast<u32>(result)));
    } else {
        out[t] = finished(result, params.divisor);
    }
}
