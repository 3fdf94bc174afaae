// finish: the last operation on a result
//
// Shape      total: a result; divisor: the number by which it is divided; the shader around it has the type T and the override
//            FINISH (0: the result itself, 1: divided by the divisor, 2: its square root)
// Dispatch   any
// Barriers   none
// Tolerance  2.5 ulp for a quotient and 4.5 ulp for a root of f32; integers exactly
fn finished(total: T, divisor: T) -> T {
    if FINISH == 1u { return total / divisor; }
    if FINISH == 2u { return T(sqrt(f32(total))); }
    return total;
}
