//! Atomic operations whose results do not depend on the order of the invocations.

use super::Generator;
use crate::program::shared_operation;
use crate::tree::statement::Stmt;
use crate::tree::types::{F32, I32, U32};
use crate::tree::{Expr, Node};

const OWN: [&str; 8] = [
    "atomicAdd",
    "atomicSub",
    "atomicMax",
    "atomicMin",
    "atomicAnd",
    "atomicOr",
    "atomicXor",
    "atomicExchange",
];

/// Operations on floats.
const OF_FLOATS: [&str; 3] = ["atomicAdd", "atomicSub", "atomicExchange"];
/// Maximum number of executions of an addition to a shared float in loops.
const MOST_SUMMED: u32 = 16;

impl Generator {
    /// Changes a shared atomic, or the atomic of the invocation.
    pub(super) fn atomic(&mut self) -> Option<Stmt> {
        match self.rng.u8(0..9) {
            0 | 1 if self.has("shared_u") => {
                let operation = shared_operation(self.rng.usize(..));
                Some(Stmt::Count(operation, self.expr(&U32, 3)))
            }
            2 if self.has("own") => {
                let operation = self.pick(&OWN);
                let value = self.expr(&I32, 3);
                let name = self.declared("a", &I32);
                Some(Stmt::Own(name, operation, value))
            }
            3 if self.has("own") => {
                let compared = self.expr(&I32, 2);
                let value = self.expr(&I32, 2);
                let name = self.declared("a", &I32);
                Some(Stmt::Swap(name, compared, value))
            }
            4 if self.parts.barriers => {
                let array = self.atomics_of_group();
                let operation = self.pick(&OWN);
                let value = self.expr(&I32, 3);
                let name = self.declared("a", &I32);
                Some(Stmt::OwnOfGroup(name, array, operation, value))
            }
            // On some drivers a compare-exchange fails although the values are equal.
            5 if self.parts.barriers && !self.options.is_portable => {
                let array = self.atomics_of_group();
                let compared = self.expr(&I32, 2);
                let value = self.expr(&I32, 2);
                let name = self.declared("a", &I32);
                Some(Stmt::SwapOfGroup(name, array, compared, value))
            }
            6 if self.has("own_f") => {
                let operation = self.pick(&OF_FLOATS);
                let value = self.stored(&F32, 3);
                let name = self.declared("a", &F32);
                Some(Stmt::Own(name, operation, value))
            }
            // A sum of a few integers is the same in every order.
            7 | 8 if self.has("shared_f") && self.weight <= MOST_SUMMED => {
                let operation = self.pick(&OF_FLOATS[..2]);
                let value = self.not_constant_of(&U32, 2);
                Some(Stmt::Count(operation, Expr::new(F32, Node::Builtin("small", vec![value]))))
            }
            _ => self.assignment(),
        }
    }

    /// Returns the workgroup array with an atomic for each invocation.
    fn atomics_of_group(&mut self) -> String {
        let text = format!("array<atomic<i32>, {}>", self.group_size());
        self.workgroup_variable("t", text)
    }
}
