//! Expressions on several lanes.

use super::{Argument, Lane, Lanes, Vector, Vectors};
use crate::compile::layout::Kind;
use crate::compile::refusal::{Result, refuse};
use crate::compile::value::{MOST_SELECTED, member};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use naga::{BinaryOperator, Expression, Handle, RelationalFunction, UnaryOperator};

impl Vector<'_, '_, '_> {
    /// Returns the components of an expression that is constant or was evaluated before.
    pub(super) fn value(&mut self, expression: Handle<Expression>) -> Result<Lanes> {
        if let Some(values) = self.body.values.get(&expression) {
            return Ok(values.clone());
        }
        if let Expression::FunctionArgument(index) = self.lower.expression(expression) {
            return match &self.body.arguments[*index as usize] {
                Argument::Value(values) => Ok(values.clone()),
                Argument::Pointer(_) => refuse("a pointer as a value"),
            };
        }
        if self.lower.frame.spills.contains_key(&expression)
            && !self.lower.frame.values.contains_key(&expression)
        {
            return self.load_spill(expression);
        }
        Ok(self.lower.value(expression)?.into_iter().map(Lane::One).collect())
    }

    /// Evaluates an expression and keeps its components.
    pub(super) fn emit(&mut self, expression: Handle<Expression>) -> Result<()> {
        if self.lower.ty(expression).pointer_space().is_some() {
            return Ok(());
        }
        let span = self.lower.frame.function.expressions.get_span(expression);
        let values = self.evaluate(expression).map_err(|error| error.at(span))?;
        self.remember(expression, values)
    }

    /// Keeps the components of an expression for its uses.
    pub(super) fn remember(&mut self, expression: Handle<Expression>, values: Lanes) -> Result<()> {
        if self.lower.frame.spills.contains_key(&expression) {
            self.store_spill(expression, &values)?;
        }
        self.body.values.insert(expression, values);
        Ok(())
    }

    fn evaluate(&mut self, handle: Handle<Expression>) -> Result<Lanes> {
        match self.lower.expression(handle) {
            Expression::Compose { components, .. } => {
                let mut all = Lanes::new();
                for component in components {
                    all.extend(self.value(*component)?);
                }
                Ok(all)
            }
            Expression::Splat { size, value } => {
                let value = self.value(*value)?[0];
                Ok(Lanes::from_elem(value, *size as usize))
            }
            Expression::Swizzle { size, vector, pattern } => {
                let values = self.value(*vector)?;
                Ok(pattern[..*size as usize].iter().map(|component| values[*component as usize]).collect())
            }
            Expression::AccessIndex { base, index } => {
                let values = self.value(*base)?;
                let (start, count) = member(self.lower.types(), self.lower.ty(*base), *index)?;
                Ok(values[start..start + count].into())
            }
            Expression::Access { base, index } => self.dynamic_member(*base, *index),
            Expression::Load { pointer } => self.load(*pointer),
            Expression::ArrayLength(pointer) => {
                Ok([Lane::One(self.lower.array_length(*pointer)?)].into_iter().collect())
            }
            Expression::Unary { op, expr } => self.unary(*op, *expr),
            Expression::Binary { op, left, right } => self.binary(*op, *left, *right),
            Expression::Select { condition, accept, reject } => self.select(*condition, *accept, *reject),
            Expression::Relational { fun, argument } => self.relational(*fun, *argument),
            Expression::As { expr, kind, convert } => self.convert(*expr, *kind, *convert),
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                let arguments: Vec<_> = [Some(*arg), *arg1, *arg2, *arg3].into_iter().flatten().collect();
                self.math(*fun, &arguments, handle)
            }
            _ => Ok(self.lower.evaluate(handle)?.into_iter().map(Lane::One).collect()),
        }
    }

    fn dynamic_member(&mut self, base: Handle<Expression>, index: Handle<Expression>) -> Result<Lanes> {
        let inner = self.lower.ty(base);
        let values = self.value(base)?;
        let index = self.index(index)?;
        let (_, each) = member(self.lower.types(), inner, 0)?;
        let members = values.len() / each;
        if members > MOST_SELECTED {
            return refuse("an index into a large value");
        }
        let kinds: Vec<Kind> = self.lower.types().leaves(inner)?.iter().map(|leaf| leaf.kind).collect();
        let mut chosen: Lanes = values[(members - 1) * each..].into();
        for at in (0..members - 1).rev() {
            let here =
                match index {
                    Lane::One(index) => {
                        Lane::One(self.lower.builder.ins().icmp_imm(IntCC::Equal, index, at as i64))
                    }
                    _ => {
                        let index = self.each(Kind::U32, index);
                        let at = self.words(at as u32);
                        Lane::Each(self.map(index, |vector, index| {
                            vector.lower.builder.ins().icmp(IntCC::Equal, index, at)
                        }))
                    }
                };
            for part in 0..each {
                let kind = kinds[at * each + part];
                chosen[part] = self.choose(kind, here, values[at * each + part], chosen[part]);
            }
        }
        Ok(chosen)
    }

    /// Selects one of two values for each lane.
    pub(super) fn choose(&mut self, kind: Kind, condition: Lane, accept: Lane, reject: Lane) -> Lane {
        match (condition, accept, reject) {
            (Lane::One(condition), Lane::One(accept), Lane::One(reject)) => {
                Lane::One(self.lower.builder.ins().select(condition, accept, reject))
            }
            _ => {
                let mask = self.each(Kind::Bool, condition);
                let accept = self.each(kind, accept);
                let reject = self.each(kind, reject);
                Lane::Each(self.blend_vectors(kind, mask, accept, reject))
            }
        }
    }

    /// Returns `accept` in the lanes where `mask` is set, and `reject` elsewhere.
    pub(super) fn blend_vectors(
        &mut self,
        kind: Kind,
        mask: Vectors,
        accept: Vectors,
        reject: Vectors,
    ) -> Vectors {
        let mask = if kind.is_wide() { self.wide_mask(mask) } else { mask };
        self.vectors(kind, |vector, at| vector.lower.pick(mask[at], accept[at], reject[at]))
    }

    fn select(
        &mut self,
        condition: Handle<Expression>,
        accept: Handle<Expression>,
        reject: Handle<Expression>,
    ) -> Result<Lanes> {
        let kind = self.lower.kind(accept)?;
        let condition = self.value(condition)?;
        let accept = self.value(accept)?;
        let reject = self.value(reject)?;
        Ok((0..accept.len())
            .map(|at| {
                let condition = condition[at.min(condition.len() - 1)];
                self.choose(kind, condition, accept[at], reject[at])
            })
            .collect())
    }

    fn unary(&mut self, op: UnaryOperator, operand: Handle<Expression>) -> Result<Lanes> {
        let kind = self.lower.kind(operand)?;
        let values = self.value(operand)?;
        let apply =
            |value| self.one_operand(kind, value, |vector, x| vector.lower.unary_component(op, kind, x));
        Ok(values.into_iter().map(apply).collect())
    }

    fn binary(
        &mut self,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Result<Lanes> {
        let kind = self.lower.kind(left)?;
        let a = self.value(left)?;
        let b = self.value(right)?;
        if let Some(rows) = self.lower.rows_of_product(op, left, right) {
            return self.multiply(kind, rows, &a, &b);
        }
        let count = a.len().max(b.len());
        (0..count)
            .map(|at| self.binary_component(op, kind, a[at.min(a.len() - 1)], b[at.min(b.len() - 1)]))
            .collect()
    }

    fn multiply(&mut self, kind: Kind, rows: usize, a: &[Lane], b: &[Lane]) -> Result<Lanes> {
        if kind == Kind::F16 {
            let a = self.promoted(a);
            let b = self.promoted(b);
            let products = self.multiply(Kind::F64, rows, &a, &b)?;
            return Ok(self.demoted(&products));
        }
        let inner = a.len() / rows;
        let mut products = Lanes::new();
        for column in b.chunks_exact(inner) {
            for row in 0..rows {
                let line: Lanes = a[row..].iter().step_by(rows).copied().collect();
                products.push(self.dot(kind, &line, column)?);
            }
        }
        Ok(products)
    }

    pub(super) fn dot(&mut self, kind: Kind, a: &[Lane], b: &[Lane]) -> Result<Lane> {
        let mut sum = None;
        for (&a, &b) in a.iter().zip(b) {
            let product = self.binary_component(BinaryOperator::Multiply, kind, a, b)?;
            sum = Some(match sum {
                None => product,
                Some(sum) => self.binary_component(BinaryOperator::Add, kind, sum, product)?,
            });
        }
        Ok(sum.expect("bug: a vector has components"))
    }

    pub(super) fn binary_component(
        &mut self,
        op: BinaryOperator,
        kind: Kind,
        a: Lane,
        b: Lane,
    ) -> Result<Lane> {
        let shifts = matches!(op, BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight);
        let divides = matches!(op, BinaryOperator::Divide | BinaryOperator::Modulo) && !kind.is_float();
        if let Some(line) = self.line_operator(op, kind, a, b) {
            return Ok(line);
        }
        if (op, kind) == (BinaryOperator::Modulo, Kind::F16) {
            return self.half_remainder(a, b);
        }
        Ok(match (op, a, b) {
            (_, Lane::One(a), Lane::One(b)) => Lane::One(self.lower.binary_component(op, kind, a, b)?),
            (_, a, Lane::One(amount)) if shifts => {
                let a = self.each(kind, a);
                self.try_pairs(a, a, |vector, a, _| vector.lower.binary_component(op, kind, a, amount))?
            }
            (_, a, Lane::One(divisor)) if divides && self.power_of_two(kind, divisor).is_some() => {
                let power = self.power_of_two(kind, divisor).expect("bug: the divisor is a power of two");
                let a = self.each(kind, a);
                Lane::Each(self.map(a, |vector, a| vector.divide(op, kind, a, power)))
            }
            _ if shifts || divides => {
                let right = if shifts { Kind::U32 } else { kind };
                let mut failed = None;
                let result = self.gather(kind, |vector, at| {
                    let a = vector.lane(kind, a, at);
                    let b = vector.lane(right, b, at);
                    vector.lower.binary_component(op, kind, a, b).unwrap_or_else(|error| {
                        failed = Some(error);
                        a
                    })
                });
                match failed {
                    Some(error) => return Err(error),
                    None => result,
                }
            }
            _ if kind.is_wide() && is_comparison(op) => {
                let a = self.each(kind, a);
                let b = self.each(kind, b);
                let compared = self.try_pairs(a, b, |vector, a, b| vector.compare_wide(op, kind, a, b))?;
                let compared = self.each(Kind::Bool, compared);
                Lane::Each(self.narrow_mask(compared))
            }
            _ => {
                let a = self.each(kind, a);
                let b = self.each(kind, b);
                self.try_pairs(a, b, |vector, a, b| vector.lower.binary_component(op, kind, a, b))?
            }
        })
    }

    /// Compares two vectors of numbers of 64 bits.
    fn compare_wide(
        &mut self,
        op: BinaryOperator,
        kind: Kind,
        a: ir::Value,
        b: ir::Value,
    ) -> Result<ir::Value> {
        match kind {
            Kind::U64 => {
                let a = self.turned(a);
                let b = self.turned(b);
                self.lower.binary_component(op, Kind::I64, a, b)
            }
            _ => self.lower.binary_component(op, kind, a, b),
        }
    }

    /// Returns the low 32 bits of an index. An index that needs more bits is past the end of any array, and becomes the
    /// largest one.
    pub(super) fn index(&mut self, index: Handle<Expression>) -> Result<Lane> {
        let kind = self.lower.kind(index)?;
        let lane = self.value(index)?[0];
        Ok(match lane {
            Lane::One(index) => Lane::One(self.lower.short_index(kind, index)),
            lane if kind.is_wide() => self.gather(Kind::U32, |vector, at| {
                let index = vector.lane(kind, lane, at);
                vector.lower.short_index(kind, index)
            }),
            lane => lane,
        })
    }

    /// Returns the exponent of a constant that is a positive power of two.
    fn power_of_two(&self, kind: Kind, value: ir::Value) -> Option<u32> {
        if kind.is_wide() {
            return None;
        }
        let bits = self.constant(value)?;
        let is_positive = kind == Kind::U32 || (bits as i32) > 0;
        (bits.is_power_of_two() && is_positive).then(|| bits.trailing_zeros())
    }

    /// Divides the integers of a vector by a power of two.
    fn divide(&mut self, op: BinaryOperator, kind: Kind, a: ir::Value, power: u32) -> ir::Value {
        let shift = i64::from(power);
        let mut from = a;
        if kind == Kind::I32 && power > 0 {
            // The quotient of a negative number is rounded up.
            let sign = self.lower.builder.ins().sshr_imm(a, 31);
            let below = self.lower.builder.ins().ushr_imm(sign, 32 - shift);
            from = self.lower.builder.ins().iadd(a, below);
        }
        if op == BinaryOperator::Divide {
            let ins = self.lower.builder.ins();
            return if kind == Kind::I32 { ins.sshr_imm(from, shift) } else { ins.ushr_imm(from, shift) };
        }
        let low = self.words((1 << power) - 1);
        if kind == Kind::U32 {
            return self.lower.builder.ins().band(a, low);
        }
        let multiple = self.lower.builder.ins().band_not(from, low);
        self.lower.builder.ins().isub(a, multiple)
    }

    /// Applies a fallible translation to each pair of vectors.
    fn try_pairs(
        &mut self,
        a: Vectors,
        b: Vectors,
        mut apply: impl FnMut(&mut Self, ir::Value, ir::Value) -> Result<ir::Value>,
    ) -> Result<Lane> {
        let mut done = Ok(());
        let vectors = self.map_pairs(a, b, |vector, a, b| {
            apply(vector, a, b).unwrap_or_else(|refused| {
                done = Err(refused);
                a
            })
        });
        done.map(|()| Lane::Each(vectors))
    }

    fn relational(&mut self, fun: RelationalFunction, argument: Handle<Expression>) -> Result<Lanes> {
        let kind = self.lower.kind(argument)?;
        let values = self.value(argument)?;
        let op = match fun {
            RelationalFunction::All => BinaryOperator::And,
            RelationalFunction::Any => BinaryOperator::InclusiveOr,
            _ => {
                let infinity = Lane::One(self.lower.number(kind, f64::INFINITY));
                return values
                    .into_iter()
                    .map(|value| {
                        if fun == RelationalFunction::IsNan {
                            return self.binary_component(BinaryOperator::NotEqual, kind, value, value);
                        }
                        let size = self
                            .one_operand(kind, value, |vector, value| vector.lower.builder.ins().fabs(value));
                        self.binary_component(BinaryOperator::Equal, kind, size, infinity)
                    })
                    .collect();
            }
        };
        let mut result = values[0];
        for &value in &values[1..] {
            result = self.binary_component(op, Kind::Bool, result, value)?;
        }
        Ok([result].into_iter().collect())
    }

    /// Applies an instruction that exists for scalars and for vectors.
    pub(super) fn one_operand(
        &mut self,
        kind: Kind,
        value: Lane,
        mut apply: impl FnMut(&mut Self, ir::Value) -> ir::Value,
    ) -> Lane {
        match value {
            Lane::One(value) => Lane::One(apply(self, value)),
            _ => {
                let value = self.each(kind, value);
                Lane::Each(self.map(value, apply))
            }
        }
    }
}

fn is_comparison(op: BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Equal
            | BinaryOperator::NotEqual
            | BinaryOperator::Less
            | BinaryOperator::LessEqual
            | BinaryOperator::Greater
            | BinaryOperator::GreaterEqual
    )
}
