//! Built-in functions on several lanes. Instructions on vectors execute the formulas of [`arith`](crate::arith) step by
//! step.

use super::{Lane, Lanes, Vector, Vectors};
use crate::arith::{Each, builtin};
use crate::compile::layout::{Kind, Leaf};
use crate::compile::refusal::Result;
use crate::compile::value::Components;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use naga::{BinaryOperator, Expression, Handle, MathFunction as Fun};

impl Vector<'_, '_, '_> {
    /// Translates a built-in function.
    pub(super) fn math(
        &mut self,
        fun: Fun,
        arguments: &[Handle<Expression>],
        result: Handle<Expression>,
    ) -> Result<Lanes> {
        let kind = self.lower.kind(arguments[0])?;
        let mut values = Vec::new();
        let mut kinds = Vec::new();
        for &argument in arguments {
            values.push(self.value(argument)?);
            kinds.push(self.lower.kind(argument)?);
        }
        if values.iter().flatten().all(|lane| matches!(lane, Lane::One(_))) {
            let scalars: Vec<Components> = values.iter().map(|value| Self::lane_zero(value)).collect();
            let results = self.lower.math_of(fun, kind, arguments, &scalars, result)?;
            return Ok(results.into_iter().map(Lane::One).collect());
        }
        let known = match kind {
            Kind::F16 => self.half_math(fun, &kinds, &values)?,
            _ => self.known_math(fun, &kinds, &values)?,
        };
        if let Some(known) = known {
            return Ok(known);
        }
        match builtin(fun).each(kind.scalar().kind) {
            Some(each) if !kind.is_wide() && kind != Kind::F16 => {
                self.call_each(each, arguments, &values, result)
            }
            _ => self.math_each(fun, kind, arguments, &values, result),
        }
    }

    /// Computes a function whose arguments have components of these kinds, if there are vector instructions for it.
    pub(super) fn known_math(&mut self, fun: Fun, kinds: &[Kind], values: &[Lanes]) -> Result<Option<Lanes>> {
        if let Some(whole) = self.whole_function(fun, kinds[0], values)? {
            return Ok(Some(whole));
        }
        let mut results = Lanes::new();
        for at in 0..values[0].len() {
            let part: Lanes = values.iter().map(|value| value[at.min(value.len() - 1)]).collect();
            match self.component(fun, kinds, &part) {
                Some(component) => results.push(component),
                None => return Ok(None),
            }
        }
        Ok(Some(results))
    }

    fn lane_zero(value: &[Lane]) -> Components {
        value
            .iter()
            .map(|lane| match lane {
                Lane::One(value) | Lane::Line { first: value, .. } => *value,
                Lane::Each(vectors) => vectors[0],
            })
            .collect()
    }

    /// Translates a function whose results depend on several components of an argument.
    fn whole_function(&mut self, fun: Fun, kind: Kind, x: &[Lanes]) -> Result<Option<Lanes>> {
        if fun == Fun::Dot {
            return Ok(Some([self.dot(kind, &x[0], &x[1])?].into_iter().collect()));
        }
        let combine = |vector: &mut Self, op, a: &[Lane], b: &[Lane]| -> Result<Lanes> {
            let last = b.len() - 1;
            a.iter()
                .enumerate()
                .map(|(at, &a)| vector.binary_component(op, kind, a, b[at.min(last)]))
                .collect()
        };
        Ok(Some(match fun {
            Fun::Modf => {
                let whole = |vector: &mut Self, &lane: &Lane| {
                    vector.one_operand(kind, lane, |vector, x| vector.lower.builder.ins().trunc(x))
                };
                let whole: Lanes = x[0].iter().map(|lane| whole(self, lane)).collect();
                let fraction = combine(self, BinaryOperator::Subtract, &x[0], &whole)?;
                fraction.into_iter().chain(whole).collect()
            }
            Fun::Length => [self.length(kind, &x[0])?].into_iter().collect(),
            Fun::Distance => {
                let difference = combine(self, BinaryOperator::Subtract, &x[0], &x[1])?;
                [self.length(kind, &difference)?].into_iter().collect()
            }
            Fun::Normalize => {
                let length = self.length(kind, &x[0])?;
                combine(self, BinaryOperator::Divide, &x[0], &[length])?
            }
            Fun::Cross => {
                let turned = |x: &Lanes, places: [usize; 3]| places.map(|at| x[at]);
                let ([a, b], places) = ([&x[0], &x[1]], [[1, 2, 0], [2, 0, 1]]);
                let left =
                    combine(self, BinaryOperator::Multiply, &turned(a, places[0]), &turned(b, places[1]))?;
                let right =
                    combine(self, BinaryOperator::Multiply, &turned(a, places[1]), &turned(b, places[0]))?;
                combine(self, BinaryOperator::Subtract, &left, &right)?
            }
            Fun::Reflect => {
                let dot = self.dot(kind, &x[1], &x[0])?;
                let two = Lane::One(self.lower.number(kind, 2.0));
                let twice = self.binary_component(BinaryOperator::Multiply, kind, two, dot)?;
                let along = combine(self, BinaryOperator::Multiply, &x[1], &[twice])?;
                combine(self, BinaryOperator::Subtract, &x[0], &along)?
            }
            _ => return Ok(None),
        }))
    }

    fn length(&mut self, kind: Kind, x: &[Lane]) -> Result<Lane> {
        if let &[x] = x {
            return Ok(self.one_operand(kind, x, |vector, x| vector.lower.builder.ins().fabs(x)));
        }
        let square = self.dot(kind, x, x)?;
        Ok(self.one_operand(kind, square, |vector, square| vector.lower.builder.ins().sqrt(square)))
    }

    /// Computes a function of one component of each argument by vector instructions.
    fn component(&mut self, fun: Fun, kinds: &[Kind], x: &[Lane]) -> Option<Lane> {
        let kind = kinds[0];
        if kinds.iter().any(|other| other.is_wide() != kind.is_wide()) {
            return None;
        }
        let operands: Vec<Vectors> =
            x.iter().zip(kinds).map(|(&lane, &kind)| self.each(kind, lane)).collect();
        let mut known = true;
        let vectors = self.vectors(kind, |vector, at| {
            let x: Components = operands.iter().map(|operand| operand[at]).collect();
            let found = match kind {
                Kind::F32 | Kind::F64 => vector.lower.float_function(fun, kind, &x),
                _ => vector.integer_function(fun, kind, &x),
            };
            found.unwrap_or_else(|| {
                known = false;
                x[0]
            })
        });
        known.then_some(Lane::Each(vectors))
    }

    fn integer_function(&mut self, fun: Fun, kind: Kind, x: &[ir::Value]) -> Option<ir::Value> {
        Some(match fun {
            Fun::Min if kind.is_wide() => self.wide_extreme(kind, IntCC::SignedLessThan, x[0], x[1]),
            Fun::Max if kind.is_wide() => self.wide_extreme(kind, IntCC::SignedGreaterThan, x[0], x[1]),
            Fun::Clamp if kind.is_wide() => {
                let low = self.wide_extreme(kind, IntCC::SignedGreaterThan, x[0], x[1]);
                self.wide_extreme(kind, IntCC::SignedLessThan, low, x[2])
            }
            Fun::Abs | Fun::Min | Fun::Max | Fun::Clamp => return self.lower.integer_function(fun, kind, x),
            Fun::Sign if kind == Kind::I32 => {
                let negative = self.lower.builder.ins().sshr_imm(x[0], 31);
                let zero = self.words(0);
                let positive = self.lower.builder.ins().icmp(IntCC::SignedGreaterThan, x[0], zero);
                // A comparison yields a word of ones for true.
                self.lower.builder.ins().isub(negative, positive)
            }
            _ => return None,
        })
    }

    /// Computes a function of all lanes by a call.
    fn call_each(
        &mut self,
        each: Each,
        arguments: &[Handle<Expression>],
        values: &[Lanes],
        result: Handle<Expression>,
    ) -> Result<Lanes> {
        let leaves = self.lower.types().leaves(self.lower.ty(result))?;
        let count = self.count();
        let mut vectors = Vec::new();
        for (value, &argument) in values.iter().zip(arguments) {
            let kind = self.lower.kind(argument)?;
            for &lane in value {
                vectors.extend_from_slice(&self.each(kind, lane));
            }
        }
        let lanes = self.width() as usize;
        let slot = self.lower.call_each(each, lanes, &vectors, count * leaves.len())?;
        let component = |(component, leaf): (usize, &Leaf)| {
            Lane::Each(self.vectors(leaf.kind, |vector, at| {
                let offset = 16 * (component * count + at) as i32;
                vector.lower.builder.ins().stack_load(Self::vector_type(leaf.kind), slot, offset)
            }))
        };
        Ok(leaves.iter().enumerate().map(component).collect())
    }

    /// Computes a function for one lane after the other.
    fn math_each(
        &mut self,
        fun: Fun,
        kind: Kind,
        arguments: &[Handle<Expression>],
        values: &[Lanes],
        result: Handle<Expression>,
    ) -> Result<Lanes> {
        let leaves = self.lower.types().leaves(self.lower.ty(result))?;
        let mut each = Vec::new();
        for at in 0..self.width() {
            let mut scalars = Vec::new();
            for (value, &argument) in values.iter().zip(arguments) {
                let kind = self.lower.kind(argument)?;
                scalars.push(value.iter().map(|&lane| self.lane(kind, lane, at)).collect::<Components>());
            }
            each.push(self.lower.math_of(fun, kind, arguments, &scalars, result)?);
        }
        Ok(leaves
            .iter()
            .enumerate()
            .map(|(part, leaf)| self.gather(leaf.kind, |_, at| each[at as usize][part]))
            .collect())
    }
}
