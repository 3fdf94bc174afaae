//! 64-bit and 16-bit numbers: code for each number of lanes against the interpreter, with edge values of the types.

use super::{Test, expressions, pairs};

const INTEGERS: [u64; 16] = [
    0,
    1,
    2,
    7,
    63,
    64,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x1234_5678_9abc_def0,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x8000_0000_0000_0001,
    0xffff_ffff_ffff_fffe,
    0xffff_ffff_ffff_ffff,
];

fn floats() -> [u64; 24] {
    [
        0.0,
        -0.0,
        1.0,
        -1.5,
        2.5,
        0.3,
        -0.5,
        1e-320,
        1e300,
        -1e300,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        2_147_483_647.5,
        -2_147_483_649.0,
        4_294_967_296.0,
        9.223_372_036_854_776e18,
        -9.223_372_036_854_776e18,
        1.844_674_407_370_955_2e19,
        1e-46,
        3.402_823_5e38,
        16_777_217.0,
    ]
    .map(f64::to_bits)
}

/// Functions that replace a NaN, whose bits engines may choose.
const HEAD: &str = "enable f16;
    fn number(x: f64) -> f64 { return select(x, 7lf, x != x); }
    fn half(x: f16) -> f16 { return select(x, 7h, x != x); }";

/// Evaluates expressions of `a` and `b` for every pair of values.
fn check<T: bytemuck::Pod>(ty: &str, values: &[T], result: &str, list: &str) {
    check_all(ty, values, result, &expressions(list));
}

fn check_all<T: bytemuck::Pod>(ty: &str, values: &[T], result: &str, expressions: &[&str]) {
    let found: Vec<u64> = pairs(HEAD, [ty, result], values, expressions).get(1);
    assert!(found.iter().any(|&word| word != 0), "the kernel stores results");
}

/// Evaluates floats, a few expressions in each kernel. `function` replaces a NaN.
fn check_floats<T: bytemuck::Pod>(ty: &str, values: &[T], function: &str, list: &str) {
    let numbers = expressions(list).into_iter().map(|expression| format!("{function}({expression})"));
    let numbers: Vec<String> = numbers.collect();
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
    for some in numbers.chunks(15) {
        check_all(ty, values, ty, some);
    }
}

#[test]
fn integers_of_64_bits_are_those_of_the_interpreter_in_code_of_every_width() {
    for (ty, suffix) in [("i64", "li"), ("u64", "lu")] {
        let list = format!(
            "a + b; a - b; a * b; a / b; a % b; a & b; a | b; a ^ b; ~a; a << u32(b); a >> u32(b); a << 33u;
            a >> 33u; min(a, b); max(a, b); clamp(a, b, 3{suffix}); abs(a); select(a, b, a < b);
            select(a, b, a <= b); select(a, b, a > b); select(a, b, a >= b); select(a, b, a == b);
            select(a, b, a != b); select(a, b, bool(a)); dot(vec3(a, b, a), vec3(b, b, a))"
        );
        check(ty, &INTEGERS, ty, &list);
        check(ty, &INTEGERS, "u64", "u64(a); bitcast<u64>(b); u64(a < b); u64(u32(a)); u64(i32(a))");
        check(ty, &INTEGERS, "f64", "f64(a); f64(f32(a)); f64(b)");
    }
    check("i64", &INTEGERS, "i64", "-a; sign(a); i64(u32(a)); i64(i32(a)); i64(a < b)");
}

