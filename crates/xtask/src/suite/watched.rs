//! Runs one test program and ends it if a test in it hangs.

use std::io::{BufRead, BufReader, PipeReader, pipe};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::patience::Patience;
use crate::shell::Line;

/// Words with which the standard library's test harness reports a test that has run for a minute.
const HANGS: &str = "has been running for over";

/// Result of a test program.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) passed: bool,
    /// Output of the program.
    pub(super) said: String,
    pub(super) took: Duration,
}

/// Time limits without output. Time spent waiting for a processor does not count.
#[derive(Clone, Copy)]
struct Silence {
    /// Limit for a silent program without a watchdog. The compiler may take this long.
    most: Duration,
    /// Limit after the harness has reported a long test. The watchdog of the contexts writes its dump earlier.
    after_report: Duration,
}

const SILENCE: Silence = Silence { most: Duration::from_secs(900), after_report: Duration::from_secs(300) };

/// Runs a program to its end, or to the first test that hangs. A program that is `slowness` times as slow as others has
/// that much more time.
pub(super) fn run(line: &Line, slowness: u32) -> Ended {
    let Silence { most, after_report } = SILENCE;
    within(line, Silence { most: most * slowness, after_report: after_report * slowness })
}

fn within(line: &Line, silence: Silence) -> Ended {
    let start = Instant::now();
    let (passed, said) = follow(line, silence).unwrap_or_else(|error| (false, format!("{error:#}")));
    Ended { passed, said, took: start.elapsed() }
}

fn follow(line: &Line, silence: Silence) -> Result<(bool, String)> {
    let (reader, writer) = pipe().context("no pipe")?;
    let mut child = line.start(writer)?;
    let (sender, lines) = channel();
    thread::spawn(move || send_lines(reader, &sender)); // ends when the last program closes the pipe
    let mut said = String::new();
    let mut limit = silence.most;
    let mut patience = Patience::new(child.id(), limit);
    let hang = loop {
        match lines.recv_timeout(patience.tick()) {
            Ok(text) => {
                said += &text;
                limit = if text.contains(HANGS) { silence.after_report } else { silence.most };
                patience = Patience::new(child.id(), limit);
            }
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) if !patience.is_over() => {}
            Err(RecvTimeoutError::Timeout) => {
                let why = if limit == silence.most {
                    "it has written nothing for"
                } else {
                    "a test hangs, silent for"
                };
                break Some(format!("{why} {limit:?}"));
            }
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
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|read| read > 0) {
        if lines.send(String::from_utf8_lossy(&bytes).into_owned()).is_err() {
            return; // the program was ended
        }
        bytes.clear();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::patience::{starved, waited};
    use super::*;
    use crate::shell::line;
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn sh(script: &str) -> Ended {
        run(&line("sh").args(["-c", script]), 1)
    }

    #[test]
    fn both_streams_are_kept_and_the_status_decides() {
        let ended = sh("echo one; echo two >&2");
        assert!(ended.passed, "{ended:?}");
        assert_eq!(ended.said, "one\ntwo\n");
        let ended = sh("echo one; exit 3");
        assert!(!ended.passed && ended.said.contains("one\n") && ended.said.contains('3'), "{ended:?}");
    }

    const SHORT: Silence =
        Silence { most: Duration::from_millis(300), after_report: Duration::from_millis(299) };

    #[test]
    fn a_test_that_hangs_ends_its_program() {
        let line =
            line("sh").args(["-c", "echo test waits has been running for over 60 seconds; sleep 600 & wait"]);
        let ended = within(&line, Silence { most: Duration::from_secs(900), ..SHORT });
        assert!(!ended.passed && ended.said.ends_with("a test hangs, silent for 299ms\n"), "{ended:?}");
    }

    #[test]
    fn a_test_that_takes_long_and_ends_is_no_hang() {
        let ended = sh("echo test waits has been running for over 60 seconds; sleep 1; echo ok");
        assert!(ended.passed && ended.said.ends_with("ok\n"), "{ended:?}");
    }

    #[test]
    fn a_silent_program_is_ended() {
        let line = line("sh").args(["-c", "echo one; sleep 600 & wait"]);
        let ended = within(&line, SHORT);
        assert!(!ended.passed && ended.said.starts_with("one\n"), "{ended:?}");
        assert!(ended.said.contains("it has written nothing for 300ms"), "{ended:?}");
    }

    #[test]
    fn time_without_a_processor_does_not_count() {
        let second = Duration::from_secs(1);
        let mut patience = Patience::new(std::process::id(), 10 * second);
        patience.count(9 * second, 8 * second);
        assert_eq!(patience.left, 9 * second);
        patience.count(8 * second, Duration::ZERO);
        assert!(!patience.is_over());
        patience.count(2 * second, Duration::ZERO);
        assert!(patience.is_over());
        let before = HashMap::from([(1, 10), (2, 500)]);
        let after = HashMap::from([(1, 30), (2, 501), (3, 7)]);
        assert_eq!(starved(&before, &after), Duration::from_nanos(28));
    }

    /// Runs more threads than processors, in this process and in a child, until a thread had to wait.
    #[test]
    #[cfg(target_os = "linux")]
    fn the_system_tells_which_threads_wait_for_a_processor() {
        let all = 2 * thread::available_parallelism().map_or(2, usize::from);
        let writer = pipe().expect("a pipe").1;
        let mut child = line("sh").args(["-c", "while :; do :; done"]).start(writer).expect("it starts");
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let spins = || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            };
            (0..all).for_each(|_| drop(scope.spawn(spins)));
            for process in [std::process::id(), child.id()] {
                let before = waited(process);
                while starved(&before, &waited(process)) < Duration::from_millis(1) {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        child.kill().expect("it is ended");
        child.wait().expect("it ends");
    }

    #[test]
    fn a_program_that_does_not_start_fails_and_is_named() {
        let ended = run(&line("no-such-program-here"), 1);
        assert!(!ended.passed && ended.said.contains("no-such-program-here"), "{ended:?}");
    }
}
