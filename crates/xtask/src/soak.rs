//! `cargo xtask soak`: runs the double buffer for minutes, with debug assertions.

use std::env;

use anyhow::Result;

use crate::environment::unwatched;
use crate::shell::cargo;
use crate::workspace::Workspace;

/// Variable that selects the adapter of a program.
const ADAPTER: &str = "FENCEPOST_ADAPTER";
/// Variables with the manifests of Vulkan drivers.
const DRIVERS: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

/// Builds and runs the soak of `benches/`, which parses the arguments. On Linux it takes a Vulkan adapter, because the
/// CPU would come before software drivers.
pub(crate) fn soak(workspace: &Workspace, args: &[String]) -> Result<()> {
    let soak = cargo().args(["run", "--quiet", "-p", "fencepost-benches", "--bin", "soak", "--"]).args(args);
    let mut vars = unwatched(workspace)?;
    // The first driver of several.
    for (_, drivers) in vars.iter_mut().filter(|(name, _)| DRIVERS.contains(&name.as_str())) {
        let first = env::split_paths(drivers).next().unwrap_or_default();
        *drivers = first.to_string_lossy().into_owned();
    }
    if cfg!(target_os = "linux") && env::var_os(ADAPTER).is_none() {
        vars.push((ADAPTER.to_owned(), "vulkan".to_owned()));
    }
    soak.vars(&vars).dir(workspace.root()).run()
}
