// segment_of: finds the segment of an element by a search in the offsets of segments
//
// Shape      i: an element; known: a number of offsets that are at most i; the shader around it has the array `offsets`, of
//            one element more than segments, and the parameters `n`, the number of elements, and `segments`
// Dispatch   any
// Barriers   none
// Tolerance  exact

// Place of a segment among the segments, its first element, and the element after its last one. The elements before
// the first segment and after the last one are segments too, whose places are not less than the number of segments.
struct Segment { place: u32, first: u32, end: u32 }

// Returns the segment of an element. Of several that begin there, it is the last one, which has the element. At least `known`
// offsets are at most the element.
fn segment_of(i: u32, known: u32) -> Segment {
    // Counts the offsets up to i, between a lower and an upper bound. The steps to an upper bound are short at first, because the
    // next segment is often the wanted one.
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
