//! Loops and `switch` on several lanes.

use super::scope::{Form, Scope};
use super::statement::escapes_block;
use super::{Lane, Vector, Vectors};
use crate::compile::layout::Kind;
use crate::compile::refusal::{Result, refuse};
use crate::compile::uses::{Inside, escapes};
use crate::statements::visit;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_frontend::Switch;
use naga::{Block, Expression, Handle, Statement, SwitchCase, SwitchValue};

/// A body of a `switch`.
struct Case<'m> {
    values: Vec<u32>,
    is_default: bool,
    body: &'m Block,
}

impl<'m> Vector<'_, '_, 'm> {
    /// Translates a loop.
    pub(super) fn repeat(
        &mut self,
        body: &'m Block,
        continuing: &'m Block,
        break_if: Option<Handle<Expression>>,
    ) -> Result<()> {
        let [head, end, exit] = [(); 3].map(|()| self.lower.builder.create_block());
        if self.body.varying.leaves_apart(body) {
            self.repeat_apart(body, continuing, break_if, [head, end, exit])?;
        } else {
            self.lower.jump(head);
            self.lower.enter(head);
            let mask = self.body.mask;
            self.body.scopes.push(Scope { mask, ..Scope::new(Form::Loop, end, exit) });
            self.block(body)?;
            self.lower.fall(end);
            self.lower.enter(end);
            self.block(continuing)?;
            self.body.scopes.pop();
            let leave = match break_if {
                Some(condition) => Some(Self::shared(self.value(condition)?[0])?),
                None => None,
            };
            self.lower.repeat_or_leave_on(leave, head, exit);
        }
        self.lower.enter(exit);
        if body.iter().any(|statement| escapes(statement, Inside::in_loop())) {
            self.skip_rest();
        }
        Ok(())
    }

    /// Translates a loop that some lanes may leave before others. Each iteration has a mask of the lanes that are still
    /// in the loop.
    fn repeat_apart(
        &mut self,
        body: &'m Block,
        continuing: &'m Block,
        break_if: Option<Handle<Expression>>,
        [head, end, exit]: [ir::Block; 3],
    ) -> Result<()> {
        self.lower.shared.diverges = true;
        let first = self.beginning();
        let [live, here] = [(); 2].map(|()| self.declare_vectors(Kind::Bool));
        self.def_vectors(&live, first);
        self.lower.jump(head);
        self.lower.enter(head);
        let all = self.use_vectors(&live);
        self.def_vectors(&here, all);
        let scope = Scope {
            here: Some(here.clone()),
            live: Some(live.clone()),
            continues: continues(body),
            ..Scope::new(Form::Loop, end, exit)
        };
        let mut some = None;
        self.in_scope(scope, |vector| {
            vector.block(body)?;
            vector.lower.fall(end);
            vector.lower.enter(end);
            let mut rest = vector.use_vectors(&live);
            vector.def_vectors(&here, rest);
            vector.block(continuing)?;
            if let Some(condition) = break_if {
                let condition = vector.value(condition)?[0];
                let leaves = vector.each(Kind::Bool, condition);
                rest = vector.without(rest, leaves);
                vector.def_vectors(&live, rest);
            }
            some = Some(vector.any(rest));
            Ok(())
        })?;
        let some = some.expect("bug: the loop was translated");
        let none = self.lower.builder.ins().icmp_imm(IntCC::Equal, some, 0);
        self.lower.repeat_or_leave_on(Some(none), head, exit);
        Ok(())
    }

