//! Expressions of any type.

use super::Generator;
use crate::data::integer;
use crate::tree::bounds::{bound, is_storable};
use crate::tree::types::{BOOL, F32, I32, Scalar, Type, U32};
use crate::tree::{Argument, Expr, Function, Node};

impl Generator {
    /// Returns an expression with a value that may be stored in a variable.
    pub(super) fn stored(&mut self, ty: &Type, depth: u32) -> Expr {
        let found = self.expr(ty, depth);
        if self.parts.free_floats { found } else { self.narrow(found) }
    }

    /// Returns an expression of a type. All its float operations are exact.
    pub(super) fn expr(&mut self, ty: &Type, depth: u32) -> Expr {
        if depth == 0 || self.one_in(6) {
            return self.leaf(ty);
        }
        if !self.uniform
            && self.one_in(12)
            && let Some(call) = self.call_of(ty, depth - 1)
        {
            return call;
        }
        let found = match ty.lanes() {
            Some((Scalar::Bool, size)) => self.bool_expr(size, depth - 1),
            Some((Scalar::F32, size)) => self.float_expr(size, depth - 1),
            Some((scalar, size)) if scalar != scalar.word() => self.sized_expr(scalar, size, depth - 1),
            Some((scalar, size)) => self.integer_expr(scalar, size, depth - 1),
            None => self.composite(ty, depth - 1),
        };
        // An operation that could round is replaced.
        let rounds = !self.parts.free_floats && ty.is_float() && bound(&found).is_none();
        if rounds { self.leaf(ty) } else { found }
    }

    /// Returns a variable or a constant.
    pub(super) fn leaf(&mut self, ty: &Type) -> Expr {
        if !self.one_in(5)
            && let Some(read) = self.read(ty, 1)
        {
            return read;
        }
        self.constant(ty)
    }

    /// Returns a constant. Its integers are not zero.
    pub(super) fn constant(&mut self, ty: &Type) -> Expr {
        let node = match ty {
            Type::Scalar(Scalar::Bool) => Node::Bool(self.rng.bool()),
            Type::Scalar(Scalar::I32) => Node::I32(integer(&mut self.rng).max(1).cast_signed()),
            Type::Scalar(Scalar::U32) => Node::U32(integer(&mut self.rng).max(1)),
            Type::Scalar(Scalar::F32) => Node::F32(self.rng.i32(-16..=16)),
            Type::Scalar(scalar) => Node::Construct(vec![self.constant(&Type::Scalar(scalar.word()))]),
            Type::Vector(scalar, size) => {
                let part = Type::Scalar(*scalar);
                let count = if self.one_in(3) { 1 } else { *size };
                Node::Construct((0..count).map(|_| self.constant(&part)).collect())
            }
            Type::Matrix(columns, rows) => {
                let column = Type::Vector(Scalar::F32, *rows);
                Node::Construct((0..*columns).map(|_| self.constant(&column)).collect())
            }
            Type::Array(..) | Type::Struct(_) if self.options.known_zeros => Node::Zero,
            Type::Array(..) | Type::Struct(_) => return self.filled(ty),
        };
        Expr::new(ty.clone(), node)
    }

    /// Returns an expression that no compiler can evaluate.
    pub(super) fn unknown(&mut self, ty: &Type) -> Expr {
        let (scalar, size) = ty.lanes().unwrap_or((Scalar::F32, 1));
        let root = match scalar.word() {
            Scalar::I32 => "params.ni",
            Scalar::F32 => "params.nf",
            _ => "params.nu",
        };
        let read = Expr::read(if scalar == Scalar::Bool { U32 } else { Type::Scalar(scalar.word()) }, root);
        let value = match scalar {
            Scalar::Bool => {
                let limit = self.constant(&U32);
                Expr::binary(BOOL, "<", read, limit)
            }
            _ => read.splat(&Type::Scalar(scalar)),
        };
        if size == 1 { value } else { value.splat(ty) }
    }

