// blake3_chunks: BLAKE3's chaining value of every 1024-byte chunk of a piece of a message
//
// Shape      input: ceil(bytes / 64) blocks of 64 bytes, four bytes a word, little endian; bytes past `bytes`
//            are not read. values: 8 words a chunk, max(1, ceil(bytes / 1024)) chunks
// Dispatch   one invocation per chunk; invocations past the last chunk do nothing
// Workgroup  [WORKGROUP, 1, 1]
// Barriers   none
// Tolerance  exact
//#use blake3
override WORKGROUP: u32 = 64;

struct Params {
    bytes: u32,             // length of the piece; only the last piece of a message may end with a partial chunk
    counter_low: u32,       // number of the piece's first chunk in the message, 64 bits in two words
    counter_high: u32,
    root: u32,              // 1: the piece is the whole message and a single chunk, so its value is the hash; else 0
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> input: array<Blake3Block>;
@group(0) @binding(2) var<storage, read_write> values: array<Blake3Value>;

@compute @workgroup_size(WORKGROUP)
fn blake3_chunks(@builtin(global_invocation_id) gid: vec3<u32>) {
    let chunk = gid.x;
    let chunks = max(1u, divide_up(params.bytes, 1024u));
    if chunk >= min(chunks, arrayLength(&values)) { return; }

    let length = min(params.bytes - chunk * 1024u, 1024u);
    let blocks = max(1u, divide_up(length, 64u));
    let low = params.counter_low + chunk;
    let high = params.counter_high + select(0u, 1u, low < chunk);
    var low_half = BLAKE3_START.low;
    var high_half = BLAKE3_START.high;
    for (var block = 0u; block < blocks; block++) {
        let size = min(length - block * 64u, 64u);
        var flags = 0u;
        if block == 0u { flags |= BLAKE3_CHUNK_START; }
        if block + 1u == blocks { flags |= BLAKE3_CHUNK_END | (params.root * BLAKE3_ROOT); }
        let tail = vec4<u32>(low, high, size, flags);
        let value = blake3_compress(Blake3Value(low_half, high_half), load(chunk * 16u + block, size), tail);
        low_half = value.low;
        high_half = value.high;
    }
    values[chunk] = Blake3Value(low_half, high_half);
}

// Returns a block with the bytes from `size` on set to zero.
fn load(at: u32, size: u32) -> Blake3Block {
    let block = input[min(at, arrayLength(&input) - 1u)];
    if size == 64u { return block; }
    return Blake3Block(
        keep(block.p, 0u, size), keep(block.q, 16u, size), keep(block.r, 32u, size), keep(block.s, 48u, size),
    );
}

// Clears the bytes of four words from byte `size` of a block on; `first` is the position of the words in the block.
fn keep(words: vec4<u32>, first: u32, size: u32) -> vec4<u32> {
    let start = first + vec4<u32>(0u, 4u, 8u, 12u);
    let bytes = max(start, vec4<u32>(size)) - start;
    let some = (vec4<u32>(1u) << (bytes % 4u * 8u)) - 1u;
    return words & select(some, vec4<u32>(0xffffffffu), bytes >= vec4<u32>(4u));
}

fn divide_up(n: u32, by: u32) -> u32 {
    return n / by + min(n % by, 1u);
}
