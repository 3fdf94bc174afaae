//! Loops over the lanes of a call.

/// Lanes per loop that the compiler may vectorise.
const PART: usize = 8;

/// In each lane, replaces the `A` argument components by `R` result components.
#[inline(always)]
pub(super) fn each<const A: usize, const R: usize>(
    words: &mut [u32],
    lanes: usize,
    f: impl Fn([u32; A]) -> [u32; R],
) {
    let whole = lanes - lanes % PART;
    for start in (0..whole).step_by(PART) {
        let part = |at: usize| words[at * lanes + start..].first_chunk().expect("bug: a part is missing");
        let arguments: [[u32; PART]; A] = std::array::from_fn(|at| *part(at));
        let mut results = [[0; PART]; R];
        for lane in 0..PART {
            let result = f(std::array::from_fn(|at| arguments[at][lane]));
            (0..R).for_each(|at| results[at][lane] = result[at]);
        }
        for (at, result) in results.iter().enumerate() {
            words[at * lanes + start..][..PART].copy_from_slice(result);
        }
    }
    for lane in whole..lanes {
        let result = f(std::array::from_fn(|at| words[at * lanes + lane]));
        (0..R).for_each(|at| words[at * lanes + lane] = result[at]);
    }
}

/// Replaces each word.
#[inline(always)]
pub(super) fn each_word(words: &mut [u32], f: impl Fn(u32) -> u32) {
    let (parts, rest) = words.as_chunks_mut::<PART>();
    for part in parts {
        for word in part {
            *word = f(*word);
        }
    }
    rest.iter_mut().for_each(|word| *word = f(*word));
}

/// Replaces each word, processing both halves of the list together.
#[inline(always)]
pub(super) fn each_pair(words: &mut [u32], f: impl Fn(u32, u32) -> (u32, u32)) {
    let (first, second) = words.split_at_mut(words.len() / 2);
    let ((parts, rest), (seconds, second)) = (first.as_chunks_mut::<PART>(), second.as_chunks_mut::<PART>());
    for (part, second) in parts.iter_mut().zip(seconds) {
        for (first, second) in part.iter_mut().zip(second) {
            (*first, *second) = f(*first, *second);
        }
    }
    rest.iter_mut().zip(second).for_each(|(first, second)| (*first, *second) = f(*first, *second));
}

/// In each lane, replaces the `A` argument floats by `R` result floats.
#[inline(always)]
pub(super) fn each_float<const A: usize, const R: usize>(
    words: &mut [u32],
    lanes: usize,
    f: impl Fn([f32; A]) -> [f32; R],
) {
    each(words, lanes, |x: [u32; A]| f(x.map(f32::from_bits)).map(f32::to_bits));
}

/// Collects the first `N` numbers, with zeros for missing ones.
#[inline(always)]
pub(super) fn array<const N: usize>(numbers: impl Iterator<Item = f32>) -> [f32; N] {
    let mut array = [0.0; N];
    array.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
    array
}
