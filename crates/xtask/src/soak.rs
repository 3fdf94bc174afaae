//! `cargo xtask soak`: the double buffer for minutes, with debug assertions.

use anyhow::Result;

use crate::shell::cargo;
use crate::software::ensure_adapter;
use crate::workspace::Workspace;

/// Builds and runs the soak of `benches/`, which knows the arguments.
pub(crate) fn soak(workspace: &Workspace, args: &[String]) -> Result<()> {
    ensure_adapter(true)?;
    let soak = cargo().args(["run", "--quiet", "-p", "fencepost-benches", "--bin", "soak", "--"]).args(args);
    soak.dir(workspace.root()).run()
}
