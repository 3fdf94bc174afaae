//! Runs a test program up to its first failure.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// End of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Passed,
    /// The named test failed, and the program was ended.
    Test(String),
    /// The random program of this seed failed, and the program was ended.
    Seed(String),
    /// The program reached its time limit.
    Late,
    /// The program exited with this status, without naming a failed test.
    Ended(String),
}

/// Runs `command` until it fails or ends, or `limit` has passed.
pub(super) fn watch(command: &mut Command, limit: Duration) -> Result<Seen> {
    let deadline = Instant::now() + limit;
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let (sender, lines) = channel();
    if let Some(out) = child.stdout.take() {
        send_lines(out, sender.clone());
    }
    if let Some(err) = child.stderr.take() {
        send_lines(err, sender);
    }
    let seen = follow(&mut child, &lines, deadline);
    // The program may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
    seen
}

fn send_lines(from: impl Read + Send + 'static, to: Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
            if to.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
}

fn follow(child: &mut Child, lines: &Receiver<String>, deadline: Instant) -> Result<Seen> {
    let mut panicked = None;
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                if let Some(seen) = failure(&line) {
                    return Ok(seen);
                }
                panicked = panicking(&line).or(panicked);
            }
            Err(RecvTimeoutError::Timeout) => return Ok(Seen::Late),
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait()?;
                let how = panicked.map_or_else(|| status.to_string(), |name| format!("{name}, {status}"));
                return Ok(if status.success() { Seen::Passed } else { Seen::Ended(how) });
            }
        }
    }
}

/// Returns the failure that a line reports, if it reports one.
fn failure(line: &str) -> Option<Seen> {
    if let Some(seed) = line.strip_prefix("the program of seed ") {
        return Some(Seen::Seed(seed.split(' ').next().unwrap_or("").to_owned()));
    }
    if line.starts_with("test result: ok. 0 passed") && line.contains(" 0 filtered out") {
        return Some(Seen::Ended("no test".to_owned()));
    }
    let test = line.strip_prefix("test ")?.trim_end().strip_suffix("FAILED")?;
    let name = test.split(" ...").next().unwrap_or(test);
    Some(Seen::Test(name.split(" - ").next().unwrap_or(name).trim().to_owned()))
        .filter(|_| !name.starts_with("result"))
}

/// Returns the thread that panicked according to a line; the thread has the name of its test.
fn panicking(line: &str) -> Option<String> {
    let (name, rest) = line.strip_prefix("thread '")?.split_once('\'')?;
    rest.contains("panicked at").then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_test_is_read_from_its_line() {
        let test = |name: &str| Some(Seen::Test(name.to_owned()));
        assert_eq!(failure("test queue::tests::it ... FAILED"), test("queue::tests::it"));
        assert_eq!(failure("test q04_it_holds::cpu_1     ... FAILED"), test("q04_it_holds::cpu_1"));
        assert_eq!(failure("test q04_it_holds::cpu_1     ... ok"), None);
        assert_eq!(failure("test result: FAILED. 1 passed; 1 failed"), None);
        let none =
            "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(failure(none), Some(Seen::Ended("no test".to_owned())));
        assert_eq!(failure(&none.replace("0 filtered", "7 filtered")), None);
        assert_eq!(panicking("thread 'a::b' (77) panicked at x.rs:1:2:"), Some("a::b".to_owned()));
        let seed = failure("the program of seed 17 fails, looking for a smaller one: element 3");
        assert_eq!(seed, Some(Seen::Seed("17".to_owned())));
    }

    #[cfg(unix)]
    #[test]
    fn a_program_is_ended_at_its_first_failure() {
        let shell =
            |script: &str, limit| watch(Command::new("sh").args(["-c", script]), limit).expect("sh starts");
        let long = Duration::from_secs(600);
        assert_eq!(shell("echo 'test a ... ok'", long), Seen::Passed);
        assert_eq!(shell("echo 'test a ... FAILED'; exec sleep 500", long), Seen::Test("a".into()));
        assert!(matches!(shell("exit 7", long), Seen::Ended(how) if how.contains('7')));
        assert_eq!(shell("exec sleep 500", Duration::ZERO), Seen::Late);
    }
}
