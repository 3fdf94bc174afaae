//! Calls of math functions.

use super::function::FunctionDecoder;
use crate::arith::{Bits, Operand, Reference, builtin};
use crate::error::Result;
use crate::interpret::op::{Argument, Math, Op, Product, QuickThreeEach, QuickVectors, Strided};
use naga::{Expression, Handle, MathFunction};
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
        let quick = match builtin(fun).reference {
            Reference::Numbers(of) => of(first.ty),
            Reference::Vectors(function, _) if first.ty == naga::Scalar::F32 => {
                let from = arguments.to_vec();
                self.push(Op::QuickVector(Box::new(QuickVectors { function, to, from })));
                return Ok(());
            }
            _ => None,
        };
        let each = |argument: &Argument| {
            let step = u8::from(argument.count() > 1);
            Strided { slot: argument.slot, step }
        };
        match (quick, &arguments[..]) {
            (Some(Bits::Two(function)), [first, others @ ..]) => {
                let last = others.last().unwrap_or(first);
                self.push_quick(function, to, [first.slot, last.slot]);
            }
            (Some(Bits::Three(function)), [a, b, c]) => {
                let from = [a, b, c].map(each);
                self.push(Op::QuickThree(Box::new(QuickThreeEach { function, to, from })));
            }
            _ => {
                let reference = builtin(fun).reference;
                let arguments = arguments.to_vec();
                self.push(Op::Math(Box::new(Math { fun, reference, to: to.slot, arguments })));
            }
        }
        Ok(())
    }

    /// Returns an argument of a function.
    pub(super) fn argument(&mut self, handle: Handle<Expression>) -> Result<Argument> {
        let slot = self.slot(handle)?;
        let ty = self.scalar(handle)?;
        let (columns, rows) = Operand::shape(self.inner(handle));
        Ok(Argument { slot, ty, rows: rows as u8, columns: columns as u8 })
    }
}
