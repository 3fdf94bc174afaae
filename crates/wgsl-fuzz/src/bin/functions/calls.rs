//! The calls of the table: each WGSL operator and function with each of its types.

/// Range of random values for an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    /// Small and large numbers; for integers, arbitrary bits.
    Any,
    /// Numbers of magnitude at most 10.
    Small,
    /// Numbers between -1 and 1.
    Unit,
    /// Positive numbers.
    Positive,
    /// Numbers of at least 1.
    FromOne,
    /// Bit counts.
    Bits,
    /// Nonzero numbers.
    NotZero,
}

/// A call with a placeholder type `T`.
pub(crate) struct Call {
    /// Name of the row.
    pub(crate) name: &'static str,
    /// Expression over the arguments `a`, `b`, `c` and `d`.
    pub(crate) text: &'static str,
    /// Types to substitute for `T`.
    pub(crate) types: &'static [&'static str],
    /// Types and ranges of the arguments.
    pub(crate) arguments: &'static [(&'static str, Range)],
    pub(crate) result: &'static str,
    /// `true` to also make the call with vectors of three components.
    pub(crate) has_vectors: bool,
}

const FLOATS: &[&str] = &["f32", "f16", "f64"];
const INTEGERS: &[&str] = &["i32", "u32", "i64", "u64"];
const NUMBERS: &[&str] = &["f32", "f16", "f64", "i32", "u32", "i64", "u64"];
const WORDS: &[&str] = &["f32"];

const fn call(
    name: &'static str,
    text: &'static str,
    types: &'static [&'static str],
    arguments: &'static [(&'static str, Range)],
) -> Call {
    Call { name, text, types, arguments, result: "T", has_vectors: true }
}

impl Call {
    const fn to(self, result: &'static str) -> Self {
        Self { result, ..self }
    }

    const fn scalar(self) -> Self {
        Self { has_vectors: false, ..self }
    }
}

use Range::{Any, Bits, FromOne, NotZero, Positive, Small, Unit};

const T: (&str, Range) = ("T", Any);
const S: (&str, Range) = ("T", Small);
const P: (&str, Range) = ("T", Positive);
const N: (&str, Range) = ("T", NotZero);
const U: (&str, Range) = ("T", Unit);
const B: (&str, Range) = ("u32", Bits);

