//! Reads `#[kernel(...)]`.

use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{DeriveInput, Error, Ident, LitStr, Path, Result, Token, Type};

/// Names the origin of the WGSL.
pub(crate) enum Origin {
    File(LitStr),
    Text(LitStr),
}

impl Origin {
    /// Returns the literal of the attribute; errors about the shader point at it.
    pub(crate) fn literal(&self) -> &LitStr {
        match self {
            Self::File(literal) | Self::Text(literal) => literal,
        }
    }
}

/// Holds the types that a shader's `alias` takes.
pub(crate) struct Alias {
    pub(crate) name: Ident,
    pub(crate) types: Vec<Type>,
}

/// Holds the whole attribute.
pub(crate) struct Attribute {
    pub(crate) origin: Origin,
    pub(crate) entry: Option<LitStr>,
    pub(crate) aliases: Vec<Alias>,
    /// Holds the name for the compiled kernel's type.
    pub(crate) handle: Option<Ident>,
    pub(crate) krate: Path,
}

impl Attribute {
    /// Reads the attributes of a struct.
    pub(crate) fn read(input: &DeriveInput) -> Result<Self> {
        let mut draft = Draft::default();
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("kernel")) {
            attribute.parse_nested_meta(|meta| draft.key(&meta))?;
        }
        let origin = match (draft.source, draft.wgsl) {
            (Some(source), None) => Origin::File(source),
            (None, Some(wgsl)) => Origin::Text(wgsl),
            (Some(_), Some(wgsl)) => {
                return Err(Error::new(wgsl.span(), "give `source` or `wgsl`, not both"));
            }
            (None, None) => return Err(Error::new(input.ident.span(), NO_SHADER)),
        };
        let krate = draft.krate.unwrap_or_else(|| syn::parse_quote!(::fencepost));
        Ok(Self { origin, entry: draft.entry, aliases: draft.aliases, handle: draft.handle, krate })
    }
}

const NO_SHADER: &str = "kernel arguments need their shader: add `#[kernel(source = \"name.wgsl\")]`";

#[derive(Default)]
struct Draft {
    source: Option<LitStr>,
    wgsl: Option<LitStr>,
    entry: Option<LitStr>,
    handle: Option<Ident>,
    krate: Option<Path>,
    aliases: Vec<Alias>,
}

impl Draft {
    fn key(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let name = meta.path.require_ident()?;
        match name.to_string().as_str() {
            "source" => once(&mut self.source, meta),
            "wgsl" => once(&mut self.wgsl, meta),
            "entry" => once(&mut self.entry, meta),
            "handle" => once(&mut self.handle, meta),
            "crate" => once(&mut self.krate, meta),
            text if text.starts_with(char::is_uppercase) => {
                let Types(types) = meta.value()?.parse()?;
                self.aliases.push(Alias { name: name.clone(), types });
                Ok(())
            }
            _ => Err(meta.error(
                "expected `source`, `wgsl`, `entry`, `handle`, `crate`, or an alias such as `T = [f32, u32]`",
            )),
        }
    }
}

fn once<V: Parse>(slot: &mut Option<V>, meta: &ParseNestedMeta<'_>) -> Result<()> {
    if slot.is_some() {
        return Err(Error::new(meta.path.span(), "given twice"));
    }
    *slot = Some(meta.value()?.parse()?);
    Ok(())
}

// `[A, B]` is a list of types; any other form is one type. A type such as `[f32; 4]` starts with a bracket too.
struct Types(Vec<Type>);

impl Parse for Types {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.peek(syn::token::Bracket) && input.fork().parse::<syn::TypeArray>().is_err() {
            let list;
            syn::bracketed!(list in input);
            let types = Punctuated::<Type, Token![,]>::parse_terminated(&list)?;
            if types.is_empty() {
                return Err(list.error("expected at least one type"));
            }
            return Ok(Self(types.into_iter().collect()));
        }
        Ok(Self(vec![input.parse()?]))
    }
}
