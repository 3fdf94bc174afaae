// naga does not reduce the amount of a shift modulo the width of the number, and drivers shift constants differently.

fn shiftLeft_i32(x: i32, amount: u32) -> i32 {
    return x << (amount & 31u);
}

fn shiftRight_i32(x: i32, amount: u32) -> i32 {
    return x >> (amount & 31u);
}

fn shiftLeft_u32(x: u32, amount: u32) -> u32 {
    return x << (amount & 31u);
}

fn shiftRight_u32(x: u32, amount: u32) -> u32 {
    return x >> (amount & 31u);
}

fn shiftLeft_i64(x: i64, amount: u32) -> i64 {
    return x << (amount & 63u);
}

fn shiftRight_i64(x: i64, amount: u32) -> i64 {
    return x >> (amount & 63u);
}

fn shiftLeft_u64(x: u64, amount: u32) -> u64 {
    return x << (amount & 63u);
}

fn shiftRight_u64(x: u64, amount: u32) -> u64 {
    return x >> (amount & 63u);
}
