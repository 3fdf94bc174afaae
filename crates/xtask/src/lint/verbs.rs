//! Checks the tables of the verbs on a captured queue: every public method of a queue or a capture, and every verb of
//! the algorithms, must have an entry.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ImplItem, ItemImpl, ItemTrait, Lit, TraitItem, Type, Visibility};

use super::rules::Finding;

/// The types whose methods the table lists.
const TYPES: [&str; 2] = ["CommandQueue", "Capture"];
/// Folder of the crate with these types.
const CORE: &str = "crates/core/src/";
/// The file with the table.
const TABLE: &str = "tests/conformance/graphs/verb_table.rs";

/// Folder of the crate whose traits contain verbs.
pub(super) const ALGORITHMS: &str = "crates/algorithms/src/";
/// File with the table of these verbs.
const TABLE_OF_ALGORITHMS: &str = "tests/conformance/algorithms/verb_table.rs";

/// Returns each public method without an entry in its table, and each entry without a method.
pub(super) fn check(files: &[(String, String)]) -> Vec<(String, Finding)> {
    let mut findings = compared(files, CORE, TABLE, methods);
    findings.extend(compared(files, ALGORITHMS, TABLE_OF_ALGORITHMS, verbs));
    findings
}

/// Compares a table with the methods that `of` finds in the files of a folder.
fn compared(
    files: &[(String, String)],
    folder: &str,
    table_path: &str,
    of: fn(&str) -> Vec<(String, usize)>,
) -> Vec<(String, Finding)> {
    let Some((_, table)) = files.iter().find(|(path, _)| path == table_path) else {
        let what = "the table of the verbs on a captured queue is missing".to_owned();
        return Vec::from([(table_path.to_owned(), Finding { line: 1, what })]);
    };
    let entries = entries(table);
    let names: BTreeSet<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
    let mut findings = Vec::new();
    let mut known = BTreeSet::new();
    for (path, source) in files.iter().filter(|(path, _)| path.starts_with(folder)) {
        for (name, line) in of(source) {
            if !names.contains(name.as_str()) {
                let what = format!("the public method `{name}` has no entry in {table_path}");
                findings.push((path.clone(), Finding { line, what }));
            }
            known.insert(name);
        }
    }
    for (name, line) in entries.iter().filter(|(name, _)| !known.contains(name)) {
        let what = format!("no queue and no capture has a public method `{name}`");
        findings.push((table_path.to_owned(), Finding { line: *line, what }));
    }
    findings
}

/// Returns the methods of traits that are implemented for queues in a file, with their lines.
pub(super) fn verbs(source: &str) -> Vec<(String, usize)> {
    let Ok(file) = syn::parse_file(source) else { return Vec::new() };
    let is_for_queues = |of: &ItemTrait| {
        file.items.iter().any(|item| {
            let syn::Item::Impl(block) = item else { return false };
            let named = block.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
            let Type::Path(target) = &*block.self_ty else { return false };
            named.is_some_and(|segment| segment.ident == of.ident) && target.path.is_ident(TYPES[0])
        })
    };
    let traits = file.items.iter().filter_map(|item| match item {
        syn::Item::Trait(of) if matches!(of.vis, Visibility::Public(_)) && is_for_queues(of) => Some(of),
        _ => None,
    });
    let methods = traits.flat_map(|of| &of.items).filter_map(|item| match item {
        TraitItem::Fn(method) => Some(&method.sig.ident),
        _ => None,
    });
    methods.map(|name| (name.to_string(), name.span().start().line)).collect()
}

/// Returns the public methods of the types in a file, with their lines.
fn methods(source: &str) -> Vec<(String, usize)> {
    #[derive(Default)]
    struct Methods(Vec<(String, usize)>);
    impl Visit<'_> for Methods {
        fn visit_item_impl(&mut self, block: &ItemImpl) {
            let Type::Path(of) = &*block.self_ty else { return };
            let is_listed = TYPES.iter().any(|name| of.path.segments.last().is_some_and(|s| s.ident == name));
            if !is_listed || block.trait_.is_some() {
                return;
            }
            for item in &block.items {
                if let ImplItem::Fn(method) = item
                    && matches!(method.vis, Visibility::Public(_))
                {
                    let name = &method.sig.ident;
                    self.0.push((name.to_string(), name.span().start().line));
                }
            }
        }
    }
    let mut methods = Methods::default();
    // The compiler reports a file that is not Rust.
    if let Ok(file) = syn::parse_file(source) {
        methods.visit_file(&file);
    }
    methods.0
}

