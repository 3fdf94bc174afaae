//! Watches a child process, which may hang or crash without taking this process down.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Line, Message, PART, Part, remedy};

/// Everything that a child process reported, followed by its failure if it failed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) adapters: Vec<String>,
    pub(super) lines: Vec<Line>,
}

/// Runs a part in a child process. `ended` is called for each check that ends.
///
/// # Errors
/// The process does not start.
pub(super) fn child(part: Part, limit: Duration, ended: impl Fn()) -> Result<Said> {
    let program = env::current_exe().context("cannot find the path of this program")?;
    let mut command = Command::new(program);
    command.arg("doctor").env(PART, part.to_string());
    watch(command, limit, ended)
}

fn watch(mut command: Command, limit: Duration, ended: impl Fn()) -> Result<Said> {
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = started.context("cannot start a child process")?;
    let messages = messages(&mut child);
    let mut said = Said::default();
    let mut current = String::from("start");
    loop {
        match messages.recv_timeout(limit) {
            Ok(Message::Adapters(adapters)) => said.adapters = adapters,
            Ok(Message::Begins(check)) => current = check,
            Ok(Message::Ends(line)) => {
                said.lines.push(line);
                ended();
            }
            Err(RecvTimeoutError::Timeout) => {
                let _ = child.kill(); // a driver may keep it alive, so do not wait for it
                let reason = format!("it was not done within {} s", limit.as_secs_f64());
                said.lines.push(Line::failed(&current, reason, remedy::of_lateness()));
                return Ok(said);
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait().context("cannot wait for a child process")?;
                if !status.success() {
                    let reason = format!("the process crashed: {status}");
                    said.lines.push(Line::failed(&current, reason, remedy::of_crash()));
                }
                return Ok(said);
            }
        }
    }
}

/// Returns the child's messages. Drivers may write to standard output too, so other lines are skipped.
fn messages(child: &mut Child) -> Receiver<Message> {
    let (sender, receiver) = mpsc::channel();
    if let Some(out) = child.stdout.take() {
        thread::spawn(move || {
            let lines = BufReader::new(out).lines().map_while(Result::ok);
            let messages = lines.filter_map(|line| serde_json::from_str(&line).ok());
            messages.map(|message| sender.send(message)).take_while(Result::is_ok).for_each(drop);
        });
    }
    receiver
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::Status;
    use super::*;

    fn shell(script: &str, limit: Duration) -> Said {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        watch(command, limit, || ()).expect("there is a shell")
    }

    #[test]
    fn every_message_of_a_child_that_succeeds_is_kept() {
        let ends = r#"{"Ends":{"check":"map","status":"not_supported","detail":"no","remedy":null}}"#;
        let said =
            shell(&format!("echo '{{\"Adapters\":[\"a\"]}}'; echo noise; echo '{ends}'"), Duration::MAX);
        let lines = vec![Line::not_supported("map", "no")];
        assert_eq!(said, Said { adapters: vec!["a".into()], lines });
    }

    #[test]
    fn a_child_that_hangs_fails_in_the_check_that_began() {
        let said = shell("echo '{\"Begins\":\"map\"}'; exec sleep 60", Duration::from_secs(2));
        let [line] = &said.lines[..] else { panic!("{said:?}") };
        assert_eq!((line.check.as_str(), line.status), ("map", Status::Failed));
        assert_eq!(line.detail, "it was not done within 2 s");
    }

    #[test]
    fn a_child_that_crashes_fails_in_the_check_that_began() {
        let said = shell("echo '{\"Begins\":\"launch\"}'; kill -SEGV $$", Duration::MAX);
        let [line] = &said.lines[..] else { panic!("{said:?}") };
        assert_eq!((line.check.as_str(), line.status), ("launch", Status::Failed));
        assert!(line.detail.contains("crashed"), "{}", line.detail);
    }
}
