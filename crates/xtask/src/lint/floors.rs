//! Checks that an import between rooms of the core crate goes down.
//!
//! A path from the root of the crate names a room. A re-export is an import too, so a chain of re-exports also goes
//! down, and hides no import that goes up.

use anyhow::{Result, ensure};

use super::Finding;
use super::code::{Source, identifier, line_at, whole, without_tests};
use crate::workspace::{Workspace, text_of};

/// Folder of the crate with rooms.
const SRC: &str = "crates/core/src/";
/// The list of the rooms, the top floor first.
const LIST: &str = "docs/floors.txt";

/// Returns every import of the core crate that goes up, and every path from its root that names no room.
///
/// # Errors
/// The list cannot be read or is empty.
pub(super) fn check(workspace: &Workspace, sources: &[Source]) -> Result<Vec<Finding>> {
    let list = text_of(&workspace.path(LIST))?;
    let rooms: Vec<&str> = rooms(&list);
    ensure!(!rooms.is_empty(), "{LIST} has no rooms");
    Ok(sources.iter().flat_map(|source| broken(&rooms, source)).collect())
}

/// Returns the first word of each line that is not a comment.
fn rooms(list: &str) -> Vec<&str> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines.map(identifier).filter(|name| !name.is_empty()).collect()
}

fn broken(rooms: &[&str], source: &Source) -> Vec<Finding> {
    let path = &source.path;
    let Some(file) = path.strip_prefix(SRC).filter(|file| *file != "lib.rs" && !source.is_test()) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let mut add = |line, what| findings.push(Finding { path: path.clone(), line, what });
    let own = file.split('/').next().unwrap_or(file).trim_end_matches(".rs");
    let Some(floor) = rooms.iter().position(|room| *room == own) else {
        add(1, format!("room `{own}` is not in {LIST}: give it a floor"));
        return findings;
    };
    let code = without_tests(&source.code);
    for (at, name) in from_root(&code, depth(file)) {
        match rooms.iter().position(|room| *room == name) {
            Some(above) if above < floor => add(
                line_at(&code, at),
                format!("room `{name}` lies above room `{own}`, and an import goes down"),
            ),
            Some(_) => {}
            // A path of an exported macro, `$crate::Item`, names what programs see.
            None if code[..at].ends_with("$crate::") || code[..at].ends_with('$') => {}
            None => add(line_at(&code, at), format!("`{name}` is not a room: name the file of the item")),
        }
    }
    for (at, line) in source.text.lines().enumerate() {
        let line = line.trim_start();
        let is_hidden = line.starts_with("#[cfg_attr(") && line.contains("path =");
        if is_hidden || line.strip_prefix("#[path = ").is_some_and(|file| file.contains('/')) {
            add(at + 1, "`#[path]` hides the file of a module: name one of the same folder".to_owned());
        }
    }
    findings
}

/// Returns the number of `super` that lead from a file to the root of the crate.
fn depth(file: &str) -> usize {
    let module = file.trim_end_matches(".rs");
    module.strip_suffix("/mod").unwrap_or(module).split('/').count()
}

/// Returns the place and the first name of each path from the root: after `crate`, or after enough `super`.
fn from_root(code: &str, depth: usize) -> Vec<(usize, &str)> {
    let supers = "super::".repeat(depth);
    let of_crate = whole(code, "crate::").map(|at| (at, at + "crate::".len()));
    let of_super = code.match_indices(&supers).map(|(at, found)| (at, at + found.len()));
    of_crate.chain(of_super).map(|(at, end)| (at, identifier(&code[end..]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOMS: [&str; 2] = ["api", "low"];

    fn found(path: &str, text: &str) -> Vec<String> {
        let source = Source::new(format!("{SRC}{path}"), text.to_owned());
        broken(&ROOMS, &source).into_iter().map(|finding| finding.what).collect()
    }

    fn goes_up(path: &str, text: &str) -> bool {
        let found = found(path, text);
        found.len() == 1 && found[0].contains("room `api` lies above room `low`")
    }

    #[test]
    fn an_import_goes_down() {
        assert!(found("api/a.rs", "use crate::low::b::Item;\nuse crate::api::c::Item;").is_empty());
        assert!(goes_up("low/b.rs", "use crate::api::a::Item;"));
        assert!(goes_up("low/b.rs", "macro_rules! m { () => { $crate::api::a::Item }; }"));
        assert!(goes_up("low/mod.rs", "pub(crate) use crate::api::a::*;"), "an export is an import");
        assert!(goes_up("low/b.rs", "fn f(_: crate::api::a::Item) {}"));
        assert!(goes_up("low/b.rs", "use super::super::api::a::Item;"));
        assert!(goes_up("low/mod.rs", "use super::api::a::Item;"));
        assert!(goes_up("low.rs", "use super::api::a::Item;"));
    }

    #[test]
    fn files_of_a_room_may_import_each_other() {
        assert!(found("low/a.rs", "use crate::low::b::Item;\nuse super::b::Item;\nmod c;").is_empty());
    }

    #[test]
    fn a_path_from_the_root_names_a_room() {
        assert!(found("low/a.rs", "use crate::Item;")[0].contains("`Item` is not a room"));
        assert_eq!(found("low/a.rs", "use crate::{low::b, api};").len(), 1);
        assert!(found("low/a.rs", "macro_rules! m { () => { $crate::Item }; }").is_empty());
        assert!(found("low/a.rs", "// crate::api\npub(crate) fn f() {}").is_empty());
        assert!(found("lib.rs", "pub use crate::api::a::Item;").is_empty());
    }

    #[test]
    fn only_code_of_tests_is_left_out() {
        let import = "mod m { use crate::api::a::Item; }";
        assert!(found("low/a.rs", &format!("#[cfg(test)]\n{import}")).is_empty());
        assert!(found("low/a_tests.rs", import).is_empty());
        assert!(goes_up("low/a.rs", &format!("#[cfg(not(test))]\n{import}")));
    }

    #[test]
    fn a_room_without_a_floor_is_found() {
        assert!(found("attic/a.rs", "")[0].contains("room `attic` is not in"));
        assert_eq!(rooms("# top\napi Programs call it.\nlow\n"), ROOMS);
    }

    #[test]
    fn the_file_of_a_module_is_in_its_folder() {
        assert_eq!(found("low/a.rs", "#[path = \"../api/a.rs\"]\nmod other;").len(), 1);
        assert_eq!(found("low/a.rs", "#[cfg_attr(unix, path = \"a.rs\")]\nmod other;").len(), 1);
        assert!(found("low/a.rs", "#[path = \"no_b.rs\"]\nmod b;").is_empty());
    }
}
