//! `fencepost-functions` runs each operator and function of WGSL with each type on each adapter, and compares the
//! results with those of the CPU device.
//!
//! A child process runs the calls of an adapter, one after the other. If a call ends the process or hangs, another
//! child continues with the next call. The child prints its progress to standard output, which the parent reads; the
//! parent prints results there, and errors and adapters to standard error.

mod calls;
mod report;
mod run;

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use fencepost::adapters;
use run::{Form, Outcome};

/// Time after which a call counts as hanging.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs each function of WGSL with each type on each adapter
#[derive(Parser)]
struct Arguments {
    /// Part of an adapter's name and backend; may be given several times
    #[arg(long)]
    adapter: Vec<String>,
    /// Part of a function's name, to run only those
    #[arg(long, default_value = "")]
    function: String,
    /// Print what is refused too
    #[arg(long)]
    refused: bool,
    /// Page that gets the table
    #[arg(long)]
    write: Option<std::path::PathBuf>,
    /// Index of the adapter whose calls this process runs
    #[arg(long, hide = true)]
    child: Option<usize>,
    /// First call that this process runs
    #[arg(long, default_value_t = 0, hide = true)]
    from: usize,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let is_right = match arguments.child {
        Some(adapter) => child(adapter, &arguments).map(|()| true),
        None => parent(&arguments),
    };
    Ok(if is_right? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the calls from `arguments.from` on, and prints a line before and after each.
fn child(adapter: usize, arguments: &Arguments) -> Result<()> {
    let runner = run::Runner::new(adapter)?;
    for (at, form) in run::forms(&arguments.function).into_iter().enumerate().skip(arguments.from) {
        println!("run {at}");
        println!("done {at} {}", runner.outcome(&form).line());
    }
    Ok(())
}

/// Runs the children of each adapter, and prints or writes the table. Returns `false` if a result is wrong.
fn parent(arguments: &Arguments) -> Result<bool> {
    let known = adapters();
    let fits = |name: &str| {
        let name = name.to_lowercase();
        arguments.adapter.is_empty()
            || arguments.adapter.iter().any(|part| name.contains(&part.to_lowercase()))
    };
    let forms = run::forms(&arguments.function);
    let mut columns = Vec::new();
    let mut is_right = true;
    for (index, adapter) in known.iter().enumerate() {
        let name = format!("{} ({})", adapter.name, adapter.backend);
        if adapter.backend == "native code" || !fits(&name) {
            continue;
        }
        eprintln!("{name}");
        let outcomes = outcomes(index, forms.len(), arguments)?;
        for (form, outcome) in forms.iter().zip(&outcomes) {
            let line = format!("{name}: {}: {}", form.name(), outcome.line());
            match report::known(&name, form) {
                Some(reason) if outcome.is_fault() => println!("known: {line}: {reason}"),
                _ if outcome.is_fault() => {
                    println!("{line}");
                    is_right = false;
                }
                _ if arguments.refused && matches!(outcome, Outcome::Refused(_)) => println!("{line}"),
                _ => {}
            }
        }
        columns.push((name, outcomes));
    }
    if columns.is_empty() {
        bail!("there is no such adapter beside the CPU");
    }
    let table = report::table(&forms, &columns);
    match &arguments.write {
        Some(page) => report::write(page, &table)?,
        None => print!("{table}"),
    }
    Ok(is_right)
}

/// Returns the outcome of each call on an adapter.
fn outcomes(adapter: usize, count: usize, arguments: &Arguments) -> Result<Vec<Outcome>> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    while outcomes.len() < count {
        let from = outcomes.len();
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--child", &adapter.to_string(), "--from", &from.to_string()])
            .args(["--function", &arguments.function])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start a child")?;
        let lines = BufReader::new(child.stdout.take().context("a child has no output")?).lines();
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| send.send(line)));
        let mut begun = false;
        let ended = loop {
            match receive.recv_timeout(LIMIT) {
                Ok(line) if line.starts_with("run ") => begun = true,
                Ok(line) => {
                    if let Some(outcome) = line.splitn(3, ' ').nth(2) {
                        outcomes.push(Outcome::read(outcome));
                        begun = false;
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    child.kill()?;
                    break "it does not end".to_owned();
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break String::new(),
            }
        };
        let status = child.wait()?;
        if outcomes.len() < count {
            let reason = if ended.is_empty() { format!("the process ends: {status}") } else { ended };
            if !begun && outcomes.len() == from {
                bail!("adapter {adapter} runs no call: {reason}");
            }
            outcomes.push(Outcome::Crash(reason));
        }
    }
    Ok(outcomes)
}

/// Builds the name of a call with a type.
impl Form {
    fn name(&self) -> String {
        format!("{} of {}{}", self.call.name, self.argument_type(), self.origin())
    }
}
