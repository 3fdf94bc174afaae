// arg_columns: out[t] = the index within its column of the smallest or the largest element of share t; the lowest if
// several are equal
//
// Shape      x: [outer, column, inner], as bits; places: [outer, n, inner] places in the columns of x, or x itself if n is `column`;
//            out: [outer, in_column, inner]; the launch writes count elements of it
// Dispatch   one invocation per element of out; invocations past count do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  as place_keys
//#use linear
//#use place_keys
override WORKGROUP: u32 = 64;
override LARGEST: u32 = 0;                  // 0: the smallest element, 1: the largest one
override KEEP_NAN: u32 = 1;                 // 1: a NaN is the result, 0: NaNs are left out unless there is no number
override TYPE: u32 = 0;                     // 0: u32, 1: i32, 2: f32
override GATHER: u32 = 0;                   // 0: all elements of a column are searched, 1: those at the given places
struct Params { n: u32, share: u32, in_column: u32, inner: u32, count: u32, column: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> places: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn arg_columns(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let t = linear_id(gid, groups, WORKGROUP);
    if t >= params.count { return; }
    let share = t / params.inner;
    let start = share % params.in_column * params.share;
    let end = min(params.n, start + params.share);
    let outer = share / params.in_column;
    let inner = t % params.inner;
    var least = LAST;
    var at = LAST;
    for (var i = start; i < end; i++) {
        var place = i;
        if GATHER == 1u { place = min(places[(outer * params.n + i) * params.inner + inner], params.column - 1u); }
        let own = key(x[(outer * params.column + place) * params.inner + inner]);
        if comes_before(own, place, least, at) {
            least = own;
            at = place;
        }
    }
    out[t] = at;
}
