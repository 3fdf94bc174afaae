// exact_finish: the last operation on an exact sum
//
// Shape      the shader around it uses exact_sum, exact_words and exact_rounding, and has the override FINISH (0: the sum itself,
//            1: divided by an integer below 2^31, 2: its square root)
// Dispatch   any
// Barriers   none
// Tolerance  exact: the sum, the quotient or the root is rounded once

// Divides the magnitude, digit by digit. Returns true if there is a remainder.
fn divide(divisor: u32) -> bool {
    var rest = 0u;
    for (var w = WORDS; w > 0u; w -= 1u) {
        var word = words[w - 1u];
        if word == 0u && rest == 0u { continue; }
        for (var digit = 0u; digit < 32u; digit++) {
            rest = (rest << 1u) | (word >> 31u);
            word = word << 1u;
            if rest >= divisor {
                rest -= divisor;
                word |= 1u;
            }
        }
        words[w - 1u] = word;
    }
    return rest != 0u;
}

// Returns the float nearest to the root of the magnitude. A digit of the root takes two bits of the magnitude, which counts
// 2^-298, so the root counts 2^-149.
fn root() -> u32 {
    let highest = highest_bit() / 2u;
    let lost = max(highest, 23u) - 23u;
    var rest = 0u;
    var found = 0u;
    // The last digit is the one below the digits of the result; below the magnitude, it takes zeros.
    var digit = highest + 2u;
    while digit > lost {
        digit -= 1u;
        var pair = 0u;
        if digit > 0u { pair = bits_at(2u * digit - 2u) & 3u; }
        rest = (rest << 2u) | pair;
        let trial = (found << 2u) | 1u;
        found = found << 1u;
        if rest >= trial {
            rest -= trial;
            found |= 1u;
        }
    }
    let kept = found >> 1u;
    var up = false;
    if (found & 1u) == 1u {
        var more = rest != 0u || (kept & 1u) == 1u;
        if lost > 0u { more = more || has_bits_below(2u * lost - 2u); }
        up = more;
    }
    return min((lost << 23u) + kept + select(0u, 1u, up), INFINITY);
}

// Returns the bits of the result. A mean of no terms is a NaN.
fn exact_result(divisor: u32) -> u32 {
    if FINISH == 1u && divisor == 0u { return NAN; }
    if kinds != 0u { return of_kinds(); }
    let minus = take_magnitude();
    if FINISH == 2u { return root(); }
    var rest = false;
    if FINISH == 1u { rest = divide(divisor); }
    return rounded(rest) | select(0u, SIGN, minus);
}
