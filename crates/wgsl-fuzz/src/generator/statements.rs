//! Statements in which the invocations may diverge.

use super::Generator;
use super::scope::Variable;
use crate::tree::statement::{Loop, LoopForm, Stmt};
use crate::tree::types::{BOOL, I32, Scalar, Type, U32};
use crate::tree::{Expr, Node};

/// Maximum product of the iteration counts of all loops around a statement.
const MOST_TURNS: u32 = 128;

impl Generator {
    /// Returns statements with a scope of their own.
    pub(super) fn block(&mut self, depth: u32) -> Vec<Stmt> {
        let mark = self.scope.mark();
        let mut body = Vec::new();
        self.plain(depth, &mut body);
        self.scope.restore(mark);
        body
    }

    /// Adds statements.
    pub(super) fn plain(&mut self, depth: u32, body: &mut Vec<Stmt>) {
        for _ in 0..self.rng.u32(1..6) {
            self.stmt(depth, body);
        }
    }

    fn has_room(&self) -> bool {
        self.left > 0 && self.steps < super::MOST_STEPS
    }

    fn stmt(&mut self, depth: u32, body: &mut Vec<Stmt>) {
        self.left -= 1;
        self.steps += self.weight;
        let nests = depth > 0 && self.has_room();
        let stmt = match self.rng.u8(0..32) {
            0..=3 => self.declaration(),
            4..=6 => self.variable(),
            7 | 8 if nests => self.branch(depth - 1),
            9 | 23 | 27 if nests && self.parts.switches => self.switch(depth - 1),
            10..=13 | 28 if nests => self.looped(depth - 1),
            14 if self.parts.pointers => self.pointer(),
            15 | 16 if self.parts.atomics => self.atomic(),
            17 | 18 => self.effect(),
            19 if nests => Some(Stmt::Block(self.block(depth - 1))),
            20 | 21 | 24 if self.loops > 0 => self.leave_loop(),
            22 | 25 | 26 if self.may_return() => self.leave_function(),
            _ => self.assignment(),
        };
        body.extend(stmt);
    }

    fn may_return(&self) -> bool {
        let allowed = if self.loops > 0 { self.parts.returns_in_loops } else { self.parts.returns };
        allowed && !self.keeps_flow
    }

    pub(super) fn declaration(&mut self) -> Option<Stmt> {
        let name = self.name("c");
        let ty = self.any_type(1);
        let value = self.stored(&ty, self.parts.depth);
        self.declare(&name, &ty, false);
        Some(Stmt::Let(name, value))
    }

    pub(super) fn variable(&mut self) -> Option<Stmt> {
        let ty = self.any_type(2);
        self.variable_of(ty)
    }

    /// Declares a variable of a type.
    pub(super) fn variable_of(&mut self, ty: Type) -> Option<Stmt> {
        let name = self.name("v");
        let value = match self.one_in(4) {
            true if self.options.known_zeros => None,
            true => Some(self.filled(&ty)),
            false => Some(self.stored(&ty, self.parts.depth)),
        };
        self.scope.push(Variable::named(&name, ty.clone(), true).local());
        Some(Stmt::Var(name, ty, value))
    }

    pub(super) fn assignment(&mut self) -> Option<Stmt> {
        let (place, ty) = self.written(2)?;
        let is_integer = ty.lanes().is_some_and(|(scalar, _)| scalar.is_integer());
        if !is_integer || self.one_in(2) {
            let value = self.stored(&ty, self.parts.depth);
            return Some(Stmt::Assign(place, "=", value));
        }
        if matches!(ty, Type::Scalar(scalar) if scalar == scalar.word()) && self.one_in(6) {
            let operator = self.pick(&["++", "--"]);
            return Some(Stmt::Assign(place, operator, Expr::new(ty, Node::Zero)));
        }
        let operator = self.pick(&["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="]);
        if ["<<=", ">>="].contains(&operator) {
            let value = Expr::u32(self.rng.u32(0..32)).splat(&ty.with_scalar(Scalar::U32));
            return Some(Stmt::Assign(place, operator, value));
        }
        let value = self.expr(&ty, self.parts.depth - 1);
        let value = if value.is_const() { self.constant(&ty) } else { value };
        Some(Stmt::Assign(place, operator, value))
    }

