//! Packages the published crates together, so that each finds the others before they are published.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use anyhow::{Context, Result, ensure};

use crate::shell::{Line, cargo, flag, line};
use crate::workspace::{Workspace, text_of};

/// Crates that are not published.
const UNPUBLISHED: [&str; 8] = [
    "xtask",
    "fencepost-benches",
    "fencepost-book",
    "fencepost-demo",
    "fencepost-derive-tests",
    "fencepost-launches",
    "fencepost-oracles",
    "fencepost-wgsl-fuzz",
];

/// Packages the published crates, and type-checks the packages together.
///
/// The check does the same as `cargo package`, but without code generation: it fails if a package lacks a file or a
/// dependency, or if a build script changes its package. The packages form a workspace with the same profiles and
/// versions as this one, so that the check reuses the dependencies that earlier steps have checked.
pub(crate) fn package(workspace: &Workspace) -> Result<()> {
    let target = workspace.made("packaged")?;
    let folder = target.join("checked");
    let names = unpacked(workspace, &target, &folder)?;
    let root = text_of(&workspace.path("Cargo.toml"))?;
    fs::write(folder.join("Cargo.toml"), manifest(&names, &root))?;
    fs::copy(workspace.path("Cargo.lock"), folder.join("Cargo.lock")).context("cannot copy Cargo.lock")?;
    let files = || names.iter().map(|name| files_below(&folder.join(name))).collect::<Result<Vec<_>>>();
    let before = files()?;
    let check = cargo().args(["check", "--quiet", "--workspace"]).dir(&folder);
    let shared = env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.path("target"), PathBuf::from);
    check.arg("--target-dir").arg(workspace.root().join(shared)).run()?;
    ensure!(before == files()?, "a build script has changed its package below {}", folder.display());
    Ok(())
}

/// Packages the published crates below `target`, and unpacks each package below the emptied `folder`; returns the names
/// of its folders, each a crate with its version.
///
/// # Errors
/// Cargo refuses to package a crate.
pub(crate) fn unpacked(workspace: &Workspace, target: &Path, folder: &Path) -> Result<Vec<String>> {
    let packages = pack(workspace, target)?;
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder)?;
    packages.iter().map(|package| unpack(package, folder)).collect()
}

/// Unpacks a `.crate` file into its own folder below `folder`, and returns the name of that folder. The files get the
/// current time, because cargo compares their times with those of an earlier check.
fn unpack(package: &Path, folder: &Path) -> Result<String> {
    let name = package.file_stem().context("a package has a name")?.to_string_lossy().into_owned();
    line("tar").args(["-x", "-z", "-m", "-f"]).arg(package).arg("-C").arg(folder).run()?;
    Ok(name)
}

/// Writes the manifest of a workspace of the packages `names`, each a name with a version. It has the profiles of `root`,
/// the manifest of this workspace.
fn manifest(names: &[String], root: &str) -> String {
    let members: String = names.iter().map(|name| format!("{name:?}, ")).collect();
    let patches = patches(names, Path::new(""));
    let mut in_profile = false;
    let profiles = root.lines().filter(|line| {
        if line.starts_with('[') {
            in_profile = line.starts_with("[profile.");
        }
        in_profile
    });
    let profiles: String = profiles.map(|line| format!("{line}\n")).collect();
    format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{members}]\n\n[patch.crates-io]\n{patches}\n{profiles}"
    )
}

/// Writes the lines that replace the crates of the registry by the packages `names` in a folder.
pub(crate) fn patches(names: &[String], folder: &Path) -> String {
    let crate_of = |name: &str| {
        let mut dashes = name.match_indices('-').map(|(at, _)| at);
        let version = dashes.find(|at| name[at + 1..].starts_with(|first: char| first.is_ascii_digit()))?;
        Some(name[..version].to_owned())
    };
    // A string of Rust is also one of TOML.
    let line = |name: &String| Some(format!("{} = {{ path = {:?} }}\n", crate_of(name)?, folder.join(name)));
    names.iter().filter_map(line).collect()
}

/// Returns the paths below a folder with the sizes of the files, in order.
fn files_below(folder: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut files = Vec::new();
    for entry in entries(folder)? {
        if entry.is_dir() {
            files.append(&mut files_below(&entry)?);
        } else {
            let size =
                fs::metadata(&entry).with_context(|| format!("cannot read {}", entry.display()))?.len();
            files.push((entry, size));
        }
    }
    files.sort();
    Ok(files)
}

/// Packages the published crates below `target` without building them; returns the `.crate` files.
///
/// # Errors
/// Cargo refuses to package a crate.
fn pack(workspace: &Workspace, target: &Path) -> Result<Vec<PathBuf>> {
    let made = target.join("package");
    if made.exists() {
        fs::remove_dir_all(&made).with_context(|| format!("cannot remove {}", made.display()))?;
    }
    command(workspace, target).arg("--no-verify").run()?;
    let is_package = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "crate");
    Ok(entries(&made)?.into_iter().filter(is_package).collect())
}

/// Returns the command line. In CI, cargo refuses files that are not committed.
fn command(workspace: &Workspace, target: &Path) -> Line {
    let package = published(cargo().args(["package", "--quiet"]));
    let package = package.arg("--target-dir").arg(target).dir(workspace.root());
    if flag("CI") { package } else { package.arg("--allow-dirty") }
}

/// Limits a cargo command to the published crates.
pub(crate) fn published(line: Line) -> Line {
    UNPUBLISHED.iter().fold(line.arg("--workspace"), |line, name| line.args(["--exclude", name]))
}

/// Returns the entries of a directory; none if it does not exist.
fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let read = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.with_context(|| format!("cannot read {}", dir.display()))?,
    };
    read.map(|entry| Ok(entry?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_of_packages_has_them_in_place_of_the_registry_and_the_profiles_of_this_one() {
        let root = "[workspace]\nmembers = []\n[profile.dev]\ndebug = 1\n# why\n[profile.dev.package.\"*\"]\n\
                    debug = false\n[lints]\nx = 1\n";
        let made = manifest(&["fencepost-sync-0.1.0".to_owned()], root);
        assert!(made.contains("members = [\"fencepost-sync-0.1.0\", ]"), "{made}");
        assert!(made.contains("\nfencepost-sync = { path = \"fencepost-sync-0.1.0\" }\n"), "{made}");
        assert!(made.contains("[profile.dev]\ndebug = 1\n"), "{made}");
        assert!(made.ends_with("[profile.dev.package.\"*\"]\ndebug = false\n"), "{made}");
    }

    #[test]
    fn a_file_that_a_build_script_writes_is_found() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(folder.path().join("src")).expect("made");
        fs::write(folder.path().join("src/lib.rs"), "").expect("written");
        let before = files_below(folder.path()).expect("readable");
        assert_eq!(before.len(), 1);
        fs::write(folder.path().join("src/made.rs"), "").expect("written");
        assert_ne!(files_below(folder.path()).expect("readable"), before);
    }
}
