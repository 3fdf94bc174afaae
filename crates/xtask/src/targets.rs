//! Type-checks the library for other platforms.

use std::path::PathBuf;

use anyhow::{Result, ensure};

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
}

/// Checks every library for each target, with the standard library of the current toolchain. Uses clippy, which checks
/// more than cargo at the same cost.
///
/// # Errors
/// A target is missing and cannot be added; a library does not compile.
pub(crate) fn check(workspace: &Workspace, targets: &[Target], may_install: bool) -> Result<()> {
    for &target in targets {
        let triple = ready(target, may_install)?;
        // Cargo locks a directory for a whole build, so each target has its own.
        let dir = workspace.made(&format!("check/{triple}"))?;
        let check = cargo().arg("clippy").args(FAST_DERIVE).args(LIBRARIES).args(["--lib", "--target"]);
        let check = check.arg(triple).arg("--target-dir").arg(dir).args(["--", "-D", "warnings"]);
        check.dir(workspace.root()).run()?;
    }
    Ok(())
}

/// Returns the triple of a target for which the current toolchain can build.
///
/// # Errors
/// The standard library of the target is missing and cannot be added.
pub(crate) fn ready(target: Target, may_install: bool) -> Result<&'static str> {
    let triple = target.triple();
    ensure!(has_library(triple, may_install), "no library for {triple}: `rustup target add {triple}`");
    Ok(triple)
}

/// Returns `true` if the current toolchain has the target's standard library; adds it with rustup if that is allowed.
pub(crate) fn has_library(triple: &str, may_install: bool) -> bool {
    if is_installed(triple) {
        return true;
    }
    let Some(rustup) = which("rustup").filter(|_| may_install) else {
        return false;
    };
    eprintln!("xtask: the toolchain lacks {triple}: adding it with rustup");
    match line(rustup).args(["target", "add", triple]).run() {
        Ok(()) => is_installed(triple),
        Err(error) => {
            eprintln!("xtask: {error:#}");
            false
        }
    }
}

fn is_installed(triple: &str) -> bool {
    let sysroot = line("rustc").args(["--print", "sysroot"]).read();
    let library = |root: String| PathBuf::from(root.trim()).join("lib/rustlib").join(triple).join("lib");
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
