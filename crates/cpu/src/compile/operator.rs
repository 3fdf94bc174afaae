//! Operators, conversions and tests.

use super::function::Lower;
use super::half;
use super::layout::Kind;
use super::refusal::{Result, refuse};
use super::value::Components;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, MemFlags, types};
use naga::{BinaryOperator, Expression, Handle, RelationalFunction, ScalarKind, TypeInner, UnaryOperator};

/// Returns the bits of the greatest value of an integer type that a float type can represent.
fn last_integer(float: Kind, integer: Kind) -> i64 {
    let greatest = match integer {
        Kind::I32 => u64::from(i32::MAX.cast_unsigned()),
        Kind::U32 => u64::from(u32::MAX),
        Kind::I64 => i64::MAX.cast_unsigned(),
        _ => u64::MAX,
    };
    if float == Kind::F16 {
        return half::GREATEST;
    }
    let digits = if float == Kind::F32 { f32::MANTISSA_DIGITS } else { f64::MANTISSA_DIGITS };
    let spare = greatest.count_ones().saturating_sub(digits);
    (greatest >> spare << spare).cast_signed()
}

impl Lower<'_, '_> {
    /// Returns the kind of the components of an expression.
    pub(super) fn kind(&self, expression: Handle<Expression>) -> Result<Kind> {
        self.types().kind(self.ty(expression))
    }

    /// Translates a unary operator.
    pub(super) fn unary(&mut self, op: UnaryOperator, operand: Handle<Expression>) -> Result<Components> {
        let kind = self.kind(operand)?;
        let values = self.value(operand)?;
        Ok(values.into_iter().map(|value| self.unary_component(op, kind, value)).collect())
    }

    /// Translates a unary operator on one component, or on a vector with the components of several lanes.
    pub(super) fn unary_component(&mut self, op: UnaryOperator, kind: Kind, value: ir::Value) -> ir::Value {
        let is_vector = self.is_vector(value);
        let ins = self.builder.ins();
        match op {
            UnaryOperator::Negate if kind.is_float() => ins.fneg(value),
            UnaryOperator::Negate => ins.ineg(value),
            UnaryOperator::LogicalNot if !is_vector => ins.bxor_imm(value, 1),
            UnaryOperator::LogicalNot | UnaryOperator::BitwiseNot => ins.bnot(value),
        }
    }

