//! Checks which programs the compiler rejects, and with which messages.
//!
//! A case is a program in `tests/compile_fail`. The test calls the compiler on it, with the libraries that cargo has
//! built for the tests, and compares the messages with the `.stderr` file next to the case. After a change of messages,
//! `FENCEPOST_MESSAGES=write` stores the new ones.

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

/// Package whose dependencies a case has.
const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");
/// Arguments that select the libraries, as in `crates/xtask/src/suite/programs.rs`: with others, cargo would build
/// every library once more.
const LIBRARIES: [&str; 9] = [
    "test",
    "--workspace",
    "--features",
    "fencepost/validation",
    "--no-run",
    "--test",
    "compile_fail",
    "--message-format",
    "json",
];
/// Libraries that the cases name.
const NAMED: [&str; 4] = ["bytemuck", "fencepost", "fencepost_derive", "fencepost_kernels"];
/// Starts of the compiler's last lines, which belong to no message.
const SUMMARY: [&str; 3] =
    ["error: aborting due to", "For more information about", "Some errors have detailed explanations"];
/// Start of the compiler's choice of types that have a trait. The choice depends on the features of other crates.
const CHOICE: &str = "= help: the following other types implement trait";

fn main() {
    let folders = ["", "derive"].map(|name| root().join("tests/compile_fail").join(name));
    let trials = folders.iter().flat_map(|folder| cases(folder)).map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn root() -> &'static Path {
    Path::new(PACKAGE).ancestors().nth(2).expect("the package is in `crates`")
}

/// Returns the programs in a folder, sorted by name.
fn cases(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the cases are there");
    let paths = entries.map(|entry| entry.expect("a folder can be listed").path());
    let mut cases: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect();
    cases.sort();
    assert!(!cases.is_empty(), "{} has no case", folder.display());
    cases
}

fn trial(case: PathBuf) -> Trial {
    let stem = case.file_stem().expect("a case has a name").to_string_lossy().into_owned();
    Trial::test(format!("{stem}_does_not_compile"), move || refused(&case))
}

/// Fails if a case compiles, or if the messages differ from the stored ones.
fn refused(case: &Path) -> Result<(), Failed> {
    let output = compiler(case)?.output()?;
    if output.status.success() {
        return Err("the case compiles".into());
    }
    let printed = portable(&String::from_utf8(output.stderr)?);
    let file = case.with_extension("stderr");
    if env::var("FENCEPOST_MESSAGES").is_ok_and(|value| value == "write") {
        return Ok(fs::write(file, printed)?);
    }
    let stored = fs::read_to_string(&file).unwrap_or_default();
    if printed != stored {
        return Err(format!("the compiler prints\n\n{printed}\n{} has\n\n{stored}", file.display()).into());
    }
    Ok(())
}

/// Returns the call of the compiler that checks a case as cargo does. The compiler runs in the folder in which cargo
/// has compiled the libraries, so it finds their sources.
fn compiler(case: &Path) -> Result<Command, Failed> {
    static FOUND: OnceLock<Result<Vec<(String, PathBuf)>, String>> = OnceLock::new();
    let libraries = FOUND.get_or_init(libraries).as_ref()?;
    let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.current_dir(root()).env("CARGO_MANIFEST_DIR", PACKAGE).arg(case);
    command.args([
        "--edition=2024",
        "--emit=metadata",
        "--out-dir",
        env!("CARGO_TARGET_TMPDIR"),
        "-Adead_code",
    ]);
    command.args(["--verbose", "--color=never", "--diagnostic-width=140"]);
    for (name, path) in libraries {
        command.arg(format!("--extern={name}={}", path.display()));
        command.arg(format!("-Ldependency={}", path.parent().expect("a file has a folder").display()));
    }
    Ok(command)
}

/// Returns the files of the libraries from cargo, which builds the missing ones.
fn libraries() -> Result<Vec<(String, PathBuf)>, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).current_dir(root()).args(LIBRARIES).output();
    let output = output.map_err(|error| format!("cargo does not start: {error}"))?;
    let lines = String::from_utf8_lossy(&output.stdout);
    let messages: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let file = |name: &str| {
        let of_it = |message: &&Value| message["target"]["name"] == name;
        let path = messages.iter().find(of_it).and_then(|message| message["filenames"][0].as_str());
        path.map(|path| (name.to_owned(), path.into()))
    };
    let found = NAMED.iter().map(|name| file(name)).collect::<Option<_>>();
    found.ok_or_else(|| format!("cargo builds no libraries:\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// Returns messages without the parts that depend on the machine, on the features of other crates, or on lines of other
/// files.
fn portable(said: &str) -> String {
    let said = said.replace(&root().display().to_string(), "$WORKSPACE");
    let is_message = |text: &&str| !SUMMARY.iter().any(|summary| text.starts_with(summary));
    let messages: Vec<_> = said.trim_end().split("\n\n").filter(is_message).map(portable_message).collect();
    messages.join("\n")
}

/// Returns the lines of one message without their numbers. The column of the numbers is as wide as the indentation of
/// an arrow, and becomes one space.
fn portable_message(message: &str) -> String {
    let numbers = message.lines().find(|line| is_location(line)).map_or(0, indentation);
    let mut kept = String::new();
    let mut choice = None;
    for line in message.lines() {
        if choice.is_some_and(|head| indentation(line) > head) {
            continue;
        }
        choice = line.contains(CHOICE).then(|| indentation(line));
        let line = if is_location(line) { location(line) } else { line.to_owned() };
        let (column, text) = line.split_at_checked(numbers).unwrap_or(("", &line));
        let is_column = !column.is_empty() && column.chars().all(|c| c == ' ' || c.is_ascii_digit());
        kept += &if is_column { format!(" {text}\n") } else { format!("{line}\n") };
    }
    kept
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns `true` for a line that names a file, such as ` --> src/main.rs:2:5`.
fn is_location(line: &str) -> bool {
    line.trim_start().starts_with("--> ") || line.trim_start().starts_with("::: ")
}

/// Returns a line that names a file, without the number of its line and column, and with the path below the workspace.
fn location(line: &str) -> String {
    let (arrow, place) = line.split_at(indentation(line) + "--> ".len());
    let path = place.rsplitn(3, ':').nth(2).unwrap_or(place);
    if Path::new(path).is_relative() && !path.starts_with('$') {
        return format!("{arrow}$WORKSPACE/{path}");
    }
    format!("{arrow}{path}")
}
