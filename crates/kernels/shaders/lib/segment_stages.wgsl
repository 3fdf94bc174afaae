// segment_stages: computes one stage of results of segments in two launches, or the results of all segments of one share
//
// Shape      g: the share, which begins at element g * share; the shader around it has the type T of a result, the override STAGE,
//            `combined_elements`, the result of elements side by side, `operation`, and `store`, which takes the place of a
//            segment or one after the last segment, and uses fold_partials, keyed, lanes and segment_of; elements after the
//            last segment are not read
// Dispatch   one workgroup of WORKGROUP invocations along x for each share
// Barriers   as fold_lanes in stage 1, else as scan_lanes; in stage 0 as fold_lanes too
// Tolerance  as `combined_elements` and `operation`

// Keeps the state of a share: the combined elements of its last segment. In a share without elements, any segment will do.
fn keep_last_segment(g: u32, first: u32, end: u32, lane: u32) {
    let segment = segment_of(end - 1u, 0u);
    let start = clamp(segment.first, first, end);
    let each = (end - start + WORKGROUP - 1u) / WORKGROUP;
    let own = min(end, start + lane * each);
    let all = fold_lanes(lane, S(combined_elements(own, min(end, own + each)), 0u));
    if lane == 0u { keep_partial(g, S(all.value, select(0u, 1u, segment.first >= first))); }
}

// Writes the results of the segments that end in a share. The elements of each invocation are adjacent. It writes
// segments inside them at once, and the segment that began before them when the states of the earlier invocations are
// known.
fn write_segments(first: u32, end: u32, lane: u32, before: S) {
    let each = (params.share + WORKGROUP - 1u) / WORKGROUP;
    var i = min(end, first + lane * each);
    let last = min(end, i + each);
    var state = identity();
    var rest = params.identity;
    var place_of_rest = params.segments;
    var known = 0u;
    while i < last {
        let segment = segment_of(i, known);
        // Another queue may change the offsets between two reads, but the loop must end.
        let stop = clamp(segment.end, i + 1u, last);
        let value = combined_elements(i, stop);
        let begins = i == segment.first;
        state = combined(state, S(value, select(0u, 1u, begins)));
        if stop == segment.end {
            if begins {
                store(segment.place, value);
            } else {
                rest = value;
                place_of_rest = segment.place;
            }
        }
        // If the segment ends here, its end offset is at most the next element. If it ends later, the loop ends now.
        known = segment.place + 2u;
        i = stop;
    }
    scan_lanes(lane, state);
    store(place_of_rest, operation(before_lane(lane, before).value, rest));
}

fn segment_stage(g: u32, lane: u32) {
    let first = g * params.share;
    let end = clamp(offsets[params.segments], first, min(params.n, first + params.share));
    if STAGE == 1u {
        keep_last_segment(g, first, end, lane);
        return;
    }
    var before = identity();
    if STAGE == 0u { before = fold_partials(g, lane); }
    write_segments(first, end, lane, before);
}
