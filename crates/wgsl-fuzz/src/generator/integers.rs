//! Expressions of integers and of their vectors.

use super::Generator;
use crate::tree::bounds::{bound, is_storable};
use crate::tree::types::{F32, I32, Scalar, Type, U32};
use crate::tree::{Expr, Node};

impl Generator {
    pub(super) fn integer_expr(&mut self, scalar: Scalar, size: u8, depth: u32) -> Expr {
        let ty = Type::vector(scalar, size);
        match self.rng.u8(0..16) {
            0..=4 => self.arithmetic(&ty, depth),
            5 => self.shift(&ty, depth),
            6 => {
                let operator = if scalar == Scalar::I32 && self.rng.bool() { "-" } else { "~" };
                let of = self.not_constant_of(&ty, depth);
                Expr::new(ty, Node::Unary(operator, Box::new(of)))
            }
            7 | 8 => self.integer_builtin(scalar, &ty, depth),
            9 => self.field_of_bits(&ty, depth),
            10 => self.select(&ty, depth),
            11 => self.conversion(scalar, size, depth),
            12 => self.packed(scalar, size, depth),
            _ => self.assembled(scalar, size, depth),
        }
    }

    /// Returns an operation whose result wraps.
    pub(super) fn arithmetic(&mut self, ty: &Type, depth: u32) -> Expr {
        let operator = self.pick(&["+", "-", "*", "+", "-", "*", "/", "%", "&", "|", "^"]);
        let (scalar, size) = ty.lanes().unwrap_or((Scalar::I32, 1));
        let mut left = self.expr(ty, depth);
        let mut right = self.expr(ty, depth);
        let mixes = size > 1 && ["+", "-", "*", "/", "%"].contains(&operator) && self.one_in(4);
        if mixes {
            let side = self.expr(&Type::Scalar(scalar), depth);
            if self.rng.bool() {
                left = side;
            } else {
                right = side;
            }
        }
        // A compiler refuses the constant zero as a divisor.
        if ["/", "%"].contains(&operator) && right.is_const() {
            right = self.constant(&right.ty.clone());
        }
        self.binary(ty.clone(), operator, left, right)
    }

    fn shift(&mut self, ty: &Type, depth: u32) -> Expr {
        let operator = self.pick(&["<<", ">>"]);
        let amount_type = ty.with_scalar(Scalar::U32);
        let left = self.expr(ty, depth);
        let mut amount = self.expr(&amount_type, depth);
        // A compiler refuses a constant shift that is too wide, even in one component; naga also refuses it in a `let`.
        let is_unknown = match &amount.node {
            Node::Read(place) => ["params.", "in_", "out_"].iter().any(|start| place.root.starts_with(start)),
            _ => false,
        };
        if !is_unknown {
            let mask = Expr::u32(31).splat(&amount_type);
            amount = Expr::binary(amount_type, "&", amount, mask);
        }
        self.binary(ty.clone(), operator, left, amount)
    }

    fn integer_builtin(&mut self, scalar: Scalar, ty: &Type, depth: u32) -> Expr {
        const ONE: [&str; 9] = [
            "abs",
            "countOneBits",
            "reverseBits",
            "firstLeadingBit",
            "firstTrailingBit",
            "countLeadingZeros",
            "countTrailingZeros",
            "sign",
            "countOneBits",
        ];
        match self.rng.u8(0..5) {
            0 | 1 => {
                let name = self.pick(&ONE);
                let name = if name == "sign" && scalar == Scalar::U32 { "abs" } else { name };
                let of = self.expr(ty, depth);
                self.builtin(ty.clone(), name, vec![of])
            }
            2 => {
                let name = self.pick(&["min", "max"]);
                let of = vec![self.expr(ty, depth), self.expr(ty, depth)];
                self.builtin(ty.clone(), name, of)
            }
            3 => self.clamp(scalar, ty, depth),
            _ if ty.lanes().is_some_and(|(_, size)| size == 1) => {
                let vector = Type::Vector(scalar, self.rng.u8(2..5));
                let of = vec![self.expr(&vector, depth), self.expr(&vector, depth)];
                self.builtin(ty.clone(), "dot", of)
            }
            _ => self.select(ty, depth),
        }
    }

    /// Returns an expression that no compiler folds, unless an option allows it.
    fn not_folded(&mut self, ty: &Type, depth: u32) -> Expr {
        let of = self.expr(ty, depth);
        if self.options.known_zeros && !of.is_const() { of } else { self.not_known(of) }
    }

    /// Replaces a constant by a parameter, or adds a parameter to any other expression.
    pub(super) fn not_known(&mut self, of: Expr) -> Expr {
        let ty = of.ty.clone();
        let unknown = self.unknown(&ty);
        if of.is_const() {
            return unknown;
        }
        Expr::binary(ty, "+", of, unknown)
    }

    /// Clamps between constants: WGSL defines no result for limits in the wrong order.
    fn clamp(&mut self, scalar: Scalar, ty: &Type, depth: u32) -> Expr {
        let of = self.not_folded(ty, depth);
        let low = self.rng.i32(-100..10);
        let high = self.rng.i32(10..5000);
        let limit = |value: i32| {
            let number = match scalar {
                Scalar::U32 => Expr::u32(value.unsigned_abs().min(10 + value.max(0).unsigned_abs())),
                _ => Expr::new(I32, Node::I32(value)),
            };
            number.splat(ty)
        };
        let of = vec![of, limit(low), limit(high)];
        Expr::new(ty.clone(), Node::Builtin("clamp", of))
    }

