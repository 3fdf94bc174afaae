//! Where things lie in the working tree.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The workspace's root directory.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Finds the root: two above this crate when cargo runs it, else above the current directory.
    pub(crate) fn find() -> Result<Self> {
        let start = match env::var_os("CARGO_MANIFEST_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => env::current_dir().context("no current directory")?,
        };
        let root = start.ancestors().find(|dir| dir.join("crates/xtask/Cargo.toml").is_file());
        let root = root.with_context(|| format!("{} is not inside the workspace", start.display()))?;
        Ok(Self { root: root.to_owned() })
    }

    /// The workspace of another folder.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The root directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the root.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// A directory below `target`, made if missing. Not moved by `CARGO_TARGET_DIR`: downloads are shared.
    pub(crate) fn made(&self, below: &str) -> Result<PathBuf> {
        let dir = self.root.join("target").join(below);
        std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        Ok(dir)
    }

    /// The directory that downloaded tools live in.
    pub(crate) fn tools(&self, name: &str) -> Result<PathBuf> {
        self.made("tools").and_then(|_| self.made(&format!("tools/{name}")))
    }
}
