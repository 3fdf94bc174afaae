//! Finds the test programs that cargo builds.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::shell::{Line, cargo, line};
use crate::suite::shards::FULL;
use crate::workspace::Workspace;

/// A test program, and the folder in which cargo starts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// Name: `conformance`, or `fencepost-core unit` for the unit tests of a crate.
    pub(crate) name: String,
    path: PathBuf,
    package: String,
    dir: PathBuf,
    /// Emulator, with its arguments, that runs a program of another system.
    emulator: Option<Line>,
}

/// Environment variables that select tests, recorders or adapters; a run of the suite sets its own.
const CHOICES: [&str; 9] = [
    "FENCEPOST_TEST_PLACE",
    "FENCEPOST_TEST_FULL",
    "FENCEPOST_TEST_MEMORY",
    "FENCEPOST_TEST_RESULTS",
    "FENCEPOST_RECORDER",
    "FENCEPOST_REFUSALS",
    "FENCEPOST_STORM_THREADS",
    "FENCEPOST_STORM_TIMES",
    "FENCEPOST_WATCHDOG",
];

/// Flags of every test build; with different flags, cargo would rebuild the dependencies.
const TESTS: [&str; 5] = ["test", "--quiet", "--workspace", "--features", "fencepost/validation"];

/// Variable by which clippy compiles the crates of the workspace: a check of its own would take a third of the time of the
/// build. A test that calls cargo needs it too, because without it cargo would compile these crates once more.
pub(super) const COMPILER: (&str, &str) = ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");

/// Returns the command line that builds all tests, or those of the documentation, with the same flags.
pub(crate) fn tests() -> Line {
    cargo().args(TESTS).var(COMPILER.0, COMPILER.1)
}

/// The test programs of all crates, and the warnings of clippy and the compiler.
pub(crate) struct TestBuild {
    pub(crate) programs: Vec<Program>,
    pub(crate) warnings: Vec<String>,
}

/// Builds the test programs of all crates.
///
/// # Errors
/// A program does not compile, or cargo names none.
pub(crate) fn build(workspace: &Workspace) -> Result<TestBuild> {
    let messages = messages_of(tests().arg("--no-run").dir(workspace.root()))?;
    let warnings = messages.iter().filter_map(warning).collect();
    Ok(TestBuild { programs: programs(&messages)?, warnings })
}

/// Builds test programs with a command line of cargo.
///
/// # Errors
/// A program does not compile, or cargo names none.
pub(crate) fn built(build: Line) -> Result<Vec<Program>> {
    programs(&messages_of(build)?)
}

fn programs(messages: &[Value]) -> Result<Vec<Program>> {
    let found: Vec<Program> = messages.iter().filter_map(program).collect();
    if found.is_empty() {
        bail!("cargo names no test program");
    }
    Ok(found)
}

/// Options that select the packages with tests that run on devices.
const DEVICE_PACKAGES: [&str; 8] = [
    "-p",
    "fencepost",
    "-p",
    "fencepost-algorithms",
    "-p",
    "fencepost-cli",
    "--features",
    "fencepost/validation",
];
/// Options that select the tests: rules, random programs, refusals, a storm, the examples, the command, and the units of
/// the libraries.
const DEVICE_TESTS: [&str; 13] = [
    "--lib",
    "--test",
    "conformance",
    "--test",
    "programs",
    "--test",
    "refusals",
    "--test",
    "storm",
    "--test",
    "examples",
    "--test",
    "cli",
];
/// Name of the command that one of those tests starts.
const COMMAND: &str = "fencepost";

/// The tests that run on devices, and the command `fencepost`.
pub(crate) struct DeviceTests {
    pub(crate) programs: Vec<Program>,
    /// Path of the command.
    pub(crate) command: PathBuf,
}

/// Builds the tests that run on devices, and the examples and the command that some of them start. `cargo` returns a
/// command line of cargo for a subcommand.
///
/// # Errors
/// A program does not compile, or cargo does not name the command.
pub(crate) fn build_for_devices(cargo: impl Fn(&str) -> Line) -> Result<DeviceTests> {
    cargo("build").args(DEVICE_PACKAGES).arg("--examples").run_aside()?;
    let messages = messages_of(cargo("test").args(DEVICE_PACKAGES).args(DEVICE_TESTS).arg("--no-run"))?;
    let command = command(&messages).with_context(|| format!("cargo's messages do not name `{COMMAND}`"))?;
    Ok(DeviceTests { programs: programs(&messages)?, command })
}

