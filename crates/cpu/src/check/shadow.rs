//! The bytes of the buffers that were written.

use rustc_hash::FxHashMap;
use std::ops::Range;

/// Mark of the written bytes of a word: one bit for each byte.
pub(super) const WRITTEN: u8 = 0x0f;

/// Shift from the mark of a written byte to the mark of a byte written only by atomic changes of unwritten memory.
pub(super) const CHANGED: u32 = 4;

/// Range of a buffer that is bound to a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Key of the buffer in its [`Shadow`].
    pub buffer: u64,
    /// Bytes before the bound part, a multiple of 4.
    pub offset: u64,
}

/// The bytes of each buffer that the host, a command or a kernel has written. A shadow outlives launches.
///
/// The caller chooses a key for each buffer. No byte of a new buffer is written.
#[derive(Clone, Debug, Default)]
pub struct Shadow {
    /// Marks, one element for each word.
    buffers: FxHashMap<u64, Vec<u8>>,
}

impl Shadow {
    /// Creates a shadow without buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Marks bytes of a buffer as written, for an upload or a fill.
    pub fn write(&mut self, buffer: u64, bytes: Range<u64>) {
        let words = self.buffers.entry(buffer).or_default();
        reserve(words, bytes.end);
        for word in bytes.start / 4..bytes.end.div_ceil(4) {
            words[word as usize] |= mask(word, &bytes);
        }
    }

    /// Marks the bytes of a copy: they are written if their source is.
    pub fn copy(&mut self, from: u64, bytes: Range<u64>, to: u64, start: u64) {
        let first = bytes.start / 4;
        let source = self.buffers.get(&from).map_or(&[][..], |words| {
            let end = (bytes.end.div_ceil(4) as usize).min(words.len());
            words.get(first as usize..end).unwrap_or(&[])
        });
        let mut source = source.to_vec();
        reserve(&mut source, bytes.end.saturating_sub(4 * first));
        let len = bytes.end.saturating_sub(bytes.start);
        let words = self.buffers.entry(to).or_default();
        reserve(words, start + len);
        if [bytes.start, len, start].iter().all(|number| number.is_multiple_of(4)) {
            let at = (start / 4) as usize;
            words[at..at + (len / 4) as usize].copy_from_slice(&source[..(len / 4) as usize]);
            return;
        }
        for (number, byte) in (start..start + len).enumerate() {
            let from = bytes.start % 4 + number as u64;
            let written = source[(from / 4) as usize] >> (from % 4) & 1;
            let word = &mut words[(byte / 4) as usize];
            let bit = byte % 4;
            *word = *word & !(1 << bit) | written << bit;
        }
    }

    /// Moves buffers to a new shadow, for a launch that binds them. Until [`join`](Self::join), this shadow can still
    /// mark bytes of them.
    pub fn split(&mut self, buffers: impl IntoIterator<Item = u64>) -> Self {
        let moved = buffers.into_iter().filter_map(|buffer| Some((buffer, self.buffers.remove(&buffer)?)));
        Self { buffers: moved.collect() }
    }

    /// Adds all written bytes of another shadow.
    pub fn join(&mut self, other: Self) {
        for (buffer, mut words) in other.buffers {
            if let Some(own) = self.buffers.remove(&buffer) {
                reserve(&mut words, 4 * own.len() as u64);
                words.iter_mut().zip(own).for_each(|(word, own)| *word |= own);
            }
            self.buffers.insert(buffer, words);
        }
    }

    /// Forgets a buffer. No byte of a new buffer with the same key is written.
    pub fn forget(&mut self, buffer: u64) {
        self.buffers.remove(&buffer);
    }

    /// Returns `true` for a byte that something wrote.
    pub fn is_written(&self, buffer: u64, byte: u64) -> bool {
        let word = self.buffers.get(&buffer).and_then(|words| words.get((byte / 4) as usize));
        word.is_some_and(|word| word >> (byte % 4) & 1 == 1)
    }

    /// Moves the marks of a buffer to a launch.
    pub(super) fn take(&mut self, buffer: u64, bytes: u64) -> Vec<u8> {
        let mut words = self.buffers.remove(&buffer).unwrap_or_default();
        reserve(&mut words, bytes);
        words
    }

    /// Moves the marks of a buffer back after a launch.
    pub(super) fn put(&mut self, buffer: u64, words: Vec<u8>) {
        self.buffers.insert(buffer, words);
    }
}

fn reserve(words: &mut Vec<u8>, bytes: u64) {
    let len = bytes.div_ceil(4) as usize;
    if words.len() < len {
        words.resize(len, 0);
    }
}

/// Returns the mask of the bytes of a word that are in a range.
pub(super) fn mask(word: u64, bytes: &Range<u64>) -> u8 {
    let first = bytes.start.max(4 * word) - 4 * word;
    let end = bytes.end.min(4 * word + 4) - 4 * word;
    ((1_u16 << end) - (1 << first)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_carries_what_is_written_to_other_bytes() {
        let mut shadow = Shadow::new();
        shadow.write(1, 2..9);
        shadow.copy(1, 0..4, 2, 3);
        let written = |buffer| (0..12).filter(|&byte| shadow.is_written(buffer, byte)).collect::<Vec<_>>();
        assert_eq!(written(1), [2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(written(2), [5, 6]);
        shadow.copy(1, 0..12, 3, 8);
        shadow.copy(9, 0..4, 3, 12);
        let written = (0..24).filter(|&byte| shadow.is_written(3, byte)).collect::<Vec<_>>();
        assert_eq!(written, [10, 11, 16]);
        shadow.copy(3, 9..20, 3, 0);
        let written = (0..24).filter(|&byte| shadow.is_written(3, byte)).collect::<Vec<_>>();
        assert_eq!(written, [1, 2, 7, 11, 16]);
        shadow.forget(1);
        assert!(!shadow.is_written(1, 3));
    }

    #[test]
    fn what_is_marked_while_a_buffer_is_moved_away_is_added() {
        let mut shadow = Shadow::new();
        shadow.write(1, 0..4);
        shadow.write(2, 0..4);
        let mut moved = shadow.split([1, 1, 5]);
        assert!(!shadow.is_written(1, 0) && shadow.is_written(2, 0));
        assert!(moved.is_written(1, 0) && !moved.is_written(2, 0));
        shadow.write(1, 8..13);
        moved.write(1, 4..6);
        moved.write(5, 0..1);
        shadow.join(moved);
        let written = (0..16).filter(|&byte| shadow.is_written(1, byte)).collect::<Vec<_>>();
        assert_eq!(written, [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12]);
        assert!(shadow.is_written(2, 0) && shadow.is_written(5, 0));
    }
}
