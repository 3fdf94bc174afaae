// operation: combines two elements by the operation of an override, and turns numbers into keys of the same order and back
//
// Shape      a, b: two elements, as keys unless KEYS is 0; value: an element, or its key; the shader around it has OPERATION and
//            KEYS (2: NaNs are left out)
// Dispatch   any
// Barriers   none
// Tolerance  sums and products of f32: 1 ulp; integers exactly, wrapping; the smallest and the largest exactly
fn operation(a: T, b: T) -> T {
    if OPERATION == 0u { return a + b; }
    if OPERATION == 1u { return a * b; }
    if OPERATION == 2u { return min(a, b); }
    return max(a, b);
}

fn of_bits(value: T) -> T {
    if KEYS != 0u { return bitcast<T>(number_key(bitcast<u32>(value), (OPERATION == 3u) == (KEYS == 1u))); }
    return value;
}

fn to_bits(value: T) -> T {
    if KEYS != 0u { return bitcast<T>(number_bits(bitcast<u32>(value))); }
    return value;
}
