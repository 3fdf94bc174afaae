//! Expressions: the components of their values.

use super::function::{Argument, Lower};
use super::refusal::{Result, refuse};
use super::value::{Components, member};
use cranelift_codegen::ir::InstBuilder;
use naga::{AddressSpace, Expression, Handle, TypeInner};

impl Lower<'_, '_> {
    /// Returns the components of an expression that is constant or was evaluated before.
    pub(super) fn value(&mut self, expression: Handle<Expression>) -> Result<Components> {
        if let Some(values) = self.frame.values.get(&expression) {
            return Ok(values.clone());
        }
        if let Some(&offset) = self.frame.spills.get(&expression) {
            let place = super::place::Place::Memory { address: self.invocation, offset, length: None };
            // The values are not kept, because the current block may not dominate the next use.
            return self.load(&place, self.ty(expression));
        }
        if self.expression(expression).needs_pre_emit() || self.is_constant(expression) {
            return self.evaluate(expression);
        }
        refuse("an expression outside of its part of the function")
    }

    fn is_constant(&self, expression: Handle<Expression>) -> bool {
        let arena = &self.frame.function.expressions;
        let components =
            super::constant::components(self.shared.program.module(), self.types(), arena, expression);
        matches!(components, Ok(Some(_)))
    }

    /// Keeps the components of an expression for its uses.
    pub(super) fn remember(&mut self, expression: Handle<Expression>, values: Components) -> Result<()> {
        if let Some(&offset) = self.frame.spills.get(&expression) {
            let place = super::place::Place::Memory { address: self.invocation, offset, length: None };
            self.store(&place, self.ty(expression), &values)?;
        }
        self.frame.values.insert(expression, values);
        Ok(())
    }

    /// Evaluates an expression whose operands are known.
    pub(super) fn evaluate(&mut self, handle: Handle<Expression>) -> Result<Components> {
        let arena = &self.frame.function.expressions;
        let module = self.shared.program.module();
        if let Some(constant) = super::constant::components(module, self.types(), arena, handle)? {
            return Ok(self.constants(&constant));
        }
        match self.expression(handle) {
            Expression::Compose { components, .. } => {
                let mut all = Components::new();
                for component in components {
                    all.extend(self.value(*component)?);
                }
                Ok(all)
            }
            Expression::Splat { size, value } => {
                let value = self.value(*value)?[0];
                Ok(Components::from_elem(value, *size as usize))
            }
            Expression::Swizzle { size, vector, pattern } => {
                let values = self.value(*vector)?;
                Ok(pattern[..*size as usize].iter().map(|component| values[*component as usize]).collect())
            }
            Expression::Access { base, index } => {
                let index = self.index(*index)?;
                self.dynamic_member(*base, index)
            }
            Expression::AccessIndex { base, index } => {
                let values = self.value(*base)?;
                let (start, count) = member(self.types(), self.ty(*base), *index)?;
                Ok(values[start..start + count].into())
            }
            Expression::FunctionArgument(index) => match &self.frame.arguments[*index as usize] {
                Argument::Value(values) => Ok(values.clone()),
                Argument::Pointer(_) => refuse("a pointer as a value"),
            },
            Expression::Load { pointer } => self.load_expression(*pointer),
            Expression::ArrayLength(pointer) => Ok([self.array_length(*pointer)?].into_iter().collect()),
            Expression::Unary { op, expr } => self.unary(*op, *expr),
            Expression::Binary { op, left, right } => self.binary(*op, *left, *right),
            Expression::Select { condition, accept, reject } => self.select(*condition, *accept, *reject),
            Expression::Relational { fun, argument } => self.relational(*fun, *argument),
            Expression::As { expr, kind, convert } => self.convert(*expr, *kind, *convert),
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let arguments: Vec<_> = [Some(*arg), *arg1, *arg2, *arg3].into_iter().flatten().collect();
                self.math(*fun, &arguments, handle)
            }
            other => refuse(format!("the expression {other:?}")),
        }
    }

    /// Loads the value that a pointer points to.
    pub(super) fn load_expression(&mut self, pointer: Handle<Expression>) -> Result<Components> {
        let inner = self.pointee(pointer)?;
        let place = self.place(pointer)?;
        if let (TypeInner::Atomic(_), super::place::Place::Memory { address, offset, .. }) = (&inner, &place)
            && matches!(self.ty(pointer).pointer_space(), Some(AddressSpace::Storage { .. }))
        {
            let kind = self.types().leaves(&inner)?[0].kind;
            let address = self.builder.ins().iadd_imm(*address, i64::from(*offset));
            let value = self.load_atomic(kind, address);
            return Ok([value].into_iter().collect());
        }
        self.load(&place, &inner)
    }

    fn select(
        &mut self,
        condition: Handle<Expression>,
        accept: Handle<Expression>,
        reject: Handle<Expression>,
    ) -> Result<Components> {
        let condition = self.value(condition)?;
        let accept = self.value(accept)?;
        let reject = self.value(reject)?;
        Ok((0..accept.len())
            .map(|at| {
                let condition = condition[at.min(condition.len() - 1)];
                self.builder.ins().select(condition, accept[at], reject[at])
            })
            .collect())
    }
}
