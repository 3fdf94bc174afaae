//! Programs from crates.io that a command needs, built below `target/tools` if they are not in `PATH`.

use std::env;
use std::path::PathBuf;

use anyhow::Result;

use crate::shell::{cargo, which};
use crate::workspace::Workspace;

/// A package of crates.io with a program of the same name.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

impl Tool {
    /// Returns the program from `PATH`, or the one below `target/tools`; `None` if both are missing and may not be
    /// built.
    pub(crate) fn find(&self, workspace: &Workspace, may_install: bool) -> Result<Option<PathBuf>> {
        if let Some(program) = which(self.name) {
            return Ok(Some(program));
        }
        let root = workspace.tools(self.name)?;
        let program = root.join("bin").join(format!("{}{}", self.name, env::consts::EXE_SUFFIX));
        if !program.is_file() && may_install {
            let install =
                cargo().args(["install", self.name, "--locked", "--debug", "--version", self.version]);
            // The program runs only briefly, but compiling it takes minutes.
            let quick = install.var("CARGO_PROFILE_DEV_DEBUG", "0");
            quick.arg("--root").arg(&root).without("CARGO_TARGET_DIR").without("RUSTFLAGS").run()?;
        }
        Ok(program.is_file().then_some(program))
    }
}
