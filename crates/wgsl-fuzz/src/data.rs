//! The elements of buffers, and random contents.

/// Type of a buffer's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// `u32`.
    U32,
    /// `i32`.
    I32,
    /// `f32`.
    F32,
    /// `vec4<f32>`.
    VectorF32,
    /// The struct `Item`.
    Item,
    /// `atomic<u32>`.
    AtomicU32,
    /// `atomic<i32>`.
    AtomicI32,
    /// `atomic<f32>`.
    AtomicF32,
}

/// Kind of a word in an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// An unsigned integer.
    U32,
    /// A signed integer.
    I32,
    /// A float.
    F32,
}

impl Element {
    /// Writes the type as WGSL does.
    pub fn text(self) -> &'static str {
        match self {
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
            Self::VectorF32 => "vec4<f32>",
            Self::Item => "Item",
            Self::AtomicU32 => "atomic<u32>",
            Self::AtomicI32 => "atomic<i32>",
            Self::AtomicF32 => "atomic<f32>",
        }
    }

    /// Returns the words of an element. Elements have no padding.
    pub fn words(self) -> &'static [Word] {
        use Word::{F32, I32, U32};
        match self {
            Self::U32 | Self::AtomicU32 => &[U32],
            Self::I32 | Self::AtomicI32 => &[I32],
            Self::F32 | Self::AtomicF32 => &[F32],
            Self::VectorF32 => &[F32; 4],
            Self::Item => &[F32, F32, F32, U32, I32, I32, U32, F32, I32, I32, I32, I32],
        }
    }
}

/// Returns random elements: edge values, small numbers and others. Floats are multiples of 1/4 up to 64; in a program
/// that is not portable, they are sometimes arbitrary.
pub(crate) fn fill(rng: &mut fastrand::Rng, element: Element, len: u32, is_portable: bool) -> Vec<u32> {
    let words = element.words();
    let words = (0..len).flat_map(|_| words);
    words.map(|word| random_word(rng, *word, is_portable)).collect()
}

fn random_word(rng: &mut fastrand::Rng, word: Word, is_portable: bool) -> u32 {
    match word {
        Word::F32 if !is_portable && rng.u8(0..8) == 0 => float(rng),
        Word::F32 => (rng.i16(-256..=256) as f32 / 4.0).to_bits(),
        Word::U32 | Word::I32 => integer(rng),
    }
}

/// Returns the bits of a float at an edge: a zero, a subnormal, the largest number, infinity or NaN.
fn float(rng: &mut fastrand::Rng) -> u32 {
    const EDGES: [f32; 10] = [
        0.0,
        f32::MIN_POSITIVE / 2.0,
        f32::MIN_POSITIVE,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
        0.499_999_97,
        8_388_609.0,
        2_147_483_648.0,
        4_294_967_296.0,
    ];
    let edge = EDGES[rng.usize(0..EDGES.len())];
    if rng.bool() { edge.to_bits() } else { (-edge).to_bits() }
}

/// Returns the bits of an integer, often at an edge of its range.
pub(crate) fn integer(rng: &mut fastrand::Rng) -> u32 {
    const EDGES: [u32; 12] = [
        0,
        1,
        2,
        31,
        32,
        0x7fff_ffff,
        0x8000_0000,
        0x8000_0001,
        0xffff_ffff,
        0xffff_fffe,
        0xffff,
        0x0101_0101,
    ];
    match rng.u8(0..6) {
        0 | 1 => EDGES[rng.usize(0..EDGES.len())],
        2 | 3 => rng.u32(0..64),
        4 => rng.u32(0..64).wrapping_neg(),
        _ => rng.u32(..),
    }
}
