//! The meaning of a program: every operation is executed at its call, one after the other.

use super::arithmetic::run;
use super::op::{Contents, How, Id, Op, Part, Ty, elements};
use std::collections::BTreeMap;

/// An element, or `None` if it was never written.
pub type Word = Option<u32>;

/// Number of invocations of a workgroup, which is the same for every kernel in programs.
const WORKGROUP: usize = 64;

/// All memory of a program.
#[derive(Clone, Default)]
pub struct Oracle {
    /// Memory of arrays and tables, including the padding.
    pub arrays: BTreeMap<Id, Vec<Word>>,
    types: BTreeMap<Id, Ty>,
    up: BTreeMap<Id, Vec<Word>>,
    down: BTreeMap<Id, Vec<Word>>,
    /// Expected result of each read.
    reads: BTreeMap<Id, Vec<Word>>,
}

impl Oracle {
    /// Executes an operation.
    pub fn apply(&mut self, op: &Op) {
        match *op.verb() {
            Op::Array { a, len, contents, ty, .. } => {
                self.types.insert(a, ty);
                self.arrays.insert(a, initial(ty, contents, len));
            }
            Op::Table { a, frame, zeros, .. } => {
                self.types.insert(a, Ty::U32);
                self.arrays.insert(a, vec![zeros.then_some(0); frame.memory()]);
            }
            Op::DropArray { a } => {
                self.arrays.remove(&a);
            }
            Op::Fill { dst, value, .. } => self.set(dst, &vec![Some(value); dst.len]),
            Op::Upload { dst, seed, .. } => self.set(dst, &self.random(dst.a, seed, dst.len)),
            Op::Copy { src, dst, .. } => self.set(dst, &self.get(src)),
            Op::CopyRegion { src, dst, .. } => {
                self.put(dst.a(), dst.places(), self.at(src.a(), &src.places()))
            }
            Op::UploadRegion { dst, seed, .. } => {
                let places = dst.places();
                let words = self.random(dst.a(), seed, places.len());
                self.put(dst.a(), places, words);
            }
            Op::FillRows { dst, value, .. } => {
                let places: Vec<usize> = dst.memory().collect();
                let words = vec![Some(value); places.len()];
                self.put(dst.a, places, words);
            }
            Op::UploadRows { dst, seed, .. } => {
                let places = dst.window().places();
                let words = self.random(dst.a, seed, places.len());
                self.put(dst.a, places, words);
            }
            Op::CopyRows { src, dst, .. } => {
                let words = self.at(src.a, &src.window().places());
                self.put(dst.a, dst.window().places(), words);
            }
            Op::Encode { src, dst, .. } => {
                self.set(dst, &src.map_or_else(|| vec![Some(0); dst.len], |src| self.get(src)));
            }
            Op::Launch { .. } => self.launch(op.verb()),
            Op::Read { r, src, .. } => {
                self.reads.insert(r, self.get(src));
            }
            Op::ReadRegion { r, src, .. } => {
                self.reads.insert(r, self.at(src.a(), &src.places()));
            }
            Op::ReadRows { r, src, .. } => {
                self.reads.insert(r, self.at(src.a, &src.window().places()));
            }
            Op::Pin { p, len } => {
                self.up.insert(p, vec![Some(0); len]);
            }
            Op::WritePinned { p, seed } => {
                let len = self.up[&p].len();
                self.up.insert(p, elements(seed, len).into_iter().map(Some).collect());
            }
            Op::UploadPinned { p, start, dst, .. } => {
                let words = self.up[&p][start..start + dst.len].to_vec();
                self.set(dst, &words);
            }
            Op::PinBack { d, len } => {
                self.down.insert(d, vec![Some(0); len]);
            }
            Op::Download { src, d, .. } => {
                self.down.insert(d, self.get(src));
            }
            Op::MapWrite { part, seed, .. } => self.set(part, &self.random(part.a, seed, part.len)),
            _ => {}
        }
    }

    /// Marks the elements that an operation may have written as unknown.
    pub fn doubt(&mut self, op: &Op) {
        match *op.verb() {
            Op::Array { a, len, ty, .. } => {
                self.types.insert(a, ty);
                self.arrays.insert(a, vec![None; len]);
            }
            Op::Table { a, frame, .. } => {
                self.types.insert(a, Ty::U32);
                self.arrays.insert(a, vec![None; frame.memory()]);
            }
            Op::UploadRegion { dst, .. } => self.forget(dst.a(), dst.places()),
            Op::UploadRows { dst, .. } => self.forget(dst.a, dst.window().places()),
            Op::Upload { dst: part, .. } | Op::MapWrite { part, .. } => self.set(part, &vec![None; part.len]),
            _ => {}
        }
    }

    /// Returns the expected elements of an operation that shows elements.
    pub fn shown(&self, op: &Op) -> Option<Vec<Word>> {
        match *op {
            Op::WaitRead { r, .. } => self.reads.get(&r).cloned(),
            Op::ReadPinned { d } => self.down.get(&d).cloned(),
            Op::MapRead { part, .. } | Op::MapWrite { part, .. } => Some(self.get(part)),
            _ => None,
        }
    }

    fn get(&self, part: Part) -> Vec<Word> {
        self.arrays[&part.a][part.range()].to_vec()
    }

    fn at(&self, a: Id, places: &[usize]) -> Vec<Word> {
        places.iter().map(|&at| self.arrays[&a][at]).collect()
    }

    fn put(&mut self, a: Id, places: Vec<usize>, words: Vec<Word>) {
        if let Some(array) = self.arrays.get_mut(&a) {
            places.into_iter().zip(words).for_each(|(at, word)| array[at] = word);
        }
    }

    fn forget(&mut self, a: Id, places: Vec<usize>) {
        let words = vec![None; places.len()];
        self.put(a, places, words);
    }

    fn random(&self, a: Id, seed: u32, len: usize) -> Vec<Word> {
        self.types[&a].elements(seed, len).into_iter().map(Some).collect()
    }

    fn set(&mut self, part: Part, words: &[Word]) {
        if let Some(array) = self.arrays.get_mut(&part.a) {
            array[part.range()].copy_from_slice(words);
        }
    }

    /// Returns the number of invocations of a launch, as limited by its grid.
    pub fn invocations(&self, how: How) -> Option<usize> {
        let How::Indirect(counts) = how else { return Some(usize::MAX) };
        let groups: Option<Vec<u32>> = self.get(counts).into_iter().collect();
        groups.map(|groups| groups.iter().map(|&count| count as usize).product::<usize>() * WORKGROUP)
    }

    fn launch(&mut self, op: &Op) {
        let Op::Launch { kernel, how, .. } = op else { return };
        let (reads, write) = kernel.parts();
        let inputs: Vec<Vec<Word>> = reads.into_iter().map(|part| self.get(part)).collect();
        let mut out = self.get(write);
        match self.invocations(*how) {
            Some(invocations) => run(kernel, self.types[&write.a], invocations, &inputs, &mut out),
            None => out.fill(None),
        }
        self.set(write, &out);
    }
}

fn initial(ty: Ty, contents: Contents, len: usize) -> Vec<Word> {
    match contents {
        Contents::Zeros => vec![Some(0); len],
        Contents::Full(value) => vec![Some(value); len],
        Contents::Elements(seed) => ty.elements(seed, len).into_iter().map(Some).collect(),
        Contents::Empty => vec![None; len],
    }
}
