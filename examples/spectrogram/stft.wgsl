// Computes the power of 256 samples at a time, after a Hann window, in 128 frequencies.
//
// Dispatch   one workgroup per frame; frame f starts at sample f * hop
// Barriers   one before each of the 8 passes of the transform, and one after them

const N = 256u;
struct Params { hop: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> circle: array<vec2<f32>>; // cosine and sine of i / N turns
@group(0) @binding(2) var<storage, read> samples: array<f32>;
@group(0) @binding(3) var<storage, read_write> power: array<f32>;
var<workgroup> z: array<vec2<f32>, N>;

@compute @workgroup_size(128)
fn stft(@builtin(workgroup_id) frame: vec3<u32>, @builtin(local_invocation_index) i: u32) {
    for (var n = i; n < N; n += N / 2u) {
        let hann = 0.5 - 0.5 * circle[n].x;
        z[reverseBits(n) >> 24u] = vec2(hann * samples[frame.x * params.hop + n], 0.0);
    }
    for (var width = 1u; width < N; width *= 2u) {
        workgroupBarrier();
        let low = i % width + i / width * width * 2u; // each invocation combines one pair
        let turn = circle[i % width * (N / 2u / width)];
        let p = z[low];
        let q = z[low + width];
        let turned = vec2(q.x * turn.x + q.y * turn.y, q.y * turn.x - q.x * turn.y);
        z[low] = p + turned;
        z[low + width] = p - turned;
    }
    workgroupBarrier();
    power[frame.x * (N / 2u) + i] = dot(z[i], z[i]);
}
