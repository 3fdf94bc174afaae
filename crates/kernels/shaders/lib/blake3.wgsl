// blake3: the compression function of BLAKE3, shared by the chunk kernel and the parent kernel

const BLAKE3_CHUNK_START: u32 = 1u;
const BLAKE3_CHUNK_END: u32 = 2u;
const BLAKE3_PARENT: u32 = 4u;
const BLAKE3_ROOT: u32 = 8u;

// Chaining value with which every chunk and every parent begins.
const BLAKE3_START: Blake3Value = Blake3Value(
    vec4<u32>(0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au),
    vec4<u32>(0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u),
);

// No `var` below is a struct: naga gives every struct a memory layout, which SPIR-V forbids for variables of functions.

// A chaining value or a hash.
struct Blake3Value { low: vec4<u32>, high: vec4<u32> }

// 64 bytes of a message. One load of the struct costs one bounds check; word by word it is four times slower.
struct Blake3Block { p: vec4<u32>, q: vec4<u32>, r: vec4<u32>, s: vec4<u32> }

// The sixteen words of a block in the order of a round: the first and second words of the four columns, then those of
// the four diagonals.
struct Blake3Words { column_x: vec4<u32>, column_y: vec4<u32>, diagonal_x: vec4<u32>, diagonal_y: vec4<u32> }

// The four rows of the 4 x 4 state.
struct Blake3State { a: vec4<u32>, b: vec4<u32>, c: vec4<u32>, d: vec4<u32> }

// Mixes one block into `value`. `tail`: counter low, counter high, bytes in the block, flags.
fn blake3_compress(value: Blake3Value, block: Blake3Block, tail: vec4<u32>) -> Blake3Value {
    // The seven rounds are unrolled: in a loop, the permutation would move data; here it only renames words.
    let w1 = blake3_words(block);
    let s1 = blake3_round(Blake3State(value.low, value.high, BLAKE3_START.low, tail), w1);
    let w2 = blake3_permute(w1);
    let s2 = blake3_round(s1, w2);
    let w3 = blake3_permute(w2);
    let s3 = blake3_round(s2, w3);
    let w4 = blake3_permute(w3);
    let s4 = blake3_round(s3, w4);
    let w5 = blake3_permute(w4);
    let s5 = blake3_round(s4, w5);
    let w6 = blake3_permute(w5);
    let s6 = blake3_round(s5, w6);
    let s7 = blake3_round(s6, blake3_permute(w6));
    return Blake3Value(s7.a ^ s7.c, s7.b ^ s7.d);
}

// Orders the words for the first round: even ones are first words, odd ones are second words.
fn blake3_words(m: Blake3Block) -> Blake3Words {
    return Blake3Words(
        vec4<u32>(m.p.xz, m.q.xz), vec4<u32>(m.p.yw, m.q.yw),
        vec4<u32>(m.r.xz, m.s.xz), vec4<u32>(m.r.yw, m.s.yw),
    );
}

// Orders the words for the next round.
fn blake3_permute(w: Blake3Words) -> Blake3Words {
    return Blake3Words(
        vec4<u32>(w.column_x.y, w.column_y.y, w.column_y.w, w.column_x.z),
        vec4<u32>(w.column_x.w, w.diagonal_x.y, w.column_x.x, w.diagonal_y.z),
        vec4<u32>(w.column_y.x, w.diagonal_x.z, w.diagonal_y.x, w.diagonal_y.w),
        vec4<u32>(w.diagonal_y.y, w.column_y.z, w.diagonal_x.w, w.diagonal_x.x),
    );
}

// Mixes the columns, then the diagonals, which are the columns of the state with its rows rotated.
fn blake3_round(s: Blake3State, w: Blake3Words) -> Blake3State {
    let t = blake3_mix(s, w.column_x, w.column_y);
    let turned = Blake3State(t.a, t.b.yzwx, t.c.zwxy, t.d.wxyz);
    let u = blake3_mix(turned, w.diagonal_x, w.diagonal_y);
    return Blake3State(u.a, u.b.wxyz, u.c.zwxy, u.d.yzwx);
}

// Mixes the four columns, each with its two words.
fn blake3_mix(s: Blake3State, x: vec4<u32>, y: vec4<u32>) -> Blake3State {
    let a = s.a + s.b + x;
    let d = blake3_rotate_right(s.d ^ a, 16u);
    let c = s.c + d;
    let b = blake3_rotate_right(s.b ^ c, 12u);
    let a2 = a + b + y;
    let d2 = blake3_rotate_right(d ^ a2, 8u);
    let c2 = c + d2;
    return Blake3State(a2, blake3_rotate_right(b ^ c2, 7u), c2, d2);
}

fn blake3_rotate_right(v: vec4<u32>, bits: u32) -> vec4<u32> {
    return (v >> vec4<u32>(bits)) | (v << vec4<u32>(32u - bits));
}
