//! Whether an entry point finds its place in a grid of two dimensions that stands for one.

use naga::{Block, EntryPoint, Expression, Function, Handle, Literal, Module, Statement};

/// The function of the snippet `linear`.
const LINEAR_ID: &str = "linear_id";

/// Whether the entry point, or a function that it calls, calls `linear_id` with its own workgroup's width.
pub(crate) fn folds(module: &Module, entry: &EntryPoint, width: u32) -> bool {
    let linear = module.functions.iter().find(|(_, function)| function.name.as_deref() == Some(LINEAR_ID));
    let Some((linear, _)) = linear else { return false };
    let search = Search { module, entry, linear, width };
    search.in_function(&entry.function)
}

struct Search<'a> {
    module: &'a Module,
    entry: &'a EntryPoint,
    linear: Handle<Function>,
    width: u32,
}

impl Search<'_> {
    fn in_function(&self, function: &Function) -> bool {
        self.in_block(function, &function.body)
    }

    fn in_block(&self, function: &Function, block: &Block) -> bool {
        block.iter().any(|statement| match statement {
            Statement::Call { function: called, arguments, .. } if *called == self.linear => {
                arguments.get(2).is_some_and(|width| self.is_width(&function.expressions[*width]))
            }
            // WGSL has no recursion, so that this ends.
            Statement::Call { function: called, .. } => self.in_function(&self.module.functions[*called]),
            Statement::Block(inner) => self.in_block(function, inner),
            Statement::If { accept, reject, .. } => {
                self.in_block(function, accept) || self.in_block(function, reject)
            }
            Statement::Loop { body, continuing, .. } => {
                self.in_block(function, body) || self.in_block(function, continuing)
            }
            Statement::Switch { cases, .. } => cases.iter().any(|case| self.in_block(function, &case.body)),
            _ => false,
        })
    }

    fn is_width(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Literal(Literal::U32(width)) => *width == self.width,
            Expression::Constant(constant) => {
                self.is_width(&self.module.global_expressions[self.module.constants[*constant].init])
            }
            Expression::Override(given) => {
                let sizes = self.entry.workgroup_size_overrides;
                let size = sizes.and_then(|sizes| sizes[0]).map(|size| &self.module.global_expressions[size]);
                matches!(size, Some(Expression::Override(size)) if size == given)
            }
            _ => false,
        }
    }
}
