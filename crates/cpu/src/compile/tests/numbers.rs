//! Operators, conversions and built-in functions, with the values at the edges of their types.

use super::{Test, expressions, pairs};
use crate::arith::{Operand, Outcome, Scalar, binary, convert, math};
use naga::{BinaryOperator, MathFunction as Fun, ScalarKind};

const INTEGERS: [u32; 12] =
    [0, 1, 2, 7, 31, 32, 33, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fff9, 0xffff_ffff];

fn floats() -> Vec<u32> {
    let mut floats = vec![0.0, -0.0, 1.0, -1.5, 2.5, 3.5, 1e10, -1e10, f32::MAX, f32::MIN_POSITIVE, 1e-40];
    floats.extend([f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 2_147_483_648.0, 4_294_967_296.0, -0.5, 0.3]);
    floats.into_iter().map(f32::to_bits).collect()
}

fn same(found: u32, expected: u32, is_float: bool) -> bool {
    let nan = |bits| is_float && f32::from_bits(bits).is_nan();
    found == expected || nan(found) && nan(expected)
}

/// Evaluates an expression of `a` and `b` for every pair of values, and compares the results with plain Rust.
fn check(ty: &str, result: &str, expression: &str, values: &[u32], expected: impl Fn(u32, u32) -> u32) {
    let found = pairs("", [ty, result], values, &[expression]).get::<u32>(1);
    for (at, &found) in found.iter().enumerate().take(values.len() * values.len()) {
        let a = values[at / values.len()];
        let b = values[at % values.len()];
        let expected = expected(a, b);
        assert!(
            same(found, expected, result == "f32"),
            "{expression} of {ty} {a:#x} and {b:#x} is {found:#x} and not {expected:#x}"
        );
    }
}

fn scalar(ty: &str, bits: u32) -> Scalar {
    match ty {
        "i32" => Scalar::I32(bits as i32),
        "u32" => Scalar::U32(bits),
        _ => Scalar::F32(f32::from_bits(bits)),
    }
}

#[test]
fn operators_agree_with_the_arithmetic_of_the_interpreter() {
    let float_bits = floats();
    let number = [
        ("+", BinaryOperator::Add),
        ("-", BinaryOperator::Subtract),
        ("*", BinaryOperator::Multiply),
        ("/", BinaryOperator::Divide),
        ("%", BinaryOperator::Modulo),
    ];
    let bit =
        [("&", BinaryOperator::And), ("|", BinaryOperator::InclusiveOr), ("^", BinaryOperator::ExclusiveOr)];
    let compare = [
        ("==", BinaryOperator::Equal),
        ("!=", BinaryOperator::NotEqual),
        ("<", BinaryOperator::Less),
        ("<=", BinaryOperator::LessEqual),
        (">", BinaryOperator::Greater),
        (">=", BinaryOperator::GreaterEqual),
    ];
    for ty in ["i32", "u32", "f32"] {
        let values = if ty == "f32" { &float_bits[..] } else { &INTEGERS };
        let of = |op| move |a, b| binary(op, scalar(ty, a), scalar(ty, b)).bits() as u32;
        for (text, op) in number {
            check(ty, ty, &format!("a {text} b"), values, of(op));
        }
        for (text, op) in compare {
            check(ty, "u32", &format!("u32(a {text} b)"), values, of(op));
        }
        if ty == "f32" {
            continue;
        }
        for (text, op) in bit {
            check(ty, ty, &format!("a {text} b"), values, of(op));
        }
        for (text, op) in [("<<", BinaryOperator::ShiftLeft), (">>", BinaryOperator::ShiftRight)] {
            check(ty, ty, &format!("a {text} u32(b)"), values, move |a, b| {
                binary(op, scalar(ty, a), Scalar::U32(b)).bits() as u32
            });
        }
    }
}

