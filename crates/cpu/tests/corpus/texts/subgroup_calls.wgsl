// expect: runs
@group(0) @binding(0) var<storage, read_write> out: array<u32>;

struct Sizes {
    @builtin(num_subgroups) count: u32,
    @builtin(subgroup_size) size: u32,
}

@compute @workgroup_size(70)
fn asks(sizes: Sizes, @builtin(subgroup_invocation_id) lane: u32, @builtin(global_invocation_id) id: vec3<u32>) {
    let ballot = countOneBits(subgroupBallot(lane % 3u == 0u));
    let sums = subgroupInclusiveAdd(lane) + subgroupExclusiveMul(lane + 1u) + subgroupXor(lane);
    let moved = subgroupShuffle(lane, sizes.size - 1u - lane) + subgroupShuffleXor(lane, 1u) + subgroupBroadcast(lane, 1u);
    let quad = quadSwapX(lane) + quadSwapDiagonal(lane) + quadBroadcast(lane, 1u);
    out[id.x] = ballot.x + sums + moved + quad + sizes.count;
}
