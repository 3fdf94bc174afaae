//! BLAKE3's tree for the host: the reduction of one piece on the GPU, and the join of the pieces' values into the hash.
//! Nothing here uses a GPU.

/// Bytes of a chunk, the leaf of the tree.
pub(crate) const CHUNK: usize = 1024;

/// A chaining value, or the hash at the root.
pub(crate) type Value = [u32; 8];

/// A piece of a message after it was read.
///
/// Every piece but the last is full, and a full piece is a power of two of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Length in bytes.
    pub(crate) bytes: usize,
    /// Number of its first chunk in the message.
    pub(crate) first_chunk: u64,
    /// `true` if the message ends with it.
    pub(crate) last: bool,
}

impl Piece {
    /// Returns the number of chunks. An empty message has one.
    pub(crate) fn chunks(&self) -> usize {
        self.bytes.div_ceil(CHUNK).max(1)
    }

    /// Returns `true` if it is the whole message. Its value is then the hash.
    pub(crate) fn whole(&self) -> bool {
        self.last && self.first_chunk == 0
    }

    /// Returns the levels that reduce it to one value, from the chunks up, as the number of children of each.
    ///
    /// A level pairs neighbours, and an odd last child moves up unchanged. That gives exactly BLAKE3's tree. There the
    /// left child of every parent has the largest power of two of chunks that is less than all. After `j` levels node
    /// `i` covers the chunks from `i * 2^j` to `(i + 1) * 2^j` or the end. The last two nodes therefore meet at the
    /// largest power of two below the number of chunks, and the same holds inside each of them.
    pub(crate) fn levels(&self) -> impl Iterator<Item = usize> + use<> {
        std::iter::successors(Some(self.chunks()), |children| Some(children.div_ceil(2)))
            .take_while(|children| *children > 1)
    }
}

/// Join of the values of a message's pieces, in order, into its hash.
///
/// A full piece starts at a multiple of its own size, which is a power of two of chunks, so it is a whole subtree. Two
/// full pieces, four, and so on are whole subtrees too. The stack holds at most one subtree of each size, largest
/// first, so its memory does not grow with the message.
#[derive(Default)]
pub(crate) struct Tree {
    stack: Vec<Value>,
    pieces: u64,
}

impl Tree {
    /// Adds the value of the next piece.
    ///
    /// Joins earlier subtrees only now, because a value follows them: none of their parents is the root.
    pub(crate) fn push(&mut self, value: Value) {
        while self.stack.len() > self.pieces.count_ones() as usize {
            self.join(0);
        }
        self.stack.push(value);
        self.pieces += 1;
    }

    /// Returns the hash. The value of a message's only piece is the hash already.
    ///
    /// # Panics
    /// Panics if there was no piece.
    pub(crate) fn finish(mut self) -> Value {
        while self.stack.len() > 1 {
            self.join(if self.stack.len() == 2 { ROOT } else { 0 });
        }
        self.stack.pop().expect("bug: even an empty message has one piece")
    }

    fn join(&mut self, root: u32) {
        let right = self.stack.pop();
        let left = self.stack.pop();
        let (left, right) = left.zip(right).expect("bug: there are two subtrees to join");
        self.stack.push(parent(left, right, root));
    }
}

/// Returns the printed form of a hash.
pub(crate) fn hex(hash: Value) -> String {
    hash.iter().flat_map(|word| word.to_le_bytes()).map(|byte| format!("{byte:02x}")).collect()
}

const PARENT: u32 = 4;
const ROOT: u32 = 8;

const START: Value =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

// Order in which each round takes the words of the round before.
const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];

// Returns BLAKE3's compression of two children. `root` is 0 or ROOT. A file needs some tens of these on the host.
fn parent(left: Value, right: Value, root: u32) -> Value {
    let mut words = [left, right].concat();
    let mut state = [START.as_slice(), &START[..4], &[0, 0, 64, PARENT | root]].concat();
    for _ in 0..7 {
        for i in 0..4 {
            mix(&mut state, [i, i + 4, i + 8, i + 12], words[2 * i], words[2 * i + 1]);
        }
        for i in 0..4 {
            let diagonal = [i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4];
            mix(&mut state, diagonal, words[8 + 2 * i], words[9 + 2 * i]);
        }
        words = PERMUTATION.iter().map(|from| words[*from]).collect();
    }
    std::array::from_fn(|i| state[i] ^ state[i + 8])
}

