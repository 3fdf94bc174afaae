//! Reads `#[kernel(...)]`.

use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{DeriveInput, Error, Ident, LitStr, Path, Result, Token, Type};

/// Origin of the WGSL.
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

/// Types for a shader's `alias`.
pub(crate) struct Alias {
    pub(crate) name: Ident,
    pub(crate) types: Vec<Type>,
}

/// Entry points that a launch runs.
pub(crate) enum Entries {
    /// The shader has only one entry point, or one with the name of its file.
    Default,
    One(LitStr),
    /// One launch runs them in this order. There are at least two.
    Several(Vec<LitStr>),
}

/// Value that the kernel returns: its variable in the shader, and its type.
pub(crate) struct Returned {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
}

/// The whole attribute.
pub(crate) struct Attribute {
    pub(crate) origin: Origin,
    pub(crate) entries: Entries,
    pub(crate) aliases: Vec<Alias>,
    pub(crate) returned: Option<Returned>,
    /// Name for the compiled kernel's type.
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
        let Draft { aliases, returned, handle, .. } = draft;
        let entries = match (draft.entry, draft.entries) {
            (None, None) => Entries::Default,
            (Some(entry), None) => Entries::One(entry),
            (None, Some(entries)) => match &returned {
                None => Entries::Several(entries),
                Some(Returned { name, .. }) => return Err(Error::new(name.span(), SEVERAL_RETURN)),
            },
            (Some(entry), Some(_)) => {
                return Err(Error::new(entry.span(), "give `entry` or `entries`, not both"));
            }
        };
        Ok(Self { origin, entries, aliases, returned, handle, krate })
    }
}

const SEVERAL_RETURN: &str = "a kernel with several entry points returns no value: write the value to an array, which is a \
                              field, and read the array after `launch_all`";
const NO_SHADER: &str = "kernel arguments need their shader: add `#[kernel(source = \"name.wgsl\")]`";

#[derive(Default)]
struct Draft {
    source: Option<LitStr>,
    wgsl: Option<LitStr>,
    entry: Option<LitStr>,
    entries: Option<Vec<LitStr>>,
    handle: Option<Ident>,
    krate: Option<Path>,
    returned: Option<Returned>,
    aliases: Vec<Alias>,
}

impl Draft {
    fn key(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let name = meta.path.require_ident()?;
        match name.to_string().as_str() {
            "source" => once(&mut self.source, meta),
            "wgsl" => once(&mut self.wgsl, meta),
            "entry" => once(&mut self.entry, meta),
            "entries" => entries(&mut self.entries, meta),
            "handle" => once(&mut self.handle, meta),
            "crate" => once(&mut self.krate, meta),
            "returns" => returns(&mut self.returned, meta),
            text if text.starts_with(char::is_uppercase) => {
                let Types(types) = meta.value()?.parse()?;
                self.aliases.push(Alias { name: name.clone(), types });
                Ok(())
            }
            _ => Err(meta.error(
                "expected `source`, `wgsl`, `entry`, `entries`, `returns`, `handle`, `crate`, or an alias such as `T = [f32, u32]`",
            )),
        }
    }
}

/// Reads `entries("first", "second")`.
fn entries(slot: &mut Option<Vec<LitStr>>, meta: &ParseNestedMeta<'_>) -> Result<()> {
    refuse_second(slot, meta)?;
    let list;
    syn::parenthesized!(list in meta.input);
    let names: Vec<LitStr> = Punctuated::<_, Token![,]>::parse_terminated(&list)?.into_iter().collect();
    if names.len() < 2 {
        return Err(Error::new(
            meta.path.span(),
            "list at least two entry points; `entry = \"name\"` selects one",
        ));
    }
    *slot = Some(names);
    Ok(())
}

/// Reads `returns(name: Type)`.
fn returns(slot: &mut Option<Returned>, meta: &ParseNestedMeta<'_>) -> Result<()> {
    refuse_second(slot, meta)?;
    let named;
    syn::parenthesized!(named in meta.input);
    let name = named.call(Ident::parse_any)?;
    named.parse::<Token![:]>()?;
    let ty = named.parse()?;
    if !named.is_empty() {
        return Err(named
            .error("a kernel returns one value: a struct with `#[derive(Element)]` holds several numbers"));
    }
    *slot = Some(Returned { name, ty });
    Ok(())
}

fn refuse_second<V>(slot: &Option<V>, meta: &ParseNestedMeta<'_>) -> Result<()> {
    if slot.is_some() { Err(Error::new(meta.path.span(), "given twice")) } else { Ok(()) }
}

fn once<V: Parse>(slot: &mut Option<V>, meta: &ParseNestedMeta<'_>) -> Result<()> {
    refuse_second(slot, meta)?;
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
