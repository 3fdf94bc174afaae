// select_columns: out[at + t] = a quantile of column t of x, or of the deviations of its elements from centers[t]
//
// Shape      x: [outer, n, inner], as bits; centers: one number for each column, as bits, or x itself; out: at least at + count
//            elements, as bits
// Dispatch   one invocation per column; invocations past count do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  as between and deviation
//#use between
//#use deviation
//#use element_keys
//#use key_at_rank
//#use linear
//#use quantile
override WORKGROUP: u32 = 64;
override TYPE: u32 = 0;                     // 0: u32, 1: i32, 2: f32
override SKIP_NAN: u32 = 0;                 // 1: NaNs are left out, 0: a column with a NaN has a NaN as its quantile
override DEVIATIONS: u32 = 0;               // 1: the elements are deviations
struct Params {
    factor: vec3<u32>, rounding: u32,
    offset: vec3<u32>,
    n: u32, inner: u32, count: u32, at: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> centers: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

var<private> first: u32;
var<private> center: u32;

fn element(k: u32) -> u32 { return deviation(x[first + k * params.inner], center); }

fn key_at(k: u32) -> u32 {
    let bits = element(k);
    return select(key_of(bits), LAST, is_nan(bits));
}

fn result_of_column() -> u32 {
    var numbers = 0u;
    for (var k = 0u; k < params.n; k++) { numbers += select(1u, 0u, is_nan(element(k))); }
    if numbers == 0u || (SKIP_NAN == 0u && numbers < params.n) { return A_NAN; }
    let place = place_of_quantile(numbers);
    let low = key_at_rank(params.n, place.rank);
    var high = low;
    if place.fraction > 0u { high = key_at_next_rank(params.n, place.rank, low); }
    return between(low, high, place.fraction);
}

@compute @workgroup_size(WORKGROUP)
fn select_columns(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let t = linear_id(gid, groups, WORKGROUP);
    if t >= params.count { return; }
    first = t / params.inner * params.n * params.inner + t % params.inner;
    if DEVIATIONS == 1u { center = centers[t]; }
    out[params.at + t] = result_of_column();
}
