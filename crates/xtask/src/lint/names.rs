//! Checks that names of types and constants are unique.

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span};
use syn::{Attribute, Item};

use super::imports::is_test as is_left_out;
use super::rules::Finding;

/// Crates in which constants with different values must have different names.
const CRATES: [&str; 5] = [
    "crates/core/src/",
    "crates/graph-file/src/",
    "crates/sync/src/",
    "crates/kernels/src/",
    "crates/profile/src/",
];
/// Groups of crates in which no two types may share a name.
const TYPES: [&[&str]; 2] = [
    &["crates/core/src/", "crates/graph-file/src/", "crates/sync/src/", "crates/kernels/src/"],
    &["crates/profile/src/"],
];

/// Type names that every crate may use: its error, and the results and pending results with this error.
const OF_EACH_CRATE: [&str; 3] = ["Error", "Result", "Pending"];

/// Returns every name with two meanings; `files` are paths from the root, with their sources.
pub(super) fn check(files: &[(String, String)]) -> Vec<(String, Finding)> {
    let mut findings = Vec::new();
    for of in CRATES {
        let own: Vec<_> =
            files.iter().filter(|(path, _)| path.starts_with(of) && !path.contains("loom_models")).collect();
        findings.extend(constants(&own));
    }
    for crates in TYPES {
        let is_in = |path: &str| crates.iter().any(|of| path.starts_with(of));
        let own: Vec<_> =
            files.iter().filter(|(path, _)| is_in(path) && !path.contains("loom_models")).collect();
        findings.extend(types(&own));
    }
    findings
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("tests.rs")
}

/// Returns the start of a path up to and including the crate's `/src/`.
fn crate_of(path: &str) -> &str {
    path.find("/src/").map_or(path, |at| &path[..at + "/src/".len()])
}

/// Names in one file, without tests and function bodies.
struct Defined<'a> {
    source: &'a str,
    /// Path of each type inside the file, and the line. A module with a `cfg` is left out of the path, because its
    /// types are variants of the same types for some targets.
    types: Vec<(String, String, usize)>,
    /// Each constant with its value, and the line.
    constants: Vec<(String, String, usize)>,
}

impl<'a> Defined<'a> {
    fn of(source: &'a str) -> Self {
        let mut defined = Self { source, types: Vec::new(), constants: Vec::new() };
        // The compiler reports a file that is not Rust.
        if let Ok(file) = syn::parse_file(source) {
            defined.items(&file.items, "");
        }
        defined
    }

    fn items(&mut self, items: &[Item], module: &str) {
        for item in items {
            match item {
                Item::Struct(item) => self.add_type(&item.attrs, module, &item.ident),
                Item::Enum(item) => self.add_type(&item.attrs, module, &item.ident),
                Item::Union(item) => self.add_type(&item.attrs, module, &item.ident),
                Item::Trait(item) => self.add_type(&item.attrs, module, &item.ident),
                Item::Type(item) => self.add_type(&item.attrs, module, &item.ident),
                Item::Const(item) => {
                    self.add_constant(&item.attrs, &item.ident, (item.colon_token.span, item.semi_token.span))
                }
                Item::Static(item) => {
                    self.add_constant(&item.attrs, &item.ident, (item.colon_token.span, item.semi_token.span))
                }
                Item::Impl(item) if item.trait_.is_none() && !is_left_out(&item.attrs) => {
                    for item in &item.items {
                        if let syn::ImplItem::Const(item) = item {
                            self.add_constant(
                                &item.attrs,
                                &item.ident,
                                (item.colon_token.span, item.semi_token.span),
                            );
                        }
                    }
                }
                // A trait in a module `sealed` has the same name as the trait that it seals.
                Item::Mod(item) if item.ident != "sealed" && !is_left_out(&item.attrs) => {
                    let has_condition = item.attrs.iter().any(|attribute| attribute.path().is_ident("cfg"));
                    let inner =
                        if has_condition { module.to_owned() } else { format!("{module}{}::", item.ident) };
                    if let Some((_, items)) = &item.content {
                        self.items(items, &inner);
                    }
                }
                _ => {}
            }
        }
    }

    fn add_type(&mut self, attributes: &[Attribute], module: &str, name: &Ident) {
        if !is_left_out(attributes) {
            self.types.push((name.to_string(), format!("{module}{name}"), name.span().start().line));
        }
    }

    fn add_constant(&mut self, attributes: &[Attribute], name: &Ident, (start, end): (Span, Span)) {
        if name != "_" && !is_left_out(attributes) {
            let value = self.source.get(start.byte_range().end..end.byte_range().start).unwrap_or_default();
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            self.constants.push((name.to_string(), value, name.span().start().line));
        }
    }
}

