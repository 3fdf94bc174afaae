//! Statements on several lanes.

use super::place::Reach;
use super::{Lane, Lanes, Local, Vector};
use crate::compile::layout::Kind;
use crate::compile::plan::Piece;
use crate::compile::refusal::{Result, refuse};
use crate::compile::uses::{Inside, escapes};
use cranelift_codegen::ir::{self, InstBuilder};
use naga::{Barrier, Block, Expression, Handle, LocalVariable, Span, Statement};

/// Maximum size of a variable that is set to zero with stores instead of a call.
const MOST_FILLED_BY_STORES: u32 = 512;

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

    /// Declares a local variable in registers and sets it to a value.
    pub(in crate::compile) fn declare(
        &mut self,
        handle: Handle<LocalVariable>,
        first: &[Lane],
    ) -> Result<()> {
        let ty = self.lower.frame.function.local_variables[handle].ty;
        let leaves = self.lower.types().leaves(self.lower.types().inner(ty))?;
        let kinds: Vec<Kind> = leaves.iter().map(|leaf| leaf.kind).collect();
        let local = self.new_local(&kinds, first, self.body.varying.locals.contains(&handle))?;
        self.body.locals.insert(handle, local);
        Ok(())
    }

    /// Creates a variable in registers with these kinds of components.
    pub(super) fn new_local(&mut self, kinds: &[Kind], first: &[Lane], differs: bool) -> Result<Local> {
        if differs {
            let mut variables = Vec::new();
            for (&kind, &value) in kinds.iter().zip(first) {
                let parts = self.declare_vectors(kind);
                let value = self.each(kind, value);
                self.def_vectors(&parts, value);
                variables.push(parts);
            }
            return Ok(Local::Each(variables));
        }
        let mut variables = Vec::new();
        for (&kind, &value) in kinds.iter().zip(first) {
            let variable = self.lower.builder.declare_var(kind.ir());
            self.lower.builder.def_var(variable, Self::shared(value)?);
            variables.push(variable);
        }
        Ok(Local::Shared(variables))
    }

    /// Reserves uninitialised memory for a local variable.
    pub(in crate::compile) fn declare_in_memory(&mut self, handle: Handle<LocalVariable>) -> Result<()> {
        let reach = self.stack_reach(self.lower.frame.function.local_variables[handle].ty)?;
        self.body.locals.insert(handle, Local::Memory(reach));
        Ok(())
    }

    /// Declares a local variable in the memory of the invocations, at an offset.
    pub(in crate::compile) fn declare_in_invocations(&mut self, handle: Handle<LocalVariable>, offset: u32) {
        let reach = Reach::of_invocations(self.lower, offset);
        self.body.locals.insert(handle, Local::Memory(reach));
    }

    /// Sets a local variable that is on the stack to its first value.
    pub(in crate::compile) fn initialise(&mut self, handle: Handle<LocalVariable>) -> Result<()> {
        let variable = &self.lower.frame.function.local_variables[handle];
        let inner = self.lower.types().inner(variable.ty);
        let Some(Local::Memory(reach)) = self.body.locals.get(&handle).cloned() else {
            return refuse("a local variable without memory");
        };
        let bytes = self.lower.shared.cell * self.width() * self.lower.types().count(inner)? as u32;
        if variable.init.is_none() && bytes > MOST_FILLED_BY_STORES {
            self.lower.call_clear(reach.address, bytes);
            return Ok(());
        }
        let first = self.first_value(handle)?;
        self.fill(&reach, inner, &first)
    }

    /// Returns the first value of a local variable.
    pub(in crate::compile) fn first_value(&mut self, handle: Handle<LocalVariable>) -> Result<Lanes> {
        let variable = &self.lower.frame.function.local_variables[handle];
        match variable.init {
            Some(init) => self.value(init),
            None => {
                let zero = self.lower.zero(self.lower.types().inner(variable.ty))?;
                Ok(zero.into_iter().map(Lane::One).collect())
            }
        }
    }

    /// Returns the components of a local variable that lives in registers.
    pub(in crate::compile) fn read_local(&mut self, handle: Handle<LocalVariable>) -> Lanes {
        match self.body.locals.get(&handle).cloned() {
            Some(local) => self.read(&local),
            None => Lanes::new(),
        }
    }

    /// Returns the components of a variable that lives in registers.
    pub(super) fn read(&mut self, local: &Local) -> Lanes {
        match local {
            Local::Each(variables) => {
                variables.iter().map(|parts| Lane::Each(self.use_vectors(parts))).collect()
            }
            Local::Shared(variables) => self.lower.read(variables).into_iter().map(Lane::One).collect(),
            Local::Memory(_) => Lanes::new(),
        }
    }

    pub(super) fn block(&mut self, block: &'m Block) -> Result<()> {
        for (statement, span) in block.span_iter() {
            if self.lower.jumped {
                break;
            }
            self.statement(statement, *span)?;
        }
        Ok(())
    }

    pub(super) fn statement(&mut self, statement: &'m Statement, span: Span) -> Result<()> {
        let result = match statement {
            Statement::Emit(range) => range.clone().try_for_each(|expression| self.emit(expression)),
            Statement::Block(block) => self.block(block),
            Statement::If { condition, accept, reject } => self.branch(*condition, accept, reject),
            Statement::Switch { selector, cases } => self.switch(*selector, cases),
            Statement::Loop { body, continuing, break_if } => self.repeat(body, continuing, *break_if),
            Statement::Break | Statement::Continue => self.leave(statement),
            Statement::Return { value } => self.give_back(*value),
            Statement::MemoryBarrier(_) => Ok(()),
            Statement::Store { pointer, value } => self.store(*pointer, *value),
            Statement::Atomic { pointer, fun, value, result } => self.atomic(*pointer, fun, *value, *result),
            Statement::Call { function, arguments, result } => self.call(*function, arguments, *result),
            // The statements before this one were executed by the lanes.
            Statement::ControlBarrier(barrier) if *barrier == Barrier::SUB_GROUP => Ok(()),
            Statement::SubgroupBallot { result, predicate } => self.ballot(*predicate, *result),
            Statement::SubgroupGather { mode, argument, result } => self.take(*mode, *argument, *result),
            Statement::SubgroupCollectiveOperation { op, collective_op, argument, result } => {
                self.combine_lanes(*op, *collective_op, *argument, *result)
            }
            _ => refuse("a statement that several lanes do not execute together"),
        };
        result.map_err(|error| error.at(span))
    }

    fn branch(&mut self, condition: Handle<Expression>, accept: &'m Block, reject: &'m Block) -> Result<()> {
        let condition = self.value(condition)?[0];
        match condition {
            Lane::One(condition) => self.branch_together(condition, accept, reject),
            _ => {
                let condition = self.each(Kind::Bool, condition);
                if self.selects(condition, accept, reject)? {
                    return Ok(());
                }
                let outer = self.body.mask;
                let not = self.map(condition, |vector, part| vector.lower.builder.ins().bnot(part));
                for (side, block) in [(condition, accept), (not, reject)] {
                    if block.is_empty() || self.lower.jumped {
                        continue;
                    }
                    let mask = match outer {
                        Some(outer) => self.both(outer, side),
                        None => side,
                    };
                    self.body.mask = Some(mask);
                    let done = if self.is_branchless(block) {
                        self.block(block)
                    } else if self.takes_lanes_out(block)? {
                        Ok(())
                    } else {
                        self.masked(block)
                    };
                    self.body.mask = outer;
                    done?;
                    if escapes_block(block) {
                        self.skip_rest();
                    }
                }
                Ok(())
            }
        }
    }

    /// Translates a block that some lanes execute. It is skipped if no lane does.
    pub(super) fn masked(&mut self, block: &'m Block) -> Result<()> {
        self.lower.shared.skipped += 1;
        let storing = self.storing().expect("bug: the block has a mask");
        let some = self.any(storing);
        let [inside, after] = [(); 2].map(|()| self.lower.builder.create_block());
        self.lower.builder.ins().brif(some, inside, &[], after, &[]);
        self.lower.enter(inside);
        let outer = self.body.after.replace(after);
        self.block(block)?;
        self.body.after = outer;
        self.lower.fall(after);
        self.lower.enter(after);
        Ok(())
    }

    fn branch_together(&mut self, condition: ir::Value, accept: &'m Block, reject: &'m Block) -> Result<()> {
        let [accepted, rejected, after] = [(); 3].map(|()| self.lower.builder.create_block());
        self.lower.builder.ins().brif(condition, accepted, &[], rejected, &[]);
        let mut reached = false;
        for (entry, block) in [(accepted, accept), (rejected, reject)] {
            self.lower.enter(entry);
            self.block(block)?;
            reached |= self.lower.fall(after);
        }
        self.lower.end_branch(after, reached);
        Ok(())
    }
}

/// Returns `true` if a jump may leave a block.
pub(super) fn escapes_block(block: &Block) -> bool {
    block.iter().any(|statement| escapes(statement, Inside::default()))
}
