//! Expressions whose values do not depend on a run.

use crate::interpret::shape::Shapes;
use naga::{Arena, Expression, Handle, Literal, Module};
use std::rc::Rc;

/// Maximum number of slots of all constants of a function.
const LIMIT: usize = 1 << 22;

/// Values of the expressions of an arena; `None` for an expression that is not constant.
pub(super) type Constants = Vec<Option<Rc<[u64]>>>;

/// Evaluates the constants of the module.
pub(super) fn of_module(module: &Module, shapes: &Shapes<'_>) -> Constants {
    evaluate(module, shapes, &module.global_expressions, &Vec::new())
}

/// Evaluates the constants of a function. `globals` are the constants of the module.
///
/// Operands come before the expressions that use them, so one pass is enough.
pub(super) fn evaluate(
    module: &Module,
    shapes: &Shapes<'_>,
    arena: &Arena<Expression>,
    globals: &Constants,
) -> Constants {
    let mut known = Constants::with_capacity(arena.len());
    let mut left = LIMIT;
    for (_, expression) in arena.iter() {
        let source = Source { module, shapes, known: &known, globals };
        let value = source.value(expression, left);
        left = left.saturating_sub(value.as_ref().map_or(0, |value| value.len()));
        known.push(value);
    }
    known
}

/// Values to which an expression may refer.
struct Source<'a> {
    module: &'a Module,
    shapes: &'a Shapes<'a>,
    known: &'a Constants,
    globals: &'a Constants,
}

impl Source<'_> {
    fn operand(&self, handle: Handle<Expression>) -> Option<Rc<[u64]>> {
        self.known.get(handle.index())?.clone()
    }

    /// Returns the values of an expression, unless there are more than `left`.
    fn value(&self, expression: &Expression, left: usize) -> Option<Rc<[u64]>> {
        match *expression {
            Expression::Literal(literal) => Some([bits(literal)?].into()),
            Expression::Constant(constant) => {
                let init = self.module.constants[constant].init;
                let constants = if self.globals.is_empty() { self.known } else { self.globals };
                constants.get(init.index())?.clone()
            }
            Expression::ZeroValue(ty) => {
                let slots = self.shapes.slots_of(ty)? as usize;
                (slots <= left).then(|| std::iter::repeat_n(0, slots).collect())
            }
            Expression::Compose { ref components, .. } => {
                let parts: Option<Vec<_>> = components.iter().map(|&part| self.operand(part)).collect();
                let parts = parts?;
                let slots: usize = parts.iter().map(|part| part.len()).sum();
                (slots <= left).then(|| parts.iter().flat_map(|part| part.iter().copied()).collect())
            }
            Expression::Splat { size, value } => {
                let value = *self.operand(value)?.first()?;
                Some(std::iter::repeat_n(value, size as usize).collect())
            }
            Expression::Swizzle { size, vector, pattern } => {
                let vector = self.operand(vector)?;
                let pattern = pattern.iter().take(size as usize);
                pattern.map(|&component| vector.get(component as usize).copied()).collect()
            }
            _ => None,
        }
    }
}

/// Returns the bits of a literal.
fn bits(literal: Literal) -> Option<u64> {
    Some(match literal {
        Literal::F64(value) => value.to_bits(),
        Literal::F32(value) => value.to_bits().into(),
        Literal::F16(value) => value.to_bits().into(),
        Literal::U32(value) => value.into(),
        Literal::I32(value) => (value as u32).into(),
        Literal::U64(value) => value,
        Literal::I64(value) => value as u64,
        Literal::Bool(value) => value.into(),
        Literal::U16(_) | Literal::I16(_) | Literal::AbstractInt(_) | Literal::AbstractFloat(_) => {
            return None;
        }
    })
}
