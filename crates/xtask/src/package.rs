//! Packages the published crates together, so that each finds the others before they are published.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use anyhow::{Context, Result};

use crate::shell::{Line, cargo, flag};
use crate::workspace::Workspace;

/// Begins the names of the published crates.
const OURS: &str = "fencepost";

/// Lists the crates that are not published.
const UNPUBLISHED: [&str; 3] = ["xtask", "fencepost-benches", "fencepost-book"];

/// Packages and builds the published crates.
///
/// The build has its own target folder: its outdated files are removed without those of the tests. It makes no debug
/// information, which no step reads.
pub(crate) fn package(workspace: &Workspace) -> Result<()> {
    let target = workspace.made("packaged")?;
    forget(&target)?;
    line(workspace, &target).var("CARGO_PROFILE_DEV_DEBUG", "0").run()
}

/// Packages the published crates below `target` without building them; returns the `.crate` files.
///
/// # Errors
/// Cargo refuses to package a crate.
pub(crate) fn pack(workspace: &Workspace, target: &Path) -> Result<Vec<PathBuf>> {
    let made = target.join("package");
    if made.exists() {
        fs::remove_dir_all(&made).with_context(|| format!("cannot remove {}", made.display()))?;
    }
    line(workspace, target).arg("--no-verify").run()?;
    let is_package = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "crate");
    Ok(entries(&made)?.into_iter().filter(is_package).collect())
}

/// Returns the command line. In CI, cargo refuses files that are not committed.
fn line(workspace: &Workspace, target: &Path) -> Line {
    let package = published(cargo().args(["package", "--quiet"]));
    let package = package.arg("--target-dir").arg(target).dir(workspace.root());
    if flag("CI") { package } else { package.arg("--allow-dirty") }
}

/// Limits a command of cargo's to the published crates.
pub(crate) fn published(line: Line) -> Line {
    UNPUBLISHED.iter().fold(line.arg("--workspace"), |line, name| line.args(["--exclude", name]))
}

fn cargo_home() -> Option<PathBuf> {
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| env::home_dir().map(|home| home.join(".cargo")))
}

/// Removes the sources of this project's crates that cargo unpacked in earlier runs, and their builds in the target
/// folder `target`: cargo would use them in the place of today's sources of the same version.
///
/// # Errors
/// A file cannot be removed.
pub(crate) fn forget(target: &Path) -> Result<()> {
    if let Some(home) = cargo_home() {
        forget_unpacked(&home.join("registry/src"))?;
    }
    forget_ours(&target.join("debug/.fingerprint"))
}

/// Removes unpacked crates from registries without a name: `cargo package` makes such a registry, and so does a folder.
fn forget_unpacked(sources: &Path) -> Result<()> {
    let nameless = entries(sources)?.into_iter().filter(|registry| starts_with(registry, "-"));
    for registry in nameless {
        forget_ours(&registry)?;
    }
    Ok(())
}

/// Removes this project's crates from a directory of cargo's: their sources, or the records of their builds.
fn forget_ours(dir: &Path) -> Result<()> {
    for ours in entries(dir)?.into_iter().filter(|entry| starts_with(entry, OURS)) {
        fs::remove_dir_all(&ours).with_context(|| format!("cannot remove {}", ours.display()))?;
    }
    Ok(())
}

fn starts_with(path: &Path, start: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
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
    fn only_this_projects_crates_in_nameless_registries_are_removed() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let all =
            ["-12ab/fencepost-sync-0.1.0", "-12ab/ash-0.38.0", "index.crates.io-1/fencepost-sync-0.1.0"];
        all.iter().for_each(|dir| fs::create_dir_all(home.path().join(dir)).expect("made"));
        forget_unpacked(home.path()).expect("readable");
        let left = all.map(|dir| home.path().join(dir).exists());
        assert_eq!(left, [false, true, true]);
    }

    #[test]
    fn a_home_without_sources_is_no_error() {
        let home = tempfile::tempdir().expect("a temporary directory");
        forget_unpacked(&home.path().join("registry/src")).expect("nothing to do");
    }
}
