//! `cargo xtask features`: every feature of the libraries compiles alone, and so does none.

use anyhow::{Result, bail};

use crate::shell::line;
use crate::steps::Done;
use crate::tool::Tool;
use crate::workspace::Workspace;

const CARGO_HACK: Tool = Tool { name: "cargo-hack", version: "0.6.46" };

/// As [`features`], where not to check is an error.
///
/// # Errors
/// As there; there is no cargo-hack.
pub(crate) fn command(workspace: &Workspace, may_install: bool) -> Result<()> {
    match features(workspace, may_install)? {
        Done::Skipped(why) => bail!("{why}"),
        Done::Yes | Done::Partly(_) => Ok(()),
    }
}

/// Compiles the facade, which has the features of all libraries, with each feature alone, with none and with all. What the
/// compiler warns of is an error. Skipped where cargo-hack is neither there nor to be installed.
///
/// # Errors
/// Something does not compile.
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
