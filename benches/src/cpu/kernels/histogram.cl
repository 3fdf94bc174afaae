// histogram: bins[v] counts the elements whose lowest byte is v
//
// Dispatch   some workgroups, each for a contiguous block of the elements
// Workgroup  [256, 1, 1]
// Barriers   two; the counts of a workgroup are atomic in its memory
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void histogram(
    global const uint *restrict x, uint x_length,
    volatile global uint *restrict bins, uint bins_length
) {
    volatile local uint counts[256];
    size_t item = get_local_id(0);
    counts[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    size_t block = x_length / get_num_groups(0);
    for (size_t i = item; i < block; i += 256) { atomic_add(&counts[x[get_group_id(0) * block + i] & 255], 1); }
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&bins[item], counts[item]);
}
