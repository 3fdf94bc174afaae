//! K11: shaders that naga's back ends translate wrongly or not at all give the results of WGSL, or are refused.

use crate::common::{Case, NO_UNWINDING, Subject, case};
use fencepost::Result;
use fencepost::algorithms::prelude::*;
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("k11_a_continuing_block_has_the_values_of_the_body", continuing),
        case("k11_bit_functions_of_64_bit_integers_are_right_or_refused", bits),
        case("k11_functions_of_64_bit_floats_are_right_or_refused", floats),
        case("k11_negative_numbers_are_subtracted_from_atomics_and_packed", negative),
        case("k11_functions_of_known_values_are_those_of_read_values", known),
        case("k11_known_numbers_are_packed_and_unpacked", known_packed)
            .not_in_firefox("Firefox calls lavapipe's own functions for it, which return other bits"),
        case("k11_functions_of_known_64_bit_values_are_right_or_refused", known_wide),
        case("k11_a_component_at_an_index_is_that_of_each_invocation", components),
        case("k11_continue_leaves_every_switch_around_it", switches),
        case("k11_a_value_that_continue_skips_is_refused_in_continuing", skipped),
        case("k12_a_function_that_only_a_return_in_a_loop_leaves_is_accepted", returns),
        case("k11_an_exponent_of_a_16_bit_float_is_refused", exponent),
        case("k11_a_compute_entry_point_with_a_location_is_refused", location),
        case("k11_a_context_works_on_after_a_text_on_which_naga_panics", panics).not_in_a_page(NO_UNWINDING),
    ]
}

const N: usize = 320;

/// Declarations of the numbers that a shader reads and writes.
const HEAD: &str = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;";

/// Launches one invocation of `main`, and returns the contents of `out`, which is initially `first`.
fn run(ctx: &Context, text: &str, first: &[u32]) -> Result<Vec<u32>> {
    let queue = ctx.current_queue();
    let text = match text.split_once("enable f16;") {
        Some((_, rest)) => format!("enable f16;\n{HEAD}\n{rest}"),
        None => format!("{HEAD}\n{text}"),
    };
    let kernel = ctx.kernel_from(&text, "main")?;
    let mut words = first.to_vec();
    words.resize(N, 0);
    let mut out = queue.array(&words)?;
    queue.launch_dyn(&kernel, Grid::groups([1]), args![out = &mut out])?;
    queue.read(&out).wait()
}

