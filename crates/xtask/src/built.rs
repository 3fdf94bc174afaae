//! Test programs, built once and run as often as wanted: whatever is edited meanwhile changes nothing.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::shell::{Line, cargo};
use crate::workspace::Workspace;

/// Builds test programs of the facade and returns where they are, in the order of their names here.
pub(crate) fn built(workspace: &Workspace, names: &[&str], features: &[&str]) -> Result<Vec<PathBuf>> {
    let tests = names.iter().flat_map(|name| ["--test", name]);
    let line = cargo().args(["test", "--quiet", "-p", "fencepost", "--no-run"]).args(tests);
    let line = features.iter().fold(line, |line, feature| line.args(["--features", feature]));
    let line = line.dir(workspace.root());
    line.run_aside()?;
    let messages = line.args(["--message-format", "json"]).read()?;
    names.iter().map(|name| executable(&messages, name)).collect()
}

/// Where cargo's messages say that the test program `name` is.
fn executable(messages: &str, name: &str) -> Result<PathBuf> {
    let found = messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is = message["target"]["name"] == name && message["target"]["kind"][0] == "test";
        message["executable"].as_str().filter(|_| is).map(PathBuf::from)
    });
    found.with_context(|| format!("cargo does not say where the test program `{name}` is"))
}

/// Starts the line of a test program, where cargo would start it.
pub(crate) fn program(workspace: &Workspace, path: &PathBuf) -> Line {
    crate::shell::line(path).dir(&workspace.path("crates/fencepost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_program_is_found_among_the_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"b","kind":["lib"]},"executable":null}
{"reason":"compiler-artifact","target":{"name":"b","kind":["test"]},"executable":"/x/b-12"}
not a message"#;
        assert_eq!(executable(messages, "b").expect("it is there"), PathBuf::from("/x/b-12"));
        assert!(executable(messages, "c").is_err());
    }
}
