// fold_partials: combines the states of the shares before a share, in their order
//
// Shape      count: a number of shares; the shader around it has the type S of a state, `identity`, `combined` and `partial`, the
//            state of a share, and uses lanes
// Dispatch   any
// Barriers   as fold_lanes
// Tolerance  as `combined`, for a chain of count / WORKGROUP states and a tree of the invocations
fn fold_partials(count: u32, lane: u32) -> S {
    let each = (count + WORKGROUP - 1u) / WORKGROUP;
    let last = min(count, (lane + 1u) * each);
    var all = identity();
    for (var g = lane * each; g < last; g++) { all = combined(all, partial(g)); }
    return fold_lanes(lane, all);
}
