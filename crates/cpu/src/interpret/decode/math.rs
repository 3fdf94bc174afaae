//! Calls of math functions.

use super::function::FunctionDecoder;
use crate::error::Result;
use crate::interpret::op::{Argument, Math, Op};
use naga::{Expression, Handle, MathFunction, TypeInner};

impl FunctionDecoder<'_, '_> {
    /// Decodes a call of a math function.
    pub(super) fn math(
        &mut self,
        handle: Handle<Expression>,
        fun: MathFunction,
        from: impl Iterator<Item = Handle<Expression>>,
    ) -> Result<()> {
        let mut arguments = Vec::new();
        for argument in from {
            let (slot, ty) = (self.slot(argument)?, self.scalar(argument)?);
            let (rows, columns) = match *self.inner(argument) {
                TypeInner::Vector { size, .. } => (size as u8, 0),
                TypeInner::Matrix { rows, columns, .. } => (rows as u8, columns as u8),
                _ => (0, 0),
            };
            arguments.push(Argument { slot, ty, rows, columns });
        }
        let to = self.result(handle)?.slot;
        self.push(Op::Math(Box::new(Math { fun, to, arguments })));
        Ok(())
    }
}
