//! Packaging the published crates together, so that each finds the others before any is published.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use anyhow::{Context, Result};

use crate::shell::{Line, cargo, flag};
use crate::workspace::Workspace;

/// What the names of our published crates begin with.
const OURS: &str = "fencepost";

/// The crates that stay here.
const UNPUBLISHED: [&str; 3] = ["xtask", "fencepost-benches", "fencepost-book"];

/// Packages and builds what would be published.
///
/// The build has a target folder of its own, so that what it must forget is not what the tests have built, and no debug
/// information, which none of its readers need.
pub(crate) fn package(workspace: &Workspace) -> Result<()> {
    let target = workspace.made("packaged")?;
    forget(&target)?;
    line(workspace, &target).var("CARGO_PROFILE_DEV_DEBUG", "0").run()
}

/// Packages what would be published below `target`, and builds nothing; returns the `.crate` files.
///
/// # Errors
/// Cargo refuses to package something.
pub(crate) fn pack(workspace: &Workspace, target: &Path) -> Result<Vec<PathBuf>> {
    let made = target.join("package");
    if made.exists() {
        fs::remove_dir_all(&made).with_context(|| format!("cannot remove {}", made.display()))?;
    }
    line(workspace, target).arg("--no-verify").run()?;
    let is_package = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "crate");
    Ok(entries(&made)?.into_iter().filter(is_package).collect())
}

/// Where it matters, as in CI, cargo refuses what is not committed.
fn line(workspace: &Workspace, target: &Path) -> Line {
    let package = published(cargo().args(["package", "--quiet"]));
    let package = package.arg("--target-dir").arg(target).dir(workspace.root());
    if flag("CI") { package } else { package.arg("--allow-dirty") }
}

/// Has a command of cargo's work on the crates that are published.
pub(crate) fn published(line: Line) -> Line {
    UNPUBLISHED.iter().fold(line.arg("--workspace"), |line, name| line.args(["--exclude", name]))
}

fn cargo_home() -> Option<PathBuf> {
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| env::home_dir().map(|home| home.join(".cargo")))
}

/// Removes what cargo has unpacked of our crates in earlier runs, and what it has built of them in the target
/// folder `target`: it takes the sources of a version that it has seen for those of today.
///
/// # Errors
/// Something cannot be removed.
pub(crate) fn forget(target: &Path) -> Result<()> {
    if let Some(home) = cargo_home() {
        forget_unpacked(&home.join("registry/src"))?;
    }
    forget_ours(&target.join("debug/.fingerprint"))
}

/// Registries without a name are those that `cargo package` makes for a moment, and those that are folders.
fn forget_unpacked(sources: &Path) -> Result<()> {
    let nameless = entries(sources)?.into_iter().filter(|registry| starts_with(registry, "-"));
    for registry in nameless {
        forget_ours(&registry)?;
    }
    Ok(())
}

/// Removes what is of our crates in a directory of cargo's: their sources, or what says that they are compiled.
fn forget_ours(dir: &Path) -> Result<()> {
    for ours in entries(dir)?.into_iter().filter(|entry| starts_with(entry, OURS)) {
        fs::remove_dir_all(&ours).with_context(|| format!("cannot remove {}", ours.display()))?;
    }
    Ok(())
}

fn starts_with(path: &Path, start: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
}

/// What is in a directory; nothing if it is not there.
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
    fn only_our_crates_in_nameless_registries_are_forgotten() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let all =
            ["-12ab/fencepost-sync-0.1.0", "-12ab/ash-0.38.0", "index.crates.io-1/fencepost-sync-0.1.0"];
        all.iter().for_each(|dir| fs::create_dir_all(home.path().join(dir)).expect("made"));
        forget_unpacked(home.path()).expect("readable");
        let left = all.map(|dir| home.path().join(dir).exists());
        assert_eq!(left, [false, true, true]);
    }

    #[test]
    fn a_home_without_sources_has_nothing_to_forget() {
        let home = tempfile::tempdir().expect("a temporary directory");
        forget_unpacked(&home.path().join("registry/src")).expect("nothing to do");
    }
}
