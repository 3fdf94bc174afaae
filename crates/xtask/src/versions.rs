//! `cargo xtask versions`: checks with the oldest dependencies that the manifests allow.
//!
//! A manifest that says `log = "0.4.29"` also allows every later 0.4. Cargo.lock selects new versions, so no other
//! check fails if the code needs something that the oldest version lacks.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::shell::cargo;
use crate::sources::copy;
use crate::workspace::Workspace;

/// Type-checks everything with the oldest versions of the workspace's direct dependencies. The versions are chosen in a
/// copy of the sources, whose Cargo.lock they replace.
///
/// # Errors
/// No set of versions fits the manifests, or something does not compile.
pub(crate) fn versions(workspace: &Workspace) -> Result<()> {
    let tree = workspace.made("versions/tree")?;
    let target = workspace.made("versions/target")?;
    copy(workspace.root(), &tree, &BTreeMap::new())?;
    // Cargo's option to select the oldest versions is unstable and needs this variable; the build itself uses only
    // stable features.
    let choose = cargo().args(["update", "--quiet", "-Z", "direct-minimal-versions"]);
    let choose = choose.var("RUSTC_BOOTSTRAP", "1").dir(&tree);
    choose.run().context("no versions fit: a manifest allows one that is too old for another crate")?;
    let check = cargo().args(["check", "--locked", "--workspace", "--all-targets"]);
    let check = check.args(["--features", "fencepost/validation"]);
    check.var("CARGO_TARGET_DIR", &target).var("CARGO_PROFILE_DEV_DEBUG", "0").dir(&tree).run()
}

#[cfg(test)]
mod tests {
    /// Checks that only wgpu's crates are pinned. Their internals change in every version; any other pin would conflict
    /// with other dependencies of programs.
    #[test]
    fn only_the_crates_of_wgpu_are_pinned() {
        let manifest = include_str!("../../../Cargo.toml");
        let pinned = manifest.lines().filter(|line| line.contains("\"="));
        let pinned: Vec<_> = pinned.filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(pinned, ["wgpu", "wgpu-hal", "naga", "wgpu-naga-bridge"]);
    }
}
