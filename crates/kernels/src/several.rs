//! Compares the fields of a struct with several entry points of a module.

use crate::check::{is_declared, plan_of};
use crate::{
    ArgField, ArgKind, ArgumentSlot, ArgumentSlots, Error, Interface, Result, check_argument, check_complete,
};
use smallvec::SmallVec;

/// Checks a struct's fields against several entry points, by name. Each entry point uses the arguments that it
/// declares. The plan of an entry point has [`ArgumentSlot::Undeclared`] for the other arguments.
///
/// # Errors
/// Fails as [`check`](crate::check) does. An argument that no entry point declares is [`Error::ExtraArgument`].
pub fn check_each(interfaces: &[&Interface], fields: &[ArgField]) -> Result<Vec<ArgumentSlots>> {
    for field in fields {
        check_declared(interfaces, field.name, field.kind)?;
    }
    let names: Vec<_> = fields.iter().map(|field| field.name).collect();
    interfaces.iter().map(|interface| one_by_name(interface, fields, &names)).collect()
}

/// Checks that at least one entry point declares an argument.
///
/// # Errors
/// [`Error::ExtraArgument`].
pub fn check_declared(interfaces: &[&Interface], name: &str, kind: ArgKind) -> Result<()> {
    if interfaces.iter().any(|interface| is_declared(interface, name)) {
        return Ok(());
    }
    let kernels: Vec<_> = interfaces.iter().map(|interface| &*interface.entry).collect();
    let mut known = Vec::new();
    for declared in interfaces.iter().flat_map(|interface| interface.argument_names()) {
        if !known.contains(&declared) {
            known.push(declared);
        }
    }
    Err(Error::ExtraArgument {
        kernel: kernels.join("`, `"),
        arg: name.into(),
        position: None,
        found: kind.to_string(),
        known: known.into_iter().collect(),
    })
}

fn one_by_name(interface: &Interface, fields: &[ArgField], names: &[&str]) -> Result<ArgumentSlots> {
    let slot = |&ArgField { name, kind }: &ArgField| match is_declared(interface, name) {
        true => check_argument(interface, name, kind),
        false => Ok(ArgumentSlot::Undeclared),
    };
    let slots = fields.iter().map(slot).collect::<Result<SmallVec<[ArgumentSlot; 8]>>>()?;
    check_complete(interface, names)?;
    Ok(plan_of(interface, slots))
}
