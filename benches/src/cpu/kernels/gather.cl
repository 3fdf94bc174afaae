// gather: y[i] = x[at[i]]
//
// Dispatch   one work item for each index
// Workgroup  [64, 1, 1]
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void gather(
    global const uint *restrict at, uint at_length,
    global const float *restrict x, uint x_length,
    global float *restrict y, uint y_length
) {
    size_t id = get_global_id(0);
    y[id] = x[at[id]];
}
