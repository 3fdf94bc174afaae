//! `cargo xtask demo`: computes BLAKE3 of the largest files of the Rust toolchain on a device, and checks it with plain Rust.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, line};
use crate::workspace::Workspace;

/// Bytes of input that the demo reads, or fewer if the toolchain is smaller.
const ENOUGH: u64 = 400 << 20;
/// Most files.
const MOST_FILES: usize = 16;

/// Builds the example and hashes the toolchain's largest files with it. On a machine without a driver, the example runs on
/// the CPU.
pub(crate) fn demo(workspace: &Workspace, args: &[String]) -> Result<()> {
    let sysroot = line("rustc").args(["--print", "sysroot"]).read()?;
    let files = input(Path::new(sysroot.trim()))?;
    let example =
        cargo().args(["run", "--release", "-p", "fencepost", "--example", "b3sum", "--", "--verify"]);
    example.args(args).args(files).dir(workspace.root()).run()
}

/// Returns the largest files below `dir`, up to the size and number above.
fn input(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    sizes(dir, &mut files).with_context(|| format!("cannot read {}", dir.display()))?;
    let files = largest(files, ENOUGH, MOST_FILES);
    if files.is_empty() {
        bail!("no files below {}", dir.display());
    }
    Ok(files)
}

/// Collects the size and path of every file below `dir`; links are left out.
fn sizes(dir: &Path, files: &mut Vec<(u64, PathBuf)>) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)?.flatten() {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sizes(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push((entry.metadata()?.len(), entry.path()));
        }
    }
    Ok(())
}

fn largest(mut files: Vec<(u64, PathBuf)>, enough: u64, most: usize) -> Vec<PathBuf> {
    files.sort_by(|a, b| b.cmp(a));
    let mut total = 0;
    let mut chosen = Vec::new();
    for (size, path) in files.into_iter().take(most) {
        if total >= enough {
            break;
        }
        total += size;
        chosen.push(path);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(sizes: &[(u64, &str)]) -> Vec<(u64, PathBuf)> {
        sizes.iter().map(|(size, name)| (*size, PathBuf::from(name))).collect()
    }

    #[test]
    fn the_largest_files_are_taken_first_until_they_are_enough() {
        let files = named(&[(1, "a"), (50, "b"), (60, "c"), (40, "d")]);
        assert_eq!(largest(files.clone(), 100, 9), [Path::new("c"), Path::new("b")]);
        assert_eq!(largest(files.clone(), 111, 9).len(), 3);
        assert_eq!(largest(files, 1000, 2).len(), 2);
    }

    #[test]
    fn files_are_found_at_any_depth() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir_all(dir.path().join("lib/deep")).expect("made");
        fs::write(dir.path().join("lib/deep/big"), [0; 9]).expect("written");
        fs::write(dir.path().join("small"), [0; 2]).expect("written");
        let files = input(dir.path()).expect("two files");
        assert_eq!(files, [dir.path().join("lib/deep/big"), dir.path().join("small")]);
    }
}