#[test]
fn floats_of_64_bits_are_those_of_the_interpreter_in_code_of_every_width() {
    let list = "
        a + b; a - b; a * b; a / b; a % b; -a; abs(a); min(a, b); max(a, b); clamp(a, b, 3lf); floor(a);
        ceil(a); trunc(a); round(a); sqrt(a); inverseSqrt(a); fma(a, b, a); mix(a, b, 0.25lf); step(a, b);
        smoothstep(a, b, 1lf); sign(a); fract(a); select(a, b, a < b); select(a, b, a >= b);
        select(a, b, bool(a)); sin(a); exp(b); pow(a, b); length(vec3(a, b, a));
        dot(vec2(a, b), vec2(b, b)); normalize(vec2(a, b)).y; cross(vec3(a, b, 1lf), vec3(b, a, 2lf)).z;
        f64(f32(a)); f64(i32(a)); f64(u32(a)); f64(i64(a)); f64(u64(a)); f64(f32(a) < f32(b));
        (mat2x2<f64>(a, b, b, a) * vec2(a, 1lf)).x;
        (mat2x2<f64>(a, b, b, a) * mat2x2<f64>(b, b, 1lf, a))[1].y;
        determinant(mat2x2<f64>(a, 1lf, b, 2lf)); ldexp(a, i32(b)); modf(a).fract; frexp(a).fract;
        degrees(a)";
    check_floats("f64", &floats(), "number", list);
    check("f64", &floats(), "i64", "i64(a); i64(i32(a)); i64(a < b); i64(a)");
    check("f64", &floats(), "u64", "u64(a); u64(u32(a)); bitcast<u64>(number(a)); u64(a != b)");
}

#[test]
fn numbers_of_64_bits_live_in_all_kinds_of_memory() {
    let wgsl = "
        struct Mixed { first: u32, wide: u64, list: array<vec2<f64>, 3>, last: i64 }
        struct Params { scale: f64, start: u64, n: u32 }
        @group(0) @binding(0) var<storage, read> input: array<Mixed>;
        @group(0) @binding(1) var<storage, read_write> out: array<Mixed>;
        @group(0) @binding(2) var<storage, read_write> plain: array<u64>;
        @group(0) @binding(3) var<storage, read_write> total: atomic<u64>;
        @group(0) @binding(4) var<uniform> params: Params;
        var<workgroup> exchange: array<f64, 16>;
        var<private> kept: array<u64, 2>;
        const table = array<u64, 8>(1lu, 5lu, 0x100000000lu, 7lu, 8lu, 9lu, 10lu, 11lu);
        fn add(p: ptr<function, u64>, x: u64) { *p += x; }
        fn long(x: f64, n: u32) -> f64 {
            var sum = x;
            for (var i = 0u; i < n; i++) { if sum > 100lf { return sum; } sum = sum * 1.5lf + 1lf; }
            return sum;
        }
        @compute @workgroup_size(16)
        fn memory(
            @builtin(local_invocation_index) lid: u32,
            @builtin(global_invocation_id) id: vec3<u32>,
        ) {
            let i = id.x;
            var own = input[i];
            var list: array<u64, 5>;
            for (var k = 0u; k < 5u; k++) { list[k] = own.wide * u64(k) + params.start; }
            list[own.first % 5u] += 3lu;
            var sum = 0lu;
            add(&sum, list[i % 5u]);
            add(&sum, table[own.first % 8u]);
            kept[i % 2u] = sum;
            exchange[lid] = own.list[own.first % 3u].y * params.scale;
            workgroupBarrier();
            let other = exchange[15u - lid];
            own.list[i % 3u] = vec2(other, long(other, own.first % 20u));
            own.wide = kept[0] ^ kept[1];
            if own.first % 2u == 1u { own.last = -own.last; own.first += 1u; }
            workgroupBarrier();
            own.last += i64(sum);
            out[i] = own;
            plain[i] = sum + u64(own.first);
            if i < params.n { plain[i + 32u] = select(7lu, sum, sum > 5lu); }
            plain[64u + i * 2u] = plain[i] + input[own.wide].wide;
            atomicAdd(&total, sum);
        }";
    let words: Vec<u32> =
        (0..20 * 32).map(|word: u32| word.wrapping_mul(0x9e37_79b9) >> (word % 7)).collect();
    let mut mixed: Vec<u32> = words;
    for (element, words) in mixed.chunks_exact_mut(20).enumerate() {
        for (at, number) in (4..16).step_by(2).enumerate() {
            let bits = (element as f64 * 0.75 - at as f64).to_bits();
            words[number] = bits as u32;
            words[number + 1] = (bits >> 32) as u32;
        }
    }
    let params = [1.25_f64.to_bits(), 1 << 33, 9];
    let test = Test::new(wgsl)
        .params(&params)
        .buffer(&mixed)
        .buffer(&vec![0_u32; mixed.len()])
        .buffer(&[0_u64; 128])
        .buffer(&[1_u64])
        .run([2, 1, 1]);
    assert!(test.vector.is_ok() && test.wider.len() == 2, "{:?}", test.vector.err());
    assert!(test.get::<u64>(3)[0] > 1 << 33, "the sum has more than 32 bits");
}

