//! Analysis of differences between lanes: in local variables, in results, and in jumps out of loops and `switch`es.

use crate::compile::layout::Types;
use crate::compile::locals::{in_memory, root, root_local};
use crate::compile::plan::{Home, Plan};
use crate::compile::uses::operands;
use crate::program::Program;
use naga::{
    AddressSpace, Binding, Block, BuiltIn, Expression, Function, Handle, LocalVariable, Statement,
    SwitchCase, TypeInner,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Differences between lanes in one function.
///
/// The analysis is safe: if it misses a variable, the program is refused, because a vector cannot be stored in a shared
/// scalar. The same holds for a missed loop, because a masked jump cannot leave a loop that all lanes leave together.
#[derive(Default)]
pub(in crate::compile) struct Varying {
    /// Local variables that may differ.
    pub(super) locals: FxHashSet<Handle<LocalVariable>>,
    /// Loops and `switch`es that some lanes may leave before others, by the addresses of their first blocks.
    apart: FxHashSet<*const Block>,
    /// `true` if the result of the function may differ.
    pub(super) result: bool,
    /// `true` if some lanes may return before others.
    pub(super) returns: bool,
}

impl Varying {
    /// Returns `true` if some lanes may leave the loop with this body before others.
    pub(super) fn leaves_apart(&self, body: &Block) -> bool {
        self.apart.contains(&std::ptr::from_ref(body))
    }

    /// Returns `true` if some lanes may leave the `switch` with these cases before others.
    pub(super) fn parts(&self, cases: &[SwitchCase]) -> bool {
        cases.first().is_some_and(|case| self.leaves_apart(&case.body))
    }
}

/// Analyses of functions, each done once.
pub(in crate::compile) struct Analyses<'m> {
    program: &'m Program,
    /// Results, by function and differing arguments.
    known: FxHashMap<(Handle<Function>, Vec<bool>), Rc<Varying>>,
}

impl<'m> Analyses<'m> {
    pub(in crate::compile) fn new(program: &'m Program) -> Self {
        Self { program, known: FxHashMap::default() }
    }

    /// Finds the differences in the entry point.
    pub(in crate::compile) fn entry(&mut self, plan: &Plan<'_>) -> Rc<Varying> {
        let kept = plan.homes.iter().filter(|(_, home)| **home == Home::Invocation);
        let kept = kept.map(|(local, _)| *local).collect();
        Rc::new(Search::new(self, &self.program.entry().function, None, kept).run())
    }

    /// Finds the differences in a function for calls with these differing arguments.
    pub(super) fn callee(&mut self, callee: Handle<Function>, arguments: Vec<bool>) -> Rc<Varying> {
        let key = (callee, arguments);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let function = &self.program.module().functions[callee];
        let found = Search::new(self, function, Some(key.1.clone()), FxHashSet::default()).run();
        let found = Rc::new(found);
        self.known.insert(key, found.clone());
        found
    }
}

struct Search<'s, 'm> {
    program: &'m Program,
    analyses: &'s mut Analyses<'m>,
    function: &'m Function,
    /// Arguments that differ. The entry point has bindings instead.
    arguments: Option<Vec<bool>>,
    expressions: Vec<bool>,
    found: Varying,
    changed: bool,
}

impl<'s, 'm> Search<'s, 'm> {
    fn new(
        analyses: &'s mut Analyses<'m>,
        function: &'m Function,
        arguments: Option<Vec<bool>>,
        mut locals: FxHashSet<Handle<LocalVariable>>,
    ) -> Self {
        let program = analyses.program;
        locals.extend(in_memory(Types::new(program), function));
        Self {
            program,
            analyses,
            function,
            arguments,
            expressions: vec![false; function.expressions.len()],
            found: Varying { locals, ..Varying::default() },
            changed: true,
        }
    }

    fn run(mut self) -> Varying {
        while self.changed {
            self.changed = false;
            for (handle, expression) in self.function.expressions.iter() {
                if self.differs(expression) {
                    self.mark(handle);
                }
            }
            self.block(&self.function.body, false);
        }
        self.found
    }

    fn is_varying(&self, expression: Handle<Expression>) -> bool {
        self.expressions[expression.index()]
    }

    fn mark(&mut self, expression: Handle<Expression>) {
        self.changed |= !self.expressions[expression.index()];
        self.expressions[expression.index()] = true;
    }

    fn differs(&self, expression: &Expression) -> bool {
        match expression {
            Expression::FunctionArgument(index) => match &self.arguments {
                Some(arguments) => arguments[*index as usize],
                None => {
                    let argument = &self.function.arguments[*index as usize];
                    argument.binding.as_ref().is_none_or(differs)
                }
            },
            Expression::AccessIndex { base, index } if self.arguments.is_none() && self.is_varying(*base) => {
                match self.builtin(*base) {
                    // The lanes lie along the first axis.
                    Some(binding) => differs(binding) && *index == 0,
                    None => self.member(*base, *index).is_none_or(differs),
                }
            }
            Expression::Load { pointer } => {
                let root = root(self.function, *pointer);
                self.differs_behind(root) || self.is_varying(*pointer)
            }
            Expression::AtomicResult { .. }
            | Expression::SubgroupBallotResult
            | Expression::SubgroupOperationResult { .. } => true,
            _ => operands(expression).into_iter().any(|operand| self.is_varying(operand)),
        }
    }

