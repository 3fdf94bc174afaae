// exact_segment_share: adds a share of all terms to the sums of their segments
//
// Shape      g: the number of a share; the shader around it has the parameters n, share and segments, `offsets` and `out` as
//            exact_segments; it uses exact_range or exact_product_range, exact_sum and exact_words
// Dispatch   as exact_segments
// Barriers   none
// Tolerance  exact: the words do not depend on the order of the terms
//#use exact_memory
//#use segment_of

// Adds terms side by side to the sum of a segment.
fn add_piece(first: u32, end: u32, place: u32) {
    add_range(Places(first, 1u), end - first);
    add_to_memory(place);
    for (var w = 0u; w < WORDS; w++) { words[w] = 0u; }
    kinds = 0u;
}

// Adds the terms of an invocation.
fn add_segment_share(g: u32, lane: u32) {
    let each = (params.share + WORKGROUP - 1u) / WORKGROUP;
    let first = g * params.share;
    let end = min(params.n, first + params.share);
    var i = first + lane * each;
    let last = min(end, i + each);
    var known = 0u;
    while i < last {
        let segment = segment_of(i, known);
        // Another queue may change the offsets between two reads, but the loop must end.
        let stop = clamp(segment.end, i + 1u, last);
        if segment.place < params.segments { add_piece(i, stop, segment.place); }
        // If the segment ends here, its end offset is at most the next element. If it ends later, the loop ends now.
        known = segment.place + 2u;
        i = stop;
    }
}
