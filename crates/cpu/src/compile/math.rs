//! Built-in functions as instructions. They follow the formulas of [`arith`](crate::arith) step by step, so that the
//! results have the same bits. All other functions are calls.

use super::function::Lower;
use super::layout::Kind;
use super::refusal::Result;
use super::value::Components;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, types};
use naga::{Expression, Handle, MathFunction as Fun, TypeInner};

impl Lower<'_, '_> {
    /// Translates a built-in function.
    pub(super) fn math(
        &mut self,
        fun: Fun,
        arguments: &[Handle<Expression>],
        result: Handle<Expression>,
    ) -> Result<Components> {
        let kind = self.kind(arguments[0])?;
        let mut values = Vec::new();
        for &argument in arguments {
            values.push(self.value(argument)?);
        }
        self.math_of(fun, kind, arguments, &values, result)
    }

    /// Translates a built-in function of these values.
    pub(super) fn math_of(
        &mut self,
        fun: Fun,
        kind: Kind,
        arguments: &[Handle<Expression>],
        values: &[Components],
        result: Handle<Expression>,
    ) -> Result<Components> {
        let inner = self.ty(arguments[0]);
        let known = match kind {
            Kind::F16 => self.half_math(fun, inner, values),
            _ => self.known_math(fun, kind, inner, values),
        };
        match known {
            Some(values) => Ok(values),
            None => self.call_math(fun, arguments, values, result),
        }
    }

    /// Computes a function whose first argument has components of a kind, if there are instructions for it.
    pub(super) fn known_math(
        &mut self,
        fun: Fun,
        kind: Kind,
        inner: &TypeInner,
        values: &[Components],
    ) -> Option<Components> {
        let whole = match kind {
            _ if kind.is_float() => self.vector_function(fun, kind, values, inner),
            _ if fun == Fun::Dot => Some([self.dot(kind, &values[0], &values[1])].into_iter().collect()),
            _ => None,
        };
        if whole.is_some() {
            return whole;
        }
        let mut results = Components::new();
        for at in 0..values[0].len() {
            let part: Components = values.iter().map(|value| value[at.min(value.len() - 1)]).collect();
            results.push(match kind {
                Kind::Bool => return None,
                _ if kind.is_float() => self.float_function(fun, kind, &part)?,
                _ => self.integer_function(fun, kind, &part)?,
            });
        }
        Some(results)
    }

