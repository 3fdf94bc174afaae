//! The programs of `crates/wgsl-fuzz`: random WGSL on several engines, and each function of WGSL on each adapter.

use anyhow::Result;

use crate::environment::unwatched;
use crate::shell::cargo;
use crate::steps::Done;
use crate::workspace::Workspace;

/// Builds and runs the fuzzer of `crates/wgsl-fuzz`, which parses the arguments.
pub(crate) fn fuzz_wgsl(workspace: &Workspace, args: &[String]) -> Result<()> {
    let fuzzer = cargo().args(["run", "--quiet", "--release", "-p", "fencepost-wgsl-fuzz", "--"]).args(args);
    fuzzer.vars(&unwatched(workspace)?).dir(workspace.root()).run()
}

/// Page with the table of functions.
const PAGE: &str = "docs/functions.md";

/// Runs each function of WGSL with each type on each adapter. Fails if a result is wrong.
pub(crate) fn functions(workspace: &Workspace, write: bool, args: &[String]) -> Result<()> {
    let program = ["run", "--quiet", "-p", "fencepost-wgsl-fuzz", "--bin", "functions", "--"];
    let mut line = cargo().args(program).args(args);
    if write {
        line = line.args(["--write", PAGE]);
    }
    line.vars(&unwatched(workspace)?).dir(workspace.root()).run()
}

/// Runs [`functions`] as a step of the full suite.
pub(crate) fn check_functions(workspace: &Workspace) -> Result<Done> {
    functions(workspace, false, &[]).map(|()| Done::Yes)
}