#[test]
fn conversions_agree_with_the_arithmetic_of_the_interpreter() {
    let float_bits = floats();
    let kinds = [("i32", ScalarKind::Sint), ("u32", ScalarKind::Uint), ("f32", ScalarKind::Float)];
    for from in ["i32", "u32", "f32"] {
        let values = if from == "f32" { &float_bits[..] } else { &INTEGERS };
        for (to, kind) in kinds {
            check(from, to, &format!("{to}(a)"), values, |a, _| {
                convert(scalar(from, a), kind, Some(4)).bits() as u32
            });
            check(from, to, &format!("bitcast<{to}>(a)"), values, |a, _| a);
            check(from, to, &format!("{to}(bool(a))"), values, |a, _| {
                let is_true = convert(scalar(from, a), ScalarKind::Bool, Some(1));
                convert(is_true, kind, Some(4)).bits() as u32
            });
            check(from, to, &format!("{to}(a < b)"), values, |a, b| {
                let less = binary(BinaryOperator::Less, scalar(from, a), scalar(from, b));
                convert(less, kind, Some(4)).bits() as u32
            });
        }
    }
}

/// Checks functions of one, two or three arguments, which are `a`, `b` and `a` again.
fn check_functions(ty: &str, values: &[u32], functions: &[(&str, Fun, usize)]) {
    for &(name, fun, count) in functions {
        let arguments = ["a", "b", "a"][..count].join(", ");
        check(ty, ty, &format!("{name}({arguments})"), values, |a, b| {
            let arguments = [a, b, a].map(|bits| Operand::Scalar(scalar(ty, bits)));
            match math(fun, &arguments[..count]) {
                Outcome::Scalar(value) => value.bits() as u32,
                other => panic!("{name} gives {other:?}"),
            }
        });
    }
}

#[test]
fn functions_of_floats_agree_with_the_arithmetic_of_the_interpreter() {
    check_functions(
        "f32",
        &floats(),
        &[
            ("abs", Fun::Abs, 1),
            ("min", Fun::Min, 2),
            ("max", Fun::Max, 2),
            ("clamp", Fun::Clamp, 3),
            ("saturate", Fun::Saturate, 1),
            ("ceil", Fun::Ceil, 1),
            ("floor", Fun::Floor, 1),
            ("round", Fun::Round, 1),
            ("trunc", Fun::Trunc, 1),
            ("fract", Fun::Fract, 1),
            ("sqrt", Fun::Sqrt, 1),
            ("inverseSqrt", Fun::InverseSqrt, 1),
            ("fma", Fun::Fma, 3),
            ("mix", Fun::Mix, 3),
            ("step", Fun::Step, 2),
            ("smoothstep", Fun::SmoothStep, 3),
            ("sign", Fun::Sign, 1),
            ("radians", Fun::Radians, 1),
            ("degrees", Fun::Degrees, 1),
            ("sin", Fun::Sin, 1),
            ("cos", Fun::Cos, 1),
            ("atan2", Fun::Atan2, 2),
            ("exp2", Fun::Exp2, 1),
            ("log", Fun::Log, 1),
            ("pow", Fun::Pow, 2),
            ("length", Fun::Length, 1),
            ("distance", Fun::Distance, 2),
            ("quantizeToF16", Fun::QuantizeToF16, 1),
        ],
    );
}

#[test]
fn functions_of_integers_agree_with_the_arithmetic_of_the_interpreter() {
    for ty in ["i32", "u32"] {
        check_functions(
            ty,
            &INTEGERS,
            &[
                ("abs", Fun::Abs, 1),
                ("min", Fun::Min, 2),
                ("max", Fun::Max, 2),
                ("clamp", Fun::Clamp, 3),
                ("countOneBits", Fun::CountOneBits, 1),
                ("countLeadingZeros", Fun::CountLeadingZeros, 1),
                ("countTrailingZeros", Fun::CountTrailingZeros, 1),
                ("reverseBits", Fun::ReverseBits, 1),
                ("firstLeadingBit", Fun::FirstLeadingBit, 1),
                ("firstTrailingBit", Fun::FirstTrailingBit, 1),
            ],
        );
    }
    check_functions("i32", &INTEGERS, &[("sign", Fun::Sign, 1)]);
    for ty in ["i32", "u32"] {
        for count in [0, 1, 5, 32, 40] {
            check(ty, ty, &format!("extractBits(a, u32(b), {count}u)"), &INTEGERS, |a, b| {
                let arguments = [scalar(ty, a), Scalar::U32(b), Scalar::U32(count)].map(Operand::Scalar);
                word(&math(Fun::ExtractBits, &arguments))
            });
            check(
                ty,
                ty,
                &format!("insertBits(a, {ty}(0x5a5a5a5a), u32(b), {count}u)"),
                &INTEGERS,
                |a, b| {
                    let new = scalar(ty, 0x5a5a_5a5a);
                    let arguments =
                        [scalar(ty, a), new, Scalar::U32(b), Scalar::U32(count)].map(Operand::Scalar);
                    word(&math(Fun::InsertBits, &arguments))
                },
            );
        }
    }
}

