//! `cargo xtask api`: lists the public names of the library, so that no name becomes public by accident.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};
use syn::{Attribute, ImplItem, Item, TraitItem, UseTree, Visibility};

use crate::lint::rust_files;
use crate::workspace::Workspace;

/// The page of the names.
pub(crate) const PAGE: &str = "docs/api.md";
/// Crates whose types the facade re-exports.
const CRATES: [&str; 6] = ["core", "sync", "kernels", "profile", "derive", "algorithms"];
/// Files that re-export names: the root of the library, and the module of the algorithms.
const ROOTS: [(&str, &str); 2] =
    [("fencepost", "crates/fencepost/src/lib.rs"), ("fencepost::algorithms", "crates/algorithms/src/lib.rs")];
/// End of the path of a prelude.
const PRELUDE: &str = "::prelude";

/// Prints the page, or writes it.
///
/// # Errors
/// A source cannot be read or parsed; the page cannot be written.
pub(crate) fn command(workspace: &Workspace, write: bool) -> Result<()> {
    let page = page(workspace)?;
    if write {
        let path = workspace.path(PAGE);
        return fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()));
    }
    print!("{page}"); // the page is the result of the command
    Ok(())
}

/// Returns `true` if the page is up to date.
///
/// # Errors
/// A source cannot be read or parsed.
pub(crate) fn is_listed(workspace: &Workspace) -> Result<bool> {
    Ok(fs::read_to_string(workspace.path(PAGE)).unwrap_or_default() == page(workspace)?)
}

fn page(workspace: &Workspace) -> Result<String> {
    let mut items = Vec::new();
    for name in CRATES {
        for (path, source) in rust_files(workspace, &format!("crates/{name}/src"))? {
            let file = syn::parse_file(&source).with_context(|| format!("cannot parse {path}"))?;
            items.extend(file.items);
        }
    }
    let methods = methods(&items);
    let mut page = String::from(
        "# The public names\n\n\
         This page is made by `cargo xtask api --write`, and `cargo xtask lint` compares it with the sources. Names that\n\
         the documentation hides are left out.\n",
    );
    for (root, path) in ROOTS {
        let path = workspace.path(path);
        let source = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for module in modules(root, &syn::parse_file(&source)?.items) {
            page += &module.section(&methods);
        }
    }
    Ok(page)
}

/// A module with the names that it exports.
struct ListedModule {
    path: String,
    names: BTreeSet<String>,
    /// Modules of which it exports all names.
    whole: Vec<String>,
}

impl ListedModule {
    fn of(path: String, items: &[Item]) -> Self {
        Self { path, names: exports(items), whole: whole(items) }
    }

    /// Writes the names as a section of the page, with the methods of each type. The names of a prelude are those of
    /// other sections, which have the methods.
    fn section(&self, methods: &BTreeMap<String, BTreeSet<String>>) -> String {
        let Self { path, names, whole } = self;
        let mut text = format!("\n## {path}: {} names\n\n{}\n", names.len(), list(names));
        for other in whole {
            let _ = write!(text, "\nIt also has all names of `{other}`.\n");
        }
        if path.ends_with(PRELUDE) {
            return text;
        }
        for name in names {
            if let Some(methods) = methods.get(name) {
                let _ = write!(text, "\n### {name}: {}\n\n{}\n", methods.len(), list(methods));
            }
        }
        text
    }
}

/// Writes names as code, with commas and line ends between them.
fn list(names: &BTreeSet<String>) -> String {
    let mut text = String::new();
    let mut column = 0;
    for (at, name) in names.iter().enumerate() {
        let comma = if at + 1 < names.len() { "," } else { "" };
        let word = format!("`{name}`{comma}");
        if column > 0 && column + 1 + word.len() > 120 {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        column += word.len();
        text += &word;
    }
    text
}

/// Returns a root, and each public module in it.
fn modules(root: &str, items: &[Item]) -> Vec<ListedModule> {
    let mut found = vec![ListedModule::of(root.to_owned(), items)];
    for item in items {
        if let Item::Mod(item) = item
            && let Some((_, items)) = &item.content
            && is_public(&item.vis)
            && !is_hidden(&item.attrs)
        {
            found.push(ListedModule::of(format!("{root}::{}", item.ident), items));
        }
    }
    found
}

/// Returns the names that a root exports: its `pub use` items, and its own public items.
fn exports(items: &[Item]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in items {
        match item {
            Item::Use(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                used(&item.tree, &mut names)
            }
            Item::Mod(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                names.insert(item.ident.to_string());
            }
            Item::Fn(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                names.insert(item.sig.ident.to_string());
            }
            _ => {}
        }
    }
    names
}

/// Returns the paths of the modules of which all names are exported, as a program writes them: the facade re-exports
/// the crate `fencepost_algorithms` as `fencepost::algorithms`.
fn whole(items: &[Item]) -> Vec<String> {
    let mut found = Vec::new();
    for item in items {
        let Item::Use(item) = item else { continue };
        let mut path = Vec::new();
        let mut tree = &item.tree;
        while let UseTree::Path(part) = tree {
            path.push(part.ident.to_string().replace("fencepost_", "fencepost::"));
            tree = &part.tree;
        }
        if matches!(tree, UseTree::Glob(_)) && is_public(&item.vis) && !is_hidden(&item.attrs) {
            found.push(path.join("::"));
        }
    }
    found
}

fn used(tree: &UseTree, names: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => used(&path.tree, names),
        UseTree::Name(name) => _ = names.insert(name.ident.to_string()),
        UseTree::Rename(rename) => _ = names.insert(rename.rename.to_string()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| used(tree, names)),
        UseTree::Glob(_) => {}
    }
}

