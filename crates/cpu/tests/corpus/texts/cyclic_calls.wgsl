// expect: refused: cyclic_calls.wgsl:
fn even(x: u32) -> bool {
    return x == 0u || odd(x - 1u);
}

fn odd(x: u32) -> bool {
    return x != 0u && even(x - 1u);
}

@compute @workgroup_size(1)
fn asks() {
    _ = even(4u);
}
