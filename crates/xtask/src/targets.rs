//! Type-checks the library for other platforms.

use std::path::PathBuf;

use anyhow::Result;

use crate::rust_web::RustWeb;
use crate::shell::{cargo, line, which};
use crate::workspace::Workspace;

/// Libraries that run on the target; the derive runs on the host.
const LIBRARIES: [&str; 16] = [
    "-p",
    "fencepost",
    "-p",
    "fencepost-algorithms",
    "-p",
    "fencepost-core",
    "-p",
    "fencepost-cpu",
    "-p",
    "fencepost-graph-file",
    "-p",
    "fencepost-kernels",
    "-p",
    "fencepost-profile",
    "-p",
    "fencepost-sync",
];

/// Options that make the crates of the derive compile fast; here only the derive executes them.
const FAST_DERIVE: [&str; 4] = [
    "--config",
    "profile.dev.package.naga.opt-level=0",
    "--config",
    "profile.dev.package.fencepost-kernels.opt-level=0",
];

/// A platform to check for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Web,
    Metal,
    Dx12,
}

impl Target {
    pub(crate) const ALL: [Self; 3] = [Self::Web, Self::Metal, Self::Dx12];

    fn triple(self) -> &'static str {
        match self {
            Self::Web => "wasm32-unknown-unknown",
            Self::Metal => "aarch64-apple-darwin",
            Self::Dx12 => "x86_64-pc-windows-msvc",
        }
    }

    /// Lists the parts of the standard library that must be checked too, if it is not installed.
    fn std_parts(self) -> &'static str {
        match self {
            Self::Web => "std,panic_abort",
            Self::Metal | Self::Dx12 => "std,panic_abort,panic_unwind",
        }
    }
}

/// Allowed sources of a target's standard library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources {
    /// `true` if downloads are allowed.
    pub(crate) may_install: bool,
    /// `true` to use Debian's compiler even if rustup has the target.
    pub(crate) debian: bool,
}

/// Checks every library for each target.
pub(crate) fn check(workspace: &Workspace, targets: &[Target], sources: Sources) -> Result<()> {
    for &target in targets {
        if !sources.debian && has_target(target, sources.may_install) {
            with_rustup(workspace, target)?;
        } else {
            with_debian(workspace, target, &RustWeb::find(workspace, sources.may_install)?)?;
        }
    }
    Ok(())
}

/// Checks with the current toolchain, which has this target's standard library. Uses clippy, which checks more at the
/// same cost.
fn with_rustup(workspace: &Workspace, target: Target) -> Result<()> {
    let dir = target_dir(workspace, target, "rustup")?;
    let check =
        cargo().arg("clippy").args(FAST_DERIVE).args(LIBRARIES).args(["--lib", "--target", target.triple()]);
    check.arg("--target-dir").arg(dir).args(["--", "-D", "warnings"]).dir(workspace.root()).run()
}

/// Checks with Debian's compiler, which checks the standard library from its sources first.
fn with_debian(workspace: &Workspace, target: Target, rust: &RustWeb) -> Result<()> {
    let dir = target_dir(workspace, target, "debian")?;
    let build_std = format!("-Zbuild-std={}", target.std_parts());
    let check =
        rust.cargo().args(["check", &build_std]).args(LIBRARIES).args(["--lib", "--target", target.triple()]);
    check.arg("--target-dir").arg(dir).dir(workspace.root()).run()
}

/// Returns a directory for each compiler and target: the compilers differ, and cargo locks a directory for a whole
/// build.
fn target_dir(workspace: &Workspace, target: Target, compiler: &str) -> Result<PathBuf> {
    workspace.made(&format!("check/{compiler}-{}", target.triple()))
}

/// Returns `true` if the current toolchain has the target's standard library; adds it with rustup if that is allowed.
fn has_target(target: Target, may_install: bool) -> bool {
    if is_installed(target) {
        return true;
    }
    let Some(rustup) = which("rustup").filter(|_| may_install) else {
        return false;
    };
    eprintln!("xtask: the toolchain lacks {}: adding it with rustup", target.triple());
    match line(rustup).args(["target", "add", target.triple()]).run() {
        Ok(()) => is_installed(target),
        Err(error) => {
            eprintln!("xtask: {error:#}");
            false
        }
    }
}

fn is_installed(target: Target) -> bool {
    let sysroot = line("rustc").args(["--print", "sysroot"]).read();
    let library =
        |root: String| PathBuf::from(root.trim()).join("lib/rustlib").join(target.triple()).join("lib");
    sysroot.is_ok_and(|root| library(root).is_dir())
}

/// Returns the targets whose flags were given; all of them if none was.
pub(crate) fn chosen(web: bool, metal: bool, dx12: bool) -> Vec<Target> {
    let flags = [web, metal, dx12];
    let any = flags.contains(&true);
    Target::ALL.into_iter().zip(flags).filter(|(_, flag)| *flag || !any).map(|(target, _)| target).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flag_means_every_target() {
        assert_eq!(chosen(false, false, false), Target::ALL);
        assert_eq!(chosen(true, false, true), [Target::Web, Target::Dx12]);
    }
}
