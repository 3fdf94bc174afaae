//! Checks that each verb has what its tests need: an entry in the table of its conformance tests, and for a verb of the
//! algorithms a host function, or a reason why not.

use std::collections::BTreeSet;

use super::Finding;
use super::code::{Source, identifier};

/// Folders of the crates with verbs, and the tables of their tests.
const CORE: &str = "crates/core/src/";
const ALGORITHMS: &str = "crates/algorithms/src/";
const TABLE: &str = "tests/conformance/graphs/verb_table.rs";
const TABLE_OF_ALGORITHMS: &str = "tests/conformance/algorithms/verb_table.rs";

/// Folder of the host functions.
const HOST: &str = "crates/oracles/src/";

/// Verbs without a host function, each with the reason.
const WITHOUT: [(&str, &str); 2] = [
    ("value_of", "it returns the result of another verb"),
    ("warm_up", "it compiles kernels and computes nothing"),
];

/// Suffixes of verbs that share the host function of the verb without the suffix.
const SHARED: [&str; 2] = ["_in_place", "_and_total"];

/// A verb, and its place.
struct Verb<'a> {
    name: &'a str,
    path: &'a str,
    line: usize,
}

/// Returns each verb without an entry or a host function, and each entry or reason without a verb.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let is_block = |line: &str| matches!(line, "impl CommandQueue {" | "impl Capture {");
    let verbs = verbs_of(sources, CORE, is_block, "    pub ");
    let mut findings = compared(sources, &verbs, TABLE);
    let is_block = |line: &str| line.starts_with("pub trait Algorithms");
    let verbs = verbs_of(sources, ALGORITHMS, is_block, "    ");
    findings.extend(compared(sources, &verbs, TABLE_OF_ALGORITHMS));
    findings.extend(without_host_function(sources, &verbs));
    findings
}

/// Returns the functions in the blocks of a folder whose first line is chosen by `is_block`. Each begins with `start`.
fn verbs_of<'a>(
    sources: &'a [Source],
    folder: &str,
    is_block: impl Fn(&str) -> bool,
    start: &str,
) -> Vec<Verb<'a>> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.path.starts_with(folder)) {
        let mut inside = false;
        for (at, line) in source.code.lines().enumerate() {
            if !line.is_empty() && !line.starts_with(' ') {
                inside = is_block(line);
            }
            let item = line.strip_prefix(start).filter(|_| inside);
            let item = item.map(|item| item.strip_prefix("const ").unwrap_or(item));
            let item = item.map(|item| item.strip_prefix("async ").unwrap_or(item));
            if let Some(item) = item.and_then(|item| item.strip_prefix("fn ")) {
                found.push(Verb { name: identifier(item), path: &source.path, line: at + 1 });
            }
        }
    }
    found
}

