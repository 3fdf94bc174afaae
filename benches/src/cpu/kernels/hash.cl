// hash: words[8 * i ..] = the BLAKE3 hash of the 64 bytes blocks[16 * i ..], a message of one block
//
// Dispatch   one work item for each message
// Workgroup  [64, 1, 1]
constant uint4 IV_LOW = (uint4)(0x6A09E667u, 0xBB67AE85u, 0x3C6EF372u, 0xA54FF53Au);
constant uint4 IV_HIGH = (uint4)(0x510E527Fu, 0x9B05688Cu, 0x1F83D9ABu, 0x5BE0CD19u);
// The counter is 0, the length is 64, and the flags are CHUNK_START, CHUNK_END and ROOT.
constant uint4 LAST_ROW = (uint4)(0u, 0u, 64u, 11u);

uint4 rotated(uint4 x, uint by) {
    return (x >> by) | (x << (32 - by));
}

kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void hash(
    global const uint *restrict blocks, uint blocks_length,
    global uint *restrict words, uint words_length
) {
    size_t at = get_global_id(0) * 16;
    uint4 a = IV_LOW;
    uint4 b = IV_HIGH;
    uint4 c = IV_LOW;
    uint4 d = LAST_ROW;
    uint4 m0 = (uint4)(blocks[at], blocks[at + 1], blocks[at + 2], blocks[at + 3]);
    uint4 m1 = (uint4)(blocks[at + 4], blocks[at + 5], blocks[at + 6], blocks[at + 7]);
    uint4 m2 = (uint4)(blocks[at + 8], blocks[at + 9], blocks[at + 10], blocks[at + 11]);
    uint4 m3 = (uint4)(blocks[at + 12], blocks[at + 13], blocks[at + 14], blocks[at + 15]);
    for (uint round = 0; round < 7; round++) {
        // The columns are mixed.
        a += b + (uint4)(m0.x, m0.z, m1.x, m1.z);
        d = rotated(d ^ a, 16);
        c += d;
        b = rotated(b ^ c, 12);
        a += b + (uint4)(m0.y, m0.w, m1.y, m1.w);
        d = rotated(d ^ a, 8);
        c += d;
        b = rotated(b ^ c, 7);
        // The diagonals are mixed.
        b = b.yzwx;
        c = c.zwxy;
        d = d.wxyz;
        a += b + (uint4)(m2.x, m2.z, m3.x, m3.z);
        d = rotated(d ^ a, 16);
        c += d;
        b = rotated(b ^ c, 12);
        a += b + (uint4)(m2.y, m2.w, m3.y, m3.w);
        d = rotated(d ^ a, 8);
        c += d;
        b = rotated(b ^ c, 7);
        b = b.wxyz;
        c = c.zwxy;
        d = d.yzwx;
        // The message is permuted.
        uint4 n0 = (uint4)(m0.z, m1.z, m0.w, m2.z);
        uint4 n1 = (uint4)(m1.w, m0.x, m1.x, m3.y);
        uint4 n2 = (uint4)(m0.y, m2.w, m3.x, m1.y);
        uint4 n3 = (uint4)(m2.y, m3.z, m3.w, m2.x);
        m0 = n0;
        m1 = n1;
        m2 = n2;
        m3 = n3;
    }
    a ^= c;
    b ^= d;
    size_t to = get_global_id(0) * 8;
    words[to] = a.x;
    words[to + 1] = a.y;
    words[to + 2] = a.z;
    words[to + 3] = a.w;
    words[to + 4] = b.x;
    words[to + 5] = b.y;
    words[to + 6] = b.z;
    words[to + 7] = b.w;
}
