//! Checks that no value of a program consists of too many numbers, because the compiler makes an SSA value for each.

use super::refusal::{NotCompiled, Result};
use crate::program::Program;
use naga::valid::FunctionInfo;
use naga::{ArraySize, Function, Module, Type, TypeInner, UniqueArena};

/// Maximum count of numbers in one value.
const MOST_NUMBERS: u64 = 1 << 14;

/// Checks the values of a program.
///
/// # Errors
/// Returns the first value that has too many numbers.
pub(super) fn check(program: &Program) -> Result<()> {
    let module = program.module();
    let info = program.info();
    let numbers = Numbers::of(&module.types);
    let called = module.functions.iter().map(|(handle, function)| (function, &info[handle]));
    let entry = (&program.entry().function, info.get_entry_point(program.entry_index()));
    called.chain([entry]).try_for_each(|(function, info)| check_function(module, function, info, &numbers))
}

fn check_function(
    module: &Module,
    function: &Function,
    info: &FunctionInfo,
    numbers: &Numbers,
) -> Result<()> {
    for (handle, _) in function.expressions.iter() {
        let found = numbers.of_value(info[handle].ty.inner_with(&module.types));
        if found > MOST_NUMBERS {
            let reason =
                format!("a value of {found} numbers: a value in machine code has at most {MOST_NUMBERS}");
            return Err(NotCompiled::new(reason).at(function.expressions.get_span(handle)));
        }
    }
    Ok(())
}

/// For each type of a module, the count of numbers in a value. The counts saturate.
struct Numbers(Vec<u64>);

impl Numbers {
    /// Counts the numbers of all types. A type comes after its parts.
    fn of(types: &UniqueArena<Type>) -> Self {
        let mut numbers = Self(Vec::with_capacity(types.len()));
        for (_, ty) in types.iter() {
            let count = numbers.of_value(&ty.inner);
            numbers.0.push(count);
        }
        numbers
    }

    fn of_value(&self, inner: &TypeInner) -> u64 {
        match *inner {
            TypeInner::Vector { size, .. } => size as u64,
            TypeInner::Matrix { columns, rows, .. } => columns as u64 * rows as u64,
            TypeInner::Array { base, size: ArraySize::Constant(count), .. } => {
                self.0[base.index()].saturating_mul(count.get().into())
            }
            TypeInner::Struct { ref members, .. } => {
                members.iter().fold(0, |all, member| self.0[member.ty.index()].saturating_add(all))
            }
            _ => 1,
        }
    }
}
