// lanes: combines the states of the invocations of a workgroup
//
// Shape      lane: the invocation; own, total: its state; before: the state before the workgroup; the shader around it has the
//            type S of a state, `identity` and `combined`
// Dispatch   any
// Barriers   scan_lanes: 2 * ceil(log2(WORKGROUP)) + 2; fold_lanes: ceil(log2(WORKGROUP)) + 2
// Tolerance  as `combined`, in a tree of the invocations
var<workgroup> parts: array<S, WORKGROUP>;

// Replaces the state of each invocation by the combined states up to and including it.
fn scan_lanes(lane: u32, total: S) {
    workgroupBarrier();
    parts[lane] = total;
    for (var distance = 1u; distance < WORKGROUP; distance *= 2u) {
        workgroupBarrier();
        var part = parts[lane];
        if lane >= distance { part = combined(parts[lane - distance], part); }
        workgroupBarrier();
        parts[lane] = part;
    }
    workgroupBarrier();
}

// Returns the combined state of everything before an invocation's elements.
fn before_lane(lane: u32, before: S) -> S {
    var state = before;
    if lane > 0u { state = combined(before, parts[lane - 1u]); }
    return state;
}

// Combines the states of all invocations.
fn fold_lanes(lane: u32, own: S) -> S {
    workgroupBarrier();
    parts[lane] = own;
    for (var distance = 1u; distance < WORKGROUP; distance *= 2u) {
        workgroupBarrier();
        if lane % (2u * distance) == 0u { parts[lane] = combined(parts[lane], parts[lane + distance]); }
    }
    workgroupBarrier();
    return parts[0];
}
