// log_determinant: signs, logs = the sign of the determinant of each matrix of a, and the logarithm of its magnitude
//
// Shape      a, work: as lu; signs, logs: one element for each matrix
// Dispatch   as lu
// Workgroup  [WIDTH, MATRICES, 1]
// Barriers   as lu
// Tolerance  as determinant; a logarithm has an error of 2^-20, and of 3 u of its magnitude, besides
//
// Logarithms have a range in which no determinant overflows.
//#use pivot_product
override WIDTH: u32 = 16;
override MATRICES: u32 = 1;
override SIDE: u32 = 16;                    // most rows of a matrix
override IN_GROUP: u32 = 1;                 // 1: the elements are in the memory of the workgroup
struct Params {
    first_task: u32,
    end_task: u32,
    n: u32,
    of_zero: f32,                           // logarithm of 0
    count_1: u32,
    count_2: u32,
    a_first: u32,
    a_row: u32,
    a_column: u32,
    a_0: u32,
    a_1: u32,
    a_2: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> work: array<f32>;
@group(0) @binding(3) var<storage, read_write> signs: array<f32>;
@group(0) @binding(4) var<storage, read_write> logs: array<f32>;

const INFINITY: u32 = 0x7F800000u;
const LOG_2: f32 = 0.6931472;

// Returns 1 or -1, and 0 or a NaN for such a number.
fn sign_of(x: f32) -> f32 {
    let size = bitcast<u32>(x) & ~SIGN;
    if size == 0u || size > INFINITY { return x; }
    return bitcast<f32>((bitcast<u32>(x) & SIGN) | ONE);
}

// Returns the logarithm of the magnitude. A device may assume that no number is infinite or a NaN.
fn log_of(product: PivotProduct) -> f32 {
    let size = bitcast<u32>(product.factor) & ~SIGN;
    if size == 0u { return params.of_zero; }
    if size >= INFINITY { return abs(product.factor); }
    return log(abs(product.factor)) + f32(product.exponent) * LOG_2;
}

@compute @workgroup_size(WIDTH, MATRICES)
fn log_determinant(
    @builtin(local_invocation_id) id: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let number = (group.y * groups.x + group.x) * MATRICES + id.y;
    let matrix = params.first_task + number;
    let is_inside = matrix < params.end_task;
    eliminate_all(id, number, matrix, is_inside);
    if is_inside && id.x == 0u {
        let product = product_of_pivots();
        signs[matrix] = sign_of(product.factor);
        logs[matrix] = log_of(product);
    }
}
