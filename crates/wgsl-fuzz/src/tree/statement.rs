//! The statements of generated programs.

use super::types::Type;
use super::{Expr, Place};

/// Kind of a statement.
#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    Let(String, Expr),
    Var(String, Type, Option<Expr>),
    /// Assignment with an operator such as `=` or `+=`; `++` and `--` have no value.
    Assign(Place, &'static str, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    Switch(Expr, Vec<(Vec<i32>, Vec<Stmt>)>, Vec<Stmt>),
    Loop(Loop),
    Break,
    Continue,
    Return(Option<Expr>),
    /// Call of a function for its effects.
    Call(Expr),
    Block(Vec<Stmt>),
    /// Pointer to a place.
    Pointer(String, Place),
    /// Store to the workgroup array, and a body between two barriers.
    Exchange(String, Expr, Vec<Stmt>),
    /// Store of one invocation's value in a workgroup variable, and a uniform load of it.
    Broadcast(Broadcast),
    /// Changes of workgroup atomics by one operation, and a load of one of them after a barrier.
    Tally(Tally),
    /// Change of the shared atomic that belongs to an operation.
    Count(&'static str, Expr),
    /// Change of the invocation's atomic, with a name for the old value.
    Own(String, &'static str, Expr),
    /// Change of the invocation's atomic in a workgroup array, with a name for the old value.
    OwnOfGroup(String, String, &'static str, Expr),
    /// Compare-exchange on the invocation's atomic in a workgroup array: compared and new value, and a name for the old
    /// value.
    SwapOfGroup(String, String, Expr, Expr),
    /// Compare-exchange on the invocation's atomic: compared and new value, and a name for the old value.
    Swap(String, Expr, Expr),
}

/// A loop that a counter ends.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub(crate) form: LoopForm,
    pub(crate) counter: String,
    pub(crate) bound: Expr,
    /// Maximum number of iterations.
    pub(crate) most: u32,
    /// Condition that ends the loop early.
    pub(crate) until: Option<Expr>,
    pub(crate) body: Vec<Stmt>,
}

/// Form of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopForm {
    For,
    While,
    /// `loop` that breaks at the head and counts in `continuing`.
    Continuing,
    /// `loop` that ends by `break if`.
    BreakIf,
}

/// Parts of [`Stmt::Broadcast`].
#[derive(Clone, Debug)]
pub(crate) struct Broadcast {
    pub(crate) name: String,
    pub(crate) variable: String,
    pub(crate) lane: u32,
    pub(crate) value: Expr,
}

/// Parts of [`Stmt::Tally`].
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
