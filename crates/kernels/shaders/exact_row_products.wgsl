// exact_row_products: as exact_rows for the products of the elements of x and y
//
// Shape      x, y: bits of f32, rows of n elements; out, zero: as exact_rows
// Dispatch   as exact_rows
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   one
// Tolerance  exact: the result does not depend on the order of the elements
//#use exact_products
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
@group(0) @binding(2) var<storage, read> y: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<atomic<u32>>;

// Returns the bits of four elements at the distance of a workgroup.
fn four_of_x(at: u32) -> vec4<u32> {
    return vec4<u32>(x[at], x[at + WORKGROUP], x[at + 2u * WORKGROUP], x[at + 3u * WORKGROUP]);
}

fn four_of_y(at: u32) -> vec4<u32> {
    return vec4<u32>(y[at], y[at + WORKGROUP], y[at + 2u * WORKGROUP], y[at + 3u * WORKGROUP]);
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

fn last_of_y(at: u32, end: u32) -> vec4<u32> {
    var four = vec4<u32>(0u);
    if at < end { four.x = y[at]; }
    if at + WORKGROUP < end { four.y = y[at + WORKGROUP]; }
    if at + 2u * WORKGROUP < end { four.z = y[at + 2u * WORKGROUP]; }
    if at + 3u * WORKGROUP < end { four.w = y[at + 3u * WORKGROUP]; }
    return four;
}

// Adds the products of a share. All invocations take the same steps, as in exact_rows.
fn add_terms(start: u32, end: u32, lane: u32) {
    let four = 4u * WORKGROUP;
    var window = no_products();
    for (var block = start; block < end; block += 4u * PER * four) {
        let stop = min(end, block + 4u * PER * four);
        for (var at = block; at < stop; at += four) {
            var xs = vec4<u32>(0u);
            var ys = vec4<u32>(0u);
            if at + four <= stop {
                xs = four_of_x(at + lane);
                ys = four_of_y(at + lane);
            } else {
                xs = last_of_x(at + lane, stop);
                ys = last_of_y(at + lane, stop);
            }
            window = with_products(window, xs, ys);
        }
        window = emptied_products(window);
    }
}

@compute @workgroup_size(WORKGROUP)
fn exact_row_products(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    add_row_share(g, lane, params.n);
}
