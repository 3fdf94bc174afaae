//! The instructions as observers see them.

use super::Interpreter;
use super::op::{Op, Origin};
use crate::program::Program;
use naga::{Expression, GlobalVariable, Handle, Span};
use std::fmt::Write as _;

/// Kind of an instruction's access to an atomic variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicAccess {
    Load,
    Store,
    /// Read and write in one step.
    Change,
}

impl Interpreter {
    /// Returns the program.
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the number of functions. The entry point is the last one.
    pub(crate) fn functions(&self) -> usize {
        self.decoded.functions.len()
    }

    /// Lists the expression and the span of each instruction of a function.
    pub(crate) fn origins(
        &self,
        function: usize,
    ) -> impl Iterator<Item = (Option<Handle<Expression>>, Span)> + '_ {
        let origins = self.decoded.functions[function].origins.iter();
        origins.map(|&Origin { expression, span }| (expression, span))
    }

    /// Returns the instructions of all functions as text, each with its place in the shader.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (number, function) in self.decoded.functions.iter().enumerate() {
            let _ =
                writeln!(text, "function {number}, {} slots, calls {:?}:", function.frame, function.calls);
            for (at, (op, origin)) in function.ops.iter().zip(&function.origins).enumerate() {
                let place = self.program.place(origin.span).map(|place| format!("  // {place}"));
                let _ = writeln!(text, "{at:5}  {op:?}{}", place.unwrap_or_default());
            }
        }
        text
    }

    /// Returns the kind of an instruction's access to an atomic variable, if it is one.
    pub(crate) fn atomic_access(&self, function: usize, op: usize) -> Option<AtomicAccess> {
        match self.decoded.functions[function].ops[op] {
            Op::LoadAtomic { .. } => Some(AtomicAccess::Load),
            Op::StoreAtomic { .. } => Some(AtomicAccess::Store),
            Op::Atomic(_) => Some(AtomicAccess::Change),
            _ => None,
        }
    }

    /// Lists the workgroup variables with their offsets.
    pub(crate) fn workgroup_variables(&self) -> &[(u64, Handle<GlobalVariable>)] {
        &self.decoded.workgroup_variables
    }

    /// Returns the size of the workgroup variables in bytes.
    pub(crate) fn workgroup_bytes(&self) -> u64 {
        self.decoded.workgroup_bytes
    }
}
