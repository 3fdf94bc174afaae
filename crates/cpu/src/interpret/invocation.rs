//! The state of one invocation.

use super::builtin::Position;
use super::decode::Decoded;
use super::op::{Address, Root, Slot};
use super::{memory, op};
use std::cmp::Ordering;

/// State of an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Ready to continue.
    Ready,
    /// Waiting for its workgroup.
    Barrier,
    /// Waiting for its subgroup.
    Subgroup,
    /// Returned from the entry point.
    Ended,
}

/// A function that waits for its callee.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    pub(super) function: usize,
    pub(super) next: usize,
    pub(super) base: usize,
    /// Slot for the result of the call.
    pub(super) to: Slot,
}

/// An invocation and its stack.
pub(super) struct Invocation {
    pub(super) state: State,
    /// Number in the workgroup.
    pub(super) number: u32,
    pub(super) function: usize,
    /// Next instruction.
    pub(super) next: usize,
    /// Base of the frame.
    pub(super) base: usize,
    pub(super) callers: Vec<Caller>,
    /// Private variables, and above them the frames.
    pub(super) stack: Vec<u64>,
}

impl Invocation {
    /// Creates an invocation that has not begun.
    pub(super) fn new(decoded: &Decoded) -> Self {
        let entry = decoded.functions.len() - 1;
        let constants = &decoded.functions[entry].constants;
        let base = decoded.private.len() + constants.len();
        let mut stack = vec![0; decoded.stack];
        stack[decoded.private.len()..base].copy_from_slice(constants);
        Self { state: State::Ended, number: 0, function: entry, next: 0, base, callers: Vec::new(), stack }
    }

    /// Begins at a position of the grid.
    pub(super) fn begin(&mut self, decoded: &Decoded, position: &Position) {
        let entry = decoded.functions.len() - 1;
        self.state = State::Ready;
        self.number = position.number;
        self.function = entry;
        self.next = 0;
        self.base = decoded.private.len() + decoded.functions[entry].constants.len();
        self.callers.clear();
        self.stack[..decoded.private.len()].copy_from_slice(&decoded.private);
        position.fill(&decoded.inputs, &mut self.stack, self.base);
    }

    /// Compares the places of two invocations; the place that comes first in the program is less. Places include the
    /// callers, so places in two calls of a function differ.
    pub(super) fn compare_place(&self, other: &Self) -> Ordering {
        let own = self.callers.iter();
        let theirs = other.callers.iter();
        let own = own.map(|caller| caller.next).chain([self.next]);
        own.cmp(theirs.map(|caller| caller.next).chain([other.next]))
    }

    /// Returns the value of a slot.
    pub(super) fn get(&self, slot: Slot) -> u64 {
        self.stack[at(self.base, slot)]
    }

    /// Returns the values of a row of slots.
    pub(super) fn row(&self, slot: Slot, count: u32) -> &[u64] {
        let from = at(self.base, slot);
        &self.stack[from..from + count as usize]
    }

    /// Returns a row of slots for writing.
    pub(super) fn row_mut(&mut self, to: op::To) -> &mut [u64] {
        let from = at(self.base, to.slot);
        &mut self.stack[from..from + to.count as usize]
    }
}

/// Returns the index of a slot in the stack.
#[inline(always)]
pub(super) fn at(base: usize, slot: Slot) -> usize {
    base.wrapping_add_signed(slot as isize)
}

/// Returns the slot at an address.
#[inline]
pub(super) fn stack_place(stack: &[u64], base: usize, address: &Address) -> usize {
    let index = address.index.map_or(0, |index| stack[at(base, index)]) as usize;
    let offset = address.offset as usize + index;
    if address.root == Root::Frame { base + offset } else { offset }
}

/// Returns the region and the byte at an address.
#[inline]
pub(super) fn memory_place(stack: &[u64], base: usize, address: &Address) -> (u16, u64) {
    let index = address.index.map_or(0, |index| stack[at(base, index)]);
    match address.root {
        Root::Region(region) => (region, address.offset + index),
        _ => {
            let (region, byte) = memory::place(index);
            (region, byte + address.offset)
        }
    }
}
