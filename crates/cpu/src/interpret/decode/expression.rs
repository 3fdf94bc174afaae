//! The expressions that compute values.

use super::function::{FunctionDecoder, Value};
use super::refusal;
use crate::arith::{Operator, binary_of, conversion, unary_of};
use crate::error::Result;
use crate::interpret::op::{Op, Origin, Product, Slot, Strided, To};
use naga::{BinaryOperator, Expression, Handle, ScalarKind, SwizzleComponent, TypeInner};

impl FunctionDecoder<'_, '_> {
    /// Decodes an expression.
    pub(super) fn emit(&mut self, handle: Handle<Expression>) -> Result<()> {
        let function = self.function;
        let expression = &function.expressions[handle];
        if expression.needs_pre_emit() || self.known[handle.index()].is_some() {
            return Ok(());
        }
        self.origin = Origin { expression: Some(handle), span: function.expressions.get_span(handle) };
        match *expression {
            Expression::Compose { ref components, .. } => self.compose(handle, components),
            Expression::Access { base, index } => self.access(handle, base, index),
            Expression::AccessIndex { base, index } => self.access_index(handle, base, index),
            Expression::Splat { value, .. } => {
                let from = self.slot(value)?;
                let to = self.result(handle)?;
                self.push(Op::Splat { to, from });
                Ok(())
            }
            Expression::Swizzle { size, vector, pattern } => {
                self.swizzle(handle, vector, &pattern[..size as usize])
            }
            Expression::Load { pointer } => {
                let to = self.result(handle)?;
                self.origin.expression = Some(pointer);
                self.load(pointer, to)
            }
            Expression::Unary { op, expr } => {
                let from = self.slot(expr)?;
                let function = unary_of(op, self.scalar(expr)?);
                let function = function.ok_or_else(|| self.unsupported_value(expr))?;
                let to = self.result(handle)?;
                self.push_quick(function, to, [from; 2]);
                Ok(())
            }
            Expression::Binary { op, left, right } => self.binary(handle, op, left, right),
            Expression::Select { condition, accept, reject } => {
                self.select(handle, condition, accept, reject)
            }
            Expression::Relational { fun, argument } => {
                let from = self.slot(argument)?;
                let ty = self.scalar(argument)?;
                let count = self.count(argument)?;
                let to = self.result(handle)?;
                self.push(Op::Relational { fun, to, from, count: count as u8, ty });
                Ok(())
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let arguments = [Some(arg), arg1, arg2, arg3];
                self.math(handle, fun, arguments.into_iter().flatten())
            }
            Expression::As { expr, kind, convert } => self.convert(handle, expr, kind, convert),
            Expression::ArrayLength(array) => self.array_length(handle, array),
            _ => Err(self.unsupported_at(handle, refusal::of_expression(expression))),
        }
    }

    fn compose(&mut self, handle: Handle<Expression>, components: &[Handle<Expression>]) -> Result<()> {
        let mut parts = Vec::new();
        for &component in components {
            parts.push((self.slot(component)?, self.count(component)?));
        }
        let to = self.result(handle)?;
        let mut at = to.slot;
        for (from, count) in parts {
            self.copy(To { slot: at, count }, from);
            at += count as Slot;
        }
        Ok(())
    }

    fn swizzle(
        &mut self,
        handle: Handle<Expression>,
        vector: Handle<Expression>,
        pattern: &[SwizzleComponent],
    ) -> Result<()> {
        let from = self.slot(vector)?;
        let to = self.result(handle)?.slot;
        for (at, &component) in pattern.iter().enumerate() {
            self.push(Op::Move { to: to + at as Slot, from: from + component as Slot });
        }
        Ok(())
    }

    /// Returns an expression as an operand of an instruction that works on components.
    fn each(&mut self, handle: Handle<Expression>) -> Result<Strided> {
        let step = u8::from(self.count(handle)? > 1);
        Ok(Strided { slot: self.slot(handle)?, step })
    }

    fn binary(
        &mut self,
        handle: Handle<Expression>,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Result<()> {
        let a = self.each(left)?;
        let b = self.each(right)?;
        let ty = self.scalar(left)?;
        let to = self.result(handle)?;
        if op == BinaryOperator::Multiply
            && let Some((rows, inner, columns)) = product(self.inner(left), self.inner(right))
        {
            let a = self.argument(left)?;
            let b = self.argument(right)?;
            self.push(Op::Product(Box::new(Product { to: to.slot, a, b, rows, inner, columns })));
            return Ok(());
        }
        let function = binary_of(op, ty).ok_or_else(|| self.unsupported_value(left))?;
        self.push(match to.count {
            1 => Op::Quick { function, to: to.slot, a: a.slot, b: b.slot },
            _ => Op::QuickEach { function, to, a, b },
        });
        Ok(())
    }

    /// Appends a quick function whose operands have as many slots as the result.
    pub(super) fn push_quick(&mut self, function: Operator, to: To, operands: [Slot; 2]) {
        let [a, b] = operands;
        let each = |slot| Strided { slot, step: 1 };
        self.push(match to.count {
            1 => Op::Quick { function, to: to.slot, a, b },
            _ => Op::QuickEach { function, to, a: each(a), b: each(b) },
        });
    }

    fn select(
        &mut self,
        handle: Handle<Expression>,
        condition: Handle<Expression>,
        accept: Handle<Expression>,
        reject: Handle<Expression>,
    ) -> Result<()> {
        let condition = self.each(condition)?;
        let accept = self.slot(accept)?;
        let reject = self.slot(reject)?;
        let to = self.result(handle)?;
        self.push(Op::Select { to, condition, accept, reject });
        Ok(())
    }

    fn convert(
        &mut self,
        handle: Handle<Expression>,
        from: Handle<Expression>,
        kind: ScalarKind,
        width: Option<u8>,
    ) -> Result<()> {
        let slot = self.slot(from)?;
        let ty = self.scalar(from)?;
        let result = self.scalar(handle)?;
        // A bit cast keeps the bits of a slot, and a conversion to the same type keeps the value.
        if (width.is_none() && result.width == ty.width) || result == ty {
            self.values[handle.index()] = Some(Value::Slots(slot));
            return Ok(());
        }
        let to = self.result(handle)?;
        match conversion(ty, result) {
            Some(function) => self.push_quick(function, to, [slot; 2]),
            None => self.push(Op::Convert { to, from: slot, ty, kind, width }),
        }
        Ok(())
    }
}

/// Returns the rows, the inner dimension and the columns of a matrix product, where one operand may be a vector.
/// Returns `None` for a componentwise product.
fn product(left: &TypeInner, right: &TypeInner) -> Option<(u8, u8, u8)> {
    match (left, right) {
        (TypeInner::Matrix { columns, rows, .. }, TypeInner::Vector { .. }) => {
            Some((*rows as u8, *columns as u8, 1))
        }
        (TypeInner::Vector { size, .. }, TypeInner::Matrix { columns, .. }) => {
            Some((1, *size as u8, *columns as u8))
        }
        (TypeInner::Matrix { columns: inner, rows, .. }, TypeInner::Matrix { columns, .. }) => {
            Some((*rows as u8, *inner as u8, *columns as u8))
        }
        _ => None,
    }
}
