//! `cargo xtask fuzz-wgsl`: runs random WGSL programs on several engines.

use anyhow::Result;

use crate::environment::unwatched;
use crate::shell::cargo;
use crate::workspace::Workspace;

/// Builds and runs the fuzzer of `crates/wgsl-fuzz`, which parses the arguments.
pub(crate) fn fuzz_wgsl(workspace: &Workspace, args: &[String]) -> Result<()> {
    let fuzzer = cargo().args(["run", "--quiet", "--release", "-p", "fencepost-wgsl-fuzz", "--"]).args(args);
    fuzzer.vars(&unwatched(workspace)?).dir(workspace.root()).run()
}
