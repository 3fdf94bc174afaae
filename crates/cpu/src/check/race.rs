//! Finds races in sets of accessors.

use super::finding::AccessKind;
use super::list::List;
use super::memory::Memories;
use super::names::{Names, Raw};
use super::sets::{Accessors, OfWord, Sets, Word};
use super::work::Work;
use rustc_hash::FxHashMap;

/// Number of steps that a race costs, because its message needs two places of the shader.
const STEPS_OF_RACE: u64 = 32;

/// Class of words with the same accesses, and therefore the same races.
#[derive(PartialEq, Eq, Hash)]
struct Class {
    /// Variable of each byte, for workgroup memory.
    variables: [usize; 4],
    sets: Vec<Described>,
}

/// Description of a set of accessors. Equal units have equal numbers.
#[derive(PartialEq, Eq, Hash)]
struct Described {
    site: u32,
    region: u16,
    mask: u8,
    kind: AccessKind,
    units: [u32; 2],
}

/// Words that belong to a class.
struct Words<'s> {
    least: &'s OfWord,
    count: u64,
}

/// Adds the races between the accessors of each word. A class of words is analysed once: a race is shown for the lowest
/// word, and counted for each word.
pub(super) fn find(
    list: &mut List,
    names: &Names<'_>,
    memories: &Memories,
    sets: &Sets,
    between: bool,
    work: &mut Work<'_>,
) {
    for (_, words) in classes(names, memories, sets, work) {
        let word = words.least.word;
        let of_word = sorted(sets, words.least);
        for (at, one) in of_word.iter().enumerate() {
            if !work.compares(of_word.len() - at) {
                return;
            }
            for other in &of_word[at..] {
                let both = one.mask & other.mask;
                if both == 0 || !one.kind.conflicts(other.kind) {
                    continue;
                }
                if let Some((a, b)) = sets.pair(one, other) {
                    if !work.goes_on(STEPS_OF_RACE) {
                        return;
                    }
                    let raw = |set: &Accessors, actor| Raw { site: set.site, kind: set.kind, actor };
                    let byte = byte_of(memories, word, one.region, both);
                    let accesses = [raw(one, a), raw(other, b)];
                    list.add_race(names, between, (one.region, byte), accesses, words.count);
                }
            }
        }
    }
}

/// Groups the words on which there may be a race.
fn classes<'s>(
    names: &Names<'_>,
    memories: &Memories,
    sets: &'s Sets,
    work: &mut Work<'_>,
) -> FxHashMap<Class, Words<'s>> {
    let mut classes = FxHashMap::default();
    let mut numbers = FxHashMap::default();
    for of_word in sets.words().iter().filter(|of_word| of_word.may_race()) {
        let sorted = sorted(sets, of_word);
        if !work.goes_on(sorted.len() as u64) {
            break;
        }
        numbers.clear();
        let described = sorted.iter().map(|set| Described {
            site: set.site,
            region: set.region,
            mask: set.mask,
            kind: set.kind,
            units: sets.units(set).map(|unit| {
                let next = numbers.len() as u32;
                *numbers.entry(unit).or_insert(next)
            }),
        });
        let described: Vec<Described> = described.collect();
        let variables = variables(names, memories, of_word.word, described[0].region);
        let words =
            classes.entry(Class { variables, sets: described }).or_insert(Words { least: of_word, count: 0 });
        words.count += 1;
        if of_word.word < words.least.word {
            words.least = of_word;
        }
    }
    classes
}

/// Returns the sets of a word in the order of the shader.
fn sorted(sets: &Sets, of_word: &OfWord) -> Vec<Accessors> {
    let mut sorted: Vec<Accessors> = sets.of(of_word).copied().collect();
    sorted.sort_unstable_by_key(|set| (set.site, set.region, set.mask));
    sorted
}

/// Returns the variable of each byte of a word of the workgroup. A buffer counts as one variable per region.
fn variables(names: &Names<'_>, memories: &Memories, word: Word, region: u16) -> [usize; 4] {
    if memories.area(region).is_none_or(|area| area.storage) {
        return [0; 4];
    }
    let variable = |byte: u8| names.variable(region, byte_of(memories, word, region, 1 << byte));
    [0, 1, 2, 3].map(|byte| variable(byte).map_or(usize::MAX, |(variable, _)| variable.index()))
}

/// Returns the first of some bytes of a word, counted from the start of a region.
pub(super) fn byte_of(memories: &Memories, word: Word, region: u16, mask: u8) -> u64 {
    let base = memories.area(region).map_or(0, |area| area.base);
    4 * (word.number - base) + u64::from(mask.trailing_zeros())
}
