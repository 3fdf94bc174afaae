// exact_rows: out[g] = the exact sum of share g of the rows of x, rounded once; or the share is added to the sum of its row
//
// Shape      x: bits of f32, rows of n elements; out: if STAGE is 0, at least shares elements, bits of f32; if it is 1, OF_SUM
//            words for each row, as exact_sum describes; zero: 0
// Dispatch   one workgroup per share, in one or two dimensions; the last share of a row may be shorter; if STAGE is 0, a row is
//            one share
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   one
// Tolerance  exact: the result does not depend on the order of the elements
//#use exact_rounding
//#use exact_row_share
//#use exact_sum
//#use exact_window
//#use exact_words
override WORKGROUP: u32 = 256;
override STAGE: u32 = 0;                    // 0: the results of the rows, 1: the sums of the rows
override FINISH: u32 = 0;                   // 0: the sum itself, 1: divided by n, 2: its square root
struct Params { n: u32, share: u32, in_row: u32, shares: u32, zero: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<atomic<u32>>;

// Returns the bits of four elements at the distance of a workgroup.
fn four_of_x(at: u32) -> vec4<u32> {
    return vec4<u32>(x[at], x[at + WORKGROUP], x[at + 2u * WORKGROUP], x[at + 3u * WORKGROUP]);
}

// Returns the bits of up to four elements before the end, and zeros.
fn last_of_x(at: u32, end: u32) -> vec4<u32> {
    var four = vec4<u32>(0u);
    if at < end { four.x = x[at]; }
    if at + WORKGROUP < end { four.y = x[at + WORKGROUP]; }
    if at + 2u * WORKGROUP < end { four.z = x[at + 2u * WORKGROUP]; }
    if at + 3u * WORKGROUP < end { four.w = x[at + 3u * WORKGROUP]; }
    return four;
}

// Adds the elements of a share. All invocations take the same steps, so that a processor executes several of them with one
// instruction.
fn add_terms(start: u32, end: u32, lane: u32) {
    let four = 4u * WORKGROUP;
    var window = no_window();
    for (var block = start; block < end; block += 4u * PER * four) {
        let stop = min(end, block + 4u * PER * four);
        var at = block;
        for (; at + 4u * four <= stop; at += 4u * four) {
            let i = at + lane;
            let a = four_of_x(i);
            let b = four_of_x(i + four);
            let c = four_of_x(i + 2u * four);
            let d = four_of_x(i + 3u * four);
            window = with_sixteen(window, a, b, c, d);
        }
        for (; at < stop; at += four) { window = with_terms(window, last_of_x(at + lane, stop)); }
        window = emptied(window);
    }
}

@compute @workgroup_size(WORKGROUP)
fn exact_rows(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    add_row_share(g, lane, params.n);
}
