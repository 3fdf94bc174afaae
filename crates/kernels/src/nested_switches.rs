//! Rewrites `continue` inside nested `switch` statements.
//!
//! Mesa's GLSL compiler loses a `continue` in a `switch` inside another `switch`, and runs another case instead. Here
//! such a statement sets a flag and leaves the inner `switch`; after that `switch`, the flag is tested and the
//! `continue` executed.

use naga::{
    Block, Expression, Function, Handle, Literal, LocalVariable, Module, Range, Scalar, Span, Statement,
};
use naga::{Type, TypeInner};

use crate::visit::for_each_function;

/// Rewrites a function so that no `continue` is inside more than one `switch` of its loop.
pub(crate) fn lower_nested_continues(module: &mut Module) {
    let bool = Type { name: None, inner: TypeInner::Scalar(Scalar::BOOL) };
    for_each_function(module, 0, |module, function| {
        if !has_deep_continue(&function.body, 0) {
            return;
        }
        let ty = module.types.insert(bool.clone(), Span::UNDEFINED);
        let flag = LocalVariable { name: Some("continues".into()), ty, init: None };
        let flag = function.local_variables.append(flag, Span::UNDEFINED);
        let mut add = |expression| function.expressions.append(expression, Span::UNDEFINED);
        let flag = add(Expression::LocalVariable(flag));
        let [set, unset] = [true, false].map(|value| add(Expression::Literal(Literal::Bool(value))));
        let mut body = std::mem::take(&mut function.body);
        Rewriter { function, flag, set, unset }.rewrite(&mut body, 0);
        function.body = body;
    });
}

/// Returns `true` if a block contains a `continue` inside two or more `switch` statements of its loop. `depth` is the
/// number around the block.
fn has_deep_continue(block: &Block, depth: usize) -> bool {
    block.iter().any(|statement| match statement {
        Statement::Continue => depth >= 2,
        Statement::Block(block) => has_deep_continue(block, depth),
        Statement::If { accept, reject, .. } => {
            has_deep_continue(accept, depth) || has_deep_continue(reject, depth)
        }
        Statement::Switch { cases, .. } => cases.iter().any(|case| has_deep_continue(&case.body, depth + 1)),
        Statement::Loop { body, continuing, .. } => {
            has_deep_continue(body, 0) || has_deep_continue(continuing, 0)
        }
        _ => false,
    })
}

struct Rewriter<'f> {
    function: &'f mut Function,
    /// Pointer to the flag.
    flag: Handle<Expression>,
    set: Handle<Expression>,
    unset: Handle<Expression>,
}

impl Rewriter<'_> {
    /// Rewrites a block that is inside this many `switch` statements of its loop. Returns `true` if the block sets the
    /// flag.
    fn rewrite(&mut self, block: &mut Block, depth: usize) -> bool {
        let mut sets = false;
        for (mut statement, span) in std::mem::take(block).span_into_iter() {
            let mut is_left = false;
            match &mut statement {
                Statement::Continue if depth >= 2 => {
                    block.push(Statement::Store { pointer: self.flag, value: self.set }, span);
                    statement = Statement::Break;
                    sets = true;
                }
                Statement::Block(inner) => sets |= self.rewrite(inner, depth),
                Statement::If { accept, reject, .. } => {
                    sets |= self.rewrite(accept, depth);
                    sets |= self.rewrite(reject, depth);
                }
                Statement::Switch { cases, .. } => {
                    for case in cases {
                        is_left |= self.rewrite(&mut case.body, depth + 1);
                    }
                }
                Statement::Loop { body, continuing, .. } => {
                    if self.rewrite(body, 0) {
                        let unset = Statement::Store { pointer: self.flag, value: self.unset };
                        let mut begun = Block::from_vec(vec![unset]);
                        begun.append(body);
                        *body = begun;
                    }
                    self.rewrite(continuing, 0);
                }
                _ => {}
            }
            block.push(statement, span);
            if is_left {
                self.go_on(block, depth, span);
                sets = true;
            }
        }
        sets
    }

    /// Adds the test of the flag after a `switch`.
    fn go_on(&mut self, block: &mut Block, depth: usize, span: Span) {
        let load = self.function.expressions.append(Expression::Load { pointer: self.flag }, span);
        block.push(Statement::Emit(Range::new_from_bounds(load, load)), span);
        let way = if depth >= 2 { Statement::Break } else { Statement::Continue };
        let accept = Block::from_vec(vec![way]);
        block.push(Statement::If { condition: load, accept, reject: Block::new() }, span);
    }
}
