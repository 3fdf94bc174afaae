//! The floors of the core crate.

use anyhow::Result;

use super::imports::imports;
use crate::workspace::Workspace;

pub(crate) fn command(workspace: &Workspace, _files: bool) -> Result<()> {
    for import in imports(&workspace.path("crates/core/src"))? {
        println!("{}:{}\t{}\t{}", import.from, import.line, import.to, import.name);
    }
    Ok(())
}
