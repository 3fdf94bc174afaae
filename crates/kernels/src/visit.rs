//! Visitors of the functions, statements and operands of a naga module.

use std::collections::HashSet;

use naga::{
    AtomicFunction, Block, Expression, Function, GatherMode, Handle, Range, Span, Statement, SwitchCase,
};

/// Returns the expressions that an expression uses, or `None` if kernels cannot contain it, such as an image
/// expression.
pub(crate) fn operands(expression: &mut Expression) -> Option<Vec<&mut Handle<Expression>>> {
    Some(match expression {
        Expression::Literal(_)
        | Expression::Constant(_)
        | Expression::Override(_)
        | Expression::ZeroValue(_)
        | Expression::FunctionArgument(_)
        | Expression::GlobalVariable(_)
        | Expression::LocalVariable(_)
        | Expression::CallResult(_)
        | Expression::AtomicResult { .. }
        | Expression::SubgroupBallotResult
        | Expression::SubgroupOperationResult { .. }
        | Expression::WorkGroupUniformLoadResult { .. } => Vec::new(),
        Expression::Compose { components, .. } => components.iter_mut().collect(),
        Expression::Access { base, index } => vec![base, index],
        Expression::AccessIndex { base: one, .. }
        | Expression::Splat { value: one, .. }
        | Expression::Swizzle { vector: one, .. }
        | Expression::Load { pointer: one }
        | Expression::ArrayLength(one)
        | Expression::Unary { expr: one, .. }
        | Expression::As { expr: one, .. }
        | Expression::Relational { argument: one, .. } => vec![one],
        Expression::Binary { left, right, .. } => vec![left, right],
        Expression::Select { condition, accept, reject } => vec![condition, accept, reject],
        Expression::Math { arg, arg1, arg2, arg3, .. } => {
            let more = [arg1, arg2, arg3].into_iter().filter_map(Option::as_mut);
            std::iter::once(arg).chain(more).collect()
        }
        _ => return None,
    })
}

/// Expressions of a statement, without the expressions of the blocks in it.
#[derive(Default)]
pub(crate) struct StatementOperands<'s> {
    pub(crate) uses: Vec<&'s mut Handle<Expression>>,
    /// Expression that is the result of the statement, if it is not an `Emit`.
    pub(crate) result: Option<&'s mut Handle<Expression>>,
}

/// Returns the expressions of a statement, or `None` if kernels cannot contain it. For an `Emit`, the list is empty.
pub(crate) fn parts(statement: &mut Statement) -> Option<StatementOperands<'_>> {
    let mut uses = Vec::new();
    let mut made = None;
    match statement {
        Statement::Emit(_)
        | Statement::Block(_)
        | Statement::Break
        | Statement::Continue
        | Statement::ControlBarrier(_)
        | Statement::MemoryBarrier(_) => {}
        Statement::If { condition: one, .. } | Statement::Switch { selector: one, .. } => uses.push(one),
        Statement::Loop { break_if: one, .. } | Statement::Return { value: one } => uses.extend(one),
        Statement::Store { pointer, value } => uses.extend([pointer, value]),
        Statement::Atomic { pointer, fun, value, result } => {
            uses.extend([pointer, value]);
            if let AtomicFunction::Exchange { compare } = fun {
                uses.extend(compare);
            }
            made = result.as_mut();
        }
        Statement::WorkGroupUniformLoad { pointer, result } => {
            uses.push(pointer);
            made = Some(result);
        }
        Statement::Call { arguments, result, .. } => {
            uses.extend(arguments);
            made = result.as_mut();
        }
        Statement::SubgroupBallot { result, predicate } => {
            uses.extend(predicate);
            made = Some(result);
        }
        Statement::SubgroupCollectiveOperation { argument, result, .. } => {
            uses.push(argument);
            made = Some(result);
        }
        Statement::SubgroupGather { mode, argument, result } => {
            uses.push(argument);
            match mode {
                GatherMode::BroadcastFirst | GatherMode::QuadSwap(_) => {}
                GatherMode::Broadcast(lane)
                | GatherMode::Shuffle(lane)
                | GatherMode::ShuffleDown(lane)
                | GatherMode::ShuffleUp(lane)
                | GatherMode::ShuffleXor(lane)
                | GatherMode::QuadBroadcast(lane) => uses.push(lane),
            }
            made = Some(result);
        }
        _ => return None,
    }
    Some(StatementOperands { uses, result: made })
}

/// Returns the blocks of a statement.
pub(crate) fn inner_blocks(statement: &mut Statement) -> Vec<&mut Block> {
    match statement {
        Statement::Block(block) => vec![block],
        Statement::If { accept, reject, .. } => vec![accept, reject],
        Statement::Loop { body, continuing, .. } => vec![body, continuing],
        Statement::Switch { cases, .. } => cases.iter_mut().map(|SwitchCase { body, .. }| body).collect(),
        _ => Vec::new(),
    }
}

/// Calls `change` for each statement of a block and of the blocks in it.
pub(crate) fn for_each_statement(block: &mut Block, change: &mut impl FnMut(&mut Statement)) {
    for statement in block.iter_mut() {
        change(statement);
        inner_blocks(statement).into_iter().for_each(|inner| for_each_statement(inner, change));
    }
}

/// Returns the expressions that the statements of a block evaluate. The others are constants, arguments, variables, or results
/// of statements.
pub(crate) fn emitted(block: &Block) -> HashSet<Handle<Expression>> {
    let mut found = HashSet::new();
    // The visitor of statements changes them.
    for_each_statement(&mut block.clone(), &mut |statement| {
        if let Statement::Emit(range) = statement {
            found.extend(range.clone());
        }
    });
    found
}

/// Adds the evaluation of expressions in the order of their handles.
pub(crate) fn emit(expressions: &[Handle<Expression>], span: Span, block: &mut Block) {
    for part in expressions.chunk_by(|one, next| one.index() + 1 == next.index()) {
        block.push(Statement::Emit(Range::new_from_bounds(part[0], part[part.len() - 1])), span);
    }
}

/// Calls `change` for each function of a module, starting with this index, and for the entry points.
pub(crate) fn for_each_function(
    module: &mut naga::Module,
    first: usize,
    mut change: impl FnMut(&mut naga::Module, &mut Function),
) {
    let handles: Vec<_> = module.functions.iter().map(|(handle, _)| handle).skip(first).collect();
    for handle in handles {
        let mut function = std::mem::take(&mut module.functions[handle]);
        change(module, &mut function);
        module.functions[handle] = function;
    }
    for at in 0..module.entry_points.len() {
        let mut function = std::mem::take(&mut module.entry_points[at].function);
        change(module, &mut function);
        module.entry_points[at].function = function;
    }
}
