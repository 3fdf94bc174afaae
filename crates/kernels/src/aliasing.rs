//! WGSL's alias analysis (section 11.4.1 of its specification): a function must not get two pointers into one variable,
//! or a pointer into a variable that it uses by name, if it writes through one of them. naga does not check this, but
//! browsers do.

use naga::{Block, Expression, Function, Handle, Module, Span, Statement};

use crate::wording::Diagnostic;

/// Variable into which a pointer points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Root {
    Global(usize),
    Local(usize),
    Argument(usize),
}

/// Accesses of a function and of the functions that it calls.
#[derive(Default)]
struct Accesses {
    read: Vec<Root>,
    written: Vec<Root>,
}

impl Accesses {
    fn note(&mut self, root: Root, is_write: bool) {
        let list = if is_write { &mut self.written } else { &mut self.read };
        if !list.contains(&root) {
            list.push(root);
        }
    }

    fn touches(&self, root: Root) -> bool {
        self.read.contains(&root) || self.written.contains(&root)
    }
}

/// Returns the calls that browsers refuse because they use one variable through two names.
pub(crate) fn findings(module: &Module) -> Vec<Diagnostic> {
    let mut walk = AliasWalk { module, known: Vec::new(), findings: Vec::new() };
    // A function comes after the functions that it calls.
    for (_, function) in module.functions.iter() {
        let accesses = walk.function(function);
        walk.known.push(accesses);
    }
    for entry in &module.entry_points {
        walk.function(&entry.function);
    }
    walk.findings
}

struct AliasWalk<'a> {
    module: &'a Module,
    /// Accesses of the functions so far.
    known: Vec<Accesses>,
    findings: Vec<Diagnostic>,
}

impl AliasWalk<'_> {
    fn function(&mut self, function: &Function) -> Accesses {
        let mut accesses = Accesses::default();
        for (_, expression) in function.expressions.iter() {
            if let Expression::Load { pointer } = *expression
                && let Some(root) = root(function, pointer)
            {
                accesses.note(root, false);
            }
        }
        self.block(function, &function.body, &mut accesses);
        accesses
    }

    fn block(&mut self, function: &Function, block: &Block, accesses: &mut Accesses) {
        for (statement, span) in block.span_iter() {
            match statement {
                Statement::Store { pointer, .. } => note(function, *pointer, &[true], accesses),
                Statement::Atomic { pointer, .. } => note(function, *pointer, &[false, true], accesses),
                Statement::WorkGroupUniformLoad { pointer, .. } => {
                    note(function, *pointer, &[false], accesses)
                }
                Statement::Call { function: called, arguments, .. } => {
                    self.call(function, *called, arguments, *span, accesses);
                }
                Statement::Block(inner) => self.block(function, inner, accesses),
                Statement::If { accept, reject, .. } => {
                    self.block(function, accept, accesses);
                    self.block(function, reject, accesses);
                }
                Statement::Loop { body, continuing, .. } => {
                    self.block(function, body, accesses);
                    self.block(function, continuing, accesses);
                }
                Statement::Switch { cases, .. } => {
                    cases.iter().for_each(|case| self.block(function, &case.body, accesses));
                }
                _ => {}
            }
        }
    }

    /// Checks a call, and adds the accesses of the called function to those of its caller.
    fn call(
        &mut self,
        function: &Function,
        called: Handle<Function>,
        arguments: &[Handle<Expression>],
        span: Span,
        accesses: &mut Accesses,
    ) {
        let callee = &self.module.functions[called];
        let of_callee = &self.known[called.index()];
        let roots: Vec<Option<Root>> = arguments
            .iter()
            .zip(&callee.arguments)
            .map(|(&argument, declared)| {
                let is_pointer = self.module.types[declared.ty].inner.pointer_space().is_some();
                root(function, argument).filter(|_| is_pointer)
            })
            .collect();
        if let Some(message) = self.conflict(function, callee, of_callee, &roots) {
            self.findings.push(Diagnostic { message, span });
        }
        for (is_write, list) in [(false, &of_callee.read), (true, &of_callee.written)] {
            for &root in list {
                match root {
                    Root::Global(_) => accesses.note(root, is_write),
                    Root::Argument(at) => {
                        roots
                            .get(at)
                            .copied()
                            .flatten()
                            .into_iter()
                            .for_each(|root| accesses.note(root, is_write));
                    }
                    Root::Local(_) => {}
                }
            }
        }
    }

    /// Describes the first two names through which a call uses one variable, if it writes through one of them.
    fn conflict(
        &self,
        function: &Function,
        callee: &Function,
        accesses: &Accesses,
        roots: &[Option<Root>],
    ) -> Option<String> {
        let parameter = |at: usize| callee.arguments[at].name.as_deref().unwrap_or("a pointer");
        let called = callee.name.as_deref().unwrap_or("the function");
        for (at, &root) in roots.iter().enumerate() {
            let Some(root) = root else { continue };
            let own = Root::Argument(at);
            let variable = || self.name(function, root);
            let other = (0..at).find(|&other| {
                let other_own = Root::Argument(other);
                roots[other] == Some(root)
                    && (accesses.written.contains(&own) && accesses.touches(other_own)
                        || accesses.written.contains(&other_own) && accesses.touches(own))
            });
            if let Some(other) = other {
                let first = parameter(other);
                let second = parameter(at);
                return Some(format!(
                    "`{called}` gets `{}` twice, as `{first}` and as `{second}`, and writes it, which WGSL forbids: pass another \
                     variable, or a copy",
                    variable()
                ));
            }
            let global = matches!(root, Root::Global(_))
                && (accesses.written.contains(&own) && accesses.touches(root)
                    || accesses.written.contains(&root) && accesses.touches(own));
            if global {
                return Some(format!(
                    "`{called}` gets `{0}` as `{1}` and uses `{0}` itself too, and writes it, which WGSL forbids: use one of the \
                     two names, or pass a copy",
                    variable(),
                    parameter(at)
                ));
            }
        }
        None
    }

    fn name<'n>(&'n self, function: &'n Function, root: Root) -> &'n str {
        let mut globals = self.module.global_variables.iter();
        let mut locals = function.local_variables.iter();
        let name = match root {
            Root::Global(at) => globals.nth(at).and_then(|(_, variable)| variable.name.as_deref()),
            Root::Local(at) => locals.nth(at).and_then(|(_, variable)| variable.name.as_deref()),
            Root::Argument(at) => function.arguments[at].name.as_deref(),
        };
        name.unwrap_or("a variable")
    }
}

fn note(function: &Function, pointer: Handle<Expression>, writes: &[bool], accesses: &mut Accesses) {
    if let Some(root) = root(function, pointer) {
        writes.iter().for_each(|&is_write| accesses.note(root, is_write));
    }
}

/// Returns the variable into which a pointer points.
fn root(function: &Function, mut pointer: Handle<Expression>) -> Option<Root> {
    loop {
        match function.expressions[pointer] {
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => pointer = base,
            Expression::GlobalVariable(variable) => return Some(Root::Global(variable.index())),
            Expression::LocalVariable(variable) => return Some(Root::Local(variable.index())),
            Expression::FunctionArgument(at) => return Some(Root::Argument(at as usize)),
            _ => return None,
        }
    }
}
