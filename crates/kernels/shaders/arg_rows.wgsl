// arg_rows: out[g] = the index within its row of the smallest or the largest element of share g; the lowest if several
// are equal
//
// Shape      x: rows of `row` elements, as bits; places: for each row of x n places in it, or x itself if n is `row`; out: at
//            least shares elements, the shares of one row after the other
// Dispatch   one workgroup per share, in one or two dimensions; the last share of a row may be shorter
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   one for each halving of the workgroup
// Tolerance  as place_keys
//#use place_keys
override WORKGROUP: u32 = 256;
override LARGEST: u32 = 0;                  // 0: the smallest element, 1: the largest one
override KEEP_NAN: u32 = 1;                 // 1: a NaN is the result, 0: NaNs are left out unless there is no number
override TYPE: u32 = 0;                     // 0: u32, 1: i32, 2: f32
override GATHER: u32 = 0;                   // 0: all elements of a row are searched, 1: those at the given places
struct Params { n: u32, share: u32, in_row: u32, shares: u32, row: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> places: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

var<workgroup> keys: array<u32, WORKGROUP>;
var<workgroup> best: array<u32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn arg_rows(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    let row = g / params.in_row;
    let start = g % params.in_row * params.share;
    let end = select(0u, min(params.n, start + params.share), g < params.shares);
    var least = LAST;
    var at = LAST;
    for (var i = start + lane; i < end; i += WORKGROUP) {
        var place = i;
        if GATHER == 1u { place = min(places[row * params.n + i], params.row - 1u); }
        let own = key(x[row * params.row + place]);
        if comes_before(own, place, least, at) {
            least = own;
            at = place;
        }
    }
    keys[lane] = least;
    best[lane] = at;
    for (var width = WORKGROUP / 2u; width > 0u; width /= 2u) {
        workgroupBarrier();
        if lane < width && comes_before(keys[lane + width], best[lane + width], keys[lane], best[lane]) {
            keys[lane] = keys[lane + width];
            best[lane] = best[lane + width];
        }
    }
    if lane == 0u && g < params.shares { out[g] = best[0]; }
}
