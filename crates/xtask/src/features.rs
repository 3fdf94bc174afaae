//! `cargo xtask features`: compiles the libraries with each feature alone, and with none.

use anyhow::Result;

use crate::shell::line;
use crate::steps::Done;
use crate::tool::Tool;
use crate::workspace::Workspace;

const CARGO_HACK: Tool = Tool { name: "cargo-hack", version: "0.6.46" };

/// Compiles the facade, which has the features of all libraries, with each feature alone, with none and with all. A
/// warning of the compiler is an error. Skipped if cargo-hack is missing and may not be installed.
///
/// # Errors
/// A combination does not compile.
pub(crate) fn features(workspace: &Workspace, may_install: bool) -> Result<Done> {
    let Some(program) = CARGO_HACK.find(workspace, may_install)? else {
        return Ok(Done::Skipped("no cargo-hack: give --install-tools, or set CI".to_owned()));
    };
    let target = workspace.made("features")?;
    let check = line(program).args([
        "hack",
        "check",
        "--quiet",
        "--each-feature",
        "--no-dev-deps",
        "-p",
        "fencepost",
    ]);
    let check = check.var("CARGO_TARGET_DIR", target).var("RUSTFLAGS", "-D warnings");
    check.var("CARGO_PROFILE_DEV_DEBUG", "0").dir(workspace.root()).run().map(|()| Done::Yes)
}