/// Loops whose `continuing` blocks use names from the bodies, each with the first numbers in its output.
const LOOPS: &[(&str, &[u32])] = &[
    ("var n = 0u; loop { let old = n; continuing { n += 1u; out[old] = n * 10u + old; break if old >= 2u; } }",
        &[10, 21, 32]),
    ("var n = 1u; loop { let twice = n * 2u; continuing { n = twice + n; out[n] = twice; break if twice > 5u; } }",
        &[0, 0, 0, 2, 0, 0, 0, 0, 0, 6]),
    ("var v = vec3(1u, 2u, 3u); var n = 0u;
      loop { let w = v.zx; continuing { v *= 2u; out[n] = w.x + 100u * w.y; n += 1u; break if n == 3u; } }",
        &[103, 206, 412]),
    ("out[5] = 4u; loop { let read = out[5]; continuing { out[5] = read + 3u; out[read] = read; break if read >= 7u; } }",
        &[0, 0, 0, 0, 4, 10, 0, 7]),
    ("var n = 0u; loop { let r = squared(n); continuing { n += 2u; out[n] = r; break if r > 9u; } }",
        &[0, 0, 0, 0, 4, 0, 16]),
    ("var n = 0u; loop { let before = atomicAdd(&shared_word, 3u); continuing { out[n] = before; n += 1u; break if before > 5u; } }",
        &[0, 3, 6]),
    ("var n = 0u; loop { let is_small = n < 1u; continuing { n += 1u; out[n] = select(7u, 5u, is_small); break if !is_small; } }",
        &[0, 5, 7]),
    ("var n = 0u; loop { let m = n; n = 50u; continuing { n = m + 1u; break if m == 3u; } } out[0] = n;", &[4]),
    ("var list = array(1u, 2u, 3u, 4u); var n = 0u;
      loop { let p = &list[n]; continuing { n += 1u; *p += 20u; break if n > 1u; } }
      out[0] = list[0]; out[1] = list[1]; out[2] = list[2];", &[21, 22, 3]),
    ("var m = mat2x2(1.0, 2.0, 3.0, 4.0); var n = 0u;
      loop { let c = &m[n]; continuing { n = 1u - n; (*c).y += 5.0; break if n == 0u; } }
      out[0] = u32(m[0].y); out[1] = u32(m[1].y);", &[7, 9]),
    ("var n = 0u; loop {
        let a = n; var k = 0u;
        loop { let b = k; continuing { k += 1u; out[10u + n] += a * 10u + b; break if b == 1u; } }
        continuing { n += 1u; out[a] = a + k; break if a == 2u; }
      }", &[2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 1, 21, 41]),
    ("var n = 0u; loop {
        let a = n;
        switch a { case 0u: { n += 1u; continue; } case 2u: { break; } default: { out[9] = a; } }
        if a == 4u { break; }
        continuing { n += 1u; out[8] += a; }
      } out[7] = n;", &[0, 0, 0, 0, 0, 0, 0, 4, 5, 4]),
    ("var n = 0u; loop {
        let a = n * 3u;
        continuing {
            var k = 0u;
            loop { let b = k + a; continuing { n += 1u; k += 1u; out[n] = a * 10u + b; break if k == 2u; } }
            break if a > 5u;
        }
      }", &[0, 0, 1, 66, 67]),
    ("var n = 0u; loop {
        let swap = atomicCompareExchangeWeak(&shared_word, n, n + 2u);
        continuing { n += 2u; out[n] = swap.old_value + select(0u, 100u, swap.exchanged); break if n == 4u; }
      }", &[0, 0, 100, 0, 102]),
    ("var n = 0u; loop {
        let parts = modf(f32(n) + 0.5);
        continuing { n += 1u; out[n] = u32(parts.whole * 10.0 + parts.fract * 2.0); break if parts.whole > 1.0; }
      }", &[0, 1, 11, 21]),
];

fn continuing(s: &Subject) {
    let ctx = s.ctx();
    for (body, first) in LOOPS {
        let text = format!(
            "var<workgroup> shared_word: atomic<u32>;
            fn squared(x: u32) -> u32 {{ return x * x; }}
            @compute @workgroup_size(1) fn main() {{ {body} }}"
        );
        let found = run(&ctx, &text, &[]).unwrap_or_else(|error| panic!("{body}: {error}"));
        let mut expected = first.to_vec();
        expected.resize(N, 0);
        assert_eq!(found, expected, "{body}");
    }
}

/// Checks that a shader is refused because the device lacks its number type.
fn lacks(error: &fencepost::Error, kind: &str) {
    assert!(error.to_string().contains(kind), "{error}");
}

fn bits(s: &Subject) {
    let ctx = s.ctx();
    let numbers =
        [0_u64, 1, 8, 1 << 31, 1 << 32, 5 << 40, 1 << 63, u64::MAX, 0x0123_4567_89ab_cdef, u64::MAX << 33];
    let none = u64::MAX;
    let each = |x: u64| {
        let signed = if (x as i64) < 0 { !x } else { x };
        [
            u64::from(x.count_ones()),
            u64::from(x.leading_zeros()),
            u64::from(x.trailing_zeros()),
            x.reverse_bits(),
            63_u64.wrapping_sub(u64::from(x.leading_zeros())),
            if x == 0 { none } else { u64::from(x.trailing_zeros()) },
            x << 24 >> 44,
            (x & !(0xf_ffff << 20)) | ((!x & 0xf_ffff) << 20),
            63_u64.wrapping_sub(u64::from(signed.leading_zeros())),
            ((x << 24) as i64 >> 44) as u64,
            x,
        ]
    };
    for x in numbers {
        let text = "fn put(at: u32, x: u64) { out[2u * at] = u32(x); out[2u * at + 1u] = u32(x >> 32u); }
            @compute @workgroup_size(1) fn main() {
                let x = (u64(out[1]) << 32u) | u64(out[0]);
                let pair = vec2(x, x);
                put(0u, countOneBits(x));
                put(1u, countLeadingZeros(pair).y);
                put(2u, countTrailingZeros(x));
                put(3u, reverseBits(pair).x);
                put(4u, firstLeadingBit(x));
                put(5u, firstTrailingBit(x));
                put(6u, extractBits(x, 20u, 20u));
                put(7u, insertBits(pair, ~pair, 20u, 20u).y);
                put(8u, u64(firstLeadingBit(i64(x))));
                put(9u, u64(extractBits(i64(x), 20u, 20u)));
                put(10u, u64(insertBits(i64(x), 7li, 70u, 3u)) + extractBits(x, 64u, 9u));
            }";
        match run(&ctx, text, &[x as u32, (x >> 32) as u32]) {
            Ok(found) => {
                let found: Vec<u64> =
                    found.chunks_exact(2).map(|two| u64::from(two[0]) | u64::from(two[1]) << 32).collect();
                assert_eq!(found[..11], each(x), "{x:#x}");
            }
            Err(error) => return lacks(&error, "64-bit integers"),
        }
    }
}

fn floats(s: &Subject) {
    type Function = (&'static str, fn(f64) -> f64);
    const FUNCTIONS: &[Function] = &[
        ("sin(x)", f64::sin),
        ("cos(x)", f64::cos),
        ("tan(x)", f64::tan),
        ("asin(x * 0.25lf)", |x| (x * 0.25).asin()),
        ("acos(x * 0.25lf)", |x| (x * 0.25).acos()),
        ("atan(x)", f64::atan),
        ("atan2(x, 0.75lf)", |x| x.atan2(0.75)),
        ("sinh(x)", f64::sinh),
        ("cosh(x)", f64::cosh),
        ("tanh(x)", f64::tanh),
        ("asinh(x)", f64::asinh),
        ("acosh(x)", f64::acosh),
        ("atanh(x * 0.25lf)", |x| (x * 0.25).atanh()),
        ("exp(x)", f64::exp),
        ("exp2(x)", f64::exp2),
        ("log(x)", f64::ln),
        ("log2(x)", f64::log2),
        ("pow(x, 1.5lf)", |x| x.powf(1.5)),
        ("degrees(x)", f64::to_degrees),
        ("radians(x)", f64::to_radians),
        ("sqrt(x)", f64::sqrt),
        ("inverseSqrt(x)", |x| 1.0 / x.sqrt()),
        ("exp(vec2(x)).y", f64::exp),
        ("atan2(vec3(1.0lf, 1.0lf, x), vec3(-0.5lf)).z", |x| x.atan2(-0.5)),
        ("sin(x * 1.0e7lf) + cos(-x * 3.0e5lf)", |x| (x * 1.0e7).sin() + (-x * 3.0e5).cos()),
        ("sin(x * 1.0e200lf)", |x| libm::sin(x * 1.0e200)), // Wine's own function is wrong here
        ("tan(-x * 4.0e30lf)", |x| (-x * 4.0e30).tan()),
        ("exp(-x * 20.0lf) * 1.0e30lf", |x| (-x * 20.0).exp() * 1.0e30),
        ("log(x * 1.0e-300lf)", |x| (x * 1.0e-300).ln()),
        ("log2(1.0lf + x * 1.0e-9lf) * 1.0e9lf", |x| (1.0 + x * 1.0e-9).log2() * 1.0e9),
        ("pow(1.0lf + x * 0.001lf, -300.0lf)", |x| (1.0 + x * 0.001).powf(-300.0)),
        ("asinh(-x * 1.0e-9lf) * 1.0e9lf", |x| (-x * 1.0e-9).asinh() * 1.0e9),
        ("tanh(x * 1.0e-3lf)", |x| (x * 1.0e-3).tanh()),
        ("asin(-x * 0.26lf) + acos(-x * 0.26lf)", |_| std::f64::consts::FRAC_PI_2),
    ];
    let ctx = s.ctx();
    let numbers = [17_u32, 25, 31, 60];
    let count = numbers.len();
    let calls: String = FUNCTIONS
        .iter()
        .enumerate()
        .map(|(at, (call, _))| format!("put({at}u * {count}u + i, {call});\n"))
        .collect();
    // The sum of two `f32` has enough digits for a result.
    let text = format!(
        "fn put(at: u32, y: f64) {{
            let high = f32(y);
            out[2u * at] = bitcast<u32>(high);
            out[2u * at + 1u] = bitcast<u32>(f32(y - f64(high)));
        }}
        @compute @workgroup_size(1) fn main() {{
            for (var i = 0u; i < {count}u; i++) {{
                let x = f64(out[{}u + i]) * 0.0625lf;
                {calls}
            }}
        }}",
        N - count
    );
    let mut first = vec![0; N - count];
    first.extend(numbers);
    let found = match run(&ctx, &text, &first) {
        Ok(found) => found,
        Err(error) => return lacks(&error, "64-bit floats"),
    };
    for (call, (name, function)) in FUNCTIONS.iter().enumerate() {
        for (at, number) in numbers.into_iter().enumerate() {
            let word = |part| f64::from(f32::from_bits(found[2 * (call * count + at) + part]));
            let found = word(0) + word(1);
            let expected = function(f64::from(number) * 0.0625);
            assert!(
                (found - expected).abs() <= 1e-13 * expected.abs(),
                "{name} of {number} / 16: {found:e}, not {expected:e}"
            );
        }
    }
}

fn negative(s: &Subject) {
    let ctx = s.ctx();
    let text = "var<workgroup> w: atomic<i32>;
        @compute @workgroup_size(1) fn main() {
            let three = i32(out[20]);
            atomicStore(&w, -5);
            out[0] = u32(atomicSub(&w, -7));
            out[1] = u32(atomicSub(&w, -three));
            out[2] = u32(atomicSub(&w, three));
            out[3] = u32(atomicSub(&w, -2147483648));
            out[4] = u32(atomicLoad(&w));
            out[5] = pack4xI8Clamp(vec4(three, 1, -1, 500));
            out[6] = pack4xI8(vec4(three, 1, -1, 500));
            out[7] = pack4xU8Clamp(vec4(out[20], 1u, 255u, 500u));
            out[8] = pack4xI8Clamp(vec4(-three - 200, three, -129, -128));
        }";
    let mut first = vec![0; 20];
    first.push(3);
    let found = run(&ctx, text, &first).unwrap();
    let least = 2_u32.wrapping_add(1 << 31);
    let packed = [0x7fff_0103, 0xf4ff_0103, 0xffff_0103, 0x8080_0380];
    assert_eq!(found[..5], [-5_i32 as u32, 2, 5, 2, least]);
    assert_eq!(found[5..9], packed, "{:x?}", &found[5..9]);
}

/// Statements that write to `out`, and the expected numbers. `out[20]` is 3, and all numbers after it are 0.
const KNOWN: &[(&str, &[u32])] = &[
    (
        "out[0] = pack4xI8Clamp(vec4(0, 1, 3, -3)); var v = vec4(0, 200, 3, -300); out[1] = pack4xI8Clamp(v);",
        &[0xfd03_0100, 0x8003_7f00],
    ),
    (
        "let a = -2.5f; out[0] = u32(a); let b = 3e9f; out[1] = u32(i32(b)); let c = 5e9f; out[2] = u32(c);
      let d = vec2(-1.5, 7.9); let e = vec2<u32>(d); out[3] = e.x; out[4] = e.y;",
        &[0, 0x7fff_ff80, 0xffff_ff00, 0, 7],
    ),
    ("let h = 0.5f; let d = u32(h); let five = out[20] + 2u; out[0] = five / d; out[1] = five % d;", &[5, 0]),
    (
        "let s = out[20] * 11u; out[0] = 2u << s; var n = 33u; out[1] = 2u << n; out[2] = u32(-8i >> n);
      out[3] = (vec2(1u, 4u) << vec2(n, s)).y;",
        &[4, 4, 0xffff_fffc, 8],
    ),
    (
        "let flag = out[21] == 1u; let v = select(vec4(5), vec4<i32>(), flag); out[0] = u32(v.x); out[1] = u32(v.w);",
        &[5, 5],
    ),
    (
        "var flag = false; let v = select(vec4(5), vec4<i32>(), flag); out[0] = u32(v.x); out[1] = u32(v.w);",
        &[5, 5],
    ),
];

/// The same for functions that lavapipe 22.3 computes wrongly.
const KNOWN_PACKED: &[(&str, &[u32])] = &[
    ("out[0] = pack4x8snorm(vec4(-1.0, 0.5, 0.3, -0.7)); var v = vec4(0.0, 0.0, -1.0, 1.0); out[1] = pack4x8snorm(v);
      out[2] = pack4x8snorm(vec4(f32(out[21]), -1.0, 0.0, 0.0));", &[0xa726_4081, 0x7f81_0000, 0x8100]),
    ("out[0] = bitcast<u32>(unpack2x16float(0x3c003c00u).y); var h = 0x0001307eu; let r = unpack2x16float(h);
      out[1] = bitcast<u32>(r.x); out[2] = bitcast<u32>(r.y * 16777216.0);", &[0x3f80_0000, 0x3e0f_c000, 0x3f80_0000]),
];

fn known(s: &Subject) {
    writes(s, KNOWN);
}

fn known_packed(s: &Subject) {
    writes(s, KNOWN_PACKED);
}

/// Checks that each text of statements writes the expected numbers.
fn writes(s: &Subject, statements: &[(&str, &[u32])]) {
    let ctx = s.ctx();
    for (body, expected) in statements {
        let text = format!("@compute @workgroup_size(1) fn main() {{ {body} }}");
        let mut first = vec![0; 20];
        first.push(3);
        let found = run(&ctx, &text, &first).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(found[..expected.len()], **expected, "{body}: {:x?}", &found[..expected.len()]);
    }
}

/// Like [`KNOWN`], for types that a device may lack.
const KNOWN_WIDE: &[(&str, &[u32])] = &[
    ("let b = 8lu; let r = reverseBits(b); out[0] = u32(r >> 32u); out[1] = u32(r);
      out[2] = u32(countLeadingZeros(b)); out[3] = u32(extractBits(0xff00000000lu, 32u, 8u));", &[1 << 28, 0, 60, 255]),
    ("let n = i32(out[21]); out[0] = u32(i64(n) >= 61li); out[1] = u32(i64(n) < 61li); out[2] = u32(i64(n) <= -1li);
      out[3] = u32(u64(out[20]) < 5lu); out[4] = u32(u64(out[20]) > 5lu);
      var i = i64(n); var c = 0u; while i < 10li { i += 1li; c++; } out[5] = c;", &[0, 1, 0, 1, 0, 10]),
    ("let s = out[20] * 22u; out[0] = u32(1lu << s); out[1] = u32(-16li >> s); var k = 65u; out[2] = u32(1lu << k);",
        &[4, 0xffff_fffc, 2]),
    ("let a = 2.0lf; out[0] = u32(atan(a) * 1e9lf);", &[1_107_148_717]),
];

fn known_wide(s: &Subject) {
    let ctx = s.ctx();
    for (body, expected) in KNOWN_WIDE {
        let text = format!("@compute @workgroup_size(1) fn main() {{ {body} }}");
        let mut first = vec![0; 20];
        first.push(3);
        match run(&ctx, &text, &first) {
            Ok(found) => assert_eq!(found[..expected.len()], **expected, "{body}"),
            Err(error) => lacks(&error, "64-bit"),
        }
    }
}

/// Vectors that are equal in all invocations, with a component chosen by each invocation.
fn components(s: &Subject) {
    let ctx = s.ctx();
    for body in [
        "let v = vec4(w.x, w.x + 1u, w.x + 2u, w.x + 3u); out[i] = v[i & 3u];",
        "var v = vec4(w.x, w.x + 1u, w.x + 2u, w.x + 3u); out[i] = v[i & 3u];",
        "var v = vec4(w.x); v[i & 3u] += i & 3u; out[i] = v.x + v.y + v.z + v.w - 9u;",
        "var v = vec4(3u, 4u, 5u, 6u); out[i] = v[i & 3u];",
        "var m = mat2x4(vec4(f32(w.x)), vec4(0.0, 1.0, 2.0, 3.0)); out[i] = u32(m[1][i & 3u] + m[0][i & 1u]);",
    ] {
        let text = format!(
            "@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32, @builtin(num_workgroups) g: vec3u) {{ let w = g + 2u; {body} }}"
        );
        let found = run(&ctx, &text, &[]).unwrap();
        assert_eq!(found[..8], [3, 4, 5, 6, 3, 4, 5, 6], "{body}");
    }
}

/// Loops with a `continue` in nested `switch` statements, each with the first numbers in its output. `z` is 0.
const SWITCHES: &[(&str, &[u32])] = &[
    ("for (var i = 0u; i < 4u; i++) { out[i] = 77u; switch i { case 1u: { out[i] = 99u; continue; }
        default: { switch i { case 3u: { continue; } default: { } } } } out[i] = i; }", &[0, 99, 2, 77]),
    ("for (var i = 0u; i < 2u; i++) { out[i] = 77u; switch i { case 9u: { out[i] = 99u; } case 1u: {}
        default: { switch z { case 0u: { continue; } default: { } } } } out[i] = i; }", &[77, 1]),
    ("for (var i = 0u; i < 4u; i++) { out[i] = 77u; switch i & 1u { case 0u: { switch i { case 8u: {}
        default: { switch z { case 0u: { continue; } default: {} } out[9] = 5u; } } out[8] = 5u; } default: {} } out[i] = i; }",
        &[77, 1, 77, 3, 0, 0, 0, 0, 0, 0]),
    ("var i = 0u; while i < 2u { out[i] = 77u; let k = i; i++; switch k { case 9u: { out[k] = 99u; } case 1u: {}
        default: { switch z { case 0u: { if z == 0u { continue; } } default: { } } } } out[k] = k; }", &[77, 1]),
    ("var n = 0u; loop { switch n { default: { switch n { case 1u: { continue; } default: { out[n] = 7u; } } out[8] += 1u; } }
        out[9] += 1u; continuing { n++; break if n == 3u; } }", &[7, 0, 7, 0, 0, 0, 0, 0, 2, 2]),
    ("for (var k = 0u; k < 2u; k++) { for (var i = 0u; i < 2u; i++) { switch k { case 1u: { switch i { case 0u: { continue; }
        default: {} } out[5] += 1u; } default: {} } out[k] += 1u; } switch k { case 1u: { switch z { case 0u: { continue; } default: {} } }
        default: {} } out[6] += 1u; }", &[2, 1, 0, 0, 0, 1, 1]),
];

