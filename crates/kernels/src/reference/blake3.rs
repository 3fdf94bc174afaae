//! BLAKE3's compression function, which both of its kernels use, written sequentially.

pub(super) const CHUNK_START: u32 = 1;
pub(super) const CHUNK_END: u32 = 2;
pub(super) const PARENT: u32 = 4;
pub(super) const ROOT: u32 = 8;

/// Chaining value with which every chunk and every parent begins.
pub(super) const START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Index of each word of a round in the previous round.
const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];

/// Cells of the state that are mixed together: four columns, then four diagonals.
#[rustfmt::skip]
const MIXES: [[usize; 4]; 8] = [
    [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
    [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
];

/// Mixes one block of `size` bytes into a chaining value.
pub(super) fn compress(value: [u32; 8], block: [u32; 16], counter: u64, size: u32, flags: u32) -> [u32; 8] {
    let mut state = [0; 16];
    state[..8].copy_from_slice(&value);
    state[8..12].copy_from_slice(&START[..4]);
    state[12..].copy_from_slice(&[counter as u32, (counter >> 32) as u32, size, flags]);
    let mut words = block;
    for _ in 0..7 {
        for (cells, pair) in MIXES.iter().zip(words.chunks_exact(2)) {
            mix(&mut state, *cells, pair[0], pair[1]);
        }
        words = PERMUTATION.map(|from| words[from]);
    }
    std::array::from_fn(|i| state[i] ^ state[i + 8])
}

fn mix(state: &mut [u32; 16], [a, b, c, d]: [usize; 4], x: u32, y: u32) {
    for (word, turn_d, turn_b) in [(x, 16, 12), (y, 8, 7)] {
        state[a] = state[a].wrapping_add(state[b]).wrapping_add(word);
        state[d] = (state[d] ^ state[a]).rotate_right(turn_d);
        state[c] = state[c].wrapping_add(state[d]);
        state[b] = (state[b] ^ state[c]).rotate_right(turn_b);
    }
}
