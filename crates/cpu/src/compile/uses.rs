//! The expressions that expressions and statements use.

use naga::{AtomicFunction, Barrier, Block, Expression, Function, GatherMode, Handle, Statement};
use smallvec::SmallVec;

type Handles = SmallVec<[Handle<Expression>; 4]>;

/// Lists the operands of an expression.
pub(super) fn operands(expression: &Expression) -> Handles {
    let mut operands = Handles::new();
    match expression {
        Expression::Compose { components, .. } => operands.extend(components.iter().copied()),
        Expression::Access { base, index } => operands.extend([*base, *index]),
        Expression::AccessIndex { base, .. } => operands.push(*base),
        Expression::Splat { value, .. } => operands.push(*value),
        Expression::Swizzle { vector, .. } => operands.push(*vector),
        Expression::Load { pointer } | Expression::ArrayLength(pointer) => operands.push(*pointer),
        Expression::Unary { expr, .. } | Expression::As { expr, .. } => operands.push(*expr),
        Expression::Binary { left, right, .. } => operands.extend([*left, *right]),
        Expression::Select { condition, accept, reject } => operands.extend([*condition, *accept, *reject]),
        Expression::Relational { argument, .. } => operands.push(*argument),
        Expression::Math { arg, arg1, arg2, arg3, .. } => {
            operands.extend([Some(*arg), *arg1, *arg2, *arg3].into_iter().flatten());
        }
        _ => {}
    }
    operands
}

/// Visits the expressions that a statement and the statements inside it use. An expression that the statement evaluates
/// counts with its operands.
pub(super) fn visit_uses(
    function: &Function,
    statement: &Statement,
    seen: &mut impl FnMut(Handle<Expression>),
) {
    match statement {
        Statement::Emit(range) => {
            for expression in range.clone() {
                operands(&function.expressions[expression]).into_iter().for_each(&mut *seen);
            }
        }
        Statement::Block(block) => visit_block(function, block, seen),
        Statement::If { condition, accept, reject } => {
            seen(*condition);
            visit_block(function, accept, seen);
            visit_block(function, reject, seen);
        }
        Statement::Switch { selector, cases } => {
            seen(*selector);
            cases.iter().for_each(|case| visit_block(function, &case.body, seen));
        }
        Statement::Loop { body, continuing, break_if } => {
            visit_block(function, body, seen);
            visit_block(function, continuing, seen);
            break_if.iter().copied().for_each(seen);
        }
        Statement::Return { value } => value.iter().copied().for_each(seen),
        Statement::Store { pointer, value } => [*pointer, *value].into_iter().for_each(seen),
        Statement::Atomic { pointer, fun, value, .. } => {
            [*pointer, *value].into_iter().for_each(&mut *seen);
            if let AtomicFunction::Exchange { compare: Some(compare) } = fun {
                seen(*compare);
            }
        }
        Statement::Call { arguments, .. } => arguments.iter().copied().for_each(seen),
        Statement::WorkGroupUniformLoad { pointer, .. } => seen(*pointer),
        Statement::SubgroupBallot { predicate, .. } => predicate.iter().copied().for_each(seen),
        Statement::SubgroupGather { mode, argument, .. } => {
            [Some(*argument), lane_of(*mode)].into_iter().flatten().for_each(seen);
        }
        Statement::SubgroupCollectiveOperation { argument, .. } => seen(*argument),
        _ => {}
    }
}

/// Returns the lane index or offset operand of a subgroup gather.
fn lane_of(mode: GatherMode) -> Option<Handle<Expression>> {
    match mode {
        GatherMode::BroadcastFirst | GatherMode::QuadSwap(_) => None,
        GatherMode::Broadcast(lane)
        | GatherMode::Shuffle(lane)
        | GatherMode::ShuffleDown(lane)
        | GatherMode::ShuffleUp(lane)
        | GatherMode::ShuffleXor(lane)
        | GatherMode::QuadBroadcast(lane) => Some(lane),
    }
}

fn visit_block(function: &Function, block: &Block, seen: &mut impl FnMut(Handle<Expression>)) {
    block.iter().for_each(|statement| visit_uses(function, statement, seen));
}

/// Visits the expressions that a statement and the statements inside it evaluate.
pub(super) fn visit_results(statement: &Statement, seen: &mut impl FnMut(Handle<Expression>)) {
    let mut one = |statement: &Statement| match statement {
        Statement::Emit(range) => range.clone().for_each(&mut *seen),
        Statement::Call { result, .. } | Statement::Atomic { result, .. } => {
            result.iter().copied().for_each(&mut *seen);
        }
        Statement::WorkGroupUniformLoad { result, .. }
        | Statement::SubgroupBallot { result, .. }
        | Statement::SubgroupGather { result, .. }
        | Statement::SubgroupCollectiveOperation { result, .. } => seen(*result),
        _ => {}
    };
    crate::statements::visit_one(statement, &mut one);
}

/// Context that tells which jumps of an inner statement stay within the visited one.
#[derive(Clone, Copy, Default)]
pub(super) struct Inside {
    /// `true` for a statement inside a loop or a `switch` of the visited statement.
    breaks: bool,
    /// `true` for a statement inside a loop of the visited statement.
    continues: bool,
}

impl Inside {
    /// Describes a statement in the body of a loop; only a `return` leaves the visited statement.
    pub(super) fn in_loop() -> Self {
        Self { breaks: true, continues: true }
    }

    /// Describes a statement of a body of a `switch`.
    pub(super) fn in_switch() -> Self {
        Self { breaks: true, continues: false }
    }
}

/// Returns `true` if a jump may leave a statement.
pub(super) fn escapes(statement: &Statement, inside: Inside) -> bool {
    let block = |block: &Block, inside| block.iter().any(|statement| escapes(statement, inside));
    match statement {
        Statement::Break => !inside.breaks,
        Statement::Continue => !inside.continues,
        Statement::Return { .. } => true,
        Statement::Block(inner) => block(inner, inside),
        Statement::If { accept, reject, .. } => block(accept, inside) || block(reject, inside),
        Statement::Switch { cases, .. } => {
            cases.iter().any(|case| block(&case.body, Inside { breaks: true, ..inside }))
        }
        Statement::Loop { body, continuing, .. } => {
            let inside = Inside { breaks: true, continues: true };
            block(body, inside) || block(continuing, inside)
        }
        _ => false,
    }
}

/// Returns `true` if a statement is or contains a `return`.
pub(super) fn returns(statement: &Statement) -> bool {
    let mut found = false;
    crate::statements::visit_one(statement, &mut |inner| found |= matches!(inner, Statement::Return { .. }));
    found
}

/// Returns `true` if a statement contains a barrier.
pub(super) fn has_barrier(statement: &Statement) -> bool {
    let block = |block: &Block| block.iter().any(has_barrier);
    match statement {
        Statement::ControlBarrier(barrier) => *barrier != Barrier::SUB_GROUP,
        Statement::WorkGroupUniformLoad { .. } => true,
        Statement::Block(inner) => block(inner),
        Statement::If { accept, reject, .. } => block(accept) || block(reject),
        Statement::Switch { cases, .. } => cases.iter().any(|case| block(&case.body)),
        Statement::Loop { body, continuing, .. } => block(body) || block(continuing),
        _ => false,
    }
}

/// Returns `true` if all invocations of a workgroup must execute a statement together.
pub(super) fn is_common(statement: &Statement) -> bool {
    has_barrier(statement) || escapes(statement, Inside::default())
}