fn halves() -> Vec<u16> {
    let mut halves = vec![0x0000, 0x8000, 0x3c00, 0xbe00, 0x3555, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00];
    halves.extend([
        0x0001, 0x8003, 0x03ff, 0x0400, 0x0401, 0x6801, 0x57ff, 0x2e66, 0x4248, 0xc105, 0x1400, 0x0c00,
    ]);
    halves
}

#[test]
fn numbers_of_16_bits_are_those_of_the_interpreter_in_code_of_every_width() {
    let list = "
        a + b; a - b; a * b; a / b; a % b; -a; abs(a); min(a, b); max(a, b); clamp(a, b, 3h); saturate(a);
        floor(a); ceil(a); trunc(a); round(a); sqrt(a); inverseSqrt(a); fma(a, b, a); mix(a, b, 0.25h);
        step(a, b); smoothstep(a, b, 1h); sign(a); fract(a); select(a, b, a < b); select(a, b, bool(a));
        sin(a); exp(b); pow(a, b); length(vec3(a, b, a)); dot(vec2(a, b), vec2(b, b));
        normalize(vec2(a, b)).y; cross(vec3(a, b, 1h), vec3(b, a, 2h)).z; f16(f32(a) * 1.0003 + f32(b));
        f16(f64(a) * 1.00000001lf + f64(b)); f16(i32(a)); f16(u32(a)); f16(i64(a)); f16(i32(f32(a) * 37.0));
        f16(a < b); (mat2x2<f16>(a, b, b, a) * vec2(a, 1h)).x;
        (mat2x2<f16>(a, b, b, a) * mat2x2<f16>(b, b, 1h, a))[1].y; determinant(mat2x2<f16>(a, 1h, b, 2h));
        ldexp(a, i32(b)); modf(a).fract; reflect(vec2(a, b), vec2(b, 1h)).y; degrees(a);
        array<f16, 3>(a, 2h, b)[u32(abs(b)) % 3u]";
    check_floats("f16", &halves(), "half", list);
    check("f16", &halves(), "i32", "i32(a); i32(u32(a)); i32(a >= b); i32(bool(a))");
}

#[test]
fn each_number_between_two_of_16_bits_becomes_the_nearest_one() {
    let wgsl = "enable f16;
        @group(0) @binding(0) var<storage, read> input: array<f32>;
        @group(0) @binding(1) var<storage, read_write> out: array<f32>;
        @compute @workgroup_size(16) fn rounds(@builtin(global_invocation_id) id: vec3<u32>) {
            let x = input[id.x];
            out[2u * id.x] = f32(f16(x));
            out[2u * id.x + 1u] = f32(f16(f64(x) * 1.0000000001lf));
        }";
    let mut input = vec![f32::NAN, f32::INFINITY, f32::MAX, 1e34, 4.2e34, 8e34, 1e-30, 1e-45];
    for bits in 0..0x7c00 {
        let low = half::f16::from_bits(bits).to_f32();
        let high = if bits == 0x7bff { 65536.0 } else { half::f16::from_bits(bits + 1).to_f32() };
        let middle = f32::midpoint(low, high);
        input.extend([low, middle.next_down(), middle, middle.next_up()]);
    }
    for at in (0..input.len()).step_by(3) {
        input[at] = -input[at];
    }
    input.resize(input.len().next_multiple_of(16), 0.0);
    let groups = [input.len() as u32 / 16, 1, 1];
    let out =
        Test::new(wgsl).buffer(&input).buffer(&vec![0.0_f32; 2 * input.len()]).run(groups).get::<f32>(1);
    let same = |(x, out): (&f32, &[f32])| {
        let expected = half::f16::from_f32(*x).to_f32();
        assert!(
            expected.to_bits() == out[0].to_bits() || expected.is_nan() && out[0].is_nan(),
            "{x:e}: {out:?}"
        );
    };
    input.iter().zip(out.chunks_exact(2)).for_each(same);
}

