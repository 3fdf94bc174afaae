//! Writes to standard output and standard error. A reader that closes a pipe early is not an error.

use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};
use serde::Serialize;

/// Prints a text to standard output.
///
/// # Errors
/// The text cannot be written, for a reason other than a closed pipe.
pub(crate) fn print(text: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}

/// Prints a value to standard output as JSON on one line.
///
/// # Errors
/// Fails as [`print`] does, and if the value cannot be written as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_vec(value).context("cannot write JSON")?;
    text.push(b'\n');
    print(&text)
}

/// Prints a line to standard error, if that is open.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}"); // there is no other place to report it
}
