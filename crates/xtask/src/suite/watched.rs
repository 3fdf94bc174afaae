//! Runs one test program and ends it when a test in it hangs.

use std::io::{BufRead, BufReader, pipe};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::shell::Line;

/// The words with which the test harness reports a test that does not end: the standard library's says so after a minute.
const HANGS: &str = "has been running for over";

/// How a test program ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) passed: bool,
    /// Everything that it wrote.
    pub(super) said: String,
    pub(super) took: Duration,
}

/// Runs a program to its end, or to the first test that hangs.
pub(super) fn run(line: &Line) -> Ended {
    let start = Instant::now();
    let (passed, said) = follow(line).unwrap_or_else(|error| (false, format!("{error:#}")));
    Ended { passed, said, took: start.elapsed() }
}

fn follow(line: &Line) -> Result<(bool, String)> {
    let (reader, writer) = pipe().context("no pipe")?;
    let mut child = line.start(writer)?;
    let (mut said, mut hangs) = (String::new(), false);
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        said += &text;
        bytes.clear();
        if text.contains(HANGS) {
            hangs = true;
            child.kill().context("a program that hangs cannot be ended")?;
            break; // programs that it has started may keep the pipe open
        }
    }
    let status = child.wait().context("the program's end")?;
    if hangs {
        said += "the program was ended: a test hangs\n";
    } else if !status.success() {
        said += &format!("the program ended with {status}\n");
    }
    Ok((status.success() && !hangs, said))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::shell::line;

    fn sh(script: &str) -> Ended {
        run(&line("sh").args(["-c", script]))
    }

    #[test]
    fn both_streams_are_kept_and_the_status_decides() {
        let ended = sh("echo one; echo two >&2");
        assert!(ended.passed, "{ended:?}");
        assert_eq!(ended.said, "one\ntwo\n");
        let ended = sh("echo one; exit 3");
        assert!(!ended.passed && ended.said.contains("one\n") && ended.said.contains('3'), "{ended:?}");
    }

    #[test]
    fn a_test_that_hangs_ends_its_program() {
        let ended = sh("echo test waits has been running for over 60 seconds; sleep 600 & wait");
        assert!(!ended.passed && ended.said.ends_with("a test hangs\n"), "{ended:?}");
        assert!(ended.took < Duration::from_secs(300), "{ended:?}");
    }

    #[test]
    fn a_program_that_does_not_start_fails_and_is_named() {
        let ended = run(&line("no-such-program-here"));
        assert!(!ended.passed && ended.said.contains("no-such-program-here"), "{ended:?}");
    }
}
