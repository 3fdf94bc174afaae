// Divides a spectrum by the deviation of the noise, whose power is interpolated between fewer frequencies.
//
// Dispatch   one invocation for each frequency of the spectrum

struct Params { ratio: f32 } // distance of two frequencies of the spectrum / distance of two of the noise
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> noise: array<f32>;
@group(0) @binding(2) var<storage, read_write> spectrum: array<vec2<f32>>;

@compute @workgroup_size(256)
fn whiten(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&spectrum) { return; }
    let place = f32(id.x) * params.ratio;
    let last = arrayLength(&noise) - 1u;
    let below = min(u32(place), last);
    let power = mix(noise[below], noise[min(below + 1u, last)], fract(place));
    spectrum[id.x] = spectrum[id.x] * inverseSqrt(max(power, 1e-30)); // silence has no noise
}