fn switches(s: &Subject) {
    let ctx = s.ctx();
    for (body, expected) in SWITCHES {
        let text = format!("@compute @workgroup_size(1) fn main() {{ let z = out[20]; {body} }}");
        let found = run(&ctx, &text, &[]).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(found[..expected.len()], **expected, "{body}");
    }
}

fn skipped(s: &Subject) {
    let ctx = s.ctx();
    for (body, is_refused) in [
        (
            "loop { n++; if n == 2u { continue; } let x = n * 10u; continuing { out[n] = x; break if n > 3u; } }",
            true,
        ),
        (
            "loop { n++; switch n { case 2u: { continue; } default: {} } let x = n * 10u;
            continuing { break if x > 30u; } }",
            true,
        ),
        (
            "loop { n++; let x = n * 10u; if n == 2u { continue; } continuing { out[n] = x; break if n > 3u; } }",
            false,
        ),
        (
            "loop { n++; loop { if n == 2u { continue; } break; } let x = n * 10u;
            continuing { out[n] = x; break if n > 3u; } }",
            false,
        ),
        (
            "loop { n++; if n == 2u { continue; } let x = n * 10u; out[0] = x; continuing { break if n > 3u; } }",
            false,
        ),
    ] {
        let text = format!("@compute @workgroup_size(1) fn main() {{ var n = 0u; {body} }}");
        let found = ctx.kernel_from(format!("{HEAD}{text}"), "main").map(drop);
        match found {
            Ok(()) => assert!(!is_refused, "{body}"),
            Err(error) => {
                assert!(is_refused && error.to_string().contains("a `continue` skips"), "{body}: {error}")
            }
        }
    }
}

