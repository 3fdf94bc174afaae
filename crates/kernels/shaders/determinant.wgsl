// determinant: out = the determinant of each matrix of a
//
// Shape      a, work: as lu; out: one element for each matrix
// Dispatch   as lu
// Workgroup  [WIDTH, MATRICES, 1]
// Barriers   as lu
// Tolerance  that of a matrix whose difference from a is at most 8 n u times the norm of a in the tests, for random matrices
//
// The product of the pivots has a separate exponent, so that only a determinant itself overflows.
//#use pivot_product
override WIDTH: u32 = 16;
override MATRICES: u32 = 1;
override SIDE: u32 = 16;                    // most rows of a matrix
override IN_GROUP: u32 = 1;                 // 1: the elements are in the memory of the workgroup
struct Params {
    first_task: u32,
    end_task: u32,
    n: u32,
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
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

fn power_of(exponent: i32) -> f32 { return bitcast<f32>(u32(exponent + 127) << 23u); }

// Returns the product of the pivots as one number.
fn whole_product() -> f32 {
    let product = product_of_pivots();
    // Two factors have the range of the exponents of all numbers.
    let whole = clamp(product.exponent, -252, 254);
    let half = whole / 2;
    return product.factor * power_of(half) * power_of(whole - half);
}

@compute @workgroup_size(WIDTH, MATRICES)
fn determinant(
    @builtin(local_invocation_id) id: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let number = (group.y * groups.x + group.x) * MATRICES + id.y;
    let matrix = params.first_task + number;
    let is_inside = matrix < params.end_task;
    eliminate_all(id, number, matrix, is_inside);
    if is_inside && id.x == 0u { out[matrix] = whole_product(); }
}
