//! The statements of generated programs.

use super::types::Type;
use super::{Expr, Place};

/// Names the kinds of statements.
#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    Let(String, Expr),
    Var(String, Type, Option<Expr>),
    /// Assigns with an operator such as `=` or `+=`; `++` and `--` have no value.
    Assign(Place, &'static str, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    Switch(Expr, Vec<(Vec<i32>, Vec<Stmt>)>, Vec<Stmt>),
    Loop(Loop),
    Break,
    Continue,
    Return(Option<Expr>),
    /// Calls a function for its effects.
    Call(Expr),
    Block(Vec<Stmt>),
    /// Makes a pointer to a place.
    Pointer(String, Place),
    /// Stores a value in the workgroup array, and runs the body between two barriers.
    Exchange(String, Expr, Vec<Stmt>),
    /// Stores the value of one invocation in a workgroup variable, and loads it uniformly into a name.
    Broadcast(Broadcast),
    /// Changes workgroup atomics with one operation, and loads one of them into a name after a barrier.
    Tally(Tally),
    /// Changes the shared atomic of one operation.
    Count(&'static str, Expr),
    /// Changes the atomic of the invocation, and keeps the old value in a name.
    Own(String, &'static str, Expr),
    /// Changes the atomic of the invocation in a workgroup array, and keeps the old value in a name.
    OwnOfGroup(String, String, &'static str, Expr),
    /// Stores the value in the atomic of the invocation in a workgroup array if the atomic equals the first expression, and
    /// keeps the old value in a name.
    SwapOfGroup(String, String, Expr, Expr),
    /// Stores the value if the atomic of the invocation equals the first expression, and keeps the old value in a name.
    Swap(String, Expr, Expr),
}

/// Holds a loop. The counter makes it end.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub(crate) form: LoopForm,
    pub(crate) counter: String,
    pub(crate) bound: Expr,
    /// Limits the number of turns.
    pub(crate) most: u32,
    /// Ends the loop early.
    pub(crate) until: Option<Expr>,
    pub(crate) body: Vec<Stmt>,
}

/// Names the forms of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopForm {
    For,
    While,
    /// Breaks at the head, and counts in `continuing`.
    Continuing,
    /// Ends by `break if`.
    BreakIf,
}

/// Holds the parts of [`Stmt::Broadcast`].
#[derive(Clone, Debug)]
pub(crate) struct Broadcast {
    pub(crate) name: String,
    pub(crate) variable: String,
    pub(crate) lane: u32,
    pub(crate) value: Expr,
}

/// Holds the parts of [`Stmt::Tally`].
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) name: String,
    pub(crate) array: String,
    pub(crate) operation: &'static str,
    pub(crate) condition: Expr,
    pub(crate) index: Expr,
    pub(crate) len: u32,
    pub(crate) value: Expr,
    pub(crate) seen: Expr,
}
