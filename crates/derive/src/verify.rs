//! The check at compile time: it makes the same comparison as a launch from a string, on the struct's tokens.

use fencepost_kernels::{
    DType, Interface, Module, ShaderSource, StructType, check_access, check_argument, check_complete,
};
use quote::ToTokens;
use syn::{Error, Ident, Result, Type};

use crate::attribute::{Alias, Attribute};
use crate::fields::{self, Field};
use crate::locate::Located;

/// Holds the result of the check.
pub(crate) struct Verified {
    pub(crate) entry: String,
    /// Holds the first interface; the others differ only in their aliased types.
    pub(crate) interface: Interface,
    /// Combines all errors of the fields.
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
        let entry = entry(attribute, located, &module)?;
        let interface = interface(attribute, &module, &entry)?;
        let errors = compare(owner, &choice, &interface, fields);
        let first = verified.get_or_insert(Verified { entry, interface, errors: None });
        first.errors = first.errors.take().or(errors);
    }
    verified.ok_or_else(|| Error::new(owner.span(), "bug: no combination of types to check"))
}

/// Holds one type for each alias.
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

    // Returns the element type of a field, with the types of this choice in the place of type parameters.
    fn dtype(&self, field: &Field) -> Option<DType> {
        let element = field.element()?;
        let chosen = self.0.iter().find(|(alias, ..)| fields::is_parameter(element, &alias.name));
        chosen.map(|(.., dtype)| *dtype).or_else(|| fields::dtype(element))
    }

    // Returns ` (with T = u32)`, which tells the messages of several types apart.
    fn suffix(&self) -> String {
        let list: Vec<_> =
            self.0.iter().map(|(alias, _, dtype)| format!("{} = {dtype}", alias.name)).collect();
        if list.is_empty() { String::new() } else { format!(" (with {})", list.join(", ")) }
    }
}

fn entry(attribute: &Attribute, located: &Located, module: &Module) -> Result<String> {
    if let Some(entry) = &attribute.entry {
        return Ok(entry.value());
    }
    let entries: Vec<_> = module.entries().collect();
    let stem = located.stem.as_deref().filter(|stem| entries.contains(stem));
    match (stem, &entries[..]) {
        (Some(entry), _) | (None, &[entry]) => Ok(entry.to_string()),
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

// Overrides without a default get their value when the kernel is made; the check uses 1 for each.
fn interface(attribute: &Attribute, module: &Module, entry: &str) -> Result<Interface> {
    let open: Vec<_> =
        module.overrides().into_iter().filter(|o| o.default.is_none()).map(|o| o.name).collect();
    let values: Vec<_> = open.iter().map(|name| (name.as_str(), 1.0)).collect();
    module.interface(entry, &values).map_err(|error| match (&attribute.entry, &error) {
        (Some(literal), fencepost_kernels::Error::UnknownEntry { .. }) => Error::new(literal.span(), error),
        _ => at_shader(attribute, &error),
    })
}

fn at_shader(attribute: &Attribute, error: &fencepost_kernels::Error) -> Error {
    Error::new(attribute.origin.literal().span(), error)
}

fn compare(owner: &Ident, choice: &Choice<'_>, interface: &Interface, fields: &[Field]) -> Option<Error> {
    let mut errors: Option<Error> = None;
    let mut add = |error: Error| match &mut errors {
        Some(all) => all.combine(error),
        None => errors = Some(error),
    };
    for field in fields {
        let checked = match choice.dtype(field) {
            Some(dtype) => check_argument(interface, &field.name, field.pass.kind(dtype)),
            None => check_access(interface, &field.name, field.pass.kind(unknown(field))),
        };
        if let Err(error) = checked {
            add(Error::new_spanned(field_tokens(field), format!("{error}{}", choice.suffix())));
        }
    }
    let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
    if let Err(error) = check_complete(interface, &names) {
        add(Error::new(owner.span(), format!("{error}{}", choice.suffix())));
    }
    errors
}

// Returns a placeholder for a type that the tokens do not show; a constant in the program compares the type. The type's
// name is for messages and lives as long as the compiler's run.
fn unknown(field: &Field) -> DType {
    let name = fields::spelled(field.element().unwrap_or(field.target()));
    DType::Struct(Box::leak(Box::new(StructType { name: name.leak(), size: 0, fields: &[] })))
}

fn field_tokens(field: &Field) -> impl ToTokens {
    let (ident, ty) = (&field.ident, &field.ty);
    quote::quote!(#ident: #ty)
}
