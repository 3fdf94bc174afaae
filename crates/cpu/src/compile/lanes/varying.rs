//! The local variables whose values differ between lanes.

use crate::compile::locals::{root, root_local};
use crate::compile::plan::{Home, Plan};
use crate::compile::uses::operands;
use crate::program::Program;
use naga::{Binding, Block, BuiltIn, Expression, Function, Handle, LocalVariable, Statement, TypeInner};
use rustc_hash::FxHashSet;

/// Says what differs between lanes.
#[derive(Clone, Default)]
pub(in crate::compile) struct Varying {
    /// Lists the local variables that may differ.
    pub(super) locals: FxHashSet<Handle<LocalVariable>>,
    /// Lists the bodies of the loops that some lanes may leave before others, by their addresses.
    pub(super) loops: FxHashSet<*const Block>,
}

/// Finds what may differ between lanes in the entry point.
///
/// A variable that is missing by mistake leads to a refusal, as no vector is stored in a shared scalar. So does a loop, as
/// no mask leaves a loop that all lanes leave together.
pub(in crate::compile) fn varying(program: &Program, plan: &Plan<'_>) -> Varying {
    let function = &program.entry().function;
    let kept = plan.homes.iter().filter(|(_, home)| **home == Home::Invocation);
    let mut search = Search {
        program,
        function,
        expressions: vec![false; function.expressions.len()],
        locals: kept.map(|(local, _)| *local).collect(),
        loops: FxHashSet::default(),
        changed: true,
    };
    while search.changed {
        search.changed = false;
        for (handle, expression) in function.expressions.iter() {
            if search.differs(expression) {
                search.mark(handle);
            }
        }
        search.block(&function.body, false);
    }
    Varying { locals: search.locals, loops: search.loops }
}

struct Search<'m> {
    program: &'m Program,
    function: &'m Function,
    expressions: Vec<bool>,
    locals: FxHashSet<Handle<LocalVariable>>,
    loops: FxHashSet<*const Block>,
    changed: bool,
}

impl Search<'_> {
    fn is_varying(&self, expression: Handle<Expression>) -> bool {
        self.expressions[expression.index()]
    }

    fn mark(&mut self, expression: Handle<Expression>) {
        self.changed |= !self.expressions[expression.index()];
        self.expressions[expression.index()] = true;
    }

    fn differs(&self, expression: &Expression) -> bool {
        match expression {
            Expression::FunctionArgument(index) => {
                let argument = &self.function.arguments[*index as usize];
                argument.binding.as_ref().is_none_or(differs)
            }
            Expression::AccessIndex { base, index } if self.is_varying(*base) => match self.builtin(*base) {
                // The lanes follow the first axis.
                Some(binding) => differs(binding) && *index == 0,
                None => self.member(*base, *index).is_none_or(differs),
            },
            Expression::Load { pointer } => {
                let root = root(self.function, *pointer);
                let local = match &self.function.expressions[root] {
                    Expression::LocalVariable(local) => self.locals.contains(local),
                    _ => false,
                };
                local || self.is_varying(*pointer)
            }
            Expression::AtomicResult { .. } => true,
            _ => operands(expression).into_iter().any(|operand| self.is_varying(operand)),
        }
    }

    /// Returns the binding of an expression that is an argument, or a member of one.
    fn builtin(&self, expression: Handle<Expression>) -> Option<&Binding> {
        match &self.function.expressions[expression] {
            Expression::FunctionArgument(index) => self.function.arguments[*index as usize].binding.as_ref(),
            Expression::AccessIndex { base, index } => self.member(*base, *index),
            _ => None,
        }
    }

    /// Returns the binding of a member of an argument.
    fn member(&self, base: Handle<Expression>, index: u32) -> Option<&Binding> {
        let Expression::FunctionArgument(argument) = &self.function.expressions[base] else { return None };
        let ty = self.function.arguments[*argument as usize].ty;
        match &self.program.module().types[ty].inner {
            TypeInner::Struct { members, .. } => members[index as usize].binding.as_ref(),
            _ => None,
        }
    }

    fn block(&mut self, block: &Block, some: bool) {
        block.iter().for_each(|statement| self.statement(statement, some));
    }

    /// Visits a statement. `some` is `true` where maybe only some lanes execute it.
    fn statement(&mut self, statement: &Statement, some: bool) {
        match statement {
            Statement::Store { pointer, value } => {
                if let Some(local) = root_local(self.function, *pointer)
                    && (some || self.is_varying(*value) || self.is_varying(*pointer))
                {
                    self.changed |= self.locals.insert(local);
                }
            }
            Statement::Call { arguments, result: Some(result), .. }
                if arguments.iter().any(|argument| self.is_varying(*argument)) =>
            {
                self.mark(*result);
            }
            Statement::Block(block) => self.block(block, some),
            Statement::If { condition, accept, reject } => {
                let some = some || self.is_varying(*condition);
                self.block(accept, some);
                self.block(reject, some);
            }
            Statement::Loop { body, continuing, break_if } => {
                let ends = break_if.is_some_and(|condition| self.is_varying(condition));
                if ends || self.leaves_apart(body, false) {
                    self.changed |= self.loops.insert(std::ptr::from_ref(body));
                }
                let some = some || self.loops.contains(&std::ptr::from_ref(body));
                self.block(body, some);
                self.block(continuing, some);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| self.block(&case.body, true)),
            _ => {}
        }
    }

    /// Returns `true` if a jump that maybe only some lanes execute leaves the body of a loop.
    fn leaves_apart(&self, block: &Block, some: bool) -> bool {
        block.iter().any(|statement| match statement {
            Statement::Break | Statement::Continue => some,
            Statement::Block(inner) => self.leaves_apart(inner, some),
            Statement::If { condition, accept, reject } => {
                let some = some || self.is_varying(*condition);
                self.leaves_apart(accept, some) || self.leaves_apart(reject, some)
            }
            Statement::Switch { cases, .. } => cases.iter().any(|case| self.leaves_apart(&case.body, true)),
            _ => false,
        })
    }
}

fn differs(binding: &Binding) -> bool {
    let along = [BuiltIn::LocalInvocationId, BuiltIn::GlobalInvocationId, BuiltIn::LocalInvocationIndex];
    matches!(binding, Binding::BuiltIn(builtin) if along.contains(builtin))
}
