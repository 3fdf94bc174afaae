// random: out[i] = element skip + i of a random sequence, counted from the first number of a block
//
// Shape      out: at least n elements, as bits
// Dispatch   one invocation per block of numbers: 2 for whole numbers in a range, else 4; the others do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact for words, whole numbers, choices, and floats from 0 to 1; other floats within the bounds of the verb
//
// WGSL's error bounds for `log`, `sin` and `cos` are wide, so polynomials are used here.
//#use linear
//#use philox
override WORKGROUP: u32 = 256;
override KIND: u32 = 0;         // 0: words, 1: uniform floats, 2: whole numbers in a range, 3: choices, 4: normal, 5: exponential
struct Params {
    n: u32,
    skip: u32,
    block_low: u32,
    block_high: u32,
    stream_low: u32,
    stream_high: u32,
    seed_low: u32,
    seed_high: u32,
    a: u32,
    b: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

// Returns a float from 0 up to, not including, 1: a multiple of 2^-24.
fn unit(word: u32) -> f32 {
    return f32(word >> 8u) * 0x1p-24f;
}

// Returns `a` plus a random fraction of `b`.
fn linear_in(part: f32) -> u32 {
    return bitcast<u32>(bitcast<f32>(params.a) + bitcast<f32>(params.b) * part);
}

// Returns `a` plus a number below `b`: the upper part of `b` times a 64-bit random number.
fn in_range(low: u32, high: u32) -> u32 {
    let below = params.b * high;
    let carry = select(0u, 1u, below + high_product(params.b, low) < below);
    return params.a + high_product(params.b, high) + carry;
}

// Returns 1 if the word is below `a`, or if `b` is 1.
fn choice(word: u32) -> u32 {
    return select(0u, 1u, word < params.a || params.b == 1u);
}

// Returns the negative natural logarithm of (word or 1) / 2^32, using its first 24 bits.
fn minus_log(word: u32) -> f32 {
    let odd = max(word, 1u);
    let zeros = countLeadingZeros(odd);
    var float = f32((odd << zeros) >> 8u) * 0x1p-23f;
    var exponent = -1.0 - f32(zeros);
    if float > 1.41421356 {
        float *= 0.5;
        exponent += 1.0;
    }
    let x = float - 1.0;
    var sum = 7.0376836292e-2;
    sum = sum * x - 1.1514610310e-1;
    sum = sum * x + 1.1676998740e-1;
    sum = sum * x - 1.2420140846e-1;
    sum = sum * x + 1.4249322787e-1;
    sum = sum * x - 1.6668057665e-1;
    sum = sum * x + 2.0000714765e-1;
    sum = sum * x - 2.4999993993e-1;
    sum = sum * x + 3.3333331174e-1;
    let log = x * x * x * sum - exponent * 2.12194440e-4 - 0.5 * x * x + x + exponent * 0.693359375;
    return max(-log, 0.0);
}

// Returns the cosine and the sine of word / 2^32 turns.
fn direction(word: u32) -> vec2<f32> {
    let quarter = (word + 0x20000000u) >> 30u;
    let x = f32(bitcast<i32>(word - (quarter << 30u))) * 1.4629180792671596e-9;
    let square = x * x;
    var sine = -1.9515295891e-4 * square + 8.3321608736e-3;
    sine = (sine * square - 1.6666654611e-1) * square * x + x;
    var cosine = 2.443315711809948e-5 * square - 1.388731625493765e-3;
    cosine = (cosine * square + 4.166664568298827e-2) * square * square - 0.5 * square + 1.0;
    let turned = select(vec2<f32>(cosine, sine), vec2<f32>(-sine, cosine), (quarter & 1u) == 1u);
    return select(turned, -turned, (quarter & 2u) == 2u);
}

// Returns two normal numbers (Box and Muller: A Note on the Generation of Random Normal Deviates; 1958).
fn normal(first: u32, second: u32) -> vec2<u32> {
    let point = sqrt(2.0 * minus_log(first)) * direction(second);
    return vec2<u32>(linear_in(point.x), linear_in(point.y));
}

// Returns the numbers of a block.
fn numbers_of(words: vec4<u32>) -> vec4<u32> {
    if KIND == 1u {
        return vec4<u32>(
            linear_in(unit(words.x)),
            linear_in(unit(words.y)),
            linear_in(unit(words.z)),
            linear_in(unit(words.w)),
        );
    }
    if KIND == 2u { return vec4<u32>(in_range(words.x, words.y), in_range(words.z, words.w), 0u, 0u); }
    if KIND == 3u { return vec4<u32>(choice(words.x), choice(words.y), choice(words.z), choice(words.w)); }
    if KIND == 4u { return vec4<u32>(normal(words.x, words.y), normal(words.z, words.w)); }
    if KIND == 5u {
        return vec4<u32>(
            linear_in(minus_log(words.x)),
            linear_in(minus_log(words.y)),
            linear_in(minus_log(words.z)),
            linear_in(minus_log(words.w)),
        );
    }
    return words;
}

@compute @workgroup_size(WORKGROUP)
fn random(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = linear_id(gid, groups, WORKGROUP);
    let low = params.block_low + i;
    let high = params.block_high + select(0u, 1u, low < i);
    let words = philox(
        vec4<u32>(low, high, params.stream_low, params.stream_high),
        vec2<u32>(params.seed_low, params.seed_high),
    );
    let numbers = numbers_of(words);
    let count = select(4u, 2u, KIND == 2u);
    for (var k = 0u; k < count; k++) {
        // The index of a number before the first one wraps, and is past all elements.
        let at = i * count + k - params.skip;
        if at < params.n { out[at] = numbers[k]; }
    }
}
