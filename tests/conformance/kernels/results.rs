//! D04, except for the browser: every adapter gives the same results, integers exactly and floats within the tolerance
//! that the kernel states.

use crate::common::kernels::{Mix, Saxpy};
use crate::common::{Case, Subject, case};
use fencepost::RecorderChoice;
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("d04_saxpy_is_within_two_ulp_of_the_reference", floats),
        case("d04_integers_are_exact", integers),
        case("d04_quotients_and_remainders_at_the_edges_of_integers_are_those_of_wgsl", divisions),
        case("d04_floats_outside_of_an_integer_type_become_its_ends", conversions),
        case("d04_packed_bytes_inside_of_other_operations_are_those_of_wgsl", packed),
        case("d04_every_way_of_opening_an_adapter_gives_the_same_bits", ways),
    ]
}

const N: usize = 10_007;

/// Returns a random number of any magnitude. It is positive, so that sums do not cancel.
fn positive(rng: &mut fastrand::Rng) -> f32 {
    (1.0 + rng.f32()) * 2.0_f32.powi(rng.i32(-20..20))
}

fn floats(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(4);
    let (x, y): (Vec<f32>, Vec<f32>) = (0..N).map(|_| (positive(&mut rng), positive(&mut rng))).unzip();
    let a = positive(&mut rng);
    let dx = ctx.array(&x).unwrap();
    let mut dy = ctx.array(&y).unwrap();
    let saxpy = ctx.kernel::<Saxpy<f32>>().unwrap();
    queue.launch(&saxpy, Grid::threads([N]), Saxpy { a, x: &dx, y: &mut dy }).unwrap();
    for (i, found) in queue.read(&dy).wait().unwrap().into_iter().enumerate() {
        let expected = a * x[i] + y[i];
        let ulps = found.to_bits().abs_diff(expected.to_bits());
        assert!(ulps <= 2, "element {i}: {found} for {expected}, {ulps} ulp");
    }
}

fn random(seed: u64) -> Vec<u32> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..N).map(|_| rng.u32(..)).collect()
}

/// Returns the array after three launches.
fn mixed(ctx: &Context) -> Vec<u32> {
    let queue = ctx.queue("q");
    let x = ctx.array(&random(1)).unwrap();
    let mut y = ctx.array(&random(2)).unwrap();
    let mix = ctx.kernel::<Mix>().unwrap();
    for (a, b) in [(3, 1), (u32::MAX, 5), (0x8000_0001, 7)] {
        queue.launch(&mix, Grid::threads([N]), Mix { a, b, x: &x, y: &mut y }).unwrap();
    }
    queue.read(&y).wait().unwrap()
}

fn expected() -> Vec<u32> {
    let step = |y: u32, a: u32, x: u32, b: u32| y.wrapping_mul(a).wrapping_add(x).wrapping_add(b);
    let x = random(1);
    let y = random(2);
    let all =
        |(&x, &y)| [(3, 1), (u32::MAX, 5), (0x8000_0001, 7)].iter().fold(y, |y, &(a, b)| step(y, a, x, b));
    x.iter().zip(&y).map(all).collect()
}

fn integers(s: &Subject) {
    assert_eq!(mixed(&s.ctx()), expected());
}

fn ways(s: &Subject) {
    for (immediates, native) in [(true, true), (false, true), (true, false), (false, false)] {
        for recorder in [RecorderChoice::Wgpu, RecorderChoice::Hal] {
            let ctx = s.options_and_switches(|options, switches| {
                switches.immediates = immediates;
                switches.native = native;
                options.recorder = recorder;
            });
            assert_eq!(mixed(&ctx), expected(), "immediates: {immediates}, native: {native}, {recorder:?}");
        }
    }
}

/// Integers at the limits of both types, and others.
const EDGES: [u32; 12] =
    [0, 1, 2, 3, 7, 100, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFF9, 0xFFFF_FFFE, 0xFFFF_FFFF];

const DIVISIONS: &str = "
@group(0) @binding(0) var<storage, read> a: array<i32>;
@group(0) @binding(1) var<storage, read> b: array<i32>;
@group(0) @binding(2) var<storage, read_write> out: array<i32>;
override SEVEN: i32 = 7;

fn signed(a: i32, b: i32, at: u32) {
    out[at] = a / b;
    out[at + 1u] = a % b;
    out[at + 2u] = a % SEVEN;
    var quotient = a;
    quotient /= b;
    quotient %= -4;
    out[at + 3u] = quotient;
}

