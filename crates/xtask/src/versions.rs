//! `cargo xtask versions`: the oldest versions of other crates that the manifests admit.
//!
//! A manifest says `log = "0.4.29"` and means every later 0.4 too. What Cargo.lock chooses is new, so nothing else notices when
//! the code needs more than the oldest one has.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::shell::cargo;
use crate::sources::copy;
use crate::workspace::Workspace;

/// Type-checks everything with the oldest versions of what the workspace names itself. The versions are chosen in a copy of the
/// sources, whose Cargo.lock they replace.
///
/// # Errors
/// No set of versions fits the manifests, or something does not compile with it.
pub(crate) fn versions(workspace: &Workspace) -> Result<()> {
    let (tree, target) = (workspace.made("versions/tree")?, workspace.made("versions/target")?);
    copy(workspace.root(), &tree, &BTreeMap::new())?;
    // Choosing the oldest versions is an unstable option of cargo's; what is compiled is compiled as ever.
    let choose = cargo().args(["update", "--quiet", "-Z", "direct-minimal-versions"]);
    let choose = choose.var("RUSTC_BOOTSTRAP", "1").dir(&tree);
    choose.run().context("no versions fit: a manifest admits one that is too old for another crate")?;
    let check = cargo().args(["check", "--locked", "--workspace", "--all-targets"]);
    let check = check.args(["--features", "fencepost/validation"]);
    check.var("CARGO_TARGET_DIR", &target).var("CARGO_PROFILE_DEV_DEBUG", "0").dir(&tree).run()
}

#[cfg(test)]
mod tests {
    /// Outside wgpu's own family, which changes its insides in any version, a pin keeps the library out of programs.
    #[test]
    fn only_wgpus_family_is_pinned() {
        let manifest = include_str!("../../../Cargo.toml");
        let pinned = manifest.lines().filter(|line| line.contains("\"="));
        let pinned: Vec<_> = pinned.filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(pinned, ["wgpu", "wgpu-hal", "naga", "wgpu-naga-bridge"]);
    }
}
