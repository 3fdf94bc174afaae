// quantile: the rank of a quantile among elements
//
// Shape      count: a number of elements, at least one; the shader around it has `params` with the place of the quantile, which is
//            count * factor - offset, and with `rounding`; factor and offset are vectors of words with the weights 2^-64, 2^-32 and
//            1
// Dispatch   any
// Barriers   none
// Tolerance  exact; the place is rounded to a multiple of 2^-32. Within floor(count / 2^21) of them of a whole number, or of the
//            middle of two, it is rounded to that: so far the place may be from the one that was meant, because the factor is
//            the float nearest to a number such as 0.7.
//#use high_product
const HALF: u32 = 0x80000000u;

// A rank, and the part of the way to the next rank, in units of 2^-32.
struct Place { rank: u32, fraction: u32 }

// Returns the place as `rounding` says; there is a next rank.
fn rounded(rank: u32, fraction: u32) -> Place {
    let is_odd = (rank & 1u) == 1u;
    var up = false;
    var left = 0u;
    switch params.rounding {
        // The place itself.
        case 0u: { left = fraction; }
        // The rank before it, and the rank after it.
        case 1u: {}
        case 2u: { up = fraction > 0u; }
        // The nearest rank, which is an even one in the middle of two.
        case 3u: { up = fraction > HALF || (fraction == HALF && is_odd); }
        // The middle of two ranks.
        case 4u: { if fraction > 0u { left = HALF; } }
        // The rank after it; for a rank itself, the middle of this and the next one.
        case 5u: {
            up = fraction > 0u;
            if !up { left = HALF; }
        }
        // The rank after it, except for an odd rank itself.
        default: { up = fraction > 0u || !is_odd; }
    }
    if up { return Place(rank + 1u, 0u); }
    return Place(rank, left);
}

// Returns the distance from a fraction to the nearest whole number.
fn from_whole(fraction: u32) -> u32 { return min(fraction, ~fraction + 1u); }

fn place_of_quantile(count: u32) -> Place {
    // The product, in words of weight 2^-64, 2^-32 and 1.
    let word_0 = count * params.factor.x;
    let carried = high_product(count, params.factor.x);
    let word_1 = count * params.factor.y + carried;
    let word_2 = count * params.factor.z + high_product(count, params.factor.y) + select(0u, 1u, word_1 < carried);
    let borrow_1 = select(0u, 1u, word_0 < params.offset.x);
    let borrow_2 = select(0u, 1u, word_1 < params.offset.y || (word_1 == params.offset.y && borrow_1 == 1u));
    let rest = word_1 - params.offset.y - borrow_1;
    let round = (word_0 - params.offset.x) >> 31u;
    var fraction = rest + round;
    var rank = word_2 - params.offset.z - borrow_2 + select(0u, 1u, fraction < round);
    let near = count >> 21u;
    if from_whole(fraction) <= near {
        rank += select(0u, 1u, fraction > HALF);
        fraction = 0u;
    } else if from_whole(fraction + HALF) <= near {
        fraction = HALF;
    }
    // The place may be before the first element.
    if i32(rank) < 0 { return Place(0u, 0u); }
    if rank >= count - 1u { return Place(count - 1u, 0u); }
    return rounded(rank, fraction);
}
