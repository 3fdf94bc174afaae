//! The memories of a launch: the bound buffers, and the variables of the workgroup.

use super::finding::AccessKind;
use super::sets::Word;
use super::shadow::{Bound, CHANGED, Shadow, WRITTEN};
use crate::interpret::Interpreter;
use crate::program::Program;
use crate::run::GridRun;
use naga::{AddressSpace, StorageAccess};
use std::ops::Range;

/// Part of a memory that is one region of the interpreter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) memory: u16,
    /// Number of words before the region.
    pub(super) base: u64,
    /// Number of bytes of the region.
    pub(super) bytes: u64,
    /// `true` if the launch may write to the memory.
    pub(super) shared: bool,
    /// `true` if reads of unwritten bytes are mistakes.
    pub(super) tracked: bool,
    /// `true` for a buffer.
    pub(super) storage: bool,
}

/// Written bytes of each memory while a launch runs.
pub(super) struct Memories {
    /// Area of each region, or `None` for the uniform block.
    areas: Vec<Option<Area>>,
    /// Keys of the buffers. The variables of the workgroup come after them.
    keys: Vec<u64>,
    written: Vec<Vec<u8>>,
    /// For each memory, the range of words that the launch's regions cover; empty if the launch only reads the memory.
    ranges: Vec<Range<u64>>,
    /// Words of buffers with the mark of an atomic change.
    changed: Vec<Word>,
}

impl Memories {
    /// Takes the written bytes of a shadow.
    ///
    /// # Panics
    /// Panics unless there is one bound part for each buffer, and each begins at a word.
    pub(super) fn new(
        program: &Program,
        interpreter: &Interpreter,
        run: &GridRun<'_>,
        bound: &[Bound],
        shadow: &mut Shadow,
        track_workgroup: bool,
    ) -> Self {
        assert_eq!(bound.len(), run.buffers.len(), "each buffer of a run has a bound part");
        let mut keys = Vec::new();
        let mut written = Vec::new();
        let mut areas = Vec::new();
        for (part, cells) in bound.iter().zip(run.buffers) {
            assert!(part.offset.is_multiple_of(4), "a bound part begins at a word");
            let memory = keys.iter().position(|&key| key == part.buffer).unwrap_or_else(|| {
                keys.push(part.buffer);
                written.push(Vec::new());
                keys.len() - 1
            });
            let base = part.offset / 4;
            let bytes = cells.len() as u64;
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
        let memory = keys.len() as u16;
        let bytes = interpreter.workgroup_bytes();
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

    /// Returns the words that may have a race, either in buffers or in workgroup variables; the result is empty for the
    /// other memories.
    pub(super) fn words(&self, storage: bool) -> Vec<Range<u64>> {
        let ranges = self.ranges.iter().enumerate();
        ranges
            .map(|(at, range)| if (at < self.keys.len()) == storage { range.clone() } else { 0..0 })
            .collect()
    }

    /// Marks the bytes that an access writes. Returns the unwritten bytes of the word that it reads.
    pub(super) fn access(&mut self, word: Word, mask: u8, kind: AccessKind) -> u8 {
        let state = &mut self.written[usize::from(word.memory)][word.number as usize];
        let missing = match kind {
            AccessKind::Read | AccessKind::AtomicRead => mask & !(*state | *state >> CHANGED),
            // Each atomic change of unwritten memory is reported, because in some order of the invocations it is the
            // first.
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

    /// Forgets the writes to the variables of the workgroup.
    pub(super) fn clear_workgroup(&mut self) {
        if let Some(words) = self.written.last_mut() {
            words.fill(0);
        }
    }

    /// Returns the written bytes to a shadow. An atomic change counts as a write of its word.
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
