// bins: the bin of an element, between ascending edges, as a remainder or as its number
//
// Shape      bits: the bits of an element; the shader around it has `edges`, the keys of bins + 1 edges, and `params`
//            with the number of bins and `between`; it uses order_keys
// Dispatch   any
// Barriers   none
// Tolerance  exact; an element outside of the edges has the bin `bins`, and the key of a NaN is outside of them; a number
//            may be above `bins`

// Returns the last bin whose lower edge is not above the key, or `bins` outside of all edges.
fn bin_between(key: u32) -> u32 {
    if key < edges[0] || key > edges[params.bins] { return params.bins; }
    var bin = 0u;
    var above = params.bins;
    while above - bin > 1u {
        let middle = (bin + above) / 2u;
        if edges[middle] <= key { bin = middle; } else { above = middle; }
    }
    return bin;
}

fn bin_of(bits: u32) -> u32 {
    if params.between == 1u { return bin_between(order_key(bits)); }
    // On a CPU, a division would take longer than everything else.
    if params.between == 2u { return bits & (params.bins - 1u); }
    if params.between == 3u { return bits; }
    return bits % params.bins;
}
