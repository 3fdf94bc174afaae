//! The body of a function in place of its call.

use super::copy::{Call, Copier, Map, emit};
use crate::compile::shared::visit;
use crate::compile::uses::{Inside, escapes, has_barrier};
use naga::{Block, Expression, Function, Handle, LocalVariable, Span, Statement};
use rustc_hash::FxHashMap;

/// Says what a `return` becomes.
#[derive(Clone, Copy)]
pub(super) enum Exit {
    Return,
    /// Nothing follows the `return`. The pointer is that of the variable for the result.
    Last(Option<Handle<Expression>>),
    /// The body is a loop, which the `return` leaves.
    Leave(Option<Handle<Expression>>),
}

impl Exit {
    /// Adds what a `return` becomes.
    pub(super) fn leave(self, value: Option<Handle<Expression>>, span: Span, copy: &mut Block) {
        let pointer = match self {
            Self::Return => return copy.push(Statement::Return { value }, span),
            Self::Last(pointer) | Self::Leave(pointer) => pointer,
        };
        if let (Some(pointer), Some(value)) = (pointer, value) {
            copy.push(Statement::Store { pointer, value }, span);
        }
        if matches!(self, Self::Leave(_)) {
            copy.push(Statement::Break, span);
        }
    }
}

/// Is a function whose body replaces a call.
pub(super) struct Callee<'f> {
    function: &'f Function,
    map: Map,
    exit: Exit,
    /// Holds the pointers and the first values of the variables that the call sets.
    first: Vec<[Handle<Expression>; 2]>,
    /// Is the load of the result.
    load: Option<Handle<Expression>>,
}

impl<'f> Callee<'f> {
    /// Adds the variables and the expressions of a function to its caller. `outer` says where the expressions of the caller
    /// are.
    pub(super) fn new(
        call: &Call<'_>,
        function: &'f Function,
        outer: &Map,
        target: &mut Function,
    ) -> Option<Self> {
        let leaves = leaves_early(&function.body)?;
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
        // Each execution of a call in a loop sets the variables anew.
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
        let (mut pointer, mut load) = (None, None);
        if let Some(result) = function.result.as_ref().filter(|_| call.result.is_some()) {
            let local = LocalVariable { name: Some("result".into()), ty: result.ty, init: None };
            let local = target.local_variables.append(local, Span::UNDEFINED);
            let place = target.expressions.append(Expression::LocalVariable(local), Span::UNDEFINED);
            load = Some(target.expressions.append(Expression::Load { pointer: place }, Span::UNDEFINED));
            pointer = Some(place);
        }
        let exit = if leaves { Exit::Leave(pointer) } else { Exit::Last(pointer) };
        Some(Self { function, map, exit, first, load })
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
        let callees = FxHashMap::default();
        let mut body =
            Copier { map: &self.map, exit: self.exit, callees: &callees }.block(&self.function.body)?;
        if matches!(self.exit, Exit::Leave(_)) {
            body = rest_of(body, &mut whole);
            if !matches!(body.last(), Some(Statement::Break)) {
                body.push(Statement::Break, span);
            }
            whole.push(Statement::Loop { body, continuing: Block::new(), break_if: None }, span);
        } else {
            whole.append(&mut body);
        }
        copy.push(Statement::Block(whole), span);
        // The caller does not see what is evaluated in an inner block.
        if let Some(load) = self.load {
            emit(&[load], span, copy);
        }
        Some(())
    }
}

/// Moves the statements up to the last barrier to another block, and returns the others, unless an earlier statement returns.
/// The others have no barrier, so each invocation leaves them by itself.
fn rest_of(body: Block, before: &mut Block) -> Block {
    let start = body.iter().rposition(has_barrier).map_or(0, |last| last + 1);
    if body.iter().take(start).any(|statement| escapes(statement, Inside::default())) {
        return body;
    }
    let mut rest = Block::new();
    for (at, (statement, span)) in body.span_into_iter().enumerate() {
        let part = if at < start { &mut *before } else { &mut rest };
        part.push(statement, span);
    }
    rest
}

/// Counts the returns of a body.
#[derive(Default)]
struct Returns {
    /// Is `true` if statements follow one.
    early: bool,
    in_loop: bool,
    in_switch: bool,
}

impl Returns {
    /// Visits a block. `last` is `true` if nothing follows the block.
    fn block(&mut self, block: &Block, last: bool) {
        for (at, statement) in block.iter().enumerate() {
            self.statement(statement, last && at + 1 == block.len());
        }
    }

    fn statement(&mut self, statement: &Statement, last: bool) {
        match statement {
            Statement::Return { .. } => self.early |= !last,
            Statement::Block(inner) => self.block(inner, last),
            Statement::If { accept, reject, .. } => {
                self.block(accept, last);
                self.block(reject, last);
            }
            Statement::Switch { cases, .. } => {
                cases.iter().for_each(|case| self.block(&case.body, last));
                self.in_switch |= cases.iter().any(|case| returns(&case.body));
            }
            Statement::Loop { body, continuing, .. } => {
                self.in_loop |= returns(body) || returns(continuing);
            }
            _ => {}
        }
    }
}

fn returns(block: &Block) -> bool {
    let mut found = false;
    visit(block, &mut |statement| found |= matches!(statement, Statement::Return { .. }));
    found
}

/// Returns `true` if a body returns before its last statement, and `None` if it does so out of a `switch`, or out of a loop.
fn leaves_early(body: &Block) -> Option<bool> {
    let mut returns = Returns::default();
    returns.block(body, true);
    let refused = returns.in_loop || returns.early && returns.in_switch;
    (!refused).then_some(returns.early)
}
