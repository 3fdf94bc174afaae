//! Copies a function and inlines its calls.

use super::Barred;
use super::callee::Callee;
use super::exit::{Exit, Flags};
use naga::{
    AtomicFunction, Block, Expression, Function, GatherMode, Handle, LocalVariable, Range, Span, Statement,
    SwitchCase, Type,
};
use rustc_hash::FxHashMap;

/// Copies of a function's expressions and variables in another function, in the order of their handles.
#[derive(Default)]
pub(super) struct Map {
    pub(super) expressions: Vec<Handle<Expression>>,
    pub(super) locals: Vec<Handle<LocalVariable>>,
}

/// A call that is inlined.
pub(super) struct Call<'f> {
    statement: *const Statement,
    pub(super) function: Handle<Function>,
    pub(super) arguments: &'f [Handle<Expression>],
    pub(super) result: Option<Handle<Expression>>,
    /// `true` if a loop may repeat the call.
    pub(super) repeats: bool,
}

/// Returns a copy of a function with some calls inlined, or `None` if something cannot be copied. `flag` is the bool
/// type.
pub(super) fn expand(function: &Function, barred: &Barred, flag: Handle<Type>) -> Option<Function> {
    let mut calls = Vec::new();
    find_calls(&function.body, barred, false, &mut calls);
    let mut target = Function {
        name: function.name.clone(),
        arguments: function.arguments.clone(),
        result: function.result.clone(),
        diagnostic_filter_leaf: function.diagnostic_filter_leaf,
        ..Function::default()
    };
    let mut map = Map::default();
    map.add_locals(function, &mut target);
    let mut callees = FxHashMap::default();
    for (handle, expression) in function.expressions.iter() {
        let span = function.expressions.get_span(handle);
        let new = match calls.iter().find(|call| call.result == Some(handle)) {
            Some(call) => {
                let callee = Callee::new(call, (&barred[&call.function], flag), &map, &mut target)?;
                let result = callee.result()?;
                callees.insert(call.statement, callee);
                result
            }
            None => target.expressions.append(map.renamed(expression)?, span),
        };
        map.expressions.push(new);
    }
    for call in calls.iter().filter(|call| call.result.is_none()) {
        let callee = Callee::new(call, (&barred[&call.function], flag), &map, &mut target)?;
        callees.insert(call.statement, callee);
    }
    map.set_first_values(function, &mut target)?;
    let copier = Copier { map: &map, exit: Exit::Return, inside: false, flags: None, callees: &callees };
    target.body = copier.block(&function.body)?;
    Some(target)
}

fn find_calls<'f>(block: &'f Block, barred: &Barred, repeats: bool, calls: &mut Vec<Call<'f>>) {
    for statement in block {
        match statement {
            &Statement::Call { function, ref arguments, result } if barred.contains_key(&function) => {
                calls.push(Call { statement, function, arguments, result, repeats });
            }
            Statement::Block(inner) => find_calls(inner, barred, repeats, calls),
            Statement::If { accept, reject, .. } => {
                find_calls(accept, barred, repeats, calls);
                find_calls(reject, barred, repeats, calls);
            }
            Statement::Switch { cases, .. } => {
                cases.iter().for_each(|case| find_calls(&case.body, barred, repeats, calls));
            }
            Statement::Loop { body, continuing, .. } => {
                find_calls(body, barred, true, calls);
                find_calls(continuing, barred, true, calls);
            }
            _ => {}
        }
    }
}

impl Map {
    /// Adds the local variables of a function to another one, without their first values.
    pub(super) fn add_locals(&mut self, function: &Function, target: &mut Function) {
        for (handle, local) in function.local_variables.iter() {
            let span = function.local_variables.get_span(handle);
            let local = LocalVariable { init: None, ..local.clone() };
            self.locals.push(target.local_variables.append(local, span));
        }
    }

