//! Functions that round. Their results go to a separate output and affect nothing else.

use super::Generator;
use super::scope::Variable;
use crate::program::SLOTS;
use crate::tolerance::FUNCTIONS;
use crate::tree::statement::Stmt;
use crate::tree::types::{F32, Scalar, Type};
use crate::tree::{Expr, Node};

impl Generator {
    /// Stores results of one function that rounds.
    pub(super) fn inexact(&mut self, body: &mut Vec<Stmt>) {
        let (name, ..) = self.pick(&FUNCTIONS);
        for slot in 0..SLOTS {
            let arguments = self.arguments(name);
            let value = Expr::new(F32, Node::Builtin(name, arguments));
            let place = Variable::slot("out_x", &self.slot(slot), F32).place;
            body.push(Stmt::Assign(place, "=", value));
        }
    }

    /// Returns arguments for which WGSL bounds the error.
    fn arguments(&mut self, name: &str) -> Vec<Expr> {
        match name {
            "divide" => vec![self.any(), self.positive()],
            // SwiftShader returns pi for a negative zero.
            "atan2" => vec![self.positive(), self.positive()],
            "sqrt" | "inverseSqrt" | "log" | "log2" => vec![self.positive()],
            "exp" | "exp2" | "sinh" | "cosh" | "tanh" => vec![self.within(-16, 16)],
            "pow" => {
                let base = self.positive();
                vec![limited(base, 1, 16), self.within(-8, 8)]
            }
            "sin" | "cos" => vec![self.within(-12, 12)],
            "tan" | "asin" | "acos" => vec![self.within(-4, 4)],
            "length" => vec![self.vector()],
            "distance" => vec![self.vector(), self.vector()],
            _ => vec![self.any()],
        }
    }

    fn any(&mut self) -> Expr {
        let value = self.stored(&F32, 2);
        if value.is_const() { self.unknown(&F32) } else { value }
    }

    fn vector(&mut self) -> Expr {
        let part = [(); 3].map(|()| self.any());
        Expr::new(Type::Vector(Scalar::F32, 3), Node::Construct(part.to_vec()))
    }

    fn positive(&mut self) -> Expr {
        let size = Expr::new(F32, Node::Builtin("abs", vec![self.any()]));
        Expr::binary(F32, "+", size, Expr::new(F32, Node::F32(1)))
    }

    /// Returns a number between two bounds, which are given in units of 1/4.
    fn within(&mut self, low: i32, high: i32) -> Expr {
        limited(self.any(), low, high)
    }
}

fn limited(value: Expr, low: i32, high: i32) -> Expr {
    let limits = [low, high].map(|quarters| Expr::new(F32, Node::F32(quarters)));
    Expr::new(F32, Node::Builtin("clamp", [&[value][..], &limits].concat()))
}