@compute @workgroup_size(64)
fn divisions(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= arrayLength(&a) { return; }
    let at = 10u * i;
    signed(a[i], b[i], at);
    let unsigned = vec2(bitcast<u32>(a[i]), bitcast<u32>(b[i]));
    out[at + 4u] = bitcast<i32>(unsigned.x / unsigned.y);
    out[at + 5u] = bitcast<i32>(unsigned.x % unsigned.y);
    let three = vec3(a[i], -7, a[i]) / vec3(b[i], b[i], -1) + vec3(a[i], 5, a[i]) % vec3(b[i], b[i], 3);
    out[at + 6u] = three.x ^ three.y ^ three.z;
    out[at + 7u] = bitcast<i32>((unsigned.xyxy % unsigned.yxxy).x);
    out[at + 8u] = bitcast<i32>(abs(unsigned.x));
    out[at + 9u] = abs(a[i]);
}";

/// Returns the quotient and the remainder as WGSL defines them.
fn divided(a: i32, b: i32) -> (i32, i32) {
    if b == 0 { (a, 0) } else { (a.wrapping_div(b), a.wrapping_rem(b)) }
}

fn divisions(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let pairs = EDGES.iter().flat_map(|&a| EDGES.map(|b| (a as i32, b as i32)));
    let (a, b): (Vec<i32>, Vec<i32>) = pairs.unzip();
    let mut out = ctx.zeros::<i32, 1>([10 * a.len()]).unwrap();
    let kernel = ctx.kernel_from(DIVISIONS, "divisions").unwrap();
    let x = ctx.array(&a).unwrap();
    let y = ctx.array(&b).unwrap();
    let args = args![a = &x, b = &y, out = &mut out];
    queue.launch_dyn(&kernel, Grid::threads([a.len()]), args).unwrap();
    let found = queue.read(&out).wait().unwrap();
    for (found, (a, b)) in found.chunks(10).zip(a.into_iter().zip(b)) {
        let (quotient, remainder) = divided(a, b);
        let of_b = divided(-7, b).0;
        let five = divided(5, b).1;
        let three = [
            quotient.wrapping_add(remainder),
            of_b.wrapping_add(five),
            divided(a, -1).0.wrapping_add(divided(a, 3).1),
        ];
        let ua = a as u32;
        let ub = b as u32;
        let expected = [
            quotient,
            remainder,
            divided(a, 7).1,
            divided(quotient, -4).1,
            ua.checked_div(ub).unwrap_or(ua) as i32,
            ua.checked_rem(ub).unwrap_or(0) as i32,
            three[0] ^ three[1] ^ three[2],
            ua.checked_rem(ub).unwrap_or(0) as i32,
            a,
            a.wrapping_abs(),
        ];
        assert_eq!(found, expected, "{a} and {b}");
    }
}

const CONVERSIONS: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn conversions(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= arrayLength(&x) { return; }
    out[4u * i] = bitcast<u32>(i32(x[i]));
    out[4u * i + 1u] = u32(x[i]);
    out[4u * i + 2u] = bitcast<vec3<u32>>(vec3<i32>(vec3(0.0, x[i], 1.5))).y;
    out[4u * i + 3u] = vec2<u32>(vec2(x[i], 2.5)).x;
}";

fn conversions(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let sizes =
        [0.0_f32, 0.9, 1.0, 1.5, 2.5, 16_777_217.0, 2_147_483_520.0, 2_147_483_648.0, 4e9, 4_294_967_040.0];
    let sizes = sizes.into_iter().chain([4_294_967_296.0, 1e20, f32::INFINITY]);
    let x: Vec<f32> = sizes.flat_map(|size| [size, -size]).collect();
    let mut out = ctx.zeros::<u32, 1>([4 * x.len()]).unwrap();
    let kernel = ctx.kernel_from(CONVERSIONS, "conversions").unwrap();
    let floats = ctx.array(&x).unwrap();
    let args = args![x = &floats, out = &mut out];
    queue.launch_dyn(&kernel, Grid::threads([x.len()]), args).unwrap();
    for (found, x) in queue.read(&out).wait().unwrap().chunks(4).zip(x) {
        // Conversions saturate at the largest `f32` within the type; on some devices, at the largest integer.
        let signed = x.min(2_147_483_520.0) as i32;
        let unsigned = x.min(4_294_967_040.0) as u32;
        let near = |found: u32, expected: u32, most: u32| found.wrapping_sub(expected) <= most;
        let more = u32::from(x > 2_147_483_520.0) * 127;
        let above = u32::from(x > 4_294_967_040.0) * 255;
        assert!(
            near(found[0], signed as u32, more) && near(found[2], signed as u32, more),
            "i32 of {x}: {found:x?}"
        );
        assert!(near(found[1], unsigned, above) && near(found[3], unsigned, above), "u32 of {x}: {found:x?}");
    }
}

