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
    /// What a derive writes refers to hidden items of this very version.
    #[test]
    fn the_crates_of_the_workspace_take_each_other_at_one_version() {
        let manifest = include_str!("../../../Cargo.toml");
        let own: Vec<_> = manifest.lines().filter(|line| line.contains("{ path = \"crates/")).collect();
        assert_eq!(own.len(), 5, "{own:?}");
        assert!(own.iter().all(|line| line.contains("version = \"=")), "{own:?}");
    }
}