    /// Returns a value of a type that a compiler cannot evaluate, not even in part.
    pub(super) fn filled(&mut self, ty: &Type) -> Expr {
        let parts: Vec<Type> = match ty {
            Type::Scalar(_) | Type::Vector(..) => return self.unknown(ty),
            Type::Matrix(columns, rows) => vec![Type::Vector(Scalar::F32, *rows); usize::from(*columns)],
            Type::Array(of, len) => vec![(**of).clone(); *len as usize],
            Type::Struct(at) => self.tree.structs[*at].fields.iter().map(|(_, ty)| ty.clone()).collect(),
        };
        Expr::new(ty.clone(), Node::Construct(parts.iter().map(|ty| self.filled(ty)).collect()))
    }

    /// Replaces the first operand if all are constants: a compiler refuses constants that overflow.
    pub(super) fn not_constant(&mut self, of: &mut [Expr]) {
        if of.iter().all(Expr::is_const) && of[0].ty.lanes().is_some() {
            let ty = of[0].ty.clone();
            of[0] = self.unknown(&ty);
        }
    }

    pub(super) fn binary(&mut self, ty: Type, operator: &'static str, left: Expr, right: Expr) -> Expr {
        let mut sides = [left, right];
        self.not_constant(&mut sides);
        let [left, right] = sides;
        Expr::binary(ty, operator, left, right)
    }

    pub(super) fn builtin(&mut self, ty: Type, name: &'static str, mut of: Vec<Expr>) -> Expr {
        self.not_constant(&mut of);
        Expr::new(ty, Node::Builtin(name, of))
    }

    /// Limits a float to values that may be stored in a variable.
    pub(super) fn narrow(&mut self, expr: Expr) -> Expr {
        if is_storable(&expr) {
            return expr;
        }
        let ty = expr.ty.clone();
        if let Type::Matrix(columns, rows) = ty {
            let column = Type::Vector(Scalar::F32, rows);
            let parts = (0..u32::from(columns)).map(|at| {
                let node = Node::Element(Box::new(expr.clone()), Box::new(Expr::u32(at)), u32::from(columns));
                self.narrow(Expr::new(column.clone(), node))
            });
            return Expr::new(ty, Node::Construct(parts.collect()));
        }
        let scalar = Type::Scalar(ty.lanes().map_or(Scalar::F32, |(scalar, _)| scalar));
        let [low, high] =
            [-256, 256].map(|quarters| Expr::new(F32, Node::F32(quarters)).splat(&scalar).splat(&ty));
        let whole = Expr::new(ty.clone(), Node::Builtin("floor", vec![expr]));
        Expr::new(ty, Node::Builtin("clamp", vec![whole, low, high]))
    }

    /// Returns a vector constructed from scalars, from a single repeated scalar, or from a swizzle of another vector.
    pub(super) fn assembled(&mut self, scalar: Scalar, size: u8, depth: u32) -> Expr {
        let ty = Type::vector(scalar, size);
        let part = Type::Scalar(scalar);
        match self.rng.u8(0..4) {
            0 => self.expr(&part, depth).splat(&ty),
            1 if size > 1 => {
                let parts = (0..size).map(|_| self.expr(&part, depth)).collect();
                Expr::new(ty, Node::Construct(parts))
            }
            2 if size > 2 => {
                let two = self.expr(&Type::Vector(scalar, 2), depth);
                let mut parts: Vec<Expr> = (2..size).map(|_| self.expr(&part, depth)).collect();
                parts.insert(self.rng.usize(0..=parts.len()), two);
                Expr::new(ty, Node::Construct(parts))
            }
            _ => {
                let from = self.rng.u8(2..5);
                let of = self.expr(&Type::Vector(scalar, from), depth);
                if size == 1 && self.one_in(2) {
                    let is_free = !matches!(&of.node, Node::Read(place) if !self.may_index(place));
                    let (index, len) = self.any_index(u32::from(from), if is_free { depth } else { 0 });
                    return Expr::new(ty, Node::Element(Box::new(of), Box::new(index), len));
                }
                let set = if self.one_in(2) { "xyzw" } else { "rgba" };
                let letter = |generator: &mut Self| set.as_bytes()[generator.rng.usize(0..usize::from(from))];
                let letters = (0..size).map(|_| char::from(letter(self))).collect();
                Expr::new(ty, Node::Swizzle(Box::new(of), letters))
            }
        }
    }

