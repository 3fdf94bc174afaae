// reduce_share: combines the elements of a share in one workgroup
//
// Shape      start, end: the elements of the share, which may be none; the shader around it has the type S of a result,
//            `identity`, `combined` and `element`, the element at an index
// Dispatch   one workgroup of WORKGROUP invocations along x for each share
// Barriers   one for each halving of the workgroup
// Tolerance  sums of f32: d u times the sum of the magnitudes, d = 21 + share / WORKGROUP / 64 + log2(WORKGROUP), u = 2^-24;
//            products of f32: relative, by twice the number of factors times u; integers exactly, wrapping

// Number of elements of an invocation in a block. Results of blocks are combined separately, which keeps chains short.
const PER: u32 = 64u;
var<workgroup> parts: array<S, WORKGROUP>;

// Combines every element at the distance of a workgroup, in the last block of a share. Four separate values let the
// device execute four chains of operations in parallel.
fn reduce_block(first: u32, end: u32) -> S {
    var a = identity();
    var b = identity();
    var c = identity();
    var d = identity();
    var i = first;
    for (; i + 3u * WORKGROUP < end; i += 4u * WORKGROUP) {
        a = combined(a, element(i));
        b = combined(b, element(i + WORKGROUP));
        c = combined(c, element(i + 2u * WORKGROUP));
        d = combined(d, element(i + 3u * WORKGROUP));
    }
    for (; i < end; i += WORKGROUP) { a = combined(a, element(i)); }
    return combined(combined(a, b), combined(c, d));
}

// Combines the elements of a whole block as reduce_block does. All invocations take the same steps, so that a processor executes
// several of them with one instruction.
fn reduce_whole_block(first: u32, lane: u32) -> S {
    var a = identity();
    var b = identity();
    var c = identity();
    var d = identity();
    for (var step = first; step < first + PER * WORKGROUP; step += 4u * WORKGROUP) {
        let at = step + lane;
        a = combined(a, element(at));
        b = combined(b, element(at + WORKGROUP));
        c = combined(c, element(at + 2u * WORKGROUP));
        d = combined(d, element(at + 3u * WORKGROUP));
    }
    return combined(combined(a, b), combined(c, d));
}

// Leaves the result in parts[0], where the first invocation reads it.
fn reduce_share(start: u32, end: u32, lane: u32) {
    var all = identity();
    for (var block = start; block < end; block += PER * WORKGROUP) {
        if block + PER * WORKGROUP <= end {
            all = combined(all, reduce_whole_block(block, lane));
        } else {
            all = combined(all, reduce_block(block + lane, end));
        }
    }
    parts[lane] = all;
    for (var width = WORKGROUP / 2u; width > 0u; width /= 2u) {
        workgroupBarrier();
        if lane < width { parts[lane] = combined(parts[lane], parts[lane + width]); }
    }
}