    fn pointer(&mut self) -> Option<Stmt> {
        let (place, ty) = self.written(1)?;
        // WGSL has no pointer to a component of a vector.
        let is_component = match place.steps.last() {
            Some(crate::tree::Step::Field(name)) => ["x", "y", "z", "w"].contains(&name.as_str()),
            Some(crate::tree::Step::Index(..)) => matches!(ty, Type::Scalar(_)),
            _ => false,
        };
        if is_component || place.root.starts_with('(') || place.root.starts_with("out_") {
            return self.assignment();
        }
        let name = self.name("q");
        self.declare(&format!("(*{name})"), &ty, true);
        Some(Stmt::Pointer(name, place))
    }

    /// Calls a function for its effects.
    fn effect(&mut self) -> Option<Stmt> {
        let Some(at) = self.callee(|function| function.result.is_none() && !function.uniform) else {
            return self.assignment();
        };
        self.steps += self.weight * self.tree.functions[at].cost;
        self.call(at, 2).map(Stmt::Call)
    }

    fn branch(&mut self, depth: u32) -> Option<Stmt> {
        let condition = self.expr(&BOOL, self.parts.depth - 1);
        let yes = self.block(depth);
        let no = if self.rng.bool() { self.block(depth) } else { Vec::new() };
        Some(Stmt::If(condition, yes, no))
    }

    fn switch(&mut self, depth: u32) -> Option<Stmt> {
        let selector = self.selector();
        let mut values: Vec<i32> = (0..8).collect();
        self.rng.shuffle(&mut values);
        let mut cases = Vec::new();
        for _ in 0..self.rng.u32(1..4) {
            let count = self.rng.usize(1..3);
            let values = values.split_off(values.len() - count);
            cases.push((values, self.block(depth)));
        }
        let default = self.block(depth);
        Some(Stmt::Switch(selector, cases, default))
    }

    /// Returns an integer that is often between 0 and 7.
    pub(super) fn selector(&mut self) -> Expr {
        let ty = self.pick(&[I32, U32]);
        let value = self.not_constant_of(&ty, self.parts.depth - 1);
        if self.one_in(4) { value } else { up_to_seven(value) }
    }

    fn looped(&mut self, depth: u32) -> Option<Stmt> {
        let most = self.rng.u32(1..9);
        if self.weight * most > MOST_TURNS {
            return self.assignment();
        }
        let bound = if self.rng.bool() { Expr::u32(most) } else { self.expr(&U32, 2) };
        let mut of = self.loop_head(bound, most);
        let mark = self.scope.mark();
        self.declare(&of.counter.clone(), &U32, false);
        self.weight *= most;
        self.loops += 1;
        of.body = self.block(depth);
        self.loops -= 1;
        self.weight /= most;
        self.scope.restore(mark);
        Some(Stmt::Loop(of))
    }

    /// Makes a loop without a body.
    pub(super) fn loop_head(&mut self, bound: Expr, most: u32) -> Loop {
        let form = self.pick(&[LoopForm::For, LoopForm::While, LoopForm::Continuing, LoopForm::BreakIf]);
        let until = if self.one_in(3) { Some(self.expr(&BOOL, 2)) } else { None };
        Loop { form, counter: self.name("n"), bound, most, until, body: Vec::new() }
    }

    fn leave_loop(&mut self) -> Option<Stmt> {
        let leave = if self.rng.bool() { Stmt::Break } else { Stmt::Continue };
        Some(Stmt::If(self.expr(&BOOL, 2), vec![leave], Vec::new()))
    }

    fn leave_function(&mut self) -> Option<Stmt> {
        let condition = self.expr(&BOOL, 2);
        let result = self.result.clone().map(|ty| self.stored(&ty, 2));
        Some(Stmt::If(condition, vec![Stmt::Return(result)], Vec::new()))
    }
}

/// Returns the lowest three bits of an integer.
pub(super) fn up_to_seven(value: Expr) -> Expr {
    let mask = if value.ty == I32 { Expr::new(I32, Node::I32(7)) } else { Expr::u32(7) };
    Expr::binary(value.ty.clone(), "&", value, mask)
}
