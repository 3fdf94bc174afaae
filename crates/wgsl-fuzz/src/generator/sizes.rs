//! Expressions of 64-bit and 16-bit numbers. An adapter that lacks them refuses the program.

use super::Generator;
use crate::tree::types::{Scalar, Type};
use crate::tree::{Expr, Node};

/// Scalars that are not 32 bits wide.
const SIZED: [Scalar; 4] = [Scalar::I64, Scalar::U64, Scalar::F64, Scalar::F16];

/// Scalars that convert to each other.
const NUMBERS: [Scalar; 7] =
    [Scalar::I32, Scalar::U32, Scalar::F32, Scalar::I64, Scalar::U64, Scalar::F64, Scalar::F16];

impl Generator {
    /// Returns a scalar that is not 32 bits wide.
    pub(super) fn sized_scalar(&mut self) -> Scalar {
        self.pick(&SIZED)
    }

    pub(super) fn sized_expr(&mut self, scalar: Scalar, size: u8, depth: u32) -> Expr {
        match scalar {
            Scalar::F64 | Scalar::F16 => self.sized_float(scalar, size, depth),
            _ => self.sized_integer(scalar, size, depth),
        }
    }

    fn sized_integer(&mut self, scalar: Scalar, size: u8, depth: u32) -> Expr {
        let ty = Type::vector(scalar, size);
        match self.rng.u8(0..14) {
            0..=4 => self.arithmetic(&ty, depth),
            5 => self.sized_shift(&ty, depth),
            6 => {
                let operator = if scalar == Scalar::I64 && self.rng.bool() { "-" } else { "~" };
                let of = self.not_constant_of(&ty, depth);
                Expr::new(ty, Node::Unary(operator, Box::new(of)))
            }
            7 | 8 => {
                let names: &[(&str, usize)] =
                    &[("abs", 1), ("min", 2), ("max", 2), ("clamp", 3), ("sign", 1)];
                let (name, count) = self.pick(names);
                let name = if name == "sign" && scalar == Scalar::U64 { "abs" } else { name };
                // WGSL defines the result only if the limits are in order.
                let (name, count) =
                    if name == "clamp" && self.options.is_portable { ("max", 2) } else { (name, count) };
                self.sized_builtin(&ty, name, count, depth)
            }
            9 => self.select(&ty, depth),
            10 if size == 1 => {
                let vector = Type::Vector(scalar, self.rng.u8(2..5));
                let of = vec![self.not_constant_of(&vector, depth), self.expr(&vector, depth)];
                Expr::new(ty, Node::Builtin("dot", of))
            }
            10..=12 => self.number_of_other(&ty, depth),
            _ => self.assembled(scalar, size, depth),
        }
    }

    fn sized_float(&mut self, scalar: Scalar, size: u8, depth: u32) -> Expr {
        /// Number of exact functions, which come first.
        const EXACT: usize = 14;
        const NAMES: [(&str, usize); 26] = [
            ("abs", 1),
            ("sign", 1),
            ("floor", 1),
            ("ceil", 1),
            ("trunc", 1),
            ("round", 1),
            ("fract", 1),
            ("saturate", 1),
            ("modf.fract", 1),
            ("min", 2),
            ("max", 2),
            ("step", 2),
            ("fma", 3),
            ("mix", 3),
            ("sqrt", 1),
            ("inverseSqrt", 1),
            ("exp", 1),
            ("log2", 1),
            ("sin", 1),
            ("atan", 1),
            ("tanh", 1),
            ("pow", 2),
            ("atan2", 2),
            ("remainder", 2),
            ("clamp", 3),
            ("smoothstep", 3),
        ];
        let ty = Type::vector(scalar, size);
        match self.rng.u8(0..14) {
            0..=3 => {
                let operator = self.pick(&["+", "-", "*", "/"]);
                let left = self.expr(&ty, depth);
                let right = self.expr(&ty, depth);
                self.binary(ty, operator, left, right)
            }
            4 => {
                let of = self.not_constant_of(&ty, depth);
                Expr::new(ty, Node::Unary("-", Box::new(of)))
            }
            5..=7 => {
                let names = if self.parts.free_floats { &NAMES[..] } else { &NAMES[..EXACT] };
                let (name, count) = self.pick(names);
                self.sized_builtin(&ty, name, count, depth)
            }
            8 => self.select(&ty, depth),
            9 if size == 1 => {
                let vector = Type::Vector(scalar, self.rng.u8(2..5));
                let name = self.pick(&["dot", "length", "distance"]);
                let count = if name == "length" { 1 } else { 2 };
                let of = (0..count).map(|_| self.not_constant_of(&vector, depth)).collect();
                Expr::new(ty, Node::Builtin(name, of))
            }
            9 => self.sized_builtin(&ty, "normalize", 1, depth),
            10..=12 => self.number_of_other(&ty, depth),
            _ => self.assembled(scalar, size, depth),
        }
    }

    /// Returns a call that no compiler can evaluate, of a function whose arguments have the type of the result.
    fn sized_builtin(&mut self, ty: &Type, name: &'static str, count: usize, depth: u32) -> Expr {
        let of = (0..count).map(|_| self.not_constant_of(ty, depth)).collect();
        Expr::new(ty.clone(), Node::Builtin(name, of))
    }

    fn sized_shift(&mut self, ty: &Type, depth: u32) -> Expr {
        let operator = self.pick(&["<<", ">>"]);
        let amount_type = ty.with_scalar(Scalar::U32);
        let left = self.not_constant_of(ty, depth);
        let amount = self.expr(&amount_type, depth);
        let mask = Expr::u32(63).splat(&amount_type);
        Expr::binary(ty.clone(), operator, left, Expr::binary(amount_type, "&", amount, mask))
    }

    /// Converts a number of another size or kind.
    pub(super) fn number_of_other(&mut self, ty: &Type, depth: u32) -> Expr {
        let other = ty.with_scalar(self.pick(&NUMBERS));
        self.not_constant_of(&other, depth).splat(ty)
    }

    /// Returns an expression, with an unknown value in place of a constant.
    pub(super) fn not_constant_of(&mut self, ty: &Type, depth: u32) -> Expr {
        let of = self.expr(ty, depth);
        if of.is_const() { self.unknown(ty) } else { of }
    }
}
