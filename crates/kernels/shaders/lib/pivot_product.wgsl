// pivot_product: the product of the pivots of an elimination, with a separate exponent
//
// Shape      the shader around it has completed all steps of elimination
// Dispatch   any
// Barriers   none
// Tolerance  n u of the product
//#use elimination

const SIGN: u32 = 0x80000000u;
const FRACTION: u32 = 0x007FFFFFu;
const ONE: u32 = 0x3F800000u;

// The number factor * 2^exponent. The magnitude of the factor is from 1 up to 2, or it is 0, infinite or a NaN.
struct PivotProduct {
    factor: f32,
    exponent: i32,
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
