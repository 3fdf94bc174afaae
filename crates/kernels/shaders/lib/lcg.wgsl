// lcg: one step of a linear congruential generator modulo 2^32
fn lcg(state: u32) -> u32 {
    return state * 1664525u + 1013904223u;
}
