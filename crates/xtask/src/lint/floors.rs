//! Checks that an import between rooms of the core crate goes down.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};

use super::imports::{Import, imports, refused};
use super::rules::Finding;
use crate::workspace::Workspace;

/// The crate with floors, and the list of the floors.
pub(super) const SRC: &str = "crates/core/src";
pub(super) const LIST: &str = "docs/floors.txt";

/// A room: a folder of the crate, or a file at its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) name: String,
    /// One sentence that describes the room.
    pub(crate) sentence: String,
}

/// The rooms, the top floor first.
#[derive(Debug, Clone)]
pub(crate) struct Floors(Vec<Room>);

impl Floors {
    /// Reads the list.
    ///
    /// # Errors
    /// The list cannot be read, or a line has no sentence.
    pub(crate) fn read(workspace: &Workspace) -> Result<Self> {
        Self::parse(&std::fs::read_to_string(workspace.path(LIST))?)
    }

    fn parse(list: &str) -> Result<Self> {
        let lines = list.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        let room = |line: &str| match line.split_once(' ') {
            Some((name, sentence)) => Ok(Room { name: name.into(), sentence: sentence.trim().into() }),
            None => bail!("{LIST}: room `{line}` has no sentence"),
        };
        lines.map(room).collect::<Result<_>>().map(Self)
    }

    pub(crate) fn rooms(&self) -> &[Room] {
        &self.0
    }

    /// Returns the floor number of a file, counted from the top.
    fn floor(&self, file: &str) -> Option<usize> {
        let room = room_of(file);
        self.0.iter().position(|own| own.name == room)
    }
}

/// Returns the room of a file.
pub(crate) fn room_of(file: &str) -> &str {
    file.split('/').next().unwrap_or(file).trim_end_matches(".rs")
}

/// Returns every import of the core crate that goes up, and every room without a floor, by file.
///
/// # Errors
/// The sources or the list cannot be read.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<(String, Finding)>> {
    let floors = Floors::read(workspace)?;
    let refused = refused(Path::new(&workspace.path(SRC)))?;
    let refused = refused.into_iter().map(|(file, finding)| (format!("{SRC}/{file}"), finding));
    Ok(broken(&floors, &core_imports(workspace)?).into_iter().chain(refused).collect())
}

/// Returns the imports of the core crate.
///
/// # Errors
/// The sources cannot be read.
pub(crate) fn core_imports(workspace: &Workspace) -> Result<Vec<Import>> {
    imports(Path::new(&workspace.path(SRC)))
}

fn broken(floors: &Floors, imports: &[Import]) -> Vec<(String, Finding)> {
    let mut findings = Vec::new();
    let mut add = |file: &str, line, what| findings.push((format!("{SRC}/{file}"), Finding { line, what }));
    let mut unknown = BTreeSet::new();
    for import in imports.iter().filter(|import| import.from != "lib.rs") {
        let from = floors.floor(&import.from);
        let to = floors.floor(&import.to);
        for (file, floor) in [(&import.from, from), (&import.to, to)] {
            if floor.is_none() && unknown.insert(room_of(file)) {
                add(file, 1, format!("room `{}` is not in {LIST}: give it a floor", room_of(file)));
            }
        }
        if let (Some(above), Some(below)) = (to, from)
            && above < below
        {
            let Import { from, to, name, line } = import;
            let what = format!(
                "{from} imports `{name}` of {to}: room `{}` lies above room `{}`, and an import goes down",
                room_of(to),
                room_of(from)
            );
            add(from, *line, what);
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import(from: &str, to: &str) -> Import {
        Import { from: from.into(), line: 3, to: to.into(), name: "Item".into() }
    }

    fn found(imports: &[Import]) -> Vec<String> {
        let floors =
            Floors::parse("# top\napi   Programs call it.\nlow It lies below.\n").expect("it is a list");
        broken(&floors, imports).into_iter().map(|(_, finding)| finding.what).collect()
    }

    #[test]
    fn an_import_goes_down() {
        assert!(found(&[import("api/a.rs", "low/b.rs"), import("api/a.rs", "api/c.rs")]).is_empty());
        let up = found(&[import("low/b.rs", "api/a.rs")]);
        assert!(up[0].starts_with("low/b.rs imports `Item` of api/a.rs") && up.len() == 1, "{up:?}");
    }

    #[test]
    fn files_of_a_room_may_import_each_other() {
        assert!(found(&[import("low/a.rs", "low/b.rs"), import("low/b.rs", "low/a.rs")]).is_empty());
    }

    #[test]
    fn a_room_without_a_floor_is_found() {
        assert!(found(&[import("attic/a.rs", "low/b.rs")])[0].contains("room `attic` is not in"));
    }

    #[test]
    fn a_room_needs_a_sentence() {
        assert!(Floors::parse("api\n").is_err());
    }
}
