//! Finds the imports of a crate: for each file, the files whose items it names.
//!
//! Each `use` of an item of the crate is an import, even in a re-export. Paths are followed through each `use` to the
//! file that defines the item, so that a re-export hides no import. Code under `#[cfg(test)]` and `#[cfg(all(test,
//! ...))]` is left out, because tests may use every floor. Code whose file cannot be found in this way is refused.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

use super::rules::Finding;

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
    let modules = Modules::read(src)?;
    let mut found: Vec<Import> =
        modules.0.iter().flat_map(|(path, module)| modules.of(path, module)).collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// Returns every place below `src` that names code in a way that [`imports`] does not follow, with its file.
///
/// # Errors
/// A file cannot be read or is not Rust.
pub(super) fn refused(src: &Path) -> Result<Vec<(String, Finding)>> {
    let modules = Modules::read(src)?.0.into_values();
    Ok(modules
        .flat_map(|module| module.refused.into_iter().map(move |found| (module.file.clone(), found)))
        .collect())
}

/// A module with its own file.
struct Module {
    file: String,
    /// Name of every item that the file defines at its top level.
    defined: HashSet<String>,
    refused: Vec<Finding>,
    /// Absolute path and line of every item that the file names.
    named: Vec<(Names, usize)>,
    /// Re-exported names, or `*`, each with its path.
    exported: Vec<(String, Names)>,
}

/// Contents of each module with its own file, by the module's path.
#[derive(Default)]
struct Modules(BTreeMap<Names, Module>);

impl Modules {
    fn read(src: &Path) -> Result<Self> {
        let mut modules = Self::default();
        modules.add(src, &src.join("lib.rs"), Vec::new())?;
        Ok(modules)
    }

    fn add(&mut self, src: &Path, file: &Path, path: Names) -> Result<()> {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let parsed = syn::parse_file(&text).with_context(|| format!("{} is not Rust", file.display()))?;
        let mut reader = Reader { path: path.clone(), ..Reader::default() };
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
        let Reader { named, exported, refused, .. } = reader;
        let defined = parsed.items.iter().filter_map(name_of).collect();
        self.0.insert(path, Module { file: relative, defined, refused, named, exported });
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

    /// Returns the module that defines the item at path `named`, and the item's name.
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
        let own = (module.to_vec(), name.clone());
        if self.0[module].defined.contains(name) {
            return Some(own);
        }
        let globs = exported.iter().filter(|(exported, _)| exported == "*");
        Some(
            globs
                .map(|(_, target)| target)
                .find_map(|target| self.by_glob(target, rest, seen))
                .unwrap_or(own),
        )
    }

    /// Returns the module that defines the path `rest` relative to `target`, if `target` is a module that contains it.
    fn by_glob(
        &self,
        target: &[String],
        rest: &[String],
        seen: &mut HashSet<Names>,
    ) -> Option<(Names, String)> {
        let module = match self.resolve(target, &mut HashSet::new())? {
            (module, name) if name == "self" => module,
            _ => return None,
        };
        let (to, name) = self.resolve(&[module.as_slice(), rest].concat(), seen)?;
        (name == "self" || self.0[&to].defined.contains(&name)).then_some((to, name))
    }
}

/// Returns the name that an item defines in its module.
fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// Returns the file of the module `name`, declared in a file whose child modules are in `folder`.
fn file_of(folder: &Path, name: &str) -> Option<PathBuf> {
    let flat = folder.join(format!("{name}.rs"));
    let nested = folder.join(name).join("mod.rs");
    [flat, nested].into_iter().find(|file| file.is_file())
}

/// A visitor that collects the names in a file.
#[derive(Default)]
struct Reader {
    /// Path of the module that is read; modules inside the file extend it.
    path: Names,
    /// Number of open modules inside the file.
    depth: usize,
    /// `true` inside a macro with `#[macro_export]`, where `$crate::name!` is a macro at the root.
    exports_macro: bool,
    refused: Vec<Finding>,
    named: Vec<(Names, usize)>,
    exported: Vec<(String, Names)>,
    children: Vec<String>,
}

