// exact_window: adds floats to a sum of exact_words, by few operations for each term inside a window of exponents
//
// Shape      terms: bits of floats; the shader around it uses exact_words, and has the parameter `zero`, which is 0
// Dispatch   any
// Barriers   none
// Tolerance  exact, if a window is emptied after at most 496 terms, and if additions are rounded to the nearest float
//
// A term inside the window, times the scale, is below 2^22 and a multiple of 2^-44. So it is the sum of three integers of at
// most 2^22, in units of 1, 2^-22 and 2^-44. Each operation here has an exact result that is a normal float or 0. Only the
// addition of WHOLE is rounded, to the nearest integer. With the integer below -(2^-21 + 2^-44), the difference would have too
// many digits. In a longer expression, a device may change the order of the operations, and then round; `hidden` divides such
// expressions.

// Number of times that an invocation adds 16 terms before it empties the window: the sum of 31 times 16 integers is below 2^31.
const PER: u32 = 31u;
// A number so large that the floats around it are integers, and its bits, which count those integers.
const WHOLE: f32 = 12582912.0;
const WHOLE_BITS: i32 = 0x4B400000;
// Four times the bits, modulo 2^32.
const FOUR_WHOLES: i32 = 0x2D000000;
// Quotient of two units.
const UNIT: f32 = 4194304.0;

// Bounds of the magnitude of terms, the scale, and the sums of the integers of each unit. A term is inside the window if it is 0,
// or below `top` and above `low`.
struct Window { top: u32, low: u32, scale: f32, sums: vec3<i32> }

fn no_window() -> Window { return Window(0u, 0u, 1.0, vec3<i32>(0)); }

// Returns the empty window for terms up to a magnitude.
fn window_of(largest: u32) -> Window {
    let top = clamp((largest >> 23u) + 3u, 44u, 255u);
    return Window(top << 23u, ((top - 43u) << 23u) - 1u, bitcast<f32>((276u - top) << 23u), vec3<i32>(0));
}

// Returns the numbers. The compiler does not know that.
fn hidden(numbers: vec4<f32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(bitcast<vec4<u32>>(numbers) ^ vec4<u32>(params.zero));
}

// Returns the integer nearest to each number, whose magnitude is at most 2^22.
fn integers_of(numbers: vec4<f32>) -> vec4<i32> {
    return bitcast<vec4<i32>>(numbers + vec4<f32>(WHOLE)) - vec4<i32>(WHOLE_BITS);
}

// Returns the differences of numbers and integers, in the next unit.
fn left(numbers: vec4<f32>, integers: vec4<i32>) -> vec4<f32> {
    return hidden((numbers - vec4<f32>(integers)) * UNIT);
}

fn total(four: vec4<i32>) -> i32 { return (four.x + four.y) + (four.z + four.w); }

// Returns the total of integers of magnitude up to 2^22.
fn total_of(integers: vec4<f32>) -> i32 {
    return total(bitcast<vec4<i32>>(integers + vec4<f32>(WHOLE))) - FOUR_WHOLES;
}

fn largest_of(four: vec4<u32>) -> u32 { return max(max(four.x, four.y), max(four.z, four.w)); }

fn least_of(four: vec4<u32>) -> u32 { return min(min(four.x, four.y), min(four.z, four.w)); }

fn sizes_of(terms: vec4<u32>) -> vec4<u32> { return terms & vec4<u32>(~SIGN); }

// Adds terms that are inside the window and have no third integer.
fn with_larger(window: Window, terms: vec4<u32>) -> Window {
    let numbers = bitcast<vec4<f32>>(terms) * window.scale;
    let first = integers_of(numbers);
    let sums = window.sums + vec3<i32>(total(first), total_of(left(numbers, first)), 0);
    return Window(window.top, window.low, window.scale, sums);
}

// Adds terms that are inside the window.
fn with_inside(window: Window, terms: vec4<u32>) -> Window {
    let numbers = bitcast<vec4<f32>>(terms) * window.scale;
    let first = integers_of(numbers);
    let after_first = left(numbers, first);
    let second = integers_of(after_first);
    let third = total_of(left(after_first, second));
    let sums = window.sums + vec3<i32>(total(first), total(second), third);
    return Window(window.top, window.low, window.scale, sums);
}

fn add_integer(number: i32, bit: u32) { add_number(u32(abs(number)), bit, number < 0); }

// Adds the integers of the window to the sum.
fn emptied(window: Window) -> Window {
    let bit = SMALLEST + (window.top >> 23u);
    for (var k = 0u; k < 3u; k++) { add_integer(window.sums[k], bit - 22u * k); }
    return Window(window.top, window.low, window.scale, vec3<i32>(0));
}

// Adds the terms outside the window to the sum one by one. Returns the others, and zeros.
fn terms_inside(window: Window, terms: vec4<u32>) -> vec4<u32> {
    var inside = terms;
    for (var k = 0u; k < 4u; k++) {
        let size = terms[k] & ~SIGN;
        // A 0 less 1 is above all sizes.
        if size >= window.top || size - 1u < window.low {
            add_term(terms[k]);
            inside = select(inside, vec4<u32>(0u), vec4<u32>(0u, 1u, 2u, 3u) == vec4<u32>(k));
        }
    }
    return inside;
}

// Adds four terms.
fn with_terms(window: Window, terms: vec4<u32>) -> Window {
    let sizes = sizes_of(terms);
    let largest = largest_of(sizes);
    var after = window;
    var inside = terms;
    if largest >= window.top || least_of(sizes - vec4<u32>(1u)) < window.low {
        // A window moves to the first terms above it, and to terms that are all below it.
        if largest < INFINITY && (largest >= window.top || largest <= window.low) {
            _ = emptied(window);
            after = window_of(largest);
        }
        inside = terms_inside(after, terms);
    }
    return with_inside(after, inside);
}

// Adds 16 terms.
fn with_sixteen(window: Window, a: vec4<u32>, b: vec4<u32>, c: vec4<u32>, d: vec4<u32>) -> Window {
    let sizes_a = sizes_of(a);
    let sizes_b = sizes_of(b);
    let sizes_c = sizes_of(c);
    let sizes_d = sizes_of(d);
    let one = vec4<u32>(1u);
    let largest = largest_of(max(max(sizes_a, sizes_b), max(sizes_c, sizes_d)));
    let least = least_of(min(min(sizes_a - one, sizes_b - one), min(sizes_c - one, sizes_d - one)));
    var after = window;
    // A term 22 binary orders above the lowest ones has no third integer.
    if largest < window.top && least >= window.low + (22u << 23u) {
        after = with_larger(with_larger(after, a), b);
        after = with_larger(with_larger(after, c), d);
    } else {
        for (var k = 0u; k < 4u; k++) {
            after = with_terms(after, select(select(d, c, k == 2u), select(b, a, k == 0u), k < 2u));
        }
    }
    return after;
}
