//! The expressions that have one value in all invocations of a workgroup.

use super::layout::Types;
use super::locals::root;
use super::uses::{is_common, operands};
use crate::program::Program;
use naga::{
    AddressSpace, Binding, Block, BuiltIn, Expression, Function, Handle, LocalVariable, Statement,
    StorageAccess, TypeInner,
};
use rustc_hash::FxHashSet;

/// Values that are the same in all invocations of a workgroup.
pub(super) struct Uniform<'m> {
    program: &'m Program,
    function: &'m Function,
    /// Flag of each expression.
    expressions: Vec<bool>,
    /// Local variables that are stored only where all invocations of a workgroup execute together.
    locals: FxHashSet<Handle<LocalVariable>>,
}

impl<'m> Uniform<'m> {
    /// Analyses the entry point. `tail` is the number of statements up to the last barrier: invocations execute the
    /// statements after it independently.
    pub(super) fn new(program: &'m Program, tail: usize) -> Self {
        let function = &program.entry().function;
        let mut uniform = Self { program, function, expressions: Vec::new(), locals: FxHashSet::default() };
        uniform.locals = uniform.candidates();
        let mut stores = Vec::new();
        let mut alone = FxHashSet::default();
        for (at, statement) in function.body.iter().enumerate() {
            uniform.sort_stores(statement, at < tail, &mut stores, &mut alone);
        }
        uniform.locals.retain(|local| !alone.contains(local));
        loop {
            uniform.mark_expressions();
            let before = uniform.locals.len();
            for &(local, value) in &stores {
                if !uniform.expression(value) {
                    uniform.locals.remove(&local);
                }
            }
            if uniform.locals.len() == before {
                return uniform;
            }
        }
    }

    /// Returns `true` if an expression has one value in all invocations of a workgroup.
    pub(super) fn expression(&self, expression: Handle<Expression>) -> bool {
        self.expressions[expression.index()]
    }

    /// Returns the local variable if a pointer points to a whole variable that has one value in all invocations of a
    /// workgroup.
    pub(super) fn local(&self, pointer: Handle<Expression>) -> Option<Handle<LocalVariable>> {
        match &self.function.expressions[pointer] {
            Expression::LocalVariable(local) if self.locals.contains(local) => Some(*local),
            _ => None,
        }
    }

    /// Lists the local variables that have one value in all invocations of a workgroup.
    pub(super) fn locals(&self) -> &FxHashSet<Handle<LocalVariable>> {
        &self.locals
    }

    /// Lists the variables without members that live in registers.
    fn candidates(&self) -> FxHashSet<Handle<LocalVariable>> {
        let in_memory = super::locals::in_memory(Types::new(self.program), self.function);
        let mut candidates = FxHashSet::default();
        for (handle, variable) in self.function.local_variables.iter() {
            let inner = &self.program.module().types[variable.ty].inner;
            let is_plain =
                matches!(inner, TypeInner::Scalar(_) | TypeInner::Vector { .. } | TypeInner::Matrix { .. });
            if is_plain && !in_memory.contains(&handle) {
                candidates.insert(handle);
            }
        }
        candidates
    }

    /// Collects the stores that all invocations execute together, and the variables that are stored in other ways.
    fn sort_stores(
        &self,
        statement: &Statement,
        together: bool,
        stores: &mut Vec<(Handle<LocalVariable>, Handle<Expression>)>,
        alone: &mut FxHashSet<Handle<LocalVariable>>,
    ) {
        let mut blocks = |blocks: &[&Block], together| {
            for statement in blocks.iter().flat_map(|block| block.iter()) {
                self.sort_stores(statement, together, stores, alone);
            }
        };
        match statement {
            Statement::Store { pointer, value } => {
                if let Expression::LocalVariable(local) = self.function.expressions[*pointer]
                    && together
                {
                    stores.push((local, *value));
                } else {
                    alone.extend(super::locals::root_local(self.function, *pointer));
                }
            }
            Statement::Call { arguments, .. } => {
                let locals =
                    arguments.iter().filter_map(|&value| super::locals::root_local(self.function, value));
                alone.extend(locals);
            }
            Statement::Block(block) => blocks(&[block], together),
            Statement::If { accept, reject, .. } => {
                blocks(&[accept, reject], together && is_common(statement));
            }
            Statement::Loop { body, continuing, .. } => {
                blocks(&[body, continuing], together && is_common(statement));
            }
            Statement::Switch { cases, .. } => {
                let together = together && is_common(statement);
                cases.iter().for_each(|case| blocks(&[&case.body], together));
            }
            _ => {}
        }
    }

    fn mark_expressions(&mut self) {
        self.expressions.clear();
        for (_, expression) in self.function.expressions.iter() {
            let uniform = self.mark(expression);
            self.expressions.push(uniform);
        }
    }

    fn mark(&self, expression: &Expression) -> bool {
        let all_operands = || operands(expression).into_iter().all(|operand| self.expression(operand));
        match expression {
            Expression::Literal(_)
            | Expression::Constant(_)
            | Expression::ZeroValue(_)
            | Expression::GlobalVariable(_)
            | Expression::LocalVariable(_)
            | Expression::WorkGroupUniformLoadResult { .. }
            | Expression::ArrayLength(_) => true,
            Expression::FunctionArgument(index) => self.argument(*index, None),
            Expression::AccessIndex { base, index } => match self.function.expressions[*base] {
                Expression::FunctionArgument(argument) => self.argument(argument, Some(*index)),
                _ => all_operands(),
            },
            Expression::Load { pointer } => all_operands() && self.memory(*pointer),
            Expression::Compose { .. }
            | Expression::Access { .. }
            | Expression::Splat { .. }
            | Expression::Swizzle { .. }
            | Expression::Unary { .. }
            | Expression::Binary { .. }
            | Expression::Select { .. }
            | Expression::Relational { .. }
            | Expression::Math { .. }
            | Expression::As { .. } => all_operands(),
            _ => false,
        }
    }

    /// Returns `true` if no invocation changes a place in memory, or if all change it together.
    fn memory(&self, pointer: Handle<Expression>) -> bool {
        match &self.function.expressions[root(self.function, pointer)] {
            Expression::LocalVariable(local) => self.locals.contains(local),
            Expression::GlobalVariable(variable) => {
                match self.program.module().global_variables[*variable].space {
                    AddressSpace::Uniform | AddressSpace::Immediate => true,
                    AddressSpace::Storage { access } => !access.contains(StorageAccess::STORE),
                    _ => false,
                }
            }
            _ => false,
        }
    }

    fn argument(&self, index: u32, member: Option<u32>) -> bool {
        let argument = &self.function.arguments[index as usize];
        let is_common = |binding: &Option<Binding>| {
            let common = [
                BuiltIn::WorkGroupId,
                BuiltIn::NumWorkGroups,
                BuiltIn::WorkGroupSize,
                BuiltIn::NumSubgroups,
                BuiltIn::SubgroupSize,
            ];
            matches!(binding, Some(Binding::BuiltIn(builtin)) if common.contains(builtin))
        };
        match (&self.program.module().types[argument.ty].inner, member) {
            (TypeInner::Struct { members, .. }, Some(member)) => is_common(&members[member as usize].binding),
            (TypeInner::Struct { members, .. }, None) => {
                members.iter().all(|member| is_common(&member.binding))
            }
            _ => is_common(&argument.binding),
        }
    }
}
