// convolution: each pixel is the weighted sum of its 3 by 3 neighbours; pixels at the border repeat outside
//
// Dispatch   one work item for each pixel of a square picture with SIDE columns
// Workgroup  [64, 4, 1]
kernel __attribute__((reqd_work_group_size(64, 4, 1)))
void convolution(
    global const float *restrict weights, uint weights_length,
    global const float *restrict picture, uint picture_length,
    global float *restrict smooth_picture, uint smooth_picture_length
) {
    float sum = 0.0f;
    for (int dy = 0; dy < 3; dy++) {
        int y = clamp((int)get_global_id(1) + dy - 1, 0, SIDE - 1);
        for (int dx = 0; dx < 3; dx++) {
            int x = clamp((int)get_global_id(0) + dx - 1, 0, SIDE - 1);
            sum += weights[dy * 3 + dx] * picture[y * SIDE + x];
        }
    }
    smooth_picture[get_global_id(1) * SIDE + get_global_id(0)] = sum;
}