fn returns(s: &Subject) {
    let ctx = s.ctx();
    let text = "fn first_above(x: u32) -> u32 { var i = 0u; loop { if i * i > x || i > 99u { return i; } i++; } }
        fn odd(x: u32) -> vec2<u32> { for (var i = x;; i++) { switch i & 1u { case 0u: { continue; } default: { return vec2(i, x); } } } }
        @compute @workgroup_size(1) fn main() { out[0] = first_above(out[20] + 20u); out[1] = odd(out[20] + 4u).x; }";
    assert_eq!(run(&ctx, text, &[]).unwrap()[..2], [5, 5]);
    let text = "fn f(x: u32) -> u32 { switch x { case 1u: { break; } default: { return 7u; } } }
        @compute @workgroup_size(1) fn main() { out[0] = f(out[20]); }";
    let error = run(&ctx, text, &[]).unwrap_err().to_string();
    assert!(error.contains("returns no value") && error.contains("fn f"), "{error}");
}

fn exponent(s: &Subject) {
    let text = "enable f16;
        @compute @workgroup_size(1) fn main() { let x = f16(out[3]); out[0] = u32(frexp(x * 8.0h).exp); }";
    let found = run(&s.ctx(), text, &[0, 0, 0, 3]);
    if cfg!(target_arch = "wasm32") && s.ctx().info().abilities.contains(&"f16") && s.place().has_wgpu() {
        // The compiler of the browser decides: 24 is 0.75 times 2 to the power of 5.
        match found {
            Ok(found) => assert_eq!(found[0], 5),
            Err(error) => assert!(error.to_string().contains("does not compile on this device"), "{error}"),
        }
        return;
    }
    let error = found.unwrap_err().to_string();
    assert!(error.contains("`frexp` of `f16`") || error.contains("16-bit floats"), "{error}");
}

