//! `cargo xtask model`: runs the loom models, which try every order of threads.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use crate::shell::{Line, cargo};
use crate::suite;
use crate::workspace::Workspace;

/// Crates that may have models, by folder and package name.
const CRATES: [(&str, &str); 2] = [("crates/sync", "fencepost-sync"), ("crates/core", "fencepost-core")];

/// Runs each crate's `tests/loom_*.rs` and its unit tests in modules named `loom*`: the tests whose names contain a
/// word of `filter`, or all without a filter.
pub(crate) fn model(workspace: &Workspace, filter: &[String]) -> Result<()> {
    let mut found = false;
    let mut ran = 0;
    for (folder, package) in CRATES {
        let dir = workspace.path(folder);
        for (target, all, there) in [
            (["--test", "loom_*"].as_slice(), "", has_model_tests(&dir.join("tests"))),
            (&["--lib"], "loom", mentions_model(&dir.join("src"))),
        ] {
            if there {
                found = true;
                ran += run(&models(workspace, package).args(target), all, filter)?;
            }
        }
    }
    match (found, ran) {
        (false, _) => {
            bail!("no loom models: neither tests/loom_*.rs nor a module `loom*` in the crates sync and core")
        }
        (true, 0) => bail!("no model has a name with {}", filter.join(" or ")),
        _ => Ok(()),
    }
}

/// Runs the tests whose names contain `all` and a word of `filter`; returns their number.
fn run(tests: &Line, all: &str, filter: &[String]) -> Result<usize> {
    tests.clone().arg("--no-run").run()?;
    let list = tests.clone().args(["--", "--list", "--format", "terse", all]).read()?;
    let names = chosen(&list, filter);
    if !names.is_empty() {
        tests.clone().args(["--", "--exact"]).args(&names).run()?;
    }
    Ok(names.len())
}

/// Returns the names in a terse list of tests that contain a word of `filter`, or all without a filter.
fn chosen<'l>(list: &'l str, filter: &[String]) -> Vec<&'l str> {
    let meant = |name: &&str| filter.is_empty() || filter.iter().any(|word| name.contains(word.as_str()));
    suite::listed(list).filter(meant).collect()
}

fn models(workspace: &Workspace, package: &str) -> Line {
    let preemptions = std::env::var("LOOM_MAX_PREEMPTIONS").unwrap_or_else(|_| "2".to_owned());
    let test = cargo().var("RUSTFLAGS", "--cfg fencepost_loom").var("LOOM_MAX_PREEMPTIONS", preemptions);
    let test = test.args(["test", "--release", "-p", package, "--target-dir"]);
    test.arg(workspace.path("target/loom")).dir(workspace.root())
}

/// Returns `true` if the folder `tests` has a `loom_*.rs`.
fn has_model_tests(tests: &Path) -> bool {
    let names = fs::read_dir(tests).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .any(|name| name.starts_with("loom_") && name.ends_with(".rs"))
}

/// Returns `true` if a file below `src` declares a module whose name starts with `loom`.
fn mentions_model(src: &Path) -> bool {
    let entries = fs::read_dir(src).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.into_iter().any(|path| {
        let declares = |text: String| text.lines().any(declares_models);
        if path.is_dir() { mentions_model(&path) } else { fs::read_to_string(&path).is_ok_and(declares) }
    })
}

fn declares_models(line: &str) -> bool {
    let line = line.trim_start();
    line.strip_prefix("pub(crate) ").unwrap_or(line).starts_with("mod loom")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_chooses_by_any_of_its_words() {
        let list = "loom::a_waiter_ends: test\nloom::a_signal: test\n\n2 tests, 0 benchmarks\n";
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(chosen(list, &words(&["waiter", "other"])), ["loom::a_waiter_ends"]);
        assert_eq!(chosen(list, &[]).len(), 2);
        assert!(chosen(list, &words(&["other"])).is_empty());
    }

    #[test]
    fn models_are_found_in_tests_and_in_modules() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("other.rs"), "mod bloom;").expect("written");
        assert!(!has_model_tests(dir.path()) && !mentions_model(dir.path()));
        fs::write(dir.path().join("loom_wait.rs"), "#[cfg(test)]\nmod loom_models {}").expect("written");
        assert!(has_model_tests(dir.path()) && mentions_model(dir.path()));
        assert!(declares_models("    pub(crate) mod loom_models;") && declares_models("mod loom {"));
    }

    #[test]
    fn core_has_models() {
        let workspace = Workspace::find().expect("the tests run in the workspace");
        assert!(mentions_model(&workspace.path("crates/core/src")));
    }
}
