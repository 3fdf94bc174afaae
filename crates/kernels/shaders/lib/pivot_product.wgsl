// pivot_product: all steps of elimination, and the product of their pivots with a separate exponent
//
// Shape      id: the invocation in its workgroup; number: the number of a matrix of the launch; matrix: its number in the stack;
//            the shader around it has `a` and the overrides of elimination, and params as determinant
// Dispatch   as lu
// Barriers   as lu, in eliminate_all
// Tolerance  as elimination; n u of the product
//#use elimination
//#use matrix_index

const SIGN: u32 = 0x80000000u;
const FRACTION: u32 = 0x007FFFFFu;
const ONE: u32 = 0x3F800000u;

// The number factor * 2^exponent. The magnitude of the factor is from 1 up to 2, or it is 0, infinite or a NaN.
struct PivotProduct {
    factor: f32,
    exponent: i32,
}

// Completes the steps of a matrix. Invocations without one only wait.
fn eliminate_all(id: vec3<u32>, number: u32, matrix: u32, is_inside: bool) {
    let index = index_of(matrix);
    begin_elimination(id.y, number);
    if is_inside { load_matrix(id.x, params.a_first + distance_of(index, params.a_0, params.a_1, params.a_2)); }
    work_barrier();
    for (var k = 0u; k < params.n; k++) {
        if is_inside { divide_column(k, id.x); }
        work_barrier();
        if is_inside { eliminate(k, id.x); }
        work_barrier();
    }
}

// Returns the product of the pivots, with another sign for each exchange of rows.
fn product_of_pivots() -> PivotProduct {
    var product = 1.0;
    var exponent = 0;
    for (var k = 0u; k < params.n; k++) {
        let pivot = pivots[first_pivot + k];
        let bits = bitcast<u32>(pivot);
        let field = (bits >> 23u) & 255u;
        if field == 0u {
            product *= 0.0;
        } else if field == 255u {
            product *= pivot;
        } else {
            product *= bitcast<f32>((bits & (SIGN | FRACTION)) | ONE);
            exponent += i32(field) - 127;
        }
        if abs(product) >= 2.0 {
            product *= 0.5;
            exponent += 1;
        }
        if pivot_rows[first_pivot + k] != k { product = -product; }
    }
    return PivotProduct(product, exponent);
}