    /// Extracts or inserts bits at constant or arbitrary positions.
    fn field_of_bits(&mut self, ty: &Type, depth: u32) -> Expr {
        let mut of = vec![self.expr(ty, depth)];
        let inserts = self.rng.bool();
        if inserts {
            of.push(self.expr(ty, depth));
        }
        let offset = self.rng.u32(0..32);
        let count = self.rng.u32(0..=32 - offset);
        let places = if self.rng.bool() {
            [Expr::u32(offset), Expr::u32(count)]
        } else {
            [offset, count].map(|most| {
                let any = self.not_constant_of(&U32, depth);
                Expr::new(U32, Node::Builtin("min", vec![any, Expr::u32(most)]))
            })
        };
        of.extend(places);
        self.builtin(ty.clone(), if inserts { "insertBits" } else { "extractBits" }, of)
    }

    /// Converts from another scalar.
    fn conversion(&mut self, scalar: Scalar, size: u8, depth: u32) -> Expr {
        let ty = Type::vector(scalar, size);
        if self.parts.sizes && self.one_in(2) {
            return self.number_of_other(&ty, depth);
        }
        let other = if scalar == Scalar::I32 { Scalar::U32 } else { Scalar::I32 };
        match self.rng.u8(0..6) {
            5 if scalar == Scalar::I32 => {
                let of = self.stored(&ty.with_scalar(Scalar::F32), depth);
                self.builtin(ty, "frexp.exp", vec![of])
            }
            0 => {
                let of = self.not_constant_of(&ty.with_scalar(other), depth);
                Expr::new(ty, Node::Builtin("bitcast", vec![of]))
            }
            1 => self.not_constant_of(&ty.with_scalar(Scalar::Bool), depth).splat(&ty),
            2 => self.not_constant_of(&ty.with_scalar(other), depth).splat(&ty),
            3 => {
                let float = ty.with_scalar(Scalar::F32);
                let of = self.not_constant_of(&float, depth);
                let of =
                    if scalar == Scalar::U32 { Expr::new(float, Node::Builtin("abs", vec![of])) } else { of };
                Expr::new(ty, Node::Construct(vec![of]))
            }
            _ if size == 1 => {
                let of = self.number(&F32, depth);
                let of = if is_storable(&of) && !of.is_const() { of } else { self.unknown(&F32) };
                Expr::new(ty, Node::Builtin("float_bits", vec![of]))
            }
            _ => self.assembled(scalar, size, depth),
        }
    }

    /// Packs or unpacks bytes and halves.
    fn packed(&mut self, scalar: Scalar, size: u8, depth: u32) -> Expr {
        let ty = Type::vector(scalar, size);
        let vector = |scalar| Type::Vector(scalar, 4);
        match (scalar, size) {
            (Scalar::U32, 1) => match self.rng.u8(0..5) {
                0 => {
                    let name = self.pick(&["pack4xU8", "pack4xU8Clamp"]);
                    let of = self.not_folded(&vector(Scalar::U32), depth);
                    self.builtin(ty, name, vec![of])
                }
                1 => {
                    let name = self.pick(&["pack4xI8", "pack4xI8Clamp"]);
                    let of = self.not_folded(&vector(Scalar::I32), depth);
                    self.builtin(ty, name, vec![of])
                }
                2 => {
                    let of = vec![self.expr(&U32, depth), self.expr(&U32, depth)];
                    self.builtin(ty, "dot4U8Packed", of)
                }
                3 => self.packed_floats(depth),
                _ => self.packed_halves(depth),
            },
            (Scalar::I32, 1) => {
                let of = vec![self.expr(&U32, depth), self.expr(&U32, depth)];
                self.builtin(ty, "dot4I8Packed", of)
            }
            (_, 4) => {
                let name = if scalar == Scalar::U32 { "unpack4xU8" } else { "unpack4xI8" };
                let of = self.expr(&U32, depth);
                self.builtin(ty, name, vec![of])
            }
            _ => self.assembled(scalar, size, depth),
        }
    }

    /// Packs floats that are not on a boundary between two results.
    fn packed_floats(&mut self, depth: u32) -> Expr {
        let (name, size) = self.pick(&[
            ("pack4x8snorm", 4),
            ("pack4x8unorm", 4),
            ("pack2x16snorm", 2),
            ("pack2x16unorm", 2),
        ]);
        let vector = Type::Vector(Scalar::F32, size);
        let of = self.expr(&vector, depth);
        let free = self.parts.free_floats;
        let of = if of.is_const() || (!free && bound(&of).is_none()) { self.unknown(&vector) } else { of };
        let sign = Expr::new(vector.clone(), Node::Builtin("sign", vec![of]));
        let part = Expr::new(F32, Node::F32(self.pick(&[4, 3, 1])));
        Expr::new(U32, Node::Builtin(name, vec![Expr::binary(vector, "*", sign, part)]))
    }

    /// Returns floats that are not NaN: the bits of a NaN may differ between engines.
    fn number(&mut self, ty: &Type, depth: u32) -> Expr {
        if !self.parts.free_floats {
            return self.stored(ty, depth);
        }
        let of = self.not_constant_of(&ty.with_scalar(Scalar::U32), depth);
        Expr::new(ty.clone(), Node::Builtin("small", vec![of]))
    }

    fn packed_halves(&mut self, depth: u32) -> Expr {
        let two = Type::Vector(Scalar::F32, 2);
        let of = self.number(&two, depth);
        let of = if of.is_const() { self.unknown(&two) } else { of };
        let size = Expr::new(two, Node::Builtin("abs", vec![of]));
        Expr::new(U32, Node::Builtin("pack2x16float", vec![size]))
    }
}
