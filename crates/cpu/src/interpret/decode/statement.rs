//! The statements.
//!
//! Decodes statements. Nested blocks become tasks in a list, so that deep nesting does not use the host's stack.

use super::function::FunctionDecoder;
use crate::error::Result;
use crate::interpret::op::{Cases, Op, Origin, Target};
use naga::{Barrier, Block, Expression, Handle, Span, Statement, SwitchCase, SwitchValue};

/// Target labels of `break` and `continue`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    end: Target,
    /// `None` for a switch outside of a loop.
    next: Option<Target>,
}

/// A part of the function that is still to be decoded.
pub(super) enum Task<'p> {
    /// The rest of a block.
    Block(Box<dyn Iterator<Item = (&'p Statement, &'p Span)> + 'p>),
    /// A jump.
    Jump(Target),
    /// The place of a label.
    Bind(Target),
    /// The release of all slots from this one on.
    Free(u32),
    /// A jump out of a loop, if a condition holds.
    BreakIf(Handle<Expression>, Target),
    /// The end of a loop or a switch.
    Leave,
}

impl<'p> Task<'p> {
    /// Decodes a block.
    pub(super) fn block(block: &'p Block) -> Self {
        Self::Block(Box::new(block.span_iter()))
    }
}

impl<'p> FunctionDecoder<'_, 'p> {
    /// Decodes all tasks, the last one in the list first.
    pub(super) fn run_tasks(&mut self) -> Result<()> {
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Block(mut statements) => {
                    if let Some((statement, &span)) = statements.next() {
                        self.tasks.push(Task::Block(statements));
                        self.origin = Origin { expression: None, span };
                        self.statement(statement)?;
                    }
                }
                Task::Jump(target) => self.push(Op::Jump(target)),
                Task::Bind(label) => self.bind(label),
                Task::Free(next) => self.next = next,
                Task::BreakIf(condition, target) => {
                    let condition = self.slot(condition)?;
                    self.push(Op::JumpIf { condition, target });
                }
                Task::Leave => {
                    self.scopes.pop();
                }
            }
        }
        Ok(())
    }

    fn statement(&mut self, statement: &'p Statement) -> Result<()> {
        match *statement {
            Statement::Emit(ref range) => range.clone().try_for_each(|handle| self.emit(handle)),
            Statement::Block(ref block) => {
                self.tasks.extend([Task::Free(self.next), Task::block(block)]);
                Ok(())
            }
            Statement::If { condition, ref accept, ref reject } => self.branch(condition, accept, reject),
            Statement::Switch { selector, ref cases } => self.switch(selector, cases),
            Statement::Loop { ref body, ref continuing, break_if } => {
                self.repeat(body, continuing, break_if);
                Ok(())
            }
            Statement::Break => self.leave(|scope| Some(scope.end)),
            Statement::Continue => self.leave(|scope| scope.next),
            Statement::Return { value } => {
                let (from, count) = match value {
                    Some(value) => (self.slot(value)?, self.count(value)?),
                    None => (0, 0),
                };
                self.push(Op::Return { from, count });
                Ok(())
            }
            Statement::Store { pointer, value } => {
                self.origin.expression = Some(pointer);
                self.store(pointer, value)
            }
            Statement::ControlBarrier(flags) => {
                self.barrier(flags);
                Ok(())
            }
            Statement::MemoryBarrier(_) => {
                self.push(Op::Fence);
                Ok(())
            }
            _ => self.operation(statement),
        }
    }

    fn barrier(&mut self, flags: Barrier) {
        if flags == Barrier::SUB_GROUP {
            self.subgroup_barrier();
        } else {
            self.push(Op::Barrier);
        }
    }

    fn branch(&mut self, condition: Handle<Expression>, accept: &'p Block, reject: &'p Block) -> Result<()> {
        let condition = self.slot(condition)?;
        let otherwise = self.label();
        let end = self.label();
        self.push(Op::JumpUnless { condition, target: otherwise });
        let free = self.next;
        self.tasks.extend([Task::Bind(end), Task::Free(free), Task::block(reject), Task::Bind(otherwise)]);
        if !reject.is_empty() {
            self.tasks.push(Task::Jump(end));
        }
        self.tasks.extend([Task::Free(free), Task::block(accept)]);
        Ok(())
    }

    fn repeat(&mut self, body: &'p Block, continuing: &'p Block, break_if: Option<Handle<Expression>>) {
        let top = self.label();
        let next = self.label();
        let end = self.label();
        self.bind(top);
        self.push(Op::Poll);
        self.scopes.push(Scope { end, next: Some(next) });
        self.tasks.extend([Task::Free(self.next), Task::Leave, Task::Bind(end), Task::Jump(top)]);
        self.tasks.extend(break_if.map(|condition| Task::BreakIf(condition, end)));
        // The values of the body are also used after it.
        self.tasks.extend([Task::block(continuing), Task::Bind(next), Task::block(body)]);
    }

    fn switch(&mut self, selector: Handle<Expression>, cases: &'p [SwitchCase]) -> Result<()> {
        let selector = self.slot(selector)?;
        let end = self.label();
        let labels: Vec<Target> = cases.iter().map(|_| self.label()).collect();
        let mut table = Cases { values: Vec::new(), default: end };
        for (case, &label) in cases.iter().zip(&labels) {
            match case.value {
                SwitchValue::I32(value) => table.values.push((value as u32, label)),
                SwitchValue::U32(value) => table.values.push((value, label)),
                SwitchValue::Default => table.default = label,
            }
        }
        table.values.sort_unstable();
        self.push(Op::Switch { selector, cases: Box::new(table) });
        let outer = self.scopes.last().and_then(|scope| scope.next);
        self.scopes.push(Scope { end, next: outer });
        self.tasks.extend([Task::Leave, Task::Bind(end)]);
        for (case, &label) in cases.iter().zip(&labels).rev() {
            if !case.fall_through {
                self.tasks.push(Task::Jump(end));
            }
            self.tasks.extend([Task::Free(self.next), Task::block(&case.body), Task::Bind(label)]);
        }
        Ok(())
    }

    fn leave(&mut self, target: impl Fn(&Scope) -> Option<Target>) -> Result<()> {
        let target = self.scopes.last().and_then(target);
        let target = target.ok_or_else(|| self.unsupported("a break or continue outside of a loop"))?;
        self.push(Op::Jump(target));
        Ok(())
    }
}
