//! A copy of the sources, into which the faults go. The working tree stays as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::faults::Placed;
use super::weave::{weave, with_choice};
use crate::workspace::Workspace;

/// The copy and what is built from it.
pub(super) struct Scratch {
    source: PathBuf,
    root: PathBuf,
    target: PathBuf,
}

impl Scratch {
    /// Below `target/mutants`.
    pub(super) fn new(workspace: &Workspace) -> Result<Self> {
        let (root, target) = (workspace.made("mutants/tree")?, workspace.made("mutants/target")?);
        Ok(Self { source: workspace.root().to_owned(), root, target })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Where its builds go.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Makes it a copy of the sources with these faults. What is right already is left alone, so that only what has
    /// changed is built again.
    pub(super) fn lay(&self, faults: &[&Placed]) -> Result<()> {
        let woven = self.woven(faults)?;
        let files = files(&self.source)?;
        for file in &files {
            let text = match woven.get(file) {
                Some(text) => text.clone().into_bytes(),
                None => fs::read(self.source.join(file)).with_context(|| file.display().to_string())?,
            };
            self.write(file, &text)?;
        }
        for gone in self::files(&self.root)?.difference(&files) {
            fs::remove_file(self.root.join(gone)).with_context(|| gone.display().to_string())?;
        }
        Ok(())
    }

    /// The files with faults, and the roots of their crates.
    fn woven(&self, faults: &[&Placed]) -> Result<BTreeMap<PathBuf, String>> {
        let read = |file: &Path| {
            let path = self.source.join(file);
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let mut texts = BTreeMap::new();
        let names: BTreeSet<&str> = faults.iter().map(|placed| placed.fault.file.as_str()).collect();
        for name in names {
            let own: Vec<&Placed> =
                faults.iter().copied().filter(|placed| placed.fault.file == name).collect();
            let file = PathBuf::from(name);
            let woven = weave(&read(&file)?, &own).with_context(|| name.to_owned())?;
            texts.insert(file, woven);
        }
        let roots: BTreeSet<PathBuf> = texts.keys().filter_map(|file| crate_root(file)).collect();
        for root in roots {
            let text = texts.remove(&root).map_or_else(|| read(&root), Ok)?;
            texts.insert(root, with_choice(&text));
        }
        Ok(texts)
    }

    fn write(&self, file: &Path, text: &[u8]) -> Result<()> {
        let path = self.root.join(file);
        if fs::read(&path).is_ok_and(|there| there == text) {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// `<crate>/src/lib.rs` of a file in a crate.
fn crate_root(file: &Path) -> Option<PathBuf> {
    file.ancestors().find(|dir| dir.ends_with("src")).map(|src| src.join("lib.rs"))
}

/// All files below `root` but what is built or belongs to git, as paths below it. Links are followed.
fn files(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let (mut found, mut folders) = (BTreeSet::new(), vec![root.to_owned()]);
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

#[cfg(test)]
mod tests {
    use super::super::faults::tests::fault;
    use super::super::faults::{Fault, place_all};
    use super::*;

    fn read(path: &Path) -> String {
        fs::read_to_string(path).expect("it is there")
    }

    #[test]
    fn the_copy_has_the_faults_and_the_tree_has_none() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (source, root) = (dir.path().join("tree"), dir.path().join("copy"));
        for (file, text) in [("c/src/lib.rs", "mod a;\n"), ("c/src/a.rs", "one();"), ("target/x", "built")] {
            let path = source.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        fs::create_dir_all(&root).expect("made");
        fs::write(root.join("old"), "").expect("written");
        let fault = Fault { file: "c/src/a.rs".into(), ..fault("f", "one();", "two();") };
        let placed = place_all(&source, vec![fault]).expect("it is there");
        let scratch = Scratch { source: source.clone(), root: root.clone(), target: dir.path().into() };
        scratch.lay(&placed.iter().collect::<Vec<_>>()).expect("laid");
        assert!(read(&root.join("c/src/a.rs")).contains("two();"));
        assert!(read(&root.join("c/src/lib.rs")).contains("mod seeded_fault"));
        assert!(!root.join("target").exists() && !root.join("old").exists());
        assert_eq!(read(&source.join("c/src/a.rs")), "one();");
    }
}
