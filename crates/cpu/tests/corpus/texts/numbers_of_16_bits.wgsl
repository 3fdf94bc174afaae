// expect: refused: numbers_of_16_bits.wgsl:8:5: kernel `short`: an integer of 16 bits does not run on the CPU
enable wgpu_int16;

@group(0) @binding(0) var<storage, read_write> out: array<u16>;

@compute @workgroup_size(4)
fn short() {
    out[0] = out[1] + u16(20);
}
