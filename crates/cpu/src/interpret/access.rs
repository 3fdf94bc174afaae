//! The instructions that access memory or compute addresses.

use super::atomic;
use super::invocation::{at, memory_place, stack_place};
use super::memory;
use super::observer::{Observer, Touched};
use super::op::{Address, Op, Slot, Unsized};
use super::step::{Executor, Here, copy, row, row_mut};

impl<O: Observer> Executor<'_, O> {
    /// Copies from a variable of the invocation.
    #[inline]
    pub(super) fn load_stack(&mut self, op: &Op, here: &Here<'_>, next: usize, stack: &mut [u64]) {
        let Op::LoadStack { to, at: ref address } = *op else { return };
        let slot = stack_place(stack, here.base, address);
        let count = to.count as usize;
        self.tell_load(here, next, Touched::Stack { slot, count });
        copy(stack, slot, at(here.base, to.slot), count);
    }

    /// Copies to a variable of the invocation.
    #[inline]
    pub(super) fn store_stack(&mut self, op: &Op, here: &Here<'_>, next: usize, stack: &mut [u64]) {
        let Op::StoreStack { from, count, at: ref address } = *op else { return };
        let slot = stack_place(stack, here.base, address);
        let count = count as usize;
        self.tell_store(here, next, Touched::Stack { slot, count });
        copy(stack, at(here.base, from), slot, count);
    }

    /// Copies words from memory.
    #[inline]
    pub(super) fn load_words(&mut self, op: &Op, here: &Here<'_>, next: usize, stack: &mut [u64]) {
        let Op::LoadWords { to, at: ref address } = *op else { return };
        let (region, byte) = memory_place(stack, here.base, address);
        let bytes = 4 * u64::from(to.count);
        self.tell_load(here, next, Touched::Memory { region, byte, bytes });
        self.memory.read_words(region, byte, row_mut(stack, here.base, to.slot, to.count));
    }

    /// Copies words to memory.
    #[inline]
    pub(super) fn store_words(&mut self, op: &Op, here: &Here<'_>, next: usize, stack: &mut [u64]) {
        let Op::StoreWords { from, count, at: ref address } = *op else { return };
        let (region, byte) = memory_place(stack, here.base, address);
        let bytes = 4 * u64::from(count);
        self.tell_store(here, next, Touched::Memory { region, byte, bytes });
        self.memory.write_words(region, byte, row(stack, here.base, from, count));
    }

    /// Copies a value of any shape from memory.
    pub(super) fn load_shape(&mut self, op: &Op, here: &Here<'_>, next: usize, stack: &mut [u64]) {
        let Op::Load { to, at: ref address, shape } = *op else { return };
        let (region, byte) = memory_place(stack, here.base, address);
        let runs = &self.decoded.shapes[shape as usize][..];
        if O::ACTIVE {
            for run in runs {
                let byte = byte + u64::from(run.offset);
                let bytes = run.bytes();
                self.tell_load(here, next, Touched::Memory { region, byte, bytes });
            }
        }
        let count = runs.iter().map(|run| run.count).sum();
        self.memory.read_shape(region, byte, runs, row_mut(stack, here.base, to, count));
    }

    /// Copies a value of any shape to memory.
    pub(super) fn store_shape(&mut self, op: &Op, here: &Here<'_>, next: usize, stack: &mut [u64]) {
        let Op::Store { from, at: ref address, shape } = *op else { return };
        let (region, byte) = memory_place(stack, here.base, address);
        let runs = &self.decoded.shapes[shape as usize][..];
        if O::ACTIVE {
            for run in runs {
                let byte = byte + u64::from(run.offset);
                let bytes = run.bytes();
                self.tell_store(here, next, Touched::Memory { region, byte, bytes });
            }
        }
        let count = runs.iter().map(|run| run.count).sum();
        self.memory.write_shape(region, byte, runs, row(stack, here.base, from, count));
    }

    /// Loads, stores or changes an atomic variable.
    pub(super) fn access_atomic(&mut self, op: &Op, here: &Here<'_>, next: usize, stack: &mut [u64]) {
        let base = here.base;
        let (address, width) = match *op {
            Op::LoadAtomic { ref at, width, .. } | Op::StoreAtomic { ref at, width, .. } => (at, width),
            Op::Atomic(ref atomic) => (&atomic.at, atomic.ty.width),
            _ => return,
        };
        let (region, byte) = memory_place(stack, base, address);
        if O::ACTIVE {
            let touched = Touched::Memory { region, byte, bytes: u64::from(width) };
            self.observer.atomic(here.site(next), touched);
        }
        match *op {
            Op::LoadAtomic { to, .. } => stack[at(base, to)] = self.memory.read(region, byte, width),
            Op::StoreAtomic { from, .. } => self.memory.write(region, byte, width, stack[at(base, from)]),
            Op::Atomic(ref op) => {
                let compare = op.compare.map(|slot| stack[at(base, slot)]);
                let change = (op.fun, op.ty);
                let value = stack[at(base, op.value)];
                let (old, exchanged) = atomic::change(&self.memory, (region, byte), change, value, compare);
                let Some(to) = op.to else { return };
                stack[at(base, to)] = old;
                if compare.is_some() {
                    stack[at(base, to) + 1] = u64::from(exchanged);
                }
            }
            _ => {}
        }
    }

    /// Returns an index, clamped to the last element.
    #[inline]
    pub(super) fn element(&mut self, here: &Here<'_>, next: usize, index: u64, len: u64) -> u64 {
        if O::ACTIVE {
            self.observer.index(here.site(next), index, len);
        }
        index.min(len.saturating_sub(1))
    }

    /// Returns the number of elements of an array whose length depends on its memory.
    #[inline]
    pub(super) fn length(&self, stack: &[u64], base: usize, array: &Unsized) -> u64 {
        let (region, byte) = memory_place(stack, base, &array.at);
        self.memory.len(region).saturating_sub(byte) / u64::from(array.stride)
    }
}

/// Adds an index step to the previous steps, and puts the sum into a slot.
#[inline]
pub(super) fn put_step(stack: &mut [u64], base: usize, to: Slot, before: Option<Slot>, step: u64) {
    let before = before.map_or(0, |before| stack[at(base, before)]);
    stack[at(base, to)] = before + step;
}

/// Returns an address as a pointer that a function can take.
pub(super) fn pointer(stack: &[u64], base: usize, address: &Address) -> u64 {
    if address.is_stack() {
        return stack_place(stack, base, address) as u64;
    }
    let (region, byte) = memory_place(stack, base, address);
    memory::pointer(region, byte)
}
