// atomic_f32: atomic add, min and max on f32 in an array of atomics, by compare-and-swap
//
// Shape      VARIABLE: array<atomic<u32>> with the bits of numbers, in storage or workgroup memory; the index must be inside it
// Names      each begins with the name of the variable, and so none hides the variable
// Dispatch   any
// Barriers   none
// Tolerance  each operation counts once and returns the number before it; a sum is rounded at each operation, in the order
//            of the device; the smallest and the largest are exact: a NaN is the result, and -0 is smaller than +0
//#use number_keys

fn VARIABLE_add(VARIABLE_at: u32, VARIABLE_value: f32) -> f32 {
    var VARIABLE_old = atomicLoad(&VARIABLE[VARIABLE_at]);
    loop {
        let VARIABLE_sum = bitcast<u32>(bitcast<f32>(VARIABLE_old) + VARIABLE_value);
        let VARIABLE_tried = atomicCompareExchangeWeak(&VARIABLE[VARIABLE_at], VARIABLE_old, VARIABLE_sum);
        if VARIABLE_tried.exchanged { break; }
        VARIABLE_old = VARIABLE_tried.old_value;
    }
    return bitcast<f32>(VARIABLE_old);
}

fn VARIABLE_min(VARIABLE_at: u32, VARIABLE_value: f32) -> f32 {
    let VARIABLE_bits = bitcast<u32>(VARIABLE_value);
    var VARIABLE_old = atomicLoad(&VARIABLE[VARIABLE_at]);
    // A number that is not smaller changes nothing, so a load is enough.
    while number_key(VARIABLE_bits, false) < number_key(VARIABLE_old, false) {
        let VARIABLE_tried = atomicCompareExchangeWeak(&VARIABLE[VARIABLE_at], VARIABLE_old, VARIABLE_bits);
        if VARIABLE_tried.exchanged { break; }
        VARIABLE_old = VARIABLE_tried.old_value;
    }
    return bitcast<f32>(VARIABLE_old);
}

fn VARIABLE_max(VARIABLE_at: u32, VARIABLE_value: f32) -> f32 {
    let VARIABLE_bits = bitcast<u32>(VARIABLE_value);
    var VARIABLE_old = atomicLoad(&VARIABLE[VARIABLE_at]);
    while number_key(VARIABLE_bits, true) > number_key(VARIABLE_old, true) {
        let VARIABLE_tried = atomicCompareExchangeWeak(&VARIABLE[VARIABLE_at], VARIABLE_old, VARIABLE_bits);
        if VARIABLE_tried.exchanged { break; }
        VARIABLE_old = VARIABLE_tried.old_value;
    }
    return bitcast<f32>(VARIABLE_old);
}
