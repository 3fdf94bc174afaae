// mandelbrot: steps[i] = the number of steps, at most 256, until the point of pixel i leaves the circle of radius 2
//
// Dispatch   one work item for each pixel of a square picture with SIDE columns
// Workgroup  [64, 1, 1]
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void mandelbrot(global uint *restrict steps, uint steps_length) {
    float scale = 2.5f / (float)SIDE;
    float re = (float)get_global_id(0) * scale - 2.0f;
    float im = (float)get_global_id(1) * scale - 1.25f;
    float x = 0.0f;
    float y = 0.0f;
    uint n = 0;
    while (n < 256 && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + re;
        y = 2.0f * x * y + im;
        x = next;
        n++;
    }
    steps[get_global_id(1) * SIDE + get_global_id(0)] = n;
}
