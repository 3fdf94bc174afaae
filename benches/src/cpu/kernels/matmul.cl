// c = a * b, of square matrices with SIDE rows
//
// matmul_tiles: one work item for each element; a workgroup shares tiles of 16 by 16 elements; [16, 16, 1]
// matmul_registers: one work item for eight elements of a column, without shared memory; [64, 1, 1]
//
// SIDE is a multiple of 64.
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void matmul_tiles(
    global const float *restrict a, uint a_length,
    global const float *restrict b, uint b_length,
    global float *restrict c, uint c_length
) {
    local float of_a[256];
    local float of_b[256];
    size_t column = get_global_id(0);
    size_t row = get_global_id(1);
    size_t x = get_local_id(0);
    size_t y = get_local_id(1);
    size_t place = y * 16 + x;
    float sum = 0.0f;
    for (size_t tile = 0; tile < SIDE; tile += 16) {
        of_a[place] = a[row * SIDE + tile + x];
        of_b[place] = b[(tile + y) * SIDE + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (size_t k = 0; k < 16; k++) { sum += of_a[y * 16 + k] * of_b[k * 16 + x]; }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * SIDE + column] = sum;
}

kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void matmul_registers(
    global const float *restrict a, uint a_length,
    global const float *restrict b, uint b_length,
    global float *restrict c, uint c_length
) {
    size_t row = get_global_id(1) * 8;
    size_t column = get_global_id(0);
    size_t first = row * SIDE;
    float4 upper = (float4)(0.0f);
    float4 lower = (float4)(0.0f);
    for (size_t k = 0; k < SIDE; k++) {
        size_t at = first + k;
        float factor = b[k * SIDE + column];
        upper += factor * (float4)(a[at], a[at + SIDE], a[at + 2 * SIDE], a[at + 3 * SIDE]);
        lower += factor * (float4)(a[at + 4 * SIDE], a[at + 5 * SIDE], a[at + 6 * SIDE], a[at + 7 * SIDE]);
    }
    size_t place = first + column;
    c[place] = upper.x;
    c[place + SIDE] = upper.y;
    c[place + 2 * SIDE] = upper.z;
    c[place + 3 * SIDE] = upper.w;
    c[place + 4 * SIDE] = lower.x;
    c[place + 5 * SIDE] = lower.y;
    c[place + 6 * SIDE] = lower.z;
    c[place + 7 * SIDE] = lower.w;
}