    /// Translates a binary operator.
    pub(super) fn binary(
        &mut self,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Result<Components> {
        let kind = self.kind(left)?;
        let a = self.value(left)?;
        let b = self.value(right)?;
        if let Some(rows) = self.rows_of_product(op, left, right) {
            return Ok(self.multiply(kind, rows, &a, &b));
        }
        let count = a.len().max(b.len());
        (0..count)
            .map(|at| self.binary_component(op, kind, a[at.min(a.len() - 1)], b[at.min(b.len() - 1)]))
            .collect()
    }

    /// Returns the number of rows of the left operand if an operator is a product of linear algebra. A vector on the
    /// left is a matrix with one row.
    pub(super) fn rows_of_product(
        &self,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Option<usize> {
        match (op, self.ty(left), self.ty(right)) {
            (
                BinaryOperator::Multiply,
                TypeInner::Matrix { rows, .. },
                TypeInner::Vector { .. } | TypeInner::Matrix { .. },
            ) => Some(*rows as usize),
            (BinaryOperator::Multiply, TypeInner::Vector { .. }, TypeInner::Matrix { .. }) => Some(1),
            _ => None,
        }
    }

    /// Translates a product with a matrix. The left operand has `rows` rows.
    fn multiply(&mut self, kind: Kind, rows: usize, a: &[ir::Value], b: &[ir::Value]) -> Components {
        if kind == Kind::F16 {
            let a = self.promoted(a);
            let b = self.promoted(b);
            let products = self.multiply(Kind::F64, rows, &a, &b);
            return products.into_iter().map(|product| self.half_of_double(product)).collect();
        }
        let inner = a.len() / rows;
        let mut products = Components::new();
        for column in b.chunks_exact(inner) {
            for row in 0..rows {
                let line: Components = a[row..].iter().step_by(rows).copied().collect();
                products.push(self.dot(kind, &line, column));
            }
        }
        products
    }

    /// Translates a sum of products.
    pub(super) fn dot(&mut self, kind: Kind, a: &[ir::Value], b: &[ir::Value]) -> ir::Value {
        let mut sum = None;
        for (&a, &b) in a.iter().zip(b) {
            let product =
                if kind.is_float() { self.builder.ins().fmul(a, b) } else { self.builder.ins().imul(a, b) };
            sum = Some(match sum {
                None => product,
                Some(sum) if kind.is_float() => self.builder.ins().fadd(sum, product),
                Some(sum) => self.builder.ins().iadd(sum, product),
            });
        }
        sum.expect("bug: a vector has components")
    }

    /// Translates a binary operator on one component, or on a vector with the components of several lanes.
    pub(super) fn binary_component(
        &mut self,
        op: BinaryOperator,
        kind: Kind,
        a: ir::Value,
        b: ir::Value,
    ) -> Result<ir::Value> {
        if kind == Kind::F16 {
            return self.binary_half(op, a, b);
        }
        if kind.is_float() {
            return self.binary_float(op, a, b);
        }
        let signed = kind.is_signed();
        if let Some(condition) = comparison(op, signed) {
            return Ok(self.builder.ins().icmp(condition, a, b));
        }
        let ins = self.builder.ins();
        Ok(match op {
            BinaryOperator::And | BinaryOperator::LogicalAnd => ins.band(a, b),
            BinaryOperator::InclusiveOr | BinaryOperator::LogicalOr => ins.bor(a, b),
            BinaryOperator::ExclusiveOr => {
                let result = ins.bxor(a, b);
                self.kept(result)
            }
            BinaryOperator::Add => {
                let result = ins.iadd(a, b);
                self.kept(result)
            }
            BinaryOperator::Subtract => ins.isub(a, b),
            BinaryOperator::Multiply => {
                let result = ins.imul(a, b);
                self.kept(result)
            }
            BinaryOperator::ShiftLeft => ins.ishl(a, b),
            BinaryOperator::ShiftRight if signed => ins.sshr(a, b),
            BinaryOperator::ShiftRight => ins.ushr(a, b),
            BinaryOperator::Divide | BinaryOperator::Modulo => self.divide(op, kind, a, b),
            _ => return refuse(format!("the operator {op:?} on {kind:?}")),
        })
    }

    /// Reinterprets a vector of integers, so that Cranelift computes it only once. Cranelift 0.125 reassociates chains
    /// of three sums or other associative operations, and then computes a sum in the chain again for each of its other
    /// uses. It does not look through a reinterpretation, which costs no instruction.
    fn kept(&mut self, value: ir::Value) -> ir::Value {
        let own = self.builder.func.dfg.value_type(value);
        if !own.is_vector() || own.bits() != 128 {
            return value;
        }
        let other = if own == types::I64X2 { types::I32X4 } else { types::I64X2 };
        let flags = ir::MemFlags::new().with_endianness(ir::Endianness::Little);
        let hidden = self.builder.ins().bitcast(other, flags, value);
        self.builder.ins().bitcast(own, flags, hidden)
    }

    /// Divides integers. Where the instruction would trap, the divisor becomes 1: the quotient is then the dividend,
    /// and the remainder is zero.
    fn divide(&mut self, op: BinaryOperator, kind: Kind, a: ir::Value, b: ir::Value) -> ir::Value {
        let zero = self.builder.ins().icmp_imm(IntCC::Equal, b, 0);
        let one = self.bits(kind, 1);
        if !kind.is_signed() {
            let b = self.builder.ins().select(zero, one, b);
            let ins = self.builder.ins();
            return if op == BinaryOperator::Divide { ins.udiv(a, b) } else { ins.urem(a, b) };
        }
        let least_integer = if kind == Kind::I64 { i64::MIN } else { i64::from(i32::MIN) };
        let least = self.builder.ins().icmp_imm(IntCC::Equal, a, least_integer);
        let negative = self.builder.ins().icmp_imm(IntCC::Equal, b, -1);
        let overflow = self.builder.ins().band(least, negative);
        // Cranelift 0.125 treats the least integer as a positive power of two, so as a divisor it is replaced by 1 too.
        let by_least = self.builder.ins().icmp_imm(IntCC::Equal, b, least_integer);
        let bad = self.builder.ins().bor(zero, overflow);
        let bad = self.builder.ins().bor(bad, by_least);
        let b = self.builder.ins().select(bad, one, b);
        let (found, of_least) = if op == BinaryOperator::Divide {
            (self.builder.ins().sdiv(a, b), self.builder.ins().uextend(kind.ir(), least))
        } else {
            let none = self.bits(kind, 0);
            (self.builder.ins().srem(a, b), self.builder.ins().select(least, none, a))
        };
        self.builder.ins().select(by_least, of_least, found)
    }

    /// Translates a binary operator on numbers of 16 bits. Sums, differences, products and quotients are computed as
    /// `f32`, which is precise enough to round a second time.
    fn binary_half(&mut self, op: BinaryOperator, a: ir::Value, b: ir::Value) -> Result<ir::Value> {
        match op {
            BinaryOperator::Add
            | BinaryOperator::Subtract
            | BinaryOperator::Multiply
            | BinaryOperator::Divide => {
                let result = self.binary_float(op, a, b)?;
                Ok(self.rounded_half(result))
            }
            BinaryOperator::Modulo => {
                let [a, b] = [a, b].map(|value| self.builder.ins().fpromote(types::F64, value));
                let remainder = self.binary_float(op, a, b)?;
                Ok(self.half_of_double(remainder))
            }
            _ => self.binary_float(op, a, b),
        }
    }

    fn binary_float(&mut self, op: BinaryOperator, a: ir::Value, b: ir::Value) -> Result<ir::Value> {
        let ins = self.builder.ins();
        Ok(match op {
            BinaryOperator::Add => ins.fadd(a, b),
            BinaryOperator::Subtract => ins.fsub(a, b),
            BinaryOperator::Multiply => ins.fmul(a, b),
            BinaryOperator::Divide => ins.fdiv(a, b),
            BinaryOperator::Modulo => {
                let quotient = ins.fdiv(a, b);
                let whole = self.builder.ins().trunc(quotient);
                let product = self.builder.ins().fmul(b, whole);
                self.builder.ins().fsub(a, product)
            }
            BinaryOperator::Equal => ins.fcmp(FloatCC::Equal, a, b),
            BinaryOperator::NotEqual => ins.fcmp(FloatCC::NotEqual, a, b),
            BinaryOperator::Less => ins.fcmp(FloatCC::LessThan, a, b),
            BinaryOperator::LessEqual => ins.fcmp(FloatCC::LessThanOrEqual, a, b),
            BinaryOperator::Greater => ins.fcmp(FloatCC::GreaterThan, a, b),
            BinaryOperator::GreaterEqual => ins.fcmp(FloatCC::GreaterThanOrEqual, a, b),
            _ => return refuse(format!("the operator {op:?} on floats")),
        })
    }

    /// Translates a test of components.
    pub(super) fn relational(
        &mut self,
        fun: RelationalFunction,
        argument: Handle<Expression>,
    ) -> Result<Components> {
        let kind = self.kind(argument)?;
        let values = self.value(argument)?;
        Ok(match fun {
            RelationalFunction::All | RelationalFunction::Any => {
                let mut result = values[0];
                for &value in &values[1..] {
                    result = if fun == RelationalFunction::All {
                        self.builder.ins().band(result, value)
                    } else {
                        self.builder.ins().bor(result, value)
                    };
                }
                [result].into_iter().collect()
            }
            RelationalFunction::IsNan => values
                .into_iter()
                .map(|value| self.builder.ins().fcmp(FloatCC::Unordered, value, value))
                .collect(),
            RelationalFunction::IsInf => {
                let infinity = self.number(kind, f64::INFINITY);
                values
                    .into_iter()
                    .map(|value| {
                        let size = self.builder.ins().fabs(value);
                        self.builder.ins().fcmp(FloatCC::Equal, size, infinity)
                    })
                    .collect()
            }
        })
    }

    /// Translates a conversion, or a reinterpretation if there is no width.
    pub(super) fn convert(
        &mut self,
        operand: Handle<Expression>,
        kind: ScalarKind,
        width: Option<u8>,
    ) -> Result<Components> {
        let from = self.kind(operand)?;
        let to = Kind::of(naga::Scalar { kind, width: width.unwrap_or(from.scalar().width) })?;
        let values = self.value(operand)?;
        Ok(values
            .into_iter()
            .map(|value| match width {
                Some(_) => self.convert_component(from, to, value),
                None if from.ir() == to.ir() => value,
                None => self.builder.ins().bitcast(to.ir(), MemFlags::new(), value),
            })
            .collect())
    }

    /// Converts one component, or a vector with the words of several lanes. Vectors of bools have other conversions.
    pub(super) fn convert_component(&mut self, from: Kind, to: Kind, value: ir::Value) -> ir::Value {
        if from == to {
            return value;
        }
        let lanes = self.builder.func.dfg.value_type(value).lane_count();
        let ty = to.ir().by(lanes).expect("bug: a vector has words");
        match (from.is_float(), to) {
            (true, Kind::Bool) => {
                let zero = self.number_of(value, from, 0.0);
                self.builder.ins().fcmp(FloatCC::NotEqual, value, zero)
            }
            (false, Kind::Bool) => self.builder.ins().icmp_imm(IntCC::NotEqual, value, 0),
            (true, Kind::F32) if from == Kind::F16 => value,
            (true, Kind::F16) if from == Kind::F64 => self.half_of_double(value),
            (true, Kind::F16) => self.rounded_half(value),
            // An integer that `f32` cannot represent exceeds the greatest `f16`.
            (false, Kind::F16) => {
                let value = self.float_of_integer(from, Kind::F32, value);
                self.rounded_half(value)
            }
            (true, Kind::F64) => self.builder.ins().fpromote(types::F64, value),
            (true, Kind::F32) => self.builder.ins().fdemote(types::F32, value),
            (false, Kind::F32 | Kind::F64) => self.float_of_integer(from, to, value),
            (true, Kind::I32 | Kind::I64) => {
                let mut value = self.builder.ins().fcvt_to_sint_sat(ty, value);
                let last = self.integer_of(value, to, last_integer(from, to));
                if from == Kind::F16 {
                    let least = self.integer_of(value, to, -half::GREATEST);
                    value = self.builder.ins().smax(value, least);
                }
                self.builder.ins().smin(value, last)
            }
            (true, Kind::U32 | Kind::U64) => {
                let value = self.builder.ins().fcvt_to_uint_sat(ty, value);
                let last = self.integer_of(value, to, last_integer(from, to));
                self.builder.ins().umin(value, last)
            }
            (false, _) if to.ir() == from.ir() => value,
            (false, _) if from.is_wide() => self.builder.ins().ireduce(to.ir(), value),
            (false, _) if from.is_signed() => self.builder.ins().sextend(to.ir(), value),
            (false, _) => self.builder.ins().uextend(to.ir(), value),
        }
    }

    /// Converts an integer or a bool to the nearest float.
    fn float_of_integer(&mut self, from: Kind, to: Kind, mut value: ir::Value) -> ir::Value {
        if from == Kind::Bool {
            value = self.builder.ins().uextend(types::I32, value);
        }
        let lanes = self.builder.func.dfg.value_type(value).lane_count();
        let ty = to.ir().by(lanes).expect("bug: a vector has words");
        let ins = self.builder.ins();
        if from.is_signed() { ins.fcvt_from_sint(ty, value) } else { ins.fcvt_from_uint(ty, value) }
    }

    /// Returns an integer, in all lanes if `like` is a vector.
    fn integer_of(&mut self, like: ir::Value, kind: Kind, value: i64) -> ir::Value {
        let integer = self.builder.ins().iconst(kind.ir(), value);
        self.spread(like, integer)
    }

    /// Returns the low 32 bits of an index. An index that needs more bits is past the end of any array.
    pub(super) fn index(&mut self, index: Handle<Expression>) -> Result<ir::Value> {
        let kind = self.kind(index)?;
        let value = self.value(index)?[0];
        Ok(self.short_index(kind, value))
    }

    /// Returns the bits of an index as a 32-bit integer.
    pub(super) fn short_index(&mut self, kind: Kind, index: ir::Value) -> ir::Value {
        if !kind.is_wide() {
            return index;
        }
        let last = self.builder.ins().iconst(types::I64, i64::from(u32::MAX));
        let index = self.builder.ins().umin(index, last);
        self.builder.ins().ireduce(types::I32, index)
    }
}

/// Returns the condition of a comparison of integers or bools.
fn comparison(op: BinaryOperator, signed: bool) -> Option<IntCC> {
    Some(match (op, signed) {
        (BinaryOperator::Equal, _) => IntCC::Equal,
        (BinaryOperator::NotEqual, _) => IntCC::NotEqual,
        (BinaryOperator::Less, true) => IntCC::SignedLessThan,
        (BinaryOperator::LessEqual, true) => IntCC::SignedLessThanOrEqual,
        (BinaryOperator::Greater, true) => IntCC::SignedGreaterThan,
        (BinaryOperator::GreaterEqual, true) => IntCC::SignedGreaterThanOrEqual,
        (BinaryOperator::Less, false) => IntCC::UnsignedLessThan,
        (BinaryOperator::LessEqual, false) => IntCC::UnsignedLessThanOrEqual,
        (BinaryOperator::Greater, false) => IntCC::UnsignedGreaterThan,
        (BinaryOperator::GreaterEqual, false) => IntCC::UnsignedGreaterThanOrEqual,
        _ => return None,
    })
}
