// segment_heads: sets the bit in heads of each first element of a segment, and clears the bits of all other elements
//
// Shape      offsets: count elements, ascending; heads: one bit for each element, 32 in a word, the first in the lowest bit
// Dispatch   one invocation per word of heads; invocations past it do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact
//#use linear
override WORKGROUP: u32 = 64;
struct Params { count: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read_write> heads: array<u32>;

// Number of bits of a word.
const BITS: u32 = 32u;

// Returns the index of the first offset, from `start` on, that is not less than an element.
fn first_offset(element: u32, start: u32) -> u32 {
    var low = start;
    var high = params.count;
    while low < high {
        let middle = low + (high - low) / 2u;
        if offsets[middle] < element { low = middle + 1u; } else { high = middle; }
    }
    return low;
}

@compute @workgroup_size(WORKGROUP)
fn segment_heads(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let word = linear_id(gid, groups, WORKGROUP);
    if word >= arrayLength(&heads) { return; }
    let first = word * BITS;
    var bits = 0u;
    var at = first_offset(first, 0u);
    // Empty segments begin at the same element as the next one, so each step searches for the next distinct element.
    while at < params.count {
        let bit = offsets[at] - first;
        if bit >= BITS { break; }
        bits |= 1u << bit;
        at = first_offset(first + bit + 1u, at + 1u);
    }
    heads[word] = bits;
}