/// Returns the public methods and constants of each type and trait, except methods generated by macros.
fn methods(items: &[Item]) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for item in items {
        match item {
            Item::Impl(block) if block.trait_.is_none() && !is_hidden(&block.attrs) => {
                let syn::Type::Path(path) = &*block.self_ty else { continue };
                let Some(of) = path.path.segments.last() else { continue };
                let own = found.entry(of.ident.to_string()).or_default();
                for item in &block.items {
                    match item {
                        ImplItem::Fn(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                            own.insert(item.sig.ident.to_string());
                        }
                        ImplItem::Const(item) if is_public(&item.vis) && !is_hidden(&item.attrs) => {
                            own.insert(item.ident.to_string());
                        }
                        _ => {}
                    }
                }
            }
            Item::Trait(item) if is_public(&item.vis) => {
                let own = found.entry(item.ident.to_string()).or_default();
                for item in &item.items {
                    match item {
                        TraitItem::Fn(item) if !is_hidden(&item.attrs) => {
                            own.insert(item.sig.ident.to_string());
                        }
                        TraitItem::Const(item) if !is_hidden(&item.attrs) => {
                            own.insert(item.ident.to_string());
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    found.retain(|_, methods| !methods.is_empty());
    found
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Returns `true` for `#[doc(hidden)]`.
fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        list.path.is_ident("doc") && list.tokens.to_string() == "hidden"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn items(source: &str) -> Vec<Item> {
        syn::parse_str::<syn::File>(source).expect("it is Rust").items
    }

    #[test]
    fn a_root_exports_its_public_names() {
        let names = exports(&items(
            "pub use a::{B, c::D as E}; use f::G; #[doc(hidden)] pub use h::I; pub mod j {} mod k; pub fn l() {}",
        ));
        assert_eq!(names, set(&["B", "E", "j", "l"]));
    }

    #[test]
    fn a_prelude_has_names_without_methods_and_the_modules_that_it_exports_whole() {
        let found = modules(
            "r",
            &items(
                "pub mod a { pub use x::B; use y::*; }
                 pub mod prelude { pub use fencepost_c::prelude::*; #[doc(hidden)] pub use z::*; pub use crate::B; }",
            ),
        );
        let paths: Vec<&str> = found.iter().map(|module| module.path.as_str()).collect();
        assert_eq!(paths, ["r", "r::a", "r::prelude"]);
        let methods = BTreeMap::from([("B".to_owned(), set(&["m"]))]);
        let sections: String = found[1..].iter().map(|module| module.section(&methods)).collect();
        let prelude =
            "\n## r::prelude: 1 names\n\n`B`\n\nIt also has all names of `fencepost::c::prelude`.\n";
        assert_eq!(sections, format!("\n## r::a: 1 names\n\n`B`\n\n### B: 1\n\n`m`\n{prelude}"));
    }

    #[test]
    fn a_type_has_the_methods_of_all_its_blocks() {
        let found = methods(&items(
            "impl<T> A<T> { pub fn b(&self) {} fn c() {} pub(crate) fn d() {} #[doc(hidden)] pub fn e() {} }
             impl A<u32> { pub const F: u32 = 1; } impl Drop for A { fn drop(&mut self) {} }
             pub trait G { fn h(); #[doc(hidden)] fn i(); } trait J { fn k(); }",
        ));
        assert_eq!(found["A"], set(&["F", "b"]));
        assert_eq!(found["G"], set(&["h"]));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_list_has_lines_of_a_page() {
        let names: BTreeSet<String> = (10..60).map(|at| format!("name_{at}")).collect();
        let text = list(&names);
        assert!(text.lines().count() > 4 && text.lines().all(|line| line.len() <= 120), "{text}");
        assert!(text.starts_with("`name_10`, `name_11`") && text.ends_with("`name_59`"), "{text}");
    }
}
