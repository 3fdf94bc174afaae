//! Which invocations accessed which words.

use super::finding::AccessKind;

/// Stands for no invocation.
const NONE: u64 = u64::MAX;

/// Numbers an invocation of the grid: those of one workgroup follow each other.
pub(super) type Actor = u64;

/// Is the invocations that access some bytes of a word by one instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accessors {
    /// Is one more than the number of the next set of the same word, or 0.
    next: u32,
    pub(super) site: u32,
    /// Is the binding through which they access the word.
    pub(super) region: u16,
    /// Has one bit for each byte.
    pub(super) mask: u8,
    pub(super) kind: AccessKind,
    /// Holds the two least invocations, or the least invocations of the two least workgroups.
    actors: [Actor; 2],
}

impl Accessors {
    /// Returns the invocations.
    pub(super) fn actors(&self) -> impl Iterator<Item = Actor> {
        self.actors.into_iter().filter(|&actor| actor != NONE)
    }
}

/// Names a word of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Word {
    pub(super) memory: u16,
    pub(super) number: u64,
}

/// Holds the sets of accessors of all words, from one barrier to the next one or for a whole launch.
///
/// Two invocations are kept of each set, as this decides for any other set whether both have different members: two sets
/// have no pair of different members only if each is the same single invocation.
pub(super) struct Sets {
    /// Counts the invocations that count as one: 1, or those of a workgroup.
    unit: u64,
    /// Holds for each word of each memory one more than the number of its first set, or 0.
    heads: Vec<Vec<u32>>,
    sets: Vec<Accessors>,
    touched: Vec<Word>,
}

impl Sets {
    /// Makes empty sets for memories with these numbers of words.
    pub(super) fn new(unit: u64, words: &[usize]) -> Self {
        let heads = words.iter().map(|&words| vec![0; words]).collect();
        Self { unit, heads, sets: Vec::new(), touched: Vec::new() }
    }

    /// Adds an invocation to a set.
    pub(super) fn add(
        &mut self,
        word: Word,
        (site, region): (u32, u16),
        (mask, kind): (u8, AccessKind),
        actor: Actor,
    ) {
        let head = &mut self.heads[usize::from(word.memory)][word.number as usize];
        if *head == 0 {
            self.touched.push(word);
        }
        let mut at = *head;
        while at != 0 {
            let set = &mut self.sets[at as usize - 1];
            if set.site == site && set.mask == mask && set.region == region {
                insert(&mut set.actors, actor, self.unit);
                return;
            }
            at = set.next;
        }
        self.sets.push(Accessors { next: *head, site, region, mask, kind, actors: [actor, NONE] });
        *head = self.sets.len() as u32;
    }

    /// Lists the sets of a word.
    pub(super) fn of(&self, word: Word) -> impl Iterator<Item = &Accessors> {
        let mut at = self.heads[usize::from(word.memory)][word.number as usize];
        std::iter::from_fn(move || {
            let set = &self.sets[(at as usize).checked_sub(1)?];
            at = set.next;
            Some(set)
        })
    }

    /// Lists the words that have sets.
    pub(super) fn touched(&self) -> &[Word] {
        &self.touched
    }

    /// Returns the least pair of members of two sets that no order is known of, if there is one.
    pub(super) fn pair(&self, one: &Accessors, other: &Accessors) -> Option<(Actor, Actor)> {
        let pairs = one.actors().flat_map(|a| other.actors().map(move |b| (a, b)));
        pairs.filter(|(a, b)| a / self.unit != b / self.unit).min()
    }

    /// Returns `true` if a set has another member than an invocation, or than those of its workgroup.
    pub(super) fn has_other(&self, set: &Accessors, actor: Actor) -> bool {
        set.actors().any(|other| other / self.unit != actor / self.unit)
    }

    /// Empties all sets.
    pub(super) fn clear(&mut self) {
        for word in self.touched.drain(..) {
            self.heads[usize::from(word.memory)][word.number as usize] = 0;
        }
        self.sets.clear();
    }
}

/// Inserts an invocation into the two least ones of different units.
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
