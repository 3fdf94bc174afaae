//! Masks of functions, loops and `switch`es, and jumps that remove lanes from them.

use super::{Argument, Body, Varying, Vector, Vectors};
use crate::compile::refusal::{Result, refuse};
use cranelift_codegen::ir::{Block, InstBuilder};
use cranelift_frontend::Variable;
use naga::Statement;
use rustc_hash::FxHashMap;
use std::rc::Rc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Function,
    Loop,
    Switch,
}

/// A part of a function that a jump ends.
#[derive(Clone)]
pub(super) struct Scope {
    pub(super) form: Form,
    /// Block after a function or a `switch`, or the block that ends an iteration of a loop.
    pub(super) end: Block,
    /// Target of `break` while the lanes stay together.
    pub(super) exit: Block,
    /// Mask at the start, which is restored when a jump leaves a scope whose lanes stay together.
    pub(super) mask: Option<Vectors>,
    /// Lanes that execute the rest of the scope (in a loop, of the iteration). `None` if the lanes stay together.
    pub(super) here: Option<Vec<Variable>>,
    /// Lanes that have not left a loop.
    pub(super) live: Option<Vec<Variable>>,
    /// `true` for a loop that some lanes may leave before others, and that has a `continue`.
    pub(super) continues: bool,
}

impl Scope {
    /// Returns a scope whose lanes stay together, without a mask.
    pub(super) fn new(form: Form, end: Block, exit: Block) -> Self {
        Self { form, end, exit, mask: None, here: None, live: None, continues: false }
    }
}

impl Body {
    pub(super) fn new(
        arguments: Vec<Argument>,
        varying: Rc<Varying>,
        callers: Option<Vectors>,
        end: Block,
    ) -> Self {
        Self {
            values: FxHashMap::default(),
            arguments,
            locals: FxHashMap::default(),
            varying,
            callers,
            mask: None,
            after: None,
            scopes: vec![Scope::new(Form::Function, end, end)],
            in_loop: false,
            in_step: true,
            result: None,
        }
    }

    /// Returns the innermost scope that some lanes may leave before others.
    fn apart(&self) -> Option<&Scope> {
        self.scopes.iter().rev().find(|scope| scope.here.is_some())
    }

    /// Returns the block to jump to when no lane executes the rest of the current block.
    fn rest(&self) -> Block {
        let end = self.apart().map_or(self.scopes[0].end, |scope| scope.end);
        self.after.unwrap_or(end)
    }
}

