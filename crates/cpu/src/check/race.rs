//! Finds races in sets of accessors.

use super::list::List;
use super::memory::Memories;
use super::names::{Names, Raw};
use super::sets::{Accessors, Sets, Word};
use smallvec::SmallVec;

/// Adds the races between the accessors of each word.
pub(super) fn find(list: &mut List, names: &Names<'_>, memories: &Memories, sets: &Sets, between: bool) {
    for &word in sets.touched() {
        if !sets.of(word).any(|set| set.kind.writes()) {
            continue;
        }
        let mut of_word: SmallVec<[Accessors; 8]> = sets.of(word).copied().collect();
        of_word.sort_unstable_by_key(|set| (set.site, set.region, set.mask));
        for (at, one) in of_word.iter().enumerate() {
            for other in &of_word[at..] {
                let both = one.mask & other.mask;
                if both == 0 || !one.kind.conflicts(other.kind) {
                    continue;
                }
                if let Some((a, b)) = sets.pair(one, other) {
                    let raw = |set: &Accessors, actor| Raw { site: set.site, kind: set.kind, actor };
                    let byte = byte_of(memories, word, one.region, both);
                    list.add_race(names, between, (one.region, byte), [raw(one, a), raw(other, b)]);
                }
            }
        }
    }
}

/// Returns the first byte of some bytes of a word, counted in a region.
pub(super) fn byte_of(memories: &Memories, word: Word, region: u16, mask: u8) -> u64 {
    let base = memories.area(region).map_or(0, |area| area.base);
    4 * (word.number - base) + u64::from(mask.trailing_zeros())
}
