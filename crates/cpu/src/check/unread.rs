//! Reads of memory that nothing wrote.

use super::finding::{AccessKind, Mistake};
use super::list::{Key, List};
use super::memory::Memories;
use super::names::{Names, Raw};
use super::race::byte_of;
use super::sets::{Sets, Word, Writers};
use super::work::Work;
use rustc_hash::FxHashMap;

/// A read of bytes that nothing wrote before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unread {
    pub(super) raw: Raw,
    pub(super) region: u16,
    pub(super) word: Word,
    /// One bit for each unwritten byte that is read.
    pub(super) missing: u8,
}

/// Takes reads out of a list, and returns them without bytes that an unordered accessor writes. The accesses of a word
/// are analysed once for all of its reads.
pub(super) fn without(unread: &mut Vec<Unread>, sets: &Sets, work: &mut Work<'_>) -> Vec<Unread> {
    let mut writers = FxHashMap::default();
    let own = unread.drain(..).take_while(|_| work.goes_on(1));
    own.filter_map(|read| read.without(writers.entry(read.word).or_insert_with(|| sets.writers(read.word))))
        .collect()
}

impl Unread {
    /// Returns the read without the bytes that another accessor writes, because in another order of the invocations
    /// they are written first. That is a race, unless both accesses are atomic.
    fn without(mut self, writers: &Writers) -> Option<Self> {
        self.missing &= !writers.of_others(self.raw.actor, false);
        // An atomic change does not initialise the word for another change.
        if self.raw.kind != AccessKind::AtomicChange {
            self.missing &= !writers.of_others(self.raw.actor, true);
        }
        (self.missing != 0).then_some(self)
    }

    /// Adds the read to a list.
    pub(super) fn add(self, list: &mut List, names: &Names<'_>, memories: &Memories) {
        let Self { raw, region, word, missing } = self;
        let byte = byte_of(memories, word, region, missing);
        let variable = names.variable(region, byte).map_or(usize::MAX, |(variable, _)| variable.index());
        let key = Key::Unwritten { site: raw.site, variable };
        list.add(key, [raw.actor, byte, 0, 0, 0, 0], || Mistake::UnwrittenRead {
            element: names.element(region, byte),
            access: names.access(raw),
        });
    }
}
