//! The imports of a crate: which file names an item of which other file.
//!
//! A path is followed through `pub use` to the file that defines the item, so that a re-export hides no arrow. Code under
//! `#[cfg(test)]` and `#[cfg(all(test, ...))]` is left out: a test may use every floor.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

/// A path of modules or names below the root of the crate.
type Names = Vec<String>;

/// One import: `from` names an item that `to` defines. Files are relative to the crate's `src`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    pub(crate) from: String,
    pub(crate) line: usize,
    pub(crate) to: String,
    pub(crate) name: String,
}

/// Returns every import between two different files below `src`, sorted.
///
/// # Errors
/// A file cannot be read or is not Rust.
pub(crate) fn imports(src: &Path) -> Result<Vec<Import>> {
    let mut modules = Modules::default();
    modules.add(src, &src.join("lib.rs"), Vec::new())?;
    let mut found: Vec<Import> =
        modules.0.iter().flat_map(|(path, module)| modules.of(path, module)).collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// A module that has a file of its own.
struct Module {
    file: String,
    /// Holds absolute paths of every item that the file names, and the line.
    named: Vec<(Names, usize)>,
    /// Maps a name that the file re-exports, or `*`, to the path it stands for.
    exported: Vec<(String, Names)>,
}

/// Maps the path of each module with a file of its own to what the file names.
#[derive(Default)]
struct Modules(BTreeMap<Names, Module>);

impl Modules {
    fn add(&mut self, src: &Path, file: &Path, path: Names) -> Result<()> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let parsed = syn::parse_file(&text).with_context(|| format!("{} is not Rust", file.display()))?;
        let mut reader =
            Reader { path: path.clone(), named: Vec::new(), exported: Vec::new(), children: Vec::new() };
        reader.visit_file(&parsed);
        let relative = file.strip_prefix(src).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let folder = match file.file_stem().and_then(|stem| stem.to_str()) {
            Some("lib" | "mod") | None => file.with_file_name(""),
            Some(_) => file.with_extension(""),
        };
        for child in reader.children {
            if let Some(file) = file_of(&folder, &child) {
                self.add(src, &file, [path.as_slice(), &[child]].concat())?;
            }
        }
        self.0.insert(path, Module { file: relative, named: reader.named, exported: reader.exported });
        Ok(())
    }

    fn of<'a>(&'a self, path: &'a Names, module: &'a Module) -> impl Iterator<Item = Import> + 'a {
        module.named.iter().filter_map(move |(named, line)| {
            let (to, name) = self.resolve(named, &mut HashSet::new())?;
            let to = &self.0[&to];
            let import = Import { from: module.file.clone(), line: *line, to: to.file.clone(), name };
            (path != named && to.file != module.file).then_some(import)
        })
    }

    /// Returns the module that defines what `named` names, and the name.
    fn resolve(&self, named: &[String], seen: &mut HashSet<Names>) -> Option<(Names, String)> {
        if !seen.insert(named.to_vec()) {
            return None;
        }
        let depth = (0..=named.len()).rev().find(|depth| self.0.contains_key(&named[..*depth]))?;
        let (module, rest) = named.split_at(depth);
        let Some(name) = rest.first() else {
            return Some((module.to_vec(), "self".to_owned()));
        };
        let exported = &self.0[module].exported;
        let through = |target: &Names| self.resolve(&[target.as_slice(), &rest[1..]].concat(), seen);
        if let Some((_, target)) = exported.iter().find(|(exported, _)| exported == name) {
            let mut through = through;
            return through(target).or_else(|| Some((module.to_vec(), name.clone())));
        }
        Some((module.to_vec(), name.clone()))
    }
}

/// Returns the file of the module `name` that a file declares whose children lie in `folder`.
fn file_of(folder: &Path, name: &str) -> Option<PathBuf> {
    let flat = folder.join(format!("{name}.rs"));
    let nested = folder.join(name).join("mod.rs");
    [flat, nested].into_iter().find(|file| file.is_file())
}