/// Returns the path of the command, from cargo's messages.
fn command(messages: &[Value]) -> Option<PathBuf> {
    messages.iter().find_map(|message| {
        let target = &message["target"];
        let is =
            target["name"] == COMMAND && target["kind"][0] == "bin" && message["profile"]["test"] == false;
        message["executable"].as_str().filter(|_| is).map(PathBuf::from)
    })
}

/// Runs a build twice: the first run prints the errors of the compiler, the second returns cargo's messages.
///
/// # Errors
/// The build fails.
pub(crate) fn messages_of(build: Line) -> Result<Vec<Value>> {
    build.run_aside()?;
    Ok(messages(&build.args(["--message-format", "json"]).read()?))
}

/// Returns cargo's messages in JSON among the lines of its output.
pub(crate) fn messages(said: &str) -> Vec<Value> {
    said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Returns the path of the test program of a target, given by name and kind, from cargo's messages.
pub(crate) fn executable(messages: &[Value], (name, kind): (&str, &str)) -> Option<PathBuf> {
    messages.iter().find_map(|message| {
        let target = &message["target"];
        let is = target["name"] == name && target["kind"][0] == kind && message["profile"]["test"] == true;
        message["executable"].as_str().filter(|_| is).map(PathBuf::from)
    })
}

/// Returns the names of tests from the list that a test program printed.
pub(crate) fn listed(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter_map(|line| line.strip_suffix(": test"))
}

/// Returns the text of a message of the compiler.
fn warning(message: &Value) -> Option<String> {
    let rendered = message["message"]["rendered"].as_str();
    rendered.filter(|_| message["reason"] == "compiler-message").map(str::to_owned)
}

fn program(message: &Value) -> Option<Program> {
    let is_test = message["profile"]["test"] == true;
    let path = message["executable"].as_str().filter(|_| is_test)?;
    let dir = Path::new(message["manifest_path"].as_str()?).parent()?;
    let target = message["target"]["name"].as_str()?;
    let kind = message["target"]["kind"][0].as_str()?;
    let package = package(message["package_id"].as_str()?, dir)?;
    let name = if kind == "test" { target.to_owned() } else { format!("{package} unit") };
    Some(Program { name, path: path.into(), package, dir: dir.to_owned(), emulator: None })
}

/// Returns the package's name from its id, or else the name of its folder.
fn package(id: &str, dir: &Path) -> Option<String> {
    let end = id.rsplit_once('#')?.1;
    let name = end.split_once('@').map(|(name, _)| name.to_owned());
    name.or_else(|| dir.file_name().map(|name| name.to_string_lossy().into_owned()))
}

impl Program {
    /// Returns the program as an emulator runs it.
    pub(crate) fn under(self, emulator: &Line) -> Self {
        Self { emulator: Some(emulator.clone()), ..self }
    }

    /// Returns the program with another name.
    pub(crate) fn called(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// Returns `true` if an emulator runs the program.
    pub(super) fn is_emulated(&self) -> bool {
        self.emulator.is_some()
    }

    /// Returns the name of its package.
    pub(crate) fn package(&self) -> &str {
        &self.package
    }

    /// Returns the command line that starts the program as cargo would, without the caller's choice of tests.
    pub(crate) fn line(&self) -> Line {
        let start = match &self.emulator {
            Some(emulator) => emulator.clone().arg(&self.path),
            None => line(&self.path),
        };
        CHOICES
            .iter()
            .fold(start, |line, name| line.without(name))
            .var("CARGO_MANIFEST_DIR", &self.dir)
            .var("CARGO_PKG_NAME", &self.package)
            .dir(&self.dir)
    }

    /// Returns the names of its tests; a full run has more of them, because it takes every seed of the simulator.
    ///
    /// # Errors
    /// The program does not run.
    pub(crate) fn ids(&self, vars: &[(String, String)], full: bool) -> Result<Vec<String>> {
        let line = self.line().vars(vars);
        let line = if full { line.var(FULL, "1") } else { line };
        let list = line.arg("--list").read();
        let list = list.with_context(|| format!("the tests of `{}`", self.name))?;
        Ok(listed(&list).map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MESSAGES: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/core#fencepost-core@0.1.0","manifest_path":"/w/crates/core/Cargo.toml","target":{"name":"fencepost_core","kind":["lib"]},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","package_id":"path+file:///w/crates/core#fencepost-core@0.1.0","manifest_path":"/w/crates/core/Cargo.toml","target":{"name":"fencepost_core","kind":["lib"]},"profile":{"test":true},"executable":"/w/target/core-1"}
{"reason":"compiler-artifact","package_id":"path+file:///w/crates/xtask#0.1.0","manifest_path":"/w/crates/xtask/Cargo.toml","target":{"name":"xtask","kind":["bin"]},"profile":{"test":true},"executable":"/w/target/xtask-1"}
{"reason":"compiler-artifact","package_id":"path+file:///w/crates/fencepost#0.1.0","manifest_path":"/w/crates/fencepost/Cargo.toml","target":{"name":"conformance","kind":["test"]},"profile":{"test":true},"executable":"/w/target/conformance-1"}
{"reason":"compiler-artifact","package_id":"path+file:///w/crates/fencepost#0.1.0","manifest_path":"/w/crates/fencepost/Cargo.toml","target":{"name":"b3sum","kind":["example"]},"profile":{"test":false},"executable":"/w/target/b3sum"}
no message
"#;

    #[test]
    fn only_test_programs_are_found() {
        let found: Vec<Program> = messages(MESSAGES).iter().filter_map(program).collect();
        let names: Vec<_> = found.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["fencepost-core unit", "xtask unit", "conformance"]);
        assert_eq!(found[2].dir, Path::new("/w/crates/fencepost"));
        assert_eq!(found[2].path, Path::new("/w/target/conformance-1"));
    }

    #[test]
    fn the_warnings_are_the_messages_of_the_compiler() {
        let message =
            json!({"reason": "compiler-message", "message": {"level": "warning", "rendered": "warning: a"}});
        assert_eq!(warning(&message).as_deref(), Some("warning: a"));
        assert!(messages(MESSAGES).iter().all(|message| warning(message).is_none()));
    }

    #[test]
    fn a_program_starts_where_its_package_is() {
        let line = program(&messages(MESSAGES)[3]).expect("a test program").line().to_string();
        assert!(line.contains("CARGO_MANIFEST_DIR=/w/crates/fencepost"), "{line}");
    }

    #[test]
    fn an_emulator_gets_the_program_as_its_argument() {
        let program = program(&messages(MESSAGES)[3]).expect("a test program");
        let program = program.under(&line("qemu").arg("-cpu")).called("conformance on max".to_owned());
        let line = program.line().to_string();
        assert!(line.ends_with("qemu -cpu /w/target/conformance-1"), "{line}");
        assert_eq!((program.name.as_str(), program.is_emulated()), ("conformance on max", true));
    }

    #[test]
    fn the_command_is_the_program_and_not_its_tests() {
        let target = json!({"name": "fencepost", "kind": ["bin"]});
        let messages = [
            json!({"target": target, "profile": {"test": true}, "executable": "/x/deps/fencepost-1"}),
            json!({"target": target, "profile": {"test": false}, "executable": "/x/fencepost"}),
        ];
        assert_eq!(command(&messages), Some(PathBuf::from("/x/fencepost")));
        assert_eq!(command(&messages[..1]), None);
    }

    #[test]
    fn the_test_program_of_a_library_is_not_the_library() {
        let messages = [
            json!({"target": {"name": "a", "kind": ["lib"]}, "profile": {"test": false}, "executable": null}),
            json!({"target": {"name": "a", "kind": ["lib"]}, "profile": {"test": true}, "executable": "/x/a-1"}),
        ];
        assert_eq!(executable(&messages, ("a", "lib")), Some(PathBuf::from("/x/a-1")));
        assert_eq!(executable(&messages, ("a", "test")), None);
    }
}
