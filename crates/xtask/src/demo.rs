//! `cargo xtask demo`: builds and runs the program of `crates/demo`, on the largest files of the Rust toolchain.

use std::fs;
use std::path::{self, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::environment::missing_runtime_dir;
use crate::shell::{cargo, line};
use crate::workspace::Workspace;

/// Cargo profile of the program.
const PROFILE: &str = "demo";
/// Bytes of input, or fewer if the toolchain is smaller.
const ENOUGH: u64 = 400 << 20;
/// Bytes of input of a quick run.
const QUICK_ENOUGH: u64 = 8 << 20;
/// Most files.
const MOST_FILES: usize = 16;

/// Arguments of the command `demo`.
pub(crate) struct Options {
    pub(crate) quick: bool,
    pub(crate) headless: bool,
    /// Files to hash; if there are none, those of the toolchain.
    pub(crate) files: Vec<PathBuf>,
}

/// Builds the demo and runs it on the default adapter. On a machine without a driver, that is the CPU.
pub(crate) fn demo(workspace: &Workspace, options: &Options) -> Result<()> {
    let files = if options.files.is_empty() { toolchain(options.quick)? } else { given(&options.files)? };
    let demo = cargo().args(["run", "--profile", PROFILE, "-p", "fencepost-demo", "--"]);
    let demo = demo.vars(&missing_runtime_dir(workspace)?).dir(workspace.root());
    let demo = demo.args(options.quick.then_some("--quick")).args(options.headless.then_some("--headless"));
    demo.arg("--folder").arg(workspace.made("demo")?).args(files).run()
}

/// Returns the absolute paths of the given files: the demo runs in the root of the workspace.
fn given(files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let absolute = |file: &PathBuf| -> Result<PathBuf> {
        ensure!(file.is_file(), "`{}` is not a file", file.display());
        Ok(path::absolute(file)?)
    };
    files.iter().map(absolute).collect()
}

/// Returns the largest files of the Rust toolchain.
fn toolchain(quick: bool) -> Result<Vec<PathBuf>> {
    let sysroot = line("rustc").args(["--print", "sysroot"]).read()?;
    input(Path::new(sysroot.trim()), if quick { QUICK_ENOUGH } else { ENOUGH })
}

/// Returns the largest files below `dir`, up to `enough` bytes and the number above.
fn input(dir: &Path, enough: u64) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    sizes(dir, &mut files).with_context(|| format!("cannot read {}", dir.display()))?;
    let files = largest(files, enough, MOST_FILES);
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

/// Returns at most `most` files, the largest ones first, until they are `enough` bytes. Larger files are left out.
fn largest(mut files: Vec<(u64, PathBuf)>, enough: u64, most: usize) -> Vec<PathBuf> {
    files.retain(|(size, _)| *size <= enough);
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
        assert_eq!(largest(files.clone(), 1000, 2).len(), 2);
        assert_eq!(
            largest(files, 55, 9),
            [Path::new("b"), Path::new("d")],
            "a file of 60 bytes is too large"
        );
    }

    #[test]
    fn a_folder_and_a_missing_file_are_errors_that_name_them() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for path in [dir.path().to_owned(), dir.path().join("missing")] {
            let error = given(std::slice::from_ref(&path)).expect_err("it is no file").to_string();
            assert_eq!(error, format!("`{}` is not a file", path.display()));
        }
        let file = given(&[PathBuf::from("Cargo.toml")]).expect("tests run in the folder of their package");
        assert!(file[0].is_absolute() && file[0].ends_with("Cargo.toml"), "{file:?}");
    }

    #[test]
    fn files_are_found_at_any_depth() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir_all(dir.path().join("lib/deep")).expect("made");
        fs::write(dir.path().join("lib/deep/big"), [0; 9]).expect("written");
        fs::write(dir.path().join("small"), [0; 2]).expect("written");
        let files = input(dir.path(), ENOUGH).expect("two files");
        assert_eq!(files, [dir.path().join("lib/deep/big"), dir.path().join("small")]);
    }
}