/// Returns the names in the function `table`: the first words of string literals that are first arguments of calls.
fn entries(source: &str) -> Vec<(String, usize)> {
    #[derive(Default)]
    struct Entries(Vec<(String, usize)>);
    impl<'a> Visit<'a> for Entries {
        fn visit_expr_call(&mut self, call: &'a ExprCall) {
            if let Some(Expr::Lit(first)) = call.args.first()
                && let Lit::Str(name) = &first.lit
                && matches!(&*call.func, Expr::Path(_))
            {
                let text = name.value();
                let first = text.split(' ').next().unwrap_or_default();
                self.0.push((first.to_owned(), name.span().start().line));
            }
            visit::visit_expr_call(self, call);
        }
    }
    let mut entries = Entries::default();
    if let Ok(file) = syn::parse_file(source) {
        let tables = file.items.iter().filter_map(|item| match item {
            syn::Item::Fn(function) if function.sig.ident == "table" => Some(function),
            _ => None,
        });
        tables.for_each(|table| entries.visit_item_fn(table));
    }
    entries.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(core: &str, table: &str) -> Vec<String> {
        let file = |path: &str, source: &str| (path.to_owned(), source.to_owned());
        let files = [file("crates/core/src/api/queue.rs", core), file(TABLE, table)];
        compared(&files, CORE, TABLE, methods)
            .into_iter()
            .map(|(path, found)| format!("{path}:{} {}", found.line, found.what))
            .collect()
    }

    #[test]
    fn a_public_method_needs_an_entry() {
        let core = "impl CommandQueue {\n    pub fn fill(&self) {}\n    pub(crate) fn own(&self) {}\n}";
        let table = "fn table() -> Vec<Verb> { Vec::from([writes(\"fill\", |_, q| q.fill())]) }";
        assert!(found(core, table).is_empty());
        let missing = found(core, "fn table() -> Vec<Verb> { Vec::new() }");
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert!(
            missing[0].starts_with("crates/core/src/api/queue.rs:2 the public method `fill`"),
            "{missing:?}"
        );
    }

    #[test]
    fn a_method_in_any_impl_of_the_types_counts() {
        let table = "fn table() {}";
        for core in [
            "#[cfg(feature = \"image\")]\nimpl Capture { pub async fn a(&self) {} }",
            "mod inner { impl super::CommandQueue { pub fn a(&self) {} } }",
        ] {
            assert_eq!(found(core, table).len(), 1, "{core}");
        }
        for core in ["impl Event { pub fn a() {} }", "impl Deref for Capture { fn deref(&self) {} }"] {
            assert!(found(core, table).is_empty(), "{core}");
        }
    }

    #[test]
    fn an_entry_needs_a_method() {
        let found = found("", "\nfn table() { refused(\"gone\", |_, q| q.gone()); }");
        assert!(found[0].starts_with(&format!("{TABLE}:2 no queue")), "{found:?}");
    }

    #[test]
    fn a_missing_table_is_a_finding() {
        assert_eq!(check(&[]).len(), 2);
    }

    #[test]
    fn the_verbs_of_algorithms_are_the_methods_of_traits_of_queues() {
        let source = "pub trait Fold { fn sum(&self); fn min(&self) {} }\nimpl Fold for CommandQueue { fn sum(&self) {} }\n\
                      pub trait Other { fn own(&self); }\ntrait Hidden { fn no(&self); }\nimpl Hidden for CommandQueue {}";
        assert_eq!(verbs(source), [("sum".to_owned(), 1), ("min".to_owned(), 1)]);
    }
}
