//! The check at compile time: the same comparison as for a kernel from a string, but on the struct's tokens.

use fencepost_kernels::{
    DType, Interface, Layout, Module, ShaderSource, StructType, check_access, check_argument, check_complete,
    check_declared,
};
use quote::ToTokens;
use syn::{Error, Ident, LitStr, Result, Type};

use crate::attribute::{Alias, Attribute, Entries};
use crate::fields::{self, Field, Pass};
use crate::locate::Located;

/// Result of the check.
pub(crate) struct Verified {
    /// Entry points in their order.
    pub(crate) entries: Vec<String>,
    /// Interface of each entry point, with the first type of each alias.
    pub(crate) interfaces: Vec<Interface>,
    /// All errors of the fields, combined.
    pub(crate) errors: Option<Error>,
}

/// Checks the struct against the shader, once for every combination of aliased types.
pub(crate) fn verify(
    owner: &Ident,
    attribute: &Attribute,
    located: &Located,
    fields: &[Field],
) -> Result<Verified> {
    let mut verified: Option<Verified> = None;
    for choice in choices(&attribute.aliases)? {
        let module = Module::parse(&choice.apply(&located.source, attribute)?)
            .map_err(|error| at_shader(attribute, &error))?;
        let entries = entries(attribute, located, &module)?;
        let interfaces = interfaces(attribute, &module, &entries)?;
        let errors = compare(owner, &choice, &interfaces, fields);
        let first = verified.get_or_insert(Verified { entries, interfaces, errors: None });
        first.errors = first.errors.take().or(errors);
    }
    verified.ok_or_else(|| Error::new(owner.span(), "bug: no combination of types to check"))
}

/// One type for each alias.
#[derive(Clone, Default)]
struct Choice<'a>(Vec<(&'a Alias, &'a Type, DType)>);

fn choices(aliases: &[Alias]) -> Result<Vec<Choice<'_>>> {
    let mut choices = vec![Choice::default()];
    for alias in aliases {
        let mut longer = Vec::new();
        for ty in &alias.types {
            let dtype = fields::dtype(ty).ok_or_else(|| {
                Error::new_spanned(
                    ty,
                    "expected a type that WGSL has too: f32, i32, u32, f64, i64, u64, f16, or [T; 2], [T; 3], [T; 4]",
                )
            })?;
            for Choice(shorter) in &choices {
                let mut choice = shorter.clone();
                choice.push((alias, ty, dtype));
                longer.push(Choice(choice));
            }
        }
        choices = longer;
    }
    Ok(choices)
}

impl Choice<'_> {
    fn apply(&self, source: &ShaderSource, attribute: &Attribute) -> Result<ShaderSource> {
        let mut source = source.clone();
        for (alias, _, dtype) in &self.0 {
            source = source
                .with_type(&alias.name.to_string(), *dtype)
                .map_err(|error| at_shader(attribute, &error))?;
        }
        Ok(source)
    }

    // Returns the element type of a field, with type parameters replaced by the types of this choice.
    fn dtype(&self, field: &Field) -> Option<DType> {
        let element = field.element()?;
        let chosen = self.0.iter().find(|(alias, ..)| fields::is_parameter(element, &alias.name));
        chosen.map(|(.., dtype)| *dtype).or_else(|| fields::dtype(element))
    }

    // Returns ` (with T = u32)`, to distinguish the messages of several types.
    fn suffix(&self) -> String {
        let list: Vec<_> =
            self.0.iter().map(|(alias, _, dtype)| format!("{} = {dtype}", alias.name)).collect();
        if list.is_empty() { String::new() } else { format!(" (with {})", list.join(", ")) }
    }
}

impl Verified {
    /// Returns the layout of the argument of that name, and the entry point that declares the argument.
    pub(crate) fn layout_of(&self, name: &str) -> (&str, Option<&Layout<'static>>) {
        let declares = |interface: &&Interface| interface.argument_names().any(|known| known == name);
        match self.interfaces.iter().find(declares) {
            Some(interface) => (&interface.entry, interface.layout_of(name)),
            None => (&self.entries[0], None),
        }
    }
}

