//! Compares one list of arguments with several entry points of a module.

use crate::check::{is_declared, plan_of};
use crate::{ArgField, ArgKind, ArgumentSlot, Error, Interface, NamedArg, Plan, Result};
use crate::{check_argument, check_complete, check_dyn};
use smallvec::SmallVec;

/// Checks a struct's fields against several entry points, by name. Each entry point uses the arguments that it
/// declares. The plan of an entry point has [`ArgumentSlot::Undeclared`] for the other arguments.
///
/// # Errors
/// Fails as [`check`](crate::check) does. An argument that no entry point declares is [`Error::ExtraArgument`].
pub fn check_each(interfaces: &[&Interface], fields: &[ArgField]) -> Result<Vec<Plan>> {
    let args: Vec<_> = fields.iter().map(|field| (field.name, field.kind)).collect();
    each_by_name(interfaces, &args)
}

/// Checks a list made by [`args!`](crate::args!) against several entry points, as [`check_each`] does. A list for one
/// entry point may be without names.
///
/// # Errors
/// Fails as [`check_each`] does, and with [`Error::UnnamedArgument`] if an argument for several entry points has no name.
pub fn check_dyn_each(interfaces: &[&Interface], args: &[NamedArg<'_>]) -> Result<Vec<Plan>> {
    if let [interface] = interfaces {
        return Ok(vec![check_dyn(interface, args)?]);
    }
    let mut named = Vec::with_capacity(args.len());
    for (position, (name, arg)) in args.iter().enumerate() {
        let Some(name) = name.as_deref() else {
            let kernels = interfaces.iter().map(|interface| interface.entry.clone()).collect();
            return Err(Error::UnnamedArgument { kernels, position: position as u32 });
        };
        named.push((name, arg.kind()));
    }
    each_by_name(interfaces, &named)
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

fn each_by_name(interfaces: &[&Interface], args: &[(&str, ArgKind)]) -> Result<Vec<Plan>> {
    for &(name, kind) in args {
        check_declared(interfaces, name, kind)?;
    }
    let names: Vec<_> = args.iter().map(|&(name, _)| name).collect();
    interfaces.iter().map(|interface| one_by_name(interface, args, &names)).collect()
}

fn one_by_name(interface: &Interface, args: &[(&str, ArgKind)], names: &[&str]) -> Result<Plan> {
    let slot = |&(name, kind): &(&str, ArgKind)| match is_declared(interface, name) {
        true => check_argument(interface, name, kind),
        false => Ok(ArgumentSlot::Undeclared),
    };
    let slots = args.iter().map(slot).collect::<Result<SmallVec<[ArgumentSlot; 8]>>>()?;
    check_complete(interface, names)?;
    Ok(plan_of(interface, slots))
}
