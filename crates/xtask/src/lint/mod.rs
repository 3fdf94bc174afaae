//! House rules that neither rustc nor clippy checks.

mod code;
mod floors;
mod names;
mod rules;
mod verbs;
mod words;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use self::code::Source;
use crate::api;
use crate::semantics;
use crate::workspace::{Workspace, text_of};

/// Line of a broken rule in a file, and a description.
type Found = (usize, String);

/// A broken rule.
struct Finding {
    /// Path from the root, with forward slashes.
    path: String,
    line: usize,
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Checks every Rust file, shader and page of the workspace and prints what breaks a rule.
///
/// # Errors
/// A rule is broken, or a file cannot be read.
pub(crate) fn lint(workspace: &Workspace) -> Result<()> {
    let words = words::Words::new();
    let sources = with_ending(workspace, ".rs")?;
    let mut findings = names::check(&sources);
    let mut add = |path: &str, found: Vec<Found>| {
        findings.extend(found.into_iter().map(|(line, what)| Finding { path: path.to_owned(), line, what }));
    };
    for source in &sources {
        add(&source.path, rules::check(source));
        add(&source.path, words.of_code(source));
    }
    for shader in with_ending(workspace, ".wgsl")? {
        add(&shader.path, words.of_code(&shader));
    }
    for (path, page) in read(workspace, &pages(workspace.root())?)? {
        add(&path, words.of_page(&page));
    }
    let texts = sources.iter().map(|source| (source.path.as_str(), source.text.as_str()));
    for what in semantics::check(workspace, texts)? {
        add(semantics::LIST, vec![(1, what)]);
    }
    if !api::is_listed(workspace)? {
        let what = "the page differs from the public names: run `cargo xtask api --write`";
        add(api::PAGE, vec![(1, what.to_owned())]);
    }
    findings.extend(verbs::check(&sources));
    findings.extend(floors::check(workspace, &sources)?);
    findings.iter().for_each(|finding| eprintln!("{finding}"));
    if !findings.is_empty() {
        bail!("{} broken rules in {} files", findings.len(), sources.len());
    }
    eprintln!("lint: {} files keep the rules", sources.len());
    Ok(())
}

/// Returns the Rust files of a folder, with their sources, sorted.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn rust_files(workspace: &Workspace, folder: &str) -> Result<Vec<(String, String)>> {
    read(workspace, &files(&workspace.path(folder), ".rs")?)
}

/// Returns every file with this ending in the folders with code, sorted.
fn with_ending(workspace: &Workspace, ending: &str) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    for folder in ["crates", "benches", "examples", "fuzz", "tests"] {
        found.extend(read(workspace, &files(&workspace.path(folder), ending)?)?);
    }
    Ok(found.into_iter().map(|(path, text)| Source::new(path, text)).collect())
}

/// Returns every page of the repository, sorted.
fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    files(root, ".md")
}

fn read(workspace: &Workspace, files: &[PathBuf]) -> Result<Vec<(String, String)>> {
    let read = |file: &PathBuf| {
        let path = file.strip_prefix(workspace.root()).unwrap_or(file).to_string_lossy().replace('\\', "/");
        Ok((path, text_of(file)?))
    };
    files.iter().map(read).collect()
}

/// Returns the files of a folder with this ending, sorted.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect(folder, ending, &mut files).with_context(|| format!("cannot read {}", folder.display()))?;
    files.sort();
    Ok(files)
}

/// Leaves out compile-fail cases, which break rules on purpose, and folders of build outputs and tools.
fn collect(dir: &Path, ending: &str, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "target" | "compile_fail" | "node_modules") && !name.starts_with('.')
            {
                collect(&path, ending, files)?;
            }
        } else if name.ends_with(ending) {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(paths: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for path in paths.iter().map(|path| dir.path().join(path)) {
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, "").expect("written");
        }
        dir
    }

    #[test]
    fn build_outputs_and_compile_fail_cases_are_left_out() {
        let dir = written(&["a.rs", "target/b.rs", "compile_fail/c.rs", "deep/d.rs", "e.txt"]);
        let found = files(dir.path(), ".rs").expect("readable");
        assert_eq!(found, [dir.path().join("a.rs"), dir.path().join("deep/d.rs")]);
    }

    #[test]
    fn every_page_of_the_repository_is_read() {
        let ours = ["README.md", "crates/a/README.md", "crates/a/src/page.md", "docs/a.md"];
        let dir = written(&[&ours[..], &[".git/a.md", "target/a.md"]].concat());
        assert_eq!(pages(dir.path()).expect("readable"), ours.map(|file| dir.path().join(file)));
    }
}
