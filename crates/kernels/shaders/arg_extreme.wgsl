// arg_extreme: out[g] = the index of the smallest or the largest element of share g; the lowest index if several are equal
//
// Shape      x: all elements, as bits; places: at least n places in x, or x itself; out: one element for each workgroup
// Dispatch   one workgroup per share of n elements; share g begins at element g * share, and the last may be shorter
// Workgroup  [WORKGROUP, 1, 1], a power of two
// Barriers   one for each halving of the workgroup
// Tolerance  as place_keys
//#use place_keys
override WORKGROUP: u32 = 256;
override LARGEST: u32 = 0;                  // 0: the smallest element, 1: the largest one
override KEEP_NAN: u32 = 1;                 // 1: a NaN is the result, 0: NaNs are left out unless there is no number
override TYPE: u32 = 0;                     // 0: u32, 1: i32, 2: f32
override GATHER: u32 = 0;                   // 0: element i is x[i], 1: it is x[places[i]]
struct Params { n: u32, share: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> places: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

var<workgroup> keys: array<u32, WORKGROUP>;
var<workgroup> best: array<u32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn arg_extreme(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let end = min(params.n, (group.x + 1u) * params.share);
    var least = LAST;
    var at = LAST;
    for (var i = group.x * params.share + lane; i < end; i += WORKGROUP) {
        var place = i;
        if GATHER == 1u { place = min(places[i], arrayLength(&x) - 1u); }
        let own = key(x[place]);
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
    if lane == 0u { out[group.x] = best[0]; }
}
