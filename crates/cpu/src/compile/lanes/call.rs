//! Calls on several lanes. Each call is inlined.

use super::place::Places;
use super::{Argument, Body, Lane, Lanes, Local, Vector};
use crate::compile::function::Frame;
use crate::compile::layout::Kind;
use crate::compile::locals::in_memory;
use crate::compile::refusal::{Result, refuse};
use crate::compile::uses::returns;
use naga::{Block, Expression, Function, Handle, Statement};

/// Maximum depth of nested calls, because the translation recurses for each one.
const MOST_NESTED: usize = 100;

impl<'m> Vector<'_, '_, 'm> {
    /// Declares the mask of the lanes that have not returned, if some may return before others.
    pub(in crate::compile) fn begin(&mut self) {
        if !self.body.varying.returns {
            return;
        }
        let first = self.beginning();
        let here = self.declare_vectors(Kind::Bool);
        self.def_vectors(&here, first);
        self.body.scopes[0].here = Some(here);
    }

    /// Translates `return`.
    pub(super) fn give_back(&mut self, value: Option<Handle<Expression>>) -> Result<()> {
        if let Some(value) = value {
            let values = self.value(value)?;
            let kinds = self.kinds(self.lower.ty(value))?;
            let Some(result) = self.body.result.clone() else { return refuse("a result of no function") };
            let mask = self.returning();
            self.assign(&result, &kinds, &values, mask)?;
        }
        self.end()
    }

    /// Translates a call.
    pub(super) fn call(
        &mut self,
        callee: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
    ) -> Result<()> {
        if self.lower.shared.nested >= MOST_NESTED {
            return refuse(format!("more than {MOST_NESTED} calls inside of each other"));
        }
        let program = self.lower.shared.program;
        let function = &program.module().functions[callee];
        let mut values = Vec::new();
        let mut differ = Vec::new();
        for &argument in arguments {
            if self.lower.ty(argument).pointer_space().is_some() {
                let Places::Memory(reach) = self.places(argument)? else {
                    return refuse("a pointer to a variable in registers");
                };
                differ.push(!reach.is_same());
                values.push(Argument::Pointer(Places::Memory(reach)));
            } else {
                let value = self.value(argument)?;
                differ.push(value.iter().any(|lane| !matches!(lane, Lane::One(_))));
                values.push(Argument::Value(value));
            }
        }
        let varying = self.analyses.callee(callee, differ);
        let exit = self.lower.builder.create_block();
        let callers = self.storing();
        let frame = Frame::new(function, &program.info()[callee], exit);
        let outer_frame = std::mem::replace(&mut self.lower.frame, frame);
        let mut body = Body::new(values, varying, callers, exit);
        body.in_loop = !self.is_outside_of_loops();
        body.in_step = self.is_in_step();
        let outer = std::mem::replace(&mut self.body, body);
        self.lower.shared.nested += 1;
        let returned = self.expand(function);
        self.lower.shared.nested -= 1;
        self.body = outer;
        self.lower.frame = outer_frame;
        let returned = returned?;
        let Some(result) = result else { return Ok(()) };
        self.remember(result, returned)
    }

    /// Translates the body of the current frame's function, and returns its result.
    fn expand(&mut self, function: &'m Function) -> Result<Lanes> {
        let large = in_memory(self.lower.types(), function);
        for (handle, _) in function.local_variables.iter() {
            if large.contains(&handle) {
                self.declare_in_memory(handle)?;
                self.initialise(handle)?;
            } else {
                let first = self.first_value(handle)?;
                self.declare(handle, &first)?;
            }
        }
        if let Some((Statement::Return { value: Some(value) }, before)) = last(&function.body)
            && !function.body.iter().any(returns_early)
        {
            for (statement, span) in before {
                self.statement(statement, *span)?;
            }
            return if self.lower.jumped {
                refuse("a function that never returns")
            } else {
                self.value(*value)
            };
        }
        self.begin();
        if let Some(result) = &function.result {
            let inner = self.lower.types().inner(result.ty);
            let kinds = self.kinds(inner)?;
            let zero: Lanes = self.lower.zero(inner)?.into_iter().map(Lane::One).collect();
            self.body.result = Some(self.new_local(&kinds, &zero, self.body.varying.result)?);
        }
        self.block(&function.body)?;
        let exit = self.body.scopes[0].end;
        self.lower.fall(exit);
        self.lower.enter(exit);
        match self.body.result.clone() {
            Some(result) => Ok(self.read(&result)),
            None => Ok(Lanes::new()),
        }
    }

    /// Sets the components of a variable in registers, in all lanes or in the lanes of a mask.
    pub(super) fn assign(
        &mut self,
        local: &Local,
        kinds: &[Kind],
        values: &[Lane],
        mask: Option<super::Vectors>,
    ) -> Result<()> {
        match local {
            Local::Shared(variables) => {
                if mask.is_some() {
                    return refuse("a store of some lanes to a variable that all share");
                }
                for (&variable, &value) in variables.iter().zip(values) {
                    let value = Self::shared(value)?;
                    self.lower.builder.def_var(variable, value);
                }
                Ok(())
            }
            Local::Each(variables) => {
                for ((variable, &kind), &value) in variables.iter().zip(kinds).zip(values) {
                    let mut value = self.each(kind, value);
                    if let Some(mask) = mask {
                        let old = self.use_vectors(variable);
                        value = self.blend_vectors(kind, mask, value, old);
                    }
                    self.def_vectors(variable, value);
                }
                Ok(())
            }
            Local::Memory(_) => refuse("a variable in memory as one in registers"),
        }
    }
}

/// Returns the last statement of a block and the statements before it.
fn last(block: &Block) -> Option<(&Statement, impl Iterator<Item = (&Statement, &naga::Span)>)> {
    let count = block.len().checked_sub(1)?;
    Some((&block[count], block.span_iter().take(count)))
}

/// Returns `true` if a statement contains a `return` but is not one itself.
fn returns_early(statement: &Statement) -> bool {
    !matches!(statement, Statement::Return { .. }) && returns(statement)
}
