//! Statements that all invocations of a workgroup reach together.

use super::Generator;
use super::scope::Variable;
use crate::tree::statement::{Broadcast, Stmt, Tally};
use crate::tree::types::{BOOL, Type, U32};
use crate::tree::{Global, Space};

/// Length of a workgroup array of atomics.
const TALLIES: u32 = 4;

impl Generator {
    /// Adds statements of uniform control flow.
    pub(super) fn uniform_block(&mut self, depth: u32, body: &mut Vec<Stmt>) {
        for _ in 0..self.rng.u32(1..5) {
            self.left -= 1;
            self.steps += self.weight;
            let nests = depth > 0 && self.left > 0 && self.steps < super::MOST_STEPS;
            match self.rng.u8(0..18) {
                0..=2 => body.push(self.exchange()),
                3 => body.push(self.broadcast()),
                4 | 5 if self.parts.atomics => body.push(self.tally()),
                14 | 16 | 17 if self.parts.subgroups => body.push(self.subgroup()),
                6 | 12 | 13 if nests => body.push(self.uniform_branch(depth - 1)),
                7 | 8 | 15 if nests => body.push(self.uniform_loop(depth - 1)),
                9 if nests && self.parts.uniform_switches => body.push(self.uniform_switch(depth - 1)),
                10 | 11 => body.extend(self.uniform_call()),
                _ => self.own_ways(2, body),
            }
        }
    }

    /// Adds statements in which the invocations diverge, and then converge again.
    fn own_ways(&mut self, depth: u32, body: &mut Vec<Stmt>) {
        let keeps_flow = self.keeps_flow;
        let loops = self.loops;
        self.keeps_flow = true;
        self.loops = 0;
        self.plain(depth, body);
        self.keeps_flow = keeps_flow;
        self.loops = loops;
    }

    pub(super) fn workgroup_variable(&mut self, prefix: &str, text: String) -> String {
        let same = self.tree.globals.iter().find(|global| {
            global.space == Space::Workgroup && global.text == text && global.name.starts_with(prefix)
        });
        if let Some(same) = same {
            return same.name.clone();
        }
        let name = self.name(prefix);
        self.tree.globals.push(Global { space: Space::Workgroup, name: name.clone(), text });
        name
    }

    fn exchange(&mut self) -> Stmt {
        let ty = self.any_type(1);
        let all = Type::array(ty.clone(), self.group_size());
        let array = self.workgroup_variable("w", all.text(&self.tree.structs));
        let value = self.stored(&ty, 3);
        let mark = self.scope.mark();
        self.declare(&array, &all, false);
        let mut body = Vec::new();
        self.own_ways(2, &mut body);
        self.scope.restore(mark);
        Stmt::Exchange(array, value, body)
    }

    fn broadcast(&mut self) -> Stmt {
        let ty = self.any_type(1);
        let variable = self.workgroup_variable("b", ty.text(&self.tree.structs));
        let lane = self.rng.u32(0..self.group_size());
        let value = self.stored(&ty, 3);
        let name = self.name("same");
        self.scope.push(Variable::named(&name, ty, false).uniform());
        Stmt::Broadcast(Broadcast { name, variable, lane, value })
    }

    fn tally(&mut self) -> Stmt {
        let text = format!("array<atomic<u32>, {TALLIES}>");
        let array = self.workgroup_variable("t", text);
        let operation = crate::program::shared_operation(self.rng.usize(..));
        let condition = self.expr(&BOOL, 2);
        let index = self.index(TALLIES, 2);
        let value = self.expr(&U32, 3);
        let seen = self.index(TALLIES, 2);
        let name = self.declared("a", &U32);
        Stmt::Tally(Tally { name, array, operation, condition, index, len: TALLIES, value, seen })
    }

    /// Makes an expression that has the same value in each invocation of a workgroup.
    fn uniformly<R>(&mut self, make: impl FnOnce(&mut Self) -> R) -> R {
        self.uniform = true;
        let made = make(self);
        self.uniform = false;
        made
    }

    fn inner_block(&mut self, depth: u32) -> Vec<Stmt> {
        let mark = self.scope.mark();
        let mut body = Vec::new();
        self.uniform_block(depth, &mut body);
        self.scope.restore(mark);
        body
    }

    fn uniform_branch(&mut self, depth: u32) -> Stmt {
        let condition = self.uniformly(|generator| generator.expr(&BOOL, 2));
        let yes = self.inner_block(depth);
        let no = if self.rng.bool() { self.inner_block(depth) } else { Vec::new() };
        Stmt::If(condition, yes, no)
    }

    fn uniform_switch(&mut self, depth: u32) -> Stmt {
        let selector = self.uniformly(Self::selector);
        let mut cases = vec![(vec![0, 3, 5], self.inner_block(depth)), (vec![1], self.inner_block(depth))];
        let default = self.inner_block(depth);
        if self.one_in(3) {
            let leave = self.uniform_leave(&[Stmt::Break]);
            cases[0].1.insert(0, leave);
        }
        Stmt::Switch(selector, cases, default)
    }

    fn uniform_loop(&mut self, depth: u32) -> Stmt {
        let most = self.rng.u32(1..5);
        let bound = self.uniformly(|generator| generator.expr(&U32, 2));
        let mut of = self.uniformly(|generator| generator.loop_head(bound, most));
        let mark = self.scope.mark();
        self.scope.push(Variable::named(&of.counter, U32, false).uniform());
        self.weight *= most;
        let mut body = self.inner_block(depth);
        self.weight /= most;
        if self.one_in(2) {
            let leave = self.uniform_leave(&[Stmt::Break, Stmt::Continue]);
            let at = self.rng.usize(0..2) * body.len();
            body.insert(at, leave);
        }
        self.scope.restore(mark);
        of.body = body;
        Stmt::Loop(of)
    }

    /// Makes a jump that all invocations of a workgroup take together: one of `jumps`, or a `return`.
    fn uniform_leave(&mut self, jumps: &[Stmt]) -> Stmt {
        let condition = self.uniformly(|generator| generator.expr(&BOOL, 2));
        let leave = if self.parts.returns && self.rng.bool() {
            Stmt::Return(self.result.clone().map(|ty| self.stored(&ty, 2)))
        } else {
            self.pick(jumps)
        };
        Stmt::If(condition, vec![leave], Vec::new())
    }

    fn uniform_call(&mut self) -> Option<Stmt> {
        let Some(at) = self.callee(|function| function.uniform) else { return Some(self.exchange()) };
        self.steps += self.weight * self.tree.functions[at].cost;
        let call = self.call(at, 2)?;
        let Some(result) = self.tree.functions[at].result.clone() else { return Some(Stmt::Call(call)) };
        Some(Stmt::Let(self.declared("c", &result), call))
    }
}
