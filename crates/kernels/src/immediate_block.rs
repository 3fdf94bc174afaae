//! Turns a `var<immediate>` into the uniform block of its entry points.

use naga::{AddressSpace, Module, ResourceBinding};

use crate::types;

/// Maximum size of immediates in bytes; naga's validator panics for more.
pub(crate) const MAX_BYTES: u32 = 256;

/// Returns the bytes of the largest `var<immediate>` of a module; `None` if it has none.
pub(crate) fn bytes(module: &Module) -> Option<u32> {
    let variables = module.global_variables.iter();
    let immediates = variables.filter(|(_, variable)| variable.space == AddressSpace::Immediate);
    immediates.map(|(_, variable)| types::size(module, variable.ty)).max()
}

/// Gives each `var<immediate>` of a module the address space and a binding of a uniform block, so that a launch passes
/// its values in the same way. The binding is the lowest free number in group 0.
///
/// All of them get the same number, because an entry point uses only one of them.
pub(crate) fn adopt(module: &mut Module) {
    let free = free_binding(module);
    for (_, variable) in module.global_variables.iter_mut() {
        if variable.space == AddressSpace::Immediate {
            variable.space = AddressSpace::Uniform;
            variable.binding = Some(ResourceBinding { group: 0, binding: free });
        }
    }
}

/// Returns the lowest free binding of group 0.
fn free_binding(module: &Module) -> u32 {
    let taken = |number: &u32| {
        let mut bindings = module.global_variables.iter().filter_map(|(_, variable)| variable.binding);
        bindings.any(|at| at.group == 0 && at.binding == *number)
    };
    (0..).find(|number| !taken(number)).expect("a module has fewer variables than there are numbers")
}
