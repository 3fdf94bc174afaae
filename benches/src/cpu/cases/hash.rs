use rayon::prelude::*;

use super::words;
use crate::cpu::case::{Case, Kernel, Work, sources};
use crate::cpu::wide::wide;

/// Words of a message; `HASH` is the words of its hash.
const BLOCK: usize = 16;
const HASH: usize = 8;
/// Number of messages that are hashed side by side.
const LANES: usize = 8;

const IV: [u32; 8] =
    [0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19];
/// Order of a message's words in the next round.
const ORDER: [usize; BLOCK] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
/// Words that are mixed together: the columns, then the diagonals.
const MIXED: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// One word of each message.
type Lane = [u32; LANES];

pub(super) fn case(quick: bool) -> Case {
    let messages: usize = if quick { 1 << 10 } else { 1 << 18 };
    let blocks = words(messages * BLOCK, 6);
    let expected: Vec<u32> = blocks.chunks(BLOCK).flat_map(hash_of).collect();
    let kernel = Kernel::new(sources!("hash"), "hash", [messages / 64, 1, 1]);
    Case::kernel(kernel, [blocks], expected, Work::of(64.0 * messages as f64, "B"), plain)
}

/// Returns the hash of a message, computed by its authors' library.
fn hash_of(block: &[u32]) -> [u32; HASH] {
    let bytes: Vec<u8> = block.iter().flat_map(|word| word.to_le_bytes()).collect();
    let hash = blake3::hash(&bytes);
    let words = hash.as_bytes().chunks_exact(4);
    let mut words = words.map(|word| u32::from_le_bytes(word.try_into().expect("a word has four bytes")));
    std::array::from_fn(|_| words.next().expect("a hash has eight words"))
}

fn plain([blocks]: [&[u32]; 1], out: &mut [u32]) {
    let messages = blocks.par_chunks(BLOCK * LANES * 32);
    out.par_chunks_mut(HASH * LANES * 32).zip(messages).for_each(|(hashes, blocks)| {
        for (hashes, blocks) in hashes.chunks_exact_mut(HASH * LANES).zip(blocks.chunks_exact(BLOCK * LANES))
        {
            wide_side_by_side(blocks, hashes);
        }
    });
}

wide!(fn wide_side_by_side(blocks: &[u32], hashes: &mut [u32]) = side_by_side);

/// Hashes some messages side by side: a vector holds the same word of each.
#[inline(always)]
fn side_by_side(blocks: &[u32], hashes: &mut [u32]) {
    let mut message: [Lane; BLOCK] =
        std::array::from_fn(|word| std::array::from_fn(|lane| blocks[lane * BLOCK + word]));
    // The counter is 0, the length is 64, and the flags say that the block is first, last and the root.
    let mut state: [Lane; 16] = std::array::from_fn(|word| match word {
        0..8 => [IV[word]; LANES],
        8..12 => [IV[word - 8]; LANES],
        14 => [64; LANES],
        15 => [11; LANES],
        _ => [0; LANES],
    });
    for _ in 0..7 {
        for (at, places) in MIXED.iter().enumerate() {
            mix(&mut state, *places, message[2 * at], message[2 * at + 1]);
        }
        message = std::array::from_fn(|word| message[ORDER[word]]);
    }
    for lane in 0..LANES {
        for word in 0..HASH {
            hashes[lane * HASH + word] = state[word][lane] ^ state[word + 8][lane];
        }
    }
}

#[inline(always)]
fn mix(state: &mut [Lane; 16], [a, b, c, d]: [usize; 4], x: Lane, y: Lane) {
    for (m, [first, second]) in [(x, [16, 12]), (y, [8, 7])] {
        for lane in 0..LANES {
            let sum = state[a][lane].wrapping_add(state[b][lane]).wrapping_add(m[lane]);
            state[a][lane] = sum;
            state[d][lane] = (state[d][lane] ^ sum).rotate_right(first);
            state[c][lane] = state[c][lane].wrapping_add(state[d][lane]);
            state[b][lane] = (state[b][lane] ^ state[c][lane]).rotate_right(second);
        }
    }
}
