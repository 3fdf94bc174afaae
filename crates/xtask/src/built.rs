//! Test programs that are built once and run many times, even if the sources change in between.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::shell::{Line, line};
use crate::suite::{self, tests};
use crate::workspace::Workspace;

/// Copies of test programs, removed on drop.
pub(crate) struct Built {
    folder: PathBuf,
    paths: Vec<PathBuf>,
}

impl Built {
    /// Builds test programs of the facade.
    pub(crate) fn new(workspace: &Workspace, names: &[&str]) -> Result<Self> {
        let names_of_tests = names.iter().flat_map(|name| ["--test", name]);
        let line = tests().arg("--no-run").args(names_of_tests).dir(workspace.root());
        let messages = suite::messages_of(line)?;
        let folder = workspace.made(&format!("built/{}", std::process::id()))?;
        let mut built = Self { folder, paths: Vec::new() };
        for name in names {
            let program = suite::executable(&messages, (name, "test"))
                .with_context(|| format!("cargo's messages do not name the test program `{name}`"))?;
            let copy = built.folder.join(name);
            fs::copy(&program, &copy).with_context(|| format!("cannot copy {}", program.display()))?;
            built.paths.push(copy);
        }
        Ok(built)
    }

    /// Returns the command lines of the programs, sorted by name. Each runs in the folder in which cargo would start
    /// it.
    pub(crate) fn lines(&self, workspace: &Workspace) -> impl Iterator<Item = Line> {
        self.paths.iter().map(|path| line(path).dir(&workspace.path("crates/fencepost")))
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        // A folder that cannot be removed stays below `target`.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
