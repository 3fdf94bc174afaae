//! Debian's second Rust compiler (packages `rustc-web`, `cargo-web`, `rust-web-src`), unpacked and not installed.
//!
//! It comes with the exact sources of its standard library, dependencies included, so it can check for any target
//! without a network.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::debs;
use crate::shell::{Line, line, which};
use crate::workspace::Workspace;

const PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// Root of the compiler and its cargo: a directory below `target`, or `/` if Debian's packages are installed.
pub(crate) struct RustWeb {
    root: PathBuf,
}

impl RustWeb {
    /// Finds the compiler, or fetches it if `may_install`.
    pub(crate) fn find(workspace: &Workspace, may_install: bool) -> Result<Self> {
        if which("dpkg").is_none() || which("apt-get").is_none() {
            bail!(
                "no standard library for this target: run `rustup target add` (Debian's packages need apt and dpkg)"
            );
        }
        if is_installed() {
            return Ok(Self { root: PathBuf::from("/") });
        }
        let root = workspace.tools("rust-web")?;
        if !root.join("complete").is_file() {
            if !may_install {
                bail!("no standard library for this target, and --no-install was given: {}", advice());
            }
            fetch(&root).context("cannot fetch Debian's rustc-web")?;
        }
        Ok(Self { root })
    }

    /// Returns a command line of this compiler's cargo, with the switch that lets a stable compiler check the standard
    /// library.
    ///
    /// This cargo is not rustup's proxy, so it ignores toolchain files.
    pub(crate) fn cargo(&self) -> Line {
        let bin = self.root.join("usr/bin");
        let cargo = line(bin.join("cargo")).var("RUSTC", bin.join("rustc")).var("RUSTC_BOOTSTRAP", "1");
        let cargo = cargo.var("LD_LIBRARY_PATH", self.libraries());
        ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOC"].into_iter().fold(cargo, Line::without)
    }

    fn libraries(&self) -> PathBuf {
        self.root.join(format!("usr/lib/{}-linux-gnu", env::consts::ARCH))
    }
}

fn advice() -> String {
    format!("run `rustup target add`, or install {}", PACKAGES.join(" "))
}

/// Returns `true` if all three packages are installed on the system.
fn is_installed() -> bool {
    let status = |package| line("dpkg").args(["-s", package]).read();
    PACKAGES
        .iter()
        .all(|package| status(package).is_ok_and(|text| text.contains("Status: install ok installed")))
}

/// Downloads the packages and their dependencies that this system lacks, and unpacks them below `root`.
fn fetch(root: &Path) -> Result<()> {
    eprintln!("xtask: fetching Debian's rustc-web with its library sources (150 MB) into {}", root.display());
    let archives = root.join("archives");
    fs::create_dir_all(&archives).with_context(|| format!("cannot make {}", archives.display()))?;
    debs::download_with_dependencies(&PACKAGES, &archives)?;
    for deb in fs::read_dir(&archives)?.flatten().map(|entry| entry.path()) {
        debs::unpack(&deb, root)?;
    }
    fs::remove_dir_all(&archives)?;
    fs::write(root.join("complete"), "").context("cannot mark the download as complete")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cargo_of_rustc_web_uses_its_own_compiler_and_libraries() {
        let shown = RustWeb { root: PathBuf::from("/rw") }.cargo().arg("check").to_string();
        assert!(
            shown.contains("RUSTC=/rw/usr/bin/rustc RUSTC_BOOTSTRAP=1 LD_LIBRARY_PATH=/rw/usr/lib/"),
            "{shown}"
        );
        assert!(shown.ends_with("/rw/usr/bin/cargo check"), "{shown}");
    }
}
