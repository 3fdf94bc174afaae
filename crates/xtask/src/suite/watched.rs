//! Runs one test program and ends it if a test in it hangs.

use std::io::{BufRead, BufReader, PipeReader, pipe};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::shell::Line;

/// Holds the words with which the standard library's test harness reports a test that has run for a minute.
const HANGS: &str = "has been running for over";

/// Holds the result of a test program.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) passed: bool,
    /// Holds everything that the program wrote.
    pub(super) said: String,
    pub(super) took: Duration,
}

/// Limits the time without output; a silent program hangs where no watchdog applies. The compiler may take this long.
const SILENCE: Duration = Duration::from_secs(900);

/// Runs a program to its end, or to the first test that hangs.
pub(super) fn run(line: &Line) -> Ended {
    within(line, SILENCE)
}

fn within(line: &Line, silence: Duration) -> Ended {
    let start = Instant::now();
    let (passed, said) = follow(line, silence).unwrap_or_else(|error| (false, format!("{error:#}")));
    Ended { passed, said, took: start.elapsed() }
}

fn follow(line: &Line, silence: Duration) -> Result<(bool, String)> {
    let (reader, writer) = pipe().context("no pipe")?;
    let mut child = line.start(writer)?;
    let (sender, lines) = channel();
    thread::spawn(move || send_lines(reader, &sender)); // ends when the last program closes the pipe
    let mut said = String::new();
    let hang = loop {
        match lines.recv_timeout(silence) {
            Ok(text) => {
                said += &text;
                if text.contains(HANGS) {
                    break Some("a test hangs".to_owned());
                }
            }
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => break Some(format!("it has written nothing for {silence:?}")),
        }
    };
    if let Some(why) = hang {
        child.kill().context("a program that hangs cannot be ended")?;
        child.wait().context("cannot wait for the program")?;
        return Ok((false, format!("{said}the program was ended: {why}\n")));
    }
    let status = child.wait().context("cannot wait for the program")?;
    if !status.success() {
        said += &format!("the program ended with {status}\n");
    }
    Ok((status.success(), said))
}

/// Sends the output of a program, line by line.
fn send_lines(reader: PipeReader, lines: &Sender<String>) {
    let (mut reader, mut bytes) = (BufReader::new(reader), Vec::new());
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|read| read > 0) {
        if lines.send(String::from_utf8_lossy(&bytes).into_owned()).is_err() {
            return; // the program was ended
        }
        bytes.clear();
    }
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
    fn a_silent_program_is_ended() {
        let line = line("sh").args(["-c", "echo one; sleep 600 & wait"]);
        let ended = within(&line, Duration::from_millis(300));
        assert!(!ended.passed && ended.said.starts_with("one\n"), "{ended:?}");
        assert!(ended.said.contains("it has written nothing for 300ms"), "{ended:?}");
    }

    #[test]
    fn a_program_that_does_not_start_fails_and_is_named() {
        let ended = run(&line("no-such-program-here"));
        assert!(!ended.passed && ended.said.contains("no-such-program-here"), "{ended:?}");
    }
}
