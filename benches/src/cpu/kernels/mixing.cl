// mixing: out[i] = the halves of a number of 64 bits together, after 64 rounds of a mixing function that begin with x[i]
//
// Dispatch   one work item for each element
// Workgroup  [64, 1, 1]
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void mixing(
    global const uint *restrict x, uint x_length,
    global uint *restrict out, uint out_length
) {
    ulong state = x[get_global_id(0)];
    for (uint round = 0; round < 64; round++) {
        state += 0x1e3779b97f4a7c15ul;
        state = (state ^ (state >> 30)) * 0x3f58476d1ce4e5b9ul;
        state ^= state >> 27;
    }
    out[get_global_id(0)] = (uint)(state >> 32) ^ (uint)state;
}
