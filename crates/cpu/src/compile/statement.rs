//! Statements: control flow, stores, and the evaluation of expressions.

use super::function::{Lower, Targets};
use super::refusal::{Result, refuse};
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_frontend::Switch;
use naga::{Barrier, Block, Expression, Handle, Span, Statement, SwitchCase, SwitchValue};

/// Reason why code for one invocation at a time refuses a subgroup operation.
const OF_SUBGROUP: &str = "an operation of a subgroup, whose lanes execute one after the other here";

impl<'m> Lower<'_, 'm> {
    /// Translates the statements of a block up to the first jump.
    pub(super) fn block(&mut self, block: &'m Block) -> Result<()> {
        for (statement, span) in block.span_iter() {
            if self.jumped {
                break;
            }
            self.statement(statement, *span)?;
        }
        Ok(())
    }

    /// Translates a statement.
    pub(super) fn statement(&mut self, statement: &'m Statement, span: Span) -> Result<()> {
        let result = match statement {
            Statement::Emit(range) => range.clone().try_for_each(|expression| self.emit(expression)),
            Statement::Block(block) => self.block(block),
            Statement::If { condition, accept, reject } => self.branch(*condition, accept, reject),
            Statement::Switch { selector, cases } => self.switch(*selector, cases),
            Statement::Loop { body, continuing, break_if } => self.repeat(body, continuing, *break_if),
            Statement::Break => self.leave(|targets| Some(targets.exit)),
            Statement::Continue => self.leave(|targets| targets.next),
            Statement::Return { value } => self.give_back(*value),
            Statement::MemoryBarrier(_) => Ok(()),
            Statement::Store { pointer, value } => self.assign(*pointer, *value),
            Statement::Atomic { pointer, fun, value, result } => self.atomic(*pointer, fun, *value, *result),
            Statement::Call { function, arguments, result } => self.call(*function, arguments, *result),
            Statement::ControlBarrier(barrier) if *barrier == Barrier::SUB_GROUP => refuse(OF_SUBGROUP),
            Statement::SubgroupBallot { .. }
            | Statement::SubgroupGather { .. }
            | Statement::SubgroupCollectiveOperation { .. } => refuse(OF_SUBGROUP),
            Statement::ControlBarrier(_) | Statement::WorkGroupUniformLoad { .. } => {
                refuse("a barrier in a function that the entry point calls")
            }
            other => refuse(format!("the statement {other:?}")),
        };
        result.map_err(|error| error.at(span))
    }

    /// Evaluates an expression. A pointer is evaluated where it is used.
    pub(super) fn emit(&mut self, expression: Handle<Expression>) -> Result<()> {
        if self.ty(expression).pointer_space().is_some() {
            return Ok(());
        }
        let span = self.frame.function.expressions.get_span(expression);
        let values = self.evaluate(expression).map_err(|error| error.at(span))?;
        self.remember(expression, values)
    }

    fn assign(&mut self, pointer: Handle<Expression>, value: Handle<Expression>) -> Result<()> {
        let values = self.value(value)?;
        let place = self.place(pointer)?;
        let inner = self.pointee(pointer)?;
        self.store(&place, &inner, &values)
    }

    fn branch(&mut self, condition: Handle<Expression>, accept: &'m Block, reject: &'m Block) -> Result<()> {
        let condition = self.value(condition)?[0];
        let after = self.builder.create_block();
        let accepted = self.builder.create_block();
        let rejected = if reject.is_empty() { after } else { self.builder.create_block() };
        self.builder.ins().brif(condition, accepted, &[], rejected, &[]);
        let mut reached = reject.is_empty();
        for (entry, block) in [(accepted, accept), (rejected, reject)] {
            if entry == after {
                continue;
            }
            self.enter(entry);
            self.block(block)?;
            reached |= self.fall(after);
        }
        self.end_branch(after, reached);
        Ok(())
    }

    fn switch(&mut self, selector: Handle<Expression>, cases: &'m [SwitchCase]) -> Result<()> {
        let values: Vec<SwitchValue> = cases.iter().map(|case| case.value).collect();
        let blocks = self.begin_switch(selector, &values)?;
        for (at, case) in cases.iter().enumerate() {
            self.enter(blocks[at]);
            self.block(&case.body)?;
            self.end_case(&blocks, at, case.fall_through);
        }
        self.end_switch(&blocks);
        Ok(())
    }

    /// Jumps to the case that matches a value. Returns the blocks of the cases, then the block after the `switch`, to
    /// which `break` jumps.
    pub(super) fn begin_switch(
        &mut self,
        selector: Handle<Expression>,
        values: &[SwitchValue],
    ) -> Result<Vec<ir::Block>> {
        let selector = self.value(selector)?[0];
        let after = self.builder.create_block();
        let mut blocks: Vec<ir::Block> = values.iter().map(|_| self.builder.create_block()).collect();
        let mut table = Switch::new();
        let mut default = after;
        for (value, &block) in values.iter().zip(&blocks) {
            match *value {
                SwitchValue::I32(value) => table.set_entry(u128::from(value as u32), block),
                SwitchValue::U32(value) => table.set_entry(u128::from(value), block),
                SwitchValue::Default => default = block,
            }
        }
        table.emit(&mut self.builder, selector, default);
        let next = self.frame.targets.last().and_then(|targets| targets.next);
        self.frame.targets.push(Targets { exit: after, next });
        blocks.push(after);
        Ok(blocks)
    }

    /// Continues after a `switch`.
    pub(super) fn end_switch(&mut self, blocks: &[ir::Block]) {
        self.frame.targets.pop();
        self.enter(blocks[blocks.len() - 1]);
    }

    /// Ends a case that does not end with a jump: it continues with the next case if it falls through.
    pub(super) fn end_case(&mut self, blocks: &[ir::Block], at: usize, falls: bool) {
        self.fall(if falls { blocks[at + 1] } else { blocks[blocks.len() - 1] });
    }

    fn repeat(
        &mut self,
        body: &'m Block,
        continuing: &'m Block,
        break_if: Option<Handle<Expression>>,
    ) -> Result<()> {
        let [head, next, exit] = [(); 3].map(|()| self.builder.create_block());
        self.jump(head);
        self.enter(head);
        self.frame.targets.push(Targets { exit, next: Some(next) });
        self.block(body)?;
        self.fall(next);
        self.enter(next);
        self.block(continuing)?;
        self.frame.targets.pop();
        self.repeat_or_leave(break_if, head, exit)?;
        self.enter(exit);
        Ok(())
    }

    /// Ends the body of a loop.
    pub(super) fn repeat_or_leave(
        &mut self,
        break_if: Option<Handle<Expression>>,
        head: ir::Block,
        exit: ir::Block,
    ) -> Result<()> {
        let leave = break_if.map(|condition| self.value(condition)).transpose()?;
        self.repeat_or_leave_on(leave.map(|leave| leave[0]), head, exit);
        Ok(())
    }

    /// Ends the body of a loop with an optional `break if` condition.
    pub(super) fn repeat_or_leave_on(&mut self, leave: Option<ir::Value>, head: ir::Block, exit: ir::Block) {
        self.check_stop();
        match leave {
            Some(leave) => {
                self.builder.ins().brif(leave, exit, &[], head, &[]);
                self.jumped = true;
            }
            None => self.jump(head),
        }
    }

    fn leave(&mut self, target: impl Fn(&Targets) -> Option<ir::Block>) -> Result<()> {
        match self.frame.targets.last().and_then(target) {
            Some(block) => self.jump(block),
            None => return refuse("a jump outside of a loop"),
        }
        Ok(())
    }

    fn give_back(&mut self, value: Option<Handle<Expression>>) -> Result<()> {
        if let Some(value) = value {
            let values = self.value(value)?;
            let results = self.frame.results.clone();
            self.define(&results, &values);
        }
        let exit = self.frame.exit;
        self.jump(exit);
        Ok(())
    }
}
