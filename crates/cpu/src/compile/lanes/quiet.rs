//! Short blocks that execute without a jump past them, with the mask of their lanes.

use super::{Local, Vector};
use crate::compile::layout::Kind;
use crate::compile::locals::root_local;
use naga::{BinaryOperator, Block, Expression, Handle, Literal, MathFunction as Fun, Statement};

/// Bounds the components that a block computes. A jump past more of them may take less time.
const MOST_COMPONENTS: usize = 16;

impl Vector<'_, '_, '_> {
    /// Returns `true` if a block computes a few values by instructions on vectors, and sets variables in registers.
    pub(super) fn is_quiet(&self, block: &Block) -> bool {
        let mut left = MOST_COMPONENTS;
        self.within(block, &mut left)
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
                self.lower.kind(*left) == Ok(Kind::F32) || self.is_power_of_two(*right)
            }
            Expression::Binary {
                op: BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight, right, ..
            } => {
                matches!(self.lower.expression(*right), Expression::Literal(_))
            }
            Expression::Math { fun, .. } => {
                matches!(
                    fun,
                    Fun::Abs | Fun::Min | Fun::Max | Fun::Clamp | Fun::Saturate | Fun::Fract | Fun::Mix
                )
            }
            Expression::Compose { .. }
            | Expression::Splat { .. }
            | Expression::Swizzle { .. }
            | Expression::AccessIndex { .. }
            | Expression::Unary { .. }
            | Expression::Binary { .. }
            | Expression::Select { .. } => true,
            Expression::As { expr, convert, .. } => {
                convert.is_none() || self.lower.kind(*expr) != Ok(Kind::F32)
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
