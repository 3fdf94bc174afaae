//! Operators, functions and conversions.

use crate::harness::{floats, statements};

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
