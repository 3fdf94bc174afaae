// hash: words[8 * i ..] = the BLAKE3 hash of the 64 bytes blocks[16 * i ..], a message of one block
//
// Dispatch   one invocation for each message
// Workgroup  [64, 1, 1]
@group(0) @binding(0) var<storage, read> blocks: array<u32>;
@group(0) @binding(1) var<storage, read_write> words: array<u32>;

const IV_LOW = vec4<u32>(0x6A09E667u, 0xBB67AE85u, 0x3C6EF372u, 0xA54FF53Au);
const IV_HIGH = vec4<u32>(0x510E527Fu, 0x9B05688Cu, 0x1F83D9ABu, 0x5BE0CD19u);
// The counter is 0, the length is 64, and the flags are CHUNK_START, CHUNK_END and ROOT.
const LAST_ROW = vec4<u32>(0u, 0u, 64u, 11u);

fn rotated(x: vec4<u32>, by: u32) -> vec4<u32> {
    return (x >> vec4(by)) | (x << vec4(32u - by));
}

@compute @workgroup_size(64)
fn hash(@builtin(global_invocation_id) id: vec3<u32>) {
    let at = id.x * 16u;
    var a = IV_LOW;
    var b = IV_HIGH;
    var c = IV_LOW;
    var d = LAST_ROW;
    var m0 = vec4(blocks[at], blocks[at + 1u], blocks[at + 2u], blocks[at + 3u]);
    var m1 = vec4(blocks[at + 4u], blocks[at + 5u], blocks[at + 6u], blocks[at + 7u]);
    var m2 = vec4(blocks[at + 8u], blocks[at + 9u], blocks[at + 10u], blocks[at + 11u]);
    var m3 = vec4(blocks[at + 12u], blocks[at + 13u], blocks[at + 14u], blocks[at + 15u]);
    for (var round = 0u; round < 7u; round++) {
        // The columns are mixed.
        a += b + vec4(m0.x, m0.z, m1.x, m1.z);
        d = rotated(d ^ a, 16u);
        c += d;
        b = rotated(b ^ c, 12u);
        a += b + vec4(m0.y, m0.w, m1.y, m1.w);
        d = rotated(d ^ a, 8u);
        c += d;
        b = rotated(b ^ c, 7u);
        // The diagonals are mixed.
        b = b.yzwx;
        c = c.zwxy;
        d = d.wxyz;
        a += b + vec4(m2.x, m2.z, m3.x, m3.z);
        d = rotated(d ^ a, 16u);
        c += d;
        b = rotated(b ^ c, 12u);
        a += b + vec4(m2.y, m2.w, m3.y, m3.w);
        d = rotated(d ^ a, 8u);
        c += d;
        b = rotated(b ^ c, 7u);
        b = b.wxyz;
        c = c.zwxy;
        d = d.yzwx;
        // The message is permuted.
        let n0 = vec4(m0.z, m1.z, m0.w, m2.z);
        let n1 = vec4(m1.w, m0.x, m1.x, m3.y);
        let n2 = vec4(m0.y, m2.w, m3.x, m1.y);
        let n3 = vec4(m2.y, m3.z, m3.w, m2.x);
        m0 = n0;
        m1 = n1;
        m2 = n2;
        m3 = n3;
    }
    a ^= c;
    b ^= d;
    let to = id.x * 8u;
    words[to] = a.x;
    words[to + 1u] = a.y;
    words[to + 2u] = a.z;
    words[to + 3u] = a.w;
    words[to + 4u] = b.x;
    words[to + 5u] = b.y;
    words[to + 6u] = b.z;
    words[to + 7u] = b.w;
}