fn word(outcome: &Outcome) -> u32 {
    match outcome {
        Outcome::Scalar(value) => value.bits() as u32,
        other => panic!("{other:?} is not a scalar"),
    }
}

#[test]
fn vectors_and_matrices_follow_linear_algebra() {
    let test = Test::new(
        "@group(0) @binding(0) var<storage, read_write> out: array<f32>;
        @compute @workgroup_size(1)
        fn vectors() {
            let m = mat2x3<f32>(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
            let column = m * vec2<f32>(1.0, 10.0);
            let row = vec3<f32>(1.0, 10.0, 100.0) * m;
            let product = transpose(m) * m;
            let sum = m + m * 2.0;
            out[0] = column.x; out[1] = column.y; out[2] = column.z;
            out[3] = row.x; out[4] = row.y;
            out[5] = product[0][1]; out[6] = product[1][1]; out[7] = sum[1].z;
            out[8] = determinant(mat2x2<f32>(1.0, 2.0, 3.0, 4.0));
            let c = cross(vec3<f32>(1.0, 0.0, 0.0), vec3<f32>(0.0, 1.0, 0.0));
            out[9] = c.z;
            out[10] = normalize(vec2<f32>(3.0, 4.0)).y;
            let r = reflect(vec2<f32>(1.0, -1.0), vec2<f32>(0.0, 1.0));
            out[11] = r.y;
            let parts = modf(2.75);
            out[12] = parts.fract + parts.whole * 10.0;
            let f = frexp(vec2<f32>(8.0, 3.0));
            out[13] = f.fract.y + f32(f.exp.x) * 10.0;
            let s = select(vec2<f32>(1.0, 2.0), vec2<f32>(3.0, 4.0), vec2<bool>(true, false));
            out[14] = s.x * 10.0 + s.y;
            out[15] = f32(all(vec3<bool>(true, true, false))) + 10.0 * f32(any(vec2<bool>(false, true)));
            let mixed = mix(vec2<f32>(0.0, 10.0), vec2<f32>(10.0, 20.0), 0.5);
            out[16] = mixed.x + mixed.y;
            out[17] = -(vec3<f32>(1.0, 2.0, 3.0).zyx).x;
            out[18] = unpack4x8unorm(pack4x8unorm(vec4<f32>(0.0, 1.0, 0.0, 1.0))).w;
            var n = vec3<i32>(1, 2, 3);
            n.y = dot(n, n);
            out[19] = f32(n.y) + f32(~n.x);
        }",
    );
    let found = test.buffer(&[0_f32; 20]).run([1, 1, 1]).get::<f32>(0);
    let expected = [
        41.0, 52.0, 63.0, 321.0, 654.0, 32.0, 77.0, 18.0, -2.0, 1.0, 0.8, 1.0, 20.75, 40.75, 32.0, 10.0,
        20.0, -3.0, 1.0, 12.0,
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_division_by_a_constant_agrees_with_the_interpreter() {
    for (ty, suffix) in [("i32", "i"), ("u32", "u")] {
        let mut lines = String::new();
        for (at, &divisor) in INTEGERS.iter().filter(|&&divisor| divisor != 0).enumerate() {
            let divisor = match ty {
                "i32" => format!("i32({})", divisor.cast_signed()),
                _ => format!("{divisor}{suffix}"),
            };
            let start = 2 * at * 16;
            lines +=
                &format!("out[{start}u + i] = a / {divisor}; out[{start}u + 16u + i] = a % {divisor};\n");
        }
        let wgsl = format!(
            "@group(0) @binding(0) var<storage, read> values: array<{ty}>;
            @group(0) @binding(1) var<storage, read_write> out: array<{ty}>;
            @compute @workgroup_size(16)
            fn divided(@builtin(local_invocation_index) i: u32) {{ let a = values[i]; {lines} }}"
        );
        let values: Vec<u32> = INTEGERS.iter().copied().cycle().take(16).collect();
        let test = Test::new(&wgsl).buffer(&values).buffer(&[7_u32; 2 * 11 * 16]).run([1; 3]);
        // The pair for which the least integer is divided by itself: eighth value as the divisor, ninth as the
        // dividend.
        assert_eq!(INTEGERS[8], 0x8000_0000);
        let out = test.get::<u32>(1);
        assert_eq!((out[2 * 7 * 16 + 8], out[(2 * 7 + 1) * 16 + 8]), (1, 0), "{ty}");
    }
}

/// Evaluates expressions of `a` and `b`, whose results may have any type of 32 bits, and compares the engines.
fn compare(ty: &str, values: &[u32], list: &[&str]) -> Test {
    let words: Vec<String> = list.iter().map(|expression| format!("bitcast<u32>({expression})")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    pairs("", [ty, "u32"], values, &words)
}

#[test]
fn functions_of_floats_are_instructions_on_vectors() {
    let list = expressions(
        "inverseSqrt(a); sqrt(a); saturate(a); fract(a); sign(a); radians(a) + degrees(b); step(a, b);
        mix(a, b, 0.25); smoothstep(a, b, 0.75); clamp(a, b, 3.0); fma(a, b, 1.5); length(vec3(a, b, 1.0));
        distance(vec2(a, b), vec2(b, 1.0)); normalize(vec3(a, b, 1.0)).y;
        cross(vec3(a, b, 1.0), vec3(b, 2.0, a)).x; cross(vec3(a, b, 1.0), vec3(b, 2.0, a)).z;
        reflect(vec2(a, b), vec2(b, 1.0)).y; length(a); modf(a).fract; modf(b).whole",
    );
    for some in list.chunks(6) {
        for (lanes, code) in &compare("f32", &floats(), some).wider {
            assert_eq!(code.code.calls(), 0, "{lanes} lanes call a function for {some:?}");
        }
    }
}

#[test]
fn a_function_without_instructions_is_one_call_for_all_lanes() {
    let list = expressions(
        "sin(a); sin(vec4(a, b, 1.0, 2.0)).w; pow(a, b); atan2(vec2(a, b), vec2(b, a)).x; ldexp(a, i32(b));
        frexp(a).fract; f32(pack4x8unorm(vec4(a, b, a, 1.0))); unpack2x16float(u32(a)).y;
        determinant(mat2x2(a, b, b, 1.0)); refract(vec3(a, b, 1.0), vec3(b, a, 0.5), 0.75).z;
        faceForward(vec2(a, b), vec2(b, a), vec2(a, a)).x; f32(firstLeadingBit(i32(a)))",
    );
    for expression in list {
        for (lanes, code) in &compare("f32", &floats(), &[expression]).wider {
            assert_eq!(code.code.calls(), 1, "{lanes} lanes call {expression} several times");
        }
    }
}

#[test]
fn functions_of_integers_take_a_constant_for_all_lanes() {
    compare("i32", &INTEGERS, &["clamp(a, b, 5)", "max(a, 5)"]);
    compare("u32", &INTEGERS, &["clamp(a, b, 5u)", "max(a, 5u)"]);
}

#[test]
fn a_division_by_a_power_of_two_is_that_of_the_interpreter() {
    let unsigned = expressions("a / 1u; a % 1u; a / 8u; a % 8u; a / 0x80000000u; a % 0x80000000u");
    compare("u32", &INTEGERS, &unsigned);
    let signed = "a / 1; a % 1; a / 8; a % 8; a / 0x40000000; a % 0x40000000;
        a / -8; a % -8; a / b; a % b; a / 6; a % 6";
    compare("i32", &INTEGERS, &expressions(signed));
}
