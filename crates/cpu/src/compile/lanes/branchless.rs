//! Short blocks that are executed under a mask, without a branch around them.

use super::{Lane, Lanes, Local, Vector, Vectors};
use crate::arith::builtin;
use crate::compile::layout::Kind;
use crate::compile::locals::root_local;
use crate::compile::refusal::Result;
use naga::{BinaryOperator, Block, Expression, Handle, Literal, LocalVariable, Statement};

/// Maximum number of components that a block without a branch computes. For more, a branch around the block may be
/// faster.
const MOST_COMPONENTS: usize = 16;

impl<'m> Vector<'_, '_, 'm> {
    /// Returns `true` if a block only computes a few values by vector instructions and sets variables in registers.
    pub(super) fn is_branchless(&self, block: &Block) -> bool {
        let mut left = MOST_COMPONENTS;
        self.within(block, &mut left)
    }

    /// Translates two blocks that only set the same variable as a selection, which is faster than two masks. Returns
    /// `false` for other blocks.
    pub(super) fn selects(
        &mut self,
        condition: Vectors,
        accept: &'m Block,
        reject: &'m Block,
    ) -> Result<bool> {
        let (Some((local, first)), Some((other, second))) =
            (self.assignment(accept), self.assignment(reject))
        else {
            return Ok(false);
        };
        let variable = &self.lower.frame.function.local_variables[local];
        let kinds = self.kinds(self.lower.types().inner(variable.ty))?;
        let Some(place @ Local::Each(_)) = self.body.locals.get(&local).cloned() else { return Ok(false) };
        if local != other {
            return Ok(false);
        }
        for (statement, span) in accept.span_iter().chain(reject.span_iter()) {
            if matches!(statement, Statement::Emit(_)) {
                self.statement(statement, *span)?;
            }
        }
        let values = self.value(first)?;
        let others = self.value(second)?;
        let is = |expression, value| {
            *self.lower.expression(expression) == Expression::Literal(Literal::Bool(value))
        };
        let with_false = is(second, false);
        let with_true = is(first, true);
        let mut chosen = Lanes::new();
        for (&kind, (value, other)) in kinds.iter().zip(values.into_iter().zip(others)) {
            chosen.push(if with_false {
                let value = self.each(kind, value);
                Lane::Each(self.both(condition, value))
            } else if with_true {
                let other = self.each(kind, other);
                Lane::Each(self.either(condition, other))
            } else {
                self.choose(kind, Lane::Each(condition), value, other)
            });
        }
        // An unnamed variable holds the value of `&&` or `||`, and only lanes that set it read it.
        let is_passing = variable.name.is_none() && kinds == [Kind::Bool];
        let mask = if is_passing { None } else { self.changing() };
        self.assign(&place, &kinds, &chosen, mask)?;
        Ok(true)
    }

    /// Returns the variable that a branchless block sets at its end, and its value.
    fn assignment(&self, block: &Block) -> Option<(Handle<LocalVariable>, Handle<Expression>)> {
        let (last, before) = block.split_last()?;
        let Statement::Store { pointer, value } = last else { return None };
        let Expression::LocalVariable(local) = self.lower.expression(*pointer) else { return None };
        let evaluates = before.iter().all(|statement| matches!(statement, Statement::Emit(_)));
        (evaluates && self.is_branchless(block)).then_some((*local, *value))
    }

    fn within(&self, block: &Block, left: &mut usize) -> bool {
        block.iter().all(|statement| match statement {
            Statement::Emit(range) => range.clone().all(|expression| {
                // A pointer is evaluated where it is used.
                if self.lower.ty(expression).pointer_space().is_some() {
                    return true;
                }
                let count = self.lower.types().count(self.lower.ty(expression)).unwrap_or(usize::MAX);
                match left.checked_sub(count) {
                    Some(rest) => *left = rest,
                    None => return false,
                }
                self.is_quick(expression)
            }),
            Statement::Block(inner) => self.within(inner, left),
            Statement::If { accept, reject, .. } => self.within(accept, left) && self.within(reject, left),
            Statement::Store { pointer, .. } => self.is_in_registers(*pointer),
            _ => false,
        })
    }

    fn is_quick(&self, expression: Handle<Expression>) -> bool {
        match self.lower.expression(expression) {
            Expression::Load { pointer } => self.is_in_registers(*pointer),
            Expression::Binary { op: BinaryOperator::Divide | BinaryOperator::Modulo, left, right } => {
                self.lower.kind(*left).is_ok_and(Kind::is_float) || self.is_power_of_two(*right)
            }
            Expression::Binary {
                op: BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight, right, ..
            } => {
                matches!(self.lower.expression(*right), Expression::Literal(_))
            }
            Expression::Math { fun, .. } => builtin(*fun).is_cheap,
            Expression::Compose { .. }
            | Expression::Splat { .. }
            | Expression::Swizzle { .. }
            | Expression::AccessIndex { .. }
            | Expression::Unary { .. }
            | Expression::Binary { .. }
            | Expression::Select { .. } => true,
            Expression::As { expr, convert, .. } => {
                convert.is_none() || !self.lower.kind(*expr).is_ok_and(Kind::is_float)
            }
            _ => false,
        }
    }

    fn is_power_of_two(&self, expression: Handle<Expression>) -> bool {
        match self.lower.expression(expression) {
            Expression::Literal(Literal::U32(value)) => value.is_power_of_two(),
            Expression::Literal(Literal::I32(value)) => *value > 0 && value.cast_unsigned().is_power_of_two(),
            _ => false,
        }
    }

    fn is_in_registers(&self, pointer: Handle<Expression>) -> bool {
        let local = root_local(self.lower.frame.function, pointer);
        let local = local.and_then(|local| self.body.locals.get(&local));
        matches!(local, Some(Local::Each(_) | Local::Shared(_)))
    }
}
