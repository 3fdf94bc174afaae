// atomic_f32: adds to, and takes the smallest and the largest of, numbers of f32 in an array of atomics, by compare-and-swap
//
// Shape      VARIABLE: array<atomic<u32>> with the bits of numbers, in storage or workgroup memory; at: an element inside it
// Dispatch   any
// Barriers   none
// Tolerance  each operation counts once and returns the number before it; a sum is rounded at each operation, in the order
//            of the device; the smallest and the largest are exact: a NaN is the result, and -0 is smaller than +0
//#use number_keys

fn VARIABLE_add(at: u32, value: f32) -> f32 {
    var old = atomicLoad(&VARIABLE[at]);
    loop {
        let tried = atomicCompareExchangeWeak(&VARIABLE[at], old, bitcast<u32>(bitcast<f32>(old) + value));
        if tried.exchanged { break; }
        old = tried.old_value;
    }
    return bitcast<f32>(old);
}

fn VARIABLE_min(at: u32, value: f32) -> f32 {
    let bits = bitcast<u32>(value);
    var old = atomicLoad(&VARIABLE[at]);
    // A number that is not smaller changes nothing, so the load is the whole operation.
    while number_key(bits, false) < number_key(old, false) {
        let tried = atomicCompareExchangeWeak(&VARIABLE[at], old, bits);
        if tried.exchanged { break; }
        old = tried.old_value;
    }
    return bitcast<f32>(old);
}

fn VARIABLE_max(at: u32, value: f32) -> f32 {
    let bits = bitcast<u32>(value);
    var old = atomicLoad(&VARIABLE[at]);
    while number_key(bits, true) > number_key(old, true) {
        let tried = atomicCompareExchangeWeak(&VARIABLE[at], old, bits);
        if tried.exchanged { break; }
        old = tried.old_value;
    }
    return bitcast<f32>(old);
}
