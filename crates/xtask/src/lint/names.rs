//! Checks that names of types and constants are unique.

use std::collections::BTreeMap;

use super::Finding;
use super::code::{Source, identifier, item_length, line_at, without_tests};

/// Crates that programs see together. In each group, two types may not share a name.
const GROUPS: [&[&str]; 2] = [
    &["crates/core/src/", "crates/graph-file/src/", "crates/sync/src/", "crates/kernels/src/"],
    &["crates/profile/src/"],
];

/// Type names that every crate may use: its error, and the results and pending results with this error.
const OF_EACH_CRATE: [&str; 3] = ["Error", "Result", "Pending"];

/// Modules that use the same names on purpose: they are variants for targets without the mechanism.
const VARIANTS: [&str; 2] = ["no_host_view.rs", "no_native_memory.rs"];

/// An item at the top of a file.
struct Defined<'a> {
    keyword: &'a str,
    name: &'a str,
    /// Text after the equals sign, for a constant.
    value: String,
    line: usize,
}

/// Returns every name with two meanings: a type of a group, or a constant of a crate with different values.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut types: BTreeMap<(&str, String), &str> = BTreeMap::new();
    let mut constants: BTreeMap<(&str, String), (String, &str)> = BTreeMap::new();
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let path = source.path.as_str();
        let Some(group) = GROUPS.iter().find(|group| group.iter().any(|of| path.starts_with(of))) else {
            continue;
        };
        let own = *group.iter().find(|of| path.starts_with(**of)).expect("bug: it is in the group");
        let is_variant = VARIANTS.iter().any(|name| path.ends_with(name));
        let mut add = |line, what| findings.push(Finding { path: path.to_owned(), line, what });
        let code = without_tests(&source.code);
        for Defined { keyword, name, value, line } in defined(&source.text, &code) {
            let key = |of| (of, name.to_owned());
            if matches!(keyword, "const" | "static") {
                let (known, other) = constants.entry(key(own)).or_insert_with(|| (value.clone(), path));
                if *known != value {
                    add(line, format!("the constant `{name}` has another value in {other}"));
                }
            } else if !is_variant {
                let of = if OF_EACH_CRATE.contains(&name) { own } else { group[0] };
                let other = *types.entry(key(of)).or_insert(path);
                if other != path {
                    add(line, format!("the type `{name}` has the name of another in {other}"));
                }
            }
        }
    }
    findings
}

/// Returns the types and constants at the top of a file; `code` is the code of `text`.
fn defined<'a>(text: &str, code: &'a str) -> Vec<Defined<'a>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in code.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let item = match line.strip_prefix("pub(") {
            Some(rest) => rest.split_once(") ").map_or(rest, |(_, rest)| rest),
            None => line.strip_prefix("pub ").unwrap_or(line),
        };
        let keyword = identifier(item);
        let name = identifier(item[keyword.len()..].trim_start());
        let is_constant = matches!(keyword, "const" | "static") && !matches!(name, "_" | "fn" | "unsafe");
        if is_constant || matches!(keyword, "struct" | "enum" | "union" | "trait" | "type") {
            let end = start + item_length(&code[start..]);
            let value = text[start..end].split_once('=').map_or("", |(_, value)| value);
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            found.push(Defined { keyword, name, value, line: line_at(code, start) });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let source = |(path, text): &(&str, &str)| Source::new(format!("crates/{path}"), (*text).to_owned());
        let found = check(&files.iter().map(source).collect::<Vec<_>>());
        found.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn two_types_share_no_name() {
        let found = found(&[
            ("core/src/a.rs", "pub(crate) struct Part<'a>;"),
            ("core/src/b.rs", "\nenum Part {}\n"),
            ("core/src/c.rs", "// struct Part"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/core/src/b.rs:2: the type `Part`"), "{found:?}");
    }

    #[test]
    fn the_crates_that_programs_see_together_share_no_name_of_a_type() {
        let of = |crates: &[&str], text: &str| {
            let paths: Vec<String> = crates.iter().map(|of| format!("{of}/src/{of}_a.rs")).collect();
            found(&paths.iter().map(|path| (path.as_str(), text)).collect::<Vec<_>>()).len()
        };
        assert_eq!(of(&["core", "graph-file", "kernels", "sync", "profile"], "struct Part;"), 3);
        assert_eq!(of(&["core", "sync"], "pub enum Error {}"), 0);
        assert_eq!(found(&[("core/src/a.rs", "enum Error {}"), ("core/src/b.rs", "enum Error {}")]).len(), 1);
    }

    #[test]
    fn a_type_has_a_form_for_each_target() {
        let forms = "#[cfg(unix)]\nstruct Part;\n#[cfg(windows)]\nstruct Part;";
        assert!(found(&[("core/src/a.rs", forms)]).is_empty());
    }

    #[test]
    fn types_of_impls_and_of_tests_are_no_names() {
        let test = "#[cfg(test)]\nmod tests {\nstruct Part;\n}\n";
        let of_impl = "impl A for B {\n    type Part = u8;\n}";
        let own = ("core/src/a.rs", "struct Part;");
        assert!(found(&[own, ("core/src/b.rs", test), ("core/src/c.rs", of_impl)]).is_empty());
        let after = format!("{test}struct Part;");
        assert_eq!(found(&[own, ("core/src/b.rs", &after)]).len(), 1);
    }

    #[test]
    fn a_constant_has_one_value() {
        let own = ("core/src/a.rs", "const MIB: u64 = 1 << 20;");
        let with = |other: &str| found(&[own, ("core/src/b.rs", other)]);
        assert!(with("pub(crate) const MIB: u64 =\n    1 << 20;").is_empty());
        assert!(with("const MIB: u64 = 1 << 21;")[0].contains("`MIB`"));
        assert!(with("static MIB: &str = \"a\";")[0].contains("`MIB`"));
        assert!(found(&[("core/src/a.rs", "const _: () = ();\nconst _: u8 = 1;")]).is_empty());
    }
}