fn location(s: &Subject) {
    let ctx = s.ctx();
    for text in [
        "@compute @workgroup_size(1) fn main(@location(0) a: u32) { out[0] = a; }",
        "@compute @workgroup_size(1) fn main() -> @location(0) u32 { out[0] = 1u; return 2u; }",
        "struct R { @location(0) a: u32 } @compute @workgroup_size(1) fn main() -> R { return R(1u); }",
    ] {
        let error = run(&ctx, text, &[]).expect_err(text).to_string();
        assert!(error.contains("compute entry point") && error.contains("@location(0)"), "{error}");
    }
    assert_eq!(run(&ctx, "@compute @workgroup_size(1) fn main() { out[0] = 7u; }", &[]).unwrap()[0], 7);
}

fn panics(s: &Subject) {
    let (ctx, queue) = s.with_queue("verbs");
    let x = queue.array(&[3_u32, 7]).unwrap();
    let mut mapped = queue.zeros::<u32, 1>([2]).unwrap();
    let good = "@compute @workgroup_size(1) fn main() { out[0] = 7u; }";
    for value in
        ["u32(f16(70000i))", "u32(f16(1e6f))", "u32(i32(f16(1e6f)))", "u32(vec2<f16>(vec2(9u, 70000u)).y)"]
    {
        let text = format!("enable f16;\n@compute @workgroup_size(1) fn main() {{\n  out[0] = {value}; }}");
        // Some of naga's constants represent 1e6 as an f16.
        if let Err(error) = run(&ctx, &text, &[]) {
            let words = error.to_string();
            assert!(words.contains("f16") && words.contains("^^^"), "{value}: {words}");
        }
        assert_eq!(run(&ctx, good, &[]).unwrap()[0], 7);
    }
    let error = queue.map(&x, "u32(f16(70000i)) + x", &mut mapped).map(drop).unwrap_err();
    assert!(error.to_string().contains("f16"), "{error}");
    queue.map(&x, "x + 1u", &mut mapped).unwrap();
    assert_eq!(queue.read(&mapped).wait().unwrap(), [4, 8]);
    let later = fencepost::ShaderSource::text(
        "later.wgsl",
        "enable f16; @compute @workgroup_size(1) fn main() { let x = u32(f16(70000i)); }",
    );
    let error = ctx.kernel_from_later(&later, "main", &[]).wait().map(drop).unwrap_err();
    assert!(error.to_string().contains("later.wgsl:1:"), "{error}");
    assert_eq!(run(&ctx, good, &[]).unwrap()[0], 7);
}
