//! Divides an entry point with barriers into steps that a workgroup executes once, and regions between barriers, which
//! each invocation executes.

use super::refusal::{NotCompiled, Result};
use super::uniform::Uniform;
use super::uses::{has_barrier, is_common, operands, visit_results, visit_uses};
use crate::program::Program;
use naga::{Barrier, Block, Expression, Function, Handle, LocalVariable, Span, Statement, SwitchValue};
use rustc_hash::{FxHashMap, FxHashSet};

/// A part of a region.
pub(super) enum Piece<'m> {
    Emit(Handle<Expression>),
    Statement(&'m Statement, Span),
}

/// A part of the entry point without barriers, which each invocation executes from start to end.
pub(super) struct Region<'m> {
    pub(super) pieces: Vec<Piece<'m>>,
    /// `true` if a workgroup may execute the region more than once.
    repeats: bool,
}

/// A step that a workgroup executes once.
pub(super) enum Step<'m> {
    Evaluate(Handle<Expression>),
    Store {
        pointer: Handle<Expression>,
        value: Handle<Expression>,
    },
    Load {
        pointer: Handle<Expression>,
        result: Handle<Expression>,
    },
    /// Index of a region.
    Region(usize),
    If {
        condition: Handle<Expression>,
        accept: Vec<Step<'m>>,
        reject: Vec<Step<'m>>,
    },
    Switch {
        selector: Handle<Expression>,
        cases: Vec<Case<'m>>,
    },
    Loop {
        body: Vec<Step<'m>>,
        continuing: Vec<Step<'m>>,
        break_if: Option<Handle<Expression>>,
    },
    Jump(&'m Statement),
}

/// A case of a `switch` that a workgroup executes together.
pub(super) struct Case<'m> {
    pub(super) value: SwitchValue,
    /// `true` if the case falls through to the next one.
    pub(super) falls: bool,
    pub(super) steps: Vec<Step<'m>>,
}

/// Lifetime of a local variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// One variable for all invocations of the workgroup.
    Workgroup,
    /// The variable is used in only one region, and has no value before it.
    Region(usize),
    /// A variable of each invocation that lives across barriers.
    Invocation,
}

/// The whole entry point.
pub(super) struct Plan<'m> {
    function: &'m Function,
    pub(super) steps: Vec<Step<'m>>,
    pub(super) regions: Vec<Region<'m>>,
    pub(super) homes: FxHashMap<Handle<LocalVariable>, Home>,
    /// Expressions that are evaluated in one region and used in another one.
    pub(super) spills: Vec<Handle<Expression>>,
    /// `true` if there is a barrier.
    pub(super) has_barriers: bool,
}

impl<'m> Plan<'m> {
    /// Divides the entry point of a program.
    pub(super) fn new(program: &'m Program) -> Result<Self> {
        let function = &program.entry().function;
        let tail = function.body.iter().rposition(has_barrier).map_or(0, |last| last + 1);
        let mut builder = Builder {
            uniform: Uniform::new(program, tail),
            regions: Vec::new(),
            pending: Vec::new(),
            loops: 0,
        };
        let mut steps = Vec::new();
        for (at, (statement, span)) in function.body.span_iter().enumerate() {
            if at < tail {
                builder.statement(statement, *span, &mut steps)?;
            } else {
                if at == tail {
                    builder.close(&mut steps);
                }
                builder.pending.push(Piece::Statement(statement, *span));
            }
        }
        builder.close(&mut steps);
        let Builder { uniform, regions, .. } = builder;
        let spills = spills(function, program, &regions);
        let homes = homes(function, &uniform, &regions);
        Ok(Self { function, steps, regions, homes, spills, has_barriers: tail > 0 })
    }

    /// Returns `true` if a region uses a local variable.
    pub(super) fn uses_local(&self, region: usize, local: Handle<LocalVariable>) -> bool {
        let mut used = false;
        visit_region(self.function, &self.regions[region], &mut |expression| {
            let found = &self.function.expressions[expression];
            used |= matches!(found, Expression::LocalVariable(other) if *other == local);
        });
        used
    }
}

