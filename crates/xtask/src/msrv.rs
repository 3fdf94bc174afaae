//! `cargo xtask msrv`: compiles the library with the oldest supported Rust.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::package::published;
use crate::shell::{cargo, line, which};
use crate::steps::Done;
use crate::workspace::Workspace;

/// Type-checks the published crates with all features, with the toolchain that `rust-version` names and the versions of
/// Cargo.lock. Skipped if rustup or the toolchain is missing and may not be installed.
///
/// # Errors
/// A crate does not compile; the toolchain cannot be installed.
pub(crate) fn msrv(workspace: &Workspace, may_install: bool) -> Result<Done> {
    let version = rust_version(workspace)?;
    if which("rustup").is_none() {
        return Ok(Done::Skipped(format!("no rustup, by which Rust {version} is chosen")));
    }
    let has = line("rustup").args(["run", &version, "rustc", "--version"]).said()?.0;
    if !has && !may_install {
        return Ok(Done::Skipped(format!("Rust {version} is not installed")));
    }
    if !has {
        line("rustup").args(["toolchain", "install", &version, "--profile", "minimal"]).run()?;
    }
    let check = line("rustup").args(["run", &version, "cargo", "check", "--quiet", "--locked"]);
    let check = published(check).arg("--all-features").without("RUSTFLAGS");
    let check = check.var("CARGO_TARGET_DIR", workspace.made("msrv")?).var("CARGO_PROFILE_DEV_DEBUG", "0");
    check.dir(workspace.root()).run().map(|()| Done::Yes)
}

/// Returns the version that the library's manifest promises.
fn rust_version(workspace: &Workspace) -> Result<String> {
    let metadata = cargo().args(["metadata", "--no-deps", "--format-version", "1"]);
    promised(&serde_json::from_str(&metadata.dir(workspace.root()).read()?)?)
}

fn promised(metadata: &Value) -> Result<String> {
    let mut all = metadata["packages"].as_array().into_iter().flatten();
    let library = all.find(|package| package["name"] == "fencepost");
    let version = library.and_then(|library| library["rust_version"].as_str());
    version.map(str::to_owned).context("the manifest of `fencepost` has no `rust-version`: give it one")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_version_is_that_of_the_library_and_a_missing_one_is_an_error() {
        let of = |version: Value| {
            let xtask = json!({ "name": "xtask", "rust_version": "1.99" });
            promised(&json!({ "packages": [xtask, { "name": "fencepost", "rust_version": version }] }))
        };
        assert_eq!(of(json!("1.88")).expect("it is there"), "1.88");
        assert!(of(Value::Null).expect_err("there is none").to_string().contains("rust-version"));
    }
}
