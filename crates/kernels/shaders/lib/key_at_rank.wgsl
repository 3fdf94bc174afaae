// key_at_rank: the key at a rank among few elements
//
// Shape      count: the number of elements; rank: a rank, below the number of elements that have keys; the shader around it has
//            `key_at`, the key of element k; an element that is left out has the last key
// Dispatch   any; each invocation has its own elements
// Barriers   none
// Tolerance  exact
const LAST: u32 = 0xFFFFFFFFu;
// Number of elements up to which comparing all pairs takes less time than a search by digits.
const FEW: u32 = 24u;

// Returns the key of the element with `rank` others before it. Of equal elements, the first ones come before.
fn key_by_pairs(count: u32, rank: u32) -> u32 {
    var found = LAST;
    for (var i = 0u; i < count; i++) {
        let key = key_at(i);
        var before = 0u;
        for (var j = 0u; j < i; j++) { before += select(0u, 1u, key_at(j) <= key); }
        for (var j = i + 1u; j < count; j++) { before += select(0u, 1u, key_at(j) < key); }
        if before == rank { found = key; }
    }
    return found;
}

// Returns the largest key with at most `rank` keys below it, two bits at a time.
fn key_by_digits(count: u32, rank: u32) -> u32 {
    var found = 0u;
    for (var shift = 32u; shift > 0u; shift -= 2u) {
        let step = 1u << (shift - 2u);
        let first = found + step;
        let second = first + step;
        let third = second + step;
        var below = vec3<u32>(0u);
        for (var k = 0u; k < count; k++) {
            let key = key_at(k);
            below.x += select(0u, 1u, key < first);
            below.y += select(0u, 1u, key < second);
            below.z += select(0u, 1u, key < third);
        }
        found += select(0u, step, below.x <= rank) + select(0u, step, below.y <= rank) + select(0u, step, below.z <= rank);
    }
    return found;
}

fn key_at_rank(count: u32, rank: u32) -> u32 {
    if count <= FEW { return key_by_pairs(count, rank); }
    return key_by_digits(count, rank);
}

// Returns the key at the rank after that of a key, which must exist.
fn key_at_next_rank(count: u32, rank: u32, key: u32) -> u32 {
    var up_to = 0u;
    var next = LAST;
    for (var k = 0u; k < count; k++) {
        let other = key_at(k);
        if other <= key { up_to++; } else { next = min(next, other); }
    }
    return select(next, key, up_to > rank + 1u);
}