    /// Returns `true` if a pointer leads to each lane's own memory, or to a variable that differs.
    fn differs_behind(&self, root: Handle<Expression>) -> bool {
        match &self.function.expressions[root] {
            Expression::LocalVariable(local) => self.found.locals.contains(local),
            Expression::GlobalVariable(variable) => {
                self.program.module().global_variables[*variable].space == AddressSpace::Private
            }
            Expression::FunctionArgument(index) => {
                let ty = self.function.arguments[*index as usize].ty;
                let space = self.program.module().types[ty].inner.pointer_space();
                matches!(space, Some(AddressSpace::Private | AddressSpace::Function))
            }
            _ => false,
        }
    }

    /// Returns the binding of an expression that is an argument, or a member of one.
    fn builtin(&self, expression: Handle<Expression>) -> Option<&Binding> {
        match &self.function.expressions[expression] {
            Expression::FunctionArgument(index) => self.function.arguments[*index as usize].binding.as_ref(),
            Expression::AccessIndex { base, index } => self.member(*base, *index),
            _ => None,
        }
    }

    /// Returns the binding of a member of an argument.
    fn member(&self, base: Handle<Expression>, index: u32) -> Option<&Binding> {
        let Expression::FunctionArgument(argument) = &self.function.expressions[base] else { return None };
        let ty = self.function.arguments[*argument as usize].ty;
        match &self.program.module().types[ty].inner {
            TypeInner::Struct { members, .. } => members[index as usize].binding.as_ref(),
            _ => None,
        }
    }

    fn block(&mut self, block: &Block, some: bool) {
        block.iter().for_each(|statement| self.statement(statement, some));
    }

    /// Visits a statement. `some` is `true` if possibly only some lanes execute it.
    fn statement(&mut self, statement: &Statement, some: bool) {
        match statement {
            Statement::Store { pointer, value } => {
                if let Some(local) = root_local(self.function, *pointer)
                    && (some || self.is_varying(*value) || self.is_varying(*pointer))
                {
                    self.changed |= self.found.locals.insert(local);
                }
            }
            Statement::Call { function, arguments, result: Some(result) } => {
                let arguments = arguments.iter().map(|argument| self.is_varying(*argument)).collect();
                if self.analyses.callee(*function, arguments).result {
                    self.mark(*result);
                }
            }
            Statement::Return { value } => {
                let result = some || value.is_some_and(|value| self.is_varying(value));
                self.changed |= result && !self.found.result || some && !self.found.returns;
                self.found.result |= result;
                self.found.returns |= some;
            }
            Statement::Block(block) => self.block(block, some),
            Statement::If { condition, accept, reject } => {
                let some = some || self.is_varying(*condition);
                self.block(accept, some);
                self.block(reject, some);
            }
            Statement::Loop { body, continuing, break_if } => {
                let ends = break_if.is_some_and(|condition| self.is_varying(condition));
                if ends || self.jumps_apart(body, false, false) {
                    self.changed |= self.found.apart.insert(std::ptr::from_ref(body));
                }
                let some = some || self.found.leaves_apart(body);
                self.block(body, some);
                self.block(continuing, some);
            }
            Statement::Switch { selector, cases } => {
                let breaks = |case: &SwitchCase| self.breaks_apart(&case.body, false);
                if self.is_varying(*selector) || cases.iter().any(breaks) {
                    let first = cases.iter().take(1).map(|case| std::ptr::from_ref(&case.body));
                    for address in first {
                        self.changed |= self.found.apart.insert(address);
                    }
                }
                let some = some || self.found.parts(cases);
                cases.iter().for_each(|case| self.block(&case.body, some));
            }
            _ => {}
        }
    }

    /// Returns `true` if a block contains a jump out of the surrounding loop, or to its next iteration, that possibly
    /// only some lanes execute. A `break` in a `switch` ends only the `switch`.
    fn jumps_apart(&self, block: &Block, some: bool, in_switch: bool) -> bool {
        block.iter().any(|statement| match statement {
            Statement::Break => some && !in_switch,
            Statement::Continue => some,
            Statement::Block(inner) => self.jumps_apart(inner, some, in_switch),
            Statement::If { condition, accept, reject } => {
                let some = some || self.is_varying(*condition);
                self.jumps_apart(accept, some, in_switch) || self.jumps_apart(reject, some, in_switch)
            }
            Statement::Switch { selector, cases } => {
                let some = some || self.is_varying(*selector) || self.found.parts(cases);
                cases.iter().any(|case| self.jumps_apart(&case.body, some, true))
            }
            _ => false,
        })
    }

    /// Returns `true` if a block contains a `break` out of the surrounding `switch` that possibly only some lanes
    /// execute.
    fn breaks_apart(&self, block: &Block, some: bool) -> bool {
        block.iter().any(|statement| match statement {
            Statement::Break => some,
            Statement::Block(inner) => self.breaks_apart(inner, some),
            Statement::If { condition, accept, reject } => {
                let some = some || self.is_varying(*condition);
                self.breaks_apart(accept, some) || self.breaks_apart(reject, some)
            }
            _ => false,
        })
    }
}

fn differs(binding: &Binding) -> bool {
    let along = [
        BuiltIn::LocalInvocationId,
        BuiltIn::GlobalInvocationId,
        BuiltIn::LocalInvocationIndex,
        BuiltIn::SubgroupInvocationId,
        BuiltIn::SubgroupId,
    ];
    matches!(binding, Binding::BuiltIn(builtin) if along.contains(builtin))
}
