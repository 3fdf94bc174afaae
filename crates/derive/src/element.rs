//! Expands `#[derive(Element)]`, for a struct that is the element of device arrays.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, Fields, Meta, Path, Result};

/// Writes the implementations of `Element` and `IntoArg`.
pub(crate) fn element(input: &DeriveInput) -> Result<TokenStream> {
    let fields = fields(input)?;
    if !input.generics.params.is_empty() {
        return Err(Error::new(input.generics.span(), "an element is one type: remove its parameters"));
    }
    require_repr(input)?;
    let krate = krate(input)?;
    let owner = &input.ident;
    let name = input.ident.to_string();
    let described = fields.iter().filter_map(|field| describe(input, field));
    Ok(quote! {
        const _: () = {
            use #krate::__private as __k;
            #[automatically_derived]
            impl __k::Element for #owner {
                const DTYPE: __k::DType = __k::DType::Struct(&__k::StructType {
                    name: #name,
                    size: ::core::mem::size_of::<#owner>(),
                    fields: &[#(#described),*],
                });
            }
            #[automatically_derived]
            impl<'__a> __k::IntoArg<'__a> for #owner {
                fn into_arg(self) -> __k::DynArg<'__a> {
                    __k::DynArg::Value(__k::Value::new(self))
                }
            }
        };
    })
}

fn fields(input: &DeriveInput) -> Result<Vec<Field>> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) if !fields.named.is_empty() => Ok(fields.named.iter().cloned().collect()),
            _ => Err(Error::new(
                input.ident.span(),
                "an element has fields with names: those of the shader's struct",
            )),
        },
        _ => Err(Error::new(input.ident.span(), "an element is a struct")),
    }
}

// Without `repr(C)`, Rust may reorder the fields of a struct.
fn require_repr(input: &DeriveInput) -> Result<()> {
    let is_c = |attribute: &syn::Attribute| {
        attribute.path().is_ident("repr")
            && matches!(&attribute.meta, Meta::List(list) if list.tokens.to_string().split(',').any(|word| word.trim() == "C"))
    };
    match input.attrs.iter().any(is_c) {
        true => Ok(()),
        false => Err(Error::new(
            input.ident.span(),
            "an element has the layout of its declaration: add `#[repr(C)]` and `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]`",
        )),
    }
}

fn krate(input: &DeriveInput) -> Result<Path> {
    let mut krate = syn::parse_quote!(::fencepost);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("element")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("expected `crate = path`"));
            }
            krate = meta.value()?.parse()?;
            Ok(())
        })?;
    }
    Ok(krate)
}

fn describe(input: &DeriveInput, field: &Field) -> Option<TokenStream> {
    let owner = &input.ident;
    let ident = field.ident.as_ref()?;
    let ty = &field.ty;
    let name = ident.unraw().to_string();
    let described = quote::quote_spanned! {ty.span()=>
        __k::FieldType {
            name: #name,
            offset: ::core::mem::offset_of!(#owner, #ident),
            dtype: <#ty as __k::Element>::DTYPE,
        }
    };
    (!name.starts_with('_')).then_some(described)
}
