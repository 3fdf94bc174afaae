//! Finds the shader's text, and generates the expression that makes its source at run time.

use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use fencepost_kernels::{Error as Missing, ShaderSource, builtins, plain_file};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Ident, LitStr, Result};

use crate::attribute::Origin;

/// A shader that was found.
pub(crate) struct Located {
    /// Source that the derive checks.
    pub(crate) source: ShaderSource,
    /// Expression of type `Result<ShaderSource>` for the program; `__k` is the private module of `fencepost`.
    pub(crate) expression: TokenStream,
    /// Name of the entry point that the file's name suggests.
    pub(crate) stem: Option<String>,
}

/// Finds the shader that the attribute names.
pub(crate) fn locate(origin: &Origin, owner: &Ident) -> Result<Located> {
    match origin {
        Origin::Text(text) => inline(text, owner),
        Origin::File(name) if is_absolute(&name.value()) => Err(Error::new(
            name.span(),
            format!(
                "`{}` is absolute: give the path below the package, or below its folder `shaders`",
                name.value()
            ),
        )),
        Origin::File(name) => {
            match package().map(|package| in_package(&package, name)).transpose()?.flatten() {
                Some(located) => Ok(located),
                None => built_in(name),
            }
        }
    }
}

// Refuses absolute paths in the format of any system, because the program may be compiled on another one.
fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\']) || path.as_bytes().get(1) == Some(&b':') || Path::new(path).is_absolute()
}

// The text uses files as if it were a file of the package.
fn inline(text: &LitStr, owner: &Ident) -> Result<Located> {
    let label = format!("{owner} (inline)");
    let package = package().unwrap_or_default();
    let source = ShaderSource::text(label.clone(), text.value());
    let read = |folder: &str| source.clone().with_used_files(|path| read_used(&package, folder, "", path));
    // Only these errors mean that the files are elsewhere; others are mistakes in files that were found.
    let missing = |read: &fencepost_kernels::Result<ShaderSource>| {
        matches!(read, Err(Missing::Unreadable { .. } | Missing::UnknownSnippet { .. }))
    };
    let in_folder = FOLDERS.iter().map(|folder| (*folder, read(folder))).find(|(_, read)| !missing(read));
    let (folder, source) = in_folder.unwrap_or_else(|| ("", read(FOLDERS[0])));
    let source = source.map_err(|error| Error::new(text.span(), error))?;
    let files = with_used_files(folder, &source);
    let expression = quote!(__k::Result::Ok(__k::ShaderSource::text(#label, #text) #files));
    Ok(Located { source, expression, stem: None })
}

/// Folders of a package in the order of the search.
const FOLDERS: [&str; 2] = ["shaders/", ""];

fn package() -> Option<PathBuf> {
    std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from)
}

/// Reads a file that the shader `main` uses: a file of the package, or one next to a shader that is outside of it.
fn read_used(package: &Path, folder: &str, main: &str, path: &str) -> io::Result<String> {
    let outside = if folder.is_empty() { "../" } else { "../../" };
    let own = main.rsplit_once('/').is_some_and(|(own, _)| path.starts_with(&format!("{own}/")));
    if path.starts_with(outside) && !own {
        let message = "it is outside of the package, and a published package has its own files only: move it into the package";
        return Err(io::Error::new(ErrorKind::PermissionDenied, message));
    }
    let file = package.join(folder).join(path);
    if !file.is_file() {
        let message = format!("this package has no file `{folder}{path}`");
        return Err(io::Error::new(ErrorKind::NotFound, message));
    }
    plain_file::text(&file, plain_file::MAX_SHADER_BYTES)
}

fn with_used_files(folder: &str, source: &ShaderSource) -> TokenStream {
    let files = source.files().map(|path| {
        let text = embedded(folder, path);
        quote!(.with_file(#path, #text))
    });
    quote!(#(#files)*)
}

// `include_str!` makes the compiler watch the file for changes.
fn embedded(folder: &str, path: &str) -> TokenStream {
    let tail = format!("/{folder}{path}");
    quote!(::core::include_str!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), #tail)))
}

fn in_package(package: &Path, name: &LitStr) -> Result<Option<Located>> {
    let file = name.value();
    for folder in FOLDERS {
        let path = package.join(folder).join(&file);
        if !path.is_file() {
            continue;
        }
        let wrong = |error: &dyn Display| Error::new(name.span(), format!("in `{folder}`: {error}"));
        let text = plain_file::text(&path, plain_file::MAX_SHADER_BYTES)
            .map_err(|error| wrong(&format_args!("cannot read `{file}`: {error}")))?;
        let source = ShaderSource::text(&file, text)
            .with_used_files(|path| read_used(package, folder, &file, path))
            .map_err(|error| wrong(&error))?;
        let text = embedded(folder, &file);
        let files = with_used_files(folder, &source);
        let expression = quote!(__k::Result::Ok(__k::ShaderSource::text(#file, #text) #files));
        return Ok(Some(Located { source, expression, stem: stem(&file) }));
    }
    Ok(None)
}

fn built_in(name: &LitStr) -> Result<Located> {
    let file = name.value();
    let source = ShaderSource::builtin(&file).map_err(|_| {
        let known: Vec<_> = builtins().iter().map(|(known, _)| format!("`{known}`")).collect();
        let known = known.join(", ");
        let message = format!(
            "no shader `{file}`: there is no file `shaders/{file}` and no file `{file}` in this package, \
             and the built-in shaders are {known}"
        );
        Error::new(name.span(), message)
    })?;
    Ok(Located { source, expression: quote!(__k::ShaderSource::builtin(#file)), stem: stem(&file) })
}

fn stem(file: &str) -> Option<String> {
    let name = file.rsplit('/').next()?;
    Some(name.strip_suffix(".wgsl").unwrap_or(name).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::Span;

    #[test]
    fn files_of_the_package_that_use_each_other_are_an_error_that_lists_the_cycle() {
        let package = std::env::temp_dir().join(format!("fencepost-locate-{}", std::process::id()));
        std::fs::create_dir_all(package.join("shaders")).expect("a folder for the test");
        let write =
            |path: &str, text: &str| std::fs::write(package.join(path), text).expect("a file for the test");
        write("shaders/a.wgsl", "//#use \"b.wgsl\"");
        write("shaders/b.wgsl", "//#use \"a.wgsl\"");
        let name = LitStr::new("a.wgsl", Span::call_site());
        let error = in_package(&package, &name).err().map(|error| error.to_string());
        let expected = "in `shaders/`: b.wgsl:1: files use each other: `a.wgsl`, `b.wgsl`, `a.wgsl`";
        assert_eq!(error.as_deref(), Some(expected));
        std::fs::remove_dir_all(package).expect("the test's folder goes");
    }

    #[test]
    fn an_absolute_path_of_any_system_is_refused() {
        for path in ["/a.wgsl", "\\a.wgsl", "C:/a.wgsl"] {
            let origin = Origin::File(LitStr::new(path, Span::call_site()));
            let error =
                locate(&origin, &Ident::new("Owner", Span::call_site())).err().map(|error| error.to_string());
            let expected = format!(
                "`{path}` is absolute: give the path below the package, or below its folder `shaders`"
            );
            assert_eq!(error, Some(expected));
        }
        assert!(!is_absolute("a.wgsl") && !is_absolute("x/a.wgsl"));
    }
}
