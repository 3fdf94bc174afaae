//! The memories of a launch: the buffers behind the bindings, and the variables of the workgroup.

use super::finding::AccessKind;
use super::sets::Word;
use super::shadow::{Bound, CHANGED, Shadow, WRITTEN};
use crate::interpret::Interpreter;
use crate::program::Program;
use crate::run::GridRun;
use naga::{AddressSpace, StorageAccess};
use std::ops::Range;

/// Is the part of a memory that a region of the interpreter is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) memory: u16,
    /// Counts the words before the region.
    pub(super) base: u64,
    /// Counts the bytes of the region.
    pub(super) bytes: u64,
    /// Is `true` if the launch may write to the memory.
    pub(super) shared: bool,
    /// Is `true` if reads of unwritten bytes are mistakes.
    pub(super) tracked: bool,
    /// Is `true` for a buffer.
    pub(super) storage: bool,
}

/// Knows which bytes of each memory are written while a launch runs.
pub(super) struct Memories {
    /// Holds the area of each region, or `None` for the uniform block.
    areas: Vec<Option<Area>>,
    /// Holds the keys of the buffers. The variables of the workgroup come after them.
    keys: Vec<u64>,
    written: Vec<Vec<u8>>,
    /// Holds the words of each memory that the regions of the launch have, or none for a memory that it only reads.
    ranges: Vec<Range<u64>>,
    /// Lists the words of buffers that have the mark of an atomic change.
    changed: Vec<Word>,
}

impl Memories {
    /// Takes what is written from a shadow.
    ///
    /// # Panics
    /// Panics if there is not one bound part for each buffer, or one does not begin at a word.
    pub(super) fn new(
        program: &Program,
        interpreter: &Interpreter,
        run: &GridRun<'_>,
        bound: &[Bound],
        shadow: &mut Shadow,
        track_workgroup: bool,
    ) -> Self {
        assert_eq!(bound.len(), run.buffers.len(), "each buffer of a run has a bound part");
        let (mut keys, mut written, mut areas) = (Vec::new(), Vec::new(), Vec::new());
        for (part, cells) in bound.iter().zip(run.buffers) {
            assert!(part.offset.is_multiple_of(4), "a bound part begins at a word");
            let memory = keys.iter().position(|&key| key == part.buffer).unwrap_or_else(|| {
                keys.push(part.buffer);
                written.push(Vec::new());
                keys.len() - 1
            });
            let (base, bytes) = (part.offset / 4, cells.len() as u64);
            let words = (base + bytes.div_ceil(4)) as usize;
            if written[memory].is_empty() {
                written[memory] = shadow.take(part.buffer, part.offset + bytes);
            }
            if written[memory].len() < words {
                written[memory].resize(words, 0);
            }
            let memory = memory as u16;
            areas.push(Some(Area { memory, base, bytes, shared: false, tracked: true, storage: true }));
        }
        let writes = |memory: u16| {
            let mut regions = areas.iter().zip(program.buffers());
            regions.any(|(area, buffer)| {
                let space = buffer.map(|buffer| program.module().global_variables[buffer].space);
                let stores = matches!(space, Some(AddressSpace::Storage { access }) if access.contains(StorageAccess::STORE));
                stores && area.is_some_and(|area: Area| area.memory == memory)
            })
        };
        let shared: Vec<bool> = (0..keys.len()).map(|memory| writes(memory as u16)).collect();
        for area in areas.iter_mut().flatten() {
            area.shared = shared[usize::from(area.memory)];
        }
        let range = |memory: usize| {
            let own = || {
                areas.iter().flatten().filter(move |area| area.shared && usize::from(area.memory) == memory)
            };
            let start = own().map(|area| area.base).min().unwrap_or(0);
            start..own().map(|area| area.base + area.bytes.div_ceil(4)).max().unwrap_or(0)
        };
        let mut ranges: Vec<Range<u64>> = (0..keys.len()).map(range).collect();
        let (memory, bytes) = (keys.len() as u16, interpreter.workgroup_bytes());
        ranges.push(0..bytes.div_ceil(4));
        let tracked = track_workgroup;
        areas.push(None);
        areas.push(Some(Area { memory, base: 0, bytes, shared: true, tracked, storage: false }));
        written.push(vec![0; bytes.div_ceil(4) as usize]);
        Self { areas, keys, written, ranges, changed: Vec::new() }
    }

    /// Returns the area of a region, unless it is the uniform block.
    pub(super) fn area(&self, region: u16) -> Option<Area> {
        self.areas.get(usize::from(region)).copied().flatten()
    }

    /// Returns the words of the memories of buffers, or of the variables of the workgroup, that may have a race. The other
    /// memories have none.
    pub(super) fn words(&self, storage: bool) -> Vec<Range<u64>> {
        let ranges = self.ranges.iter().enumerate();
        ranges
            .map(|(at, range)| if (at < self.keys.len()) == storage { range.clone() } else { 0..0 })
            .collect()
    }

    /// Marks what an access writes, and returns the bytes of the word that it reads and nothing wrote.
    pub(super) fn access(&mut self, word: Word, mask: u8, kind: AccessKind) -> u8 {
        let state = &mut self.written[usize::from(word.memory)][word.number as usize];
        let missing = match kind {
            AccessKind::Read | AccessKind::AtomicRead => mask & !(*state | *state >> CHANGED),
            // Each change of unwritten memory reads it: the first one in any order, and so all of them.
            AccessKind::AtomicChange => mask & !*state,
            AccessKind::Write | AccessKind::AtomicWrite => 0,
        };
        if kind == AccessKind::AtomicChange {
            if *state >> CHANGED == 0 && missing & WRITTEN != 0 && usize::from(word.memory) < self.keys.len()
            {
                self.changed.push(word);
            }
            *state |= (missing & WRITTEN) << CHANGED;
        } else if kind.writes() {
            *state |= mask;
        }
        missing & WRITTEN
    }

    /// Forgets what was written to the variables of the workgroup.
    pub(super) fn clear_workgroup(&mut self) {
        if let Some(words) = self.written.last_mut() {
            words.fill(0);
        }
    }

    /// Gives what is written back to a shadow. An atomic change has written its word.
    pub(super) fn give_back(mut self, shadow: &mut Shadow) {
        for word in self.changed {
            let state = &mut self.written[usize::from(word.memory)][word.number as usize];
            *state = (*state | *state >> CHANGED) & WRITTEN;
        }
        for (key, words) in self.keys.into_iter().zip(self.written) {
            shadow.put(key, words);
        }
    }
}
