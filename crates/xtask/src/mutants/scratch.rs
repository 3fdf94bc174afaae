//! A copy of the sources with the faults. The working tree is not changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::faults::Placed;
use super::weave::{weave, with_choice};
use crate::sources::copy;
use crate::workspace::{Workspace, text_of};

/// The copy and its build.
pub(super) struct Scratch {
    source: PathBuf,
    root: PathBuf,
    target: PathBuf,
}

impl Scratch {
    /// Makes the copy below `target/mutants`.
    pub(super) fn new(workspace: &Workspace) -> Result<Self> {
        let root = workspace.made("mutants/tree")?;
        let target = workspace.made("mutants/target")?;
        Ok(Self { source: workspace.root().to_owned(), root, target })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder of its builds.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Updates the copy to the sources with these faults. Unchanged files are not written, so that cargo rebuilds only
    /// what changed.
    pub(super) fn lay(&self, faults: &[&Placed]) -> Result<()> {
        copy(&self.source, &self.root, &self.woven(faults)?)
    }

    /// Returns the files with faults, and the root files of their crates.
    fn woven(&self, faults: &[&Placed]) -> Result<BTreeMap<PathBuf, String>> {
        let read = |file: &Path| text_of(&self.source.join(file));
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
}

/// Returns `<crate>/src/lib.rs` for a file in a crate.
fn crate_root(file: &Path) -> Option<PathBuf> {
    file.ancestors().find(|dir| dir.ends_with("src")).map(|src| src.join("lib.rs"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::faults::tests::fault;
    use super::super::faults::{Fault, place_all};
    use super::*;

    fn read(path: &Path) -> String {
        fs::read_to_string(path).expect("it is there")
    }

    #[test]
    fn the_copy_has_the_faults_and_the_tree_has_none() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let source = dir.path().join("tree");
        let root = dir.path().join("copy");
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
