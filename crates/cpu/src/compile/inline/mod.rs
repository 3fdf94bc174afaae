//! Functions with barriers are expanded at their calls, as a region ends only at a barrier of the entry point.

mod callee;
mod copy;

use super::uses::has_barrier;
use crate::program::Program;
use naga::{Function, Handle, Statement};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Holds the functions with barriers. They call no other function with a barrier.
type Barred = FxHashMap<Handle<Function>, Function>;

/// Returns a program whose entry point calls no function with a barrier. Returns the same program where that is so already,
/// and where a function returns out of a loop or a `switch`.
pub(crate) fn without_barriers_in_calls(program: &Arc<Program>) -> Arc<Program> {
    match expanded(program) {
        Some(expanded) => Arc::new(expanded),
        None => program.clone(),
    }
}

fn expanded(program: &Program) -> Option<Program> {
    let mut barred = Barred::default();
    for (handle, function) in program.module().functions.iter() {
        if function.body.iter().any(has_barrier) || calls_barred(function, &barred) {
            barred.insert(handle, copy::expand(function, &barred)?);
        }
    }
    let entry = &program.entry().function;
    if !calls_barred(entry, &barred) {
        return None;
    }
    let mut module = program.module().clone();
    module.entry_points[program.entry_index()].function = copy::expand(entry, &barred)?;
    match program.with_module(module) {
        Ok(program) => Some(program),
        Err(error) => {
            log::debug!("kernel `{}` keeps its calls: {error}", program.name());
            None
        }
    }
}

fn calls_barred(function: &Function, barred: &Barred) -> bool {
    let mut found = false;
    super::shared::visit(&function.body, &mut |statement| {
        found |= matches!(statement, Statement::Call { function, .. } if barred.contains_key(function));
    });
    found
}
