// powers: out[i] = the sum over all rates of an exponential function, a logarithm and a power of element i
//
// Dispatch   one work item for each element
// Workgroup  [64, 1, 1]
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void powers(
    global const float *restrict values, uint values_length,
    global const float *restrict rates, uint rates_length,
    global float *restrict out, uint out_length
) {
    float value = values[get_global_id(0)];
    float sum = 0.0f;
    for (size_t at = 0; at < rates_length; at++) {
        float rate = rates[at];
        sum += exp(-rate * value) + log(value + rate) + pow(value, rate);
    }
    out[get_global_id(0)] = sum;
}
