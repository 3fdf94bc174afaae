//! The invocations that accessed each word.

use super::finding::AccessKind;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Placeholder for no invocation.
const NONE: u64 = u64::MAX;

/// Number of sets of a word that are searched linearly.
const FEW: u32 = 8;

/// Number of an invocation in the grid. The invocations of one workgroup have consecutive numbers.
pub(super) type Actor = u64;

/// Invocations that access some bytes of a word by one instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accessors {
    /// Index of the next set of the same word plus one, or 0.
    next: u32,
    pub(super) site: u32,
    /// Region through which they access the word.
    pub(super) region: u16,
    /// Accessed bytes, one bit for each.
    pub(super) mask: u8,
    pub(super) kind: AccessKind,
    /// The two lowest invocations, or the lowest invocation of each of the two lowest workgroups.
    actors: [Actor; 2],
}

impl Accessors {
    /// Returns the invocations.
    pub(super) fn actors(&self) -> impl Iterator<Item = Actor> {
        self.actors.into_iter().filter(|&actor| actor != NONE)
    }
}

/// A word of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Word {
    pub(super) memory: u16,
    pub(super) number: u64,
}

/// Summary of the accesses to a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfWord {
    pub(super) word: Word,
    /// Index of the newest set plus one.
    newest: u32,
    pub(super) sets: u32,
    /// The two lowest accessors in different units.
    actors: [Actor; 2],
    /// `true` if an access writes.
    writes: bool,
    /// `true` if an access is not atomic.
    plain: bool,
}

impl OfWord {
    /// Returns `true` unless the word has only one accessor, only reads, or only atomic accesses.
    pub(super) fn may_race(&self) -> bool {
        self.writes && self.plain && self.actors[1] != NONE
    }
}

/// Key of a set: the number of its word, the instruction, the region and the bytes.
type Key = (u32, u32, u16, u8);

/// Sets of accessors of all words, from one barrier to the next or for a whole launch.
///
/// Only two invocations of each set are kept. They are enough to tell if two sets have different members: two sets lack
/// such a pair only if both consist of the same single invocation.
pub(super) struct Sets {
    /// Number of invocations per unit: 1, or a whole workgroup.
    unit: u64,
    /// Number of the first word of each table.
    starts: Vec<u64>,
    /// For each word of each memory, its index in `words` plus one, or 0.
    tables: Vec<Vec<u32>>,
    words: Vec<OfWord>,
    sets: Vec<Accessors>,
    /// Index for words with more sets than are searched linearly.
    places: FxHashMap<Key, u32>,
}

impl Sets {
    /// Creates empty sets for these words of each memory.
    pub(super) fn new(unit: u64, words: &[Range<u64>]) -> Self {
        Self {
            unit,
            starts: words.iter().map(|words| words.start).collect(),
            tables: words.iter().map(|words| vec![0; (words.end - words.start) as usize]).collect(),
            words: Vec::new(),
            sets: Vec::new(),
            places: FxHashMap::default(),
        }
    }

    /// Adds an invocation to a set.
    pub(super) fn add(
        &mut self,
        word: Word,
        (site, region): (u32, u16),
        (mask, kind): (u8, AccessKind),
        actor: Actor,
    ) {
        let memory = usize::from(word.memory);
        let place = &mut self.tables[memory][(word.number - self.starts[memory]) as usize];
        if *place == 0 {
            let actors = [NONE; 2];
            let writes = false;
            let plain = false;
            self.words.push(OfWord { word, newest: 0, sets: 0, actors, writes, plain });
            *place = self.words.len() as u32;
        }
        let number = *place - 1;
        let of_word = &mut self.words[number as usize];
        insert(&mut of_word.actors, actor, self.unit);
        of_word.writes |= kind.writes();
        of_word.plain |= !kind.is_atomic();
        let newest = of_word.newest;
        if let Some(set) = self.find((number, site, region, mask)) {
            insert(&mut self.sets[set].actors, actor, self.unit);
            return;
        }
        self.sets.push(Accessors { next: newest, site, region, mask, kind, actors: [actor, NONE] });
        let of_word = &mut self.words[number as usize];
        of_word.newest = self.sets.len() as u32;
        of_word.sets += 1;
        let of_word = *of_word;
        if of_word.sets > FEW {
            self.remember(number, &of_word);
        }
    }

    /// Returns the place of a set.
    fn find(&self, key: Key) -> Option<usize> {
        let (number, site, region, mask) = key;
        let of_word = &self.words[number as usize];
        if of_word.sets > FEW {
            return self.places.get(&key).map(|&place| place as usize);
        }
        let mut at = of_word.newest;
        while let Some(place) = (at as usize).checked_sub(1) {
            let set = &self.sets[place];
            if set.site == site && set.mask == mask && set.region == region {
                return Some(place);
            }
            at = set.next;
        }
        None
    }

