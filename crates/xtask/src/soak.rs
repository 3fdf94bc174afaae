//! `cargo xtask soak`: runs the double buffer for minutes, with debug assertions.

use anyhow::Result;

use crate::environment::unwatched_on_driver;
use crate::shell::cargo;
use crate::workspace::Workspace;

/// Builds and runs the soak of `benches/`, which parses the arguments.
pub(crate) fn soak(workspace: &Workspace, args: &[String]) -> Result<()> {
    let soak = cargo().args(["run", "--quiet", "-p", "fencepost-benches", "--bin", "soak", "--"]).args(args);
    let soak = soak.vars(&unwatched_on_driver(workspace)?);
    soak.dir(workspace.root()).run()
}
