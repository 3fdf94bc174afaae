//! Steps that run only if their inputs have changed since they last passed in this checkout.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use anyhow::{Context, Result};

use crate::shell::line;
use crate::steps::Done;
use crate::workspace::Workspace;

/// Folders and files that a step depends on, relative to the root: the crates, which include xtask and so the steps, and
/// the benches, which call each verb of a table of the tests.
const INPUTS: [&str; 5] =
    ["Cargo.toml", "Cargo.lock", "crates", "benches", "tests/conformance/algorithms/verb_table.rs"];

/// Runs a step, unless it has already passed in this checkout with the same inputs and the same compiler.
///
/// # Errors
/// Fails as the step does, and if the inputs cannot be read.
pub(crate) fn when_changed(
    workspace: &Workspace,
    name: &str,
    step: impl FnOnce() -> Result<Done>,
) -> Result<Done> {
    let stamp = workspace.made("passed")?.join(name);
    let now = print_of(workspace)?;
    if fs::read_to_string(&stamp).is_ok_and(|then| then == now) {
        return Ok(Done::Skipped("it has passed here with the same inputs".to_owned()));
    }
    let done = step()?;
    if matches!(done, Done::Yes) {
        fs::write(&stamp, now).with_context(|| format!("cannot write {}", stamp.display()))?;
    }
    Ok(done)
}

/// Returns a fingerprint of the inputs, the compiler and its options.
fn print_of(workspace: &Workspace) -> Result<String> {
    let list = line("git").args(["ls-files", "--cached", "--others", "--exclude-standard", "--"]);
    let files = list.args(INPUTS).dir(workspace.root()).read()?;
    let mut hasher = DefaultHasher::new();
    line("rustc").arg("-vV").read()?.hash(&mut hasher);
    ["RUSTFLAGS", "CI"].map(std::env::var_os).hash(&mut hasher);
    for file in files.lines() {
        file.hash(&mut hasher);
        contents(&workspace.path(file))?.hash(&mut hasher);
    }
    Ok(format!("{:016x}\n", hasher.finish()))
}

/// Returns the bytes of a file; `None` if it was removed but git still lists it.
fn contents(file: &Path) -> Result<Option<Vec<u8>>> {
    if !file.is_file() {
        return Ok(None);
    }
    fs::read(file).map(Some).with_context(|| format!("cannot read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use anyhow::anyhow;

    use super::*;

    /// Runs the step `name` of a workspace and returns how often it has run so far.
    fn run(workspace: &Workspace, count: &Cell<u32>, result: Result<Done>) -> u32 {
        let step = || {
            count.set(count.get() + 1);
            result
        };
        let _ = when_changed(workspace, "step", step);
        count.get()
    }

    fn checkout() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let write = |file: &str, text: &str| {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        };
        write("Cargo.toml", "[workspace]");
        write("crates/core/src/lib.rs", "one");
        write("docs/testing.md", "one");
        line("git").args(["init", "-q"]).dir(dir.path()).read().expect("git runs");
        let workspace = Workspace::at(dir.path());
        (dir, workspace)
    }

    #[test]
    fn a_step_runs_again_only_after_its_inputs_change() {
        let (dir, workspace) = checkout();
        let count = Cell::new(0);
        assert_eq!(run(&workspace, &count, Ok(Done::Yes)), 1);
        assert_eq!(run(&workspace, &count, Ok(Done::Yes)), 1, "nothing has changed");
        fs::write(dir.path().join("docs/testing.md"), "two").expect("written");
        assert_eq!(run(&workspace, &count, Ok(Done::Yes)), 1, "a page is not an input");
        fs::write(dir.path().join("crates/core/src/lib.rs"), "two").expect("written");
        assert_eq!(run(&workspace, &count, Ok(Done::Yes)), 2);
        fs::write(dir.path().join("crates/core/src/new.rs"), "").expect("written");
        assert_eq!(run(&workspace, &count, Ok(Done::Yes)), 3, "a new file is an input");
    }

    #[test]
    fn a_step_that_has_not_passed_runs_again() {
        let (_dir, workspace) = checkout();
        let count = Cell::new(0);
        assert_eq!(run(&workspace, &count, Err(anyhow!("it failed"))), 1);
        assert_eq!(run(&workspace, &count, Ok(Done::Skipped("no tool".to_owned()))), 2);
        assert_eq!(run(&workspace, &count, Ok(Done::Yes)), 3);
        assert_eq!(run(&workspace, &count, Ok(Done::Yes)), 3);
    }
}
