//! Expressions of floats, float vectors and matrices in which no operation rounds.

use super::Generator;
use crate::tree::bounds::bound;
use crate::tree::types::{F32, Scalar, Type, U32};
use crate::tree::{Expr, Node};

impl Generator {
    pub(super) fn float_expr(&mut self, size: u8, depth: u32) -> Expr {
        let ty = Type::vector(Scalar::F32, size);
        if self.parts.free_floats && self.one_in(4) {
            return self.rounding(&ty, depth);
        }
        if self.parts.sizes && self.one_in(6) {
            return self.number_of_other(&ty, depth);
        }
        match self.rng.u8(0..14) {
            0..=3 => self.float_arithmetic(&ty, depth),
            4 => {
                let of = self.expr(&ty, depth);
                Expr::new(ty, Node::Unary("-", Box::new(of)))
            }
            5 | 6 => self.float_builtin(&ty, depth),
            7 => self.float_pair(&ty, depth),
            8 => self.select(&ty, depth),
            9 => {
                let scalar = self.pick(&[Scalar::I32, Scalar::U32]);
                let of = self.expr(&ty.with_scalar(scalar), depth);
                Expr::new(ty, Node::Builtin("small", vec![of]))
            }
            10 => self.product_of_matrix(size, depth),
            11 => self.through_packed(&ty, size, depth),
            _ => self.assembled(Scalar::F32, size, depth),
        }
    }

    /// Returns a function that rounds.
    fn rounding(&mut self, ty: &Type, depth: u32) -> Expr {
        const ONE: [&str; 17] = [
            "sqrt",
            "inverseSqrt",
            "exp",
            "exp2",
            "log",
            "log2",
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "degrees",
            "radians",
        ];
        const TWO: [&str; 4] = ["pow", "atan2", "remainder", "divide"];
        let (name, count) = if self.rng.bool() { (self.pick(&ONE), 1) } else { (self.pick(&TWO), 2) };
        let of: Vec<Expr> = (0..count).map(|_| self.not_constant_of(ty, depth)).collect();
        self.builtin(ty.clone(), name, of)
    }

    /// Returns an operand, sometimes limited so that an operation on it is exact.
    fn operand(&mut self, ty: &Type, depth: u32) -> Expr {
        let found = self.expr(ty, depth);
        if self.one_in(3) { self.narrow(found) } else { found }
    }

    /// Returns the operation if it is exact, otherwise the operation on limited operands.
    fn exact(&mut self, of: Vec<Expr>, operation: impl Fn(&mut Self, Vec<Expr>) -> Expr) -> Expr {
        let found = operation(self, of.clone());
        if self.parts.free_floats || bound(&found).is_some() {
            return found;
        }
        let of = of.into_iter().map(|of| self.narrow(of)).collect();
        operation(self, of)
    }

    fn float_arithmetic(&mut self, ty: &Type, depth: u32) -> Expr {
        let operator = self.pick(&["+", "-", "*"]);
        let mut of = vec![self.operand(ty, depth), self.operand(ty, depth)];
        if *ty != F32 && self.one_in(3) {
            let at = self.rng.usize(0..2);
            of[at] = self.operand(&F32, depth);
        }
        let ty = ty.clone();
        self.exact(of, |generator, mut of| {
            let right = of.remove(1);
            generator.binary(ty.clone(), operator, of.remove(0), right)
        })
    }

    fn float_builtin(&mut self, ty: &Type, depth: u32) -> Expr {
        const ONE: [&str; 11] = [
            "abs",
            "sign",
            "floor",
            "ceil",
            "trunc",
            "round",
            "fract",
            "saturate",
            "modf.fract",
            "modf.whole",
            "quantizeToF16",
        ];
        let name = self.pick(&ONE);
        let of = vec![self.operand(ty, depth)];
        let ty = ty.clone();
        self.exact(of, |generator, of| generator.builtin(ty.clone(), name, of))
    }

