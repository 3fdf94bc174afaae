// exact_product: the product of two floats, as integers
//
// Shape      x, y: bits of floats; the shader around it uses exact_words, and has `add_part`, which adds number * 2^bit to a sum
// Dispatch   any
// Barriers   none
// Tolerance  exact

// Digits of a factor that its upper half does not have.
const LOWER: u32 = 0xFFFu;

// Adds the product of two floats, given by their bits.
fn add_product(x: u32, y: u32) {
    let size_x = x & ~SIGN;
    let size_y = y & ~SIGN;
    let minus = ((x ^ y) & SIGN) != 0u;
    if max(size_x, size_y) >= INFINITY {
        let is_nan = max(size_x, size_y) > INFINITY || min(size_x, size_y) == 0u;
        kinds |= select(select(1u, 2u, minus), 4u, is_nan);
        return;
    }
    let digits_x = digits_of(size_x);
    let digits_y = digits_of(size_y);
    let high_x = digits_x >> 12u;
    let high_y = digits_y >> 12u;
    let low_x = digits_x & LOWER;
    let low_y = digits_y & LOWER;
    let bit = place_of(size_x) + place_of(size_y);
    let parts = vec3<u32>(low_x * low_y, high_x * low_y + low_x * high_y, high_x * high_y);
    for (var k = 0u; k < 3u; k++) { add_part(parts[k], bit + 12u * k, minus); }
}