/// A type that occurs twice in one module is defined once for each target.
fn types(files: &[&(String, String)]) -> Vec<(String, Finding)> {
    let mut seen: BTreeMap<String, (&str, String)> = BTreeMap::new();
    let mut findings = Vec::new();
    for (path, source) in files.iter().filter(|(path, _)| !is_test(path)) {
        // These modules are variants for targets without the mechanism, and use the same names.
        if ["no_native_memory.rs", "no_kernel_checks.rs"].iter().any(|name| path.ends_with(name)) {
            continue;
        }
        for (name, place, line) in Defined::of(source).types {
            let of = if OF_EACH_CRATE.contains(&name.as_str()) { crate_of(path) } else { "" };
            let key = format!("{of}{name}");
            match seen.get(&key) {
                Some((other, known)) if *other != path || *known != place => {
                    let what = format!("the type `{name}` has the name of another in {other}");
                    findings.push((path.clone(), Finding { line, what }));
                }
                _ => drop(seen.insert(key, (path, place))),
            }
        }
    }
    findings
}

fn constants(files: &[&(String, String)]) -> Vec<(String, Finding)> {
    let mut seen: BTreeMap<String, (&str, String)> = BTreeMap::new();
    let mut findings = Vec::new();
    for (path, source) in files.iter().filter(|(path, _)| !is_test(path)) {
        for (name, value, line) in Defined::of(source).constants {
            match seen.get(&name) {
                Some((other, known)) if *known != value => {
                    let what = format!("the constant `{name}` has another value in {other}");
                    findings.push((path.clone(), Finding { line, what }));
                }
                _ => drop(seen.insert(name, (path, value))),
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files
            .iter()
            .map(|(path, source)| (format!("crates/core/src/{path}"), (*source).to_owned()))
            .collect();
        check(&files)
            .into_iter()
            .map(|(path, finding)| format!("{path}:{} {}", finding.line, finding.what))
            .collect()
    }

    #[test]
    fn two_types_share_no_name() {
        let found = found(&[
            ("a.rs", "pub(crate) struct Part<'a>;"),
            ("b.rs", "\nenum Part {}\n"),
            ("c.rs", "// struct Part"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/core/src/b.rs:2 the type `Part`"), "{found:?}");
    }

    #[test]
    fn a_type_of_a_module_inside_a_file_and_a_union_are_types() {
        let inline = "mod inner {\n    pub(crate) struct Part;\n}";
        assert!(found(&[("a.rs", "struct Part;"), ("b.rs", inline)])[0].contains("b.rs:2 the type `Part`"));
        assert_eq!(found(&[("a.rs", &format!("struct Part;\n{inline}"))]).len(), 1);
        let union = "union Part { a: u8 }";
        assert_eq!(found(&[("a.rs", "struct Part;"), ("b.rs", union)]).len(), 1);
    }

    #[test]
    fn the_crates_that_programs_see_together_share_no_name_of_a_type() {
        let file = |path: &str| (path.to_owned(), "struct Part;".to_owned());
        let files = ["core", "graph-file", "kernels", "sync", "profile"]
            .map(|of| file(&format!("crates/{of}/src/{of}_a.rs")));
        assert_eq!(check(&files).len(), 3);
        let file = |path: &str| (path.to_owned(), "pub enum Error {}".to_owned());
        assert!(check(&[file("crates/core/src/a.rs"), file("crates/sync/src/b.rs")]).is_empty());
        assert_eq!(check(&[file("crates/core/src/a.rs"), file("crates/core/src/b.rs")]).len(), 1);
    }

    #[test]
    fn a_type_has_a_form_for_each_target() {
        let forms = "#[cfg(unix)]\nmod a { struct Part; }\n#[cfg(not(unix))]\nmod b { struct Part; }";
        assert!(found(&[("a.rs", forms)]).is_empty());
        assert!(found(&[("a.rs", "#[cfg(unix)]\nstruct Part;\n#[cfg(windows)]\nstruct Part;")]).is_empty());
    }

    #[test]
    fn types_of_impls_and_of_tests_are_no_names() {
        let test = "#[cfg(test)]\nmod tests {\nstruct Part;\n}\n";
        let of_impl = "impl A for B {\n    type Part = u8;\n}";
        assert!(found(&[("a.rs", "struct Part;"), ("b.rs", test), ("c.rs", of_impl)]).is_empty());
        let after = format!("{test}struct Part;");
        assert_eq!(found(&[("a.rs", "struct Part;"), ("b.rs", &after)]).len(), 1);
    }

    #[test]
    fn a_static_and_a_constant_of_a_type_are_constants() {
        let constant = "const SLICE: u64 = 1;";
        for other in [
            "static SLICE: u64 = 2;",
            "impl A {\n    const SLICE: u64 = 2;\n}",
            "mod inner {\n    const SLICE: u64 =\n        2;\n}",
        ] {
            assert_eq!(found(&[("a.rs", constant), ("b.rs", other)]).len(), 1, "{other}");
        }
        let of_trait = "impl A for B {\n    const SLICE: u64 = 2;\n}\nconst _: () = ();\nconst _: u8 = 1;";
        assert!(found(&[("a.rs", constant), ("b.rs", of_trait)]).is_empty());
    }

    #[test]
    fn a_constant_has_one_value() {
        assert!(
            found(&[("a.rs", "const MIB: u64 = 1 << 20;"), ("b.rs", "pub(crate) const MIB: u64 = 1 << 20;")])
                .is_empty()
        );
        assert!(
            found(&[("a.rs", "const SLICE: u64 = 1;"), ("b.rs", "const SLICE: u64 = 2;")])[0]
                .contains("`SLICE`")
        );
    }
}
