//! Programs in separate packages below the target folder, with dependencies that may differ from the workspace's.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::shell::Line;
use crate::workspace::Workspace;

/// A program with a single file.
pub(crate) struct PeerProgram {
    pub(crate) name: &'static str,
    /// Dependencies; `{root}` is the workspace.
    pub(crate) dependencies: &'static str,
    /// Parts of the program's source.
    pub(crate) main: &'static [&'static str],
}

impl PeerProgram {
    /// Writes the package into a folder. An existing target folder is kept.
    pub(crate) fn write(&self, workspace: &Workspace, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder.join("src"))?;
        let root = workspace.root().display().to_string();
        let dependencies = self.dependencies.replace("{root}", &root);
        let manifest = format!(
            "[package]\nname = \"minimal\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}\n\n\
             [profile.release]\nstrip = true\n\n[workspace]\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::write(folder.join("src/main.rs"), self.main.concat())?;
        Ok(())
    }

    /// Returns the package's folder below the target folder `made`.
    pub(crate) fn folder(&self, made: &Path) -> PathBuf {
        made.join(self.name.replace([',', ' '], "-"))
    }
}

/// Returns the command line as it runs in the package, without the settings of the workspace.
pub(crate) fn in_package(line: Line, folder: &Path) -> Line {
    line.without("CARGO_TARGET_DIR").without("RUSTFLAGS").without("RUSTC_WRAPPER").dir(folder)
}

/// Returns the path of the program that a release build of the package makes.
pub(crate) fn executable(folder: &Path) -> PathBuf {
    folder.join("target/release").join(format!("minimal{EXE_SUFFIX}"))
}
