//! Calls of math functions.

use super::function::FunctionDecoder;
use crate::error::Result;
use crate::interpret::op::{Argument, Math, Op, Product, QuickThreeEach, QuickVectors, Strided};
use crate::interpret::quick;
use naga::{Expression, Handle, MathFunction, TypeInner};
use smallvec::SmallVec;

impl FunctionDecoder<'_, '_> {
    /// Decodes a call of a math function.
    pub(super) fn math(
        &mut self,
        handle: Handle<Expression>,
        fun: MathFunction,
        from: impl Iterator<Item = Handle<Expression>>,
    ) -> Result<()> {
        let mut arguments: SmallVec<[Argument; 4]> = SmallVec::new();
        for argument in from {
            arguments.push(self.argument(argument)?);
        }
        let to = self.result(handle)?;
        let first = arguments[0];
        if fun == MathFunction::Dot && first.ty == naga::Scalar::F32 {
            let a = first;
            let b = arguments[1];
            let inner = first.rows;
            self.push(Op::Product(Box::new(Product { to: to.slot, a, b, rows: 1, inner, columns: 1 })));
            return Ok(());
        }
        let each = |argument: &Argument| {
            let step = u8::from(argument.count() > 1);
            Strided { slot: argument.slot, step }
        };
        if let [a, b, c] = &arguments[..]
            && let Some(function) = quick::math_of_three(fun, first.ty)
        {
            let from = [a, b, c].map(each);
            self.push(Op::QuickThree(Box::new(QuickThreeEach { function, to, from })));
            return Ok(());
        }
        let last = *arguments.last().unwrap_or(&first);
        if first.ty == naga::Scalar::F32
            && let Some(function) = quick::vector(fun)
        {
            self.push(Op::QuickVector(Box::new(QuickVectors { function, to, from: [first, last] })));
            return Ok(());
        }
        match quick::math(fun, first.ty) {
            Some(function) if arguments.len() <= 2 && last.count() == first.count() => {
                self.push_quick(function, to, [first.slot, last.slot]);
            }
            _ => self.push(Op::Math(Box::new(Math { fun, to: to.slot, arguments: arguments.to_vec() }))),
        }
        Ok(())
    }

    /// Returns an argument of a function.
    pub(super) fn argument(&mut self, handle: Handle<Expression>) -> Result<Argument> {
        let slot = self.slot(handle)?;
        let ty = self.scalar(handle)?;
        let (rows, columns) = match *self.inner(handle) {
            TypeInner::Vector { size, .. } => (size as u8, 0),
            TypeInner::Matrix { rows, columns, .. } => (rows as u8, columns as u8),
            _ => (0, 0),
        };
        Ok(Argument { slot, ty, rows, columns })
    }
}