const PACKED: &str = "
@group(0) @binding(0) var<storage, read> words: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn packed(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&words) / 4u { return; }
    let first = 4u * id.x;
    let at = 11u * id.x;
    let v = vec4(words[first], words[first + 1u], words[first + 2u], words[first + 3u]);
    let signed = bitcast<vec4<i32>>(v);
    out[at] = pack4xU8(v) + 1u;
    out[at + 1u] = (3u * pack4xU8Clamp(v)) ^ v.x;
    out[at + 2u] = pack4xI8(signed) + 1u;
    out[at + 3u] = (3u * pack4xI8Clamp(signed)) ^ v.x;
    out[at + 4u] = ~pack4xU8(v) & ~pack4xU8Clamp(v);
    out[at + 5u] = (unpack4xU8(v.x) * vec4(1u, 3u, 5u, 7u)).w + 9u * unpack4xU8(v.y).y;
    out[at + 6u] = bitcast<u32>((unpack4xI8(v.x) * vec4(1, 3, 5, 7)).w - 9 * unpack4xI8(v.y).y);
    out[at + 7u] = 3u * dot4U8Packed(v.x, v.y) - v.z;
    out[at + 8u] = bitcast<u32>(3 * dot4I8Packed(v.x, v.y) - signed.z);
    out[at + 9u] = select(0u, 1u, pack4xU8(v) == pack4xU8Clamp(v));
    out[at + 10u] = pack4xU8(unpack4xU8(v.x)) - pack4xI8(unpack4xI8(v.y));
}";

/// Returns what the kernel computes for four words.
fn packed_on_host(v: [u32; 4]) -> [u32; 11] {
    let signed = v.map(|word| word as i32);
    let bytes = u32::from_le_bytes(v.map(|word| word as u8));
    let clamped = u32::from_le_bytes(v.map(|word| word.min(255) as u8));
    let clamped_signed = u32::from_le_bytes(signed.map(|word| word.clamp(-128, 127) as u8));
    let x = v[0].to_le_bytes().map(u32::from);
    let y = v[1].to_le_bytes().map(u32::from);
    let of_signed = |word: u32| word.to_le_bytes().map(|byte| i32::from(byte as i8));
    let i = of_signed(v[0]);
    let j = of_signed(v[1]);
    let products: u32 = x.iter().zip(y).map(|(x, y)| x * y).sum();
    let signed_products: i32 = i.iter().zip(j).map(|(i, j)| i * j).sum();
    [
        bytes.wrapping_add(1),
        clamped.wrapping_mul(3) ^ v[0],
        bytes.wrapping_add(1),
        clamped_signed.wrapping_mul(3) ^ v[0],
        !bytes & !clamped,
        x[3] * 7 + 9 * y[1],
        (i[3] * 7 - 9 * j[1]) as u32,
        (3 * products).wrapping_sub(v[2]),
        (3 * signed_products).wrapping_sub(signed[2]) as u32,
        u32::from(bytes == clamped),
        v[0].wrapping_sub(v[1]),
    ]
}

fn packed(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let edges = [0, 1, 127, 128, 200, 255, 256, 0xFFFF_FF80, 0xFFFF_FF7F].into_iter().chain(EDGES);
    let words: Vec<u32> = edges.cycle().take(100).chain(random(5).into_iter().take(100)).collect();
    let mut out = ctx.zeros::<u32, 1>([11 * words.len() / 4]).unwrap();
    let kernel = ctx.kernel_from(PACKED, "packed").unwrap();
    let x = ctx.array(&words).unwrap();
    let args = args![words = &x, out = &mut out];
    queue.launch_dyn(&kernel, Grid::threads([words.len() / 4]), args).unwrap();
    for (found, v) in queue.read(&out).wait().unwrap().chunks(11).zip(words.chunks(4)) {
        assert_eq!(found, packed_on_host([v[0], v[1], v[2], v[3]]), "{v:x?}");
    }
}
