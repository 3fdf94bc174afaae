//! House rules that neither rustc nor clippy checks.

mod code;
pub(crate) mod floors;
mod host_functions;
pub(crate) mod imports;
mod names;
mod nouns;
mod rules;
mod verbs;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::api;
use crate::floors::{DRAWING, is_drawn};
use crate::lint::rules::Finding;
use crate::semantics;
use crate::workspace::Workspace;

/// Checks every Rust file, shader and page of the workspace and prints what breaks a rule.
///
/// # Errors
/// A rule is broken, or a file cannot be read.
pub(crate) fn lint(workspace: &Workspace) -> Result<()> {
    let words = words::Words::new();
    let sources = read(workspace, &files(workspace, &[".rs"])?)?;
    let mut findings = Vec::new();
    for (path, source) in &sources {
        let found = rules::check(path, source)
            .into_iter()
            .chain(words.of_code(path, source))
            .chain(nouns::check(source));
        findings.extend(found.map(|finding| (path.clone(), finding)));
    }
    for (path, source) in read(workspace, &files(workspace, &[".wgsl"])?)? {
        findings.extend(words.of_code(&path, &source).into_iter().map(|finding| (path.clone(), finding)));
    }
    for (path, source) in read(workspace, &pages(workspace.root())?)? {
        findings.extend(words.of_page(&source).into_iter().map(|finding| (path.clone(), finding)));
    }
    findings.extend(names::check(&sources));
    findings.extend(verbs::check(&sources));
    findings.extend(host_functions::check(&sources));
    findings.extend(floors::check(workspace)?);
    for what in semantics::check(workspace, &sources)? {
        findings.push((semantics::LIST.to_owned(), Finding { line: 1, what }));
    }
    if !is_drawn(workspace)? {
        let what = "the drawing differs from the imports: run `cargo xtask floors --write`".to_owned();
        findings.push((DRAWING.to_owned(), Finding { line: 1, what }));
    }
    if !api::is_listed(workspace)? {
        let what = "the page differs from the public names: run `cargo xtask api --write`".to_owned();
        findings.push((api::PAGE.to_owned(), Finding { line: 1, what }));
    }
    for (path, finding) in &findings {
        eprintln!("{path}:{}: {}", finding.line, finding.what);
    }
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
    let mut files = Vec::new();
    collect(&workspace.path(folder), &[".rs"], &mut files)
        .with_context(|| format!("cannot read {folder}"))?;
    files.sort();
    read(workspace, &files)
}

fn read(workspace: &Workspace, files: &[PathBuf]) -> Result<Vec<(String, String)>> {
    let read = |file: &PathBuf| {
        let source = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok((relative(workspace.root(), file), source))
    };
    files.iter().map(read).collect()
}

fn relative(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/")
}

/// Returns every file with one of the endings in the folders with code, sorted.
fn files(workspace: &Workspace, endings: &[&str]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["crates", "benches", "examples", "fuzz", "tests"].map(|name| workspace.path(name)) {
        if folder.is_dir() {
            collect(&folder, endings, &mut files)
                .with_context(|| format!("cannot read {}", folder.display()))?;
        }
    }
    files.sort();
    Ok(files)
}

/// Returns every page of the repository, sorted.
fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    collect(root, &[".md"], &mut pages)?;
    pages.sort();
    Ok(pages)
}

/// Leaves out compile-fail cases, which break rules on purpose, and folders of build outputs and tools.
fn collect(dir: &Path, endings: &[&str], files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "target" | "compile_fail" | "node_modules") && !name.starts_with('.')
            {
                collect(&path, endings, files)?;
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_outputs_and_compile_fail_cases_are_left_out() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for file in ["a.rs", "target/b.rs", "compile_fail/c.rs", "deep/d.rs", "e.txt"] {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, "").expect("written");
        }
        let mut files = Vec::new();
        collect(dir.path(), &[".rs"], &mut files).expect("readable");
        files.sort();
        assert_eq!(files, [dir.path().join("a.rs"), dir.path().join("deep/d.rs")]);
    }

    #[test]
    fn every_page_of_the_repository_is_read() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let ours = ["README.md", "crates/a/README.md", "crates/a/src/page.md", "docs/a.md"];
        for file in ours.iter().chain(&[".git/a.md", "target/a.md"]) {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, "").expect("written");
        }
        assert_eq!(pages(dir.path()).expect("readable"), ours.map(|file| dir.path().join(file)));
    }
}