    /// Sets the first values of the local variables.
    pub(super) fn set_first_values(&self, function: &Function, target: &mut Function) -> Option<()> {
        for (local, &new) in function.local_variables.iter().map(|(_, local)| local).zip(&self.locals) {
            if let Some(init) = local.init {
                target.local_variables[new].init = Some(self.get(init)?);
            }
        }
        Some(())
    }

    /// Returns the copy of an expression, if it was copied already.
    pub(super) fn get(&self, expression: Handle<Expression>) -> Option<Handle<Expression>> {
        self.expressions.get(expression.index()).copied()
    }

    /// Returns an expression with copies as its operands.
    pub(super) fn renamed(&self, expression: &Expression) -> Option<Expression> {
        let mut copy = expression.clone();
        let operands = match &mut copy {
            Expression::Literal(_)
            | Expression::Constant(_)
            | Expression::ZeroValue(_)
            | Expression::FunctionArgument(_)
            | Expression::GlobalVariable(_)
            | Expression::CallResult(_)
            | Expression::AtomicResult { .. }
            | Expression::SubgroupBallotResult
            | Expression::SubgroupOperationResult { .. }
            | Expression::WorkGroupUniformLoadResult { .. } => vec![],
            Expression::LocalVariable(local) => {
                *local = self.locals[local.index()];
                vec![]
            }
            Expression::Compose { components, .. } => components.iter_mut().collect(),
            Expression::Access { base, index } => vec![base, index],
            Expression::AccessIndex { base, .. } => vec![base],
            Expression::Splat { value, .. } => vec![value],
            Expression::Swizzle { vector, .. } => vec![vector],
            Expression::Load { pointer } | Expression::ArrayLength(pointer) => vec![pointer],
            Expression::Unary { expr, .. } | Expression::As { expr, .. } => vec![expr],
            Expression::Binary { left, right, .. } => vec![left, right],
            Expression::Select { condition, accept, reject } => vec![condition, accept, reject],
            Expression::Relational { argument, .. } => vec![argument],
            Expression::Math { arg, arg1, arg2, arg3, .. } => {
                let more = [arg1, arg2, arg3].into_iter().filter_map(Option::as_mut);
                std::iter::once(arg).chain(more).collect()
            }
            _ => return None,
        };
        for operand in operands {
            *operand = self.get(*operand)?;
        }
        Some(copy)
    }
}

/// Copier of statements.
#[derive(Clone, Copy)]
pub(super) struct Copier<'c> {
    pub(super) map: &'c Map,
    /// Replacement of a `return`.
    pub(super) exit: Exit,
    /// `true` if a loop or a `switch` of the function is around the statements.
    pub(super) inside: bool,
    /// Expressions of a `return` out of a loop or a `switch`, in an inlined body.
    pub(super) flags: Option<&'c Flags>,
    /// Functions that are inlined.
    pub(super) callees: &'c FxHashMap<*const Statement, Callee<'c>>,
}

