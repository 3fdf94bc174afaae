// waves: out[i] = the sum of the sines of each frequency times the time of element i
//
// Dispatch   one work item for each element
// Workgroup  [64, 1, 1]
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void waves(
    global const float *restrict times, uint times_length,
    global const float *restrict frequencies, uint frequencies_length,
    global float *restrict out, uint out_length
) {
    float time = times[get_global_id(0)];
    float sum = 0.0f;
    for (size_t at = 0; at < frequencies_length; at++) { sum += sin(frequencies[at] * time); }
    out[get_global_id(0)] = sum;
}
