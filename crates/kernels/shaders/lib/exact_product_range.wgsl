// exact_product_range: adds a range of products of two elements in one invocation
//
// Shape      x, y: bits of floats, arrays of the shader; the shader around it uses exact_products, exact_sum, exact_window and
//            exact_words
// Dispatch   any
// Barriers   none
// Tolerance  exact

// Places of terms in both arrays: the first one, and the distance to the next.
struct Places { first: u32, step: u32 }

// Returns the bits of up to four elements of x from the term `at` on and before `end`, and zeros.
fn four_of_x(places: Places, at: u32, end: u32) -> vec4<u32> {
    var four = vec4<u32>(0u);
    let i = places.first + at * places.step;
    four.x = x[i];
    if at + 1u < end { four.y = x[i + places.step]; }
    if at + 2u < end { four.z = x[i + 2u * places.step]; }
    if at + 3u < end { four.w = x[i + 3u * places.step]; }
    return four;
}

// Returns the bits of up to four elements of y from the term `at` on and before `end`, and zeros.
fn four_of_y(places: Places, at: u32, end: u32) -> vec4<u32> {
    var four = vec4<u32>(0u);
    let i = places.first + at * places.step;
    four.x = y[i];
    if at + 1u < end { four.y = y[i + places.step]; }
    if at + 2u < end { four.z = y[i + 2u * places.step]; }
    if at + 3u < end { four.w = y[i + 3u * places.step]; }
    return four;
}

// Adds `count` terms to the sum of the invocation.
fn add_range(places: Places, count: u32) {
    var window = no_products();
    for (var block = 0u; block < count; block += 16u * PER) {
        let end = min(count, block + 16u * PER);
        for (var at = block; at < end; at += 4u) {
            window = with_products(window, four_of_x(places, at, end), four_of_y(places, at, end));
        }
        window = emptied_products(window);
    }
}
