//! Visits of statements and of the statements inside them.

use naga::{Block, Statement};

/// Visits every statement of a block, the outer ones first.
pub(crate) fn visit<'m>(block: &'m Block, seen: &mut impl FnMut(&'m Statement)) {
    block.iter().for_each(|statement| visit_one(statement, seen));
}

/// Visits a statement and the statements inside it.
pub(crate) fn visit_one<'m>(statement: &'m Statement, seen: &mut impl FnMut(&'m Statement)) {
    seen(statement);
    match statement {
        Statement::Block(inner) => visit(inner, seen),
        Statement::If { accept, reject, .. } => {
            visit(accept, seen);
            visit(reject, seen);
        }
        Statement::Switch { cases, .. } => cases.iter().for_each(|case| visit(&case.body, seen)),
        Statement::Loop { body, continuing, .. } => {
            visit(body, seen);
            visit(continuing, seen);
        }
        _ => {}
    }
}