fn mix(state: &mut [u32], [a, b, c, d]: [usize; 4], x: u32, y: u32) {
    for (word, turn_d, turn_b) in [(x, 16, 12), (y, 8, 7)] {
        state[a] = state[a].wrapping_add(state[b]).wrapping_add(word);
        state[d] = (state[d] ^ state[a]).rotate_right(turn_d);
        state[c] = state[c].wrapping_add(state[d]);
        state[b] = (state[b] ^ state[c]).rotate_right(turn_b);
    }
}

#[cfg(test)]
mod tests {
    use blake3::hazmat::HasherExt;

    use super::*;

    fn words(bytes: &[u8; 32]) -> Value {
        std::array::from_fn(|i| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[4 * i + byte])))
    }

    // Reduces a piece as the GPU does. The blake3 crate hashes the chunks, and parents are joined level by level.
    fn reduce(bytes: &[u8], piece: Piece) -> Value {
        if piece.whole() && piece.chunks() == 1 {
            return words(blake3::hash(bytes).as_bytes());
        }
        let value_of = |i: usize| {
            let mut chunk = blake3::Hasher::new();
            chunk.set_input_offset((piece.first_chunk + i as u64) * CHUNK as u64);
            chunk.update(&bytes[i * CHUNK..bytes.len().min((i + 1) * CHUNK)]);
            words(&chunk.finalize_non_root())
        };
        let mut values: Vec<Value> = (0..piece.chunks()).map(value_of).collect();
        for children in piece.levels() {
            assert_eq!(values.len(), children);
            let root = if piece.whole() && children == 2 { ROOT } else { 0 };
            let join = |pair: &[Value]| match pair {
                [left, right] => parent(*left, *right, root),
                odd => odd[0],
            };
            values = values.chunks(2).map(join).collect();
        }
        values[0]
    }

    // Returns the hash of a message by pieces of `size` bytes.
    fn by_pieces(message: &[u8], size: usize) -> String {
        let mut tree = Tree::default();
        let pieces = message.len().div_ceil(size).max(1);
        for i in 0..pieces {
            let bytes = &message[i * size..message.len().min((i + 1) * size)];
            let first_chunk = (i * size / CHUNK) as u64;
            let piece = Piece { bytes: bytes.len(), first_chunk, last: i + 1 == pieces };
            tree.push(reduce(bytes, piece));
        }
        hex(tree.finish())
    }

    fn message(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|i| (i % 251) as u8).collect()
    }

    #[test]
    fn the_hash_by_pieces_of_any_size_is_the_hash_of_the_whole() {
        let all = message(70 * CHUNK);
        let around = |chunks: usize| [-1, 0, 1].map(|d| (chunks * CHUNK).saturating_add_signed(d));
        for length in (0..70).flat_map(around).filter(|length| *length <= all.len()) {
            let whole = blake3::hash(&all[..length]).to_hex();
            for size in [1, 2, 4, 16, 64, 128].map(|chunks| chunks * CHUNK) {
                assert_eq!(by_pieces(&all[..length], size), whole.as_str(), "{length} bytes by {size}");
            }
        }
    }

    #[test]
    fn only_the_top_parent_of_a_single_piece_is_the_root() {
        let two = message(2 * CHUNK);
        let lone = Piece { bytes: two.len(), first_chunk: 0, last: true };
        assert_eq!(hex(reduce(&two, lone)), blake3::hash(&two).to_string());
        let first = Piece { last: false, ..lone };
        assert_ne!(reduce(&two, first), reduce(&two, lone));
    }

    // Returns BLAKE3's own definition of the tree over the chunks from `first`, as text.
    fn defined(first: usize, chunks: usize) -> String {
        if chunks == 1 {
            return first.to_string();
        }
        let left = (chunks - 1).ilog2();
        format!("({} {})", defined(first, 1 << left), defined(first + (1 << left), chunks - (1 << left)))
    }

    #[test]
    fn pairing_level_by_level_builds_the_defined_tree() {
        for chunks in 1..=600 {
            let piece = Piece { bytes: chunks * CHUNK, first_chunk: 0, last: true };
            let mut nodes: Vec<String> = (0..chunks).map(|i| i.to_string()).collect();
            for children in piece.levels() {
                assert_eq!(nodes.len(), children);
                let join = |pair: &[String]| match pair {
                    [left, right] => format!("({left} {right})"),
                    odd => odd[0].clone(),
                };
                nodes = nodes.chunks(2).map(join).collect();
            }
            assert_eq!(nodes, [defined(0, chunks)], "{chunks} chunks");
        }
    }

    #[test]
    fn the_stack_stays_small() {
        let mut tree = Tree::default();
        for _ in 0..10_000 {
            tree.push(START);
            assert!(tree.stack.len() <= 14, "{} values", tree.stack.len());
        }
    }
}
