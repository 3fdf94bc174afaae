//! Rules of the house that neither rustc nor clippy knows.

mod code;
pub(crate) mod floors;
mod imports;
mod rules;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

/// Checks every Rust file of the workspace and prints what breaks a rule.
///
/// # Errors
/// If anything breaks a rule, or a file cannot be read.
pub(crate) fn lint(workspace: &Workspace) -> Result<()> {
    let files = rust_files(workspace)?;
    let mut broken = 0;
    for file in &files {
        let source = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let path = relative(workspace.root(), file);
        for finding in rules::check(&path, &source) {
            eprintln!("{path}:{}: {}", finding.line, finding.what);
            broken += 1;
        }
    }
    if broken > 0 {
        bail!("{broken} broken rules in {} files", files.len());
    }
    eprintln!("lint: {} files keep the rules", files.len());
    Ok(())
}

fn relative(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/")
}

/// Every Rust file below the folders that hold code, sorted.
fn rust_files(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["crates", "benches", "examples", "tests"].map(|name| workspace.path(name)) {
        if folder.is_dir() {
            collect(&folder, &mut files).with_context(|| format!("cannot read {}", folder.display()))?;
        }
    }
    files.sort();
    Ok(files)
}

/// Compile-fail cases break rules on purpose, and build outputs are not ours.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !matches!(name.as_str(), "target" | "compile_fail") {
            collect(&path, files)?;
        } else if name.ends_with(".rs") {
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
        collect(dir.path(), &mut files).expect("readable");
        files.sort();
        assert_eq!(files, [dir.path().join("a.rs"), dir.path().join("deep/d.rs")]);
    }
}
