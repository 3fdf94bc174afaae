//! One name for a thing: file stems, types and constants.

use std::collections::BTreeMap;
use std::path::Path;

use super::code::code_only;
use super::rules::Finding;

/// The crate whose file stems are unique.
const STEMS: &str = "crates/core/src/";
/// The crates in each of which no two types share a name, and no two constants of different values.
const CRATES: [&str; 4] =
    ["crates/core/src/", "crates/sync/src/", "crates/kernels/src/", "crates/profile/src/"];

/// Returns every name that stands for two things; `files` are paths from the root, with their sources.
pub(super) fn check(files: &[(String, String)]) -> Vec<(String, Finding)> {
    let mut findings = stems(files);
    for of in CRATES {
        let own: Vec<_> =
            files.iter().filter(|(path, _)| path.starts_with(of) && !path.contains("loom_models")).collect();
        findings.extend(types(&own));
        findings.extend(constants(&own));
    }
    findings
}

/// `mod.rs` is the name that Rust gives.
fn stems(files: &[(String, String)]) -> Vec<(String, Finding)> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut findings = Vec::new();
    for (path, _) in files.iter().filter(|(path, _)| path.starts_with(STEMS)) {
        let stem = Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if stem == "mod" {
            continue;
        }
        if let Some(other) = seen.insert(stem, path) {
            let what = format!("the stem `{stem}` is that of {other} too");
            findings.push((path.clone(), Finding { line: 1, what }));
        }
    }
    findings
}

/// Returns the lines of a file that are no test, with their numbers, from 1.
fn lines(source: &str) -> Vec<(usize, String)> {
    let code = code_only(source);
    let end = source
        .find("#[cfg(test)]\nmod ")
        .or_else(|| source.find("#[cfg(all(test, not(fencepost_loom)))]\nmod "));
    let end = end.map_or(usize::MAX, |at| source[..at].matches('\n').count());
    code.lines().take(end).enumerate().map(|(at, line)| (at + 1, line.to_owned())).collect()
}

fn after_visibility(line: &str) -> &str {
    let line = line.strip_prefix("pub").unwrap_or(line);
    let line = if line.starts_with('(') { line.split_once(')').map_or(line, |(_, rest)| rest) } else { line };
    line.trim_start()
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("tests.rs")
}

/// A type that stands twice in one file has one form for each target.
fn types(files: &[&(String, String)]) -> Vec<(String, Finding)> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let mut findings = Vec::new();
    for (path, source) in files.iter().filter(|(path, _)| !is_test(path)) {
        // The other form of a module for targets without native memory has its names.
        if path.ends_with("no_native_memory.rs") {
            continue;
        }
        for (line, text) in lines(source) {
            let mut words = after_visibility(&text).split_whitespace();
            let is_type =
                !text.starts_with(' ') && matches!(words.next(), Some("struct" | "enum" | "trait" | "type"));
            let Some(name) = words.next().filter(|_| is_type) else { continue };
            let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            match seen.get(&name) {
                Some(other) if *other != path => {
                    let what = format!("the type `{name}` has the name of another in {other}");
                    findings.push((path.clone(), Finding { line, what }));
                }
                _ => drop(seen.insert(name, path)),
            }
        }
    }
    findings
}

fn constants(files: &[&(String, String)]) -> Vec<(String, Finding)> {
    let mut seen: BTreeMap<String, (&str, String)> = BTreeMap::new();
    let mut findings = Vec::new();
    for (path, source) in files.iter().filter(|(path, _)| !is_test(path)) {
        for (line, text) in lines(source) {
            let Some(rest) =
                after_visibility(&text).strip_prefix("const ").filter(|_| !text.starts_with(' '))
            else {
                continue;
            };
            let Some((name, value)) = rest.split_once(':') else { continue };
            match seen.get(name) {
                Some((other, known)) if known != value => {
                    let what = format!("the constant `{name}` has another value in {other}");
                    findings.push((path.clone(), Finding { line, what }));
                }
                _ => drop(seen.insert(name.to_owned(), (path, value.to_owned()))),
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
    fn two_files_share_no_stem() {
        assert!(found(&[("a/mod.rs", ""), ("b/mod.rs", ""), ("a/one.rs", "")]).is_empty());
        assert!(found(&[("a/one.rs", ""), ("b/one.rs", "")])[0].contains("the stem `one`"));
    }

    #[test]
    fn two_types_share_no_name() {
        let found = found(&[
            ("a.rs", "pub(crate) struct Part<'a>;"),
            ("b.rs", "\nenum Part {\n"),
            ("c.rs", "// struct Part"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/core/src/b.rs:2 the type `Part`"), "{found:?}");
    }

    #[test]
    fn types_of_impls_and_of_tests_are_no_names() {
        let test = "#[cfg(test)]\nmod tests {\nstruct Part;\n}\n";
        assert!(
            found(&[("a.rs", "struct Part;"), ("b.rs", test), ("c.rs", "    type Part = u8;")]).is_empty()
        );
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
