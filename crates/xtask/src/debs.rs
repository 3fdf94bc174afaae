//! Debian packages used as archives: downloaded and unpacked below `target`, never installed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::packages::{Manager, apt_lists_are_stale};
use crate::shell::{line, which};

/// Downloads a package into `dir` with apt, which checks it against the archive's signed hashes; returns its file.
pub(crate) fn download(package: &str, dir: &Path) -> Result<PathBuf> {
    for program in ["apt-get", "dpkg-deb"] {
        if which(program).is_none() {
            bail!("`{program}` not found: {package} comes as a Debian package, which needs it");
        }
    }
    if apt_lists_are_stale() {
        Manager::Apt.refresh()?;
    }
    let fetch = line("apt-get").args(["-o", "APT::Sandbox::User=root", "download", package]).dir(dir);
    if let Err(first) = fetch.run_aside() {
        eprintln!("xtask: {first:#}; trying once more with fresh package lists");
        Manager::Apt.refresh()?;
        fetch.run_aside()?;
    }
    downloaded(package, dir)
}

/// Unpacks only the files with these names, because packages are large.
pub(crate) fn unpack_only(deb: &Path, dir: &Path, names: &[&str]) -> Result<()> {
    let script = r#"set -o pipefail; dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --wildcards "${@:3}""#;
    let members = names.iter().map(|name| format!("*/{name}"));
    line("bash").args(["-c", script, "bash"]).arg(deb).arg(dir).args(members).run_aside()
}

/// Returns the package's file in `dir`.
fn downloaded(package: &str, dir: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut files = entries.flatten().map(|entry| entry.path());
    let start = format!("{package}_");
    let is_it =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start));
    files.find(is_it).with_context(|| format!("apt-get left no {package}_*.deb in {}", dir.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_is_found_by_its_exact_package_name() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("chromium-common_1_amd64.deb"), "").expect("written");
        assert!(downloaded("chromium", dir.path()).is_err());
        assert!(downloaded("chromium-common", dir.path()).is_ok());
    }
}
