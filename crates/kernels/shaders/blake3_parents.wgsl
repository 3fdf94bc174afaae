// blake3_parents: one level of BLAKE3's tree: two chaining values give the value of their parent
//
// Shape      children: 8 words each, `count` of them. parents: 8 words each, ceil(count / 2) of them.
//            An odd last child has no sibling and is copied unchanged
// Dispatch   one invocation per parent; invocations past the last parent do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact
//#use blake3
override WORKGROUP: u32 = 64;

struct Params {
    count: u32,             // number of children
    root: u32,              // 1: only these two children are left, so the result is the hash of the message; else 0
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> children: array<Blake3Value>;
@group(0) @binding(2) var<storage, read_write> parents: array<Blake3Value>;

@compute @workgroup_size(WORKGROUP)
fn blake3_parents(@builtin(global_invocation_id) gid: vec3<u32>) {
    let parent = gid.x;
    let count = min(params.count, arrayLength(&children));
    if parent >= min(count / 2u + count % 2u, arrayLength(&parents)) { return; }

    let left = children[2u * parent];
    if 2u * parent + 1u == count {
        parents[parent] = left;
        return;
    }
    let right = children[2u * parent + 1u];
    let block = Blake3Block(left.low, left.high, right.low, right.high);
    let tail = vec4<u32>(0u, 0u, 64u, BLAKE3_PARENT | (params.root * BLAKE3_ROOT));
    parents[parent] = blake3_compress(BLAKE3_START, block, tail);
}
