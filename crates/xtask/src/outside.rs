//! `cargo xtask outside`: builds a program that takes the library from its packages, together with the newest versions
//! of other crates.
//!
//! The workspace's tests use the crates from folders, with the dependency versions of Cargo.lock. A user's program gets
//! packages, which may lack a file, and the newest dependencies.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::environment::unwatched;
use crate::package::{patches, unpacked};
use crate::shell::{Line, cargo};
use crate::steps::Done;
use crate::workspace::Workspace;

/// The program's files, by their paths in its folder.
const FILES: [(&str, &str); 3] = [
    ("src/main.rs", include_str!("../outside/src/main.rs")),
    ("shaders/turn.wgsl", include_str!("../outside/shaders/turn.wgsl")),
    ("shaders/brighten.wgsl", include_str!("../outside/shaders/brighten.wgsl")),
];

/// The program's dependencies, in their newest versions. A version of egui-wgpu belongs to one version of wgpu, so it is
/// fixed here and changes with this workspace's wgpu.
const DEPENDENCIES: &str = r#"fencepost = { version = "*", features = ["image", "ndarray", "num-complex"] }
egui-wgpu = "0.37"
fastrand = "*"
half = "*"
image = { version = "*", default-features = false }
log = "*"
ndarray = "*"
num-complex = "*"
serde = { version = "*", features = ["derive"] }
"#;

/// Crates that a program must have in one version only: two versions would have equal names for different types.
const SINGLE: [&str; 16] = [
    "bytemuck",
    "fencepost",
    "fencepost-algorithms",
    "fencepost-core",
    "fencepost-cpu",
    "fencepost-graph-file",
    "fencepost-kernels",
    "fencepost-profile",
    "fencepost-sync",
    "half",
    "image",
    "ndarray",
    "num-complex",
    "wgpu",
    "wgpu-core",
    "wgpu-types",
];

/// Packages the crates, and builds and runs a program that gets the library from the packages. Skipped if downloads are
/// not allowed.
///
/// # Errors
/// The crates cannot be packaged, the program does not build, it contains two versions of a crate where only one is
/// allowed, or its results are wrong on an adapter.
pub(crate) fn outside(workspace: &Workspace, may_fetch: bool) -> Result<Done> {
    if !may_fetch {
        return Ok(Done::Skipped("downloads are not allowed".to_owned()));
    }
    let root = workspace.made("outside")?;
    let packages = root.join("packages");
    let names = unpacked(workspace, &root.join("packed"), &packages)?;
    let target = root.join("target");
    let folder = root.join("program");
    write_program(&folder, &patches(&names, &packages))?;
    let line = |args: &[&str]| in_folder(&folder, &target, args);
    line(&["update", "--quiet"]).run().context("no versions fit")?;
    let twice = twice(&line(&["tree", "--duplicates", "--depth", "0", "--prefix", "none"]).read()?);
    if !twice.is_empty() {
        bail!(
            "the program has two versions of {}: `cargo tree -d` in {}",
            twice.join(", "),
            folder.display()
        );
    }
    line(&["build", "--quiet"]).run()?;
    line(&["run", "--quiet"]).vars(&unwatched(workspace)?).run()?;
    Ok(Done::Yes)
}

/// Writes the program into a new folder, as its own workspace with its own lock file.
fn write_program(folder: &Path, patches: &str) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let manifest = format!(
        "[package]\nname = \"outside\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{DEPENDENCIES}\n\
         [profile.dev]\ndebug = false\n\n[workspace]\n\n[patch.crates-io]\n{patches}"
    );
    for (path, text) in FILES.into_iter().chain([("Cargo.toml", &*manifest)]) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn in_folder(folder: &Path, target: &Path, args: &[&str]) -> Line {
    cargo().args(args).var("CARGO_TARGET_DIR", target).without("RUSTFLAGS").dir(folder)
}

/// Returns the crates that `cargo tree --duplicates` lists with two versions although only one is allowed. The command
/// also lists crates that are built twice, for the program and for a derive.
fn twice(tree: &str) -> Vec<&'static str> {
    let versions = |name: &&str| {
        let of_it = tree.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(" v"));
        of_it.filter_map(|rest| rest.split(' ').next()).collect::<BTreeSet<_>>().len()
    };
    SINGLE.into_iter().filter(|name| versions(name) > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_built_twice_counts_once() {
        assert!(twice("bytemuck v1.25.0\n\nbytemuck v1.25.0 (*)\n").is_empty());
    }

    #[test]
    fn a_second_wgpu_is_reported_and_a_second_syn_is_not() {
        let tree = "syn v2.0.1\n\nsyn v3.0.0\n\nwgpu v29.0.0\n\nwgpu v30.0.1 (*)\n\nwgpu-core v1.0.0\n";
        assert_eq!(twice(tree), ["wgpu"]);
        assert!(twice("syn v2.0.1\n\nsyn v3.0.0\n").is_empty());
    }
}
