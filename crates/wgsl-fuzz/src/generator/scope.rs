//! The variables that a statement can use.

use crate::tree::types::Type;
use crate::tree::{Place, Step};

/// A named place and its type.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) place: Place,
    pub(super) ty: Type,
    pub(super) is_written: bool,
    /// `true` if each invocation of a workgroup reads the same value.
    pub(super) is_uniform: bool,
    /// `true` if it is a `var` of the function, so that a function can get a pointer to it.
    pub(super) is_local: bool,
}

/// Variables in scope, the newest last.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    variables: Vec<Variable>,
}

impl Variable {
    pub(super) fn named(name: &str, ty: Type, is_written: bool) -> Self {
        let place = Place { root: name.to_owned(), steps: Vec::new() };
        Self { place, ty, is_written, is_uniform: false, is_local: false }
    }

    /// Describes one element of a buffer, at a fixed index.
    pub(super) fn slot(name: &str, at: &str, ty: Type) -> Self {
        let mut variable = Self::named(name, ty, true);
        variable.place.steps.push(Step::Fixed(format!("[{at}]")));
        variable
    }

    pub(super) fn uniform(mut self) -> Self {
        self.is_uniform = true;
        self
    }

    pub(super) fn local(mut self) -> Self {
        self.is_local = true;
        self
    }
}

impl Scope {
    pub(super) fn push(&mut self, variable: Variable) {
        self.variables.push(variable);
    }

    /// Returns the number of variables, for [`restore`](Self::restore).
    pub(super) fn mark(&self) -> usize {
        self.variables.len()
    }

    pub(super) fn restore(&mut self, mark: usize) {
        self.variables.truncate(mark);
    }

    pub(super) fn all(&self) -> &[Variable] {
        &self.variables
    }
}
