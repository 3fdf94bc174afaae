//! Reads of memory that nothing wrote.

use super::finding::{AccessKind, Mistake};
use super::list::{Key, List};
use super::memory::Memories;
use super::names::{Names, Raw};
use super::race::byte_of;
use super::sets::{Sets, Word};

/// Is a read of bytes that nothing wrote before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unread {
    pub(super) raw: Raw,
    pub(super) region: u16,
    pub(super) word: Word,
    /// Has a bit for each unwritten byte that is read.
    pub(super) missing: u8,
}

impl Unread {
    /// Returns the read without the bytes that another accessor writes without an order to the read: in another order of
    /// the invocations they are written first. That is a race, unless both accesses are atomic.
    pub(super) fn without(mut self, sets: &Sets) -> Option<Self> {
        let change = self.raw.kind == AccessKind::AtomicChange;
        for set in sets.of(self.word) {
            // A change does not give a changed word its first value.
            let writes = set.kind.writes() && !(change && set.kind == AccessKind::AtomicChange);
            if writes && sets.has_other(set, self.raw.actor) {
                self.missing &= !set.mask;
            }
        }
        (self.missing != 0).then_some(self)
    }

    /// Adds the read to a list, without the bytes that another accessor writes.
    pub(super) fn find(self, list: &mut List, names: &Names<'_>, memories: &Memories, sets: &Sets) {
        let Some(Self { raw, region, word, missing }) = self.without(sets) else { return };
        let byte = byte_of(memories, word, region, missing);
        let variable = names.variable(region, byte).map_or(usize::MAX, |(variable, _)| variable.index());
        let key = Key::Unwritten { site: raw.site, variable };
        list.add(key, [raw.actor, byte, 0, 0, 0, 0], || Mistake::UnwrittenRead {
            element: names.element(region, byte),
            access: names.access(raw),
        });
    }
}
