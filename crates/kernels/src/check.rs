//! Compares the arguments that the host passes with the shader's declarations.

use smallvec::SmallVec;

use crate::interface::Argument;
use crate::{Access, ArgField, ArgKind, DType, Error, Interface, Layout, NamedArg, Result, Text, agree};

/// Slot of each argument of a launch, in the host's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentSlots {
    slots: SmallVec<[ArgumentSlot; 8]>,
    params_size: u32,
}

impl ArgumentSlots {
    /// Returns one slot for each argument.
    #[inline]
    pub fn slots(&self) -> &[ArgumentSlot] {
        &self.slots
    }

    /// Returns the number of bytes of the uniform block; 0 without one.
    #[inline]
    pub fn params_size(&self) -> u32 {
        self.params_size
    }
}

/// Slot of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArgumentSlot {
    /// Position in [`Interface::bindings`].
    Buffer(usize),
    /// Range of the uniform block.
    Value {
        /// Number of bytes from the block's start.
        offset: u32,
        /// Size of the value in bytes.
        size: u32,
    },
    /// Argument that only another entry point of the same launch declares.
    Undeclared,
}

/// Checks a struct's fields against an entry point, by name.
///
/// # Errors
/// [`Error::Signature`], [`Error::ExtraArgument`], [`Error::MissingArgument`], [`Error::DuplicateArgument`].
///
/// # Example
/// ```
/// use fencepost_kernels::{check, ArgField, ArgKind, Element, Module, ShaderSource};
/// let saxpy = Module::parse(&ShaderSource::builtin("saxpy.wgsl")?)?.interface("saxpy", &[])?;
/// let fields = [
///     ArgField { name: "a", kind: ArgKind::Value(f32::DTYPE) },
///     ArgField { name: "x", kind: ArgKind::ReadWrite(f32::DTYPE) },
///     ArgField { name: "y", kind: ArgKind::ReadWrite(f32::DTYPE) },
/// ];
/// assert_eq!(
///     check(&saxpy, &fields).unwrap_err().to_string(),
///     "kernel `saxpy`, argument `x`: host passes `&mut` to an array of f32, \
///      the shader declares `var<storage, read> x: array<f32>`",
/// );
/// # Ok::<(), fencepost_kernels::Error>(())
/// ```
pub fn check(interface: &Interface, fields: &[ArgField]) -> Result<ArgumentSlots> {
    by_name(interface, fields.iter().map(|field| (field.name, field.kind)))
}

/// Checks a list made by [`args!`](crate::args!) against an entry point, by name or by position.
///
/// # Errors
/// Fails as [`check`] does, and with [`Error::MixedArguments`] if only some arguments have names.
pub fn check_dyn(interface: &Interface, args: &[NamedArg<'_>]) -> Result<ArgumentSlots> {
    let named = args.iter().filter(|(name, _)| name.is_some()).count();
    if named == args.len() {
        by_name(interface, args.iter().map(|(name, arg)| (name.as_deref().unwrap_or_default(), arg.kind())))
    } else if named == 0 {
        by_position(interface, args)
    } else {
        Err(Error::MixedArguments { kernel: interface.entry.clone() })
    }
}

/// Checks one argument by name: its existence, its type and its access.
///
/// # Errors
/// [`Error::ExtraArgument`], [`Error::Signature`].
pub fn check_argument(interface: &Interface, name: &str, kind: ArgKind) -> Result<ArgumentSlot> {
    match find(interface, name) {
        Some(argument) => check_one(interface, argument, kind, None),
        None => Err(extra(interface, name, None, kind)),
    }
}

/// Checks one argument as [`check_argument`] does, without its type.
///
/// # Errors
/// [`Error::ExtraArgument`], [`Error::Signature`].
pub fn check_access(interface: &Interface, name: &str, kind: ArgKind) -> Result<ArgumentSlot> {
    match find(interface, name) {
        Some(argument) => {
            place(interface, argument, kind).ok_or_else(|| signature(interface, argument, kind, None, None))
        }
        None => Err(extra(interface, name, None, kind)),
    }
}

/// Checks that every argument of the shader is named once.
///
/// # Errors
/// [`Error::MissingArgument`], [`Error::DuplicateArgument`].
pub fn check_complete(interface: &Interface, names: &[&str]) -> Result<()> {
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            return Err(Error::DuplicateArgument { kernel: interface.entry.clone(), arg: (*name).into() });
        }
    }
    let not_named = |argument: &Argument| !names.contains(&argument_name(interface, *argument));
    match interface.arguments().find(not_named) {
        Some(argument) => Err(missing(interface, argument)),
        None => Ok(()),
    }
}

fn by_name<'a>(
    interface: &Interface,
    args: impl Iterator<Item = (&'a str, ArgKind)>,
) -> Result<ArgumentSlots> {
    let mut names: SmallVec<[&str; 8]> = SmallVec::new();
    let mut slots = SmallVec::new();
    for (name, kind) in args {
        slots.push(check_argument(interface, name, kind)?);
        names.push(name);
    }
    check_complete(interface, &names)?;
    Ok(plan_of(interface, slots))
}

