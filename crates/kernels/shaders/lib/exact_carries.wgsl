// exact_carries: a sum of exact_words whose digits are carried at the end
//
// Shape      the shader around it uses exact_sum and exact_words
// Dispatch   any
// Barriers   none
// Tolerance  exact, for at most 32,767 numbers

// Digits of 16 bits, the lowest one first. They may be negative, and need not be below 2^16.
var<private> digits: array<i32, 2u * WORDS>;

// Adds `number * 2^bit` to the digits, or subtracts it.
fn add_part(number: u32, bit: u32, minus: bool) {
    let shift = bit % 16u;
    let low = number << shift;
    let high = (number >> 1u) >> (31u - shift);
    let parts = vec3<i32>(vec3<u32>(low & 0xFFFFu, low >> 16u, high));
    let changes = select(parts, -parts, minus);
    let digit = bit / 16u;
    digits[digit] += changes.x;
    digits[digit + 1u] += changes.y;
    digits[digit + 2u] += changes.z;
}

// Replaces the sum of exact_words by the digits.
fn take_digits() {
    var carry = 0;
    for (var w = 0u; w < WORDS; w++) {
        let low = digits[2u * w] + carry;
        let high = digits[2u * w + 1u] + (low >> 16u);
        words[w] = (u32(low) & 0xFFFFu) | (u32(high) << 16u);
        carry = high >> 16u;
    }
}
