//! The local variables of a function: which of them need memory, and their first values.

use super::function::{Local, Lower};
use super::layout::Types;
use super::place::Place;
use super::refusal::Result;
use crate::statements::visit;
use cranelift_codegen::ir::{self, InstBuilder, MemFlags};
use naga::{Expression, Function, Handle, LocalVariable, Statement};
use rustc_hash::FxHashSet;

/// Maximum number of components of a variable in registers.
const MOST_IN_REGISTERS: usize = 16;

/// Maximum number of bytes that are set to zero with single stores.
const MOST_ZEROED_BY_STORES: u32 = 64;

/// Returns the variable into which a pointer points.
pub(super) fn root(function: &Function, mut pointer: Handle<Expression>) -> Handle<Expression> {
    loop {
        match &function.expressions[pointer] {
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => pointer = *base,
            _ => return pointer,
        }
    }
}

/// Returns the local variable into which a pointer points, if it is one.
pub(super) fn root_local(function: &Function, pointer: Handle<Expression>) -> Option<Handle<LocalVariable>> {
    match &function.expressions[root(function, pointer)] {
        Expression::LocalVariable(local) => Some(*local),
        _ => None,
    }
}

/// Lists the local variables that need an address, and the large ones.
pub(super) fn in_memory(types: Types<'_>, function: &Function) -> FxHashSet<Handle<LocalVariable>> {
    let mut found = FxHashSet::default();
    for (handle, variable) in function.local_variables.iter() {
        let count = types.count(types.inner(variable.ty));
        if !count.is_ok_and(|count| count <= MOST_IN_REGISTERS) {
            found.insert(handle);
        }
    }
    for (_, expression) in function.expressions.iter() {
        if let Expression::Access { base, .. } = expression {
            found.extend(root_local(function, *base));
        }
    }
    visit(&function.body, &mut |statement| {
        if let Statement::Call { arguments, .. } = statement {
            found.extend(arguments.iter().filter_map(|argument| root_local(function, *argument)));
        }
    });
    found
}

impl Lower<'_, '_> {
    /// Sets a local variable to its first value.
    pub(super) fn initialise(&mut self, handle: Handle<LocalVariable>, local: &Local) -> Result<()> {
        let variable = &self.frame.function.local_variables[handle];
        let inner = self.types().inner(variable.ty);
        let place = self.local_place(local);
        match (variable.init, &place) {
            (Some(init), _) => {
                let values = self.value(init)?;
                self.store(&place, inner, &values)
            }
            (None, Place::Registers(_)) => {
                let values = self.zero(inner)?;
                self.store(&place, inner, &values)
            }
            (None, Place::Memory { address, offset, .. }) => {
                let start = self.builder.ins().iadd_imm(*address, i64::from(*offset));
                self.clear(start, self.types().size(variable.ty));
                Ok(())
            }
        }
    }

    /// Sets bytes to zero.
    pub(super) fn clear(&mut self, start: ir::Value, bytes: u32) {
        if bytes <= MOST_ZEROED_BY_STORES {
            let zero = self.word(0);
            for at in (0..bytes.next_multiple_of(4)).step_by(4) {
                self.builder.ins().store(MemFlags::trusted(), zero, start, at as i32);
            }
        } else {
            self.call_clear(start, bytes);
        }
    }
}