impl Copier<'_> {
    pub(super) fn block(&self, block: &Block) -> Option<Block> {
        self.statements(block.span_iter())
    }

    pub(super) fn statements<'s>(
        &self,
        statements: impl Iterator<Item = (&'s Statement, &'s Span)>,
    ) -> Option<Block> {
        let mut copy = Block::new();
        for (statement, span) in statements {
            self.statement(statement, *span, &mut copy)?;
        }
        Some(copy)
    }

    fn statement(&self, statement: &Statement, span: Span, copy: &mut Block) -> Option<()> {
        let of = |expression: &Handle<Expression>| self.map.get(*expression);
        let maybe = |expression: &Option<Handle<Expression>>| match expression {
            Some(expression) => of(expression).map(Some),
            None => Some(None),
        };
        let inner = Self { inside: true, ..*self };
        let new = match statement {
            Statement::Emit(range) => {
                let expressions = range.clone().map(|expression| of(&expression));
                emit(&expressions.collect::<Option<Vec<_>>>()?, span, copy);
                return Some(());
            }
            Statement::Return { value } => {
                self.exit.leave(maybe(value)?, (self.inside, self.flags), span, copy);
                return Some(());
            }
            Statement::Call { .. } if self.callees.contains_key(&std::ptr::from_ref(statement)) => {
                return self.callees[&std::ptr::from_ref(statement)].replace(span, copy);
            }
            Statement::Break | Statement::Continue => statement.clone(),
            Statement::ControlBarrier(_) | Statement::MemoryBarrier(_) => statement.clone(),
            Statement::Block(inner) => Statement::Block(self.block(inner)?),
            Statement::If { condition, accept, reject } => Statement::If {
                condition: of(condition)?,
                accept: self.block(accept)?,
                reject: self.block(reject)?,
            },
            Statement::Switch { selector, cases } => {
                let case = |case: &SwitchCase| Some(SwitchCase { body: inner.block(&case.body)?, ..*case });
                let cases = cases.iter().map(case).collect::<Option<_>>()?;
                Statement::Switch { selector: of(selector)?, cases }
            }
            Statement::Loop { body, continuing, break_if } => Statement::Loop {
                body: inner.block(body)?,
                continuing: inner.block(continuing)?,
                break_if: maybe(break_if)?,
            },
            Statement::Store { pointer, value } => {
                Statement::Store { pointer: of(pointer)?, value: of(value)? }
            }
            Statement::Atomic { pointer, fun, value, result } => {
                let fun = match fun {
                    AtomicFunction::Exchange { compare } => {
                        AtomicFunction::Exchange { compare: maybe(compare)? }
                    }
                    fun => *fun,
                };
                Statement::Atomic { pointer: of(pointer)?, fun, value: of(value)?, result: maybe(result)? }
            }
            Statement::WorkGroupUniformLoad { pointer, result } => {
                Statement::WorkGroupUniformLoad { pointer: of(pointer)?, result: of(result)? }
            }
            Statement::Call { function, arguments, result } => Statement::Call {
                function: *function,
                arguments: arguments.iter().map(of).collect::<Option<_>>()?,
                result: maybe(result)?,
            },
            Statement::SubgroupBallot { result, predicate } => {
                Statement::SubgroupBallot { result: of(result)?, predicate: maybe(predicate)? }
            }
            &Statement::SubgroupCollectiveOperation { op, collective_op, ref argument, ref result } => {
                let argument = of(argument)?;
                let result = of(result)?;
                Statement::SubgroupCollectiveOperation { op, collective_op, argument, result }
            }
            Statement::SubgroupGather { mode, argument, result } => Statement::SubgroupGather {
                mode: self.gather_mode(*mode)?,
                argument: of(argument)?,
                result: of(result)?,
            },
            _ => return None,
        };
        copy.push(new, span);
        if let Some(flags) = self.flags {
            flags.leave_outer(statement, span, copy);
        }
        Some(())
    }

    fn gather_mode(&self, mode: GatherMode) -> Option<GatherMode> {
        let of = |lane| self.map.get(lane);
        Some(match mode {
            GatherMode::BroadcastFirst | GatherMode::QuadSwap(_) => mode,
            GatherMode::Broadcast(lane) => GatherMode::Broadcast(of(lane)?),
            GatherMode::Shuffle(lane) => GatherMode::Shuffle(of(lane)?),
            GatherMode::ShuffleDown(lane) => GatherMode::ShuffleDown(of(lane)?),
            GatherMode::ShuffleUp(lane) => GatherMode::ShuffleUp(of(lane)?),
            GatherMode::ShuffleXor(lane) => GatherMode::ShuffleXor(of(lane)?),
            GatherMode::QuadBroadcast(lane) => GatherMode::QuadBroadcast(of(lane)?),
        })
    }
}

/// Adds the evaluation of expressions. Their handles are in ascending order, but not always consecutive.
pub(super) fn emit(expressions: &[Handle<Expression>], span: Span, copy: &mut Block) {
    for part in expressions.chunk_by(|one, next| one.index() + 1 == next.index()) {
        copy.push(Statement::Emit(Range::new_from_bounds(part[0], part[part.len() - 1])), span);
    }
}
