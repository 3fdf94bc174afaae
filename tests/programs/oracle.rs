//! What a program means: every operation done at its call, one after the other.

use super::op::{Contents, Id, Kernel, Op, Part, Steps, elements};
use std::collections::BTreeMap;

/// An element, if it was ever written.
pub type Word = Option<u32>;

/// All memory of a program.
#[derive(Clone, Default)]
pub struct Oracle {
    pub arrays: BTreeMap<Id, Vec<Word>>,
    up: BTreeMap<Id, Vec<Word>>,
    down: BTreeMap<Id, Vec<Word>>,
    /// What each read finds.
    reads: BTreeMap<Id, Vec<Word>>,
}

impl Oracle {
    /// Does an operation.
    pub fn apply(&mut self, op: &Op) {
        match *op {
            Op::Array { a, len, contents, .. } => {
                self.arrays.insert(a, initial(contents, len));
            }
            Op::DropArray { a } => {
                self.arrays.remove(&a);
            }
            Op::Fill { dst, value, .. } => self.set(dst, &vec![Some(value); dst.len]),
            Op::Upload { dst, seed, .. } => self.set(dst, &random(seed, dst.len)),
            Op::Copy { src, dst, .. } => self.set(dst, &self.get(src)),
            Op::CopyRegion { src, dst, .. } => {
                let words = self.steps(src);
                if let Some(array) = self.arrays.get_mut(&dst.part.a) {
                    dst.places().zip(words).for_each(|(at, word)| array[at] = word);
                }
            }
            Op::Launch { ref kernel, .. } => self.launch(kernel),
            Op::Read { r, src, .. } => {
                self.reads.insert(r, self.get(src));
            }
            Op::ReadRegion { r, src, .. } => {
                self.reads.insert(r, self.steps(src));
            }
            Op::Pin { p, len } => {
                self.up.insert(p, vec![Some(0); len]);
            }
            Op::WritePinned { p, seed } => {
                let len = self.up[&p].len();
                self.up.insert(p, random(seed, len));
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
            Op::MapWrite { part, seed, .. } => self.set(part, &random(seed, part.len)),
            _ => {}
        }
    }

    /// Notes that an operation may have been done or not.
    pub fn doubt(&mut self, op: &Op) {
        match *op {
            Op::Array { a, len, .. } => drop(self.arrays.insert(a, vec![None; len])),
            Op::Upload { dst: part, .. } | Op::MapWrite { part, .. } => self.set(part, &vec![None; part.len]),
            _ => {}
        }
    }

    /// What an operation that shows elements must show.
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

    fn steps(&self, steps: Steps) -> Vec<Word> {
        let array = &self.arrays[&steps.part.a];
        steps.places().map(|at| array[at]).collect()
    }

    fn set(&mut self, part: Part, words: &[Word]) {
        if let Some(array) = self.arrays.get_mut(&part.a) {
            array[part.range()].copy_from_slice(words);
        }
    }

    fn launch(&mut self, kernel: &Kernel) {
        let (reads, write) = kernel.parts();
        let inputs: Vec<Vec<Word>> = reads.into_iter().map(|part| self.get(part)).collect();
        let mut out = self.get(write);
        run(kernel, &inputs, &mut out);
        self.set(write, &out);
    }
}

fn run(kernel: &Kernel, inputs: &[Vec<Word>], out: &mut [Word]) {
    let each = |out: &mut [Word], f: &dyn Fn(usize, u32) -> Word| {
        let n = inputs.iter().map(Vec::len).min().unwrap_or(usize::MAX).min(out.len());
        for (i, word) in out.iter_mut().enumerate().take(n) {
            *word = word.and_then(|y| f(i, y));
        }
    };
    match *kernel {
        Kernel::Mix { a, b, .. } => {
            each(out, &|i, y| Some(y.wrapping_mul(a).wrapping_add(inputs[0][i]?).wrapping_add(b)));
        }
        Kernel::Saxpy { a, .. } => each(out, &|i, y| Some(a.wrapping_mul(inputs[0][i]?).wrapping_add(y))),
        Kernel::Add { .. } => {
            for ((z, x), y) in out.iter_mut().zip(&inputs[0]).zip(&inputs[1]) {
                *z = x.zip(*y).map(|(x, y)| x.wrapping_add(y));
            }
        }
        Kernel::Iota { start, step, .. } => {
            for (i, word) in out.iter_mut().enumerate() {
                *word = Some(start.wrapping_add((i as u32).wrapping_mul(step)));
            }
        }
        Kernel::Histogram { .. } => {
            for value in &inputs[0] {
                match value {
                    Some(value) => {
                        let bin = *value as usize % out.len();
                        out[bin] = out[bin].map(|count| count.wrapping_add(1));
                    }
                    None => out.fill(None),
                }
            }
        }
    }
}

fn initial(contents: Contents, len: usize) -> Vec<Word> {
    match contents {
        Contents::Zeros => vec![Some(0); len],
        Contents::Full(value) => vec![Some(value); len],
        Contents::Elements(seed) => random(seed, len),
        Contents::Empty => vec![None; len],
    }
}

fn random(seed: u32, len: usize) -> Vec<Word> {
    elements(seed, len).into_iter().map(Some).collect()
}
