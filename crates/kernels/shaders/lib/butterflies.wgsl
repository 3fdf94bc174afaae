// butterflies: discrete Fourier transforms of 2, 3, 4, 5, 7 and 8 elements
//
// Shape      stage, spot: as fft_tile has them; the shader around it has `taken`, which returns an element of the stage, and
//            `give`, which takes a result
// Dispatch   any
// Barriers   none
// Tolerance  relative to the norm of the elements, at most 4 u, u = 2^-24

const SQRT_HALF: f32 = 0.7071067811865476;
const SIN_3: f32 = 0.8660254037844386;      // of a third of a turn
const COS_5: f32 = 0.30901699437494745;     // of a fifth of a turn, and below of two fifths
const COS_5_2: f32 = -0.8090169943749475;
const SIN_5: f32 = 0.9510565162951535;
const SIN_5_2: f32 = 0.5877852522924731;
const COS_7: f32 = 0.6234898018587336;      // of a seventh of a turn, and below of two and of three sevenths
const COS_7_2: f32 = -0.2225209339563144;
const COS_7_3: f32 = -0.9009688679024191;
const SIN_7: f32 = 0.7818314824680298;
const SIN_7_2: f32 = 0.9749279121818236;
const SIN_7_3: f32 = 0.4338837391175581;

// Returns the number times -i.
fn turned(a: vec2<f32>) -> vec2<f32> { return vec2(a.y, -a.x); }

fn radix_2(stage: Stage, spot: Spot) {
    let a = taken(stage, spot, 0u);
    let b = taken(stage, spot, 1u);
    give(stage, spot, 0u, a + b);
    give(stage, spot, 1u, a - b);
}

fn radix_3(stage: Stage, spot: Spot) {
    let a = taken(stage, spot, 0u);
    let b = taken(stage, spot, 1u);
    let c = taken(stage, spot, 2u);
    let even = a - 0.5 * (b + c);
    let odd = SIN_3 * turned(b - c);
    give(stage, spot, 0u, a + (b + c));
    give(stage, spot, 1u, even + odd);
    give(stage, spot, 2u, even - odd);
}

struct Four { a: vec2<f32>, b: vec2<f32>, c: vec2<f32>, d: vec2<f32> }

fn dft_4(a: vec2<f32>, b: vec2<f32>, c: vec2<f32>, d: vec2<f32>) -> Four {
    let p = a + c;
    let q = a - c;
    let r = b + d;
    let s = turned(b - d);
    return Four(p + r, q + s, p - r, q - s);
}

fn radix_4(stage: Stage, spot: Spot) {
    let a = taken(stage, spot, 0u);
    let b = taken(stage, spot, 1u);
    let c = taken(stage, spot, 2u);
    let all = dft_4(a, b, c, taken(stage, spot, 3u));
    give(stage, spot, 0u, all.a);
    give(stage, spot, 1u, all.b);
    give(stage, spot, 2u, all.c);
    give(stage, spot, 3u, all.d);
}

fn radix_5(stage: Stage, spot: Spot) {
    let a = taken(stage, spot, 0u);
    let b = taken(stage, spot, 1u);
    let c = taken(stage, spot, 2u);
    let d = taken(stage, spot, 3u);
    let e = taken(stage, spot, 4u);
    let even = a + (COS_5 * (b + e) + COS_5_2 * (c + d));
    let odd = turned(SIN_5 * (b - e) + SIN_5_2 * (c - d));
    let even_2 = a + (COS_5_2 * (b + e) + COS_5 * (c + d));
    let odd_2 = turned(SIN_5_2 * (b - e) - SIN_5 * (c - d));
    give(stage, spot, 0u, a + ((b + e) + (c + d)));
    give(stage, spot, 1u, even + odd);
    give(stage, spot, 2u, even_2 + odd_2);
    give(stage, spot, 3u, even_2 - odd_2);
    give(stage, spot, 4u, even - odd);
}

fn radix_7(stage: Stage, spot: Spot) {
    let a = taken(stage, spot, 0u);
    let b = taken(stage, spot, 1u);
    let c = taken(stage, spot, 2u);
    let d = taken(stage, spot, 3u);
    let e = taken(stage, spot, 4u);
    let f = taken(stage, spot, 5u);
    let g = taken(stage, spot, 6u);
    let p = b + g;
    let q = c + f;
    let r = d + e;
    let s = b - g;
    let t = c - f;
    let v = d - e;
    let even = a + (COS_7 * p + COS_7_2 * q + COS_7_3 * r);
    let odd = turned(SIN_7 * s + SIN_7_2 * t + SIN_7_3 * v);
    let even_2 = a + (COS_7_2 * p + COS_7_3 * q + COS_7 * r);
    let odd_2 = turned(SIN_7_2 * s - SIN_7_3 * t - SIN_7 * v);
    let even_3 = a + (COS_7_3 * p + COS_7 * q + COS_7_2 * r);
    let odd_3 = turned(SIN_7_3 * s - SIN_7 * t + SIN_7_2 * v);
    give(stage, spot, 0u, a + (p + q + r));
    give(stage, spot, 1u, even + odd);
    give(stage, spot, 2u, even_2 + odd_2);
    give(stage, spot, 3u, even_3 + odd_3);
    give(stage, spot, 4u, even_3 - odd_3);
    give(stage, spot, 5u, even_2 - odd_2);
    give(stage, spot, 6u, even - odd);
}

fn radix_8(stage: Stage, spot: Spot) {
    let a = taken(stage, spot, 0u);
    let b = taken(stage, spot, 1u);
    let c = taken(stage, spot, 2u);
    let d = taken(stage, spot, 3u);
    let e = taken(stage, spot, 4u);
    let f = taken(stage, spot, 5u);
    let g = taken(stage, spot, 6u);
    let even = dft_4(a, c, e, g);
    let odd = dft_4(b, d, f, taken(stage, spot, 7u));
    // The odd half, turned by eighths.
    let p = odd.a;
    let q = SQRT_HALF * (odd.b + turned(odd.b));
    let r = turned(odd.c);
    let s = SQRT_HALF * (turned(odd.d) - odd.d);
    give(stage, spot, 0u, even.a + p);
    give(stage, spot, 1u, even.b + q);
    give(stage, spot, 2u, even.c + r);
    give(stage, spot, 3u, even.d + s);
    give(stage, spot, 4u, even.a - p);
    give(stage, spot, 5u, even.b - q);
    give(stage, spot, 6u, even.c - r);
    give(stage, spot, 7u, even.d - s);
}