fn by_position(interface: &Interface, args: &[NamedArg<'_>]) -> Result<ArgumentSlots> {
    let mut declared = interface.arguments();
    let mut slots = SmallVec::new();
    for (position, (_, arg)) in args.iter().enumerate() {
        let Some(argument) = declared.next() else {
            return Err(extra(interface, "", Some(position as u32), arg.kind()));
        };
        slots.push(check_one(interface, argument, arg.kind(), Some(position as u32))?);
    }
    match declared.next() {
        Some(argument) => Err(missing(interface, argument)),
        None => Ok(plan_of(interface, slots)),
    }
}

/// Returns the plan of an entry point with these slots.
pub(crate) fn plan_of(interface: &Interface, slots: SmallVec<[ArgumentSlot; 8]>) -> ArgumentSlots {
    ArgumentSlots { slots, params_size: interface.params.as_ref().map_or(0, |params| params.size) }
}

fn check_one(
    interface: &Interface,
    argument: Argument,
    kind: ArgKind,
    position: Option<u32>,
) -> Result<ArgumentSlot> {
    let refused = |why| signature(interface, argument, kind, position, why);
    let slot = place(interface, argument, kind).ok_or_else(|| refused(None))?;
    match argument {
        Argument::Buffer(at) => {
            agree(agree::buffer_mismatch, kind.dtype(), interface.bindings[at].layout.as_ref())
                .map_err(refused)?;
        }
        Argument::Value(at) => {
            agree(agree::value_mismatch, kind.dtype(), interface.fields()[at].layout.as_ref())
                .map_err(refused)?;
        }
    }
    Ok(slot)
}

/// Returns the argument's slot if it matches the shader's declaration; types are not compared.
fn place(interface: &Interface, argument: Argument, kind: ArgKind) -> Option<ArgumentSlot> {
    match argument {
        Argument::Buffer(at) => match (kind, interface.bindings[at].declared) {
            (ArgKind::Read(_), Access::Read) | (ArgKind::ReadWrite(_), Access::ReadWrite) => {
                Some(ArgumentSlot::Buffer(at))
            }
            _ => None,
        },
        Argument::Value(at) => {
            let field = &interface.fields()[at];
            let slot = ArgumentSlot::Value { offset: field.offset, size: field.size };
            matches!(kind, ArgKind::Value(_)).then_some(slot)
        }
    }
}

fn signature(
    interface: &Interface,
    argument: Argument,
    kind: ArgKind,
    position: Option<u32>,
    why: Option<String>,
) -> Error {
    Error::Signature {
        kernel: interface.entry.clone(),
        arg: argument_name(interface, argument).into(),
        position,
        found: kind.to_string(),
        declared: declaration(interface, argument),
        why: why.map_or_else(String::new, |why| format!(": {why}")).into(),
    }
}

/// Compares the types; `Err` has a reason only if the types' names do not show the difference.
fn agree(
    misfit: fn(&DType, Option<&Layout<'_>>) -> Option<Text>,
    dtype: DType,
    declared: Option<&Layout<'_>>,
) -> std::result::Result<(), Option<String>> {
    let plain = dtype.scalar().is_some() && declared.is_some_and(Layout::is_one_number);
    match misfit(&dtype, declared) {
        None => Ok(()),
        Some(_) if plain => Err(None),
        Some(why) => Err(Some(why.as_str().into())),
    }
}

fn find(interface: &Interface, name: &str) -> Option<Argument> {
    interface.arguments().find(|argument| argument_name(interface, *argument) == name)
}

fn argument_name(interface: &Interface, argument: Argument) -> &str {
    match argument {
        Argument::Buffer(at) => &interface.bindings[at].name,
        Argument::Value(at) => &interface.fields()[at].name,
    }
}

fn declaration(interface: &Interface, argument: Argument) -> String {
    match argument {
        Argument::Buffer(at) => interface.bindings[at].declaration(),
        Argument::Value(at) => interface.fields()[at].declaration(),
    }
}

fn missing(interface: &Interface, argument: Argument) -> Error {
    Error::MissingArgument {
        kernel: interface.entry.clone(),
        arg: argument_name(interface, argument).into(),
        declared: declaration(interface, argument),
    }
}

/// Returns `true` if the entry point declares an argument of that name.
pub(crate) fn is_declared(interface: &Interface, name: &str) -> bool {
    find(interface, name).is_some()
}

fn extra(interface: &Interface, name: &str, position: Option<u32>, kind: ArgKind) -> Error {
    Error::ExtraArgument {
        kernel: interface.entry.clone(),
        arg: name.into(),
        position,
        found: kind.to_string(),
        known: interface.argument_names().collect(),
    }
}
