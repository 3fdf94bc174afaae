//! Copies of the sources, for commands that must not change the working tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Makes `to` a copy of the sources in `from`, with the texts in `changed` instead of the files' contents. Unchanged
/// files are not written, so that cargo rebuilds only changed ones.
///
/// # Errors
/// A file cannot be read or written.
pub(crate) fn copy(from: &Path, to: &Path, changed: &BTreeMap<PathBuf, String>) -> Result<()> {
    let files = files(from)?;
    for file in &files {
        let text = match changed.get(file) {
            Some(text) => text.clone().into_bytes(),
            None => fs::read(from.join(file)).with_context(|| file.display().to_string())?,
        };
        write(&to.join(file), &text)?;
    }
    for gone in self::files(to)?.difference(&files) {
        fs::remove_file(to.join(gone)).with_context(|| gone.display().to_string())?;
    }
    Ok(())
}

fn write(path: &Path, text: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns all files below `root` as relative paths, except builds and git's files. Links are followed.
fn files(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_owned();
            if path.is_dir() && name != "target" && name != ".git" {
                folders.push(path);
            } else if path.is_file() && name != ".git" {
                found.insert(path.strip_prefix(root)?.to_owned());
            }
        }
    }
    Ok(found)
}
