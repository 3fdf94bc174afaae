//! Paths from a variable to a value in it.

use super::Generator;
use super::statements::up_to_seven;
use crate::tree::print::NUMBERS;
use crate::tree::types::{I32, Scalar, Type, U32};
use crate::tree::visit::expressions;
use crate::tree::{ANY, Expr, Node, Place, Step};

/// A step from a value to a part of it.
enum Shape {
    Field(String),
    Index(u32),
}

impl Generator {
    /// Reads a variable or a part of one, of the given type; `None` if no variable in scope has it.
    pub(super) fn read(&mut self, ty: &Type, depth: u32) -> Option<Expr> {
        let count = self.scope.all().len();
        let start = self.rng.usize(0..count.max(1));
        // Newer variables are more interesting.
        let newest = self.rng.usize(count.saturating_sub(10)..count);
        let start = if self.one_in(2) { newest } else { start };
        for at in 0..count {
            let variable = &self.scope.all()[(start + count - at) % count];
            if self.uniform && !variable.is_uniform {
                continue;
            }
            let from = variable.ty.clone();
            let place = variable.place.clone();
            if let Some(place) = self.reach(&from, ty, place, depth) {
                return Some(Expr::new(ty.clone(), Node::Read(place)));
            }
        }
        None
    }

    /// Returns a place that the program may write, and its type.
    pub(super) fn written(&mut self, depth: u32) -> Option<(Place, Type)> {
        let written: Vec<usize> =
            (0..self.scope.all().len()).filter(|at| self.scope.all()[*at].is_written).collect();
        if written.is_empty() {
            return None;
        }
        let newest = written.len().saturating_sub(8);
        let from = if self.one_in(2) { &written[newest..] } else { &written[..] };
        let at = self.pick(from);
        let variable = &self.scope.all()[at];
        let mut ty = variable.ty.clone();
        let mut place = variable.place.clone();
        while !self.one_in(3) {
            let mut shapes = self.shapes(&ty);
            if shapes.is_empty() {
                break;
            }
            let (shape, part) = shapes.swap_remove(self.rng.usize(0..shapes.len()));
            let depth = if self.parts.dynamic { depth } else { 0 };
            place.steps.push(self.step(shape, depth));
            ty = part;
        }
        Some((place, ty))
    }

    fn reach(&mut self, from: &Type, to: &Type, place: Place, depth: u32) -> Option<Place> {
        if from == to {
            return Some(place);
        }
        let depth = if self.may_index(&place) { depth } else { 0 };
        let mut shapes = self.shapes(from);
        self.rng.shuffle(&mut shapes);
        for (shape, part) in shapes {
            if self.contains(&part, to) {
                let mut place = place;
                place.steps.push(self.step(shape, depth));
                return self.reach(&part, to, place, depth);
            }
        }
        None
    }

    /// Returns `true` if an index into a place may be an expression.
    pub(super) fn may_index(&self, place: &Place) -> bool {
        let allowed = self.parts.dynamic || place.root.starts_with("in_");
        allowed && (self.options.uniform_indices || !place.root.starts_with("params."))
    }

    fn contains(&self, from: &Type, to: &Type) -> bool {
        from == to || self.shapes(from).iter().any(|(_, part)| self.contains(part, to))
    }

    /// Returns each path into a type.
    fn shapes(&self, ty: &Type) -> Vec<(Shape, Type)> {
        match ty {
            Type::Scalar(_) => Vec::new(),
            Type::Vector(scalar, size) => {
                let letters = ["x", "y", "z", "w"].iter().take(usize::from(*size));
                let part = Type::Scalar(*scalar);
                let fields = letters.map(|letter| (Shape::Field((*letter).to_owned()), part.clone()));
                let index = (Shape::Index(u32::from(*size)), part.clone());
                fields.chain([index]).collect()
            }
            Type::Matrix(columns, rows) => {
                vec![(Shape::Index(u32::from(*columns)), Type::Vector(Scalar::F32, *rows))]
            }
            Type::Array(of, len) => vec![(Shape::Index(*len), (**of).clone())],
            Type::Struct(at) => {
                let fields = self.tree.structs[*at].fields.iter();
                fields.map(|(name, ty)| (Shape::Field(name.clone()), ty.clone())).collect()
            }
        }
    }

    fn step(&mut self, shape: Shape, depth: u32) -> Step {
        match shape {
            Shape::Field(name) => Step::Field(name),
            Shape::Index(len) => {
                let (index, len) = self.any_index(len, depth);
                Step::Index(Box::new(index), len)
            }
        }
    }

    /// Returns an index below `len`, together with `len`; or an index that may be out of bounds, together with [`ANY`].
    pub(super) fn any_index(&mut self, len: u32, depth: u32) -> (Expr, u32) {
        if depth == 0 || !self.parts.wild || self.one_in(2) {
            return (self.index(len, depth), len);
        }
        if !self.uniform && self.one_in(4) {
            return (self.adjacent_index(), ANY);
        }
        let ty = self.pick(&[I32, U32]);
        let value = self.expr(&ty, depth.min(2) - 1);
        // An index that the compiler knows must be in bounds.
        let value = if is_known(&value) { self.unknown(&ty) } else { value };
        (if self.one_in(3) { value } else { up_to_seven(value) }, ANY)
    }

    /// Returns an index that increases by one from each invocation to the next, and may wrap.
    fn adjacent_index(&mut self) -> Expr {
        let name = self.pick(&NUMBERS);
        let number = Expr::read(U32, name);
        let other = match self.rng.u8(0..4) {
            0 => return number,
            1 => Expr::read(U32, "params.nu"),
            _ => Expr::u32(self.rng.u32(1..20)),
        };
        let operator = self.pick(&["+", "-"]);
        Expr::binary(U32, operator, number, other)
    }

    /// Returns an index, which the printer limits to the valid range.
    pub(super) fn index(&mut self, len: u32, depth: u32) -> Expr {
        if depth == 0 || self.one_in(3) {
            return Expr::u32(self.rng.u32(0..len));
        }
        self.expr(&U32, depth.min(2) - 1)
    }
}

/// Returns `true` if a compiler may know the value: it depends only on constants and `let`s.
fn is_known(value: &Expr) -> bool {
    let mut known = true;
    expressions(&mut value.clone(), &mut |inner| match &inner.node {
        Node::Read(place) => known &= place.root.starts_with('c'),
        Node::Call(..) => known = false,
        _ => {}
    });
    known
}