impl Reader {
    /// Resolves `names` to a path from the crate's root; `None` for an item of another crate or of this file.
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

    fn use_tree(&mut self, tree: &UseTree, prefix: &mut Names, line: usize) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.use_tree(&path.tree, prefix, line);
                prefix.pop();
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.use_tree(tree, prefix, line));
            }
            UseTree::Name(name) => {
                self.used(prefix, &name.ident.to_string(), None, name.ident.span().start().line)
            }
            UseTree::Rename(rename) => {
                let known_as = rename.rename.to_string();
                self.used(
                    prefix,
                    &rename.ident.to_string(),
                    Some(known_as),
                    rename.ident.span().start().line,
                );
            }
            UseTree::Glob(_) => self.used(prefix, "*", None, line),
        }
    }

    fn used(&mut self, prefix: &[String], name: &str, known_as: Option<String>, line: usize) {
        let mut names = prefix.to_vec();
        if name != "self" && name != "*" {
            names.push(name.to_owned());
        }
        let Some(path) = self.absolute(&names) else { return };
        let known_as = known_as.unwrap_or_else(|| name.to_owned());
        // A child module refers to the imports of its parent with `super`.
        self.exported.push((known_as, path.clone()));
        self.named.push((path, line));
    }

    fn refuse(&mut self, line: usize, what: &str) {
        self.refused.push(Finding { line, what: what.to_owned() });
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(name) if at > 0 && is_punct(&tokens[at - 1], '$') && name != "crate" => {}
                TokenTree::Ident(first) => {
                    let line = first.span().start().line;
                    let names = path_at(&tokens[at..]);
                    at += (names.len() - 1) * 3;
                    let is_call = tokens.get(at + 1).is_some_and(|token| is_punct(token, '!'));
                    if is_call && names.last().is_some_and(|name| name == "include") {
                        self.refuse(line, INCLUDE);
                    }
                    // For `$crate`, an exported macro is at the root.
                    let is_at_root = self.exports_macro && is_call && names.len() == 2;
                    if names.len() > 1 && !is_at_root {
                        self.named.extend(self.absolute(&names).map(|path| (path, line)));
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
}

/// Reason why code of another file is refused.
const INCLUDE: &str = "`include!` brings code whose imports are not read: write a module";
const ALIAS: &str = "`extern crate self` gives the crate a second name: write `crate`";
const PLACE: &str =
    "`#[path]` hides the file of a module: only a file of the same folder, by its name, may stand there";
const NESTED: &str = "a module with a file stands inside another module of this file: declare it at the top";

fn is_punct(token: &TokenTree, c: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == c)
}

/// Returns the names of the path at the start of `tokens`; there is at least one.
fn path_at(tokens: &[TokenTree]) -> Names {
    let is_colon = |token: Option<&TokenTree>| token.is_some_and(|token| is_punct(token, ':'));
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

/// Returns `true` if an attribute limits the item to test builds.
pub(super) fn is_test(attributes: &[Attribute]) -> bool {
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    conditions.filter_map(|attribute| attribute.meta.require_list().ok()).any(|list| {
        let tokens: Vec<TokenTree> = list.tokens.clone().into_iter().collect();
        match &tokens[..] {
            [TokenTree::Ident(all), TokenTree::Group(group)] if all == "all" => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                is_alone(&inner)
            }
            tokens => tokens.len() == 1 && is_alone(tokens),
        }
    })
}

/// Returns `true` if the first condition of a list is `test`.
fn is_alone(tokens: &[TokenTree]) -> bool {
    let ends = tokens.get(1).is_none_or(|token| is_punct(token, ','));
    ends && matches!(tokens.first(), Some(TokenTree::Ident(name)) if name == "test")
}

/// File of a module, by its attributes.
enum Place {
    Usual,
    /// The file has this stem, in the folder of the module.
    Stem(String),
    Hidden,
}

fn place(attributes: &[Attribute]) -> Place {
    let mut place = Place::Usual;
    for attribute in attributes {
        match &attribute.meta {
            syn::Meta::NameValue(pair) if pair.path.is_ident("path") => place = stem(&pair.value),
            syn::Meta::List(list) if list.path.is_ident("cfg_attr") => {
                let tokens: Vec<TokenTree> = list.tokens.clone().into_iter().collect();
                let sets_path = tokens.windows(2).any(|pair| {
                    matches!(&pair[0], TokenTree::Ident(name) if name == "path") && is_punct(&pair[1], '=')
                });
                if sets_path {
                    return Place::Hidden;
                }
            }
            _ => {}
        }
    }
    place
}

fn stem(value: &syn::Expr) -> Place {
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(file), .. }) = value else {
        return Place::Hidden;
    };
    let file = file.value();
    match file.strip_suffix(".rs") {
        Some(stem) if stem.chars().all(super::code::is_word) => Place::Stem(stem.to_owned()),
        _ => Place::Hidden,
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_file(&mut self, file: &'ast syn::File) {
        for item in &file.items {
            if let Item::Mod(module) = item
                && module.content.is_none()
                && !is_test(&module.attrs)
            {
                match place(&module.attrs) {
                    Place::Usual => self.children.push(module.ident.to_string()),
                    // The module is read under its file's name, in addition to the module of the same name for other
                    // targets.
                    Place::Stem(stem) => self.children.push(stem),
                    Place::Hidden => self.refuse(module.mod_token.span.start().line, PLACE),
                }
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
        if module.content.is_none() && self.depth > 0 {
            self.refuse(module.mod_token.span.start().line, NESTED);
        }
        self.path.push(module.ident.to_string());
        self.depth += 1;
        visit::visit_item_mod(self, module);
        self.depth -= 1;
        self.path.pop();
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        if item.ident == "self" {
            self.refuse(item.extern_token.span.start().line, ALIAS);
        }
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        let outer = self.exports_macro;
        self.exports_macro = item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"));
        visit::visit_item_macro(self, item);
        self.exports_macro = outer;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.use_tree(&item.tree, &mut Vec::new(), item.use_token.span.start().line);
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
        if let Some(last) = item.path.segments.last()
            && last.ident == "include"
        {
            self.refuse(last.ident.span().start().line, INCLUDE);
        }
        self.visit_path(&item.path);
        self.tokens(item.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the imports of a crate of these files, as `from -> to name`, and the refusals.
    fn read(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for (file, text) in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        }
        let found = imports(dir.path()).expect("readable");
        let found = found.iter().map(|import| format!("{} -> {} {}", import.from, import.to, import.name));
        let refused = refused(dir.path()).expect("readable");
        let refused = refused.iter().map(|(file, found)| format!("{file}:{} {}", found.line, found.what));
        (found.collect(), refused.collect())
    }

    /// Returns the imports of `heap` and `memory`, given a context in `api`.
    fn planted(memory: &str, heap: &str) -> (Vec<String>, Vec<String>) {
        read(&[
            ("lib.rs", "mod api;\nmod memory;\npub use api::context::Context;"),
            ("api/mod.rs", "pub mod context;"),
            ("api/context.rs", "pub struct Context;"),
            ("memory/mod.rs", &format!("mod heap;\n{memory}")),
            ("memory/heap.rs", heap),
        ])
    }

    const UP: &str = "memory/heap.rs -> api/context.rs Context";

    fn finds(memory: &str, heap: &str, import: &str) {
        let (found, _) = planted(memory, heap);
        assert!(found.contains(&import.to_owned()), "{import} is not in {found:?}");
    }

    #[test]
    fn an_export_is_an_import() {
        finds("", "pub(crate) use crate::api::context::Context;", UP);
        finds("", "pub use crate::Context;", UP);
        finds("", "pub use crate::api::context::*;", "memory/heap.rs -> api/context.rs self");
    }

    #[test]
    fn a_glob_export_hides_no_import() {
        let memory = "pub(crate) use crate::api::context::*;";
        finds(memory, "use crate::memory::Context;", UP);
        finds(memory, "fn f(_: super::Context) {}", UP);
        finds(memory, "", "memory/mod.rs -> api/context.rs self");
    }

    #[test]
    fn a_name_of_the_module_goes_before_its_globs() {
        let (found, _) = planted(
            "pub(crate) use crate::api::context::*; pub(crate) struct Context;",
            "use super::Context;",
        );
        assert!(found.contains(&"memory/heap.rs -> memory/mod.rs Context".to_owned()), "{found:?}");
    }

    #[test]
    fn an_export_closes_a_circle() {
        let memory = "pub(crate) use heap::odd2;\npub(crate) fn odd() {}";
        let heap = "pub(crate) fn odd2() { super::odd() }";
        finds(memory, heap, "memory/mod.rs -> memory/heap.rs odd2");
        finds(memory, heap, "memory/heap.rs -> memory/mod.rs odd");
    }

    #[test]
    fn the_crate_of_a_macro_is_read() {
        finds("", "macro_rules! m { () => { $crate::api::context::Context }; }", UP);
        finds("", "#[macro_export]\nmacro_rules! m { () => { $crate::Context::new() }; }", UP);
        let (found, _) = planted("", "#[macro_export]\nmacro_rules! m { () => { $crate::m!() }; }");
        assert!(!found.iter().any(|import| import.starts_with("memory/heap.rs")), "{found:?}");
    }

    #[test]
    fn only_the_condition_test_leaves_code_out() {
        let planted_under = |cfg: &str| {
            let heap = format!("#[cfg({cfg})]\nmod m {{ use crate::Context; }}");
            planted("", &heap).0.contains(&UP.to_owned())
        };
        assert!(!planted_under("test") && !planted_under("all(test, unix)") && !planted_under("all(test)"));
        assert!(planted_under("all(testing, unix)") && planted_under("all(test_only)"));
        assert!(planted_under("not(test)") && planted_under("any(test, unix)"));
    }

    #[test]
    fn code_that_cannot_be_followed_is_refused() {
        let refused_at = |heap: &str| planted("", heap).1.iter().any(|at| at.starts_with("memory/heap.rs:2"));
        for heap in [
            "\nextern crate self as this;",
            "\n#[path = \"../api/context.rs\"] mod other;",
            "\n#[cfg_attr(unix, path = \"a.rs\")] mod other;",
            "\ninclude!(\"a.rs\");",
            "\nfn f() { std::include!(\"a.rs\") }",
            "\nmacro_rules! m { () => { include!(\"a.rs\"); } }",
            "\nmod inner { mod other; }",
        ] {
            assert!(refused_at(heap), "{heap}");
        }
        for heap in
            ["\nextern crate alloc;", "\nconst A: &str = include_str!(\"a\");", "\n#[path = \"a.rs\"] mod b;"]
        {
            assert!(!refused_at(heap), "{heap}");
        }
    }

    #[test]
    fn a_file_of_the_same_folder_is_read_by_its_path() {
        let files = [
            ("lib.rs", "mod api;\nmod memory;"),
            ("api.rs", "pub struct Context;"),
            ("memory/mod.rs", "mod heap;\n#[path = \"no_heap.rs\"]\nmod heap;"),
            ("memory/heap.rs", ""),
            ("memory/no_heap.rs", "use crate::api::Context;"),
        ];
        assert!(read(&files).0.contains(&"memory/no_heap.rs -> api.rs Context".to_owned()));
    }
}
