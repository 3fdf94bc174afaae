//! The replacement of a `return` in an inlined function.
//!
//! A `return` before other statements becomes a `break` out of a loop around the body. If it is inside other loops or
//! `switch`es, it sets a variable, and each of them is left in turn.

use super::copy::emit;
use crate::compile::uses::returns;
use crate::statements::visit_one;
use naga::{Barrier, Block, Expression, Function, Handle, Literal, LocalVariable, Span, Statement, Type};
use rustc_hash::FxHashMap;

/// Replacement of a `return`.
#[derive(Clone, Copy)]
pub(super) enum Exit {
    Return,
    /// No statement follows the `return`. The pointer points to the variable for the result.
    Last(Option<Handle<Expression>>),
    /// The body is a loop that the `return` leaves.
    Leave(Leave),
}

/// A loop that a `return` leaves.
#[derive(Clone, Copy)]
pub(super) struct Leave {
    /// Pointer to the variable for the result.
    pub(super) result: Option<Handle<Expression>>,
    /// Pointer to the variable that is true once a loop or a `switch` inside of the body has returned.
    pub(super) returned: Handle<Expression>,
    /// `true` if the whole workgroup returns together.
    pub(super) together: bool,
}

impl Exit {
    /// Adds the replacement of a `return`. `inside` is `true` if a loop or a `switch` of the body is around it.
    pub(super) fn leave(
        self,
        value: Option<Handle<Expression>>,
        (inside, flags): (bool, Option<&Flags>),
        span: Span,
        copy: &mut Block,
    ) {
        let pointer = match self {
            Self::Return => return copy.push(Statement::Return { value }, span),
            Self::Last(pointer) => pointer,
            Self::Leave(leave) => leave.result,
        };
        if let (Some(pointer), Some(value)) = (pointer, value) {
            copy.push(Statement::Store { pointer, value }, span);
        }
        let Self::Leave(leave) = self else { return };
        if let Some(flags) = flags.filter(|_| inside) {
            if leave.together {
                // Without a barrier, each invocation would leave the inner loop by itself.
                copy.push(Statement::ControlBarrier(Barrier::empty()), span);
            }
            copy.push(Statement::Store { pointer: leave.returned, value: flags.yes }, span);
        }
        copy.push(Statement::Break, span);
    }
}

/// Expressions by which a `return` leaves several loops and `switch`es.
pub(super) struct Flags {
    yes: Handle<Expression>,
    pub(super) no: Handle<Expression>,
    /// Load after each loop and each `switch` that returns.
    loads: FxHashMap<*const Statement, Handle<Expression>>,
}

impl Flags {
    /// Adds the expressions to the caller of a function.
    pub(super) fn new(target: &mut Function) -> Self {
        let [yes, no] = [true, false].map(|value| {
            target.expressions.append(Expression::Literal(Literal::Bool(value)), Span::UNDEFINED)
        });
        Self { yes, no, loads: FxHashMap::default() }
    }

    /// Adds a variable that is loaded after each loop and `switch` of these statements that returns. Returns its
    /// pointer.
    pub(super) fn add(
        &mut self,
        statements: &[Statement],
        ty: Handle<Type>,
        target: &mut Function,
    ) -> Handle<Expression> {
        let local = LocalVariable { name: Some("returned".into()), ty, init: None };
        let local = target.local_variables.append(local, Span::UNDEFINED);
        let pointer = target.expressions.append(Expression::LocalVariable(local), Span::UNDEFINED);
        let mut see = |statement: &Statement| {
            if matches!(statement, Statement::Loop { .. } | Statement::Switch { .. }) && returns(statement) {
                let load = target.expressions.append(Expression::Load { pointer }, Span::UNDEFINED);
                self.loads.insert(std::ptr::from_ref(statement), load);
            }
        };
        statements.iter().for_each(|statement| visit_one(statement, &mut see));
        pointer
    }

    /// Adds a jump out of the outer loop or `switch` after an inner one, if the inner one has returned.
    pub(super) fn leave_outer(&self, statement: &Statement, span: Span, copy: &mut Block) {
        if let Some(&load) = self.loads.get(&std::ptr::from_ref(statement)) {
            emit(&[load], span, copy);
            let accept = Block::from_vec(vec![Statement::Break]);
            copy.push(Statement::If { condition: load, accept, reject: Block::new() }, span);
        }
    }
}
