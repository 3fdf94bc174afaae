//! Checks that each verb of the algorithms has a host function, or is listed with a reason why not.

use std::collections::BTreeSet;

use syn::{Item, Visibility};

use super::rules::Finding;
use super::verbs::{ALGORITHMS, verbs};

/// Folder of the host functions.
const HOST: &str = "crates/oracles/src";

/// Verbs without a host function, each with the reason.
const WITHOUT: [(&str, &str); 2] = [
    ("value_of", "it returns the result of another verb"),
    ("warm_up", "it compiles kernels and computes nothing"),
];

/// Suffixes of verbs that share the host function of the verb without the suffix.
const SHARED: [&str; 2] = ["_in_place", "_and_total"];

/// Returns each verb without a host function, and each entry of [`WITHOUT`] whose verb has one or does not exist.
pub(super) fn check(files: &[(String, String)]) -> Vec<(String, Finding)> {
    let of_host = files.iter().filter(|(path, _)| path.starts_with(HOST));
    let functions: BTreeSet<String> = of_host.flat_map(|(_, source)| functions(source)).collect();
    let mut findings = Vec::new();
    let mut verbs_without = BTreeSet::new();
    for (path, source) in files.iter().filter(|(path, _)| path.starts_with(ALGORITHMS)) {
        for (verb, line) in
            verbs(source).into_iter().filter(|(verb, _)| !functions.contains(function(verb).as_str()))
        {
            if !WITHOUT.iter().any(|(name, _)| *name == verb) {
                let what = format!("the verb `{verb}` has no host function `{}` in {HOST}", function(&verb));
                findings.push((path.clone(), Finding { line, what }));
            }
            verbs_without.insert(verb);
        }
    }
    for (name, reason) in WITHOUT.iter().filter(|(name, _)| !verbs_without.contains(*name)) {
        let what = format!("no verb `{name}` lacks a host function: remove its reason, \"{reason}\"");
        findings.push((format!("{HOST}/lib.rs"), Finding { line: 1, what }));
    }
    findings
}

/// Returns the name of a verb's host function, without a shared suffix.
fn function(verb: &str) -> String {
    let shared = SHARED.iter().find_map(|ending| verb.strip_suffix(ending));
    shared.unwrap_or(verb).to_owned()
}

/// Returns the names of the public functions of a file.
fn functions(source: &str) -> Vec<String> {
    let Ok(file) = syn::parse_file(source) else { return Vec::new() };
    let public = file.items.iter().filter_map(|item| match item {
        Item::Fn(function) if matches!(function.vis, Visibility::Public(_)) => Some(&function.sig.ident),
        _ => None,
    });
    public.map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(verbs: &str, host: &str) -> Vec<String> {
        let file = |path: &str, source: String| (path.to_owned(), source);
        let traits = format!("pub trait Verbs {{\n{verbs}\n}}\nimpl Verbs for CommandQueue {{}}");
        let files =
            [file("crates/algorithms/src/verbs.rs", traits), file(&format!("{HOST}/all.rs"), host.into())];
        check(&files)
            .into_iter()
            .map(|(path, found)| format!("{path}:{} {}", found.line, found.what))
            .collect()
    }

    const WITHOUT_FUNCTIONS: &str = "fn warm_up(&self); fn value_of(&self);";

    #[test]
    fn a_verb_needs_a_public_function_of_the_host() {
        let verbs = format!("{WITHOUT_FUNCTIONS}\nfn sum(&self);");
        assert!(found(&verbs, "pub fn sum() {}").is_empty());
        for host in ["", "fn sum() {}", "pub(crate) fn sum() {}", "pub fn min() {}"] {
            let found = found(&verbs, host);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(
                found[0].starts_with("crates/algorithms/src/verbs.rs:3 the verb `sum` has no"),
                "{found:?}"
            );
        }
    }

    #[test]
    fn verbs_with_an_ending_share_the_function_of_the_name_without_it() {
        for (verb, name) in
            [("sort_pairs_in_place", "sort_pairs"), ("scan_and_total", "scan"), ("mean", "mean")]
        {
            assert_eq!(function(verb), name);
        }
    }

    #[test]
    fn a_reason_for_a_verb_that_has_a_function_or_is_gone_is_a_finding() {
        assert_eq!(found("fn sum(&self);", "pub fn sum() {}").len(), 2);
        let found = found(WITHOUT_FUNCTIONS, "pub fn warm_up() {}");
        assert!(found[0].contains("no verb `warm_up` lacks a host function"), "{found:?}");
    }
}