/// All calls.
#[rustfmt::skip]
pub(crate) const CALLS: &[Call] = &[
    call("+", "a + b", NUMBERS, &[S, S]),
    call("-", "a - b", NUMBERS, &[S, S]),
    call("*", "a * b", NUMBERS, &[S, S]),
    call("/", "a / b", FLOATS, &[S, N]),
    call("/", "a / b", INTEGERS, &[T, T]),
    call("%", "a % b", FLOATS, &[S, N]),
    call("%", "a % b", INTEGERS, &[T, T]),
    call("negation", "-a", &["f32", "f16", "f64", "i32", "i64"], &[T]),
    call("~", "~a", INTEGERS, &[T]),
    call("&", "a & b", INTEGERS, &[T, T]),
    call("|", "a | b", INTEGERS, &[T, T]),
    call("^", "a ^ b", INTEGERS, &[T, T]),
    call("<<", "a << b", INTEGERS, &[T, B]).scalar(),
    call(">>", "a >> b", INTEGERS, &[T, B]).scalar(),
    call("==", "u32(a == b)", NUMBERS, &[T, T]).scalar().to("u32"),
    call("<", "u32(a < b)", NUMBERS, &[T, T]).scalar().to("u32"),
    call("<=", "u32(a <= b)", NUMBERS, &[T, T]).scalar().to("u32"),
    call("widened <", "u32(i64(a) < i64(b)) + 2u * u32(i64(a) >= i64(b)) + 4u * u32(i64(a) == i64(b))", &["i32"], &[T, T]).scalar().to("u32"),
    call("widened <", "u32(u64(a) < u64(b)) + 2u * u32(u64(a) > u64(b)) + 4u * u32(u64(a) != u64(b))", &["u32"], &[T, T]).scalar().to("u32"),
    call("select", "select(a, b, a < b)", NUMBERS, &[T, T]),
    call("select of zero", "select(a, T(), b < a)", NUMBERS, &[T, T]),
    call("to f32", "f32(a)", NUMBERS, &[T]).scalar().to("f32"),
    call("to f16", "f32(f16(a))", NUMBERS, &[S]).scalar().to("f32"),
    call("to f64", "f64(a)", NUMBERS, &[T]).scalar().to("f64"),
    call("to i32", "i32(a)", NUMBERS, &[T]).scalar().to("i32"),
    call("to u32", "u32(a)", NUMBERS, &[T]).scalar().to("u32"),
    call("to i64", "i64(a)", NUMBERS, &[T]).scalar().to("i64"),
    call("to u64", "u64(a)", NUMBERS, &[T]).scalar().to("u64"),
    call("to bool", "u32(bool(a))", NUMBERS, &[T]).scalar().to("u32"),
    call("abs", "abs(a)", NUMBERS, &[T]),
    call("min", "min(a, b)", NUMBERS, &[T, T]),
    call("max", "max(a, b)", NUMBERS, &[T, T]),
    call("clamp", "clamp(a, min(b, c), max(b, c))", NUMBERS, &[T, T, T]),
    call("sign", "sign(a)", &["f32", "f16", "f64", "i32", "i64"], &[T]),
    call("dot", "dot(vec3(a, b, a), vec3(b, b, a))", NUMBERS, &[S, S]).scalar(),
    call("saturate", "saturate(a)", FLOATS, &[T]),
    call("ceil", "ceil(a)", FLOATS, &[S]),
    call("floor", "floor(a)", FLOATS, &[S]),
    call("round", "round(a)", FLOATS, &[S]),
    call("trunc", "trunc(a)", FLOATS, &[S]),
    call("fract", "fract(a)", FLOATS, &[S]),
    call("modf", "modf(a).fract + modf(a).whole * 0.5", FLOATS, &[S]),
    call("frexp", "frexp(a).fract", FLOATS, &[S]),
    call("frexp exp", "i32(frexp(a).exp)", FLOATS, &[S]).scalar().to("i32"),
    call("ldexp", "ldexp(a, i32(b % 20u) - 10)", FLOATS, &[S, B]).scalar(),
    call("sqrt", "sqrt(a)", FLOATS, &[P]),
    call("inverseSqrt", "inverseSqrt(a)", FLOATS, &[P]),
    call("sin", "sin(a)", FLOATS, &[S]),
    call("cos", "cos(a)", FLOATS, &[S]),
    call("tan", "tan(a)", FLOATS, &[U]),
    call("asin", "asin(a)", FLOATS, &[U]),
    call("acos", "acos(a)", FLOATS, &[U]),
    call("atan", "atan(a)", FLOATS, &[S]),
    call("atan2", "atan2(a, b)", FLOATS, &[S, N]),
    call("sinh", "sinh(a)", FLOATS, &[U]),
    call("cosh", "cosh(a)", FLOATS, &[U]),
    call("tanh", "tanh(a)", FLOATS, &[S]),
    call("asinh", "asinh(a)", FLOATS, &[S]),
    call("acosh", "acosh(a)", FLOATS, &[("T", FromOne)]),
    call("atanh", "atanh(a * 0.75)", FLOATS, &[U]),
    call("exp", "exp(a)", FLOATS, &[S]),
    call("exp2", "exp2(a)", FLOATS, &[S]),
    call("log", "log(a)", FLOATS, &[P]),
    call("log2", "log2(a)", FLOATS, &[P]),
    call("pow", "pow(a, b)", FLOATS, &[P, U]),
    call("degrees", "degrees(a)", FLOATS, &[S]),
    call("radians", "radians(a)", FLOATS, &[S]),
    call("fma", "fma(a, b, c)", FLOATS, &[S, S, S]),
    call("mix", "mix(a, b, c)", FLOATS, &[S, S, U]),
    call("step", "step(a, b)", FLOATS, &[S, S]),
    call("smoothstep", "smoothstep(a, a + b, c)", FLOATS, &[S, P, S]),
    call("length", "length(vec3(a, b, a))", FLOATS, &[S, S]).scalar(),
    call("distance", "distance(vec3(a, b, a), vec3(b, a, b))", FLOATS, &[S, S]).scalar(),
    call("normalize", "normalize(vec3(a, b, a)).y", FLOATS, &[N, N]).scalar(),
    call("cross", "dot(cross(vec3(a, b, a), vec3(b, b, a)), vec3(a, a, b))", FLOATS, &[U, U]).scalar(),
    call("faceForward", "faceForward(vec3(a, b, a), vec3(b), vec3(a)).y", FLOATS, &[S, S]).scalar(),
    call("reflect", "reflect(vec3(a, b, a), vec3(0.0, 1.0, 0.0)).y", FLOATS, &[S, S]).scalar(),
    call("refract", "refract(vec3(0.6, -0.8, 0.0), vec3(0.0, 1.0, 0.0), a * 0.5).x", FLOATS, &[U]).scalar(),
    call("determinant", "determinant(mat3x3(a, b, a, b, b, a, a, 1.0, b))", FLOATS, &[U, U]).scalar(),
    call("transpose", "transpose(mat2x3(a, b, a, b, b, a))[1].x", FLOATS, &[S, S]).scalar(),
    call("matrix * vector", "(mat3x3(a, b, a, b, b, a, a, b, b) * vec3(b, a, b)).y", FLOATS, &[S, S]).scalar(),
    call("matrix * matrix", "(mat2x2(a, b, a, b) * mat2x2(b, a, a, b))[1].x", FLOATS, &[S, S]).scalar(),
    call("countOneBits", "countOneBits(a)", INTEGERS, &[T]),
    call("countLeadingZeros", "countLeadingZeros(a)", INTEGERS, &[T]),
    call("countTrailingZeros", "countTrailingZeros(a)", INTEGERS, &[T]),
    call("reverseBits", "reverseBits(a)", INTEGERS, &[T]),
    call("firstLeadingBit", "firstLeadingBit(a)", INTEGERS, &[T]),
    call("firstTrailingBit", "firstTrailingBit(a)", INTEGERS, &[T]),
    call("extractBits", "extractBits(a, b, c)", INTEGERS, &[T, B, B]),
    call("insertBits", "insertBits(a, b, c, d)", INTEGERS, &[T, T, B, B]),
    call("all, any", "u32(all(vec2(a < b, b < a))) + u32(any(vec2(a < b, b < a)))", NUMBERS, &[T, T]).scalar().to("u32"),
    call("bitcast", "bitcast<u32>(a)", &["f32", "i32", "u32"], &[T]).scalar().to("u32"),
    call("quantizeToF16", "quantizeToF16(a)", WORDS, &[S]),
    call("dot4I8Packed", "dot4I8Packed(u32(a), u32(b))", &["u32"], &[T, T]).scalar().to("i32"),
    call("dot4U8Packed", "dot4U8Packed(a, b)", &["u32"], &[T, T]).scalar(),
    call("pack4xI8", "pack4xI8(vec4(a, b, 1, -1))", &["i32"], &[T, T]).scalar().to("u32"),
    call("pack4xU8", "pack4xU8(vec4(a, b, 1u, 300u))", &["u32"], &[T, T]).scalar(),
    call("pack4xI8Clamp", "pack4xI8Clamp(vec4(a, b, 1, -1))", &["i32"], &[T, T]).scalar().to("u32"),
    call("pack4xU8Clamp", "pack4xU8Clamp(vec4(a, b, 1u, 300u))", &["u32"], &[T, T]).scalar(),
    call("unpack4xI8", "dot(unpack4xI8(a), vec4(1, 300, 90000, 27000000))", &["u32"], &[T]).scalar().to("i32"),
    call("unpack4xU8", "dot(unpack4xU8(a), vec4(1u, 300u, 90000u, 27000000u))", &["u32"], &[T]).scalar(),
    call("pack4x8snorm", "pack4x8snorm(vec4(a, b, 0.5, -1.0))", WORDS, &[U, U]).scalar().to("u32"),
    call("pack4x8unorm", "pack4x8unorm(vec4(a, b, 0.25, 1.0))", WORDS, &[U, U]).scalar().to("u32"),
    call("pack2x16snorm", "pack2x16snorm(vec2(a, b))", WORDS, &[U, U]).scalar().to("u32"),
    call("pack2x16unorm", "pack2x16unorm(vec2(a, b))", WORDS, &[U, U]).scalar().to("u32"),
    call("pack2x16float", "pack2x16float(vec2(a, b))", WORDS, &[S, S]).scalar().to("u32"),
    call("unpack4x8snorm", "dot(unpack4x8snorm(a), vec4(1.0, 2.0, 4.0, 8.0))", &["u32"], &[T]).scalar().to("f32"),
    call("unpack4x8unorm", "dot(unpack4x8unorm(a), vec4(1.0, 2.0, 4.0, 8.0))", &["u32"], &[T]).scalar().to("f32"),
    call("unpack2x16snorm", "dot(unpack2x16snorm(a), vec2(1.0, 2.0))", &["u32"], &[T]).scalar().to("f32"),
    call("unpack2x16unorm", "dot(unpack2x16unorm(a), vec2(1.0, 2.0))", &["u32"], &[T]).scalar().to("f32"),
    call("unpack2x16float", "unpack2x16float(a & 0x3fff3fffu).y", &["u32"], &[T]).scalar().to("f32"),
    call("atomicAdd", "atomic_add(a, b)", &["i32", "u32"], &[T, T]).scalar(),
    call("atomicSub", "atomic_sub(a, b)", &["i32", "u32"], &[T, T]).scalar(),
    call("atomicMin", "atomic_min(a, b)", &["i32", "u32"], &[T, T]).scalar(),
    call("atomicMax", "atomic_max(a, b)", &["i32", "u32"], &[T, T]).scalar(),
    call("atomicAnd", "atomic_and(a, b)", &["i32", "u32"], &[T, T]).scalar(),
    call("atomicOr", "atomic_or(a, b)", &["i32", "u32"], &[T, T]).scalar(),
    call("atomicXor", "atomic_xor(a, b)", &["i32", "u32"], &[T, T]).scalar(),
    call("atomicExchange", "atomic_exchange(a, b)", &["i32", "u32"], &[T, T]).scalar(),
    call("atomicCompareExchangeWeak", "atomic_compare(a, b)", &["i32", "u32"], &[T, T]).scalar(),
];