/// Compares verbs with a table: the first words of the strings that are first arguments of functions in `fn table`. Strings
/// of methods and of paths are not entries.
fn compared(sources: &[Source], verbs: &[Verb<'_>], path: &str) -> Vec<Finding> {
    let finding = |path: &str, line, what| Finding { path: path.to_owned(), line, what };
    let table = sources.iter().find(|source| source.path == path);
    let Some((before, table)) = table.and_then(|source| source.text.split_once("fn table(")) else {
        return vec![finding(path, 1, "the table of the verbs on a captured queue is missing".to_owned())];
    };
    let table = table.split("\n}").next().unwrap_or(table);
    let first_line = before.matches('\n').count() + 1;
    let mut entries = Vec::new();
    for (at, line) in table.lines().enumerate() {
        for (place, _) in line.match_indices("(\"") {
            let function = line[..place].trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
            if !function.ends_with(['.', ':']) {
                entries.push((identifier(&line[place + 2..]), first_line + at));
            }
        }
    }
    let mut findings = Vec::new();
    for verb in verbs.iter().filter(|verb| !entries.iter().any(|(name, _)| *name == verb.name)) {
        let what = format!("the public method `{}` has no entry in {path}", verb.name);
        findings.push(finding(verb.path, verb.line, what));
    }
    for (name, line) in entries.iter().filter(|(name, _)| !verbs.iter().any(|verb| verb.name == *name)) {
        let what = format!("no queue and no capture has a public method `{name}`");
        findings.push(finding(path, *line, what));
    }
    findings
}

fn without_host_function(sources: &[Source], verbs: &[Verb<'_>]) -> Vec<Finding> {
    let of_host = sources.iter().filter(|source| source.path.starts_with(HOST));
    let lines = of_host.flat_map(|source| source.code.lines());
    let public = lines.filter_map(|line| line.strip_prefix("pub fn "));
    let functions: BTreeSet<&str> = public.map(identifier).collect();
    let mut findings = Vec::new();
    for Verb { name, path, line } in verbs {
        let function = SHARED.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
        let reason = WITHOUT.iter().find(|(without, _)| without == name);
        let what = match (functions.contains(function), reason) {
            (true, Some((_, reason))) => format!("`{name}` has a host function: remove \"{reason}\""),
            (false, None) => format!("the verb `{name}` has no host function `{function}` in {HOST}"),
            _ => continue,
        };
        findings.push(Finding { path: (*path).to_owned(), line: *line, what });
    }
    for (name, reason) in WITHOUT.iter().filter(|(name, _)| !verbs.iter().any(|verb| verb.name == *name)) {
        let what = format!("there is no verb `{name}`: remove \"{reason}\"");
        findings.push(Finding { path: format!("{HOST}lib.rs"), line: 1, what });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: &str = "crates/core/src/api/queue.rs";
    const TRAIT: &str = "crates/algorithms/src/algorithms.rs";
    const REASONS: &str = "    fn warm_up(&self);\n    fn value_of(&self);\n";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let source = |(path, text): &(&str, &str)| Source::new((*path).to_owned(), (*text).to_owned());
        let sources: Vec<Source> = files.iter().map(source).collect();
        check(&sources).iter().map(Finding::to_string).collect()
    }

    /// Returns the findings about the table of core.
    fn of_core(core: &str, table: &str) -> Vec<String> {
        let mut found = found(&[(QUEUE, core), (TABLE, table)]);
        found.retain(|found| found.starts_with(QUEUE) || found.starts_with(TABLE));
        found
    }

    /// Returns the findings about host functions, for verbs that have entries.
    fn of_host(verbs: &[&str], host: &str) -> Vec<String> {
        let traits: String = verbs.iter().map(|verb| format!("    fn {verb}(&self);\n")).collect();
        let traits = format!("pub trait Algorithms: Queue {{\n{REASONS}{traits}}}\n");
        let mut found = found(&[(TRAIT, &traits), ("crates/oracles/src/all.rs", host)]);
        found.retain(|found| found.contains("host function"));
        found
    }

    #[test]
    fn a_public_method_needs_an_entry() {
        let core = "impl CommandQueue {\n    pub fn fill(&self) {}\n    pub(crate) fn own(&self) {}\n}\n";
        let table = "fn table() -> Vec<Verb> { Vec::from([writes(\"fill\", |_, q| q.fill())]) }";
        assert!(of_core(core, table).is_empty());
        let missing = of_core(core, "fn table() -> Vec<Verb> { Vec::new() }");
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert!(missing[0].starts_with(&format!("{QUEUE}:2: the public method `fill`")), "{missing:?}");
    }

    #[test]
    fn a_method_in_any_impl_of_the_types_counts() {
        for core in [
            "#[cfg(feature = \"image\")]\nimpl Capture {\n    pub async fn a(&self) {}\n}",
            "impl CommandQueue {\n    pub const fn a() {}\n}",
        ] {
            assert_eq!(of_core(core, "fn table() {}").len(), 1, "{core}");
        }
        for core in
            ["impl Event {\n    pub fn a() {}\n}", "impl Deref for Capture {\n    fn deref(&self) {}\n}"]
        {
            assert!(of_core(core, "fn table() {}").is_empty(), "{core}");
        }
    }

    #[test]
    fn an_entry_needs_a_method() {
        let found = of_core("", "\nfn table() {\n    refused(\"gone now\", |_, q| q.gone(\"not this\"));\n}");
        assert_eq!(found, [format!("{TABLE}:3: no queue and no capture has a public method `gone`")]);
    }

    #[test]
    fn a_missing_table_is_a_finding() {
        assert_eq!(found(&[]).iter().filter(|found| found.contains("table of the verbs")).count(), 2);
    }

    #[test]
    fn a_verb_needs_a_public_function_of_the_host() {
        assert!(of_host(&["sum"], "pub fn sum() {}").is_empty());
        for host in ["", "fn sum() {}", "pub(crate) fn sum() {}", "pub fn min() {}"] {
            let found = of_host(&["sum"], host);
            let expected = format!("{TRAIT}:4: the verb `sum` has no host function");
            assert!(found.len() == 1 && found[0].starts_with(&expected), "{found:?}");
        }
    }

    #[test]
    fn verbs_with_an_ending_share_the_function_of_the_name_without_it() {
        let host = "pub fn sort_pairs() {}\npub fn scan() {}";
        assert!(of_host(&["sort_pairs_in_place", "scan_and_total", "scan"], host).is_empty());
    }

    #[test]
    fn a_reason_for_a_verb_that_has_a_function_or_is_gone_is_a_finding() {
        assert!(of_host(&[], "pub fn warm_up() {}")[0].contains("`warm_up` has a host function"));
        assert_eq!(found(&[]).iter().filter(|found| found.contains("there is no verb")).count(), 2);
    }
}
