// collatz: steps[i] = the number of steps, at most 1000, from i + 1 to 1; the arithmetic wraps
//
// Dispatch   one work item for each number
// Workgroup  [64, 1, 1]
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void collatz(global uint *restrict steps, uint steps_length) {
    uint value = (uint)get_global_id(0) + 1;
    uint n = 0;
    while (value != 1 && n < 1000) {
        if (value % 2 == 0) { value /= 2; } else { value = 3 * value + 1; }
        n++;
    }
    steps[get_global_id(0)] = n;
}