impl Vector<'_, '_, '_> {
    /// Returns the lanes that may execute the rest of the innermost scope, or `None` if all lanes of the function may.
    fn here(&mut self) -> Option<Vectors> {
        let variables = self.body.apart()?.here.clone()?;
        Some(self.use_vectors(&variables))
    }

    fn intersection(&mut self, a: Option<Vectors>, b: Option<Vectors>) -> Option<Vectors> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.both(a, b)),
            (a, b) => a.or(b),
        }
    }

    /// Returns the mask of the lanes that store, or `None` if all lanes do.
    pub(super) fn storing(&mut self) -> Option<Vectors> {
        let here = self.here();
        let part = self.intersection(self.body.mask, here);
        self.intersection(part, self.body.callers)
    }

    /// Returns the mask of the lanes that change their variables, or `None` if all lanes may. The mask need not exclude
    /// lanes that have returned, because they do not read their variables again, or lanes that have not called the
    /// function, because they have no variables.
    pub(super) fn changing(&mut self) -> Option<Vectors> {
        match self.body.apart() {
            Some(scope) if scope.form != Form::Function => {
                let here = self.here();
                self.intersection(self.body.mask, here)
            }
            _ => self.body.mask,
        }
    }

    /// Returns the mask of the lanes that set the result. A lane that has returned keeps its result.
    pub(super) fn returning(&mut self) -> Option<Vectors> {
        let here = self.here();
        self.intersection(self.body.mask, here)
    }

    /// Returns the mask of the lanes that begin a scope.
    pub(super) fn beginning(&mut self) -> Vectors {
        match self.storing() {
            Some(mask) => mask,
            None => self.ones(),
        }
    }

    /// Translates the part of a scope that some lanes may leave before others. There is no mask at its start.
    pub(super) fn in_scope(
        &mut self,
        scope: Scope,
        part: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let mask = self.body.mask.take();
        let after = self.body.after.take();
        self.body.scopes.push(scope);
        let done = part(self);
        self.body.scopes.pop();
        self.body.mask = mask;
        self.body.after = after;
        done
    }

    /// Removes lanes from a mask in variables.
    fn remove(&mut self, variables: &[Variable], lanes: Vectors) {
        let before = self.use_vectors(variables);
        let rest = self.without(before, lanes);
        self.def_vectors(variables, rest);
    }

    /// Translates `break` or `continue`.
    pub(super) fn leave(&mut self, statement: &Statement) -> Result<()> {
        let breaks = matches!(statement, Statement::Break);
        let at = self.ended(breaks)?;
        let scope = self.body.scopes[at].clone();
        if scope.here.is_none() {
            let inner = &self.body.scopes[at + 1..];
            if self.body.mask != scope.mask || inner.iter().any(|inner| inner.here.is_some()) {
                return refuse("a jump of some lanes out of a loop that all lanes leave together");
            }
            self.lower.jump(if breaks { scope.exit } else { scope.end });
            return Ok(());
        }
        self.take_out(at, breaks);
        let rest = self.body.rest();
        self.lower.jump(rest);
        Ok(())
    }

    /// Removes the lanes of the current mask from the iteration of a loop, or from a `switch`.
    fn take_out(&mut self, at: usize, breaks: bool) {
        let lanes = self.storing().expect("bug: the scope has a mask");
        let masks: Vec<Vec<Variable>> =
            self.body.scopes[at..].iter().filter_map(|inner| inner.here.clone()).collect();
        for here in masks {
            self.remove(&here, lanes);
        }
        if let Some(live) = self.body.scopes[at].live.clone().filter(|_| breaks) {
            self.remove(&live, lanes);
        }
    }

    /// Translates a block that only removes lanes from a loop or a `switch`; the code after the block continues with
    /// the other lanes. Returns `false` if the block does something else, or if all lanes leave together.
    pub(super) fn takes_lanes_out(&mut self, block: &naga::Block) -> Result<bool> {
        let mut statement = block.first();
        while let Some(Statement::Block(inner)) = statement.filter(|_| block.len() == 1) {
            statement = inner.first().filter(|_| inner.len() == 1);
        }
        let breaks = match statement.filter(|_| block.len() == 1) {
            Some(Statement::Break) => true,
            Some(Statement::Continue) => false,
            _ => return Ok(false),
        };
        match self.ended(breaks)? {
            at if self.body.scopes[at].here.is_some() => self.take_out(at, breaks),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the scope that `break` or `continue` ends.
    fn ended(&self, breaks: bool) -> Result<usize> {
        let ends = |scope: &Scope| match scope.form {
            Form::Function => false,
            Form::Loop => true,
            Form::Switch => breaks,
        };
        match self.body.scopes.iter().rposition(ends) {
            Some(at) => Ok(at),
            None => refuse("a jump outside of a loop"),
        }
    }

    /// Ends the function for the lanes that execute the current block.
    pub(super) fn end(&mut self) -> Result<()> {
        let apart = self.body.scopes[1..].iter().any(|scope| scope.here.is_some());
        if self.body.mask.is_none() && !apart {
            let end = self.body.scopes[0].end;
            self.lower.jump(end);
            return Ok(());
        }
        if self.body.scopes[0].here.is_none() {
            return refuse("a return of some lanes");
        }
        let lanes = self.storing().expect("bug: the block has a mask");
        for scope in self.body.scopes.clone() {
            for variables in [scope.here, scope.live].into_iter().flatten() {
                self.remove(&variables, lanes);
            }
        }
        let rest = self.body.rest();
        self.lower.jump(rest);
        Ok(())
    }

    /// Jumps over the rest of the current block if no lane executes it.
    pub(super) fn skip_rest(&mut self) {
        if self.body.apart().is_none() {
            return;
        }
        let storing = self.storing().expect("bug: the scope has a mask");
        let some = self.any(storing);
        let on = self.lower.builder.create_block();
        let rest = self.body.rest();
        self.lower.builder.ins().brif(some, on, &[], rest, &[]);
        self.lower.enter(on);
    }
}
