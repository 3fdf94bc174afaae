//! Runs each example of the tutorial as a program of its own, on every adapter that the tests run on.

mod common;

use common::adapters::{self, Found};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The examples, and what the last line of each says.
const EXAMPLES: [(&str, &str); 5] = [
    ("01_saxpy", "a mistake: grid of [1048576, 1, 1] workgroups is over the device's limit of "),
    ("02_transfers", "the last row is [2, 70]"),
    ("03_two_queues", "the gate opened"),
    ("04_async", "by hand:  14 everywhere"),
    ("05_double_buffer", "200 blocks of 4096 numbers, all in order; y[0] = "),
];

/// A hang is a failure after this long.
const LIMIT: Duration = Duration::from_secs(60);

fn main() {
    let Found { places, no_adapter } = adapters::find();
    let mut trials = Vec::new();
    for (name, last) in EXAMPLES {
        if let Some(reason) = no_adapter {
            let ignored = move || Ok(Completion::ignored_with(reason));
            trials.push(Trial::ignorable_test(format!("{name}::no_adapter"), ignored));
        }
        for place in &places {
            if let Some(index) = place.adapter_index() {
                let id = format!("{name}::{}", place.name());
                trials.push(Trial::test(id, move || example(name, last, index)));
            }
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Fails unless the example ends well on adapter `index`, and its last line begins with `last`.
fn example(name: &str, last: &str, index: usize) -> Result<(), Failed> {
    let program = program(name)?;
    let command = &mut Command::new(program);
    let child =
        command.env("FENCEPOST_ADAPTER", index.to_string()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = within(LIMIT, child.spawn()?)?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() && out.lines().last().is_some_and(|line| line.starts_with(last)) {
        return Ok(());
    }
    Err(format!("{}; it printed\n{out}{err}and should have ended with\n{last}", output.status).into())
}

/// The program of an example, beside this one's folder.
fn program(name: &str) -> Result<PathBuf, Failed> {
    let own = std::env::current_exe()?;
    let folder = own.ancestors().nth(2).ok_or("this test has no folder")?;
    let program = folder.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    let hint = format!(
        "{} is missing: `cargo test` builds it, `cargo test --test examples` does not",
        program.display()
    );
    if program.is_file() { Ok(program) } else { Err(hint.into()) }
}

/// Waits for a program that prints little, and ends it if it takes too long.
fn within(limit: Duration, mut child: Child) -> Result<Output, Failed> {
    let start = Instant::now();
    while child.try_wait()?.is_none() {
        if start.elapsed() > limit {
            child.kill()?;
            let output = child.wait_with_output()?;
            return Err(format!("not over within {limit:?}; {output:?}").into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(child.wait_with_output()?)
}
