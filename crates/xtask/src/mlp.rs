//! `cargo xtask mlp`: builds `examples/mlp`, and trains the network on the CPU device and on lavapipe.

use std::env;
use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::adapters::usable_drivers;
use crate::environment::missing_runtime_dir;
use crate::shell::{cargo, line};
use crate::software::ensure_adapter;
use crate::steps::Done;
use crate::workspace::Workspace;

/// Folder of the example, which is a workspace of its own.
const EXAMPLE: &str = "examples/mlp";

/// Builds the example, and runs it on the CPU device and on lavapipe.
///
/// # Errors
/// The example does not build, or a run fails: too few digits are recognised, or the device and the host differ.
pub(crate) fn mlp(workspace: &Workspace, may_install: bool) -> Result<Done> {
    let no_driver = ensure_adapter(may_install)?;
    let has_lavapipe = usable_drivers().iter().any(|driver| driver.library.contains("lvp"));
    let program = build(workspace)?;
    let vars = missing_runtime_dir(workspace)?;
    for adapter in ["cpu"].into_iter().chain(has_lavapipe.then_some("lavapipe")) {
        let run = line(&program).vars(&vars).var("FENCEPOST_ADAPTER", adapter);
        let (passed, said) = run.run_quietly()?;
        eprint!("{said}");
        ensure!(passed, "the example failed on {adapter}");
    }
    if has_lavapipe {
        return Ok(Done::Yes);
    }
    Ok(Done::Partly(no_driver.unwrap_or_else(|| "lavapipe, which is not installed".into())))
}

/// Builds the example, and returns the program.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let target = workspace.made("mlp")?;
    let manifest = workspace.path(EXAMPLE).join("Cargo.toml");
    let build = cargo().args(["build", "--release", "--manifest-path"]).arg(manifest);
    build.arg("--target-dir").arg(&target).dir(workspace.root()).run()?;
    Ok(target.join("release/mlp").with_extension(env::consts::EXE_EXTENSION))
}
