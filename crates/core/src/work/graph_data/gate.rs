//! Gates: the nodes of a graph that decide on the device whether the nodes of a body execute.

use crate::work::span::Span;

/// Test of a gate on the value of its condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GateTest {
    /// Any value passes. The first gate of a `do_while` has this test.
    Always,
    NonZero,
    /// Only 0 passes. The gate of the other half of an `if_else` has this test.
    Zero,
    /// Values above this number pass. The gates of a `repeat` have this test. A gate with a bound adds the number of
    /// past iterations.
    Above(u32),
    /// Signed values above this number pass.
    SignedAbove(u32),
    /// No value passes. A gate with this test only resets a counter.
    Never,
}

/// A gate. The nodes that name the word `own` execute if the words `parent` and `previous` are set and the condition
/// passes the test. Words are words of the graph's [`ControlTable`](super::control_table::ControlTable).
#[derive(Clone)]
pub(crate) struct Gate {
    /// Four bytes of the condition, which the gate reads at its place in the order of the graph.
    pub(crate) condition: Span,
    pub(crate) test: GateTest,
    /// Word of the body that the gate is in, if any.
    pub(crate) parent: Option<u32>,
    /// Word of the previous iteration of the loop, if the gate belongs to a later one.
    pub(crate) previous: Option<u32>,
    /// Word that the gate sets: to 0 if the body does not execute, and otherwise to 1, or to the number of the
    /// iteration if the gate has a bound.
    pub(crate) own: u32,
    /// Most iterations, if the gate belongs to a loop in chunks. The word `previous` then holds the number of past
    /// iterations, because the same gate decides about many iterations.
    pub(crate) bound: Option<u32>,
    pub(crate) counter: Option<GateCounter>,
}

/// Counter of a gate of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GateCounter {
    /// Index of the loop in the graph.
    pub(crate) index: u32,
    /// `true` for the first gate of the loop in the graph, which sets the counter to 0 before it counts. The end of the
    /// capture decides this.
    pub(crate) resets: bool,
    /// `true` for the gate after the last iteration. It has no body: if it passes, the loop has reached its bound.
    pub(crate) last: bool,
}

impl GateTest {
    /// Returns `true` if a condition of this value passes after `past` iterations. `past` is 0 for a gate without a
    /// bound.
    pub(crate) fn passes(self, value: u32, past: u32) -> bool {
        match self {
            GateTest::Always => true,
            GateTest::NonZero => value != 0,
            GateTest::Zero => value == 0,
            GateTest::Above(limit) => u64::from(value) > u64::from(limit) + u64::from(past),
            GateTest::SignedAbove(limit) => {
                i64::from(value.cast_signed()) > i64::from(limit) + i64::from(past)
            }
            GateTest::Never => false,
        }
    }

    /// Returns the test of a gate with a bound, which adds the number of past iterations to the limit itself.
    pub(crate) fn after_past(self) -> Self {
        match self {
            GateTest::Above(_) => GateTest::Above(0),
            GateTest::SignedAbove(_) => GateTest::SignedAbove(0),
            other => other,
        }
    }

    /// Returns what a gate writes to its word for a condition of this value, and `true` if the condition passes. `past` is
    /// the word `previous` of a gate with a bound, and otherwise 0.
    pub(crate) fn decide(self, bound: Option<u32>, value: u32, past: u32) -> (u32, bool) {
        let passes = self.passes(value, past);
        let goes = passes && bound.is_none_or(|bound| past < bound);
        (if goes { past + 1 } else { 0 }, passes)
    }

    /// Returns the number of the test and its limit, as the shader of gates takes them.
    pub(crate) fn code(self) -> [u32; 2] {
        match self {
            GateTest::Always => [0, 0],
            GateTest::NonZero => [1, 0],
            GateTest::Zero => [2, 0],
            GateTest::Above(limit) => [3, limit],
            GateTest::SignedAbove(limit) => [4, limit],
            GateTest::Never => [5, 0],
        }
    }
}

impl Gate {
    /// Names the gate in dumps.
    pub(crate) fn name(&self) -> String {
        match self.test {
            GateTest::Always => "always".into(),
            GateTest::NonZero => "if not 0".into(),
            GateTest::Zero => "if 0".into(),
            GateTest::Above(_) | GateTest::SignedAbove(_) if self.bound.is_some() => {
                "if above the past iterations".into()
            }
            GateTest::Above(limit) | GateTest::SignedAbove(limit) => format!("if above {limit}"),
            GateTest::Never => "reset of a counter".into(),
        }
    }

    /// Returns the gate, moved into a graph with `words` words before its own, where it counts the loop as `counter`. A
    /// gate outside any body gets the body of the word `parent`.
    pub(crate) fn moved(&self, words: u32, parent: Option<u32>, counter: Option<GateCounter>) -> Self {
        Self {
            condition: self.condition.clone(),
            test: self.test,
            parent: self.parent.map(|word| word + words).or(parent),
            previous: self.previous.map(|word| word + words),
            own: self.own + words,
            bound: self.bound,
            counter,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::block::{Block, Memory};
    use crate::memory::cpu_memory::CpuMemory;
    use crate::memory::heap::{BlockId, Heap};
    use std::sync::Arc;

    #[test]
    fn a_signed_count_below_zero_is_above_no_number() {
        assert!(GateTest::Above(5).passes(u32::MAX, 0));
        assert!(!GateTest::SignedAbove(0).passes(u32::MAX, 0));
        assert!(!GateTest::SignedAbove(u32::MAX).passes(i32::MAX as u32, 0));
        assert!(GateTest::SignedAbove(2).passes(3, 0) && !GateTest::SignedAbove(3).passes(3, 0));
        assert!(GateTest::Above(0).passes(3, 2) && !GateTest::SignedAbove(0).passes(3, 3));
    }

    #[test]
    fn a_moved_gate_is_behind_the_moved_gate_of_the_previous_iteration() {
        let memory = Memory::Host(CpuMemory::zeroed(0));
        let block = Arc::new(Block::new(BlockId::next(), Heap::Device, 16, memory));
        let condition = Span { block, offset: 0, size: 4 };
        let test = GateTest::NonZero;
        let gate =
            Gate { condition, test, parent: None, previous: Some(2), own: 3, bound: None, counter: None };
        let words = |moved: Gate| (moved.parent, moved.previous, moved.own);
        assert_eq!(words(gate.moved(10, Some(5), None)), (Some(5), Some(12), 13));
        let inner = Gate { parent: Some(1), previous: None, ..gate };
        assert_eq!(words(inner.moved(10, Some(5), None)), (Some(11), None, 13));
    }

    #[test]
    fn a_gate_with_a_bound_counts_the_iterations_in_its_word() {
        let after = |past| GateTest::NonZero.decide(Some(3), 7, past);
        assert_eq!([0, 1, 2, 3].map(after), [(1, true), (2, true), (3, true), (0, true)]);
        assert_eq!(GateTest::NonZero.decide(Some(3), 0, 1), (0, false));
        assert_eq!(GateTest::Above(0).decide(Some(u32::MAX), 2, 1), (2, true));
        assert_eq!(GateTest::Above(0).decide(Some(u32::MAX), 2, 2), (0, false));
    }
}
