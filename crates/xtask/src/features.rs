//! `cargo xtask features`: compiles the libraries with each feature alone, and with none, and tests a build without the CPU.

use anyhow::Result;

use crate::shell::{cargo, line};
use crate::steps::Done;
use crate::tool::Tool;
use crate::workspace::Workspace;

const CARGO_HACK: Tool = Tool { name: "cargo-hack", version: "0.6.46" };

/// Compiles the facade, which forwards the features of the other libraries, and `fencepost-cpu`, which has a feature
/// for its compiler: with each feature alone, with none and with all. Tests the facade without the CPU. Compiler
/// warnings are errors. Skipped if cargo-hack is missing and may not be installed.
///
/// # Errors
/// A combination does not compile, or a test fails.
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
        "-p",
        "fencepost-cpu",
    ]);
    let check = check.var("CARGO_TARGET_DIR", target).var("RUSTFLAGS", "-D warnings");
    check.var("CARGO_PROFILE_DEV_DEBUG", "0").dir(workspace.root()).run()?;
    without_cpu(workspace).map(|()| Done::Yes)
}

/// Runs the tests of a build without the CPU.
fn without_cpu(workspace: &Workspace) -> Result<()> {
    let test =
        cargo().args(["test", "--quiet", "-p", "fencepost", "--no-default-features", "--features", "vulkan"]);
    test.args(["--test", "feature_cpu"]).dir(workspace.root()).run()
}