    /// Adds the newest set of a word to the index, and with it the earlier sets when a word first exceeds the linear
    /// limit.
    fn remember(&mut self, number: u32, of_word: &OfWord) {
        let count = if of_word.sets == FEW + 1 { of_word.sets } else { 1 };
        let mut at = of_word.newest;
        for _ in 0..count {
            let set = &self.sets[at as usize - 1];
            self.places.insert((number, set.site, set.region, set.mask), at - 1);
            at = set.next;
        }
    }

    /// Lists the sets of a word.
    pub(super) fn of(&self, of_word: &OfWord) -> impl Iterator<Item = &Accessors> {
        let mut at = of_word.newest;
        std::iter::from_fn(move || {
            let set = &self.sets[(at as usize).checked_sub(1)?];
            at = set.next;
            Some(set)
        })
    }

    /// Lists the words that have sets.
    pub(super) fn words(&self) -> &[OfWord] {
        &self.words
    }

    /// Returns the accesses that write a word.
    pub(super) fn writers(&self, word: Word) -> Writers {
        let memory = usize::from(word.memory);
        let place = self.tables[memory][(word.number - self.starts[memory]) as usize] as usize;
        let mut writers = Writers { unit: self.unit, changes: [[NONE; 2]; 4], others: [[NONE; 2]; 4] };
        let Some(of_word) = place.checked_sub(1).map(|place| self.words[place]) else { return writers };
        for set in self.of(&of_word).filter(|set| set.kind.writes()) {
            let change = set.kind == AccessKind::AtomicChange;
            let bytes = if change { &mut writers.changes } else { &mut writers.others };
            for (byte, least) in bytes.iter_mut().enumerate() {
                if set.mask >> byte & 1 == 1 {
                    set.actors().for_each(|actor| insert(least, actor, self.unit));
                }
            }
        }
        writers
    }

    /// Returns the units of a set's members.
    pub(super) fn units(&self, set: &Accessors) -> [u64; 2] {
        set.actors.map(|actor| if actor == NONE { NONE } else { actor / self.unit })
    }

    /// Returns the lowest pair of members of two sets that are in different units, if there is one.
    pub(super) fn pair(&self, one: &Accessors, other: &Accessors) -> Option<(Actor, Actor)> {
        let pairs = one.actors().flat_map(|a| other.actors().map(move |b| (a, b)));
        pairs.filter(|(a, b)| a / self.unit != b / self.unit).min()
    }

    /// Empties all sets.
    pub(super) fn clear(&mut self) {
        for OfWord { word, .. } in self.words.drain(..) {
            let memory = usize::from(word.memory);
            self.tables[memory][(word.number - self.starts[memory]) as usize] = 0;
        }
        self.sets.clear();
        self.places.clear();
    }
}

/// For each byte of a word, the two lowest writers in different units.
pub(super) struct Writers {
    unit: u64,
    /// Writers by atomic changes.
    changes: [[Actor; 2]; 4],
    others: [[Actor; 2]; 4],
}

impl Writers {
    /// Returns the bytes that another accessor writes: by an atomic change if `changes`, otherwise in another way.
    pub(super) fn of_others(&self, actor: Actor, changes: bool) -> u8 {
        let bytes = if changes { &self.changes } else { &self.others };
        let is_other = |&other: &Actor| other != NONE && other / self.unit != actor / self.unit;
        (0..4).filter(|&byte| bytes[byte].iter().any(is_other)).fold(0, |mask, byte| mask | 1 << byte)
    }
}

/// Inserts an invocation into a pair that keeps the two lowest invocations of different units.
fn insert([first, second]: &mut [Actor; 2], actor: Actor, unit: u64) {
    if actor / unit == *first / unit {
        *first = actor.min(*first);
    } else if actor < *first {
        (*first, *second) = (actor, *first);
    } else if actor < *second {
        *second = actor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_least_members_of_different_units_stay_in_any_order() {
        let members = [17, 3, 9, 12, 1, 30, 2, 8];
        for seed in 0..50 {
            let mut order = members;
            fastrand::Rng::with_seed(seed).shuffle(&mut order);
            for (unit, expected) in [(1, [1, 2]), (8, [1, 8]), (100, [1, NONE])] {
                let mut actors = [order[0], NONE];
                order[1..].iter().for_each(|&actor| insert(&mut actors, actor, unit));
                assert_eq!(actors, expected, "{order:?}");
            }
        }
    }
}
