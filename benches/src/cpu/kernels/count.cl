// count: each counter rises by one
//
// Dispatch   one work item for each counter
// Workgroup  [64, 1, 1]
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void count(global uint *restrict counters, uint counters_length) {
    size_t id = get_global_id(0);
    if (id >= counters_length) { return; }
    counters[id] += 1;
}
