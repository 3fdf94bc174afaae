// philox: four random words of the generator Philox4x32-10 (Salmon, Moraes, Dror and Shaw: Parallel Random Numbers: As Easy
//         as 1, 2, 3; 2011)
//
// Shape      counter: the number of the block, then the number of the stream, low words first; key: the seed
// Dispatch   any
// Barriers   none
// Tolerance  exact
//#use high_product

fn philox(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
    var words = counter;
    var round_key = key;
    for (var round = 0u; round < 10u; round++) {
        let first = high_product(0xD2511F53u, words.x);
        let second = high_product(0xCD9E8D57u, words.z);
        words = vec4<u32>(
            second ^ words.y ^ round_key.x,
            0xCD9E8D57u * words.z,
            first ^ words.w ^ round_key.y,
            0xD2511F53u * words.x,
        );
        round_key += vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
    }
    return words;
}
