//! Inlines functions with barriers, because only a barrier in the entry point ends a region.

mod callee;
mod copy;
mod exit;

use super::shared::MOST_EXPRESSIONS;
use super::uses::has_barrier;
use crate::program::Program;
use fencepost_kernels::report;
use naga::{Block, Function, Handle, Scalar, Span, Statement, Type, TypeInner};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Functions with barriers that are ready to be inlined: they no longer call other functions with barriers.
type Barred = FxHashMap<Handle<Function>, Function>;

/// Maximum depth of nested blocks in an inlined function. The compiler visits blocks recursively, and must fit the
/// default stack of a Rust thread.
const MOST_NESTING: usize = 256;

/// Returns a program whose entry point calls no function with a barrier. Returns the program unchanged if it has no
/// such call, or if inlining would make it too large or too deeply nested.
pub(crate) fn without_barriers_in_calls(program: &Arc<Program>) -> Arc<Program> {
    match expanded(program) {
        Some(expanded) => Arc::new(expanded),
        None => program.clone(),
    }
}

fn expanded(program: &Program) -> Option<Program> {
    let entry = &program.entry().function;
    let mut functions = program.module().functions.iter().map(|(_, function)| function);
    if !functions.any(|function| function.body.iter().any(has_barrier)) {
        return None;
    }
    let mut module = program.module().clone();
    let flag = Type { name: None, inner: TypeInner::Scalar(Scalar::BOOL) };
    let flag = module.types.insert(flag, Span::UNDEFINED);
    let mut barred = Barred::default();
    for (handle, function) in program.module().functions.iter() {
        if function.body.iter().any(has_barrier) || calls_barred(function, &barred) {
            Extent::of_expanded(function, &barred)?;
            barred.insert(handle, copy::expand(function, &barred, flag)?);
        }
    }
    if !calls_barred(entry, &barred) {
        return None;
    }
    Extent::of_expanded(entry, &barred)?;
    module.entry_points[program.entry_index()].function = copy::expand(entry, &barred, flag)?;
    match program.with_module(module) {
        Ok(program) => Some(program),
        Err(error) => {
            report!(Debug, "kernel `{}` keeps its calls: {error}", program.name());
            None
        }
    }
}

/// Size of a function.
#[derive(Clone, Copy, Default)]
struct Extent {
    /// Number of expressions and statements.
    parts: usize,
    /// Number of blocks around the innermost statement.
    nesting: usize,
}

impl Extent {
    /// Returns the size of a function after inlining, or `None` if it is too large.
    fn of_expanded(function: &Function, barred: &Barred) -> Option<Self> {
        let mut extent = Self { parts: function.expressions.len(), nesting: 0 };
        extent.add(&function.body, barred, 1);
        let fits = extent.parts <= MOST_EXPRESSIONS && extent.nesting <= MOST_NESTING;
        fits.then_some(extent)
    }

    /// Adds a block that has `nesting - 1` blocks around it.
    fn add(&mut self, block: &Block, barred: &Barred, nesting: usize) {
        self.nesting = self.nesting.max(nesting);
        self.parts += block.len();
        for statement in block {
            if self.parts > MOST_EXPRESSIONS {
                return; // the function does not fit, whatever its size
            }
            match statement {
                Statement::Call { function, .. } => {
                    if let Some(body) = barred.get(function) {
                        self.parts += body.expressions.len();
                        self.add(&body.body, &Barred::default(), nesting + 3); // a block, and two loops for returns
                    }
                }
                Statement::Block(inner) => self.add(inner, barred, nesting + 1),
                Statement::If { accept, reject, .. } => {
                    [accept, reject].into_iter().for_each(|inner| self.add(inner, barred, nesting + 1));
                }
                Statement::Switch { cases, .. } => {
                    cases.iter().for_each(|case| self.add(&case.body, barred, nesting + 1));
                }
                Statement::Loop { body, continuing, .. } => {
                    [body, continuing].into_iter().for_each(|inner| self.add(inner, barred, nesting + 1));
                }
                _ => {}
            }
        }
    }
}

fn calls_barred(function: &Function, barred: &Barred) -> bool {
    let mut found = false;
    crate::statements::visit(&function.body, &mut |statement| {
        found |= matches!(statement, Statement::Call { function, .. } if barred.contains_key(function));
    });
    found
}
