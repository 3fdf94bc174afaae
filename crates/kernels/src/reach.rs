//! The functions that an entry point reaches.

use naga::{Block, Function, Handle, Module, Statement};

/// Returns for each function if an entry point calls it.
pub(crate) fn reached(module: &Module, entry: &Function) -> Vec<bool> {
    let mut reached = vec![false; module.functions.len()];
    let mut open = calls(&entry.body);
    while let Some(function) = open.pop() {
        if !std::mem::replace(&mut reached[function.index()], true) {
            open.extend(calls(&module.functions[function].body));
        }
    }
    reached
}

/// Returns the functions that a block calls, each as often as it is called in the text.
pub(crate) fn calls(block: &Block) -> Vec<Handle<Function>> {
    block
        .iter()
        .flat_map(|statement| match statement {
            Statement::Call { function, .. } => vec![*function],
            Statement::Block(inner) => calls(inner),
            Statement::If { accept, reject, .. } => [calls(accept), calls(reject)].concat(),
            Statement::Loop { body, continuing, .. } => [calls(body), calls(continuing)].concat(),
            Statement::Switch { cases, .. } => cases.iter().flat_map(|case| calls(&case.body)).collect(),
            _ => Vec::new(),
        })
        .collect()
}
