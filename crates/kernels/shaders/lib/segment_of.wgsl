// segment_of: finds the segment of an element by a search in the offsets of segments
//
// Shape      i: an element; known: a number of offsets that are at most i; the shader around it has the array `offsets`, of
//            one element more than segments, and the parameters `n`, the number of elements, and `segments`
// Dispatch   any
// Barriers   none
// Tolerance  exact

// Index of a segment, its first element, and the element after its last one. The elements before the first segment and
// those after the last one count as segments too, with indices of at least the number of segments.
struct Segment { place: u32, first: u32, end: u32 }

// Returns the segment of an element. If several begin at the element, it is the last one, because the others are empty.
// At least `known` offsets are not above the element.
fn segment_of(i: u32, known: u32) -> Segment {
    // Counts the offsets up to i, between a lower and an upper bound. The search for an upper bound starts with short
    // steps, because the result is often the next segment.
    var low = known;
    var high = known;
    var step = 1u;
    while high <= params.segments && offsets[high] <= i {
        low = high + 1u;
        high = min(high + step, params.segments + 1u);
        step *= 2u;
    }
    while low < high {
        let middle = low + (high - low) / 2u;
        if offsets[middle] <= i { low = middle + 1u; } else { high = middle; }
    }
    var segment = Segment(low - 1u, 0u, params.n);
    if low > 0u { segment.first = offsets[low - 1u]; }
    if low <= params.segments { segment.end = min(params.n, offsets[low]); }
    return segment;
}