fn entries(attribute: &Attribute, located: &Located, module: &Module) -> Result<Vec<String>> {
    match &attribute.entries {
        Entries::One(entry) => return Ok(vec![entry.value()]),
        Entries::Several(entries) => return Ok(entries.iter().map(LitStr::value).collect()),
        Entries::Default => {}
    }
    let entries: Vec<_> = module.entries().collect();
    let stem = located.stem.as_deref().filter(|stem| entries.contains(stem));
    match (stem, &entries[..]) {
        (Some(entry), _) | (None, &[entry]) => Ok(vec![entry.to_string()]),
        (None, []) => Err(Error::new(
            attribute.origin.literal().span(),
            "the shader has no compute entry point: mark a function with `@compute @workgroup_size(64)`",
        )),
        (None, several) => {
            let names: Vec<_> = several.iter().map(|name| format!("`entry = \"{name}\"`")).collect();
            let message = format!("the shader has several compute entry points: say {}", names.join(" or "));
            Err(Error::new(attribute.origin.literal().span(), message))
        }
    }
}

fn interfaces(attribute: &Attribute, module: &Module, entries: &[String]) -> Result<Vec<Interface>> {
    let literal = |at: usize| match &attribute.entries {
        Entries::Default => None,
        Entries::One(entry) => Some(entry),
        Entries::Several(entries) => entries.get(at),
    };
    entries.iter().enumerate().map(|(at, entry)| interface(attribute, module, entry, literal(at))).collect()
}

// Arguments do not depend on overrides, which get their values when the kernel is made.
fn interface(
    attribute: &Attribute,
    module: &Module,
    entry: &str,
    literal: Option<&LitStr>,
) -> Result<Interface> {
    module.arguments(entry).map_err(|error| match (literal, &error) {
        (Some(literal), fencepost_kernels::Error::UnknownEntry { .. }) => Error::new(literal.span(), error),
        _ => at_shader(attribute, &error),
    })
}

fn at_shader(attribute: &Attribute, error: &fencepost_kernels::Error) -> Error {
    Error::new(attribute.origin.literal().span(), error)
}

fn compare(owner: &Ident, choice: &Choice<'_>, interfaces: &[Interface], fields: &[Field]) -> Option<Error> {
    let mut errors: Option<Error> = None;
    let mut add = |error: Error| match &mut errors {
        Some(all) => all.combine(error),
        None => errors = Some(error),
    };
    for field in fields {
        if let Err(error) = compare_field(choice, interfaces, field) {
            add(Error::new_spanned(field_tokens(field), message(field, &error) + &choice.suffix()));
        }
    }
    let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
    if let Err(error) = interfaces.iter().try_for_each(|interface| check_complete(interface, &names)) {
        add(Error::new(owner.span(), format!("{error}{}", choice.suffix())));
    }
    errors
}

// Describes a mistake of a field or of the returned value, which the host does not pass.
fn message(field: &Field, error: &fencepost_kernels::Error) -> String {
    use fencepost_kernels::Error as KernelError;
    let ty = fields::spelled(&field.ty);
    match error {
        _ if field.pass != Pass::Returned => error.to_string(),
        KernelError::ExtraArgument { kernel, arg, known, .. } => format!(
            "kernel `{kernel}` returns `{arg}`, and uses no such variable of the shader; it has {known}: declare \
             `var<storage, read_write> {arg}: {ty}` in the shader and write the value to it, or correct the name"
        ),
        KernelError::Signature { kernel, arg, declared, why, .. } => {
            format!("kernel `{kernel}` returns `{arg}: {ty}`, the shader declares {declared}{why}")
        }
        _ => error.to_string(),
    }
}

// Compares a field with each entry point that declares it. At least one must.
fn compare_field(
    choice: &Choice<'_>,
    interfaces: &[Interface],
    field: &Field,
) -> fencepost_kernels::Result<()> {
    let name = &field.name;
    let dtype = choice.dtype(field);
    let kind = field.pass.kind(dtype.unwrap_or_else(|| unknown(field)));
    check_declared(&interfaces.iter().collect::<Vec<_>>(), name, kind)?;
    let check = if dtype.is_some() { check_argument } else { check_access };
    let declares = |interface: &&Interface| interface.argument_names().any(|known| known == name);
    interfaces.iter().filter(declares).try_for_each(|interface| check(interface, name, kind).map(drop))
}

// Returns a placeholder for a type that the tokens do not show; a generated constant then compares the type. The type's
// name is used in messages, and is leaked.
fn unknown(field: &Field) -> DType {
    let name = fields::spelled(field.element().unwrap_or(field.target()));
    DType::Struct(Box::leak(Box::new(StructType { name: name.leak(), size: 0, fields: &[] })))
}

fn field_tokens(field: &Field) -> impl ToTokens {
    let ident = &field.ident;
    let ty = &field.ty;
    quote::quote!(#ident: #ty)
}
