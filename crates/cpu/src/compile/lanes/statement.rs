//! Statements on several lanes.

use super::{Apart, Lane, Lanes, Local, Vector, Vectors};
use crate::compile::layout::Kind;
use crate::compile::plan::Piece;
use crate::compile::refusal::{Result, refuse};
use crate::compile::uses::{Inside, escapes};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use naga::{Block, Expression, Function, Handle, LocalVariable, Span, Statement};

/// Bounds the expressions of a function, with those of its callees, that is expanded at each call.
const MOST_EXPANDED: usize = 300;

impl<'m> Vector<'_, '_, 'm> {
    /// Translates the pieces of a region.
    pub(in crate::compile) fn pieces(&mut self, pieces: &[Piece<'m>]) -> Result<()> {
        for piece in pieces {
            match piece {
                _ if self.lower.jumped => break,
                Piece::Emit(expression) => self.emit(*expression)?,
                Piece::Statement(statement, span) => self.statement(statement, *span)?,
            }
        }
        Ok(())
    }

    /// Gives registers to a local variable and sets it to a value.
    pub(in crate::compile) fn declare(
        &mut self,
        handle: Handle<LocalVariable>,
        first: &[Lane],
    ) -> Result<()> {
        let ty = self.lower.frame.function.local_variables[handle].ty;
        let leaves = self.lower.types().leaves(self.lower.types().inner(ty))?;
        let local = if self.varying.locals.contains(&handle) {
            let mut variables = Vec::new();
            for (leaf, &value) in leaves.iter().zip(first) {
                let parts = self.declare_vectors(Self::vector_type(leaf.kind));
                let value = self.each(leaf.kind, value);
                self.def_vectors(&parts, value);
                variables.push(parts);
            }
            Local::Each(variables)
        } else {
            let mut variables = Vec::new();
            for (leaf, &value) in leaves.iter().zip(first) {
                let variable = self.lower.builder.declare_var(leaf.kind.ir());
                self.lower.builder.def_var(variable, Self::shared(value)?);
                variables.push(variable);
            }
            Local::Shared(variables)
        };
        self.locals.insert(handle, local);
        Ok(())
    }

    /// Returns the components of a local variable that differs between lanes.
    pub(in crate::compile) fn read_local(&mut self, handle: Handle<LocalVariable>) -> Lanes {
        match self.locals.get(&handle).cloned() {
            Some(Local::Each(variables)) => {
                variables.iter().map(|parts| Lane::Each(self.use_vectors(parts))).collect()
            }
            Some(Local::Shared(variables)) => {
                self.lower.read(&variables).into_iter().map(Lane::One).collect()
            }
            None => Lanes::new(),
        }
    }

    fn block(&mut self, block: &'m Block) -> Result<()> {
        for (statement, span) in block.span_iter() {
            if self.lower.jumped {
                break;
            }
            self.statement(statement, *span)?;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &'m Statement, span: Span) -> Result<()> {
        let result = match statement {
            Statement::Emit(range) => range.clone().try_for_each(|expression| self.emit(expression)),
            Statement::Block(block) => self.block(block),
            Statement::If { condition, accept, reject } => self.branch(*condition, accept, reject),
            Statement::Loop { body, continuing, break_if } => self.repeat(body, continuing, *break_if),
            Statement::Break | Statement::Continue if self.innermost_apart().is_some() => {
                self.jump_apart(matches!(statement, Statement::Break));
                Ok(())
            }
            Statement::Break | Statement::Continue if self.loops.last() == Some(&self.mask) => {
                self.lower.statement(statement, span)
            }
            Statement::Return { value: None } => self.leave(),
            Statement::MemoryBarrier(_) => Ok(()),
            Statement::Store { pointer, value } => self.store(*pointer, *value),
            Statement::Call { function, arguments, result: Some(result) } => {
                self.call(*function, arguments, *result)
            }
            _ => refuse("a statement that several lanes do not execute together"),
        };
        result.map_err(|error| error.at(span))
    }

    fn branch(&mut self, condition: Handle<Expression>, accept: &'m Block, reject: &'m Block) -> Result<()> {
        let condition = self.value(condition)?[0];
        match condition {
            // Lanes that skip the rest of an iteration wait for the others at the end of the branch.
            Lane::One(condition) if !self.jumps_apart(accept, reject) => {
                self.branch_together(condition, accept, reject)
            }
            _ => {
                let condition = self.each(Kind::Bool, condition);
                let outer = self.mask;
                let not = self.map(condition, |vector, part| vector.lower.builder.ins().bnot(part));
                for (side, block) in [(condition, accept), (not, reject)] {
                    if block.is_empty() {
                        continue;
                    }
                    let mask = match outer {
                        Some(outer) => self.both(outer, side),
                        None => side,
                    };
                    self.mask = Some(mask);
                    self.masked(block)?;
                    self.mask = outer;
                }
                Ok(())
            }
        }
    }

    /// Translates a block that some lanes execute. It is left out if no lane does.
    fn masked(&mut self, block: &'m Block) -> Result<()> {
        let storing = self.storing().expect("bug: the block has a mask");
        let some = self.any(storing);
        let [inside, after] = [(); 2].map(|()| self.lower.builder.create_block());
        self.lower.builder.ins().brif(some, inside, &[], after, &[]);
        self.lower.enter(inside);
        let outer = self.after.replace(after);
        self.block(block)?;
        self.after = outer;
        if !self.lower.jumped {
            self.lower.jump(after);
        }
        self.lower.enter(after);
        if block.iter().any(returns)
            && let Some(active) = self.active.clone()
        {
            let active = self.use_vectors(&active);
            let some = self.any(active);
            let rest = self.lower.builder.create_block();
            let next = self.next;
            self.lower.builder.ins().brif(some, rest, &[], next, &[]);
            self.lower.enter(rest);
        }
        Ok(())
    }

    fn branch_together(&mut self, condition: ir::Value, accept: &'m Block, reject: &'m Block) -> Result<()> {
        let [accepted, rejected, after] = [(); 3].map(|()| self.lower.builder.create_block());
        self.lower.builder.ins().brif(condition, accepted, &[], rejected, &[]);
        let mut reached = false;
        for (entry, block) in [(accepted, accept), (rejected, reject)] {
            self.lower.enter(entry);
            self.block(block)?;
            if !self.lower.jumped {
                self.lower.jump(after);
                reached = true;
            }
        }
        if reached {
            self.lower.enter(after);
        } else {
            self.lower.jumped = true;
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        body: &'m Block,
        continuing: &'m Block,
        break_if: Option<Handle<Expression>>,
    ) -> Result<()> {
        if self.varying.loops.contains(&std::ptr::from_ref(body)) {
            return self.repeat_apart(body, continuing, break_if);
        }
        let [head, next, exit] = [(); 3].map(|()| self.lower.builder.create_block());
        self.lower.jump(head);
        self.lower.enter(head);
        self.lower.frame.targets.push(crate::compile::function::Targets { exit, next: Some(next) });
        self.loops.push(self.mask);
        self.block(body)?;
        if !self.lower.jumped {
            self.lower.jump(next);
        }
        self.lower.enter(next);
        self.block(continuing)?;
        self.loops.pop();
        self.lower.frame.targets.pop();
        let leave = match break_if {
            Some(condition) => Some(Self::shared(self.value(condition)?[0])?),
            None => None,
        };
        self.lower.repeat_or_leave_on(leave, head, exit);
        self.lower.enter(exit);
        Ok(())
    }

    fn jumps_apart(&self, accept: &Block, reject: &Block) -> bool {
        self.innermost_apart().is_some()
            && accept.iter().chain(reject).any(|inner| escapes(inner, Inside::default()))
    }

    /// Translates a loop that some lanes may leave before others. Each iteration has the mask of those that have not left.
    fn repeat_apart(
        &mut self,
        body: &'m Block,
        continuing: &'m Block,
        break_if: Option<Handle<Expression>>,
    ) -> Result<()> {
        let [head, next, exit] = [(); 3].map(|()| self.lower.builder.create_block());
        let first = match self.storing() {
            Some(mask) => mask,
            None => self.ones(),
        };
        let [live, here] = [(); 2].map(|()| self.declare_vectors(types::I32X4));
        self.def_vectors(&live, first);
        self.lower.jump(head);
        self.lower.enter(head);
        let all = self.use_vectors(&live);
        self.def_vectors(&here, all);
        let (mask, after) = (self.mask.take(), self.after.take());
        let active = self.active.replace(here.clone());
        self.apart.push(Apart { live: live.clone(), depth: self.loops.len(), next });
        self.loops.push(None);
        self.block(body)?;
        if !self.lower.jumped {
            self.lower.jump(next);
        }
        self.lower.enter(next);
        let all = self.use_vectors(&live);
        self.def_vectors(&here, all);
        self.block(continuing)?;
        let mut rest = self.use_vectors(&live);
        if let Some(condition) = break_if {
            let condition = self.value(condition)?[0];
            let leaves = self.each(Kind::Bool, condition);
            rest = self.map_pairs(rest, leaves, |vector, a, b| vector.lower.builder.ins().band_not(a, b));
            self.def_vectors(&live, rest);
        }
        self.loops.pop();
        self.apart.pop();
        self.mask = mask;
        self.after = after;
        self.active = active;
        let some = self.any(rest);
        let none = self.lower.builder.ins().icmp_imm(IntCC::Equal, some, 0);
        self.lower.repeat_or_leave_on(Some(none), head, exit);
        self.lower.enter(exit);
        Ok(())
    }

    /// Ends the iteration of the lanes that execute the current block, or the whole loop.
    fn jump_apart(&mut self, leaves: bool) {
        let mask = self.storing().expect("bug: the loop has a mask");
        let here = self.active.clone().expect("bug: the loop has a mask");
        let apart = self.innermost_apart().expect("bug: lanes leave the loop apart");
        let (live, next) = (apart.live.clone(), apart.next);
        for variables in [Some(here), leaves.then_some(live)].into_iter().flatten() {
            let before = self.use_vectors(&variables);
            let rest = self.map_pairs(before, mask, |vector, a, b| vector.lower.builder.ins().band_not(a, b));
            self.def_vectors(&variables, rest);
        }
        self.lower.jump(self.after.unwrap_or(next));
    }

    /// Returns the mask of all lanes.
    fn ones(&mut self) -> Vectors {
        let ones = self.lower.builder.ins().iconst(types::I32, i64::from(u32::MAX));
        [self.lower.builder.ins().splat(types::I32X4, ones); 4]
    }

    /// Ends the invocations that execute the current block.
    fn leave(&mut self) -> Result<()> {
        if !self.apart.is_empty() {
            return refuse("a return out of a loop that lanes leave apart");
        }
        let (Some(mask), Some(after)) = (self.mask, self.after) else {
            let next = self.next;
            self.lower.jump(next);
            return Ok(());
        };
        let Some(active) = self.active.clone().filter(|_| self.loops.is_empty()) else {
            return refuse("a return of some lanes out of a loop");
        };
        let before = self.use_vectors(&active);
        let rest = self.map_pairs(before, mask, |vector, a, b| vector.lower.builder.ins().band_not(a, b));
        self.def_vectors(&active, rest);
        self.lower.jump(after);
        Ok(())
    }

    /// Makes the mask of the lanes that have not returned, if some may return.
    pub(in crate::compile) fn begin(&mut self, pieces: &[Piece<'m>]) {
        let mut statements = pieces.iter().filter_map(|piece| match piece {
            Piece::Statement(statement, _) => Some(*statement),
            Piece::Emit(_) => None,
        });
        if !statements.any(|statement| !matches!(statement, Statement::Return { .. }) && returns(statement)) {
            return;
        }
        let ones = self.ones();
        let active = self.declare_vectors(types::I32X4);
        self.def_vectors(&active, ones);
        self.active = Some(active);
    }

    /// Translates a call of a function that only evaluates expressions.
    fn call(
        &mut self,
        callee: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Handle<Expression>,
    ) -> Result<()> {
        let program = self.lower.shared.program;
        let function = &program.module().functions[callee];
        if !function.local_variables.is_empty() {
            return refuse("a call of a function with variables");
        }
        if self.lower.shared.traits[callee.index()].weight > MOST_EXPANDED {
            return refuse("a call of a large function");
        }
        let mut values = Vec::new();
        for &argument in arguments {
            if self.lower.ty(argument).pointer_space().is_some() {
                return refuse("a call with a pointer");
            }
            values.push(self.value(argument)?);
        }
        let info = &program.info()[callee];
        let frame = crate::compile::function::Frame::new(function, info, self.next);
        let frame = std::mem::replace(&mut self.lower.frame, frame);
        let outer_values = std::mem::take(&mut self.values);
        let outer_arguments = std::mem::replace(&mut self.arguments, values);
        let returned = self.straight(&function.body);
        self.lower.frame = frame;
        self.values = outer_values;
        self.arguments = outer_arguments;
        let returned = returned?;
        if self.lower.frame.spills.contains_key(&result) {
            self.store_spill(result, &returned)?;
        }
        self.values.insert(result, returned);
        Ok(())
    }

    /// Translates a body that evaluates expressions and returns a value at its end.
    fn straight(&mut self, body: &'m Block) -> Result<Lanes> {
        for statement in body {
            match statement {
                Statement::Emit(range) => range.clone().try_for_each(|expression| self.emit(expression))?,
                Statement::Call { function, arguments, result: Some(result) } => {
                    self.call(*function, arguments, *result)?;
                }
                Statement::Return { value: Some(value) } => return self.value(*value),
                _ => return refuse("a call of a function with branches"),
            }
        }
        refuse("a call of a function without a result")
    }
}

/// Returns `true` if a statement holds a `return`.
fn returns(statement: &Statement) -> bool {
    let block = |block: &Block| block.iter().any(returns);
    match statement {
        Statement::Return { .. } => true,
        Statement::Block(inner) => block(inner),
        Statement::If { accept, reject, .. } => block(accept) || block(reject),
        Statement::Loop { body, continuing, .. } => block(body) || block(continuing),
        Statement::Switch { cases, .. } => cases.iter().any(|case| block(&case.body)),
        _ => false,
    }
}
