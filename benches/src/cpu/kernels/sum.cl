// sums[g] = the sum of the elements of workgroup g
//
// sum_stride: the workgroups of the grid alternate along the array, a row of work items at a time
// sum_block: each workgroup has a contiguous block of the array
//
// Dispatch   one workgroup for each sum; the elements are a multiple of the work items of the grid
// Workgroup  [256, 1, 1]
// Barriers   one in each step of the tree
void reduce(local float *partial, float own, global float *sums) {
    size_t item = get_local_id(0);
    partial[item] = own;
    for (uint half_size = 128; half_size > 0; half_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_size) { partial[item] += partial[item + half_size]; }
    }
    if (item == 0) { sums[get_group_id(0)] = partial[0]; }
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void sum_stride(
    global const float *restrict x, uint x_length,
    global float *restrict sums, uint sums_length
) {
    local float partial[256];
    size_t stride = get_num_groups(0) * 256;
    float own = 0.0f;
    for (size_t i = get_group_id(0) * 256 + get_local_id(0); i < x_length; i += stride) { own += x[i]; }
    reduce(partial, own, sums);
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void sum_block(
    global const float *restrict x, uint x_length,
    global float *restrict sums, uint sums_length
) {
    local float partial[256];
    size_t block = x_length / get_num_groups(0);
    float own = 0.0f;
    for (size_t i = get_local_id(0); i < block; i += 256) { own += x[get_group_id(0) * block + i]; }
    reduce(partial, own, sums);
}
