// exact_products: adds products of two floats to a sum of exact_words, by few operations for each inside a window of exponents
//
// Shape      xs, ys: bits of floats; the shader around it uses exact_sum, exact_words and exact_window
// Dispatch   any
// Barriers   none
// Tolerance  exact, as exact_window
//
// A factor inside the window, times its scale, is below 2^11. It is divided into a float of its first 12 digits and one of the
// others, which is multiplied by 2^12. So each product of two parts, and the sum of the middle two, is a float of 24 digits and
// at most 2^22. It is a multiple of 2^-22, because the sum of the exponents is large enough: so it is the sum of two integers, as
// in exact_window.
//#use exact_product

// Upper bounds of the magnitudes of both factors, their scales, and the sums of the integers of the high, the middle and the low
// products of parts, of the first and of the second unit. A product is inside the window if both factors are below the bounds,
// and if it is 0 or the sum of the exponents is large enough. So a factor is then a normal number, or multiplied by 0.
struct Products { tops: vec2<u32>, scales: vec2<f32>, first: vec3<i32>, second: vec3<i32> }

fn no_products() -> Products {
    return Products(vec2<u32>(0u), vec2<f32>(1.0), vec3<i32>(0), vec3<i32>(0));
}

// Returns the least sum of the exponents of factors inside the window. A factor that is 0 has the exponent 511.
fn least_exponents(window: Products) -> u32 { return (window.tops.x >> 23u) + (window.tops.y >> 23u) - 22u; }

fn exponents_of(less_x: u32, less_y: u32) -> u32 { return (less_x >> 23u) + (less_y >> 23u); }

fn add_part(number: u32, bit: u32, minus: bool) { add_number(number, bit, minus); }

// Returns the first 12 digits of a number, rounded.
fn upper(number: f32) -> f32 { return bitcast<f32>((bitcast<u32>(number) + 0x800u) & ~LOWER); }

// Returns the integer nearest to each number, as `integers_of` does.
fn integers_of_parts(parts: vec3<f32>) -> vec3<i32> {
    return bitcast<vec3<i32>>(parts + vec3<f32>(WHOLE)) - vec3<i32>(WHOLE_BITS);
}

// Integers of the high, the middle and the low product of parts, of the first and of the second unit.
struct Units { first: vec3<i32>, second: vec3<i32> }

// Returns the integers of a product that is inside the window.
fn units_of(window: Products, x_bits: u32, y_bits: u32) -> Units {
    let x = bitcast<f32>(x_bits) * window.scales.x;
    let y = bitcast<f32>(y_bits) * window.scales.y;
    let high_x = upper(x);
    let high_y = upper(y);
    let low_x = (x - high_x) * 4096.0;
    let low_y = (y - high_y) * 4096.0;
    let middle = bitcast<u32>(high_x * low_y + low_x * high_y) ^ params.zero;
    let parts = vec3<f32>(high_x * high_y, bitcast<f32>(middle), low_x * low_y);
    let first = integers_of_parts(parts);
    let rest = bitcast<vec3<u32>>((parts - vec3<f32>(first)) * UNIT) ^ vec3<u32>(params.zero);
    return Units(first, integers_of_parts(bitcast<vec3<f32>>(rest)));
}

// Adds the products of factors that are inside the window.
fn with_inside_products(window: Products, xs: vec4<u32>, ys: vec4<u32>) -> Products {
    let a = units_of(window, xs.x, ys.x);
    let b = units_of(window, xs.y, ys.y);
    let c = units_of(window, xs.z, ys.z);
    let d = units_of(window, xs.w, ys.w);
    let first = window.first + a.first + b.first + c.first + d.first;
    let second = window.second + a.second + b.second + c.second + d.second;
    return Products(window.tops, window.scales, first, second);
}

// Adds the integers of the window to the sum.
fn emptied_products(window: Products) -> Products {
    let bit = (window.tops.x >> 23u) + (window.tops.y >> 23u) + 22u;
    for (var k = 0u; k < 6u; k++) {
        let number = select(window.first[k % 3u], window.second[k % 3u], k > 2u);
        add_integer(number, bit - 12u * (k % 3u) - select(0u, 22u, k > 2u));
    }
    return Products(window.tops, window.scales, vec3<i32>(0), vec3<i32>(0));
}

// Returns true if factors up to a magnitude need another bound.
fn needs_bound(largest: u32, top: u32) -> bool {
    return largest < INFINITY && (largest >= top || (largest > 0u && (largest >> 23u) + 8u < (top >> 23u)));
}

// Returns a window for factors up to both magnitudes, which may be that of earlier factors.
fn moved(window: Products, largest: vec2<u32>) -> Products {
    let needs = vec2<bool>(needs_bound(largest.x, window.tops.x), needs_bound(largest.y, window.tops.y));
    if !any(needs) { return window; }
    let exponents = clamp((largest >> vec2<u32>(23u)) + vec2<u32>(2u), vec2<u32>(32u), vec2<u32>(255u));
    var after = emptied_products(window);
    after.tops = select(after.tops, exponents << vec2<u32>(23u), needs);
    after.scales = select(after.scales, bitcast<vec2<f32>>((vec2<u32>(265u) - exponents) << vec2<u32>(23u)), needs);
    return after;
}

// Returns true if a product is not one of the window.
fn is_outside(window: Products, x: u32, y: u32) -> bool {
    let size_x = x & ~SIGN;
    let size_y = y & ~SIGN;
    let exponents = exponents_of(size_x - 1u, size_y - 1u);
    return size_x >= window.tops.x || size_y >= window.tops.y || exponents < least_exponents(window);
}

// Adds four products.
fn with_products(window: Products, xs: vec4<u32>, ys: vec4<u32>) -> Products {
    let sizes_x = sizes_of(xs);
    let sizes_y = sizes_of(ys);
    let less_x = sizes_x - vec4<u32>(1u);
    let less_y = sizes_y - vec4<u32>(1u);
    let largest = vec2<u32>(largest_of(sizes_x), largest_of(sizes_y));
    let exponents = (less_x >> vec4<u32>(23u)) + (less_y >> vec4<u32>(23u));
    var after = window;
    var x = xs;
    var y = ys;
    if largest.x >= window.tops.x || largest.y >= window.tops.y || least_of(exponents) < least_exponents(window) {
        after = moved(window, largest);
        for (var k = 0u; k < 4u; k++) {
            if is_outside(after, xs[k], ys[k]) {
                add_product(xs[k], ys[k]);
                let here = vec4<u32>(0u, 1u, 2u, 3u) == vec4<u32>(k);
                x = select(x, vec4<u32>(0u), here);
                y = select(y, vec4<u32>(0u), here);
            }
        }
    }
    return with_inside_products(after, x, y);
}
