//! Runs the command as a process, with a time limit.

use std::ffi::OsStr;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// Longest run time; a longer run fails as a hang.
const LIMIT: Duration = Duration::from_secs(120);

/// Output of a run that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Makes the command without a chosen adapter and without remembered checks. Validation layers are off: they are used
/// in the library's tests, and would only cost time here.
pub(crate) fn command<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.env_remove("FENCEPOST_ADAPTER").env_remove("FENCEPOST_VALIDATION").env_remove("FENCEPOST_CHECK");
    command.env("FENCEPOST_CACHE", "").args(args);
    command
}

/// Runs the command without a chosen adapter.
pub(crate) fn fencepost<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Result<Ran> {
    ended(&mut command(args))
}

/// Runs the command on an adapter.
pub(crate) fn on<S: AsRef<OsStr>>(adapter: usize, args: impl IntoIterator<Item = S>) -> Result<Ran> {
    ended(command(args).env("FENCEPOST_ADAPTER", adapter.to_string()))
}

/// Runs a command to its end.
pub(crate) fn ended(command: &mut Command) -> Result<Ran> {
    let shown = format!("{command:?}");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let out = reader(child.stdout.take());
    let err = reader(child.stderr.take());
    let code = within(&mut child).with_context(|| shown)?;
    let text = |reader: thread::JoinHandle<String>| reader.join().unwrap_or_default();
    Ok(Ran { code, out: text(out), err: text(err) })
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes); // output before an error is kept
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for a process, and ends it after the time limit.
pub(crate) fn within(child: &mut Child) -> Result<Option<i32>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if start.elapsed() > LIMIT {
            child.kill()?;
            bail!("not over within {LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

impl Ran {
    /// Returns its output, if it ended with code 0.
    pub(crate) fn good(self) -> Result<String> {
        ensure!(self.code == Some(0), "code {:?} in place of 0\n{}\n{}", self.code, self.out, self.err);
        Ok(self.out)
    }

    /// Returns its output as JSON, if it ended with code 0.
    pub(crate) fn json(self) -> Result<Value> {
        let out = self.good()?;
        serde_json::from_str(&out).with_context(|| format!("no JSON: {out}"))
    }

    /// Fails unless it ended with this code, printed nothing, and gave a reason that contains all these parts.
    pub(crate) fn refused(self, code: i32, parts: &[&str]) -> Result<()> {
        ensure!(
            self.code == Some(code),
            "code {:?} in place of {code}\n{}\n{}",
            self.code,
            self.out,
            self.err
        );
        ensure!(self.out.is_empty(), "it printed {}", self.out);
        for part in parts {
            ensure!(self.err.contains(part), "no `{part}` in\n{}", self.err);
        }
        ensure!(!self.err.contains("panicked"), "it panicked:\n{}", self.err);
        Ok(())
    }
}

/// Returns the numbers of a buffer in the JSON of a run.
pub(crate) fn numbers(json: &Value, buffer: &str) -> Result<Vec<f64>> {
    let buffers = json["buffers"].as_array().context("no buffers")?;
    let found = buffers.iter().find(|found| found["name"] == buffer);
    let values = found.with_context(|| format!("no buffer `{buffer}` in {json}"))?["values"].as_array();
    values.context("no values")?.iter().map(|value| value.as_f64().context("no number")).collect()
}

/// Fails unless the numbers are equal.
pub(crate) fn same(found: &[f64], expected: &[f64]) -> Result<()> {
    ensure!(found.len() == expected.len(), "{} numbers in place of {}", found.len(), expected.len());
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        Some(at) => bail!("number {at} is {} in place of {}", found[at], expected[at]),
        None => Ok(()),
    }
}
