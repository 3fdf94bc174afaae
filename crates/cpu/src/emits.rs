//! The statements that evaluate expressions, one for each expression.
//!
//! naga 30 replaces an expression that overrides make constant, and keeps the first and the last expression of a statement that
//! evaluates several. A replaced one has another place in the list, so that the statement evaluates nothing, or others.

use naga::{Block, Range, Statement};

/// Returns a module with overrides whose statements evaluate one expression each, or `None` for a module without overrides.
pub(crate) fn divided(module: &naga::Module) -> Option<naga::Module> {
    if module.overrides.is_empty() {
        return None;
    }
    let mut module = module.clone();
    let functions = module.functions.iter_mut().map(|(_, function)| function);
    let entries = module.entry_points.iter_mut().map(|entry| &mut entry.function);
    functions.chain(entries).for_each(|function| divide_block(&mut function.body));
    Some(module)
}

fn divide_block(block: &mut Block) {
    let whole = std::mem::take(block);
    for (mut statement, span) in whole.span_into_iter() {
        match &mut statement {
            Statement::Emit(range) => {
                for expression in range.clone() {
                    let one = Range::new_from_bounds(expression, expression);
                    block.push(Statement::Emit(one), span);
                }
                continue;
            }
            Statement::Block(inner) => divide_block(inner),
            Statement::If { accept, reject, .. } => {
                divide_block(accept);
                divide_block(reject);
            }
            Statement::Switch { cases, .. } => cases.iter_mut().for_each(|case| divide_block(&mut case.body)),
            Statement::Loop { body, continuing, .. } => {
                divide_block(body);
                divide_block(continuing);
            }
            _ => {}
        }
        block.push(statement, span);
    }
}
