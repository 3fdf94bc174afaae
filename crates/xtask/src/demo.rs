//! `cargo xtask demo`: builds and runs the program of `crates/demo`, on the largest files of the Rust toolchain.

use std::fs::{self, File};
use std::path::{self, Path, PathBuf};

use anyhow::{Result, bail, ensure};

use crate::environment::missing_runtime_dir;
use crate::shell::{cargo, line};
use crate::workspace::Workspace;

/// Package of the program.
const PACKAGE: &str = "fencepost-demo";
/// Cargo profile of the program.
const PROFILE: &str = "demo";
/// Folders of a toolchain that are searched for input. The toolchain of a distribution is in `/usr`, beside much else.
const FOLDERS: [&str; 2] = ["lib", "bin"];
/// Bytes of input, or fewer if the toolchain is smaller.
const ENOUGH: u64 = 400 << 20;
/// Bytes of input of a quick run.
const QUICK_ENOUGH: u64 = 8 << 20;
/// Maximum number of files.
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
    let demo = cargo().args(["run", "--profile", PROFILE, "-p", PACKAGE, "--"]);
    let demo = demo.vars(&missing_runtime_dir(workspace)?).dir(workspace.root());
    let demo = demo.args(options.quick.then_some("--quick")).args(options.headless.then_some("--headless"));
    demo.arg("--folder").arg(workspace.made("demo")?).args(files).run()
}

/// Type-checks the demo with its own features. A build of the whole workspace gives it those of all packages.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    cargo().args(["check", "--profile", PROFILE, "-p", PACKAGE]).dir(workspace.root()).run()
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

/// Returns the largest files of a toolchain that can be opened, up to `enough` bytes and the number above.
fn input(sysroot: &Path, enough: u64) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        collect(&sysroot.join(folder), &mut files);
    }
    let files = largest(files, enough, MOST_FILES, |file| File::open(file).is_ok());
    if files.is_empty() {
        let folders = FOLDERS.join("` and `");
        bail!("no file in `{folders}` of `{}` can be read: name files to hash", sysroot.display());
    }
    Ok(files)
}

/// Collects the size and path of every file below `dir`. Links, and folders that cannot be read, are left out.
fn collect(dir: &Path, files: &mut Vec<(u64, PathBuf)>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            collect(&entry.path(), files);
        } else if kind.is_file()
            && let Ok(file) = entry.metadata()
        {
            files.push((file.len(), entry.path()));
        }
    }
}

/// Returns at most `most` files, the largest ones first, until they are `enough` bytes. Larger files are left out, and so
/// are those that cannot be opened.
fn largest(
    mut files: Vec<(u64, PathBuf)>,
    enough: u64,
    most: usize,
    can_open: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    files.retain(|(size, _)| *size <= enough);
    files.sort_by(|a, b| b.cmp(a));
    let mut total = 0;
    let mut chosen = Vec::new();
    for (size, path) in files.into_iter().filter(|(_, path)| can_open(path)).take(most) {
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
        let files = || named(&[(1, "a"), (50, "b"), (60, "c"), (40, "d")]);
        let largest = |enough, most| largest(files(), enough, most, |_| true);
        assert_eq!(largest(100, 9), [Path::new("c"), Path::new("b")]);
        assert_eq!(largest(111, 9).len(), 3);
        assert_eq!(largest(1000, 2).len(), 2);
        assert_eq!(largest(55, 9), [Path::new("b"), Path::new("d")], "a file of 60 bytes is too large");
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_left_out() {
        let files = named(&[(1, "a"), (50, "b"), (60, "c"), (40, "d")]);
        let chosen = largest(files, 1000, 2, |file| file != Path::new("c"));
        assert_eq!(chosen, [Path::new("b"), Path::new("d")]);
    }

    #[test]
    fn a_folder_and_a_missing_file_are_errors_that_name_them() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for path in [dir.path().to_owned(), dir.path().join("missing")] {
            let error = given(std::slice::from_ref(&path)).expect_err("it is not a file").to_string();
            assert_eq!(error, format!("`{}` is not a file", path.display()));
        }
        let file = given(&[PathBuf::from("Cargo.toml")]).expect("tests run in the folder of their package");
        assert!(file[0].is_absolute() && file[0].ends_with("Cargo.toml"), "{file:?}");
    }

    #[test]
    fn files_of_a_toolchain_are_found_at_any_depth_of_two_folders_alone() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for folder in ["lib/deep", "bin", "share"] {
            fs::create_dir_all(dir.path().join(folder)).expect("made");
        }
        fs::write(dir.path().join("lib/deep/big"), [0; 9]).expect("written");
        fs::write(dir.path().join("bin/small"), [0; 2]).expect("written");
        fs::write(dir.path().join("share/other"), [0; 5]).expect("written");
        let files = input(dir.path(), ENOUGH).expect("two files");
        assert_eq!(files, [dir.path().join("lib/deep/big"), dir.path().join("bin/small")]);
    }

    #[test]
    fn a_toolchain_without_files_is_an_error_with_a_remedy() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let error = input(dir.path(), ENOUGH).expect_err("it is empty").to_string();
        assert!(error.starts_with("no file in `lib` and `bin` of `"), "{error}");
        assert!(error.ends_with("can be read: name files to hash"), "{error}");
    }

    // Linux refuses paths of more than 4096 bytes, even for root, and a rename makes one.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_cannot_be_read_is_left_out() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let name = "d".repeat(200);
        let deep = |top: &str| (0..12).fold(dir.path().join(top), |folder, _| folder.join(&name));
        fs::create_dir_all(deep("lib")).expect("made");
        fs::create_dir_all(deep("moved")).expect("made");
        fs::rename(dir.path().join("moved"), deep("lib").join("moved")).expect("moved");
        fs::write(dir.path().join("lib/file"), [0; 3]).expect("written");
        assert_eq!(input(dir.path(), ENOUGH).expect("one file"), [dir.path().join("lib/file")]);
    }
}
