// bodies: the acceleration of each body by all bodies; the three parts of the acceleration follow each other in `pull`
//
// Dispatch   one work item for each body; their number is a multiple of 128
// Workgroup  [128, 1, 1]
// Barriers   two for each tile of 128 bodies
kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void bodies(
    global const float *restrict xs, uint count,
    global const float *restrict ys, uint ys_length,
    global const float *restrict zs, uint zs_length,
    global const float *restrict masses, uint masses_length,
    global float *restrict pull, uint pull_length
) {
    local float4 tile[128];
    size_t id = get_global_id(0);
    float3 own = (float3)(xs[id], ys[id], zs[id]);
    float3 sum = (float3)(0.0f);
    for (size_t first = 0; first < count; first += 128) {
        size_t at = first + get_local_id(0);
        tile[get_local_id(0)] = (float4)(xs[at], ys[at], zs[at], masses[at]);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (size_t j = 0; j < 128; j++) {
            float4 other = tile[j];
            float3 away = other.xyz - own;
            float near = rsqrt(dot(away, away) + 0.01f);
            sum += other.w * near * near * near * away;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    pull[id] = sum.x;
    pull[count + id] = sum.y;
    pull[2 * count + id] = sum.z;
}
