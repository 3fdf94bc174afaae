//! Generates the implementation of `KernelArgs`.

use fencepost_kernels::{Dim, Layout};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::visit_mut::{self, VisitMut};
use syn::{DeriveInput, Error, GenericParam, Generics, Ident, Lifetime, Result, Type, WherePredicate};

use crate::attribute::{Alias, Attribute, Entries};
use crate::fields::{self, Field, Pass};
use crate::locate::locate;
use crate::verify::{Verified, verify};

/// Returns the whole expansion: the implementation, and the errors of the check.
pub(crate) fn kernel_args(input: &DeriveInput) -> Result<TokenStream> {
    let attribute = Attribute::read(input)?;
    let fields = fields::with_returned(input, attribute.returned.as_ref())?;
    require_lists(input, &attribute, &fields)?;
    if let Some(error) = fields::no_arguments(&fields) {
        let others: Vec<_> = fields.into_iter().filter(Field::is_argument).collect();
        return Ok(broken(input, &attribute, &others, &error));
    }
    let located = match locate(&attribute.origin, &input.ident) {
        Ok(located) => located,
        Err(error) => return Ok(broken(input, &attribute, &fields, &error)),
    };
    let verified = match verify(&input.ident, &attribute, &located, &fields) {
        Ok(verified) => verified,
        Err(error) => return Ok(broken(input, &attribute, &fields, &error)),
    };
    let implementation = implementation(input, &attribute, &located.expression, &verified.entries, &fields);
    let errors = verified.errors.as_ref().map(Error::to_compile_error);
    let assertions = errors.is_none().then(|| assertions(input, &verified, &fields));
    Ok(whole(input, &attribute, &quote!(#implementation #assertions), errors.as_ref()))
}

// Returns the error together with an implementation, because otherwise every use of the struct would be another error.
fn broken(input: &DeriveInput, attribute: &Attribute, fields: &[Field], error: &Error) -> TokenStream {
    let source = quote!((|| -> __k::Result<__k::ShaderSource> { ::core::unreachable!() })());
    let implementation = implementation(input, attribute, &source, &named(attribute), fields);
    whole(input, attribute, &implementation, Some(&error.to_compile_error()))
}

// Returns the entry points of the attribute, for an implementation that is never executed.
fn named(attribute: &Attribute) -> Vec<String> {
    match &attribute.entries {
        Entries::Several(entries) => entries.iter().map(syn::LitStr::value).collect(),
        Entries::Default | Entries::One(_) => vec![String::new()],
    }
}

fn whole(
    input: &DeriveInput,
    attribute: &Attribute,
    items: &TokenStream,
    errors: Option<&TokenStream>,
) -> TokenStream {
    let krate = &attribute.krate;
    let handle = attribute.handle.as_ref().map(|name| handle(input, krate, name));
    quote! {
        #errors
        #handle
        const _: () = {
            use #krate::__private as __k;
            #items
        };
    }
}

// Returns the type alias under which a program stores a compiled kernel; it has no lifetime.
fn handle(input: &DeriveInput, krate: &syn::Path, name: &syn::Ident) -> TokenStream {
    let owner = &input.ident;
    let vis = &input.vis;
    let family = static_arguments(&input.generics);
    let types: Vec<_> = input.generics.type_params().map(|parameter| &parameter.ident).collect();
    let parameters = (!types.is_empty()).then(|| quote!(<#(#types),*>));
    let doc = format!("A compiled [`{owner}`].");
    quote! {
        #[doc = #doc]
        #vis type #name #parameters = #krate::Kernel<#owner #family>;
    }
}

// Checks that a type parameter is listed if it is an element type: the shader is compiled for each listed type.
fn require_lists(input: &DeriveInput, attribute: &Attribute, fields: &[Field]) -> Result<()> {
    for parameter in input.generics.type_params() {
        let name = &parameter.ident;
        let listed = attribute.aliases.iter().any(|alias| alias.name == *name);
        let is_element = |field: &&Field| field.element().is_some_and(|ty| fields::is_parameter(ty, name));
        if let Some(field) = fields.iter().find(is_element).filter(|_| !listed) {
            let message = format!("list the types of `{name}`: `#[kernel(..., {name} = [f32, u32])]`");
            return Err(Error::new_spanned(&field.ty, message));
        }
    }
    for alias in attribute.aliases.iter().filter(|alias| !is_generic(input, alias)) {
        if let [_, second, ..] = &alias.types[..] {
            let message = format!(
                "`{}` has no type parameter `{}`, so it can have one type only",
                input.ident, alias.name
            );
            return Err(Error::new_spanned(second, message));
        }
    }
    Ok(())
}

fn is_generic(input: &DeriveInput, alias: &Alias) -> bool {
    input.generics.type_params().any(|parameter| parameter.ident == alias.name)
}

fn implementation(
    input: &DeriveInput,
    attribute: &Attribute,
    expression: &TokenStream,
    entries: &[String],
    fields: &[Field],
) -> TokenStream {
    let entry = &entries[0];
    let next = &entries[1..];
    let owner = &input.ident;
    let label = owner.to_string();
    let generic: Vec<_> = attribute.aliases.iter().filter(|alias| is_generic(input, alias)).collect();
    let families = families(input, &generic);
    let generics = with_family_bound(input, &generic);
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let family = static_arguments(&input.generics);
    let source = source(input, attribute, expression);
    let described = fields.iter().map(describe);
    let bound = fields.iter().map(bind);
    let returned = fields.iter().find(|field| field.pass == Pass::Returned).map(|field| &field.ty);
    let returns = returned.map(|_| {
        quote!(
            const RETURNS: bool = true;
        )
    });
    let next = (!next.is_empty()).then(|| quote!(const NEXT: &'static [&'static str] = &[#(#next),*];));
    let others = special_traits(entries.len(), returned).into_iter().map(|(name, items)| {
        quote! {
            #[automatically_derived]
            impl #impl_generics __k::#name for #owner #type_generics #where_clause { #items }
        }
    });
    quote! {
        #(#families)*
        #[automatically_derived]
        impl #impl_generics __k::KernelArgs for #owner #type_generics #where_clause {
            type Family = #owner #family;
            #returns
            #next
            fn label() -> &'static str {
                #label
            }
            fn source() -> __k::Result<__k::ShaderSource> {
                #source
            }
            fn entry() -> &'static str {
                #entry
            }
            fn fields() -> __k::Vec<__k::ArgField> {
                __k::Vec::from([#(#described),*])
            }
            fn bind<__B: __k::Binder + ?::core::marker::Sized>(&self, __binder: &mut __B) {
                #(#bound)*
                let _ = __binder;
            }
        }
        #(#others)*
    }
}

// Returns the trait items that only some kernels need: those that return a value, and those with several entry points.
fn special_traits(entries: usize, returned: Option<&Type>) -> Vec<(syn::Ident, TokenStream)> {
    let returns = returned.map(|ty| (format_ident!("Returns"), quote!(type Value = #ty;)));
    let several =
        (entries > 1).then(|| (format_ident!("EntryPoints"), quote!(type Each<__X> = [__X; #entries];)));
    returns.into_iter().chain(several).collect()
}

fn source(input: &DeriveInput, attribute: &Attribute, expression: &TokenStream) -> TokenStream {
    let types = attribute.aliases.iter().map(|alias| {
        let name = alias.name.to_string();
        let parameter = &alias.name;
        let ty = match &alias.types[..] {
            [only] if !is_generic(input, alias) => quote!(#only),
            _ => quote!(#parameter),
        };
        quote!(.and_then(|source| source.with_type(#name, __k::dtype_of_value::<#ty>())))
    });
    quote!(#expression #(#types)*)
}

/// Types for the type parameters that the attribute lists.
type ChosenTypes<'a> = Vec<(&'a Ident, &'a Type)>;

// Returns an implementation of `KernelFamily` for every combination of the listed types. With one implementation for
// all types that have a generated trait, the compiler would suggest that trait as a bound, which programs cannot name.
fn families(input: &DeriveInput, aliases: &[&Alias]) -> Vec<TokenStream> {
    if aliases.is_empty() {
        return Vec::new();
    }
    combinations(aliases).iter().map(|chosen| family(input, chosen)).collect()
}

fn combinations<'a>(aliases: &[&'a Alias]) -> Vec<ChosenTypes<'a>> {
    let mut all = vec![ChosenTypes::new()];
    for alias in aliases {
        let mut longer = Vec::new();
        for shorter in &all {
            for ty in &alias.types {
                let mut chosen = shorter.clone();
                chosen.push((&alias.name, ty));
                longer.push(chosen);
            }
        }
        all = longer;
    }
    all
}

fn family(input: &DeriveInput, chosen: &[(&Ident, &Type)]) -> TokenStream {
    let owner = &input.ident;
    let type_of = |name: &Ident| chosen.iter().find(|(known, _)| *known == name).map(|(_, ty)| *ty);
    let arguments = input.generics.params.iter().map(|parameter| match parameter {
        GenericParam::Lifetime(_) => quote!('static),
        GenericParam::Type(parameter) => match type_of(&parameter.ident) {
            Some(ty) => quote!(#ty),
            None => parameter.ident.to_token_stream(),
        },
        GenericParam::Const(parameter) => parameter.ident.to_token_stream(),
    });
    let generics = other_generics(&input.generics, chosen);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics __k::KernelFamily for #owner<#(#arguments),*> #where_clause {}
    }
}

// Returns the type and const parameters that have no chosen type, with their bounds.
fn other_generics(generics: &Generics, chosen: &[(&Ident, &Type)]) -> Generics {
    let lifetimes = generics.lifetimes().map(|parameter| parameter.lifetime.ident.clone()).collect();
    let is_chosen = |name: &Ident| chosen.iter().any(|(known, _)| *known == name);
    let mut others = generics.clone();
    others.params = std::mem::take(&mut others.params)
        .into_iter()
        .filter(|parameter| match parameter {
            GenericParam::Lifetime(_) => false,
            GenericParam::Type(parameter) => !is_chosen(&parameter.ident),
            GenericParam::Const(_) => true,
        })
        .collect();
    // The bounds of a chosen type that name another parameter, as in `T: Into<X>`. The compiler checks the others in
    // the type of the implementation.
    let chosen_bounds =
        generics.type_params().filter(|parameter| is_chosen(&parameter.ident)).flat_map(|parameter| {
            let name = &parameter.ident;
            parameter.bounds.iter().map(move |bound| -> WherePredicate { syn::parse_quote!(#name: #bound) })
        });
    let clause = generics.where_clause.iter().flat_map(|clause| clause.predicates.iter().cloned());
    let names: Vec<Ident> = others.params.iter().filter_map(name_of).collect();
    let names_another = |predicate: &WherePredicate| {
        let mut search = NameSearch { names: &names, found: false };
        search.visit_where_predicate(predicate);
        search.found
    };
    let is_kept =
        |predicate: &WherePredicate| matches!(predicate, WherePredicate::Type(_)) && names_another(predicate);
    let kept: Vec<WherePredicate> = clause.chain(chosen_bounds).filter(is_kept).collect();
    others.where_clause = None;
    if !kept.is_empty() {
        others.make_where_clause().predicates.extend(kept);
    }
    Concrete { chosen, lifetimes }.visit_generics_mut(&mut others);
    others
}

// Returns the name of a type or const parameter.
fn name_of(parameter: &GenericParam) -> Option<Ident> {
    match parameter {
        GenericParam::Lifetime(_) => None,
        GenericParam::Type(parameter) => Some(parameter.ident.clone()),
        GenericParam::Const(parameter) => Some(parameter.ident.clone()),
    }
}

/// Visitor that searches for one of some names.
struct NameSearch<'a> {
    names: &'a [Ident],
    found: bool,
}

impl<'ast> Visit<'ast> for NameSearch<'_> {
    fn visit_ident(&mut self, name: &'ast Ident) {
        self.found |= self.names.contains(name);
    }
}

/// Visitor that replaces type parameters by their chosen types, and the lifetimes of the struct by `'static`.
struct Concrete<'a> {
    chosen: &'a [(&'a Ident, &'a Type)],
    lifetimes: Vec<Ident>,
}

impl VisitMut for Concrete<'_> {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        let chosen = self.chosen.iter().find(|(name, _)| fields::is_parameter(ty, name));
        match chosen.map(|(_, chosen)| (*chosen).clone()) {
            Some(chosen) => *ty = chosen,
            None => visit_mut::visit_type_mut(self, ty),
        }
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if self.lifetimes.contains(&lifetime.ident) {
            Static.visit_lifetime_mut(lifetime);
        }
    }
}

// Adds the bound that the kernel is compiled for the types of the struct.
fn with_family_bound(input: &DeriveInput, aliases: &[&Alias]) -> Generics {
    let mut generics = input.generics.clone();
    if aliases.is_empty() {
        return generics;
    }
    let owner = &input.ident;
    let family = static_arguments(&input.generics);
    let predicates = &mut generics.make_where_clause().predicates;
    for alias in aliases {
        let parameter = &alias.name;
        predicates.push(syn::parse_quote!(#parameter: __k::Element));
    }
    predicates.push(syn::parse_quote!(#owner #family: __k::KernelFamily));
    generics
}

fn describe(field: &Field) -> TokenStream {
    let name = &field.name;
    let dtype = dtype_expression(field, field.target());
    let kind = match field.pass {
        Pass::Read => quote!(Read),
        Pass::ReadWrite | Pass::Returned => quote!(ReadWrite),
        Pass::Value => quote!(Value),
    };
    quote!(__k::ArgField { name: #name, kind: __k::ArgKind::#kind(#dtype) })
}

fn dtype_expression(field: &Field, target: &Type) -> TokenStream {
    let span = field.target().span();
    match field.pass {
        Pass::Value | Pass::Returned => quote_spanned!(span=> __k::dtype_of_value::<#target>()),
        Pass::Read | Pass::ReadWrite => {
            quote_spanned!(span=> __k::dtype_of::<#target>())
        }
    }
}

fn bind(field: &Field) -> TokenStream {
    let ident = &field.ident;
    let target = field.target();
    let span = field.target().span();
    match field.pass {
        Pass::Returned => TokenStream::new(),
        Pass::Value => quote_spanned!(span=> __k::bind_value::<__B, #target>(__binder, &self.#ident);),
        Pass::Read | Pass::ReadWrite => {
            quote_spanned!(span=> __k::bind_buffer::<__B, #target>(__binder, &*self.#ident);)
        }
    }
}

// Generates a constant that compares a field if its tokens do not show the element type. For a struct with type
// parameters there is no such constant.
fn assertions(input: &DeriveInput, verified: &Verified, fields: &[Field]) -> TokenStream {
    if input.generics.type_params().next().is_some() || input.generics.const_params().next().is_some() {
        return TokenStream::new();
    }
    let hidden = fields.iter().filter(|field| field.element().and_then(fields::dtype).is_none());
    hidden.filter_map(|field| assertion(verified, field)).collect()
}

fn assertion(verified: &Verified, field: &Field) -> Option<TokenStream> {
    let mut target = field.target().clone();
    Static.visit_type_mut(&mut target);
    let found = dtype_expression(field, &target);
    let (entry, layout) = verified.layout_of(&field.name);
    let declared = match layout {
        Some(layout) => layout_expression(layout),
        None => quote!(::core::option::Option::None),
    };
    let misfit = match field.pass {
        Pass::Value => quote!(value_mismatch),
        Pass::Read | Pass::ReadWrite | Pass::Returned => quote!(buffer_mismatch),
    };
    let message = format!("kernel `{entry}`, argument `{}`: ", field.name);
    Some(quote_spanned! {field.target().span()=>
        const _: () = {
            const LAYOUT: ::core::option::Option<&__k::Layout<'static>> = #declared;
            if let ::core::option::Option::Some(why) = __k::#misfit(&#found, LAYOUT) {
                ::core::panic!("{}", __k::Text::EMPTY.and(#message).and(why.as_str()).as_str())
            }
        };
    })
}

fn layout_expression(layout: &Layout<'_>) -> TokenStream {
    let size = layout.size;
    let leaves = layout.leaves.iter().map(|leaf| {
        let path = &leaf.path;
        let offset = leaf.offset;
        let scalar = format_ident!("{}", format!("{:?}", leaf.scalar));
        let dims =
            leaf.dims.iter().map(|Dim { len, stride }| quote!(__k::Dim { len: #len, stride: #stride }));
        quote!(__k::Leaf {
            path: __k::Cow::Borrowed(#path),
            offset: #offset,
            scalar: __k::Scalar::#scalar,
            dims: __k::Cow::Borrowed(&[#(#dims),*]),
        })
    });
    quote!(::core::option::Option::Some(&__k::Layout { size: #size, leaves: __k::Cow::Borrowed(&[#(#leaves),*]) }))
}

// Returns the struct's own arguments with `'static` for every lifetime.
fn static_arguments(generics: &Generics) -> TokenStream {
    let arguments = generics.params.iter().map(|parameter| match parameter {
        GenericParam::Lifetime(_) => quote!('static),
        GenericParam::Type(parameter) => {
            let ident = &parameter.ident;
            quote!(#ident)
        }
        GenericParam::Const(parameter) => {
            let ident = &parameter.ident;
            quote!(#ident)
        }
    });
    quote!(<#(#arguments),*>)
}

/// Visitor that replaces every lifetime by `'static`.
struct Static;

impl VisitMut for Static {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        lifetime.ident = format_ident!("static", span = lifetime.span());
    }
}
