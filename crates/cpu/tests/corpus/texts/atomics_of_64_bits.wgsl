// expect: compiled
@group(0) @binding(0) var<storage, read_write> out: Totals;

struct Totals {
    sum: atomic<u64>,
    ends: array<atomic<i64>, 2>,
}

var<workgroup> totals: Totals;

@compute @workgroup_size(4)
fn totals_of(@builtin(local_invocation_index) i: u32) {
    atomicMax(&totals.ends[1], i64(i) * 5li);
    atomicMin(&totals.ends[0], -i64(i));
    workgroupBarrier();
    atomicAdd(&out.sum, 0x100000000lu);
    atomicMax(&out.ends[1], atomicLoad(&totals.ends[1]));
    atomicMin(&out.ends[0], atomicLoad(&totals.ends[0]));
    let swapped = atomicCompareExchangeWeak(&totals.sum, 0lu, 7lu);
}
