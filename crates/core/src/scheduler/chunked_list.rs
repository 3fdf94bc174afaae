//! A FIFO list whose operations take constant time at every length.

use std::collections::VecDeque;

/// Most entries of a chunk.
const CHUNK_ENTRIES: usize = 1024;

/// A FIFO list in chunks. Adding an entry never moves existing entries. A `VecDeque` of a million entries stalls for
/// milliseconds when it grows.
///
/// `len` is the total length of the chunks. Only the first chunk may be empty, and every chunk between the first and
/// the last is full.
pub(crate) struct ChunkedList<T> {
    chunks: VecDeque<VecDeque<T>>,
    len: usize,
}

impl<T> Default for ChunkedList<T> {
    fn default() -> Self {
        Self { chunks: VecDeque::new(), len: 0 }
    }
}

impl<T> ChunkedList<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        self.chunks.iter().find_map(VecDeque::front)
    }

    #[inline]
    pub(crate) fn front_mut(&mut self) -> Option<&mut T> {
        self.chunks.iter_mut().find_map(VecDeque::front_mut)
    }

    /// Returns the first entry for which `before` returns `false`. `before` must return `true` for the entries up to
    /// some place in the list, and `false` for all later ones.
    pub(crate) fn first_from_mut(&mut self, before: impl Fn(&T) -> bool) -> Option<&mut T> {
        let chunk = self.chunks.iter().position(|chunk| chunk.back().is_some_and(|last| !before(last)))?;
        let chunk = &mut self.chunks[chunk];
        let at = chunk.partition_point(before);
        chunk.get_mut(at)
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    #[inline]
    pub(crate) fn push_back(&mut self, entry: T) {
        self.len += 1;
        match self.chunks.back_mut() {
            Some(last) if last.len() < CHUNK_ENTRIES => last.push_back(entry),
            _ => self.chunks.push_back(VecDeque::from([entry])),
        }
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let first = self.first()?.pop_front()?;
        self.len -= 1;
        Some(first)
    }

    /// Returns the first chunk. It is empty only if the list is empty.
    pub(crate) fn piece(&mut self) -> &VecDeque<T> {
        if self.first().is_none() {
            self.chunks.push_back(VecDeque::new());
        }
        &self.chunks[0]
    }

    /// Removes and returns the first `count` entries of the [first chunk](Self::piece).
    pub(crate) fn drain(&mut self, count: usize) -> impl Iterator<Item = T> {
        self.len -= count;
        self.chunks.front_mut().into_iter().flat_map(move |first| first.drain(..count))
    }

    /// Drops an empty first chunk and returns the next one. It is empty only if the list is empty.
    fn first(&mut self) -> Option<&mut VecDeque<T>> {
        if self.chunks.len() > 1 && self.chunks[0].is_empty() {
            self.chunks.pop_front();
        }
        self.chunks.front_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the list with a `VecDeque` after random additions and removals.
    #[test]
    fn a_chunked_list_behaves_as_a_deque() {
        let mut rng = fastrand::Rng::with_seed(1);
        let (mut chunks, mut plain) = (ChunkedList::default(), VecDeque::new());
        for round in 0..2000 {
            for entry in 0..rng.usize(..40) {
                chunks.push_back((round, entry));
                plain.push_back((round, entry));
            }
            match rng.u32(..64) {
                0 => assert_eq!(chunks.pop_front(), plain.pop_front()),
                1 => {
                    let count = rng.usize(..=chunks.piece().len());
                    assert!(chunks.drain(count).eq(plain.drain(..count)));
                }
                2 if !plain.is_empty() => {
                    chunks.front_mut().expect("the list has entries").1 += 1;
                    plain[0].1 += 1;
                }
                _ => {}
            }
            assert_eq!((chunks.len(), chunks.front()), (plain.len(), plain.front()));
            assert!(round % 50 > 0 || chunks.iter().eq(plain.iter()));
            assert!(chunks.is_empty() || !chunks.piece().is_empty());
        }
        assert!(
            chunks.len() > 2 * CHUNK_ENTRIES
                && chunks.chunks.iter().all(|chunk| chunk.capacity() <= CHUNK_ENTRIES)
        );
        while chunks.pop_front().is_some() {}
        assert!(chunks.is_empty() && chunks.front().is_none());
    }
}
