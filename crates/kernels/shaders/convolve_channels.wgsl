// convolve_channels: out = activation(the sums of weights times the elements in windows of images + bias), in tiles of the result
//
// Shape      images: images of channels of height x width elements; weights: kernels of channels of taps_y x taps_x weights; out:
//            images of kernels of columns, without gaps, or one such stack for each share of the inner index. Each group of
//            kernels has its own channels of the images. Strides may be negative: their products with indices wrap
// Dispatch   one workgroup per share of the inner index, for each tile of 4 DOWN x 4 ACROSS results; groups of them, in one
//            or two dimensions
// Workgroup  [ACROSS, DOWN, 1]; DEPTH is a multiple of 4
// Barriers   one, and two for each DEPTH inner indices
// Tolerance  f32: (share + 2) u times the sum of the magnitudes of the terms, u = 2^-24; integers exactly, wrapping
//
// A product of two matrices: a row of the left one has the weights of a kernel, and a column of the right one the elements in the
// window of a result. The right one is never in memory as a whole. The columns of all images are those of one matrix, and the
// inner index counts the weights of a kernel. The lanes keep the same columns for all inner indices, and all columns have the
// same distances from the first element of their window, so both are computed once.
//#use activation
override ACROSS: u32 = 16;
override DOWN: u32 = 16;
override DEPTH: u32 = 16;
override BIASED: u32 = 0;                   // 1: a bias is added
alias Factor = f32;                         // elements of images and weights: f32, f16, i32 or u32
alias Number = f32;                         // sums: f32, i32 or u32
alias Product = f32;                        // results: a Number, or f16 if that is f32
struct Params {
    groups: u32,
    shares: u32,
    share: u32,
    inner: u32,
    columns: u32,
    all_columns: u32,
    kernels: u32,
    height: u32,
    width: u32,
    out_width: u32,
    taps_y: u32,
    taps_x: u32,
    stride_y: u32,
    stride_x: u32,
    pad_y: u32,
    pad_x: u32,
    dilation_y: u32,
    dilation_x: u32,
    images_first: u32,
    images_next: u32,
    images_group: u32,
    images_channel: u32,
    images_row: u32,
    images_column: u32,
    weights_first: u32,
    weights_kernel: u32,
    weights_channel: u32,
    weights_row: u32,
    weights_column: u32,
    out_image: u32,
    out_share: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> images: array<Factor>;
@group(0) @binding(2) var<storage, read> weights: array<Factor>;
@group(0) @binding(3) var<storage, read> bias: array<Product>;
@group(0) @binding(4) var<storage, read_write> out: array<Product>;

var<workgroup> left: array<vec4<Number>, DEPTH * (DOWN + 1)>;
var<workgroup> right: array<vec4<Number>, DEPTH * (ACROSS + 1)>;
var<workgroup> taps: array<vec4<u32>, DEPTH>;

// Returns, for an inner index, the distance of its element from the first one of a window, the rows and the columns between them,
// and the distance of its weight from the first one of a kernel.
fn tap_of(k: u32) -> vec4<u32> {
    let line = k / params.taps_x;
    let channel = line / params.taps_y;
    let row = line % params.taps_y;
    let column = k % params.taps_x;
    let y = row * params.dilation_y;
    let x = column * params.dilation_x;
    let place = channel * params.images_channel + y * params.images_row + x * params.images_column;
    let weight = channel * params.weights_channel + row * params.weights_row + column * params.weights_column;
    return vec4<u32>(place, y, x, weight);
}

// Returns, for a column, the distance of the first element of its window from the first one of the images, and its row and its
// column in the image. They wrap before an image. A column after the last one has a window below its image.
fn window_of(column: u32) -> vec3<u32> {
    let pixel = column % params.columns;
    let y = pixel / params.out_width * params.stride_y - params.pad_y;
    let x = pixel % params.out_width * params.stride_x - params.pad_x;
    let image = column / params.columns;
    let place = image * params.images_next + y * params.images_row + x * params.images_column;
    return vec3<u32>(place, select(params.height, y, column < params.all_columns), x);
}

// Returns the element of a window, or zero outside of the image.
fn element_of(first: u32, window: vec3<u32>, tap: vec4<u32>) -> Number {
    var element = Number(0);
    if window.y + tap.y < params.height && window.z + tap.z < params.width {
        element = Number(images[first + window.x + tap.x]);
    }
    return element;
}

// Returns the weights of four kernels of a group, with zeros beyond its end. The first kernel has its weight at a place.
fn four_of_weights(place: u32, kernel: u32) -> vec4<Number> {
    let step = params.weights_kernel;
    var four = vec4<Number>();
    if kernel < params.kernels { four.x = Number(weights[place]); }
    if kernel + 1u < params.kernels { four.y = Number(weights[place + step]); }
    if kernel + 2u < params.kernels { four.z = Number(weights[place + 2u * step]); }
    if kernel + 3u < params.kernels { four.w = Number(weights[place + 3u * step]); }
    return four;
}

// Writes a result of a kernel, which is at a place.
fn write_result(sum: Number, kernel: u32, place: u32) {
    var x = sum;
    if BIASED == 1u { x += Number(bias[kernel]); }
    out[place] = Product(activation(x));
}

@compute @workgroup_size(ACROSS, DOWN)
fn convolve_channels(
    @builtin(local_invocation_id) lane: vec3<u32>,
    @builtin(local_invocation_index) number: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let g = group.y * groups.x + group.x;
    let share = g % params.shares;
    let start = share * params.share;
    let end = select(0u, min(params.inner, start + params.share), g < params.groups);
    let across = (params.all_columns + 4u * ACROSS - 1u) / (4u * ACROSS);
    let down = (params.kernels + 4u * DOWN - 1u) / (4u * DOWN);
    let block = g / params.shares;
    let part = block / across / down;
    let kernel = block / across % down * (4u * DOWN);
    let column = block % across * (4u * ACROSS) + 4u * lane.x;
    let first_image = params.images_first + part * params.images_group;
    let first_weight = params.weights_first + part * params.kernels * params.weights_kernel;
    let window_0 = window_of(column);
    let window_1 = window_of(column + 1u);
    let window_2 = window_of(column + 2u);
    let window_3 = window_of(column + 3u);
    var sum_0 = vec4<Number>();
    var sum_1 = vec4<Number>();
    var sum_2 = vec4<Number>();
    var sum_3 = vec4<Number>();
    for (var i = number; i < DEPTH; i += ACROSS * DOWN) { taps[i] = tap_of(start + i); }
    workgroupBarrier();
    for (var k = start; k < end; k += DEPTH) {
        for (var i = number; i < DEPTH * DOWN; i += ACROSS * DOWN) {
            let at = i % DEPTH;
            let row = kernel + 4u * (i / DEPTH);
            var four = vec4<Number>();
            if k + at < end {
                four = four_of_weights(first_weight + row * params.weights_kernel + taps[at].w, row);
            }
            left[at * (DOWN + 1u) + i / DEPTH] = four;
        }
        for (var at = lane.y; at < DEPTH; at += DOWN) {
            let tap = taps[at];
            var four = vec4<Number>();
            if k + at < end {
                four.x = element_of(first_image, window_0, tap);
                four.y = element_of(first_image, window_1, tap);
                four.z = element_of(first_image, window_2, tap);
                four.w = element_of(first_image, window_3, tap);
            }
            right[at * (ACROSS + 1u) + lane.x] = four;
        }
        workgroupBarrier();
        for (var j = 0u; j < DEPTH; j += 4u) {
            let l = j * (DOWN + 1u) + lane.y;
            let r = j * (ACROSS + 1u) + lane.x;
            let left_0 = left[l];
            let left_1 = left[l + DOWN + 1u];
            let left_2 = left[l + 2u * (DOWN + 1u)];
            let left_3 = left[l + 3u * (DOWN + 1u)];
            let right_0 = right[r];
            let right_1 = right[r + ACROSS + 1u];
            let right_2 = right[r + 2u * (ACROSS + 1u)];
            let right_3 = right[r + 3u * (ACROSS + 1u)];
            sum_0 += left_0.x * right_0 + left_1.x * right_1 + left_2.x * right_2 + left_3.x * right_3;
            sum_1 += left_0.y * right_0 + left_1.y * right_1 + left_2.y * right_2 + left_3.y * right_3;
            sum_2 += left_0.z * right_0 + left_1.z * right_1 + left_2.z * right_2 + left_3.z * right_3;
            sum_3 += left_0.w * right_0 + left_1.w * right_1 + left_2.w * right_2 + left_3.w * right_3;
        }
        for (var i = number; i < DEPTH; i += ACROSS * DOWN) { taps[i] = tap_of(k + DEPTH + i); }
        workgroupBarrier();
    }
    if g < params.groups {
        let row_0 = sum_0;
        let row_1 = sum_1;
        let row_2 = sum_2;
        let row_3 = sum_3;
        let row = kernel + 4u * lane.y;
        for (var j = 0u; j < 4u; j++) {
            let at = column + j;
            let sums = vec4<Number>(row_0[j], row_1[j], row_2[j], row_3[j]);
            let first = share * params.out_share + at / params.columns * params.out_image + at % params.columns;
            for (var i = 0u; i < 4u; i++) {
                if at < params.all_columns && row + i < params.kernels {
                    let of_all = part * params.kernels + row + i;
                    write_result(sums[i], of_all, first + of_all * params.columns);
                }
            }
        }
    }
}
