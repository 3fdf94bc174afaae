// saxpy: y[i] = a * x[i] + y[i]
//
// Dispatch   a grid of two axes; one work item for each element
// Workgroup  [256, 1, 1]
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void saxpy(
    float a,
    global const float *restrict x, uint x_length,
    global float *restrict y, uint y_length
) {
    size_t i = get_global_id(1) * get_num_groups(0) * 256 + get_global_id(0);
    if (i >= y_length) { return; }
    y[i] = a * x[i] + y[i];
}
