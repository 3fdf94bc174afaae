//! `cargo xtask soak`: the double buffer for minutes, with debug assertions.

use anyhow::Result;

use crate::environment::{Request, Wanted, set_up};
use crate::shell::cargo;
use crate::workspace::Workspace;

/// Builds and runs the soak of `benches/`, which knows the arguments.
pub(crate) fn soak(workspace: &Workspace, args: &[String]) -> Result<()> {
    let request = Request { wanted: Wanted::AllThereAre, may_install: true };
    let found = set_up(workspace, request)?;
    let soak = cargo().args(["run", "--quiet", "-p", "fencepost-benches", "--bin", "soak", "--"]).args(args);
    let soak = soak.vars(&found.vars).var("FENCEPOST_VALIDATION", "0");
    soak.dir(workspace.root()).run()
}
