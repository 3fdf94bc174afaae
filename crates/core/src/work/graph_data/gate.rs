//! Gates: the nodes of a graph that decide on the device whether the nodes of a body execute.

use crate::work::span::Span;

/// Names the test of a gate on the value of its condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GateTest {
    /// Passes for each value. The first gate of a `do_while` has this test.
    Always,
    NonZero,
    /// Passes for 0. The gate of the other half of an `if_else` has this test.
    Zero,
    /// Passes for a value above this number. The gates of a `repeat` have this test.
    Above(u32),
    /// Passes for a signed value above this number.
    SignedAbove(u32),
}

/// Decides whether the nodes that name the word `own` execute: if the words `parent` and `previous` are set and the
/// condition passes the test. Words are words of the graph's [`ControlTable`](super::control_table::ControlTable).
#[derive(Clone)]
pub(crate) struct Gate {
    /// Names the four bytes of the condition, which the gate reads where it stands in the order of the graph.
    pub(crate) condition: Span,
    pub(crate) test: GateTest,
    /// Is the word of the body that the gate is in, if any.
    pub(crate) parent: Option<u32>,
    /// Is the word of the previous iteration of the loop, if the gate belongs to a later one.
    pub(crate) previous: Option<u32>,
    /// Is the word that the gate sets to 1 or 0.
    pub(crate) own: u32,
    pub(crate) counter: Option<GateCounter>,
}

/// Describes how a gate of a loop counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GateCounter {
    /// Numbers the loop among those of the graph.
    pub(crate) index: u32,
    /// Is `true` for the first gate of the loop in the graph, which sets the counter to 0 before it counts. The end of
    /// the capture decides this.
    pub(crate) resets: bool,
    /// Is `true` for the gate behind the last iteration. It has no body: if it passes, the loop has reached its bound.
    pub(crate) last: bool,
}

impl GateTest {
    /// Returns `true` if a condition of this value passes.
    pub(crate) fn passes(self, value: u32) -> bool {
        match self {
            GateTest::Always => true,
            GateTest::NonZero => value != 0,
            GateTest::Zero => value == 0,
            GateTest::Above(limit) => value > limit,
            GateTest::SignedAbove(limit) => i64::from(value.cast_signed()) > i64::from(limit),
        }
    }

    /// Returns the number of the test and its limit, as the shader of gates takes them.
    pub(crate) fn code(self) -> [u32; 2] {
        match self {
            GateTest::Always => [0, 0],
            GateTest::NonZero => [1, 0],
            GateTest::Zero => [2, 0],
            GateTest::Above(limit) => [3, limit],
            GateTest::SignedAbove(limit) => [4, limit],
        }
    }

    /// Names the test in dumps.
    pub(crate) fn name(self) -> String {
        match self {
            GateTest::Always => "always".into(),
            GateTest::NonZero => "if not 0".into(),
            GateTest::Zero => "if 0".into(),
            GateTest::Above(limit) | GateTest::SignedAbove(limit) => format!("if above {limit}"),
        }
    }
}

impl Gate {
    /// Returns the gate in a graph that has `words` other words before the gate's own ones and counts the loop as
    /// `counter`. A gate that is in no body is in the body of the word `parent`.
    pub(crate) fn moved(&self, words: u32, parent: Option<u32>, counter: Option<GateCounter>) -> Self {
        Self {
            condition: self.condition.clone(),
            test: self.test,
            parent: self.parent.map(|word| word + words).or(parent),
            previous: self.previous.map(|word| word + words),
            own: self.own + words,
            counter,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signed_count_below_zero_is_above_no_number() {
        assert!(GateTest::Above(5).passes(u32::MAX));
        assert!(!GateTest::SignedAbove(0).passes(u32::MAX));
        assert!(!GateTest::SignedAbove(u32::MAX).passes(i32::MAX as u32));
        assert!(GateTest::SignedAbove(2).passes(3) && !GateTest::SignedAbove(3).passes(3));
    }
}
