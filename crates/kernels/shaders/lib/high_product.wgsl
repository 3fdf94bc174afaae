// high_product: the high word of the product of two words
//
// Shape      a, b: two words
// Dispatch   any
// Barriers   none
// Tolerance  exact
//
// WGSL has no such product, so it is computed from products of halves.
fn high_product(a: u32, b: u32) -> u32 {
    let low = vec2<u32>(a, b) & vec2<u32>(0xFFFFu);
    let high = vec2<u32>(a, b) >> vec2<u32>(16u);
    let first = high.x * low.y;
    let second = low.x * high.y;
    let middle = ((low.x * low.y) >> 16u) + (first & 0xFFFFu) + (second & 0xFFFFu);
    return high.x * high.y + (first >> 16u) + (second >> 16u) + (middle >> 16u);
}