/// Functions for the calls of atomics; `T` is the type of their numbers.
pub(crate) const ATOMICS: &str = "
var<workgroup> cell: atomic<T>;
fn atomic_add(a: T, b: T) -> T { atomicStore(&cell, a); return (atomicAdd(&cell, b) ^ atomicAdd(&cell, 7)) + atomicLoad(&cell); }
fn atomic_sub(a: T, b: T) -> T { atomicStore(&cell, a); return (atomicSub(&cell, b) ^ atomicSub(&cell, 7)) + atomicLoad(&cell); }
fn atomic_min(a: T, b: T) -> T { atomicStore(&cell, a); return (atomicMin(&cell, b) ^ atomicMin(&cell, 7)) + atomicLoad(&cell); }
fn atomic_max(a: T, b: T) -> T { atomicStore(&cell, a); return (atomicMax(&cell, b) ^ atomicMax(&cell, 7)) + atomicLoad(&cell); }
fn atomic_and(a: T, b: T) -> T { atomicStore(&cell, a); return (atomicAnd(&cell, b) ^ atomicAnd(&cell, 7)) + atomicLoad(&cell); }
fn atomic_or(a: T, b: T) -> T { atomicStore(&cell, a); return (atomicOr(&cell, b) ^ atomicOr(&cell, 7)) + atomicLoad(&cell); }
fn atomic_xor(a: T, b: T) -> T { atomicStore(&cell, a); return (atomicXor(&cell, b) ^ atomicXor(&cell, 7)) + atomicLoad(&cell); }
fn atomic_exchange(a: T, b: T) -> T { atomicStore(&cell, a); return (atomicExchange(&cell, b) ^ atomicExchange(&cell, 7)) + atomicLoad(&cell); }
fn atomic_compare(a: T, b: T) -> T {
    atomicStore(&cell, a);
    let first = atomicCompareExchangeWeak(&cell, b, 7);
    return (first.old_value ^ T(first.exchanged)) + atomicLoad(&cell);
}
";
