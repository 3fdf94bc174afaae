//! Expressions of `bool` and of its vectors.

use super::Generator;
use crate::tree::types::{BOOL, Scalar, Type};
use crate::tree::{Expr, Node};

impl Generator {
    pub(super) fn bool_expr(&mut self, size: u8, depth: u32) -> Expr {
        let ty = Type::vector(Scalar::Bool, size);
        match self.rng.u8(0..10) {
            0..=4 => self.comparison(size, depth),
            5 => {
                let of = self.expr(&ty, depth);
                Expr::new(ty, Node::Unary("!", Box::new(of)))
            }
            6 => {
                let operators: &[&str] =
                    if size == 1 { &["&&", "||", "&", "|", "==", "!="] } else { &["&", "|", "==", "!="] };
                let operator = self.pick(operators);
                let left = self.expr(&ty, depth);
                let right = self.expr(&ty, depth);
                self.binary(ty, operator, left, right)
            }
            7 if size == 1 => {
                let name = self.pick(&["any", "all"]);
                let vector = Type::Vector(Scalar::Bool, self.rng.u8(2..5));
                let of = self.expr(&vector, depth);
                self.builtin(BOOL, name, vec![of])
            }
            8 => self.select(&ty, depth),
            9 => {
                let scalar = self.pick(&[Scalar::I32, Scalar::U32]);
                self.not_constant_of(&Type::vector(scalar, size), depth).splat(&ty)
            }
            _ => self.assembled(Scalar::Bool, size, depth),
        }
    }

    fn comparison(&mut self, size: u8, depth: u32) -> Expr {
        let operator = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
        let sized = self.parts.sizes && self.one_in(2);
        let scalar =
            if sized { self.sized_scalar() } else { self.pick(&[Scalar::I32, Scalar::U32, Scalar::F32]) };
        let of = Type::vector(scalar, size);
        let left = self.expr(&of, depth);
        let right = self.expr(&of, depth);
        self.binary(Type::vector(Scalar::Bool, size), operator, left, right)
    }
}
