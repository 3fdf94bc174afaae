//! The program `wasm-bindgen`, which turns a build for the web into a module for browsers.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::shell::{cargo, line};
use crate::workspace::{Workspace, text_of};

/// Returns the program `wasm-bindgen` below `target/tools`, of the version of the library in Cargo.lock: it accepts no
/// build with another version. Builds the program if it is missing or of another version.
///
/// # Errors
/// Cargo.lock cannot be read; the program cannot be built.
pub(crate) fn bindgen(workspace: &Workspace) -> Result<PathBuf> {
    let version = version_of(&text_of(&workspace.path("Cargo.lock"))?, "wasm-bindgen")
        .context("Cargo.lock has no package `wasm-bindgen`")?;
    let root = workspace.tools("wasm-bindgen")?;
    let program = root.join("bin").join(format!("wasm-bindgen{}", env::consts::EXE_SUFFIX));
    let wanted = format!("wasm-bindgen {version}");
    let is_right = || line(&program).arg("--version").read().is_ok_and(|found| found.trim() == wanted);
    if !is_right() {
        let install = cargo().args(["install", "wasm-bindgen-cli", "--debug", "--version", &version]);
        let quick = install.var("CARGO_PROFILE_DEV_DEBUG", "0");
        quick.arg("--root").arg(&root).without("CARGO_TARGET_DIR").without("RUSTFLAGS").run()?;
        ensure!(is_right(), "`{}` is not `{wanted}` after its installation", program.display());
    }
    Ok(program)
}

/// Returns the version of a package in a lock file.
pub(crate) fn version_of(lock: &str, package: &str) -> Option<String> {
    let mut lines = lock.lines().skip_while(|line| *line != format!("name = \"{package}\""));
    let version = lines.nth(1)?.strip_prefix("version = \"")?;
    version.strip_suffix('"').map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_package_with_exactly_this_name() {
        let package = |name: &str, version: &str| {
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\ndependencies = [\n \"a\",\n]\n\n"
            )
        };
        let lock = [package("a-macro", "1.0.0"), package("a", "2.0.1")].concat();
        assert_eq!(version_of(&lock, "a").as_deref(), Some("2.0.1"));
        assert_eq!(version_of(&lock, "b"), None);
    }
}