    /// Translates a function of whole vectors of floats.
    fn vector_function(
        &mut self,
        fun: Fun,
        kind: Kind,
        x: &[Components],
        inner: &TypeInner,
    ) -> Option<Components> {
        let one = |value: ir::Value| Some([value].into_iter().collect());
        match fun {
            Fun::Modf => {
                let whole: Components = x[0].iter().map(|&x| self.builder.ins().trunc(x)).collect();
                let fraction = self.each(&x[0], &whole, |lower, x, whole| lower.builder.ins().fsub(x, whole));
                Some(fraction.into_iter().chain(whole).collect())
            }
            Fun::Dot => one(self.dot(kind, &x[0], &x[1])),
            Fun::Length => one(self.length(kind, &x[0])),
            Fun::Distance => {
                let difference = self.each(&x[0], &x[1], |lower, a, b| lower.builder.ins().fsub(a, b));
                one(self.length(kind, &difference))
            }
            Fun::Normalize => {
                let length = self.length(kind, &x[0]);
                Some(x[0].iter().map(|&x| self.builder.ins().fdiv(x, length)).collect())
            }
            Fun::Cross => Some(self.cross(&x[0], &x[1])),
            Fun::Reflect => {
                let dot = self.dot(kind, &x[1], &x[0]);
                let two = self.number(kind, 2.0);
                let twice = self.builder.ins().fmul(two, dot);
                Some(self.each(&x[0], &x[1], |lower, incident, normal| {
                    let along = lower.builder.ins().fmul(twice, normal);
                    lower.builder.ins().fsub(incident, along)
                }))
            }
            Fun::Transpose => match inner {
                TypeInner::Matrix { rows, .. } => {
                    let rows = *rows as usize;
                    Some((0..rows).flat_map(|row| x[0].iter().skip(row).step_by(rows).copied()).collect())
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn each(
        &mut self,
        a: &[ir::Value],
        b: &[ir::Value],
        combine: impl Fn(&mut Self, ir::Value, ir::Value) -> ir::Value,
    ) -> Components {
        a.iter().zip(b).map(|(&a, &b)| combine(self, a, b)).collect()
    }

    fn length(&mut self, kind: Kind, x: &[ir::Value]) -> ir::Value {
        if let &[x] = x {
            return self.builder.ins().fabs(x);
        }
        let square = self.dot(kind, x, x);
        self.builder.ins().sqrt(square)
    }

    fn cross(&mut self, a: &[ir::Value], b: &[ir::Value]) -> Components {
        [(1, 2), (2, 0), (0, 1)]
            .into_iter()
            .map(|(i, j)| {
                let left = self.builder.ins().fmul(a[i], b[j]);
                let right = self.builder.ins().fmul(a[j], b[i]);
                self.builder.ins().fsub(left, right)
            })
            .collect()
    }

    /// Translates a function of one component of each argument, in one invocation or in several lanes.
    pub(super) fn float_function(&mut self, fun: Fun, kind: Kind, x: &[ir::Value]) -> Option<ir::Value> {
        let number = |lower: &mut Self, value: f64| lower.number_of(x[0], kind, value);
        let ins = self.builder.ins();
        Some(match fun {
            Fun::Abs => ins.fabs(x[0]),
            Fun::Min => self.extreme(FloatCC::LessThan, x[0], x[1]),
            Fun::Max => self.extreme(FloatCC::GreaterThan, x[0], x[1]),
            Fun::Clamp => self.float_clamp(x[0], x[1], x[2]),
            Fun::Saturate => self.saturated(kind, x[0]),
            Fun::Ceil => ins.ceil(x[0]),
            Fun::Floor => ins.floor(x[0]),
            Fun::Trunc => ins.trunc(x[0]),
            Fun::Round => ins.nearest(x[0]),
            Fun::Fract => {
                let floor = ins.floor(x[0]);
                self.builder.ins().fsub(x[0], floor)
            }
            Fun::Sqrt => ins.sqrt(x[0]),
            Fun::InverseSqrt => {
                let root = ins.sqrt(x[0]);
                let one = number(self, 1.0);
                self.builder.ins().fdiv(one, root)
            }
            Fun::Fma => ins.fma(x[0], x[1], x[2]),
            Fun::Mix => {
                let one = number(self, 1.0);
                let rest = self.builder.ins().fsub(one, x[2]);
                let left = self.builder.ins().fmul(x[0], rest);
                let right = self.builder.ins().fmul(x[1], x[2]);
                self.builder.ins().fadd(left, right)
            }
            Fun::Step => {
                let zero = number(self, 0.0);
                let one = number(self, 1.0);
                let reached = self.builder.ins().fcmp(FloatCC::LessThanOrEqual, x[0], x[1]);
                self.pick(reached, one, zero)
            }
            Fun::SmoothStep => {
                let part = ins.fsub(x[2], x[0]);
                let whole = self.builder.ins().fsub(x[1], x[0]);
                let t = self.builder.ins().fdiv(part, whole);
                let t = self.saturated(kind, t);
                let two = number(self, 2.0);
                let three = number(self, 3.0);
                let twice = self.builder.ins().fmul(two, t);
                let rest = self.builder.ins().fsub(three, twice);
                let square = self.builder.ins().fmul(t, t);
                self.builder.ins().fmul(square, rest)
            }
            Fun::Sign => {
                let [zero, one, minus] = [0.0, 1.0, -1.0].map(|value| number(self, value));
                let above = self.builder.ins().fcmp(FloatCC::GreaterThan, x[0], zero);
                let below = self.builder.ins().fcmp(FloatCC::LessThan, x[0], zero);
                let is_nan = self.is_nan(x[0]);
                let sign = self.pick(above, one, zero);
                let sign = self.pick(below, minus, sign);
                self.pick(is_nan, x[0], sign)
            }
            Fun::Radians => {
                let factor = number(self, 0.017_453_292_519_943_295);
                self.builder.ins().fmul(x[0], factor)
            }
            Fun::Degrees => {
                let factor = number(self, 57.295_779_513_082_32);
                self.builder.ins().fmul(x[0], factor)
            }
            _ => return None,
        })
    }

    fn saturated(&mut self, kind: Kind, x: ir::Value) -> ir::Value {
        let low = self.number_of(x, kind, 0.0);
        let high = self.number_of(x, kind, 1.0);
        self.float_clamp(x, low, high)
    }

    fn float_clamp(&mut self, x: ir::Value, low: ir::Value, high: ir::Value) -> ir::Value {
        let x = self.extreme(FloatCC::GreaterThan, x, low);
        self.extreme(FloatCC::LessThan, x, high)
    }

    /// Returns `b` if it is less (or greater, by `condition`) than `a`, and `a` otherwise. If one is NaN, returns the
    /// other one.
    fn extreme(&mut self, condition: FloatCC, a: ir::Value, b: ir::Value) -> ir::Value {
        let better = self.builder.ins().fcmp(condition, b, a);
        let nan = self.is_nan(a);
        let second = self.builder.ins().bor(better, nan);
        self.pick(second, b, a)
    }

    fn is_nan(&mut self, x: ir::Value) -> ir::Value {
        // A comparison of scalars that may be unequal takes two instructions.
        let condition = if self.is_vector(x) { FloatCC::NotEqual } else { FloatCC::Unordered };
        self.builder.ins().fcmp(condition, x, x)
    }

    /// Translates a function of one component of each argument. `abs`, and `min`, `max` and `clamp` of 32 bits, take
    /// vectors too.
    pub(super) fn integer_function(&mut self, fun: Fun, kind: Kind, x: &[ir::Value]) -> Option<ir::Value> {
        let signed = kind.is_signed();
        let ins = self.builder.ins();
        Some(match (fun, signed) {
            (Fun::Abs, true) => ins.iabs(x[0]),
            (Fun::Abs, false) => x[0],
            (Fun::Min, true) => ins.smin(x[0], x[1]),
            (Fun::Min, false) => ins.umin(x[0], x[1]),
            (Fun::Max, true) => ins.smax(x[0], x[1]),
            (Fun::Max, false) => ins.umax(x[0], x[1]),
            (Fun::Clamp, true) => {
                let low = ins.smax(x[0], x[1]);
                self.builder.ins().smin(low, x[2])
            }
            (Fun::Clamp, false) => {
                let low = ins.umax(x[0], x[1]);
                self.builder.ins().umin(low, x[2])
            }
            (Fun::Sign, true) => {
                let positive = ins.icmp_imm(IntCC::SignedGreaterThan, x[0], 0);
                let positive = self.builder.ins().uextend(kind.ir(), positive);
                let negative = self.builder.ins().sshr_imm(x[0], i64::from(kind.ir().bits()) - 1);
                self.builder.ins().bor(positive, negative)
            }
            (Fun::Sign, false) => {
                let one = self.bits(kind, 1);
                self.builder.ins().umin(x[0], one)
            }
            (Fun::CountOneBits, _) => ins.popcnt(x[0]),
            (Fun::CountLeadingZeros, _) => ins.clz(x[0]),
            (Fun::CountTrailingZeros, _) => ins.ctz(x[0]),
            (Fun::ReverseBits, _) => ins.bitrev(x[0]),
            (Fun::ExtractBits | Fun::InsertBits, _) if kind.is_wide() => return None,
            (Fun::ExtractBits, _) => self.extract_bits(signed, x),
            (Fun::InsertBits, _) => self.insert_bits(x),
            _ => return None,
        })
    }

    /// Clamps a range of bits to a word. Returns the first bit and the number of bits.
    fn field(&mut self, offset: ir::Value, count: ir::Value) -> (ir::Value, ir::Value) {
        let width = self.word(32);
        let offset = self.builder.ins().umin(offset, width);
        let rest = self.builder.ins().isub(width, offset);
        let count = self.builder.ins().umin(count, rest);
        (offset, count)
    }

    fn extract_bits(&mut self, signed: bool, x: &[ir::Value]) -> ir::Value {
        let (offset, count) = self.field(x[1], x[2]);
        // A 32-bit shift takes its amount modulo 32, so a 64-bit shift is used.
        let word = self.builder.ins().uextend(types::I64, x[0]);
        let low = self.builder.ins().ushr(word, offset);
        let spare = self.builder.ins().irsub_imm(count, 64);
        let top = self.builder.ins().ishl(low, spare);
        let field =
            if signed { self.builder.ins().sshr(top, spare) } else { self.builder.ins().ushr(top, spare) };
        let field = self.builder.ins().ireduce(types::I32, field);
        let zero = self.word(0);
        let none = self.builder.ins().icmp_imm(IntCC::Equal, count, 0);
        self.builder.ins().select(none, zero, field)
    }

    fn insert_bits(&mut self, x: &[ir::Value]) -> ir::Value {
        let (offset, count) = self.field(x[2], x[3]);
        let one = self.builder.ins().iconst(types::I64, 1);
        let end = self.builder.ins().ishl(one, count);
        let low = self.builder.ins().iadd_imm(end, -1);
        let mask = self.builder.ins().ishl(low, offset);
        let mask = self.builder.ins().ireduce(types::I32, mask);
        let new = self.builder.ins().uextend(types::I64, x[1]);
        let new = self.builder.ins().ishl(new, offset);
        let new = self.builder.ins().ireduce(types::I32, new);
        let new = self.builder.ins().band(new, mask);
        let old = self.builder.ins().band_not(x[0], mask);
        self.builder.ins().bor(old, new)
    }
}
