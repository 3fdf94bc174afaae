//! Inlines the body of a function in place of its call.

use super::copy::{Call, Copier, Map, emit};
use super::exit::{Exit, Flags, Leave};
use crate::compile::uses::{has_barrier, returns};
use naga::{Block, Expression, Function, Handle, LocalVariable, Span, Statement, Type};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A function that is inlined in place of a call.
pub(super) struct Callee<'f> {
    function: &'f Function,
    map: Map,
    early: Part,
    rest: Part,
    flags: Flags,
    /// Pointers and first values of the variables that the call sets.
    first: Vec<[Handle<Expression>; 2]>,
    /// Load of the result.
    load: Option<Handle<Expression>>,
}

/// A part of the body: the statements up to the last barrier, or those after it, where each invocation may return
/// separately.
struct Part {
    statements: Range<usize>,
    exit: Exit,
}

impl<'f> Callee<'f> {
    /// Adds the variables and the expressions of a function to its caller. `outer` maps the expressions of the caller,
    /// and `flag` is the bool type.
    pub(super) fn new(
        call: &Call<'_>,
        (function, flag): (&'f Function, Handle<Type>),
        outer: &Map,
        target: &mut Function,
    ) -> Option<Self> {
        let mut map = Map::default();
        map.add_locals(function, target);
        for (handle, expression) in function.expressions.iter() {
            let span = function.expressions.get_span(handle);
            let new = match expression {
                Expression::FunctionArgument(index) => outer.get(call.arguments[*index as usize])?,
                _ => target.expressions.append(map.renamed(expression)?, span),
            };
            map.expressions.push(new);
        }
        // In a loop, each execution of the call initialises the variables again.
        let mut first = Vec::new();
        if call.repeats {
            for ((_, local), &new) in function.local_variables.iter().zip(&map.locals) {
                let pointer = target.expressions.append(Expression::LocalVariable(new), Span::UNDEFINED);
                let value = match local.init {
                    Some(init) => map.get(init)?,
                    None => target.expressions.append(Expression::ZeroValue(local.ty), Span::UNDEFINED),
                };
                first.push([pointer, value]);
            }
        } else {
            map.set_first_values(function, target)?;
        }
        let mut pointer = None;
        let mut load = None;
        if let Some(result) = function.result.as_ref().filter(|_| call.result.is_some()) {
            let local = LocalVariable { name: Some("result".into()), ty: result.ty, init: None };
            let local = target.local_variables.append(local, Span::UNDEFINED);
            let place = target.expressions.append(Expression::LocalVariable(local), Span::UNDEFINED);
            load = Some(target.expressions.append(Expression::Load { pointer: place }, Span::UNDEFINED));
            pointer = Some(place);
        }
        let mut flags = Flags::new(target);
        let start = function.body.iter().rposition(has_barrier).map_or(0, |last| last + 1);
        let mut part = |statements: Range<usize>, together: bool| {
            let body = &function.body[statements.clone()];
            let exit = if body.iter().any(returns) && (together || returns_early(body, true)) {
                let returned = flags.add(body, flag, target);
                Exit::Leave(Leave { result: pointer, returned, together })
            } else {
                Exit::Last(pointer)
            };
            Part { statements, exit }
        };
        let early = part(0..start, true);
        let rest = part(start..function.body.len(), false);
        Some(Self { function, map, early, rest, flags, first, load })
    }

    /// Returns the load of the result.
    pub(super) fn result(&self) -> Option<Handle<Expression>> {
        self.load
    }

    /// Adds the statements that replace the call.
    pub(super) fn replace(&self, span: Span, copy: &mut Block) -> Option<()> {
        let mut whole = Block::new();
        for &[pointer, value] in &self.first {
            whole.push(Statement::Store { pointer, value }, span);
        }
        let mut body = self.part(&self.early)?;
        let mut rest = self.part(&self.rest)?;
        if matches!(self.rest.exit, Exit::Leave(_)) {
            rest = self.left_by_break(&self.rest, rest, span);
        }
        body.append(&mut rest);
        if matches!(self.early.exit, Exit::Leave(_)) {
            body = self.left_by_break(&self.early, body, span);
        }
        whole.append(&mut body);
        copy.push(Statement::Block(whole), span);
        // An expression that is evaluated in an inner block is not visible to the caller.
        if let Some(load) = self.load {
            emit(&[load], span, copy);
        }
        Some(())
    }

    fn part(&self, part: &Part) -> Option<Block> {
        let callees = FxHashMap::default();
        let map = &self.map;
        let exit = part.exit;
        let flags = Some(&self.flags);
        let copier = Copier { map, exit, inside: false, flags, callees: &callees };
        copier.statements(
            self.function.body.span_iter().skip(part.statements.start).take(part.statements.len()),
        )
    }

    /// Puts statements into a loop with one iteration, so that they can be left with `break`.
    fn left_by_break(&self, part: &Part, mut body: Block, span: Span) -> Block {
        if !matches!(body.last(), Some(Statement::Break)) {
            body.push(Statement::Break, span);
        }
        let mut whole = Block::new();
        if let Exit::Leave(leave) = part.exit {
            whole.push(Statement::Store { pointer: leave.returned, value: self.flags.no }, span);
        }
        whole.push(Statement::Loop { body, continuing: Block::new(), break_if: None }, span);
        whole
    }
}

/// Returns `true` if a body returns before its last statement, or from inside a loop. `last` is `true` if nothing
/// follows the body.
fn returns_early(body: &[Statement], last: bool) -> bool {
    body.iter().enumerate().any(|(at, statement)| {
        let last = last && at + 1 == body.len();
        match statement {
            Statement::Return { .. } => !last,
            Statement::Block(inner) => returns_early(inner, last),
            Statement::If { accept, reject, .. } => {
                returns_early(accept, last) || returns_early(reject, last)
            }
            Statement::Switch { cases, .. } => cases.iter().any(|case| returns_early(&case.body, last)),
            Statement::Loop { .. } => returns(statement),
            _ => false,
        }
    })
}
