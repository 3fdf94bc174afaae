//! The paths of the working tree.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Returns the text of a file.
///
/// # Errors
/// The file cannot be read; the error names it.
pub(crate) fn text_of(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Root directory of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Finds the root: two folders above this crate if cargo runs the program, else above the current directory.
    pub(crate) fn find() -> Result<Self> {
        let start = match env::var_os("CARGO_MANIFEST_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => env::current_dir().context("no current directory")?,
        };
        let root = start.ancestors().find(|dir| dir.join("crates/xtask/Cargo.toml").is_file());
        let root = root.with_context(|| format!("{} is not inside the workspace", start.display()))?;
        Ok(Self { root: root.to_owned() })
    }

    /// Returns the workspace of another folder.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns the root directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a path below the root.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// Returns a directory below `target`, made if missing. `CARGO_TARGET_DIR` does not move it, so downloads are
    /// shared.
    pub(crate) fn made(&self, below: &str) -> Result<PathBuf> {
        let dir = self.root.join("target").join(below);
        fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        Ok(dir)
    }

    /// Returns the directory of the downloaded tools.
    pub(crate) fn tools(&self, name: &str) -> Result<PathBuf> {
        self.made(&format!("tools/{name}"))
    }
}
