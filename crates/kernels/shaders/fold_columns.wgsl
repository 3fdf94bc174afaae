// fold_columns: out[t] = the elements of share t of the columns of x, combined by an operation in their order
//
// Shape      x: [outer, n, inner]; out: [outer, in_column, inner]; the launch writes count elements of it
// Dispatch   one invocation per element of out; invocations past count do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  sums of f32: d u times the sum of the magnitudes, d = share + 1, u = 2^-24; products of f32: relative, by twice the
//            number of factors times u; integers exactly, wrapping
//#use linear
//#use number_keys
//#use operation
override WORKGROUP: u32 = 64;
override OPERATION: u32 = 0;                // 0: sum, 1: product, 2: smallest, 3: largest; the last two for integers
override KEYS: u32 = 0;                     // 1: the elements are bits of f32, whose smallest or largest is computed
alias T = f32;                              // f32 | i32 | u32, or a vector: replaced on the host's request
struct Params { n: u32, share: u32, in_column: u32, inner: u32, count: u32, identity: T }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<T>;
@group(0) @binding(2) var<storage, read_write> out: array<T>;

@compute @workgroup_size(WORKGROUP)
fn fold_columns(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let t = linear_id(gid, groups, WORKGROUP);
    if t >= params.count { return; }
    let column = t / params.inner;
    let start = column % params.in_column * params.share;
    let first = column / params.in_column * params.n * params.inner + t % params.inner;
    let end = first + min(params.n, start + params.share) * params.inner;
    var all = params.identity;
    for (var i = first + start * params.inner; i < end; i += params.inner) { all = operation(all, of_bits(x[i])); }
    out[t] = to_bits(all);
}