#[test]
fn numbers_of_16_bits_live_in_all_kinds_of_memory() {
    let wgsl = "
        enable f16;
        struct Mixed { first: f16, pair: vec2<f16>, n: u32, four: vec4<f16>, m: mat2x3<f16>, list: array<f16, 5> }
        struct Params { scale: f16, n: u32 }
        @group(0) @binding(0) var<storage, read> input: array<Mixed>;
        @group(0) @binding(1) var<storage, read_write> out: array<Mixed>;
        @group(0) @binding(2) var<storage, read_write> plain: array<f16>;
        @group(0) @binding(3) var<storage, read_write> quads: array<vec4<f16>>;
        @group(0) @binding(4) var<uniform> params: Params;
        var<workgroup> exchange: array<f16, 16>;
        var<private> kept: array<f16, 3>;
        const table = array<f16, 8>(1h, 2h, 3h, 4h, 5h, 6h, 7h, 8h);
        fn number(x: f16) -> f16 { return select(x, 7h, !(abs(x) < 60000h)); }
        fn add(p: ptr<function, f16>, x: f16) { *p = number(*p + x); }
        @compute @workgroup_size(16)
        fn memory(
            @builtin(local_invocation_index) lid: u32,
            @builtin(global_invocation_id) id: vec3<u32>,
        ) {
            let i = id.x;
            var own = input[i];
            var list: array<f16, 7>;
            for (var k = 0u; k < 7u; k++) { list[k] = number(own.four[k % 4u]) * f16(k); }
            var sum = number(own.first);
            add(&sum, list[i % 7u]);
            kept[i % 3u] = sum * params.scale;
            exchange[lid] = number(own.list[own.n % 5u]);
            workgroupBarrier();
            let other = exchange[15u - lid];
            own.first = other;
            own.pair = vec2(other + 1h, kept[1]);
            own.four = vec4(number(own.pair.x), sum, other, 2h);
            own.m = mat2x3<f16>(1h, sum, 2h, other, 3h, 4h);
            for (var k = 0u; k < 5u; k++) { own.list[k] = number(own.list[k]) + 0.5h; }
            if own.n % 2u == 1u { own.list[own.n % 5u] = -other; }
            workgroupBarrier();
            out[i] = own;
            plain[i] = sum;
            if i < params.n { plain[i + 32u] = select(7h, sum, sum > 5h); }
            plain[64u + i * 2u] = plain[i] + table[own.n % 8u];
            plain[130u + i * 9u] = 1.5h;
            quads[i] = own.four * params.scale;
        }";
    let words: Vec<u32> = (0..12 * 32).map(|word: u32| word.wrapping_mul(0x9e37_79b9)).collect();
    let test = Test::new(wgsl)
        .params(&[0x3e00_u32, 9])
        .buffer(&words)
        .buffer(&vec![0_u32; words.len()])
        .buffer(&[0_u16; 420])
        .buffer(&[0_u64; 32])
        .run([2, 1, 1]);
    assert!(test.vector.is_ok() && test.wider.len() == 2, "{:?}", test.vector.err());
    let quads = test.get::<u64>(3);
    assert!(quads.iter().all(|&quad| quad != 0), "{quads:?}");
}

#[test]
fn a_copy_of_a_number_of_16_bits_keeps_its_bits() {
    let wgsl = "enable f16;
        @group(0) @binding(0) var<storage, read> input: array<f16>;
        @group(0) @binding(1) var<storage, read_write> out: array<f16>;
        @compute @workgroup_size(16) fn copy(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] = input[id.x]; }";
    let input: Vec<u16> = (0..=u16::MAX).collect();
    let test = Test::new(wgsl).buffer(&input).buffer(&vec![0_u16; input.len()]).run([4096, 1, 1]);
    assert_eq!(test.get::<u16>(1), input);
}
