//! Operators, functions and conversions.

use crate::harness::{floats, statements};

#[test]
fn integers_wrap_and_divisions_by_zero_give_the_dividend() {
    let body = "
        var zero = 0u; var izero = 0i; var min = -2147483647i - 1i; var minus = -1i; var big = 4294967295u;
        out[0] = big + 2u;
        out[1] = 7u / zero;
        out[2] = 7u % zero;
        out[3] = bitcast<u32>(min / minus);
        out[4] = bitcast<u32>(min % minus);
        out[5] = bitcast<u32>(5i / izero);
        out[6] = 1u << (big - 30u);
        out[7] = bitcast<u32>(-minus);";
    let min = i32::MIN as u32;
    assert_eq!(statements("", body, 8), [1, 7, 0, min, 0, 5, 2, 1]);
}

#[test]
fn vectors_work_component_by_component_and_with_scalars() {
    let body = "
        var v = vec3(1.0, 2.0, 3.0); var s = 2.0;
        let w = v * s + s * v - v / vec3(s);
        out[0] = bitcast<u32>(w.x); out[1] = bitcast<u32>(w.y); out[2] = bitcast<u32>(w.zyx.x);
        let m = select(v, w, v > vec3(1.5));
        out[3] = bitcast<u32>(m.x); out[4] = bitcast<u32>(m.z);
        out[5] = u32(all(v > vec3(0.5))) + 2u * u32(any(v > vec3(5.0)));
        out[6] = bitcast<u32>(dot(v, v));
        out[7] = bitcast<u32>(cross(v, v.yzx).x);";
    let out = statements("", body, 8);
    assert_eq!(floats(&out[..5]), [3.5, 7.0, 10.5, 1.0, 10.5]);
    assert_eq!(out[5], 1);
    assert_eq!(floats(&out[6..]), [14.0, 2.0 * 1.0 - 3.0 * 3.0]);
}

#[test]
fn products_of_matrices_are_those_of_linear_algebra() {
    let body = "
        var a = mat2x3(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
        var b = mat3x2(1.0, 0.0, 0.0, 1.0, 2.0, 2.0);
        let c = a * b;
        out[0] = bitcast<u32>(c[0].z); out[1] = bitcast<u32>(c[2].x);
        let v = a * vec2(1.0, 10.0);
        out[2] = bitcast<u32>(v.x); out[3] = bitcast<u32>(v.z);
        let w = vec3(1.0, 10.0, 100.0) * a;
        out[4] = bitcast<u32>(w.x); out[5] = bitcast<u32>(w.y);
        let s = (a + a) * 0.5 - a;
        out[6] = bitcast<u32>(s[1].y);
        out[7] = bitcast<u32>(transpose(a)[2].y);
        var d = mat2x2(3.0, 1.0, 2.0, 4.0); out[8] = bitcast<u32>(determinant(d));";
    assert_eq!(floats(&statements("", body, 9)), [3.0, 10.0, 41.0, 63.0, 321.0, 654.0, 0.0, 6.0, 10.0]);
}

#[test]
fn functions_return_scalars_vectors_and_pairs() {
    let body = "
        var x = 2.75; var n = 40u;
        let m = modf(x); let f = frexp(x);
        out[0] = bitcast<u32>(m.fract); out[1] = bitcast<u32>(m.whole);
        out[2] = bitcast<u32>(f.fract); out[3] = u32(f.exp);
        out[4] = countOneBits(n); out[5] = firstLeadingBit(n); out[6] = reverseBits(n);
        out[7] = bitcast<u32>(mix(x, 4.75, 0.5)); out[8] = bitcast<u32>(clamp(x, 3.0, 4.0));
        let p = modf(vec2(x, -x)); out[9] = bitcast<u32>(p.whole.y);
        out[10] = pack4x8unorm(vec4(1.0, 0.0, 1.0, 0.0));
        out[11] = u32(x); out[12] = bitcast<u32>(f32(n)); out[13] = bitcast<u32>(i32(-x));";
    let out = statements("", body, 14);
    assert_eq!(floats(&out[..3]), [0.75, 2.0, 0.6875]);
    assert_eq!(out[3..7], [2, 2, 5, 40_u32.reverse_bits()]);
    assert_eq!(floats(&out[7..10]), [3.75, 3.0, -2.0]);
    assert_eq!(out[10..12], [0x00ff_00ff, 2]);
    assert_eq!((f32::from_bits(out[12]), out[13] as i32), (40.0, -2));
}

#[test]
fn long_integers_and_doubles_have_all_their_bits() {
    let body = "
        var a = 0x100000000lu; var b = -3li; var d = 1.0lf;
        let c = a * 3lu + 5lu;
        out[0] = u32(c); out[1] = u32(c >> 32u); out[2] = u32((b * b) << 1u);
        out[3] = u32(b < 0li); out[4] = u32((d + d) * 4.5lf); out[5] = u32(a / 0x80000000lu);";
    assert_eq!(statements("", body, 6), [5, 3, 18, 1, 9, 2]);
}

#[test]
fn halves_round_to_halves() {
    let body = "
        var a = 2048.0h; var b = 1.0h;
        out[0] = u32(f32(a + b)); out[1] = u32(f32(a + b + b)); out[2] = u32(f32(b / 3.0h) * 65536.0);";
    let third = half::f16::from_f32(1.0 / 3.0).to_f32() * 65536.0;
    assert_eq!(statements("enable f16;", body, 3)[..], [2048, 2048, third as u32]);
}

#[test]
fn private_constants_and_constant_tables_have_their_values() {
    let before = "
        const TABLE = array<u32, 4>(3, 1, 4, 1);
        struct S { a: vec2<u32>, b: u32 }
        var<private> p: S = S(vec2(7, 8), 9);
        var<private> counter: u32;";
    let body = "
        var i = 2u; out[0] = TABLE[i]; i = 9u; out[1] = TABLE[i];
        out[2] = p.a.y; p.a.y = 5u; out[3] = p.a.y + p.b; counter += 1u; out[4] = counter;";
    assert_eq!(statements(before, body, 5), [4, 1, 8, 14, 1]);
}
