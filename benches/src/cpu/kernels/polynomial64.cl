// polynomial64: out[i] = a sum of 64 terms of the powers of x[i], in numbers of 64 bits
//
// Dispatch   one work item for each element
// Workgroup  [64, 1, 1]
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void polynomial64(
    global const float *restrict x, uint x_length,
    global float *restrict out, uint out_length
) {
    double base = x[get_global_id(0)];
    double sum = 0.0;
    for (uint term = 0; term < 64; term++) { sum = sum * base + 0.25; }
    out[get_global_id(0)] = (float)sum;
}
