//! Operators, conversions and functions whose operands differ between lanes.

use super::Test;

const INTEGERS: [u32; 12] =
    [0, 1, 2, 7, 31, 32, 33, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fff9, 0xffff_ffff];

const FLOATS: [f32; 18] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    2.5,
    3.5,
    1e10,
    -1e10,
    f32::MAX,
    f32::MIN_POSITIVE,
    1e-40,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    2_147_483_648.0,
    4_294_967_296.0,
    -0.5,
    0.3,
];

/// Evaluates expressions of `a` and `b` in 16 lanes, for every pair of values, and compares them with the interpreter.
fn check(ty: &str, values: &[u32], expressions: &[&str]) -> Test {
    let count = values.len();
    let pairs = (count * count).next_multiple_of(16);
    let [a, b] = [1, count].map(|step| (0..pairs).map(|at| values[at / step % count]).collect::<Vec<_>>());
    let stores: String = expressions
        .iter()
        .enumerate()
        .map(|(at, expression)| {
            format!("out[{at}u * arrayLength(&left) + i] = bitcast<u32>({expression});\n")
        })
        .collect();
    let wgsl = format!(
        "@group(0) @binding(0) var<storage, read> left: array<{ty}>;
        @group(0) @binding(1) var<storage, read> right: array<{ty}>;
        @group(0) @binding(2) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(16)
        fn pairs(@builtin(global_invocation_id) id: vec3<u32>) {{
            let i = id.x;
            let a = left[i];
            let b = right[i];
            {stores}
        }}"
    );
    let out = vec![0_u32; pairs * expressions.len()];
    let test = Test::new(&wgsl).buffer(&a).buffer(&b).buffer(&out).run([pairs as u32 / 16, 1, 1]);
    assert!(test.vector.is_ok() && test.wider.len() == 2, "all widths execute {expressions:?}");
    test
}

fn floats() -> Vec<u32> {
    FLOATS.map(f32::to_bits).to_vec()
}

#[test]
fn functions_of_floats_are_instructions_on_vectors() {
    let expressions = [
        "inverseSqrt(a)",
        "sqrt(a)",
        "saturate(a)",
        "fract(a)",
        "sign(a)",
        "radians(a) + degrees(b)",
        "step(a, b)",
        "mix(a, b, 0.25)",
        "smoothstep(a, b, 0.75)",
        "clamp(a, b, 3.0)",
        "fma(a, b, 1.5)",
        "length(vec3(a, b, 1.0))",
        "distance(vec2(a, b), vec2(b, 1.0))",
        "normalize(vec3(a, b, 1.0)).y",
        "cross(vec3(a, b, 1.0), vec3(b, 2.0, a)).x",
        "cross(vec3(a, b, 1.0), vec3(b, 2.0, a)).z",
        "reflect(vec2(a, b), vec2(b, 1.0)).y",
        "length(a)",
        "modf(a).fract",
        "modf(b).whole",
    ];
    for expressions in expressions.chunks(6) {
        let test = check("f32", &floats(), expressions);
        for (lanes, code) in &test.wider {
            assert_eq!(code.code.calls(), 0, "{lanes} lanes call a function for {expressions:?}");
        }
    }
}

#[test]
fn a_function_without_instructions_is_one_call_for_all_lanes() {
    let expressions = [
        "sin(a)",
        "sin(vec4(a, b, 1.0, 2.0)).w",
        "pow(a, b)",
        "atan2(vec2(a, b), vec2(b, a)).x",
        "ldexp(a, i32(b))",
        "frexp(a).fract",
        "f32(pack4x8unorm(vec4(a, b, a, 1.0)))",
        "unpack2x16float(u32(a)).y",
        "determinant(mat2x2(a, b, b, 1.0))",
        "refract(vec3(a, b, 1.0), vec3(b, a, 0.5), 0.75).z",
        "faceForward(vec2(a, b), vec2(b, a), vec2(a, a)).x",
        "f32(firstLeadingBit(i32(a)))",
    ];
    for expression in expressions {
        let test = check("f32", &floats(), &[expression]);
        for (lanes, code) in &test.wider {
            assert_eq!(code.code.calls(), 1, "{lanes} lanes call {expression} several times");
        }
    }
}

#[test]
fn functions_of_integers_are_those_of_the_interpreter() {
    check("i32", &INTEGERS, &["abs(a)", "sign(a)", "clamp(a, b, 5)", "min(a, b)", "max(a, b)"]);
    check("u32", &INTEGERS, &["abs(a)", "clamp(a, b, 5u)", "min(a, b)", "max(a, b)", "countOneBits(a)"]);
}

#[test]
fn conversions_are_those_of_the_interpreter() {
    check("f32", &floats(), &["i32(a)", "u32(a)", "u32(bool(a))", "f32(a < b)", "i32(a < b)"]);
    check("i32", &INTEGERS, &["f32(a)", "u32(bool(a))", "f32(bool(b))", "u32(a)"]);
    check("u32", &INTEGERS, &["f32(a)", "i32(bool(a))", "f32(a > b)"]);
}

#[test]
fn a_division_by_a_power_of_two_is_that_of_the_interpreter() {
    check("u32", &INTEGERS, &["a / 1u", "a % 1u", "a / 8u", "a % 8u", "a / 0x80000000u", "a % 0x80000000u"]);
    check("i32", &INTEGERS, &["a / 1", "a % 1", "a / 8", "a % 8", "a / 0x40000000", "a % 0x40000000"]);
    check("i32", &INTEGERS, &["a / -8", "a % -8", "a / b", "a % b", "a / 6", "a % 6"]);
}
