//! Runs the b3sum example as a program, on every adapter that the tests run on.

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::spawn;
use std::time::Duration;

use common::adapters::{self, Found};
use common::example::{program, within};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::Value;

const CHUNK: usize = 1024;
/// Number of chunks of a piece in the runs below; small, so that a small file has many pieces.
const PIECE: usize = 4;

/// Time limit of a run. A longer run counts as a hang and fails.
const LIMIT: Duration = Duration::from_secs(60);

/// Run of the program on the adapter with this index.
type Case = fn(usize) -> Result<(), Failed>;

const CASES: [(&str, Case); 5] = [
    ("every_critical_length_has_the_hash_of_the_blake3_crate", critical_lengths),
    ("standard_input_is_a_file_named_by_a_dash", standard_input),
    ("a_bad_file_is_an_error_and_the_other_files_are_hashed", bad_files),
    ("json_is_one_document_with_adapter_files_and_queues", json),
    ("a_piece_of_the_default_size_is_hashed_at_once", default_piece),
];

fn main() {
    let Found { places, no_adapter } = adapters::find();
    let mut trials = Vec::new();
    for (name, case) in CASES {
        if let Some(reason) = no_adapter {
            let ignored = move || Ok(Completion::ignored_with(reason));
            trials.push(Trial::ignorable_test(format!("{name}::no_adapter"), ignored));
        }
        for place in &places {
            if let Some(index) = place.adapter_index() {
                trials.push(Trial::test(format!("{name}::{}", place.name()), move || case(index)));
            }
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn critical_lengths(adapter: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut expected = String::new();
    let mut files = Vec::new();
    for length in lengths() {
        let message = message(length);
        let file = write(folder.path(), &length.to_string(), &message)?;
        expected += &line(&message, &file.to_string_lossy());
        files.push(file);
    }
    let mut command = in_pieces(adapter)?;
    command.arg("--verify").args(files);
    let output = ended(command)?;
    let found = printed(&output, 0)?;
    same(&found, &expected)?;
    let summary = String::from_utf8_lossy(&output.stderr);
    for queue in ["copy", "compute"] {
        let line = summary.lines().find(|line| line.starts_with(queue));
        if !line.is_some_and(|line| line.contains("busy") || line.contains("not measured")) {
            return Err(format!("no line about queue {queue} in\n{summary}").into());
        }
    }
    Ok(())
}

/// Returns the lengths 0 and 1, and lengths around one chunk, around each power-of-two number of chunks, and around
/// whole pieces.
fn lengths() -> Vec<usize> {
    let chunks = (0..=6).map(|power| 1 << power).chain([3 * PIECE, 5 * PIECE]);
    let around = chunks.flat_map(|chunks| [-1, 0, 1].map(|d| (chunks * CHUNK).saturating_add_signed(d)));
    // Also 2^k - 1 and 2^k + 1 whole chunks.
    let beside = [3, 5, 7, 9, 15, 17, 31, 33, 63, 65].map(|chunks| chunks * CHUNK);
    [0, 1, 2, 63, 64, 65].into_iter().chain(around).chain(beside).collect()
}

fn standard_input(adapter: usize) -> Result<(), Failed> {
    let message = message(10 * CHUNK + 3);
    let expected = line(&message, "-");
    let mut command = in_pieces(adapter)?;
    command.arg("-");
    let mut child = start(command)?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    let writer = spawn(move || stdin.write_all(&message));
    let output = within(LIMIT, child)?;
    writer.join().map_err(|_| "the writer panicked")??;
    same(&printed(&output, 0)?, &expected)
}

fn bad_files(adapter: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let missing = folder.path().join("missing");
    let good = write(folder.path(), "good", b"good")?;
    let mut command = b3sum(adapter)?;
    command.args([&missing, folder.path(), &good]);
    let output = ended(command)?;
    same(&printed(&output, 1)?, &line(b"good", &good.to_string_lossy()))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    for bad in [&missing, folder.path()] {
        if !errors.lines().any(|line| line.starts_with(&format!("b3sum: {}: ", bad.display()))) {
            return Err(format!("no error about {} in\n{errors}", bad.display()).into());
        }
    }
    Ok(())
}

fn json(adapter: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = write(folder.path(), "file", &message(9 * CHUNK))?;
    let mut command = in_pieces(adapter)?;
    command.args(["--json", "--verify"]).arg(file);
    let output = ended(command)?;
    let json: Value = serde_json::from_str(&printed(&output, 0)?)?;
    let expected = blake3::hash(&message(9 * CHUNK)).to_string();
    let queues: Vec<_> =
        json["queues"].as_array().into_iter().flatten().map(|queue| &queue["name"]).collect();
    let name = fencepost::adapters()[adapter].to_string();
    let good = json["files"][0]["hash"] == expected.as_str()
        && json["files"][0]["verified"] == true
        && json["adapter"] == name.as_str()
        && queues == ["copy", "compute"];
    if good { Ok(()) } else { Err(format!("{json:#}\nshould have hash {expected}, adapter {name}").into()) }
}

fn default_piece(adapter: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let message = message(16 << 20);
    let file = write(folder.path(), "file", &message)?;
    let mut command = b3sum(adapter)?;
    command.arg(&file);
    let output = ended(command)?;
    same(&printed(&output, 0)?, &line(&message, &file.to_string_lossy()))
}

/// Returns a command that runs the program on one adapter.
fn b3sum(adapter: usize) -> Result<Command, Failed> {
    let mut command = Command::new(program("b3sum")?);
    command.env("FENCEPOST_ADAPTER", adapter.to_string());
    Ok(command)
}

/// Returns a command that runs the program with small pieces.
fn in_pieces(adapter: usize) -> Result<Command, Failed> {
    let mut command = b3sum(adapter)?;
    command.arg(format!("--piece={PIECE}"));
    Ok(command)
}

fn start(mut command: Command) -> Result<Child, Failed> {
    Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
}

/// Runs the program to its end and returns its output.
fn ended(command: Command) -> Result<Output, Failed> {
    within(LIMIT, start(command)?)
}

/// Returns the text that the program printed, if it ended with the exit code `code`.
fn printed(output: &Output, code: i32) -> Result<String, Failed> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.code() == Some(code) {
        return Ok(text);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}, not exit code {code}; it printed\n{text}{errors}", output.status).into())
}

fn same(found: &str, expected: &str) -> Result<(), Failed> {
    let differ = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    match differ {
        _ if found == expected => Ok(()),
        Some((found, expected)) => Err(format!("`{found}` should be\n`{expected}`").into()),
        None => Err(format!("{} lines should be {}", found.lines().count(), expected.lines().count()).into()),
    }
}

fn line(message: &[u8], name: &str) -> String {
    format!("{}  {name}\n", blake3::hash(message))
}

fn message(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i % 251) as u8).collect()
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, Failed> {
    let file = folder.join(name);
    fs::write(&file, bytes)?;
    Ok(file)
}
