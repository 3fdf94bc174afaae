//! Finds the shader's text, and the expression by which the program finds it again.

use std::path::PathBuf;

use fencepost_kernels::{Source, builtins};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Ident, LitStr, Result};

use crate::attribute::Origin;

/// A shader that was found.
pub(crate) struct Located {
    /// For the checks of now.
    pub(crate) source: Source,
    /// A `Result<Source>` for the program; `__k` stands for the framework's private module.
    pub(crate) expression: TokenStream,
    /// The entry point that the file's name suggests.
    pub(crate) stem: Option<String>,
}

/// Finds the shader that the attribute names.
pub(crate) fn locate(origin: &Origin, owner: &Ident) -> Result<Located> {
    match origin {
        Origin::Text(text) => Ok(inline(text, owner)),
        Origin::File(name) => match in_package(name)? {
            Some(located) => Ok(located),
            None => built_in(name),
        },
    }
}

fn inline(text: &LitStr, owner: &Ident) -> Located {
    let label = format!("{owner} (inline)");
    Located {
        source: Source::text(label.clone(), text.value()),
        expression: quote!(__k::Result::Ok(__k::Source::text(#label, #text))),
        stem: None,
    }
}

// `include_str!` makes the compiler watch the file.
fn embedded(folder: &str, path: &str) -> TokenStream {
    let tail = format!("/{folder}{path}");
    quote!(::core::include_str!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), #tail)))
}

fn in_package(name: &LitStr) -> Result<Option<Located>> {
    let file = name.value();
    let Some(package) = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from) else { return Ok(None) };
    for folder in ["shaders/", ""] {
        let path = package.join(folder).join(&file);
        if !path.is_file() {
            continue;
        }
        let source = Source::read_in(&package.join(folder), &file)
            .map_err(|error| Error::new(name.span(), format!("in `{folder}`: {error}")))?;
        let text = embedded(folder, &file);
        let files = source.files().map(|path| {
            let text = embedded(folder, path);
            quote!(.with_file(#path, #text))
        });
        let expression = quote!(__k::Result::Ok(__k::Source::text(#file, #text) #(#files)*));
        return Ok(Some(Located { source, expression, stem: stem(&file) }));
    }
    Ok(None)
}

fn built_in(name: &LitStr) -> Result<Located> {
    let file = name.value();
    let source = Source::builtin(&file).map_err(|_| {
        let known: Vec<_> = builtins().iter().map(|(known, _)| format!("`{known}`")).collect();
        let known = known.join(", ");
        let message = format!(
            "no shader `{file}`: there is no file `shaders/{file}` and no file `{file}` in this package, \
             and the built-in shaders are {known}"
        );
        Error::new(name.span(), message)
    })?;
    Ok(Located { source, expression: quote!(__k::Source::builtin(#file)), stem: stem(&file) })
}

fn stem(file: &str) -> Option<String> {
    let name = file.rsplit('/').next()?;
    Some(name.strip_suffix(".wgsl").unwrap_or(name).to_string())
}