    fn float_pair(&mut self, ty: &Type, depth: u32) -> Expr {
        let size = ty.lanes().map_or(1, |(_, size)| size);
        let mut names = vec!["min", "max", "step", "fma", "mix", "clamp"];
        match size {
            1 => names.extend(["dot", "dot"]),
            3 => names.extend(["cross", "cross"]),
            _ => {}
        }
        let name = self.pick(&names);
        let of_type = if name == "dot" { Type::Vector(Scalar::F32, self.rng.u8(2..5)) } else { ty.clone() };
        let count = if ["fma", "mix"].contains(&name) { 3 } else { 2 };
        let mut of: Vec<Expr> = (0..count).map(|_| self.operand(&of_type, depth)).collect();
        if name == "clamp" {
            let limit = |quarters| Expr::new(F32, Node::F32(quarters)).splat(&of_type);
            let limits = [limit(self.rng.i32(-20..0)), limit(self.rng.i32(0..20))];
            of.truncate(1);
            of.extend(limits);
        }
        let ty = ty.clone();
        self.exact(of, |generator, of| generator.builtin(ty.clone(), name, of))
    }

    /// Returns a product with a matrix.
    fn product_of_matrix(&mut self, size: u8, depth: u32) -> Expr {
        if size == 1 {
            return self.float_arithmetic(&F32, depth);
        }
        let other = self.rng.u8(2..5);
        let vector = self.expr(&Type::Vector(Scalar::F32, other), depth);
        let vector = if self.parts.free_floats { vector } else { self.narrow(vector) };
        let ty = Type::Vector(Scalar::F32, size);
        if self.rng.bool() {
            let matrix = self.leaf(&Type::Matrix(other, size));
            self.binary(ty, "*", matrix, vector)
        } else {
            let matrix = self.leaf(&Type::Matrix(size, other));
            self.binary(ty, "*", vector, matrix)
        }
    }

    /// Returns floats that were packed into a word and unpacked.
    fn through_packed(&mut self, ty: &Type, size: u8, depth: u32) -> Expr {
        match size {
            2 if self.rng.bool() => {
                let of = self.stored(ty, depth);
                self.builtin(ty.clone(), "through_half", vec![of])
            }
            2 => {
                let name = self.pick(&["through_snorm16", "through_unorm16"]);
                let of = self.expr(&U32, depth);
                self.builtin(ty.clone(), name, vec![of])
            }
            1 => {
                let of = self.leaf(&Type::Matrix(2, 2));
                Expr::new(F32, Node::Builtin("determinant", vec![of]))
            }
            4 => {
                let name = self.pick(&["through_snorm", "through_unorm"]);
                let of = self.expr(&U32, depth);
                self.builtin(ty.clone(), name, vec![of])
            }
            _ => self.assembled(Scalar::F32, size, depth),
        }
    }

    pub(super) fn matrix(&mut self, columns: u8, rows: u8, depth: u32) -> Expr {
        let ty = Type::Matrix(columns, rows);
        match self.rng.u8(0..6) {
            0 => {
                let column = Type::Vector(Scalar::F32, rows);
                let parts = (0..columns).map(|_| self.stored(&column, depth.min(1))).collect();
                Expr::new(ty, Node::Construct(parts))
            }
            1 => {
                let of = self.leaf(&Type::Matrix(rows, columns));
                self.builtin(ty, "transpose", vec![of])
            }
            2 => {
                let operator = self.pick(&["+", "-"]);
                let left = self.leaf(&ty);
                let right = self.leaf(&ty);
                self.binary(ty, operator, left, right)
            }
            3 => {
                let left = self.leaf(&ty);
                let right = self.leaf(&F32);
                let [left, right] = if self.rng.bool() { [left, right] } else { [right, left] };
                self.binary(ty, "*", left, right)
            }
            4 => {
                let other = self.rng.u8(2..5);
                let left = self.leaf(&Type::Matrix(other, rows));
                let right = self.leaf(&Type::Matrix(columns, other));
                self.binary(ty, "*", left, right)
            }
            _ => self.leaf(&ty),
        }
    }
}