struct Builder<'m> {
    uniform: Uniform<'m>,
    regions: Vec<Region<'m>>,
    /// Pieces since the last step.
    pending: Vec<Piece<'m>>,
    /// Number of loops around the current place.
    loops: usize,
}

impl<'m> Builder<'m> {
    /// Ends the current region.
    fn close(&mut self, steps: &mut Vec<Step<'m>>) {
        if !self.pending.is_empty() {
            steps.push(Step::Region(self.regions.len()));
            let pieces = std::mem::take(&mut self.pending);
            self.regions.push(Region { pieces, repeats: self.loops > 0 });
        }
    }

    fn block(&mut self, block: &'m Block) -> Result<Vec<Step<'m>>> {
        let mut steps = Vec::new();
        for (statement, span) in block.span_iter() {
            self.statement(statement, *span, &mut steps)?;
        }
        self.close(&mut steps);
        Ok(steps)
    }

    fn statement(&mut self, statement: &'m Statement, span: Span, steps: &mut Vec<Step<'m>>) -> Result<()> {
        match statement {
            Statement::Emit(range) => {
                for expression in range.clone() {
                    // Nothing in the current region changes the value, so the workgroup evaluates it before the region.
                    if self.uniform.expression(expression) {
                        steps.push(Step::Evaluate(expression));
                    } else {
                        self.pending.push(Piece::Emit(expression));
                    }
                }
            }
            Statement::Store { pointer, value } if self.uniform.local(*pointer).is_some() => {
                self.close(steps);
                steps.push(Step::Store { pointer: *pointer, value: *value });
            }
            Statement::Block(block) => {
                for (statement, span) in block.span_iter() {
                    self.statement(statement, *span, steps)?;
                }
            }
            Statement::ControlBarrier(barrier) if *barrier != Barrier::SUB_GROUP => self.close(steps),
            Statement::WorkGroupUniformLoad { pointer, result } => {
                self.close(steps);
                self.require(*pointer, span, "workgroupUniformLoad of a pointer that may differ")?;
                steps.push(Step::Load { pointer: *pointer, result: *result });
            }
            Statement::Break | Statement::Continue | Statement::Return { .. } => {
                self.close(steps);
                steps.push(Step::Jump(statement));
            }
            _ if is_common(statement) => {
                self.close(steps);
                let step = self.common(statement, span)?;
                steps.push(step);
            }
            _ => self.pending.push(Piece::Statement(statement, span)),
        }
        Ok(())
    }

    /// Divides a statement that all invocations of a workgroup execute together.
    fn common(&mut self, statement: &'m Statement, span: Span) -> Result<Step<'m>> {
        match statement {
            Statement::If { condition, accept, reject } => {
                let problem = if has_barrier(statement) {
                    "a barrier under a condition that may differ between invocations"
                } else {
                    "a jump past a barrier under a condition that may differ between invocations"
                };
                self.require(*condition, span, problem)?;
                Ok(Step::If {
                    condition: *condition,
                    accept: self.block(accept)?,
                    reject: self.block(reject)?,
                })
            }
            Statement::Loop { body, continuing, break_if } => {
                if let Some(condition) = break_if {
                    let problem = "a barrier in a loop whose end may differ between invocations";
                    self.require(*condition, span, problem)?;
                }
                self.loops += 1;
                let body = self.block(body)?;
                let continuing = self.block(continuing)?;
                self.loops -= 1;
                Ok(Step::Loop { body, continuing, break_if: *break_if })
            }
            Statement::Switch { selector, cases } => {
                let problem = if has_barrier(statement) {
                    "a barrier in a switch whose selector may differ between invocations"
                } else {
                    "a jump past a barrier in a switch whose selector may differ between invocations"
                };
                self.require(*selector, span, problem)?;
                let mut common = Vec::new();
                for case in cases {
                    let value = case.value;
                    let falls = case.fall_through;
                    common.push(Case { value, falls, steps: self.block(&case.body)? });
                }
                Ok(Step::Switch { selector: *selector, cases: common })
            }
            _ => Err(NotCompiled::new("a statement that a workgroup does not execute together").at(span)),
        }
    }

    fn require(&self, expression: Handle<Expression>, span: Span, problem: &str) -> Result<()> {
        if self.uniform.expression(expression) { Ok(()) } else { Err(NotCompiled::new(problem).at(span)) }
    }
}

/// Visits the expressions that a region uses, and the indices in its pointers.
fn visit_region(function: &Function, region: &Region<'_>, seen: &mut impl FnMut(Handle<Expression>)) {
    for piece in &region.pieces {
        visit_piece(function, piece, seen);
    }
}

fn visit_piece(function: &Function, piece: &Piece<'_>, seen: &mut impl FnMut(Handle<Expression>)) {
    let mut deep = |expression| visit_deep(function, expression, seen);
    match piece {
        Piece::Emit(expression) => {
            operands(&function.expressions[*expression]).into_iter().for_each(deep);
        }
        Piece::Statement(statement, _) => visit_uses(function, statement, &mut deep),
    }
}

/// Visits an expression. For a pointer, which is evaluated where it is used, also visits the operands.
fn visit_deep(
    function: &Function,
    expression: Handle<Expression>,
    seen: &mut impl FnMut(Handle<Expression>),
) {
    seen(expression);
    match &function.expressions[expression] {
        Expression::Access { base, index } => {
            visit_deep(function, *base, seen);
            visit_deep(function, *index, seen);
        }
        Expression::AccessIndex { base, .. } => visit_deep(function, *base, seen),
        _ => {}
    }
}

fn spills(function: &Function, program: &Program, regions: &[Region<'_>]) -> Vec<Handle<Expression>> {
    let mut origins = FxHashMap::default();
    for (at, region) in regions.iter().enumerate() {
        for piece in &region.pieces {
            match piece {
                Piece::Emit(expression) => {
                    origins.insert(*expression, at);
                }
                Piece::Statement(statement, _) => visit_results(statement, &mut |expression| {
                    origins.insert(expression, at);
                }),
            }
        }
    }
    let info = program.info().get_entry_point(program.entry_index());
    let mut spills = FxHashSet::default();
    for (at, region) in regions.iter().enumerate() {
        visit_region(function, region, &mut |expression| {
            let inner = info[expression].ty.inner_with(&program.module().types);
            let elsewhere = origins.get(&expression).is_some_and(|origin| *origin != at);
            if elsewhere && inner.pointer_space().is_none() {
                spills.insert(expression);
            }
        });
    }
    let mut spills: Vec<_> = spills.into_iter().collect();
    spills.sort_unstable_by_key(|expression| expression.index());
    spills
}

fn homes(
    function: &Function,
    uniform: &Uniform<'_>,
    regions: &[Region<'_>],
) -> FxHashMap<Handle<LocalVariable>, Home> {
    let mut homes = FxHashMap::default();
    for (at, region) in regions.iter().enumerate() {
        visit_region(function, region, &mut |expression| {
            if let Expression::LocalVariable(local) = function.expressions[expression] {
                let home = homes.entry(local).or_insert(Home::Region(at));
                if *home != Home::Region(at) {
                    *home = Home::Invocation;
                }
            }
        });
    }
    for (local, home) in &mut homes {
        if let Home::Region(at) = *home
            && regions[at].repeats
            && !begins_with_store(function, &regions[at], *local)
        {
            *home = Home::Invocation;
        }
    }
    homes.extend(uniform.locals().iter().map(|local| (*local, Home::Workgroup)));
    homes
}

/// Returns `true` if a region stores the whole variable before any other use of it.
fn begins_with_store(function: &Function, region: &Region<'_>, local: Handle<LocalVariable>) -> bool {
    let is_local = |expression: Handle<Expression>| matches!(&function.expressions[expression], Expression::LocalVariable(other) if *other == local);
    for piece in &region.pieces {
        let mut used = false;
        visit_piece(function, piece, &mut |expression| used |= is_local(expression));
        if used {
            return matches!(piece, Piece::Statement(Statement::Store { pointer, .. }, _) if is_local(*pointer));
        }
    }
    false
}
