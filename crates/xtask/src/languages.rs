//! `cargo xtask languages`: translates the WGSL of the algorithms to the languages of all graphics APIs.

use anyhow::Result;

use crate::shell::cargo;
use crate::tint::texts;
use crate::workspace::Workspace;

/// Options of cargo that run the translator.
const TRANSLATOR: [&str; 9] = [
    "run",
    "--quiet",
    "-p",
    "fencepost-wgsl-fuzz",
    "--no-default-features",
    "--features",
    "languages",
    "--bin",
    "languages",
];

/// Collects the WGSL of the kernels that the tests of the algorithms compile, and translates them.
///
/// # Errors
/// A test fails, or naga cannot translate a kernel that the library passes to it.
pub(crate) fn languages(workspace: &Workspace) -> Result<()> {
    let texts = texts(workspace, "languages")?;
    cargo().args(TRANSLATOR).arg("--").arg(texts).dir(workspace.root()).run()
}
