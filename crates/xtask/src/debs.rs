//! Debian packages used as archives: downloaded and unpacked below `target`, never installed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::packages::{Manager, apt_lists_are_stale};
use crate::shell::{line, which};

/// Downloads one package into `dir`.
pub(crate) fn download(package: &str, dir: &Path) -> Result<PathBuf> {
    download_all(&[package], dir)?;
    downloaded(package, dir)
}

/// Downloads packages and their missing dependencies.
pub(crate) fn download_with_dependencies(packages: &[&str], dir: &Path) -> Result<()> {
    needs_apt(packages)?;
    let simulate = line("apt-get").args(["install", "--simulate", "--no-install-recommends"]).args(packages);
    let plan = simulate.read().or_else(|_| Manager::Apt.refresh().and_then(|()| simulate.read()))?;
    download_all(&planned(&plan), dir)
}

/// Returns the packages of apt's plan, which has a line `Inst name (version ...)` for each.
fn planned(plan: &str) -> Vec<&str> {
    let installs = plan.lines().filter_map(|line| line.strip_prefix("Inst "));
    installs.filter_map(|rest| rest.split_whitespace().next()).collect()
}

/// Downloads packages into `dir` with apt, which checks them against the archive's signed hashes.
fn download_all(packages: &[&str], dir: &Path) -> Result<()> {
    needs_apt(packages)?;
    if apt_lists_are_stale() {
        Manager::Apt.refresh()?;
    }
    let fetch = line("apt-get").args(["-o", "APT::Sandbox::User=root", "download"]).args(packages).dir(dir);
    if let Err(first) = fetch.run_aside() {
        eprintln!("xtask: {first:#}; trying once more with fresh package lists");
        Manager::Apt.refresh()?;
        fetch.run_aside()?;
    }
    Ok(())
}

fn needs_apt(packages: &[&str]) -> Result<()> {
    for program in ["apt-get", "dpkg-deb", "dpkg"] {
        if which(program).is_none() {
            bail!("`{program}` not found: {} come as Debian packages, which need it", packages.join(", "));
        }
    }
    Ok(())
}

/// Unpacks a whole package below `dir`.
pub(crate) fn unpack(deb: &Path, dir: &Path) -> Result<()> {
    line("dpkg").arg("-x").arg(deb).arg(dir).run_aside()
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
    fn the_plan_of_apt_lists_the_packages_to_install() {
        let plan =
            "Reading package lists...\nInst liba (1.0 Debian:12 [amd64])\nInst b-web (2)\nConf liba (1.0)\n";
        assert_eq!(planned(plan), ["liba", "b-web"]);
    }

    #[test]
    fn a_download_is_found_by_its_exact_package_name() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("chromium-common_1_amd64.deb"), "").expect("written");
        assert!(downloaded("chromium", dir.path()).is_err());
        assert!(downloaded("chromium-common", dir.path()).is_ok());
    }
}
