//! The functions of a program, and its entry point.

use super::Generator;
use super::scope::Variable;
use crate::program::SLOTS;
use crate::tree::statement::Stmt;
use crate::tree::types::{F32, I32, Type, U32};
use crate::tree::{Function, Node, Param};

impl Generator {
    pub(super) fn functions(&mut self) {
        for _ in 0..self.rng.u32(0..4) {
            let uniform = self.parts.waiting_functions && self.one_in(2);
            let function = self.function(uniform);
            self.tree.functions.push(function);
        }
    }

    fn function(&mut self, uniform: bool) -> Function {
        let mark = self.scope.mark();
        let left = self.left;
        self.left = self.rng.i32(2..12);
        self.steps = 0;
        let name = self.name("fun");
        let mut params = Vec::new();
        for _ in 0..self.rng.u32(0..4) {
            let name = self.name("a");
            let mut ty = self.any_type(1);
            let pointer = self.parts.pointers && self.one_in(2);
            // A call needs a variable of the pointer's type, so most pointers have types that are common among
            // variables.
            if pointer && !self.one_in(4) {
                ty = self.pick(&[I32, U32, F32]);
            }
            if pointer {
                self.scope.push(Variable::named(&format!("(*{name})"), ty.clone(), true));
            } else {
                self.declare(&name, &ty, false);
            }
            params.push(Param { name, ty, pointer });
        }
        let branches = self.parts.branching_functions;
        let silent = if uniform { self.one_in(2) } else { branches && self.one_in(4) };
        self.result = if silent { None } else { Some(self.any_type(1)) };
        let result = self.result.clone();
        let mut body = Vec::new();
        self.keeps_flow = uniform;
        if uniform {
            self.uniform_block(2, &mut body);
            if self.parts.returns && self.one_in(2) {
                self.keeps_flow = false;
                self.plain(2, &mut body);
            }
        } else if !branches {
            for _ in 0..self.rng.u32(0..3) {
                body.extend(self.declaration());
            }
        } else {
            self.plain(2, &mut body);
            self.plain(2, &mut body);
        }
        let value = result.as_ref().map(|ty| self.stored(ty, 3));
        body.extend(value.map(|value| Stmt::Return(Some(value))));
        self.keeps_flow = false;
        self.result = None;
        self.left = left;
        self.scope.restore(mark);
        Function { name, params, result, body, cost: self.steps + 1, uniform }
    }

    /// Makes the entry point: uniform control flow, then a part in which invocations may return, then the outputs.
    pub(super) fn main(&mut self) {
        self.steps = 0;
        let mut body = Vec::new();
        self.set_privates(&mut body);
        self.declare_builtins();
        for _ in 0..self.rng.u32(1..4) {
            body.extend(self.variable());
        }
        self.calls_with_pointers(&mut body);
        self.keeps_flow = true;
        self.plain(1, &mut body);
        self.keeps_flow = false;
        if self.parts.barriers {
            self.uniform_block(2, &mut body);
            while self.left > 15 && self.steps < super::MOST_STEPS {
                self.uniform_block(2, &mut body);
            }
        }
        if self.one_in(3) {
            self.outputs(&mut body);
        }
        while self.left > 0 && self.steps < super::MOST_STEPS {
            self.plain(3, &mut body);
        }
        if self.has("out_x") {
            self.inexact(&mut body);
        }
        self.outputs(&mut body);
        self.tree.main = body;
    }

    /// Calls the functions that take pointers, with variables that fit.
    fn calls_with_pointers(&mut self, body: &mut Vec<Stmt>) {
        for at in 0..self.tree.functions.len() {
            let function = self.tree.functions[at].clone();
            let pointed: Vec<Type> =
                function.params.into_iter().filter(|param| param.pointer).map(|param| param.ty).collect();
            if function.uniform || pointed.is_empty() {
                continue;
            }
            for ty in pointed {
                body.extend(self.variable_of(ty));
            }
            self.steps += function.cost;
            let call = self.call(at, 2);
            body.extend(call.map(|call| match function.result {
                Some(ty) => Stmt::Let(self.declared("c", &ty), call),
                None => Stmt::Call(call),
            }));
        }
    }

    /// Sets the private variables, unless they may be zero.
    fn set_privates(&mut self, body: &mut Vec<Stmt>) {
        if self.options.known_zeros {
            return;
        }
        let privates = self.scope.all().iter().filter(|variable| {
            variable.is_written && self.tree.globals.iter().any(|global| global.name == variable.place.root)
        });
        let privates: Vec<Variable> = privates.cloned().collect();
        for variable in privates {
            let value = self.filled(&variable.ty);
            body.push(Stmt::Assign(variable.place, "=", value));
        }
    }

    fn declare_builtins(&mut self) {
        let three = Type::Vector(crate::tree::types::Scalar::U32, 3);
        for name in ["wid", "groups"] {
            self.scope.push(Variable::named(name, three.clone(), false).uniform());
        }
        for name in ["lid", "gid"] {
            self.declare(name, &three, false);
        }
        self.declare("lane", &U32, false);
        if self.parts.subgroups {
            self.declare_subgroup_builtins();
        }
    }

    /// Stores values of the newest variables in each output.
    fn outputs(&mut self, body: &mut Vec<Stmt>) {
        for (name, ty) in [("out_u", U32), ("out_i", I32), ("out_f", F32)] {
            for slot in 0..SLOTS {
                if self.rng.u8(0..3) > 0 {
                    continue;
                }
                let at = self.slot(slot);
                let place = Variable::slot(name, &at, ty.clone()).place;
                let value = self.stored(&ty, 2);
                let value = if value.is_const() { self.unknown(&ty) } else { value };
                body.push(Stmt::Assign(place, "=", value));
            }
        }
        if !self.has("out_s") {
            return;
        }
        let item = Type::Struct(super::setup::ITEM);
        let value = self.stored(&item, 2);
        if !matches!(value.node, Node::Zero) {
            body.push(Stmt::Assign(Variable::slot("out_s", "invocation", item).place, "=", value));
        }
    }
}