/// Collects what one file names.
struct Reader {
    /// Is the path of the module that is read; modules inside the file extend it.
    path: Names,
    named: Vec<(Names, usize)>,
    exported: Vec<(String, Names)>,
    children: Vec<String>,
}

impl Reader {
    /// Returns `names` from the root of the crate; `None` for an item of another crate or of this file.
    fn absolute(&self, names: &[String]) -> Option<Names> {
        let mut base = self.path.clone();
        let rest = match names.first().map(String::as_str) {
            Some("crate") => {
                base.clear();
                &names[1..]
            }
            Some("self") => &names[1..],
            Some("super") => {
                let supers = names.iter().take_while(|name| *name == "super").count();
                base.truncate(base.len().checked_sub(supers)?);
                &names[supers..]
            }
            Some(first) if self.children.iter().any(|child| child == first) => names,
            _ => return None,
        };
        base.extend_from_slice(rest);
        Some(base)
    }

    fn use_tree(&mut self, tree: &UseTree, prefix: &mut Names, exports: bool, line: usize) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.use_tree(&path.tree, prefix, exports, line);
                prefix.pop();
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.use_tree(tree, prefix, exports, line));
            }
            UseTree::Name(name) => {
                self.used(prefix, &name.ident.to_string(), None, exports, name.ident.span().start().line)
            }
            UseTree::Rename(rename) => {
                let known_as = rename.rename.to_string();
                self.used(
                    prefix,
                    &rename.ident.to_string(),
                    Some(known_as),
                    exports,
                    rename.ident.span().start().line,
                );
            }
            UseTree::Glob(_) => self.used(prefix, "*", None, exports, line),
        }
    }

    fn used(&mut self, prefix: &[String], name: &str, known_as: Option<String>, exports: bool, line: usize) {
        let mut names = prefix.to_vec();
        if name != "self" && name != "*" {
            names.push(name.to_owned());
        }
        let Some(path) = self.absolute(&names) else { return };
        let known_as = known_as.unwrap_or_else(|| name.to_owned());
        // A child module names the imports of its parent by `super`.
        self.exported.push((known_as, path.clone()));
        if !exports {
            self.named.push((path, line));
        }
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.tokens(group.stream()),
                // The path of a macro's own crate names what the macro writes into the program.
                TokenTree::Ident(_) if at > 0 && is_dollar(&tokens[at - 1]) => {}
                TokenTree::Ident(first) => {
                    let line = first.span().start().line;
                    let names = path_at(&tokens[at..]);
                    at += (names.len() - 1) * 3;
                    if names.len() > 1 {
                        self.named.extend(self.absolute(&names).map(|path| (path, line)));
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
}

fn is_dollar(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == '$')
}

/// Returns the names of the path that `tokens` begins with, which are at least one.
fn path_at(tokens: &[TokenTree]) -> Names {
    let is_colon =
        |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    let mut names = Vec::new();
    let mut at = 0;
    while let Some(TokenTree::Ident(name)) = tokens.get(at) {
        names.push(name.to_string());
        if !(is_colon(tokens.get(at + 1)) && is_colon(tokens.get(at + 2))) {
            break;
        }
        at += 3;
    }
    names
}

/// Returns `true` if an attribute leaves the item out of every build but that of a test.
pub(super) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let condition = attribute.meta.require_list().map(|list| list.tokens.to_string()).unwrap_or_default();
        condition == "test" || condition.replace(' ', "").starts_with("all(test")
    })
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_file(&mut self, file: &'ast syn::File) {
        for item in &file.items {
            if let Item::Mod(module) = item
                && module.content.is_none()
                && !is_test(&module.attrs)
            {
                self.children.push(module.ident.to_string());
            }
        }
        visit::visit_file(self, file);
    }

    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.path.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.path.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let exports = !matches!(item.vis, syn::Visibility::Inherited);
        self.use_tree(&item.tree, &mut Vec::new(), exports, item.use_token.span.start().line);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 {
            let line = path.segments[0].ident.span().start().line;
            self.named.extend(self.absolute(&names).map(|path| (path, line)));
        }
        visit::visit_path(self, path);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.tokens(item.tokens.clone());
    }
}