    /// Translates a `switch`.
    pub(super) fn switch(&mut self, selector: Handle<Expression>, cases: &'m [SwitchCase]) -> Result<()> {
        let selector = self.value(selector)?[0];
        let bodies = bodies(cases)?;
        let end = self.lower.builder.create_block();
        match selector {
            Lane::One(selector) if !self.body.varying.parts(cases) => {
                self.switch_together(selector, &bodies, end)?;
            }
            _ => {
                let selector = self.each(Kind::U32, selector);
                self.switch_apart(selector, &bodies, end)?;
            }
        }
        self.lower.enter(end);
        let leaves = |body: &Block| body.iter().any(|inner| escapes(inner, Inside::in_switch()));
        if bodies.iter().any(|case| leaves(case.body)) {
            self.skip_rest();
        }
        Ok(())
    }

    fn switch_together(&mut self, selector: ir::Value, bodies: &[Case<'m>], end: ir::Block) -> Result<()> {
        let mut table = Switch::new();
        let blocks: Vec<ir::Block> = bodies.iter().map(|_| self.lower.builder.create_block()).collect();
        let mut default = end;
        for (case, &block) in bodies.iter().zip(&blocks) {
            for &value in &case.values {
                table.set_entry(u128::from(value), block);
            }
            if case.is_default {
                default = block;
            }
        }
        table.emit(&mut self.lower.builder, selector, default);
        let mask = self.body.mask;
        self.body.scopes.push(Scope { mask, ..Scope::new(Form::Switch, end, end) });
        for (case, &block) in bodies.iter().zip(&blocks) {
            self.lower.enter(block);
            self.block(case.body)?;
            self.lower.fall(end);
        }
        self.body.scopes.pop();
        Ok(())
    }

    /// Translates a `switch` that executes each body with a mask of the lanes that take it.
    fn switch_apart(&mut self, selector: Vectors, bodies: &[Case<'m>], end: ir::Block) -> Result<()> {
        let first = self.beginning();
        let here = self.declare_vectors(Kind::Bool);
        self.def_vectors(&here, first);
        let mut others = self.ones();
        let mut taken = Vec::new();
        for case in bodies {
            let mut lanes = None;
            for &value in &case.values {
                let value = self.words(value);
                let same = self.map(selector, |vector, selector| {
                    vector.lower.builder.ins().icmp(IntCC::Equal, selector, value)
                });
                others = self.without(others, same);
                lanes = Some(match lanes {
                    Some(lanes) => self.either(lanes, same),
                    None => same,
                });
            }
            taken.push(lanes);
        }
        let scope = Scope { here: Some(here), ..Scope::new(Form::Switch, end, end) };
        self.in_scope(scope, |vector| {
            for (case, lanes) in bodies.iter().zip(taken) {
                let lanes = match lanes {
                    Some(lanes) if case.is_default => vector.either(lanes, others),
                    Some(lanes) => lanes,
                    None => others,
                };
                if case.body.is_empty() {
                    continue;
                }
                vector.body.mask = Some(lanes);
                vector.masked(case.body)?;
                vector.body.mask = None;
                if escapes_block(case.body) {
                    vector.skip_rest();
                }
            }
            vector.lower.jump(end);
            Ok(())
        })
    }
}

/// Returns `true` if a block, or a loop inside of it, has a `continue`.
fn continues(body: &Block) -> bool {
    let mut found = false;
    visit(body, &mut |statement| found |= matches!(statement, Statement::Continue));
    found
}

/// Lists the bodies of a `switch`. A case with several values becomes one case per value; all but the last are empty
/// and fall through.
fn bodies(cases: &[SwitchCase]) -> Result<Vec<Case<'_>>> {
    let mut bodies = Vec::new();
    let mut values = Vec::new();
    let mut is_default = false;
    for case in cases {
        match case.value {
            SwitchValue::I32(value) => values.push(value as u32),
            SwitchValue::U32(value) => values.push(value),
            SwitchValue::Default => is_default = true,
        }
        if case.fall_through && !case.body.is_empty() {
            return refuse("a body of a switch that falls through");
        }
        if !case.fall_through {
            bodies.push(Case { values: std::mem::take(&mut values), is_default, body: &case.body });
            is_default = false;
        }
    }
    Ok(bodies)
}