    /// Returns a choice between two values.
    pub(super) fn select(&mut self, ty: &Type, depth: u32) -> Expr {
        let size = ty.lanes().map_or(1, |(_, size)| size);
        let condition = Type::vector(Scalar::Bool, if self.one_in(2) { size } else { 1 });
        let of = vec![self.expr(ty, depth), self.expr(ty, depth), self.expr(&condition, depth)];
        // naga 30 panics at a `select` between constants if the condition is a constant vector made of vectors.
        self.builtin(ty.clone(), "select", of)
    }

    fn composite(&mut self, ty: &Type, depth: u32) -> Expr {
        match ty {
            Type::Matrix(columns, rows) => self.matrix(*columns, *rows, depth),
            Type::Array(of, len) => {
                let parts = (0..*len).map(|_| self.stored(of, depth.min(1))).collect();
                Expr::new(ty.clone(), Node::Construct(parts))
            }
            Type::Struct(at) => {
                let fields: Vec<Type> =
                    self.tree.structs[*at].fields.iter().map(|(_, ty)| ty.clone()).collect();
                let parts = fields.iter().map(|ty| self.stored(ty, depth.min(2))).collect();
                Expr::new(ty.clone(), Node::Construct(parts))
            }
            _ => self.leaf(ty),
        }
    }

    /// Returns a call of a function with this result.
    fn call_of(&mut self, ty: &Type, depth: u32) -> Option<Expr> {
        let at = self.callee(|function| function.result.as_ref() == Some(ty) && !function.uniform)?;
        self.call(at, depth)
    }

    /// Chooses a function that fits and whose cost is not too high here.
    pub(super) fn callee(&mut self, fits: impl Fn(&Function) -> bool) -> Option<usize> {
        let is_affordable = |cost: u32| self.weight.saturating_mul(cost) <= MOST_CALL;
        let functions = self.tree.functions.iter().enumerate();
        let fitting = functions.filter(|(_, function)| fits(function) && is_affordable(function.cost));
        let found: Vec<usize> = fitting.map(|(at, _)| at).collect();
        if found.is_empty() { None } else { Some(self.pick(&found)) }
    }

    /// Returns a call of a function; `None` if no variable fits a pointer parameter.
    pub(super) fn call(&mut self, at: usize, depth: u32) -> Option<Expr> {
        let function = self.tree.functions[at].clone();
        let mut arguments = Vec::new();
        let mut pointed: Vec<String> = Vec::new();
        for param in &function.params {
            if !param.pointer {
                arguments.push(Argument::Value(self.stored(&param.ty, depth.min(2))));
                continue;
            }
            let fits = |variable: &&super::Variable| {
                variable.is_local
                    && variable.is_written
                    && variable.ty == param.ty
                    && !pointed.contains(&variable.place.root)
            };
            let found = self.scope.all().iter().rev().find(fits)?.place.root.clone();
            pointed.push(found.clone());
            arguments.push(Argument::Pointer(found));
        }
        // The arguments of a call must not read memory that the call writes through a pointer.
        let ty = function.result.clone().unwrap_or(I32);
        Some(Expr::new(ty, Node::Call(function.name, arguments)))
    }
}

/// Maximum number of steps in a loop for all calls of one function.
const MOST_CALL: u32 = super::MOST_STEPS / 8;
